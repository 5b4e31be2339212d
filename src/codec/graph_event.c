/*-------------------------------------------------------------------------
 *
 * graph_event.c
 *	  events of Microsoft Graph as JSON, and back
 *
 * IDENTIFICATION
 *	  booking/src/codec/graph_event.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/graph_event.h"
#include "codec/ical_zone.h"
#include "codec/json_write.h"
#include "codec/rfc3339.h"

#define DAY_LEN (INT64CONST(86400) * BOOKING_CIVIL_SECOND)

/* codes of an error that lie within each other; providers send two */
#define INNER_ERRORS 8

static bool write_times(BookingJsonWriter *writer, const BookingEvent *event);
static bool write_time(BookingJsonWriter *writer, const char *name,
					   int64 time);
static void write_description(BookingJsonWriter *writer, const char *text);
static void write_location(BookingJsonWriter *writer, const char *text);
static void write_attendees(BookingJsonWriter *writer,
							const BookingEvent *event);
static void write_meeting(BookingJsonWriter *writer);
static void write_properties(BookingJsonWriter *writer,
							 const BookingEvent *event);
static void write_property(BookingJsonWriter *writer, const char *id,
						   const char *value);
static bool same_text(const char *a, const char *b);
static bool same_attendees(const BookingEvent *a, const BookingEvent *b);
static bool read_times(const BookingJson *json, BookingEvent *event);
static bool read_date(const BookingJson *json, const char *original,
					  const char *zone, int64 *local);
static const char *read_property(const BookingJson *json, const char *id);
static void read_attendees(const BookingJson *json, BookingArena *arena,
						   BookingEvent *event);
static const char *text_or_empty(const char *text);

/*
 * See graph_event.h.
 */
bool
booking_graph_event_write(const BookingEvent *event, BookingArena *arena,
						  char **body, size_t *len)
{
	BookingJsonWriter writer;
	bool		good;

	if (event->uid == NULL || event->uid[0] == '\0' || event->marker == NULL ||
		event->end < event->start)
		return false;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "transactionId", event->uid);
	if (event->summary != NULL)
		booking_json_put_text(&writer, "subject", event->summary);
	if (event->description != NULL)
		write_description(&writer, event->description);
	if (event->location != NULL)
		write_location(&writer, event->location);
	good = write_times(&writer, event);
	booking_json_put_text(&writer, "showAs",
						  event->transparent ? "free" : "busy");
	if (event->nattendees > 0)
		write_attendees(&writer, event);
	if (event->conference)
		write_meeting(&writer);
	write_properties(&writer, event);
	booking_json_close(&writer, '}');
	*body = booking_json_end(&writer, len);
	return good && *body != NULL;
}

/*
 * Start, end, and whether they are days.  An all-day event starts and ends at
 * midnight in one zone (M-TYPES, isAllDay).
 */
static bool
write_times(BookingJsonWriter *writer, const BookingEvent *event)
{
	if (event->all_day &&
		(event->start % DAY_LEN != 0 || event->end % DAY_LEN != 0))
		return false;
	if (!write_time(writer, "start", event->start) ||
		!write_time(writer, "end", event->end))
		return false;
	booking_json_put_boolean(writer, "isAllDay", event->all_day);
	return true;
}

/*
 * A time: without an offset, and its zone beside it (graph/api/resources/
 * datetimetimezone).  False for a year without four digits.
 */
static bool
write_time(BookingJsonWriter *writer, const char *name, int64 time)
{
	char		text[BOOKING_RFC3339_SIZE];

	if (!booking_rfc3339_write(time, text))
		return false;
	text[strlen(text) - 1] = '\0';
	booking_json_open(writer, name, '{');
	booking_json_put_text(writer, "dateTime", text);
	booking_json_put_text(writer, "timeZone", "UTC");
	booking_json_close(writer, '}');
	return true;
}

/*
 * The text of the event, as plain text.
 */
static void
write_description(BookingJsonWriter *writer, const char *text)
{
	booking_json_open(writer, "body", '{');
	booking_json_put_text(writer, "contentType", "text");
	booking_json_put_text(writer, "content", text);
	booking_json_close(writer, '}');
}

/*
 * Where it is.
 */
static void
write_location(BookingJsonWriter *writer, const char *text)
{
	booking_json_open(writer, "location", '{');
	booking_json_put_text(writer, "displayName", text);
	booking_json_close(writer, '}');
}

/*
 * The attendees; a list replaces the one that is there, and the answers of
 * those who remain are kept by the server, which has them from their mails.
 */
static void
write_attendees(BookingJsonWriter *writer, const BookingEvent *event)
{
	booking_json_open(writer, "attendees", '[');
	for (int i = 0; i < event->nattendees; i++)
	{
		const BookingAttendee *attendee = &event->attendees[i];

		if (attendee->email == NULL)
			continue;
		booking_json_open(writer, NULL, '{');
		booking_json_open(writer, "emailAddress", '{');
		booking_json_put_text(writer, "address", attendee->email);
		if (attendee->name != NULL)
			booking_json_put_text(writer, "name", attendee->name);
		booking_json_close(writer, '}');
		booking_json_put_text(writer, "type",
							  attendee->optional ? "optional" : "required");
		booking_json_close(writer, '}');
	}
	booking_json_close(writer, ']');
}

/*
 * An online meeting, which cannot be taken away again (M-TYPES,
 * isOnlineMeeting).
 */
static void
write_meeting(BookingJsonWriter *writer)
{
	booking_json_put_boolean(writer, "isOnlineMeeting", true);
	booking_json_put_text(writer, "onlineMeetingProvider", "teamsForBusiness");
}

/*
 * Our properties.
 */
static void
write_properties(BookingJsonWriter *writer, const BookingEvent *event)
{
	char		revision[16];

	snprintf(revision, sizeof(revision), "%d", event->sequence);
	booking_json_open(writer, "singleValueExtendedProperties", '[');
	write_property(writer, BOOKING_GRAPH_MARKER, event->marker);
	write_property(writer, BOOKING_GRAPH_REVISION, revision);
	booking_json_close(writer, ']');
}

/*
 * One property.
 */
static void
write_property(BookingJsonWriter *writer, const char *id, const char *value)
{
	booking_json_open(writer, NULL, '{');
	booking_json_put_text(writer, "id", id);
	booking_json_put_text(writer, "value", value);
	booking_json_close(writer, '}');
}

/*
 * See graph_event.h.  The body of an event with an online meeting is left
 * alone: writing it without what Graph put there would end the meeting
 * (graph/api/event-update).
 */
bool
booking_graph_patch_write(const BookingEvent *wanted,
						  const BookingEvent *previous, BookingArena *arena,
						  char **body, size_t *len)
{
	BookingJsonWriter writer;
	bool		good = true;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	if (!same_text(wanted->summary, previous->summary))
		booking_json_put_text(&writer, "subject",
							  text_or_empty(wanted->summary));
	if (!same_text(wanted->description, previous->description) &&
		!previous->conference)
		write_description(&writer, text_or_empty(wanted->description));
	if (!same_text(wanted->location, previous->location))
		write_location(&writer, text_or_empty(wanted->location));
	if (wanted->start != previous->start || wanted->end != previous->end ||
		wanted->all_day != previous->all_day)
		good = write_times(&writer, wanted);
	if (wanted->transparent != previous->transparent)
		booking_json_put_text(&writer, "showAs",
							  wanted->transparent ? "free" : "busy");
	if (!same_attendees(wanted, previous))
		write_attendees(&writer, wanted);
	if (wanted->conference && !previous->conference)
		write_meeting(&writer);
	write_properties(&writer, wanted);
	booking_json_close(&writer, '}');
	*body = booking_json_end(&writer, len);
	return good && *body != NULL;
}

/*
 * Are two texts the same, an absent one being empty?
 */
static bool
same_text(const char *a, const char *b)
{
	return strcmp(text_or_empty(a), text_or_empty(b)) == 0;
}

/*
 * Do two events invite the same people, in the same way?
 */
static bool
same_attendees(const BookingEvent *a, const BookingEvent *b)
{
	if (a->nattendees != b->nattendees)
		return false;
	for (int i = 0; i < a->nattendees; i++)
	{
		if (!same_text(a->attendees[i].email, b->attendees[i].email) ||
			!same_text(a->attendees[i].name, b->attendees[i].name) ||
			a->attendees[i].optional != b->attendees[i].optional)
			return false;
	}
	return true;
}

/*
 * See graph_event.h.
 */
void
booking_graph_event_read(const BookingJson *json, BookingArena *arena,
						 BookingGraphEvent *found)
{
	BookingEvent *event = &found->event;
	const BookingJson *meeting = booking_json_member(json, "onlineMeeting");
	const BookingJson *organizer =
		booking_json_member(booking_json_member(json, "organizer"),
							"emailAddress");
	const char *type = booking_json_text(json, "type");
	const char *word;

	memset(found, 0, sizeof(*found));
	found->id = booking_json_text(json, "id");
	found->etag = booking_json_text(json, "@odata.etag");
	found->series = booking_json_text(json, "seriesMasterId");
	found->is_master = type != NULL && strcmp(type, "seriesMaster") == 0;
	found->link = booking_json_text(meeting, "joinUrl");
	found->has_time = read_times(json, event);
	event->uid = booking_json_text(json, "transactionId");
	event->marker = read_property(json, BOOKING_GRAPH_MARKER);
	event->recurring = found->is_master || found->series != NULL;
	event->canceled = booking_json_true(json, "isCancelled");
	word = booking_json_text(json, "showAs");
	event->transparent = word != NULL && (strcmp(word, "free") == 0 ||
										  strcmp(word, "workingElsewhere") == 0);
	word = read_property(json, BOOKING_GRAPH_REVISION);
	event->sequence = word == NULL ? 0 :
		(int) Min(Max(strtol(word, NULL, 10), 0), PG_INT32_MAX);
	event->summary = booking_json_text(json, "subject");
	event->description =
		booking_json_text(booking_json_member(json, "body"), "content");
	event->location =
		booking_json_text(booking_json_member(json, "location"), "displayName");
	event->organizer_email = booking_json_text(organizer, "address");
	event->organizer_name = booking_json_text(organizer, "name");
	event->conference = booking_json_true(json, "isOnlineMeeting");
	read_attendees(json, arena, event);
}

/*
 * Start and end: instants, or for an all-day event local dates.  False if they
 * cannot be understood.
 */
static bool
read_times(const BookingJson *json, BookingEvent *event)
{
	const BookingJson *start = booking_json_member(json, "start");
	const BookingJson *end = booking_json_member(json, "end");

	event->all_day = booking_json_true(json, "isAllDay");
	if (event->all_day)
	{
		if (!read_date(start, booking_json_text(json, "originalStartTimeZone"),
					   booking_json_text(start, "timeZone"), &event->start) ||
			!read_date(end, booking_json_text(json, "originalEndTimeZone"),
					   booking_json_text(end, "timeZone"), &event->end))
			return false;
	}
	else if (!booking_graph_instant(start, &event->start) ||
			 !booking_graph_instant(end, &event->end))
		return false;
	return event->end >= event->start;
}

/*
 * A date: midnight as it is written, which is what Graph does of days whatever
 * the zone, or, in case it was moved to another zone like other times, midnight
 * in the zone that it was written in at first.
 */
static bool
read_date(const BookingJson *json, const char *original, const char *zone,
		  int64 *local)
{
	BookingIcalZones none;
	BookingTime time;
	int64		instant;
	int64		seconds;

	if (!booking_rfc3339_read(booking_json_text(json, "dateTime"), &time))
		return false;
	*local = time.local;
	if (time.local % DAY_LEN == 0)
		return true;
	booking_ical_zones_init(&none, NULL);
	if (original == NULL || !booking_rfc3339_instant(&time, zone, &instant) ||
		!booking_ical_zone_local(&none, original,
								 instant / BOOKING_CIVIL_SECOND, &seconds))
		return false;
	*local = seconds * BOOKING_CIVIL_SECOND;
	return *local % DAY_LEN == 0;
}

/*
 * See graph_event.h.  The zone is one of Windows or of the IANA database, "UTC"
 * unless a request wishes another one.
 */
bool
booking_graph_instant(const BookingJson *json, int64 *instant)
{
	BookingTime time;

	return booking_rfc3339_read(booking_json_text(json, "dateTime"), &time) &&
		!time.is_date &&
		booking_rfc3339_instant(&time, booking_json_text(json, "timeZone"),
								instant);
}

/*
 * Value of a property, which is there only if it was asked for; NULL if not.
 * GUIDs come back in either case.
 */
static const char *
read_property(const BookingJson *json, const char *id)
{
	for (const BookingJson *at =
		 booking_json_elements(json, "singleValueExtendedProperties");
		 at != NULL; at = at->next)
	{
		const char *name = booking_json_text(at, "id");

		if (name != NULL && pg_strcasecmp(name, id) == 0)
			return booking_json_text(at, "value");
	}
	return NULL;
}

/*
 * The attendees who have an address; rooms are attendees too.
 */
static void
read_attendees(const BookingJson *json, BookingArena *arena,
			   BookingEvent *event)
{
	const BookingJson *list = booking_json_member(json, "attendees");

	if (list == NULL || list->kind != BOOKING_JSON_ARRAY || list->count == 0)
		return;
	event->attendees = booking_arena_alloc(arena, list->count *
										   sizeof(BookingAttendee));
	if (event->attendees == NULL)
		return;
	for (const BookingJson *at = list->first; at != NULL; at = at->next)
	{
		BookingAttendee *attendee = &event->attendees[event->nattendees];
		const BookingJson *address = booking_json_member(at, "emailAddress");
		const char *type = booking_json_text(at, "type");

		attendee->email = booking_json_text(address, "address");
		attendee->name = booking_json_text(address, "name");
		attendee->optional = type != NULL && strcmp(type, "optional") == 0;
		if (attendee->email != NULL)
			event->nattendees++;
	}
}

/*
 * See graph_event.h.
 */
void
booking_graph_error_read(const char *body, size_t len, BookingArena *arena,
						 BookingGraphError *error)
{
	const BookingJson *json;
	const BookingJson *at;

	memset(error, 0, sizeof(*error));
	if (booking_json_read(body, len, arena, &json) != BOOKING_JSON_OK)
		return;
	at = booking_json_member(json, "error");
	error->code = booking_json_text(at, "code");
	error->existing = booking_json_text(at, "@event.existingEventId");

	/* both spellings are seen (graph/errors) */
	for (int i = 0; at != NULL && i < INNER_ERRORS; i++)
	{
		const BookingJson *inner = booking_json_member(at, "innerError");
		const char *code;

		at = inner != NULL ? inner : booking_json_member(at, "innererror");
		code = booking_json_text(at, "code");
		if (code != NULL)
			error->inner = code;
	}
}

/*
 * A text, an absent one being empty.
 */
static const char *
text_or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

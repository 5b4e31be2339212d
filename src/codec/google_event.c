/*-------------------------------------------------------------------------
 *
 * google_event.c
 *	  events of the Google Calendar API as JSON, and back
 *
 * IDENTIFICATION
 *	  booking/src/codec/google_event.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/google_event.h"
#include "codec/json_write.h"
#include "codec/rfc3339.h"

/* what is kept of an attendee that somebody answered for */
static const char *const answers[] = {
	"responseStatus", "comment", "additionalGuests", "resource"
};

static void write_texts(BookingJsonWriter *writer, const BookingEvent *event);
static bool write_time(BookingJsonWriter *writer, const char *name,
					   int64 time, bool all_day);
static void write_attendees(BookingJsonWriter *writer,
							const BookingEvent *event,
							const BookingJson *present);
static const BookingJson *find_attendee(const BookingJson *attendees,
										const char *email);
static void write_properties(BookingJsonWriter *writer,
							 const BookingEvent *event);
static void write_conference(BookingJsonWriter *writer,
							 const BookingEvent *event);
static void patch_text(BookingJsonWriter *writer, const char *name,
					   const char *wanted, const char *previous);
static bool same_text(const char *a, const char *b);
static bool read_times(const BookingJson *json, BookingEvent *event);
static void read_attendees(const BookingJson *json, BookingArena *arena,
						   BookingEvent *event);
static BookingGoogleConference read_conference(const BookingJson *json);
static const char *read_link(const BookingJson *json);
static const char *read_reason(const BookingJson *error);

/*
 * See google_event.h.
 */
bool
booking_google_event_write(const BookingEvent *event, BookingArena *arena,
						   char **body, size_t *len)
{
	BookingJsonWriter writer;
	bool		good;

	if (event->uid == NULL || event->uid[0] == '\0' || event->marker == NULL ||
		event->end < event->start)
		return false;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "id", event->uid);
	write_texts(&writer, event);
	good = write_time(&writer, "start", event->start, event->all_day) &&
		write_time(&writer, "end", event->end, event->all_day);
	booking_json_put_text(&writer, "transparency",
						  event->transparent ? "transparent" : "opaque");
	if (event->nattendees > 0)
		write_attendees(&writer, event, NULL);
	write_properties(&writer, event);
	if (event->conference)
		write_conference(&writer, event);
	booking_json_close(&writer, '}');
	*body = booking_json_end(&writer, len);
	return good && *body != NULL;
}

/*
 * The texts that there are.
 */
static void
write_texts(BookingJsonWriter *writer, const BookingEvent *event)
{
	if (event->summary != NULL)
		booking_json_put_text(writer, "summary", event->summary);
	if (event->description != NULL)
		booking_json_put_text(writer, "description", event->description);
	if (event->location != NULL)
		booking_json_put_text(writer, "location", event->location);
}

/*
 * A start or an end (G-REF, EventDateTime): a date, or a time in UTC, which
 * needs no zone unless the event repeats.  False for a year without four
 * digits.
 */
static bool
write_time(BookingJsonWriter *writer, const char *name, int64 time,
		   bool all_day)
{
	char		text[BOOKING_RFC3339_SIZE];

	if (all_day ? !booking_rfc3339_write_date(time, text) :
		!booking_rfc3339_write(time, text))
		return false;
	booking_json_open(writer, name, '{');
	booking_json_put_text(writer, all_day ? "date" : "dateTime", text);
	booking_json_close(writer, '}');
	return true;
}

/*
 * The attendees, with what those who are there have answered.
 */
static void
write_attendees(BookingJsonWriter *writer, const BookingEvent *event,
				const BookingJson *present)
{
	booking_json_open(writer, "attendees", '[');
	for (int i = 0; i < event->nattendees; i++)
	{
		const BookingAttendee *attendee = &event->attendees[i];
		const BookingJson *found = find_attendee(present, attendee->email);

		if (attendee->email == NULL)
			continue;
		booking_json_open(writer, NULL, '{');
		booking_json_put_text(writer, "email", attendee->email);
		if (attendee->name != NULL)
			booking_json_put_text(writer, "displayName", attendee->name);
		if (attendee->optional)
			booking_json_put_boolean(writer, "optional", true);
		for (int j = 0; j < (int) lengthof(answers); j++)
		{
			const BookingJson *answer = booking_json_member(found, answers[j]);

			if (answer != NULL)
				booking_json_put_value(writer, answers[j], answer);
		}
		booking_json_close(writer, '}');
	}
	booking_json_close(writer, ']');
}

/*
 * An attendee by the address; NULL if it is not among them.
 */
static const BookingJson *
find_attendee(const BookingJson *attendees, const char *email)
{
	if (attendees == NULL || email == NULL)
		return NULL;
	for (const BookingJson *at = attendees->first; at != NULL; at = at->next)
	{
		const char *found = booking_json_text(at, "email");

		if (found != NULL && pg_strcasecmp(found, email) == 0)
			return at;
	}
	return NULL;
}

/*
 * Our private properties.  Values of extended properties are strings.
 */
static void
write_properties(BookingJsonWriter *writer, const BookingEvent *event)
{
	char		revision[16];

	snprintf(revision, sizeof(revision), "%d", event->sequence);
	booking_json_open(writer, "extendedProperties", '{');
	booking_json_open(writer, "private", '{');
	booking_json_put_text(writer, BOOKING_GOOGLE_MARKER, event->marker);
	booking_json_put_text(writer, BOOKING_GOOGLE_REVISION, revision);
	booking_json_close(writer, '}');
	booking_json_close(writer, '}');
}

/*
 * A request for a conference (G-REF, CreateConferenceRequest).  Its id is its
 * own, and another one for each revision: a request with the id of the one
 * before is ignored.
 */
static void
write_conference(BookingJsonWriter *writer, const BookingEvent *event)
{
	char		id[256];

	snprintf(id, sizeof(id), "%s-meet-%d", event->uid, event->sequence);
	booking_json_open(writer, "conferenceData", '{');
	booking_json_open(writer, "createRequest", '{');
	booking_json_put_text(writer, "requestId", id);
	booking_json_open(writer, "conferenceSolutionKey", '{');
	booking_json_put_text(writer, "type", "hangoutsMeet");
	booking_json_close(writer, '}');
	booking_json_close(writer, '}');
	booking_json_close(writer, '}');
}

/*
 * See google_event.h.
 */
bool
booking_google_patch_write(const BookingEvent *wanted,
						   const BookingEvent *previous,
						   const BookingJson *attendees, BookingArena *arena,
						   char **body, size_t *len)
{
	BookingJsonWriter writer;
	bool		good = true;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	patch_text(&writer, "summary", wanted->summary, previous->summary);
	patch_text(&writer, "description", wanted->description,
			   previous->description);
	patch_text(&writer, "location", wanted->location, previous->location);
	if (wanted->start != previous->start || wanted->end != previous->end ||
		wanted->all_day != previous->all_day)
		good = write_time(&writer, "start", wanted->start, wanted->all_day) &&
			write_time(&writer, "end", wanted->end, wanted->all_day);
	if (wanted->transparent != previous->transparent)
		booking_json_put_text(&writer, "transparency",
							  wanted->transparent ? "transparent" : "opaque");
	if (!booking_google_same_attendees(wanted, previous))
		write_attendees(&writer, wanted, attendees);
	write_properties(&writer, wanted);
	if (wanted->conference && !previous->conference)
		write_conference(&writer, wanted);
	booking_json_close(&writer, '}');
	*body = booking_json_end(&writer, len);
	return good && *body != NULL;
}

/*
 * A text that is to be another one; null takes it away.
 */
static void
patch_text(BookingJsonWriter *writer, const char *name, const char *wanted,
		   const char *previous)
{
	if (!same_text(wanted, previous))
		booking_json_put_text(writer, name, wanted);
}

/*
 * Are two texts the same, an absent one being empty?
 */
static bool
same_text(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/*
 * See google_event.h.
 */
bool
booking_google_same_attendees(const BookingEvent *a, const BookingEvent *b)
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
 * See google_event.h.  Of a canceled event only the id is sure to be there
 * (G-REF, status).
 */
void
booking_google_event_read(const BookingJson *json, BookingArena *arena,
						  BookingGoogleEvent *found)
{
	BookingEvent *event = &found->event;
	const BookingJson *properties =
		booking_json_member(booking_json_member(json, "extendedProperties"),
							"private");
	const BookingJson *organizer = booking_json_member(json, "organizer");
	const char *word;

	memset(found, 0, sizeof(*found));
	found->id = booking_json_text(json, "id");
	found->etag = booking_json_text(json, "etag");
	found->series = booking_json_text(json, "recurringEventId");
	found->repeats = booking_json_elements(json, "recurrence") != NULL;
	found->conference = read_conference(booking_json_member(json,
															"conferenceData"));
	if (found->conference == BOOKING_GOOGLE_CONFERENCE_MADE)
		found->link = read_link(json);
	found->has_time = read_times(json, event);
	event->uid = found->id;
	event->marker = booking_json_text(properties, BOOKING_GOOGLE_MARKER);
	event->recurring = found->repeats || found->series != NULL;
	word = booking_json_text(json, "status");
	event->canceled = word != NULL && strcmp(word, "cancelled") == 0;
	word = booking_json_text(json, "transparency");
	event->transparent = word != NULL && strcmp(word, "transparent") == 0;
	word = booking_json_text(properties, BOOKING_GOOGLE_REVISION);
	event->sequence = word == NULL ? 0 :
		(int) Min(Max(strtol(word, NULL, 10), 0), PG_INT32_MAX);
	event->summary = booking_json_text(json, "summary");
	event->description = booking_json_text(json, "description");
	event->location = booking_json_text(json, "location");
	event->organizer_email = booking_json_text(organizer, "email");
	event->organizer_name = booking_json_text(organizer, "displayName");
	event->conference = found->conference != BOOKING_GOOGLE_CONFERENCE_NONE;
	read_attendees(json, arena, event);
}

/*
 * Start and end: instants, or for an all-day event local dates.  False if they
 * cannot be understood.
 */
static bool
read_times(const BookingJson *json, BookingEvent *event)
{
	static const char *const names[] = {"start", "end"};
	int64	   *to[] = {&event->start, &event->end};

	for (int i = 0; i < 2; i++)
	{
		const BookingJson *value = booking_json_member(json, names[i]);
		const char *date = booking_json_text(value, "date");
		BookingTime time;

		if (!booking_rfc3339_read(date != NULL ? date :
								  booking_json_text(value, "dateTime"), &time) ||
			time.is_date != (date != NULL) ||
			(i == 1 && time.is_date != event->all_day))
			return false;
		event->all_day = time.is_date;
		if (time.is_date)
			*to[i] = time.local;
		else if (!booking_rfc3339_instant(&time,
										  booking_json_text(value, "timeZone"),
										  to[i]))
			return false;
	}
	return event->end >= event->start;
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

		attendee->email = booking_json_text(at, "email");
		attendee->name = booking_json_text(at, "displayName");
		attendee->optional = booking_json_true(at, "optional");
		if (attendee->email != NULL)
			event->nattendees++;
	}
}

/*
 * What became of a request for a conference.  A body of ours has the request
 * without a status, and it is made, with other members, when there is none.
 */
static BookingGoogleConference
read_conference(const BookingJson *json)
{
	const BookingJson *request = booking_json_member(json, "createRequest");
	const char *status =
		booking_json_text(booking_json_member(request, "status"), "statusCode");

	if (json == NULL)
		return BOOKING_GOOGLE_CONFERENCE_NONE;
	if (request == NULL || (status != NULL && strcmp(status, "success") == 0))
		return BOOKING_GOOGLE_CONFERENCE_MADE;
	if (status != NULL && strcmp(status, "failure") == 0)
		return BOOKING_GOOGLE_CONFERENCE_FAILED;
	return BOOKING_GOOGLE_CONFERENCE_PENDING;
}

/*
 * Where to take part in a conference: its entry point for video, or what the
 * event has itself for one by Google (G-REF, EntryPoint, Event.hangoutLink).
 */
static const char *
read_link(const BookingJson *json)
{
	const BookingJson *data = booking_json_member(json, "conferenceData");

	for (const BookingJson *at = booking_json_elements(data, "entryPoints");
		 at != NULL; at = at->next)
	{
		const char *type = booking_json_text(at, "entryPointType");

		if (type != NULL && strcmp(type, "video") == 0)
			return booking_json_text(at, "uri");
	}
	return booking_json_text(json, "hangoutLink");
}

/*
 * See google_event.h.
 */
const char *
booking_google_reason(const char *body, size_t len, BookingArena *arena)
{
	const BookingJson *json;

	if (booking_json_read(body, len, arena, &json) != BOOKING_JSON_OK)
		return NULL;
	return read_reason(booking_json_member(json, "error"));
}

/*
 * The reason of an error.
 */
static const char *
read_reason(const BookingJson *error)
{
	const char *reason = NULL;

	for (const BookingJson *at = booking_json_elements(error, "errors");
		 at != NULL && reason == NULL; at = at->next)
		reason = booking_json_text(at, "reason");
	for (const BookingJson *at = booking_json_elements(error, "details");
		 at != NULL && reason == NULL; at = at->next)
		reason = booking_json_text(at, "reason");
	return reason != NULL ? reason : booking_json_text(error, "status");
}

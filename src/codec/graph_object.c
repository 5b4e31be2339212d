/*-------------------------------------------------------------------------
 *
 * graph_object.c
 *	  an object of a calendar of Graph as the occurrence it is
 *
 * Graph expands series itself: each occurrence has an id of its own and is an
 * object of its own, so that a listing may tell of it alone.  What belongs to a
 * series is marked as such, because it is known within the window only.
 *
 * Which events block time: those that are shown as tentative, busy or out of
 * office, or as something unknown, unless their calendar's owner declined
 * (M-EVENT, showAs, responseStatus).
 *
 * IDENTIFICATION
 *	  booking/src/codec/graph_object.c
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
#include "codec/ical_windows.h"
#include "codec/json_write.h"
#include "codec/rfc3339.h"

/* no zone is further from UTC */
#define WIDEST (INT64CONST(14) * 3600 * BOOKING_CIVIL_SECOND)

/* what an occurrence has of its own, and takes from nobody */
static const char *const own_members[] = {
	"@odata.etag", "id", "type", "seriesMasterId", "originalStart", "start",
	"end"
};

/* what it may have from its master */
static const char *const shared_members[] = {
	"isAllDay", "showAs", "isCancelled", "originalStartTimeZone",
	"originalEndTimeZone", "iCalUId", "transactionId", "organizer",
	"attendees", "responseStatus", "singleValueExtendedProperties"
};

static void place(const BookingGraphEvent *found,
				  const BookingExpandRequest *request,
				  BookingOccurrence *occurrence);
static bool has_midnight(int64 local, const char *zone, int64 *instant);
static bool meets(const BookingOccurrence *occurrence,
				  const BookingExpandRequest *request);
static int64 original(const BookingJson *json,
					  const BookingOccurrence *occurrence);
static bool fill_detail(const BookingJson *json,
						const BookingGraphEvent *found, BookingArena *arena,
						BookingEventDetail *detail);
static bool fill_participants(const BookingJson *json, BookingArena *arena,
							  BookingEventDetail *detail);
static const char *cap(const char *text, BookingArena *arena);
static const char *partstat(const BookingJson *status);
static bool is_set_aside(const BookingJson *json);

/*
 * See graph_event.h.
 */
char *
booking_graph_object_write(const BookingJson *json, const BookingJson *master,
						   BookingArena *arena, size_t *len)
{
	BookingJsonWriter writer;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	for (int i = 0; i < (int) lengthof(own_members); i++)
	{
		const BookingJson *member = booking_json_member(json, own_members[i]);

		if (member != NULL)
			booking_json_put_value(&writer, own_members[i], member);
	}
	for (int i = 0; i < (int) lengthof(shared_members); i++)
	{
		const BookingJson *member = booking_json_member(json, shared_members[i]);

		if (member == NULL)
			member = booking_json_member(master, shared_members[i]);
		if (member != NULL)
			booking_json_put_value(&writer, shared_members[i], member);
	}
	booking_json_close(&writer, '}');
	return booking_json_end(&writer, len);
}

/*
 * See graph_event.h.  An occurrence comes with its id and times only, an
 * exception with everything (microsoftgraph/microsoft-graph-docs#7632).
 */
bool
booking_graph_is_whole(const BookingJson *json)
{
	return booking_json_text(json, "seriesMasterId") == NULL ||
		booking_json_text(json, "showAs") != NULL;
}

/*
 * See graph_event.h.
 */
const char *
booking_graph_object_read(const char *data, size_t len,
						  const BookingExpandRequest *request,
						  BookingArena *arena, BookingExpansion *expansion)
{
	const BookingJson *json;
	BookingGraphEvent found;
	BookingOccurrence *occurrence;
	BookingEventDetail *detail;

	memset(expansion, 0, sizeof(*expansion));
	switch (booking_json_read(data, len, arena, &json))
	{
		case BOOKING_JSON_OK:
			break;
		case BOOKING_JSON_MALFORMED:
			return "it is no JSON";
		case BOOKING_JSON_TOO_LARGE:
			return "it is too large";
	}
	booking_graph_event_read(json, arena, &found);
	if (found.id == NULL)
		return "it is no event";
	occurrence = booking_arena_alloc(arena, sizeof(*occurrence));
	detail = booking_arena_alloc(arena, sizeof(*detail));
	if (occurrence == NULL || detail == NULL)
		return "it is too large";
	expansion->recurring = found.event.recurring;
	expansion->occurrences = occurrence;
	occurrence->detail = detail;
	place(&found, request, occurrence);
	if (!fill_detail(json, &found, arena, detail) || booking_arena_failed(arena))
		return "it is too large";

	/* a series blocks what its occurrences block */
	occurrence->busy = occurrence->has_time && !found.event.canceled &&
		!detail->transparent && !found.is_master && !is_set_aside(json);
	occurrence->original = expansion->recurring ? original(json, occurrence) :
		BOOKING_OCCURRENCE_SINGLE;
	expansion->problem = occurrence->problem;
	if (!occurrence->has_time || meets(occurrence, request))
		expansion->noccurrences = 1;
	return NULL;
}

/*
 * When the event is.  Dates are those of the calendar's zone; if nobody knows
 * that, they span the widest time they can mean.
 */
static void
place(const BookingGraphEvent *found, const BookingExpandRequest *request,
	  BookingOccurrence *occurrence)
{
	const BookingEvent *event = &found->event;

	occurrence->has_time = found->has_time;
	if (!found->has_time)
	{
		occurrence->problem = "a time in it cannot be understood";
		return;
	}
	occurrence->start = event->start;
	occurrence->end = event->end;
	occurrence->all_day = event->all_day;
	if (!event->all_day)
		return;
	if (!has_midnight(event->start, request->zone, &occurrence->start) ||
		!has_midnight(event->end, request->zone, &occurrence->end))
	{
		occurrence->start = event->start - WIDEST;
		occurrence->end = event->end + WIDEST;
		occurrence->problem = "the zone of the calendar is not known";
	}
}

/*
 * The instant of a local midnight in a zone; false if there is no such zone.
 */
static bool
has_midnight(int64 local, const char *zone, int64 *instant)
{
	BookingTime time;

	memset(&time, 0, sizeof(time));
	time.local = local;
	return booking_rfc3339_instant(&time, zone, instant);
}

/*
 * Is an occurrence in the window?
 */
static bool
meets(const BookingOccurrence *occurrence, const BookingExpandRequest *request)
{
	return occurrence->start < request->to &&
		(occurrence->end > request->from ||
		 (occurrence->end == occurrence->start &&
		  occurrence->start >= request->from));
}

/*
 * Which occurrence of its series an event is: the one that was to begin then
 * (M-EVENT, originalStart), or begins now.
 */
static int64
original(const BookingJson *json, const BookingOccurrence *occurrence)
{
	const char *text = booking_json_text(json, "originalStart");
	BookingTime time;
	int64		instant;

	if (text != NULL && booking_rfc3339_read(text, &time) &&
		booking_rfc3339_instant(&time, NULL, &instant))
		return instant;
	return occurrence->start;
}

/*
 * What an event says besides its time.  An event of ours is known by its
 * transactionId, which a copy does not have, and which a listing brings, while
 * it cannot be asked for extended properties (graph/api/event-delta).
 */
static bool
fill_detail(const BookingJson *json, const BookingGraphEvent *found,
			BookingArena *arena, BookingEventDetail *detail)
{
	const BookingEvent *event = &found->event;
	const char *zone = booking_json_text(json, "originalStartTimeZone");
	const char *known = zone == NULL ? NULL : booking_ical_windows_zone(zone);

	detail->uid = cap(event->uid != NULL ? event->uid :
					  booking_json_text(json, "iCalUId"), arena);
	detail->marker = cap(event->marker != NULL ? event->marker : event->uid,
						 arena);
	detail->zone = event->all_day ? NULL :
		cap(known != NULL ? known : zone, arena);
	detail->organizer = cap(event->organizer_email, arena);
	if (event->canceled)
		detail->status = BOOKING_STATUS_CANCELED;
	else if (booking_json_text(json, "showAs") != NULL &&
			 strcmp(booking_json_text(json, "showAs"), "tentative") == 0)
		detail->status = BOOKING_STATUS_TENTATIVE;
	else
		detail->status = BOOKING_STATUS_CONFIRMED;
	detail->transparent = event->transparent;
	detail->sequence = event->sequence;
	return fill_participants(json, arena, detail);
}

/*
 * The attendees, as many as are kept.
 */
static bool
fill_participants(const BookingJson *json, BookingArena *arena,
				  BookingEventDetail *detail)
{
	const BookingJson *list = booking_json_member(json, "attendees");
	int			room;

	if (list == NULL || list->kind != BOOKING_JSON_ARRAY || list->count == 0)
		return true;
	room = Min(list->count, BOOKING_EXPAND_ATTENDEES);
	detail->nattendees_given = list->count;
	detail->attendees = booking_arena_alloc(arena, room *
											sizeof(BookingParticipant));
	if (detail->attendees == NULL)
		return false;
	for (const BookingJson *at = list->first;
		 at != NULL && detail->nattendees < room; at = at->next)
	{
		BookingParticipant *one = &detail->attendees[detail->nattendees];
		const char *type = booking_json_text(at, "type");

		one->email = cap(booking_json_text(booking_json_member(at, "emailAddress"),
										   "address"), arena);
		one->partstat = partstat(booking_json_member(at, "status"));
		one->optional = type != NULL && strcmp(type, "optional") == 0;
		if (one->email != NULL)
			detail->nattendees++;
	}
	return true;
}

/*
 * A text that is not too long to be kept; NULL for one that is.
 */
static const char *
cap(const char *text, BookingArena *arena)
{
	if (text == NULL || strlen(text) > BOOKING_EXPAND_TEXT)
		return NULL;
	return booking_arena_copy(arena, text, strlen(text));
}

/*
 * The answer of an attendee in the words of iCalendar (graph/api/resources/
 * responsestatus).
 */
static const char *
partstat(const BookingJson *status)
{
	static const char *const words[][2] = {
		{"none", "needs-action"}, {"notResponded", "needs-action"},
		{"declined", "declined"}, {"tentativelyAccepted", "tentative"},
		{"accepted", "accepted"}, {"organizer", "accepted"}
	};
	const char *response = booking_json_text(status, "response");

	for (int i = 0; response != NULL && i < (int) lengthof(words); i++)
	{
		if (strcmp(response, words[i][0]) == 0)
			return words[i][1];
	}
	return NULL;
}

/*
 * Did the calendar's owner decline?
 */
static bool
is_set_aside(const BookingJson *json)
{
	const char *response =
		booking_json_text(booking_json_member(json, "responseStatus"),
						  "response");

	return response != NULL && strcmp(response, "declined") == 0;
}

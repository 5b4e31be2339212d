/*-------------------------------------------------------------------------
 *
 * google_object.c
 *	  an object of a Google calendar as the occurrences it has
 *
 * Google expands series itself: the object of one is the array of its instances
 * within the window, each with originalStartTime, which never changes (G-REF).
 *
 * Which events block time: those that are opaque, unless their calendar's owner
 * declined, or they only say where somebody works or who has a birthday (G-REF,
 * eventType).
 *
 * IDENTIFICATION
 *	  booking/src/codec/google_object.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/google_event.h"
#include "codec/rfc3339.h"

/* no zone is further from UTC */
#define WIDEST (INT64CONST(14) * 3600 * BOOKING_CIVIL_SECOND)

static bool add(const BookingJson *json, const BookingExpandRequest *request,
				BookingArena *arena, BookingExpansion *expansion);
static bool has_midnight(int64 local, const char *zone, int64 *instant);
static void place(const BookingGoogleEvent *found,
				  const BookingExpandRequest *request,
				  BookingOccurrence *occurrence);
static bool meets(const BookingOccurrence *occurrence,
				  const BookingExpandRequest *request);
static int64 original(const BookingJson *json,
					  const BookingExpandRequest *request,
					  const BookingOccurrence *occurrence);
static bool fill_detail(const BookingJson *json,
						const BookingGoogleEvent *found, BookingArena *arena,
						BookingEventDetail *detail);
static bool fill_participants(const BookingJson *json, BookingArena *arena,
							  BookingEventDetail *detail);
static const char *cap(const char *text, BookingArena *arena);
static const char *partstat(const char *status);
static bool is_set_aside(const BookingJson *json);
static void put_in_order(BookingExpansion *expansion);
static int	compare(const void *a, const void *b);

/*
 * See google_event.h.
 */
const char *
booking_google_object_read(const char *data, size_t len,
						   const BookingExpandRequest *request,
						   BookingArena *arena, BookingExpansion *expansion)
{
	const BookingJson *json;
	int			count;

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
	expansion->recurring = json->kind == BOOKING_JSON_ARRAY;
	count = expansion->recurring ? json->count : 1;
	if (count > (request->max_occurrences > 0 ? request->max_occurrences :
				 BOOKING_EXPAND_OCCURRENCES))
		return "it has too many occurrences";
	if (count == 0)
		return NULL;
	expansion->occurrences = booking_arena_alloc(arena, count *
												 sizeof(BookingOccurrence));
	if (expansion->occurrences == NULL)
		return "it is too large";
	if (!expansion->recurring)
	{
		if (booking_json_text(json, "id") == NULL)
			return "it is no event";
		if (!add(json, request, arena, expansion))
			return "it is too large";
		return NULL;
	}
	for (const BookingJson *at = json->first; at != NULL; at = at->next)
	{
		if (!add(at, request, arena, expansion))
			return "it is too large";
	}
	put_in_order(expansion);
	return NULL;
}

/*
 * Add one event, if it is in the window; false when the arena is exhausted.
 */
static bool
add(const BookingJson *json, const BookingExpandRequest *request,
	BookingArena *arena, BookingExpansion *expansion)
{
	BookingOccurrence *occurrence =
		&expansion->occurrences[expansion->noccurrences];
	BookingEventDetail *detail = booking_arena_alloc(arena, sizeof(*detail));
	BookingGoogleEvent found;

	if (detail == NULL)
		return false;
	booking_google_event_read(json, arena, &found);
	memset(occurrence, 0, sizeof(*occurrence));
	occurrence->detail = detail;
	place(&found, request, occurrence);
	if (!fill_detail(json, &found, arena, detail))
		return false;
	occurrence->busy = occurrence->has_time && !found.event.canceled &&
		!detail->transparent && !is_set_aside(json);
	occurrence->original = expansion->recurring ?
		original(json, request, occurrence) : BOOKING_OCCURRENCE_SINGLE;
	if (expansion->problem == NULL)
		expansion->problem = occurrence->problem;
	if (!occurrence->has_time || meets(occurrence, request))
		expansion->noccurrences++;
	return !booking_arena_failed(arena);
}

/*
 * When the event is.  Dates are those of the calendar's zone; if nobody knows
 * that, they span the widest time they can mean.
 */
static void
place(const BookingGoogleEvent *found, const BookingExpandRequest *request,
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
 * Which instance of its series an event is.
 */
static int64
original(const BookingJson *json, const BookingExpandRequest *request,
		 const BookingOccurrence *occurrence)
{
	const BookingJson *value = booking_json_member(json, "originalStartTime");
	const char *zone = booking_json_text(value, "timeZone");
	const char *date = booking_json_text(value, "date");
	BookingTime time;
	int64		instant;

	if (booking_rfc3339_read(date != NULL ? date :
							 booking_json_text(value, "dateTime"), &time) &&
		booking_rfc3339_instant(&time, date != NULL || zone == NULL ?
								request->zone : zone, &instant))
		return instant;
	return occurrence->start;
}

/*
 * What an event says besides its time.  Google makes an iCalUID of its own for
 * an event whose id is ours, so the id is the identity of what carries it as its
 * marker, or is an instance of such a series; a copy has another id.
 */
static bool
fill_detail(const BookingJson *json, const BookingGoogleEvent *found,
			BookingArena *arena, BookingEventDetail *detail)
{
	const BookingEvent *event = &found->event;
	const char *uid = booking_json_text(json, "iCalUID");
	const char *status = booking_json_text(json, "status");
	const BookingJson *start = booking_json_member(json, "start");

	if (event->marker != NULL &&
		((found->id != NULL && strcmp(found->id, event->marker) == 0) ||
		 (found->series != NULL && strcmp(found->series, event->marker) == 0)))
		uid = event->marker;
	detail->uid = cap(uid != NULL ? uid : found->id, arena);
	detail->marker = cap(event->marker, arena);
	detail->zone = event->all_day ? NULL :
		cap(booking_json_text(start, "timeZone"), arena);
	detail->organizer = cap(event->organizer_email, arena);
	if (event->canceled)
		detail->status = BOOKING_STATUS_CANCELED;
	else if (status != NULL && strcmp(status, "tentative") == 0)
		detail->status = BOOKING_STATUS_TENTATIVE;
	else if (status == NULL || strcmp(status, "confirmed") == 0)
		detail->status = BOOKING_STATUS_CONFIRMED;
	else
		detail->status = BOOKING_STATUS_UNKNOWN;
	detail->transparent = event->transparent;
	detail->sequence = (int) Min(Max(booking_json_integer(json, "sequence", 0),
									 0), PG_INT32_MAX);
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

		one->email = cap(booking_json_text(at, "email"), arena);
		one->partstat = partstat(booking_json_text(at, "responseStatus"));
		one->optional = booking_json_true(at, "optional");
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
 * The answer of an attendee in the words of iCalendar (G-REF, responseStatus).
 */
static const char *
partstat(const char *status)
{
	static const char *const words[][2] = {
		{"needsAction", "needs-action"}, {"declined", "declined"},
		{"tentative", "tentative"}, {"accepted", "accepted"}
	};

	for (int i = 0; status != NULL && i < (int) lengthof(words); i++)
	{
		if (strcmp(status, words[i][0]) == 0)
			return words[i][1];
	}
	return NULL;
}

/*
 * Does an event not block the time of the calendar's owner, though it is
 * opaque?
 */
static bool
is_set_aside(const BookingJson *json)
{
	const char *type = booking_json_text(json, "eventType");

	if (type != NULL && (strcmp(type, "workingLocation") == 0 ||
						 strcmp(type, "birthday") == 0))
		return true;
	for (const BookingJson *at = booking_json_elements(json, "attendees");
		 at != NULL; at = at->next)
	{
		const char *status = booking_json_text(at, "responseStatus");

		if (booking_json_true(at, "self"))
			return status != NULL && strcmp(status, "declined") == 0;
	}
	return false;
}

/*
 * Order instances by their originals; those that share one, which they must
 * not, are told apart by the next free microsecond.
 */
static void
put_in_order(BookingExpansion *expansion)
{
	BookingOccurrence *all = expansion->occurrences;

	qsort(all, expansion->noccurrences, sizeof(*all), compare);
	for (int i = 1; i < expansion->noccurrences; i++)
		all[i].original = Max(all[i].original, all[i - 1].original + 1);
}

/*
 * By original.
 */
static int
compare(const void *a, const void *b)
{
	int64		left = ((const BookingOccurrence *) a)->original;
	int64		right = ((const BookingOccurrence *) b)->original;

	return left < right ? -1 : left > right;
}

/*
 * test/fuzz/json_google.c
 *
 * Whatever Google is made to say is occurrences in their order, each in the
 * window, with times that fit and texts that can be kept, or words that say why
 * not.  An event that was read and is whole can be written and is the same.
 */
#include "check.h"

#include "codec/google_event.h"

#define DAY INT64CONST(86400000000)

static void check_occurrence(const BookingOccurrence *occurrence,
							 const BookingExpandRequest *request);
static void check_event(const char *data, size_t size, BookingArena *arena);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingExpandRequest request = {21000 * DAY, 22500 * DAY, "Europe/Berlin", 100};
	BookingExpansion expansion;
	const char *fault;

	fault = booking_google_object_read((const char *) data, size, &request, arena, &expansion);
	if (fault == NULL)
	{
		check(expansion.noccurrences <= 100);
		for (int i = 0; i < expansion.noccurrences; i++)
		{
			check_occurrence(&expansion.occurrences[i], &request);
			check(i == 0 || expansion.occurrences[i - 1].original <
				  expansion.occurrences[i].original);
		}
	}
	check_event((const char *) data, size, arena);
	(void) booking_google_reason((const char *) data, size, arena);
	booking_arena_free(arena);
	return 0;
}

/*
 * What holds for every occurrence.
 */
static void
check_occurrence(const BookingOccurrence *occurrence, const BookingExpandRequest *request)
{
	const BookingEventDetail *detail = occurrence->detail;

	check(detail != NULL);
	check(!occurrence->has_time ? !occurrence->busy && occurrence->problem != NULL :
		  occurrence->start <= occurrence->end && occurrence->start < request->to &&
		  occurrence->end >= request->from);
	check(is_text(detail->uid) && is_text(detail->marker) && is_text(detail->zone) &&
		  is_text(detail->organizer));
	check(detail->sequence >= 0);
	check(detail->nattendees <= BOOKING_EXPAND_ATTENDEES &&
		  detail->nattendees <= detail->nattendees_given);
	for (int i = 0; i < detail->nattendees; i++)
		check(detail->attendees[i].email != NULL && is_text(detail->attendees[i].email));
}

/*
 * Write an event and read it.
 */
static void
check_event(const char *data, size_t size, BookingArena *arena)
{
	const BookingJson *json;
	BookingGoogleEvent found;
	BookingGoogleEvent again;
	char	   *body;
	size_t		len;

	if (booking_json_read(data, size, arena, &json) != BOOKING_JSON_OK)
		return;
	booking_google_event_read(json, arena, &found);
	check(!found.has_time || found.event.start <= found.event.end);
	if (!found.has_time || booking_arena_failed(arena) ||
		!booking_google_event_write(&found.event, arena, &body, &len) ||
		booking_json_read(body, len, arena, &json) != BOOKING_JSON_OK)
		return;
	booking_google_event_read(json, arena, &again);
	if (booking_arena_failed(arena))
		return;
	check(again.has_time && again.event.start == found.event.start &&
		  again.event.end == found.event.end && again.event.all_day == found.event.all_day &&
		  again.event.sequence == found.event.sequence &&
		  again.event.nattendees == found.event.nattendees &&
		  same_text(again.event.marker, found.event.marker) &&
		  same_text(again.event.summary, found.event.summary));
}

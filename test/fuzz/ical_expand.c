/*
 * test/fuzz/ical_expand.c
 *
 * Whatever comes from outside has a bounded number of occurrences, each with an
 * identity of its own, within the window, and with strings that are UTF-8; or
 * it is a fault.  If nothing was wrong with it, a narrower window shows nothing
 * that the wider one does not.
 */
#include "check.h"

#include "codec/ical_expand.h"

/* microseconds from 1970 to 2024 and 2026 */
#define FROM INT64CONST(1704067200000000)
#define TO INT64CONST(1767225600000000)
#define MAX 200

static BookingIcalFault expand(const uint8 *data, size_t size, int64 from, int64 to,
							   BookingArena *arena, BookingExpansion *expansion);
static void check_occurrence(const BookingOccurrence *occurrence, int64 from, int64 to);
static void check_detail(const BookingEventDetail *detail);
static void check_within(const BookingExpansion *narrow, const BookingExpansion *wide);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	int64		middle = FROM + (TO - FROM) / 2;
	BookingExpansion wide;
	BookingExpansion narrow;
	BookingIcalFault fault = expand(data, size, FROM, TO, arena, &wide);

	check(booking_ical_fault_text(fault) != NULL);
	if (fault == BOOKING_ICAL_OK &&
		expand(data, size, FROM, middle, arena, &narrow) == BOOKING_ICAL_OK &&
		wide.problem == NULL && narrow.problem == NULL)
		check_within(&narrow, &wide);
	booking_arena_free(arena);
	return 0;
}

/*
 * Expand, and check what holds for every window.
 */
static BookingIcalFault
expand(const uint8 *data, size_t size, int64 from, int64 to, BookingArena *arena,
	   BookingExpansion *expansion)
{
	BookingExpandRequest request = {from, to, "Europe/Berlin", MAX};
	BookingIcalFault fault;

	fault = booking_ical_expand((const char *) data, size, &request, arena, expansion);
	if (fault != BOOKING_ICAL_OK)
	{
		check(fault != BOOKING_ICAL_BAD_TIME);
		return fault;
	}
	check(expansion->noccurrences >= 0 && expansion->noccurrences <= MAX);
	for (int i = 0; i < expansion->noccurrences; i++)
	{
		const BookingOccurrence *occurrence = &expansion->occurrences[i];

		check(i == 0 || occurrence->original > occurrence[-1].original);
		check(occurrence->problem == NULL || expansion->problem != NULL);
		check_occurrence(occurrence, from, to);
		if (i == 0 || occurrence->detail != occurrence[-1].detail)
			check_detail(occurrence->detail);
	}
	return fault;
}

/*
 * What holds for every occurrence.
 */
static void
check_occurrence(const BookingOccurrence *occurrence, int64 from, int64 to)
{
	const BookingEventDetail *detail = occurrence->detail;

	check(is_text(occurrence->problem));
	if (!occurrence->has_time)
	{
		check(occurrence->problem != NULL && !occurrence->busy);
		check(occurrence->start == 0 && occurrence->end == 0);
		return;
	}
	check(occurrence->start <= occurrence->end);
	check(occurrence->start < to && (occurrence->end > from || occurrence->start >= from));
	check(!occurrence->all_day || occurrence->start < occurrence->end);
	check(occurrence->busy ==
		  (!detail->transparent && detail->status != BOOKING_STATUS_CANCELED) ||
		  occurrence->problem != NULL);
}

/*
 * What holds for what an event says of itself.
 */
static void
check_detail(const BookingEventDetail *detail)
{
	check(is_text(detail->uid) && is_text(detail->marker) && is_text(detail->zone) &&
		  is_text(detail->organizer));
	check(detail->uid == NULL || strlen(detail->uid) <= BOOKING_EXPAND_TEXT);
	check(detail->zone == NULL || strlen(detail->zone) <= BOOKING_EXPAND_TEXT);
	check(detail->sequence >= 0);
	check(detail->nattendees <= BOOKING_EXPAND_ATTENDEES &&
		  detail->nattendees <= detail->nattendees_given);
	for (int i = 0; i < detail->nattendees; i++)
	{
		check(detail->attendees[i].email != NULL);
		check(is_text(detail->attendees[i].email) && is_text(detail->attendees[i].partstat));
	}
}

/*
 * Each occurrence of the narrow window is one of the wide window.
 */
static void
check_within(const BookingExpansion *narrow, const BookingExpansion *wide)
{
	int			at = 0;

	for (int i = 0; i < narrow->noccurrences; i++)
	{
		const BookingOccurrence *occurrence = &narrow->occurrences[i];

		while (at < wide->noccurrences && wide->occurrences[at].original < occurrence->original)
			at++;
		check(at < wide->noccurrences);
		check(wide->occurrences[at].original == occurrence->original &&
			  wide->occurrences[at].start == occurrence->start &&
			  wide->occurrences[at].end == occurrence->end &&
			  wide->occurrences[at].busy == occurrence->busy);
	}
}

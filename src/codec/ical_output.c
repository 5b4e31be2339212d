/*-------------------------------------------------------------------------
 *
 * ical_output.c
 *	  occurrences of one object as they are found, inside the codec
 *
 * There is room for so many and no more.  What is found beyond is not kept one
 * by one: the time from the first to the last of them is one occurrence, so a
 * series that is too dense blocks too much rather than too little.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_output.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/ical_output.h"

#define MIN_SIZE 4

static bool in_window(const BookingIcalOutput *output,
					  const BookingOccurrence *occurrence);
static bool is_busy(const BookingOccurrence *occurrence);
static void add_rest(BookingIcalOutput *output, const BookingOccurrence *occurrence);
static int	compare_found(const void *a, const void *b);

/*
 * Begin with nothing.
 */
void
booking_ical_output_start(BookingIcalOutput *output,
						  const BookingExpandRequest *request,
						  BookingArena *arena)
{
	memset(output, 0, sizeof(BookingIcalOutput));
	output->arena = arena;
	output->from = request->from;
	output->to = request->to;
	output->max = request->max_occurrences > 0 ? request->max_occurrences :
		BOOKING_EXPAND_OCCURRENCES;
}

/*
 * Remember a problem, or none, unless there was one before.
 */
void
booking_ical_output_problem(BookingIcalOutput *output, const char *problem)
{
	if (output->problem == NULL)
		output->problem = problem;
}

/*
 * An occurrence has been found; busy is worked out here.
 */
void
booking_ical_output_add(BookingIcalOutput *output, const BookingOccurrence *occurrence)
{
	BookingIcalFound *found;

	booking_ical_output_problem(output, occurrence->problem);
	if (!in_window(output, occurrence))
		return;
	if (output->nfound == output->max - 1)
	{
		add_rest(output, occurrence);
		return;
	}
	if (output->nfound == output->size)
	{
		int			size = Max(output->size * 2, MIN_SIZE);
		BookingIcalFound *grown = booking_arena_alloc(output->arena,
													  size * sizeof(BookingIcalFound));

		if (grown == NULL)
			return;
		if (output->nfound > 0)
			memcpy(grown, output->found, output->nfound * sizeof(BookingIcalFound));
		output->found = grown;
		output->size = size;
	}
	found = &output->found[output->nfound];
	found->occurrence = *occurrence;
	found->occurrence.busy = is_busy(occurrence);
	found->place = output->nfound++;
}

/*
 * Is an occurrence one that was asked for?
 */
static bool
in_window(const BookingIcalOutput *output, const BookingOccurrence *occurrence)
{
	if (!occurrence->has_time)
		return true;
	return occurrence->start < output->to &&
		(occurrence->end > output->from || occurrence->start >= output->from);
}

/*
 * Does an occurrence block time?
 */
static bool
is_busy(const BookingOccurrence *occurrence)
{
	return occurrence->has_time && !occurrence->detail->transparent &&
		occurrence->detail->status != BOOKING_STATUS_CANCELED;
}

/*
 * One more than there is room for.  The first of them may turn out to be the
 * last, and is then kept as it is.
 */
static void
add_rest(BookingIcalOutput *output, const BookingOccurrence *occurrence)
{
	BookingOccurrence *rest = &output->rest;
	bool		busy = is_busy(occurrence);

	if (output->nrest++ == 0)
	{
		*rest = *occurrence;
		rest->busy = busy;
		return;
	}
	rest->problem = "the object has too many occurrences";
	booking_ical_output_problem(output, rest->problem);
	if (!occurrence->has_time)
		return;
	if (busy && !rest->busy)
	{
		rest->detail = occurrence->detail;
		rest->busy = true;
	}
	rest->original = Min(rest->original, occurrence->original);
	rest->start = rest->has_time ? Min(rest->start, occurrence->start) : occurrence->start;
	rest->end = Max(rest->end, occurrence->end);
	rest->has_time = true;
	rest->all_day = false;
}

/*
 * No more of a series will be given, though there are more in the window.
 */
void
booking_ical_output_extend_rest(BookingIcalOutput *output)
{
	BookingOccurrence *rest = &output->rest;

	rest->problem = "the object has too many occurrences";
	booking_ical_output_problem(output, rest->problem);
	rest->end = Max(rest->end, output->to);
	rest->all_day = false;
}

/*
 * All occurrences of one event have been found.  What was found twice, by a
 * rule and by a date, is one, as long as the longer of the two.
 */
void
booking_ical_output_end_event(BookingIcalOutput *output)
{
	int			count = output->nfound - output->event_first;
	BookingIcalFound *found;
	int			kept = 0;

	if (count == 0)
		return;
	found = &output->found[output->event_first];
	qsort(found, count, sizeof(BookingIcalFound), compare_found);
	for (int i = 0; i < count; i++)
	{
		BookingOccurrence *last = kept == 0 ? NULL : &found[kept - 1].occurrence;
		const BookingOccurrence *next = &found[i].occurrence;

		if (last == NULL || last->original != next->original || last->detail != next->detail)
		{
			found[kept++] = found[i];
			continue;
		}
		last->all_day &= next->all_day;
		last->start = Min(last->start, next->start);
		last->end = Max(last->end, next->end);
		if (last->problem == NULL)
			last->problem = next->problem;
	}
	output->nfound = output->event_first + kept;
	output->event_first = output->nfound;
}

/*
 * All that have been found, in the order of original, which is made unique.
 */
void
booking_ical_output_finish(BookingIcalOutput *output, BookingExpansion *expansion)
{
	int			count = output->nfound + Min(output->nrest, 1);
	BookingIcalFound *found = booking_arena_alloc(output->arena,
												  count * sizeof(BookingIcalFound));
	BookingOccurrence *occurrences = booking_arena_alloc(output->arena,
														 count * sizeof(BookingOccurrence));

	if (occurrences == NULL || found == NULL)
		return;
	if (output->nfound > 0)
		memcpy(found, output->found, output->nfound * sizeof(BookingIcalFound));
	if (output->nrest > 0)
	{
		found[count - 1].occurrence = output->rest;
		found[count - 1].place = output->nfound;
	}
	if (count > 1)
		qsort(found, count, sizeof(BookingIcalFound), compare_found);
	for (int i = 0; i < count; i++)
	{
		occurrences[i] = found[i].occurrence;
		if (i > 0 && occurrences[i].original <= occurrences[i - 1].original)
			occurrences[i].original = occurrences[i - 1].original + 1;
	}
	expansion->occurrences = occurrences;
	expansion->noccurrences = count;
	expansion->problem = output->problem;
}

/*
 * For qsort: by original, then as found.
 */
static int
compare_found(const void *a, const void *b)
{
	const BookingIcalFound *first = a;
	const BookingIcalFound *second = b;

	if (first->occurrence.original != second->occurrence.original)
		return first->occurrence.original < second->occurrence.original ? -1 : 1;
	return first->place < second->place ? -1 : first->place > second->place;
}

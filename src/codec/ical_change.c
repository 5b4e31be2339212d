/*-------------------------------------------------------------------------
 *
 * ical_change.c
 *	  occurrences of a series that were changed, inside the codec
 *
 * Which occurrence a RECURRENCE-ID means is told by the instant of its original
 * start, however that is written: in UTC, in the zone of the series or in
 * another one.  A date means the occurrence of that day, at the time at which
 * the series begins.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_change.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_series.h"

static void read_change(BookingIcalSeries *series, BookingIcalPart *part,
						BookingIcalChange *change);
static void read_change_time(BookingIcalSeries *series, BookingIcalChange *change);
static void keep_newest(BookingIcalSeries *series);
static int	compare_changes(const void *a, const void *b);

/*
 * Understand the changes of a series whose start is known, if it has a master.
 */
void
booking_ical_series_changes(BookingIcalSeries *series, BookingIcalPart **parts,
							int nparts)
{
	series->changes = booking_arena_alloc(series->arena, nparts * sizeof(BookingIcalChange));
	series->ranges = booking_arena_alloc(series->arena, nparts * sizeof(BookingIcalChange *));
	if (series->changes == NULL || series->ranges == NULL)
		return;
	for (int i = 0; i < nparts; i++)
		read_change(series, parts[i], &series->changes[i]);
	series->nchanges = nparts;
	if (nparts > 1)
		qsort(series->changes, nparts, sizeof(BookingIcalChange), compare_changes);
	keep_newest(series);

	for (int i = 0; i < series->nchanges; i++)
	{
		if (series->changes[i].part->and_future && series->changes[i].has_original)
			series->ranges[series->nranges++] = &series->changes[i];
	}
}

/*
 * Understand one change.
 */
static void
read_change(BookingIcalSeries *series, BookingIcalPart *part,
			BookingIcalChange *change)
{
	const BookingIcalStamp *stamp = &part->original;
	const BookingIcalClock *clock = series->master != NULL ? &series->start.clock :
		&series->times->calendar;
	BookingIcalMoment moment;

	change->part = part;
	change->problem = part->problem;
	if (booking_ical_moment(series->times, stamp->word, stamp->tzid, clock, &moment))
		change->has_original = booking_ical_series_original(series, &moment,
															&change->original,
															&change->original_local);
	if (!change->has_original || stamp->count > 1)
		change->problem = "which occurrence was changed is not understood";

	/* without a time of its own it is where it was */
	change->start = moment;
	if (series->master != NULL)
	{
		change->start.clock = series->start.clock;
		change->start.is_date = series->start.is_date;
		change->start.is_unknown = series->start.is_unknown;
		change->start.local = change->original_local;
		change->start.instant = change->original;
	}
	read_change_time(series, change);
}

/*
 * When a changed occurrence is.  One that does not say how long it is, which
 * would make it a moment, is as long as those of the series.
 */
static void
read_change_time(BookingIcalSeries *series, BookingIcalChange *change)
{
	BookingIcalPart *part = change->part;
	BookingIcalMoment start;
	const char *problem;
	bool		has_start;

	has_start = booking_ical_moment(series->times, part->start.word, part->start.tzid,
									&series->times->calendar, &start);
	change->has_time = has_start || change->has_original;
	if (has_start)
	{
		change->start = start;
		if (!change->has_original)
		{
			change->original = start.instant;
			change->original_local = start.local;
		}
	}
	else if (part->start.count > 0 || part->detail.status != BOOKING_STATUS_CANCELED)
		change->problem = "when a changed occurrence begins is not understood";

	part->detail.zone = booking_ical_series_zone(series->times, &change->start);
	if (series->master != NULL && part->end.count + part->duration.count == 0 &&
		change->start.is_date == series->start.is_date)
	{
		change->length = series->length;
		return;
	}
	problem = booking_ical_length(series->times, part, &change->start, &change->length);
	if (change->problem == NULL)
		change->problem = problem;
}

/*
 * Of several changes of one occurrence the newest counts.
 */
static void
keep_newest(BookingIcalSeries *series)
{
	int			kept = 0;

	for (int i = 0; i < series->nchanges; i++)
	{
		BookingIcalChange *next = &series->changes[i];
		BookingIcalChange *last = kept == 0 ? NULL : &series->changes[kept - 1];

		if (last == NULL || !last->has_original || !next->has_original ||
			last->original != next->original)
		{
			series->changes[kept++] = *next;
			continue;
		}
		if (last->part->detail.sequence == next->part->detail.sequence &&
			last->problem == NULL)
			last->problem = "an occurrence was changed twice";
	}
	series->nchanges = kept;
}

/*
 * The original start of the occurrence that a time means, as an instant and on
 * the clocks of the series.  Returns false if that cannot be told.
 *
 * In a series of dates a time means the date that stands there if it is
 * midnight, for there are programs that cannot write a date here, and else the
 * one on the calendar's clocks.
 */
bool
booking_ical_series_original(BookingIcalSeries *series,
							 const BookingIcalMoment *moment, int64 *instant,
							 int64 *local)
{
	const BookingIcalMoment *start = &series->start;
	bool		is_unknown;

	*local = moment->local;
	*instant = moment->instant;
	if (series->master == NULL || (start->is_date && moment->is_date))
		return true;
	if (start->is_date)
	{
		if (booking_ical_day(*local) != *local)
		{
			if (moment->is_unknown)
				return false;
			*local = booking_ical_day(booking_ical_local(series->times, &start->clock,
														 moment->instant));
		}
		*instant = booking_ical_instant(series->times, &start->clock, *local, &is_unknown);
		return true;
	}
	if (moment->is_date)
	{
		*local += start->local - booking_ical_day(start->local);
		*instant = booking_ical_instant(series->times, &start->clock, *local, &is_unknown);
		return true;
	}
	if (moment->clock.tzid == start->clock.tzid ||
		(moment->clock.tzid != NULL && start->clock.tzid != NULL &&
		 strcmp(moment->clock.tzid, start->clock.tzid) == 0))
		return true;
	if (moment->is_unknown || start->is_unknown)
		return false;
	*local = booking_ical_local(series->times, &start->clock, moment->instant);
	return true;
}

/*
 * The changed occurrences themselves.  One whose original is not understood
 * stands beside those of the series, since it may be none of them.
 */
void
booking_ical_series_add_changes(BookingIcalSeries *series)
{
	for (int i = 0; i < series->nchanges; i++)
	{
		const BookingIcalChange *change = &series->changes[i];
		BookingOccurrence occurrence = {0};

		occurrence.detail = &change->part->detail;
		occurrence.original = change->original * BOOKING_CIVIL_SECOND;
		occurrence.problem = change->problem;
		if (!change->has_original)
			occurrence.original++;
		if (change->has_time &&
			!booking_ical_span(series->times, &change->start, &change->length,
							   &occurrence) && occurrence.problem == NULL)
			occurrence.problem = BOOKING_PROBLEM_ZONE;
		booking_ical_output_add(series->output, &occurrence);
	}
}

/*
 * For qsort: by original, what is not understood first; then the newest first.
 */
static int
compare_changes(const void *a, const void *b)
{
	const BookingIcalChange *first = a;
	const BookingIcalChange *second = b;

	if (first->has_original != second->has_original)
		return first->has_original ? 1 : -1;
	if (first->original != second->original)
		return first->original < second->original ? -1 : 1;
	if (first->part->detail.sequence != second->part->detail.sequence)
		return first->part->detail.sequence > second->part->detail.sequence ? -1 : 1;
	return second->part->place - first->part->place;
}

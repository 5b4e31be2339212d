/*-------------------------------------------------------------------------
 *
 * ical_recur.c
 *	  recurrence rules of events, in the local time of their zone
 *
 * libical reads a rule; which days and times it means is worked out here, as it
 * is for the rules of zones (ical_rule.c).  Its iterator cannot be used on what
 * anybody may send: tried on 3.0.16, a call looks for the next time until the
 * year 2582, which for a rule that is never met is 0.4 s with FREQ=DAILY and
 * hours with FREQ=SECONDLY; a rule that strikes on no day is an error like one
 * that cannot be read; BYDAY=1MO with FREQ=WEEKLY gives a Tuesday; and INTERVAL
 * ends at 32767.  It is a witness in the tests.
 *
 * A rule is a walk through periods (years, months, weeks, days, or parts of a
 * day), every INTERVAL-th of them.  A period is a set of days that every BYxxx
 * allows, each with the same times of day, from which BYSETPOS picks.  Without
 * COUNT the walk begins just before the window, whenever the series began.
 * Every day and time looked at is a step, and steps are limited.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_recur.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_recur_rule.h"

/* 2000-01-02 was a Sunday, whatever the weeks of a rule begin with */
#define A_SUNDAY 10958

/* years that four digits can say end here */
#define LAST_YEAR 9999

/* a walk through the periods of a rule */
typedef struct Walk
{
	const BookingIcalRecur *recur;
	int64		from;			/* local; earlier ones are not received */
	int64		to;
	int64		count_left;
	int64	   *steps_left;
	BookingIcalRecurReceiver receive;
	void	   *context;
	BookingIcalRecurResult result;
} Walk;

static bool walk_dates(Walk *walk);
static bool walk_parts(Walk *walk);
static bool walk_parts_of_day(Walk *walk, int64 day);
static bool emit_set(Walk *walk, const int64 *bases, int nbases);
static bool emit(Walk *walk, int64 local);
static bool take_step(Walk *walk);
static int64 floor_divide(int64 number, int64 divisor);
static int64 period_of(const BookingIcalRecur *recur, int64 day);
static int64 first_day(const BookingIcalRecur *recur, int64 period);

/*
 * Where the rule ends, which whoever receives its times must see to, because
 * that may be an instant.
 */
const BookingIcalUntil *
booking_ical_recur_until(const BookingIcalRecur *recur)
{
	return &recur->until;
}

/*
 * Give all times of a rule that are within [from, to), behind the start, to
 * receive, in their order.  The start itself counts for COUNT, whether or not
 * the rule is met there (RFC 5545 section 3.8.5.3), and is not given.
 *
 * Each step takes one off *steps_left, which may be shared by several rules.
 */
BookingIcalRecurResult
booking_ical_recur_expand(const BookingIcalRecur *recur, int64 from, int64 to,
						  int64 *steps_left, BookingIcalRecurReceiver receive,
						  void *context)
{
	Walk		walk = {0};

	walk.recur = recur;
	walk.from = Max(from, recur->start + 1);
	walk.to = Min(to, booking_civil_days(LAST_YEAR + 1, 1, 1) * BOOKING_CIVIL_DAY);
	walk.count_left = recur->count > 0 ? recur->count - 1 : PG_INT64_MAX;
	walk.steps_left = steps_left;
	walk.receive = receive;
	walk.context = context;
	walk.result = BOOKING_RECUR_DONE;

	if (walk.count_left > 0 && recur->start < walk.to)
	{
		if (recur->frequency >= BOOKING_RECUR_DAILY)
			walk_dates(&walk);
		else
			walk_parts(&walk);
	}
	return walk.result;
}

/*
 * Periods of whole days.  Returns false if the walk is over.
 */
static bool
walk_dates(Walk *walk)
{
	const BookingIcalRecur *recur = walk->recur;
	int64		bases[BOOKING_RECUR_YEAR];
	int64		period = period_of(recur, floor_divide(recur->start, BOOKING_CIVIL_DAY));

	if (recur->count == 0)
	{
		int64		wanted = period_of(recur, floor_divide(walk->from, BOOKING_CIVIL_DAY));

		if (wanted > period)
			period += (wanted - period) / recur->interval * recur->interval;
	}
	for (;; period += recur->interval)
	{
		int64		first = first_day(recur, period);
		int64		end = first_day(recur, period + 1);
		int			nbases = 0;

		if (first * BOOKING_CIVIL_DAY >= walk->to)
			return true;
		for (int64 day = first; day < end; day++)
		{
			if (!take_step(walk))
				return false;
			if (booking_ical_recur_has_day(recur, day))
				bases[nbases++] = day * BOOKING_CIVIL_DAY;
		}
		if (!emit_set(walk, bases, nbases))
			return false;
	}
}

/*
 * Periods that are parts of a day: hours, minutes or seconds.
 */
static bool
walk_parts(Walk *walk)
{
	const BookingIcalRecur *recur = walk->recur;
	int64		first = floor_divide(recur->count == 0 ? walk->from : recur->start,
									 BOOKING_CIVIL_DAY);

	for (int64 day = first; day * BOOKING_CIVIL_DAY < walk->to; day++)
	{
		if (!take_step(walk))
			return false;
		if (booking_ical_recur_has_day(recur, day) && !walk_parts_of_day(walk, day))
			return false;
	}
	return true;
}

/*
 * The periods of one day.  They lie a whole number of intervals behind the one
 * in which the series begins.
 */
static bool
walk_parts_of_day(Walk *walk, int64 day)
{
	const BookingIcalRecur *recur = walk->recur;
	int64		length = booking_ical_recur_part(recur->frequency);
	int64		origin = floor_divide(recur->start, length) * length;
	int64		stride = length * recur->interval;
	int64		begin = day * BOOKING_CIVIL_DAY;
	int64		end = begin + BOOKING_CIVIL_DAY;
	int64		part = origin;

	if (recur->count == 0)
		begin = Max(begin, walk->from - length);
	if (begin > origin)
		part += floor_divide(begin - origin + stride - 1, stride) * stride;
	for (; part < end && part < walk->to; part += stride)
	{
		if (!take_step(walk))
			return false;
		if (booking_ical_recur_has_part(recur, part) && !emit_set(walk, &part, 1))
			return false;
	}
	return true;
}

/*
 * A period as a set: each of the bases with all times, in their order.
 */
static bool
emit_set(Walk *walk, const int64 *bases, int nbases)
{
	const BookingIcalRecur *recur = walk->recur;
	int64		size = (int64) nbases * recur->ntimes;

	if (recur->npositions + recur->npositions_from_end == 0)
	{
		for (int64 i = 0; i < size; i++)
		{
			if (!emit(walk, bases[i / recur->ntimes] + recur->times[i % recur->ntimes]))
				return false;
		}
		return true;
	}

	/* those from the beginning and those from the end, merged */
	for (int i = 0, j = 0; i < recur->npositions || j < recur->npositions_from_end;)
	{
		int64		place = i == recur->npositions ? PG_INT64_MAX : recur->positions[i] - 1;
		int64		other = j == recur->npositions_from_end ? PG_INT64_MAX :
			size + recur->positions_from_end[j];

		i += place <= other ? 1 : 0;
		j += other <= place ? 1 : 0;
		place = Min(place, other);
		if (place >= 0 && place < size &&
			!emit(walk, bases[place / recur->ntimes] + recur->times[place % recur->ntimes]))
			return false;
	}
	return true;
}

/*
 * One time.  Returns false if the walk is over.
 */
static bool
emit(Walk *walk, int64 local)
{
	if (local >= walk->to || walk->count_left == 0 || !take_step(walk))
		return false;
	if (local <= walk->recur->start)
		return true;
	walk->count_left--;
	if (local < walk->from)
		return true;
	if (!walk->receive(walk->context, local))
	{
		walk->result = BOOKING_RECUR_STOPPED;
		return false;
	}
	return true;
}

/*
 * Returns false if there have been too many steps.
 */
static bool
take_step(Walk *walk)
{
	if (*walk->steps_left > 0)
	{
		(*walk->steps_left)--;
		return true;
	}
	walk->result = BOOKING_RECUR_TOO_LONG;
	return false;
}

/*
 * The quotient, rounded down; the divisor is positive.
 */
static int64
floor_divide(int64 number, int64 divisor)
{
	int64		quotient = number / divisor;

	return number % divisor < 0 ? quotient - 1 : quotient;
}

/*
 * The number of the period that a day is in, such that neighbours differ by 1.
 */
static int64
period_of(const BookingIcalRecur *recur, int64 day)
{
	BookingCivil civil;

	switch (recur->frequency)
	{
		case BOOKING_RECUR_WEEKLY:
			return floor_divide(day - A_SUNDAY - recur->week_start, 7);
		case BOOKING_RECUR_MONTHLY:
		case BOOKING_RECUR_YEARLY:
			if (!booking_civil_split(day * BOOKING_CIVIL_DAY, &civil))
				return 0;
			return recur->frequency == BOOKING_RECUR_YEARLY ? civil.year :
				civil.year * 12 + civil.month - 1;
		default:
			return day;
	}
}

/*
 * The first day of a period, also of one behind the end of the calendar.
 */
static int64
first_day(const BookingIcalRecur *recur, int64 period)
{
	switch (recur->frequency)
	{
		case BOOKING_RECUR_WEEKLY:
			return period * 7 + A_SUNDAY + recur->week_start;
		case BOOKING_RECUR_MONTHLY:
			return booking_civil_days((int) Min(period / 12, LAST_YEAR + 1),
									  (int) (period % 12) + 1, 1);
		case BOOKING_RECUR_YEARLY:
			return booking_civil_days((int) Min(period, LAST_YEAR + 1), 1, 1);
		default:
			return period;
	}
}

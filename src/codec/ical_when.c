/*-------------------------------------------------------------------------
 *
 * ical_when.c
 *	  times of an event, its length, and what they make together
 *
 * What cannot be told exactly is as wide as is plausible: whoever books must
 * rather be refused a free time than get one that is taken.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_when.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_value.h"
#include "codec/ical_when.h"

/* clocks all over the world are within this of UTC */
#define EAST_MOST (14 * 3600)
#define WEST_MOST (12 * 3600)

/* an event whose end is not understood */
#define PLAUSIBLE_LENGTH BOOKING_CIVIL_DAY

static const char *length_to_end(BookingIcalTimes *times,
								 const BookingIcalStamp *stamp,
								 const BookingIcalMoment *start,
								 BookingIcalLength *length);
static const char *length_to_time(const BookingIcalMoment *start,
								  const BookingIcalMoment *end,
								  BookingIcalLength *length);
static const char *length_of_duration(const BookingIcalStamp *stamp,
									  const BookingIcalMoment *start,
									  BookingIcalLength *length);
static int64 clamp(int64 seconds);

/*
 * Understand a time.  A date is midnight in the calendar's zone, a floating
 * time is told by the clocks of floating.  Returns false if it is no time.
 */
bool
booking_ical_moment(BookingIcalTimes *times, const char *word,
					const char *tzid, const BookingIcalClock *floating,
					BookingIcalMoment *moment)
{
	bool		is_utc;

	memset(moment, 0, sizeof(BookingIcalMoment));
	if (word == NULL ||
		!booking_ical_local_time(word, &moment->local, &moment->is_date, &is_utc))
		return false;
	moment->is_floating = !moment->is_date && !is_utc && tzid == NULL;
	if (moment->is_date)
		moment->clock = times->calendar;
	else if (moment->is_floating)
		moment->clock = *floating;
	else
		moment->clock.tzid = is_utc ? NULL : tzid;
	moment->instant = booking_ical_instant(times, &moment->clock, moment->local,
										   &moment->is_unknown);
	return true;
}

/*
 * The instant at which clocks show a local time: in a gap what the offset
 * before it gives, in a fold the first.  In an unknown zone, as if in UTC.
 */
int64
booking_ical_instant(BookingIcalTimes *times, const BookingIcalClock *clock,
					 int64 local, bool *is_unknown)
{
	int64		instant;

	*is_unknown = false;
	local = clamp(local);
	if (clock->tzid == NULL)
		return local;
	if (booking_ical_zone_instant(&times->zones, clock->tzid, local, &instant))
		return instant;
	*is_unknown = true;
	return local;
}

/*
 * What clocks show at an instant.
 */
int64
booking_ical_local(BookingIcalTimes *times, const BookingIcalClock *clock,
				   int64 instant)
{
	int64		local;

	if (clock->tzid != NULL &&
		booking_ical_zone_local(&times->zones, clock->tzid, instant, &local))
		return local;
	return instant;
}

/*
 * The beginning of a local day.
 */
int64
booking_ical_day(int64 local)
{
	int64		rest = local % BOOKING_CIVIL_DAY;

	return local - (rest < 0 ? rest + BOOKING_CIVIL_DAY : rest);
}

/*
 * How long an event is that begins at start (RFC 5545 sections 3.6.1 and
 * 3.8.5.3): with DTEND a time that elapses, with DURATION days of the calendar
 * and then a time, with dates days; else a day, or nothing.  Returns what is
 * wrong, or NULL.
 */
const char *
booking_ical_length(BookingIcalTimes *times, const BookingIcalPart *part,
					const BookingIcalMoment *start, BookingIcalLength *length)
{
	BookingIcalLength other = {0};
	const char *problem = NULL;

	memset(length, 0, sizeof(BookingIcalLength));
	if (part->end.count > 0)
		problem = length_to_end(times, &part->end, start, length);
	if (part->duration.count > 0)
	{
		const char *second = length_of_duration(&part->duration, start, &other);

		if (problem == NULL)
			problem = second;
	}
	if (part->end.count + part->duration.count > 1)
	{
		/* whichever of the two is longer */
		problem = "the event says twice when it ends";
		length->days_before = Max(length->days_before, other.days_before);
		length->seconds_before = Max(length->seconds_before, other.seconds_before);
		length->days = Max(length->days, other.days);
		length->seconds = Max(length->seconds, other.seconds);
	}
	else if (part->duration.count > 0)
		*length = other;

	/* some programs name the last day; the day itself is meant at least */
	if (start->is_date)
		length->days = Max(length->days, 1);
	return problem;
}

/*
 * The length up to DTEND.
 */
static const char *
length_to_end(BookingIcalTimes *times, const BookingIcalStamp *stamp,
			  const BookingIcalMoment *start, BookingIcalLength *length)
{
	BookingIcalMoment end;

	if (!booking_ical_moment(times, stamp->word, stamp->tzid, &times->calendar, &end))
	{
		length->seconds = start->is_date ? 0 : PLAUSIBLE_LENGTH;
		return "the end of the event is no time";
	}
	if (start->is_date && !end.is_date)
	{
		/* that day as well */
		length->days = (booking_ical_day(end.local) - start->local) / BOOKING_CIVIL_DAY + 1;
		length->days_before = Max(1 - length->days, 0);
		length->days = Max(length->days, 1);
		return "the event begins with a date and ends with a time";
	}
	if (!start->is_date && end.is_date)
	{
		bool		is_unknown;

		end.instant = booking_ical_instant(times, &end.clock,
										   end.local + BOOKING_CIVIL_DAY, &is_unknown);
		length_to_time(start, &end, length);
		return "the event begins with a time and ends with a date";
	}
	if (start->is_date)
	{
		length->days = (end.local - start->local) / BOOKING_CIVIL_DAY;
		if (length->days >= 0)
			return NULL;
		length->days_before = -length->days;
		length->days = 0;
		return "the event ends before it begins";
	}
	return length_to_time(start, &end, length);
}

/*
 * The length from one time to another.  If that is none, they may have been
 * mixed up.
 */
static const char *
length_to_time(const BookingIcalMoment *start, const BookingIcalMoment *end,
			   BookingIcalLength *length)
{
	length->seconds = end->instant - start->instant;
	length->is_loose = end->is_unknown && !start->is_unknown;
	if (length->seconds < 0 && (end->is_unknown || start->is_unknown))
	{
		/* which of them is earlier cannot be told */
		length->seconds = 0;
	}
	if (length->seconds < 0)
	{
		length->seconds_before = -length->seconds;
		length->seconds = 0;
		return "the event ends before it begins";
	}
	return length->is_loose ? "the zone of the end is unknown" : NULL;
}

/*
 * The length that DURATION says.
 */
static const char *
length_of_duration(const BookingIcalStamp *stamp, const BookingIcalMoment *start,
				   BookingIcalLength *length)
{
	BookingIcalDuration duration;
	const char *problem = NULL;

	if (!booking_ical_duration(stamp->word, &duration))
	{
		length->seconds = start->is_date ? 0 : PLAUSIBLE_LENGTH;
		return "the duration of the event is none";
	}
	if (start->is_date && duration.seconds > 0)
	{
		if (duration.seconds % BOOKING_CIVIL_DAY != 0)
			problem = "the event begins with a date and has a duration of hours";
		duration.days += (duration.seconds + BOOKING_CIVIL_DAY - 1) / BOOKING_CIVIL_DAY;
		duration.seconds = 0;
	}
	if (duration.negative)
	{
		length->days_before = duration.days;
		length->seconds_before = duration.seconds;
		return "the event ends before it begins";
	}
	length->days = duration.days;
	length->seconds = duration.seconds;
	return problem;
}

/*
 * The most seconds by which an occurrence of this length reaches before or
 * behind its start, whatever its clocks do.
 */
int64
booking_ical_reach(const BookingIcalLength *length, bool before)
{
	int64		days = before ? length->days_before : length->days;

	return days * BOOKING_CIVIL_DAY + 2 * BOOKING_CIVIL_DAY +
		(before ? length->seconds_before : length->seconds);
}

/*
 * Fill in when an occurrence is.  Returns false if that is wider than it may
 * be, for want of a zone.
 */
bool
booking_ical_span(BookingIcalTimes *times, const BookingIcalMoment *start,
				  const BookingIcalLength *length, BookingOccurrence *occurrence)
{
	bool		is_unknown = start->is_unknown;
	bool		unknown_there = false;
	int64		from = start->instant;
	int64		to = start->instant;

	if (length->days_before != 0)
		from = booking_ical_instant(times, &start->clock, start->local -
									length->days_before * BOOKING_CIVIL_DAY, &unknown_there);
	is_unknown |= unknown_there;
	if (length->days != 0)
		to = booking_ical_instant(times, &start->clock, start->local +
								  length->days * BOOKING_CIVIL_DAY, &unknown_there);
	is_unknown |= unknown_there;
	from -= length->seconds_before;
	to += length->seconds;
	if (is_unknown)
		from -= EAST_MOST;
	if (is_unknown || length->is_loose)
		to += WEST_MOST;

	occurrence->has_time = true;
	occurrence->all_day = start->is_date && !is_unknown;
	occurrence->start = clamp(from) * BOOKING_CIVIL_SECOND;
	occurrence->end = clamp(Max(from, to)) * BOOKING_CIVIL_SECOND;
	return !is_unknown;
}

/*
 * Seconds within the years 1 to 9999.
 */
static int64
clamp(int64 seconds)
{
	int64		first = booking_civil_days(1, 1, 1) * BOOKING_CIVIL_DAY;
	int64		last = booking_civil_days(10000, 1, 1) * BOOKING_CIVIL_DAY - 1;

	return Min(Max(seconds, first), last);
}

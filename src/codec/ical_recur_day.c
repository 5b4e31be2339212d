/*-------------------------------------------------------------------------
 *
 * ical_recur_day.c
 *	  which days and parts of days a recurrence rule allows
 *
 * Whether RFC 5545 (section 3.3.10) says that a BYxxx limits or expands, what
 * comes out in a period is the days that all of them allow.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_recur_day.c
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

static bool has_month_day(const BookingIcalRecur *recur, const BookingCivil *civil);
static bool has_year_day(const BookingIcalRecur *recur, const BookingCivil *civil,
						 int64 day);
static bool has_week(const BookingIcalRecur *recur, int year, int64 day);
static int64 first_week(const BookingIcalRecur *recur, int year);
static bool has_weekday(const BookingIcalRecur *recur, const BookingCivil *civil,
						int64 day);
static bool has_bit(const uint64 *words, int number);

/*
 * Does the rule allow a day, in days from 1970-01-01?
 */
bool
booking_ical_recur_has_day(const BookingIcalRecur *recur, int64 day)
{
	BookingCivil civil;

	if (!booking_civil_split(day * BOOKING_CIVIL_DAY, &civil))
		return false;
	return (recur->months == 0 || (recur->months >> civil.month & 1) != 0) &&
		has_month_day(recur, &civil) &&
		has_year_day(recur, &civil, day) &&
		has_week(recur, civil.year, day) &&
		has_weekday(recur, &civil, day);
}

/*
 * Does a rule whose periods are parts of a day allow the part that begins at a
 * local time?
 */
bool
booking_ical_recur_has_part(const BookingIcalRecur *recur, int64 local)
{
	int			second = (int) (local % BOOKING_CIVIL_DAY);

	if (second < 0)
		second += (int) BOOKING_CIVIL_DAY;
	if (recur->hours != 0 && (recur->hours >> (second / 3600) & 1) == 0)
		return false;
	if (recur->frequency <= BOOKING_RECUR_MINUTELY && recur->minutes != 0 &&
		(recur->minutes >> (second / 60 % 60) & 1) == 0)
		return false;
	return recur->frequency != BOOKING_RECUR_SECONDLY || recur->seconds == 0 ||
		(recur->seconds >> (second % 60) & 1) != 0;
}

/*
 * The length in seconds of a period that is not longer than a day.
 */
int
booking_ical_recur_part(BookingRecurFrequency frequency)
{
	switch (frequency)
	{
		case BOOKING_RECUR_SECONDLY:
			return 1;
		case BOOKING_RECUR_MINUTELY:
			return 60;
		case BOOKING_RECUR_HOURLY:
			return 3600;
		default:
			return (int) BOOKING_CIVIL_DAY;
	}
}

/*
 * BYMONTHDAY
 */
static bool
has_month_day(const BookingIcalRecur *recur, const BookingCivil *civil)
{
	int			last;

	if (recur->month_days == 0 && recur->month_days_from_end == 0)
		return true;
	last = booking_civil_month_days(civil->year, civil->month);
	return (recur->month_days >> civil->day & 1) != 0 ||
		(recur->month_days_from_end >> (last + 1 - civil->day) & 1) != 0;
}

/*
 * BYYEARDAY
 */
static bool
has_year_day(const BookingIcalRecur *recur, const BookingCivil *civil, int64 day)
{
	int64		first;
	int64		next;

	if (!recur->has_year_days)
		return true;
	first = booking_civil_days(civil->year, 1, 1);
	next = booking_civil_days(civil->year + 1, 1, 1);
	return has_bit(recur->year_days, (int) (day - first) + 1) ||
		has_bit(recur->year_days_from_end, (int) (next - day));
}

/*
 * BYWEEKNO.  A day at either end of a year may be in a week of the next year or
 * the one before; it is a day of the year that it is in nevertheless.
 */
static bool
has_week(const BookingIcalRecur *recur, int year, int64 day)
{
	int64		first;
	int64		next;

	if (recur->weeks == 0 && recur->weeks_from_end == 0)
		return true;
	first = first_week(recur, year);
	next = first_week(recur, year + 1);
	if (day < first)
	{
		next = first;
		first = first_week(recur, year - 1);
	}
	else if (day >= next)
	{
		first = next;
		next = first_week(recur, year + 2);
	}
	return (recur->weeks >> ((day - first) / 7 + 1) & 1) != 0 ||
		(recur->weeks_from_end >> ((next - 1 - day) / 7 + 1) & 1) != 0;
}

/*
 * The day with which week 1 of a year begins: the first week that has at least
 * four days in that year.
 */
static int64
first_week(const BookingIcalRecur *recur, int year)
{
	int64		new_year = booking_civil_days(year, 1, 1);
	int			late = (booking_civil_weekday(new_year) - recur->week_start + 7) % 7;

	return new_year - late + (late > 3 ? 7 : 0);
}

/*
 * BYDAY.  The n-th is one of the month if the period is a month or months are
 * named, else one of the year; in a shorter period there is none, and every one
 * is meant.
 */
static bool
has_weekday(const BookingIcalRecur *recur, const BookingCivil *civil, int64 day)
{
	int			weekday;
	int			before;			/* days of the month or year before this one */
	int			behind;

	if (!recur->has_weekdays)
		return true;
	weekday = booking_civil_weekday(day);
	if ((recur->weekdays >> weekday & 1) != 0)
		return true;

	if (recur->frequency == BOOKING_RECUR_MONTHLY || recur->months != 0)
	{
		before = civil->day - 1;
		behind = booking_civil_month_days(civil->year, civil->month) - civil->day;
	}
	else
	{
		before = (int) (day - booking_civil_days(civil->year, 1, 1));
		behind = (int) (booking_civil_days(civil->year + 1, 1, 1) - day) - 1;
	}
	return (recur->nth[weekday] >> (before / 7 + 1) & 1) != 0 ||
		(recur->nth_from_end[weekday] >> (behind / 7 + 1) & 1) != 0;
}

/*
 * Is a number in a set?
 */
static bool
has_bit(const uint64 *words, int number)
{
	return (words[number / 64] >> (number % 64) & 1) != 0;
}

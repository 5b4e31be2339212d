/*-------------------------------------------------------------------------
 *
 * civil.c
 *	  dates of the Gregorian calendar and days from 1970-01-01
 *
 * The C library's own functions ask for the zone of the machine, and the
 * server's are not there in a unit test.
 *
 * IDENTIFICATION
 *	  booking/src/codec/civil.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"

#define FIRST_YEAR 1
#define LAST_YEAR 9999

static int64 days_before_year(int64 year);
static bool is_leap(int year);

/*
 * Days of a month, 1 to 12.
 */
int
booking_civil_month_days(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

/*
 * Days from 1970-01-01 to a date, which must exist.
 */
int64
booking_civil_days(int year, int month, int day)
{
	int64		days = days_before_year(year) + day - 1;

	for (int m = 1; m < month; m++)
		days += booking_civil_month_days(year, m);
	return days;
}

/*
 * The day of the week, 0 is Sunday.
 */
int
booking_civil_weekday(int64 days)
{
	/* 1970-01-01 was a Thursday */
	int			weekday = (int) ((days + 4) % 7);

	return weekday < 0 ? weekday + 7 : weekday;
}

/*
 * Date and time of day for seconds from 1970-01-01 00:00.  Returns false if
 * they lie outside the years 1 to 9999, the ones that four digits can say.
 */
bool
booking_civil_split(int64 seconds, BookingCivil *civil)
{
	int64		days = seconds / BOOKING_CIVIL_DAY;
	int			rest = (int) (seconds % BOOKING_CIVIL_DAY);
	int64		year;

	if (rest < 0)
	{
		rest += (int) BOOKING_CIVIL_DAY;
		days--;
	}
	if (days < days_before_year(FIRST_YEAR) ||
		days >= days_before_year(LAST_YEAR + 1))
		return false;

	/* 400 years have 146097 days; the guess may be off by one */
	year = (days - days_before_year(FIRST_YEAR)) * 400 / 146097 + FIRST_YEAR;
	while (days < days_before_year(year))
		year--;
	while (days >= days_before_year(year + 1))
		year++;
	days -= days_before_year(year);

	civil->year = (int) year;
	civil->month = 1;
	while (days >= booking_civil_month_days(civil->year, civil->month))
		days -= booking_civil_month_days(civil->year, civil->month++);
	civil->day = (int) days + 1;
	civil->hour = rest / 3600;
	civil->minute = rest / 60 % 60;
	civil->second = rest % 60;
	return true;
}

/*
 * Days from 1970-01-01 to the first of January of a year from 1 on.
 */
static int64
days_before_year(int64 year)
{
	int64		before = year - 1;

	return before * 365 + before / 4 - before / 100 + before / 400 - 719162;
}

/*
 * Has the year a 29th of February?
 */
static bool
is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/*-------------------------------------------------------------------------
 *
 * ical_rule.c
 *	  recurrence rules by which zones change their offset
 *
 * libical reads a rule; what it means in a given year is worked out here, by
 * looking at one month.  Expanding it from its start would give whoever writes
 * FREQ=SECONDLY a processor for as long as they like.  Rules of zones have one
 * form in all calendars we know: once a year, in one month, on a day of the
 * month or on the n-th of a weekday.  Others are refused, and the zone with
 * them, for a time that is guessed is worse than one that is not understood.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_rule.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_rule.h"
#include "codec/ical_scan.h"
#include "codec/ical_zone.h"

#define MAX_RULE_LENGTH 200
#define UNSET BOOKING_ICAL_SCAN_END

static bool take_rule(const struct icalrecurrencetype *recur,
					  const BookingCivil *start, BookingIcalRule *rule);
static bool take_days(const struct icalrecurrencetype *recur,
					  BookingIcalRule *rule);
static bool take_until(const char *text, BookingIcalRule *rule);
static bool day_matches(const BookingIcalRule *rule, int day, int last,
						int weekday);
static int	matching_day(const BookingIcalRule *rule, int year);

/*
 * Read a rule (RFC 5545 section 3.3.10) that begins at start, a local time.
 * Returns false if it is none, or not once a year.
 */
bool
booking_ical_rule_parse(const char *text, int64 start, BookingIcalRule *rule)
{
	struct icalrecurrencetype recur;
	BookingCivil civil;

	memset(rule, 0, sizeof(BookingIcalRule));
	if (!booking_civil_split(start, &civil))
		return false;

	/* calendars other than the Gregorian have no place here, and are refused */
	if (strlen(text) > MAX_RULE_LENGTH || strstr(text, "SCALE") != NULL ||
		text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=;,+-")] != '\0')
		return false;

	recur = booking_ical_scan(text);
	return take_rule(&recur, &civil, rule) && take_until(text, rule);
}

/*
 * Take over what libical has read, if it is once a year.
 */
static bool
take_rule(const struct icalrecurrencetype *recur, const BookingCivil *start,
		  BookingIcalRule *rule)
{
	if (recur->freq != ICAL_YEARLY_RECURRENCE || recur->interval > 1 ||
		recur->by_second[0] != UNSET || recur->by_minute[0] != UNSET ||
		recur->by_hour[0] != UNSET || recur->by_year_day[0] != UNSET ||
		recur->by_week_no[0] != UNSET)
		return false;

	rule->first_year = start->year;
	rule->last_year = 9999;
	if (recur->count > 0 && recur->count <= rule->last_year - start->year)
		rule->last_year = start->year + recur->count - 1;

	if (recur->by_month[0] == UNSET)
	{
		/* days of the year have no month to look at */
		if (recur->by_day[0] != UNSET || recur->by_month_day[0] != UNSET)
			return false;
		rule->month = start->month;
	}
	else
	{
		rule->month = recur->by_month[0];
		if (rule->month < 1 || rule->month > 12 || recur->by_month[1] != UNSET)
			return false;
	}

	rule->weekday = -1;
	if (recur->by_day[0] == UNSET && recur->by_month_day[0] == UNSET)
	{
		rule->days = (uint32) 1 << start->day;
		return recur->by_set_pos[0] == UNSET;
	}
	return take_days(recur, rule);
}

/*
 * Take over which day of the month it is.  Returns false if it might be more
 * than one.
 */
static bool
take_days(const struct icalrecurrencetype *recur, BookingIcalRule *rule)
{
	int			ndays = 0;

	if (recur->by_day[0] != UNSET)
	{
		/* libical counts from 1, Sunday */
		rule->weekday =
			(int) icalrecurrencetype_day_day_of_week(recur->by_day[0]) - 1;
		rule->nth = icalrecurrencetype_day_position(recur->by_day[0]);
		if (rule->weekday < 0 || rule->weekday > 6 ||
			rule->nth < -5 || rule->nth > 5 || recur->by_day[1] != UNSET)
			return false;
	}

	for (; ndays < ICAL_BY_MONTHDAY_SIZE &&
		 recur->by_month_day[ndays] != UNSET; ndays++)
	{
		int			day = recur->by_month_day[ndays];

		if (day >= 1 && day <= 31)
			rule->days |= (uint32) 1 << day;
		else if (day <= -1 && day >= -31)
			rule->days_from_end |= (uint32) 1 << -day;
		else
			return false;
	}

	if (recur->by_set_pos[0] != UNSET)
	{
		rule->position = recur->by_set_pos[0];
		return rule->position >= -31 && rule->position <= 31 &&
			rule->position != 0 && recur->by_set_pos[1] == UNSET;
	}
	if (rule->nth != 0)
		return true;

	/* a week's worth of days has each weekday once */
	return rule->weekday < 0 ? ndays == 1 : ndays >= 1 && ndays <= 7;
}

/*
 * Take over the end, from the text: libical does not tell a date from a time
 * that lacks its Z.
 */
static bool
take_until(const char *text, BookingIcalRule *rule)
{
	const char *until = strstr(text, "UNTIL=");
	char		word[20];
	size_t		len;
	BookingCivil civil;

	if (until == NULL)
		return true;
	until += strlen("UNTIL=");
	len = strcspn(until, ";");
	if (len >= sizeof(word))
		return false;
	memcpy(word, until, len);
	word[len] = '\0';
	if (!booking_ical_local_time(word, &rule->until, &rule->until_is_date,
								 &rule->until_is_utc) ||
		!booking_civil_split(rule->until, &civil))
		return false;
	rule->has_until = true;

	/* the year in the other of UTC and local time is off by one at most */
	rule->last_year = Min(rule->last_year, civil.year + 1);
	return true;
}

/*
 * The instant, in seconds, at which the rule strikes in a year; offset is the
 * one in force before, in which the rule's times are.  Returns false if it does
 * not strike in that year.
 */
bool
booking_ical_rule_onset(const BookingIcalRule *rule, int64 start, int offset,
						int year, int64 *onset)
{
	int			day;
	int64		days;
	int64		local;
	int64		time_of_day = start % BOOKING_CIVIL_DAY;

	if (year < rule->first_year || year > rule->last_year)
		return false;
	day = matching_day(rule, year);
	if (day == 0)
		return false;
	if (time_of_day < 0)
		time_of_day += BOOKING_CIVIL_DAY;
	days = booking_civil_days(year, rule->month, day);
	local = days * BOOKING_CIVIL_DAY + time_of_day;
	if (local < start)
		return false;
	*onset = local - offset;

	if (!rule->has_until)
		return true;
	if (rule->until_is_utc)
		return *onset <= rule->until;
	if (rule->until_is_date)
		return days * BOOKING_CIVIL_DAY <= rule->until;
	return local <= rule->until;
}

/*
 * The day of the rule's month on which it strikes in a year, 0 if on none.
 */
static int
matching_day(const BookingIcalRule *rule, int year)
{
	int			last = booking_civil_month_days(year, rule->month);
	int			weekday = booking_civil_weekday(booking_civil_days(year, rule->month, 1));
	int			matches[31];
	int			count = 0;
	int			place;

	for (int day = 1; day <= last; day++)
	{
		if (day_matches(rule, day, last, (weekday + day - 1) % 7))
			matches[count++] = day;
	}
	place = rule->position < 0 ? count + rule->position :
		Max(rule->position, 1) - 1;
	return place >= 0 && place < count ? matches[place] : 0;
}

/*
 * Is a day, of a month that has last, one that the rule allows?
 */
static bool
day_matches(const BookingIcalRule *rule, int day, int last, int weekday)
{
	if ((rule->days != 0 || rule->days_from_end != 0) &&
		(rule->days >> day & 1) == 0 &&
		(rule->days_from_end >> (last - day + 1) & 1) == 0)
		return false;
	if (rule->weekday >= 0 && rule->weekday != weekday)
		return false;
	if (rule->nth > 0)
		return (day - 1) / 7 + 1 == rule->nth;
	if (rule->nth < 0)
		return (last - day) / 7 + 1 == -rule->nth;
	return true;
}

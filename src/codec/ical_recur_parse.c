/*-------------------------------------------------------------------------
 *
 * ical_recur_parse.c
 *	  recurrence rules of events, read
 *
 * UNTIL, COUNT and INTERVAL are read here: libical does not tell a date from a
 * time that lacks its Z, refuses COUNT beside UNTIL, and keeps INTERVAL in 16
 * bits.  All else is libical's to read; values that no calendar has are refused
 * afterwards.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_recur_parse.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "codec/civil.h"
#include "codec/ical_recur_rule.h"
#include "codec/ical_scan.h"
#include "codec/ical_zone.h"

/* a list of all days of the year takes half of it */
#define MAX_RULE_LENGTH 3000
#define MAX_NUMBER_DIGITS 9

static char *normalize(const char *text, BookingArena *arena);
static bool read_part(BookingIcalRecur *recur, char *part, BookingBuffer *rest);
static bool read_number(const char *text, int64 *number);
static bool take_lists(BookingIcalRecur *recur, const struct icalrecurrencetype *scan);
static bool take_set(const short *list, int size, int lowest, int highest,
					 uint64 *set);
static bool take_two_sets(const short *list, int size, int highest, uint64 *set,
						  uint64 *from_end);
static bool take_year_days(BookingIcalRecur *recur, const short *list);
static bool take_weekdays(BookingIcalRecur *recur, const short *list);
static bool take_positions(BookingIcalRecur *recur, const short *list);
static void add_implied(BookingIcalRecur *recur);
static bool make_times(BookingIcalRecur *recur, bool is_date, BookingArena *arena);
static size_t count_bits(uint64 set);
static int	compare_ints(const void *a, const void *b);

/*
 * Read a rule (RFC 5545 section 3.3.10) of a series that begins at start, a
 * local time or a date.  Returns NULL if it is none that is understood, or the
 * arena has failed.
 */
BookingIcalRecur *
booking_ical_recur_parse(const char *text, int64 start, bool is_date,
						 BookingArena *arena)
{
	BookingIcalRecur *recur = booking_arena_alloc(arena, sizeof(BookingIcalRecur));
	char	   *part = normalize(text, arena);
	BookingBuffer rest;
	struct icalrecurrencetype scan;

	if (recur == NULL || part == NULL)
		return NULL;
	recur->start = start;
	recur->interval = 1;
	booking_buffer_init(&rest, arena);
	while (part != NULL)
	{
		char	   *end = strchr(part, ';');

		if (end != NULL)
			*end++ = '\0';
		if (*part != '\0' && !read_part(recur, part, &rest))
			return NULL;
		part = end;
	}
	if (rest.data == NULL)
		return NULL;

	scan = booking_ical_scan(rest.data);
	if (scan.freq > ICAL_YEARLY_RECURRENCE || (is_date && scan.freq < ICAL_DAILY_RECURRENCE))
		return NULL;
	recur->frequency = (BookingRecurFrequency) scan.freq;

	/* libical counts from 1, Sunday */
	recur->week_start = scan.week_start < 1 || scan.week_start > 7 ? 1 :
		(int) scan.week_start - 1;
	if (!take_lists(recur, &scan))
		return NULL;
	add_implied(recur);
	return make_times(recur, is_date, arena) ? recur : NULL;
}

/*
 * A copy in upper case and without blanks, which some programs put behind
 * semicolons; NULL if it holds what no rule does.
 */
static char *
normalize(const char *text, BookingArena *arena)
{
	size_t		len = strlen(text);
	char	   *copy = len > MAX_RULE_LENGTH ? NULL : booking_arena_alloc(arena, len + 1);
	char	   *out = copy;

	if (copy == NULL)
		return NULL;
	for (; *text != '\0'; text++)
	{
		if (*text != ' ' && *text != '\t')
			*out++ = pg_ascii_toupper((unsigned char) *text);
	}
	*out = '\0';
	return copy[strspn(copy, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=;,+-")] == '\0' ? copy : NULL;
}

/*
 * One NAME=VALUE of a rule.  What libical reads is added to rest.  Returns
 * false if it is not understood.
 */
static bool
read_part(BookingIcalRecur *recur, char *part, BookingBuffer *rest)
{
	char	   *value = strchr(part, '=');
	size_t		name_len;

	if (value == NULL)
		return false;
	name_len = value++ - part;

#define part_is(name) (name_len == sizeof(name) - 1 && strncmp(part, name, name_len) == 0)
	if (part_is("UNTIL"))
	{
		if (recur->until.given)
			return false;
		recur->until.given = true;
		return booking_ical_local_time(value, &recur->until.at, &recur->until.is_date,
									   &recur->until.is_utc);
	}
	if (part_is("COUNT"))
		return recur->count == 0 && read_number(value, &recur->count) && recur->count > 0;
	if (part_is("INTERVAL"))
	{
		/* none at all would be as often as there can be */
		if (!read_number(value, &recur->interval))
			return false;
		recur->interval = Max(recur->interval, 1);
		return true;
	}

	/* calendars other than the Gregorian have no place here */
	if (part_is("RSCALE"))
		return strcmp(value, "GREGORIAN") == 0;
	if (part_is("SKIP"))
		return strcmp(value, "OMIT") == 0;
#undef part_is

	return (rest->len == 0 || booking_buffer_add_text(rest, ";")) &&
		booking_buffer_add_text(rest, part);
}

/*
 * A number without a sign; one that is too long is as large as can be.
 */
static bool
read_number(const char *text, int64 *number)
{
	size_t		ndigits = strspn(text, "0123456789");

	if (ndigits == 0 || text[ndigits] != '\0')
		return false;
	text += strspn(text, "0");
	*number = 0;
	for (int i = 0; text[i] != '\0'; i++)
	{
		if (i == MAX_NUMBER_DIGITS)
			return true;
		*number = *number * 10 + (text[i] - '0');
	}
	return true;
}

/*
 * Take over the lists that libical has read.  Returns false if one holds a
 * value that is none.
 */
static bool
take_lists(BookingIcalRecur *recur, const struct icalrecurrencetype *scan)
{
	uint64		months = 0;
	uint64		days = 0;
	uint64		days_from_end = 0;
	uint64		hours = 0;

	if (!take_set(scan->by_month, ICAL_BY_MONTH_SIZE, 1, 12, &months) ||
		!take_set(scan->by_hour, ICAL_BY_HOUR_SIZE, 0, 23, &hours) ||
		!take_set(scan->by_minute, ICAL_BY_MINUTE_SIZE, 0, 59, &recur->minutes) ||
		!take_set(scan->by_second, ICAL_BY_SECOND_SIZE, 0, 60, &recur->seconds) ||
		!take_two_sets(scan->by_month_day, ICAL_BY_MONTHDAY_SIZE, 31, &days,
					   &days_from_end) ||
		!take_two_sets(scan->by_week_no, ICAL_BY_WEEKNO_SIZE, 53, &recur->weeks,
					   &recur->weeks_from_end) ||
		!take_year_days(recur, scan->by_year_day) ||
		!take_weekdays(recur, scan->by_day) ||
		!take_positions(recur, scan->by_set_pos))
		return false;
	recur->months = (uint32) months;
	recur->hours = (uint32) hours;
	recur->month_days = (uint32) days;
	recur->month_days_from_end = (uint32) days_from_end;

	/* there are no leap seconds, and the one before stands for them */
	if ((recur->seconds >> 60 & 1) != 0)
		recur->seconds = (recur->seconds & ~(UINT64CONST(1) << 60)) | UINT64CONST(1) << 59;
	return true;
}

/*
 * A list of numbers as a set.
 */
static bool
take_set(const short *list, int size, int lowest, int highest, uint64 *set)
{
	for (int i = 0; i < size && list[i] != BOOKING_ICAL_SCAN_END; i++)
	{
		if (list[i] < lowest || list[i] > highest)
			return false;
		*set |= UINT64CONST(1) << list[i];
	}
	return true;
}

/*
 * A list of numbers as two sets, of which one is for those below 0.
 */
static bool
take_two_sets(const short *list, int size, int highest, uint64 *set,
			  uint64 *from_end)
{
	for (int i = 0; i < size && list[i] != BOOKING_ICAL_SCAN_END; i++)
	{
		if (list[i] == 0 || abs(list[i]) > highest)
			return false;
		*(list[i] > 0 ? set : from_end) |= UINT64CONST(1) << abs(list[i]);
	}
	return true;
}

/*
 * BYYEARDAY
 */
static bool
take_year_days(BookingIcalRecur *recur, const short *list)
{
	for (int i = 0; i < ICAL_BY_YEARDAY_SIZE && list[i] != BOOKING_ICAL_SCAN_END; i++)
	{
		int			day = abs(list[i]);
		uint64	   *words = list[i] > 0 ? recur->year_days : recur->year_days_from_end;

		if (day == 0 || day > BOOKING_RECUR_YEAR)
			return false;
		recur->has_year_days = true;
		words[day / 64] |= UINT64CONST(1) << day % 64;
	}
	return true;
}

/*
 * BYDAY.  The n-th weekday is one of a month or a year (RFC 5545 section
 * 3.3.10); where the period is neither, or weeks are named, it is any.
 */
static bool
take_weekdays(BookingIcalRecur *recur, const short *list)
{
	bool		counted = recur->frequency >= BOOKING_RECUR_MONTHLY &&
		recur->weeks == 0 && recur->weeks_from_end == 0;

	for (int i = 0; i < ICAL_BY_DAY_SIZE && list[i] != BOOKING_ICAL_SCAN_END; i++)
	{
		int			weekday = (int) icalrecurrencetype_day_day_of_week(list[i]) - 1;
		int			nth = icalrecurrencetype_day_position(list[i]);

		if (weekday < 0 || weekday > 6 || nth < -53 || nth > 53)
			return false;
		recur->has_weekdays = true;
		if (nth == 0 || !counted)
			recur->weekdays |= (uint32) 1 << weekday;
		else if (nth > 0)
			recur->nth[weekday] |= UINT64CONST(1) << nth;
		else
			recur->nth_from_end[weekday] |= UINT64CONST(1) << -nth;
	}
	return true;
}

/*
 * BYSETPOS: those from either end, in their order.
 */
static bool
take_positions(BookingIcalRecur *recur, const short *list)
{
	for (int i = 0; i < ICAL_BY_SETPOS_SIZE && list[i] != BOOKING_ICAL_SCAN_END; i++)
	{
		if (list[i] == 0 || abs(list[i]) > BOOKING_RECUR_YEAR)
			return false;
		if (list[i] > 0)
			recur->positions[recur->npositions++] = list[i];
		else
			recur->positions_from_end[recur->npositions_from_end++] = list[i];
	}
	qsort(recur->positions, recur->npositions, sizeof(int), compare_ints);
	qsort(recur->positions_from_end, recur->npositions_from_end, sizeof(int),
		  compare_ints);
	return true;
}

/*
 * What a rule leaves open it takes from the start (RFC 5545 section 3.3.10).
 */
static void
add_implied(BookingIcalRecur *recur)
{
	bool		has_days = recur->has_weekdays || recur->has_year_days ||
		recur->month_days != 0 || recur->month_days_from_end != 0;
	bool		has_weeks = recur->weeks != 0 || recur->weeks_from_end != 0;
	BookingCivil civil;

	if (has_days || recur->frequency < BOOKING_RECUR_WEEKLY ||
		!booking_civil_split(recur->start, &civil))
		return;
	if (recur->frequency == BOOKING_RECUR_WEEKLY || has_weeks)
	{
		int64		day = booking_civil_days(civil.year, civil.month, civil.day);

		recur->has_weekdays = true;
		recur->weekdays = (uint32) 1 << booking_civil_weekday(day);
		return;
	}
	recur->month_days = (uint32) 1 << civil.day;
	if (recur->frequency == BOOKING_RECUR_YEARLY && recur->months == 0)
		recur->months = (uint32) 1 << civil.month;
}

/*
 * The times that each day, or part of a day, of the rule has: seconds from its
 * beginning.  A date has no time of day, whatever the rule says.
 */
static bool
make_times(BookingIcalRecur *recur, bool is_date, BookingArena *arena)
{
	int64		start = recur->start % BOOKING_CIVIL_DAY;
	uint64		hours = recur->hours;
	uint64		minutes = recur->minutes;
	uint64		seconds = recur->seconds;

	if (start < 0)
		start += BOOKING_CIVIL_DAY;
	if (is_date || recur->frequency < BOOKING_RECUR_DAILY)
		hours = 1;
	else if (hours == 0)
		hours = UINT64CONST(1) << (start / 3600);
	if (is_date || recur->frequency < BOOKING_RECUR_HOURLY)
		minutes = 1;
	else if (minutes == 0)
		minutes = UINT64CONST(1) << (start / 60 % 60);
	if (is_date || recur->frequency < BOOKING_RECUR_MINUTELY)
		seconds = 1;
	else if (seconds == 0)
		seconds = UINT64CONST(1) << (start % 60);

	recur->times = booking_arena_alloc(arena, count_bits(hours) * count_bits(minutes) *
									   count_bits(seconds) * sizeof(int32));
	if (recur->times == NULL)
		return false;
	for (int hour = 0; hour < 24; hour++)
	{
		for (int minute = 0; minute < 60 && (hours >> hour & 1) != 0; minute++)
		{
			for (int second = 0; second < 60 && (minutes >> minute & 1) != 0; second++)
			{
				if ((seconds >> second & 1) != 0)
					recur->times[recur->ntimes++] = (hour * 60 + minute) * 60 + second;
			}
		}
	}
	return true;
}

/*
 * How many numbers are in a set?
 */
static size_t
count_bits(uint64 set)
{
	size_t		count = 0;

	for (; set != 0; set &= set - 1)
		count++;
	return count;
}

/*
 * For qsort.
 */
static int
compare_ints(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

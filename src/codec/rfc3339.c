/*-------------------------------------------------------------------------
 *
 * rfc3339.c
 *	  dates and times as web services write them (RFC 3339)
 *
 * IDENTIFICATION
 *	  booking/src/codec/rfc3339.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_zone.h"
#include "codec/rfc3339.h"

#define MICROSECOND INT64CONST(1000000)

static bool take_number(const char **at, int digits, int *number);
static bool take(const char **at, char c);
static bool read_clock(const char **at, BookingTime *time);
static bool read_offset(const char **at, BookingTime *time);

/*
 * See rfc3339.h.
 */
bool
booking_rfc3339_read(const char *text, BookingTime *time)
{
	int			year;
	int			month;
	int			day;

	memset(time, 0, sizeof(*time));
	if (text == NULL || !take_number(&text, 4, &year) || !take(&text, '-') ||
		!take_number(&text, 2, &month) || !take(&text, '-') ||
		!take_number(&text, 2, &day) || year < 1 || month < 1 || month > 12 ||
		day < 1 || day > booking_civil_month_days(year, month))
		return false;
	time->local = booking_civil_days(year, month, day) * BOOKING_CIVIL_DAY *
		MICROSECOND;
	if (*text == '\0')
	{
		time->is_date = true;
		return true;
	}
	if (*text != 'T' && *text != 't' && *text != ' ')
		return false;
	text++;
	return read_clock(&text, time) && read_offset(&text, time) && *text == '\0';
}

/*
 * Read the time of day.  A leap second is the one before it.
 */
static bool
read_clock(const char **at, BookingTime *time)
{
	int			hour;
	int			minute;
	int			second;
	int64		unit = MICROSECOND / 10;

	if (!take_number(at, 2, &hour) || !take(at, ':') ||
		!take_number(at, 2, &minute) || !take(at, ':') ||
		!take_number(at, 2, &second) || hour > 23 || minute > 59 || second > 60)
		return false;
	time->local += ((hour * 60 + minute) * 60 + Min(second, 59)) * MICROSECOND;
	if (!take(at, '.'))
		return true;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++)
	{
		time->local += (**at - '0') * unit;
		unit /= 10;
	}
	return true;
}

/*
 * Read the offset, if there is one.
 */
static bool
read_offset(const char **at, BookingTime *time)
{
	char		sign = **at;
	int			hours;
	int			minutes;

	if (sign == '\0')
		return true;
	(*at)++;
	time->has_offset = true;
	if (sign == 'Z' || sign == 'z')
		return true;
	if ((sign != '+' && sign != '-') || !take_number(at, 2, &hours) ||
		!take(at, ':') || !take_number(at, 2, &minutes) || hours > 23 ||
		minutes > 59)
		return false;
	time->offset = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
	return true;
}

/*
 * Take a number of so many digits.
 */
static bool
take_number(const char **at, int digits, int *number)
{
	*number = 0;
	for (int i = 0; i < digits; i++, (*at)++)
	{
		if (**at < '0' || **at > '9')
			return false;
		*number = *number * 10 + (**at - '0');
	}
	return true;
}

/*
 * Take a character, if it is the next one.
 */
static bool
take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/*
 * See rfc3339.h.  Times that a zone's clocks skip or repeat are judged as those
 * of iCalendar are.
 */
bool
booking_rfc3339_instant(const BookingTime *time, const char *zone,
						int64 *instant)
{
	BookingIcalZones none;
	int64		seconds = time->local / MICROSECOND;
	int64		rest = time->local % MICROSECOND;

	if (rest < 0)
	{
		seconds--;
		rest += MICROSECOND;
	}
	if (time->has_offset)
	{
		*instant = time->local - time->offset * MICROSECOND;
		return true;
	}
	if (zone == NULL)
		return false;
	booking_ical_zones_init(&none, NULL);
	if (!booking_ical_zone_instant(&none, zone, seconds, &seconds))
		return false;
	*instant = seconds * MICROSECOND + rest;
	return true;
}

/*
 * See rfc3339.h.  False for what has no four digits for its year.
 */
bool
booking_rfc3339_write(int64 instant, char *text)
{
	int64		seconds = instant / MICROSECOND;
	int64		rest = instant % MICROSECOND;
	BookingCivil civil;
	int			len;

	if (rest < 0)
	{
		seconds--;
		rest += MICROSECOND;
	}
	if (!booking_civil_split(seconds, &civil))
		return false;
	len = snprintf(text, BOOKING_RFC3339_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d",
				   civil.year, civil.month, civil.day, civil.hour, civil.minute,
				   civil.second);
	if (rest != 0)
		len += snprintf(text + len, BOOKING_RFC3339_SIZE - len, ".%06d",
						(int) rest);
	snprintf(text + len, BOOKING_RFC3339_SIZE - len, "Z");
	return true;
}

/*
 * See rfc3339.h.
 */
bool
booking_rfc3339_write_date(int64 local, char *text)
{
	if (!booking_rfc3339_write(local, text))
		return false;
	text[10] = '\0';
	return true;
}

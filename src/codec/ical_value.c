/*-------------------------------------------------------------------------
 *
 * ical_value.c
 *	  values of iCalendar properties that more than one reader needs
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_value.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/ical_value.h"
#include "codec/utf8.h"

#define MAX_DURATION_DIGITS 7

static const char *decode_mailto(const char *address, BookingArena *arena);

/*
 * The address of CAL-ADDRESS (RFC 5545 section 3.3.3); NULL when the arena has
 * failed.
 */
const char *
booking_ical_address(const BookingContentLine *line, BookingArena *arena)
{
	const char *uri = booking_contentline_word(line, arena);
	const char *email;

	if (uri == NULL)
		return NULL;
	if (pg_strncasecmp(uri, "mailto:", 7) == 0)
		return decode_mailto(uri + 7, arena);
	email = booking_contentline_param(line, "EMAIL", arena);
	if (email != NULL && *email != '\0')
		return pg_strncasecmp(email, "mailto:", 7) == 0 ? email + 7 : email;
	return uri;
}

/*
 * Decode the percent-encoding of an address.  If what comes out is not UTF-8,
 * or holds a control character, the address is left as it stands there.
 */
static const char *
decode_mailto(const char *address, BookingArena *arena)
{
	size_t		len = strlen(address);
	char	   *decoded = booking_arena_alloc(arena, len + 1);
	char	   *out = decoded;
	char	   *end;

	if (decoded == NULL)
		return NULL;
	for (const char *p = address; *p != '\0'; p++)
	{
		static const char digits[] = "0123456789abcdef";
		const char *high = NULL;
		const char *low = NULL;

		if (*p == '%' && p[1] != '\0' && p[2] != '\0')
		{
			high = strchr(digits, pg_ascii_tolower(p[1]));
			low = strchr(digits, pg_ascii_tolower(p[2]));
		}
		if (high == NULL || low == NULL)
			*out++ = *p;
		else
		{
			*out++ = (char) ((high - digits) << 4 | (low - digits));
			p += 2;
		}
	}
	end = out;
	for (out = decoded; out < end;)
	{
		int			length = booking_utf8_length(out, end - out);

		if (length == 0 || (unsigned char) *out < 0x20 || *out == 0x7f)
			return address;
		out += length;
	}
	*end = '\0';
	return decoded;
}

/*
 * SEQUENCE is 0 unless it is a number (RFC 5545 section 3.8.7.4).
 */
int
booking_ical_sequence(const char *word)
{
	int64		sequence = 0;

	if (*word == '\0' || word[strspn(word, "0123456789")] != '\0')
		return 0;
	for (; *word != '\0' && sequence <= PG_INT32_MAX; word++)
		sequence = sequence * 10 + (*word - '0');
	return (int) Min(sequence, PG_INT32_MAX);
}

/*
 * Read DURATION (RFC 5545 section 3.3.6).
 */
bool
booking_ical_duration(const char *word, BookingIcalDuration *duration)
{
	static const char units[] = "WDHMS";
	static const int64 lengths[] = {7, 1, 3600, 60, 1};
	int			next = 0;		/* units come in this order */
	bool		in_time = false;
	bool		any = false;

	memset(duration, 0, sizeof(BookingIcalDuration));
	if (word == NULL)
		return false;
	duration->negative = *word == '-';
	word += *word == '+' || *word == '-' ? 1 : 0;
	if (*word++ != 'P')
		return false;
	while (*word != '\0')
	{
		int64		number = 0;
		size_t		ndigits;
		const char *unit;

		if (*word == 'T' && !in_time)
		{
			in_time = true;
			word++;
		}
		ndigits = strspn(word, "0123456789");
		if (ndigits == 0 || ndigits > MAX_DURATION_DIGITS)
			return false;
		for (; ndigits > 0; ndigits--, word++)
			number = number * 10 + (*word - '0');
		unit = *word == '\0' ? NULL : strchr(units, *word++);
		if (unit == NULL || unit - units < next || (unit - units >= 2) != in_time)
			return false;
		next = unit - units + 1;
		*(in_time ? &duration->seconds : &duration->days) += number * lengths[unit - units];
		any = true;
	}
	return any;
}

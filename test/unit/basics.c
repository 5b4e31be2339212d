/*
 * test/unit/basics.c
 *
 * The small parts that the decoders stand on must be right at their edges: an
 * arena never hands out more than its limit and says so for ever after, dates
 * are those of the Gregorian calendar, only well-formed UTF-8 counts, and event
 * ids have the alphabet that providers take.
 */
#include "tap.h"

#include <time.h>

#include "codec/base32hex.h"
#include "codec/buffer.h"
#include "codec/civil.h"
#include "codec/utf8.h"

static void test_arena(void);
static void test_buffer(void);
static void test_base32hex(void);
static void test_utf8(void);
static void test_civil(void);

int
main(void)
{
	test_arena();
	test_buffer();
	test_base32hex();
	test_utf8();
	test_civil();
	return tap_done();
}

/*
 * Alignment, zeroing, the limit, and what comes after it.
 */
static void
test_arena(void)
{
	BookingArena *arena = booking_arena_create(1000);
	bool		aligned = true;
	bool		zeroed = true;
	char	   *small;

	for (int i = 1; i <= 20; i++)
	{
		char	   *p = booking_arena_alloc(arena, i);

		if (p == NULL || (uintptr_t) p % MAXIMUM_ALIGNOF != 0)
			aligned = false;
		else
		{
			for (int j = 0; j < i; j++)
				zeroed = zeroed && p[j] == '\0';
			memset(p, 0xff, i);
		}
	}
	tap_ok(aligned, "arena: memory is aligned");
	tap_ok(zeroed, "arena: memory is zeroed");
	tap_ok(booking_arena_alloc(arena, 0) != booking_arena_alloc(arena, 0),
		   "arena: nothing has a place of its own");
	small = booking_arena_copy(arena, "ab\0c", 4);
	tap_ok(memcmp(small, "ab\0c", 5) == 0, "arena: a copy is terminated");
	tap_ok(booking_arena_copy(arena, NULL, 5) == NULL && !booking_arena_failed(arena),
		   "arena: absent data stays absent");
	tap_ok(booking_arena_alloc(arena, 900) == NULL, "arena: the limit holds");
	tap_ok(booking_arena_failed(arena), "arena: and is known to have been passed");
	tap_ok(booking_arena_alloc(arena, 1) == NULL, "arena: nothing comes after it");
	booking_arena_free(arena);

	arena = booking_arena_create(SIZE_MAX);
	tap_ok(booking_arena_alloc(arena, SIZE_MAX) == NULL &&
		   booking_arena_failed(arena), "arena: a size that wraps around is refused");
	booking_arena_free(arena);

	arena = booking_arena_create(10 * 1024 * 1024);
	small = booking_arena_copy(arena, "kept", 4);
	memset(booking_arena_alloc(arena, 3 * 1024 * 1024), 1, 3 * 1024 * 1024);
	for (int i = 0; i < 1000; i++)
		memset(booking_arena_alloc(arena, 5000), 2, 5000);
	tap_is_text(small, "kept", "arena: blocks of all sizes lie apart");
	tap_ok(booking_arena_total(NULL) == 0 &&
		   booking_arena_total(arena) > 3 * 1024 * 1024 &&
		   booking_arena_total(arena) < 10 * 1024 * 1024,
		   "arena: what it has handed out is known");
	booking_arena_restrict(arena, 9 * 1024 * 1024);
	memset(booking_arena_alloc(arena, 1000), 3, 1000);
	tap_ok(!booking_arena_failed(arena) &&
		   booking_arena_alloc(arena, 2 * 1024 * 1024) == NULL,
		   "arena: it can be told to hand out less");
	booking_arena_restrict(NULL, 1);
	booking_arena_free(arena);

	booking_arena_free(NULL);
	tap_ok(booking_arena_alloc(NULL, 1) == NULL && booking_arena_failed(NULL),
		   "arena: one that could not be made has failed");
}

/*
 * Growth, and failure without loss.
 */
static void
test_buffer(void)
{
	BookingArena *arena = booking_arena_create(100 * 1024);
	BookingBuffer buffer;

	booking_buffer_init(&buffer, arena);
	for (int i = 0; i < 10000; i++)
		booking_buffer_add(&buffer, "abc", 3);
	tap_is_int(buffer.len, 30000, "buffer: grows");
	tap_ok(buffer.data[29999] == 'c' && buffer.data[30000] == '\0',
		   "buffer: is terminated");
	tap_ok(!booking_buffer_add(&buffer, buffer.data, SIZE_MAX - 10) &&
		   booking_arena_failed(arena), "buffer: a size that wraps around is refused");
	tap_is_int(buffer.len, 30000, "buffer: keeps what it had");
	booking_arena_free(arena);
}

/*
 * The examples of RFC 4648 section 10, in our case and without padding.
 */
static void
test_base32hex(void)
{
	static const char *const pairs[][2] = {
		{"", ""}, {"f", "co"}, {"fo", "cpng"}, {"foo", "cpnmu"},
		{"foob", "cpnmuog"}, {"fooba", "cpnmuoj1"}, {"foobar", "cpnmuoj1e8"}
	};
	unsigned char all[32];
	char		out[BOOKING_BASE32HEX_LENGTH(32) + 1];

	for (int i = 0; i < (int) lengthof(pairs); i++)
	{
		size_t		len = strlen(pairs[i][0]);

		booking_base32hex((const unsigned char *) pairs[i][0], len, out);
		tap_is_text(out, pairs[i][1], "base32hex: example of the RFC");
		tap_is_int(strlen(out), BOOKING_BASE32HEX_LENGTH(len), "base32hex: length");
	}
	memset(all, 0xff, sizeof(all));
	booking_base32hex(all, sizeof(all), out);
	tap_is_text(out, "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvg",
				"base32hex: a digest of 32 bytes");
}

/*
 * The edges of the well-formed ranges.
 */
static void
test_utf8(void)
{
	static const struct
	{
		const char *bytes;
		int			length;
	}			cases[] = {
		{"a", 1}, {"\x7f", 1}, {"\x80", 0}, {"\xc1\xbf", 0}, {"\xc2\x80", 2},
		{"\xdf\xbf", 2}, {"\xe0\x9f\xbf", 0}, {"\xe0\xa0\x80", 3},
		{"\xed\x9f\xbf", 3}, {"\xed\xa0\x80", 0}, {"\xef\xbf\xbf", 3},
		{"\xf0\x8f\xbf\xbf", 0}, {"\xf0\x90\x80\x80", 4},
		{"\xf4\x8f\xbf\xbf", 4}, {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0},
		{"\xe2\x82", 0}, {"\xf0\x9f\x98", 0}, {"\xc3(", 0}, {"\xe2\x82(", 0}
	};
	bool		good = true;

	for (int i = 0; i < (int) lengthof(cases); i++)
	{
		if (booking_utf8_length(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].length)
			good = false;
	}
	tap_ok(good, "utf8: exactly the well-formed sequences count");
	tap_is_int(booking_utf8_length("", 0), 0, "utf8: nothing is no character");
}

/*
 * Every day of 9999 years against the C library, there and back.
 */
static void
test_civil(void)
{
	int			wrong = 0;
	int64		days = booking_civil_days(1, 1, 1);
	BookingCivil civil;

	for (; days <= booking_civil_days(9999, 12, 31); days++)
	{
		time_t		time = days * 86400 + 86399;
		struct tm	tm;

		if (!booking_civil_split(time, &civil) || gmtime_r(&time, &tm) == NULL ||
			civil.year != tm.tm_year + 1900 || civil.month != tm.tm_mon + 1 ||
			civil.day != tm.tm_mday || civil.hour != 23 || civil.minute != 59 ||
			civil.second != 59 || booking_civil_weekday(days) != tm.tm_wday ||
			booking_civil_days(civil.year, civil.month, civil.day) != days)
			wrong++;
	}
	tap_is_int(wrong, 0, "civil: all dates of the years 1 to 9999");
	tap_ok(!booking_civil_split(booking_civil_days(1, 1, 1) * 86400 - 1, &civil),
		   "civil: there is no year 0");
	tap_ok(!booking_civil_split(booking_civil_days(9999, 12, 31) * 86400 + 86400, &civil),
		   "civil: there is no year 10000");
	tap_ok(!booking_civil_split(PG_INT64_MIN, &civil) &&
		   !booking_civil_split(PG_INT64_MAX, &civil), "civil: nor anything beyond");
}

/*
 * json.c
 *
 * JSON from outside and for outside.  What must hold: whatever comes in is a
 * tree of valid texts or a fault, within the limits on size, depth and memory;
 * a name inside a name is found without looking; what is written is read back,
 * and the same calls give the same bytes.
 */
#include "tap.h"

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "codec/rfc3339.h"

static BookingArena *arena;

/*
 * What a text is: "ok", "malformed" or "too large".
 */
static const char *
fault_of(const char *text, size_t len)
{
	const BookingJson *value;

	switch (booking_json_read(text, len, arena, &value))
	{
		case BOOKING_JSON_OK:
			return value != NULL ? "ok" : "no value";
		case BOOKING_JSON_MALFORMED:
			return "malformed";
		case BOOKING_JSON_TOO_LARGE:
			return "too large";
	}
	return "?";
}

/*
 * Documents that are none, or too much.
 */
static void
test_faults(void)
{
	static const struct
	{
		const char *text;
		const char *fault;
	}			texts[] = {
		{"{}", "ok"},
		{" [1, 2.5e3, \"x\", true, null, {}]\r\n", "ok"},
		{"{\"a\":1,\"a\":2}", "ok"},
		{"", "malformed"},
		{"{", "malformed"},
		{"{\"a\":1", "malformed"},
		{"{\"a\":1}x", "malformed"},
		{"{\"a\":1}{}", "malformed"},
		{"{'a':1}", "malformed"},
		{"{\"a\":1,}", "malformed"},
		{"[01]", "malformed"},
		{"[NaN]", "malformed"},
		{"[\"\xff\"]", "malformed"},
		{"[\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xbe\"]", "ok"},
		{"[\"\\\\\xc3\xa9\"]", "ok"},
		{"[\"\\\xc3\xa9\"]", "malformed"},
		{"[\"\xc3\"]", "malformed"},
		{"[\xc3\xa9]", "malformed"},
		{"[\"\t\"]", "malformed"},
		{"1", "malformed"},
		{"\"text\"", "malformed"},
		{"null", "malformed"},
		{"<html></html>", "malformed"},
	};
	char	   *deep = booking_arena_alloc(arena, 200);
	char	   *many = booking_arena_alloc(arena, 300001);

	for (int i = 0; i < (int) lengthof(texts); i++)
		tap_is_text(fault_of(texts[i].text, strlen(texts[i].text)), texts[i].fault,
					texts[i].text[0] == '\0' ? "(nothing)" : texts[i].text);
	tap_is_text(fault_of("{}\0{}", 5), "malformed", "a NUL behind the document");
	memset(deep, '[', 100);
	memset(deep + 100, ']', 100);
	tap_is_text(fault_of(deep, 200), "too large", "a hundred arrays within each other");
	memset(deep, '[', 31);
	memset(deep + 31, ']', 31);
	tap_is_text(fault_of(deep, 62), "ok", "31 arrays within each other");
	many[0] = '[';
	for (int i = 0; i < 99999; i++)
		memcpy(many + 1 + 3 * i, "{},", 3);
	memcpy(many + 1 + 3 * 99999 - 1, "]", 2);
	tap_is_text(fault_of(many, strlen(many)), "too large",
				"300 kB that would take a hundred megabytes");
}

/*
 * Members, and members of what is not there.
 */
static void
test_members(void)
{
	static const char text[] = "{\"s\":\"a\\u0000b\\ud800\",\"n\":-7,\"big\":1e300,\"t\":true,"
		"\"z\":null,\"o\":{\"s\":\"in\"},\"l\":[\"x\",2],"
		"\"w\":\"\xc3\xa9\\\"\xe2\x82\xac\xf0\x9f\x8e\xbe\xf4\x8f\xbf\xbf\"}";
	const BookingJson *value;
	const BookingJson *list;

	(void) booking_json_read(text, strlen(text), arena, &value);
	tap_is_text(booking_json_text(value, "s"), "a\xef\xbf\xbd" "b\xef\xbf\xbd",
				"a NUL and half a character are replaced");
	tap_is_text(booking_json_text(value, "w"),
				"\xc3\xa9\"\xe2\x82\xac\xf0\x9f\x8e\xbe\xf4\x8f\xbf\xbf",
				"letters of any length are themselves");
	tap_is_int(booking_json_integer(value, "n", 0), -7, "a number");
	tap_is_int(booking_json_integer(value, "big", 0), PG_INT64_MAX, "a number beyond all");
	tap_ok(booking_json_true(value, "t") && !booking_json_true(value, "n"), "a boolean");
	tap_ok(booking_json_member(value, "z") == NULL, "null is absent");
	tap_is_text(booking_json_text(booking_json_member(value, "o"), "s"), "in",
		"a member of a member");
	tap_ok(booking_json_text(booking_json_member(booking_json_member(value, "x"), "y"),
		"z") == NULL,
		   "a member of nothing");
	tap_ok(booking_json_text(value, "n") == NULL && booking_json_integer(value, "s", 3) == 3,
		   "a member of another kind is absent");
	list = booking_json_elements(value, "l");
	tap_ok(list != NULL && strcmp(list->text, "x") == 0 && list->next->integer == 2 &&
		   list->next->next == NULL, "elements");
	tap_ok(booking_json_elements(value, "s") == NULL, "no elements");
}

/*
 * Writing, and reading that.
 */
static void
test_writing(void)
{
	BookingJsonWriter writer;
	const BookingJson *value;
	char	   *text;
	size_t		len;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "q\"", "a\\b\n\x01\x7f\xc3\xbc\xff");
	booking_json_put_text(&writer, "nothing", NULL);
	booking_json_put_integer(&writer, "n", PG_INT64_MIN);
	booking_json_open(&writer, "l", '[');
	booking_json_put_boolean(&writer, NULL, true);
	booking_json_open(&writer, NULL, '{');
	booking_json_close(&writer, '}');
	booking_json_close(&writer, ']');
	booking_json_close(&writer, '}');
	text = booking_json_end(&writer, &len);
	tap_is_text(text, "{\"q\\\"\":\"a\\\\b\\u000a\\u0001\\u007f\xc3\xbc\xef\xbf\xbd\","
				"\"nothing\":null,\"n\":-9223372036854775808,\"l\":[true,{}]}", "written");
	tap_ok(booking_json_read(text, len, arena, &value) == BOOKING_JSON_OK &&
		   booking_json_integer(value, "n", 0) == PG_INT64_MIN, "and read");
	booking_json_begin(&writer, arena);
	booking_json_put_value(&writer, NULL, value);
	tap_is_text(booking_json_end(&writer, &len), text, "and written again");
}

/*
 * Times of RFC 3339.
 */
static void
test_times(void)
{
	static const struct
	{
		const char *text;
		const char *zone;
		const char *instant;	/* NULL: it is none */
	}			times[] = {
		{"2030-05-01T10:00:00Z", NULL, "2030-05-01T10:00:00Z"},
		{"2030-05-01t10:00:00.25z", NULL, "2030-05-01T10:00:00.250000Z"},
		{"2030-05-01T10:00:00+05:45", NULL, "2030-05-01T04:15:00Z"},
		{"2030-05-01T10:00:00-00:30", NULL, "2030-05-01T10:30:00Z"},
		{"2030-05-01T10:00:00", "Europe/Berlin", "2030-05-01T08:00:00Z"},
		{"2030-03-31T02:30:00", "Europe/Berlin", "2030-03-31T01:30:00Z"},
		{"2030-10-27T02:30:00", "Europe/Berlin", "2030-10-27T00:30:00Z"},
		{"2030-05-01", "Asia/Kathmandu", "2030-04-30T18:15:00Z"},
		{"1969-12-31T23:59:59.5Z", NULL, "1969-12-31T23:59:59.500000Z"},
		{"2030-05-01T23:59:60Z", NULL, "2030-05-01T23:59:59Z"},
		{"2030-05-01T10:00:00", NULL, NULL},
		{"2030-05-01T10:00:00", "Nowhere/Else", NULL},
		{"2030-02-29", "UTC", NULL},
		{"2030-05-01T24:00:00Z", NULL, NULL},
		{"2030-05-01T10:00Z", NULL, NULL},
		{"2030-05-01T10:00:00Zx", NULL, NULL},
		{"2030-05-01T10:00:00+25:00", NULL, NULL},
		{"0000-01-01", "UTC", NULL},
		{"", "UTC", NULL},
	};

	for (int i = 0; i < (int) lengthof(times); i++)
	{
		BookingTime time;
		int64		instant;
		char		text[BOOKING_RFC3339_SIZE];
		bool		good = booking_rfc3339_read(times[i].text, &time) &&
			booking_rfc3339_instant(&time, times[i].zone, &instant) &&
			booking_rfc3339_write(instant, text);

		tap_is_text(good ? text : NULL, times[i].instant, times[i].text);
	}
}

/*
 * Memory that is short is a fault, and nothing is left behind (the sanitizer
 * looks).
 */
static void
test_memory(void)
{
	static const char text[] = "{\"a\":[{\"b\":\"some text\"},1,2,{\"c\":null}],"
		"\"d\":\"x\\u0000y\"}";
	bool		good = true;

	for (size_t limit = 0; limit < 4000; limit += 16)
	{
		BookingArena *small = booking_arena_create(limit);
		const BookingJson *value;
		BookingJsonFault fault = booking_json_read(text, strlen(text), small, &value);

		good = good && (fault == BOOKING_JSON_OK ? value != NULL :
						fault == BOOKING_JSON_TOO_LARGE && value == NULL);
		booking_arena_free(small);
	}
	tap_ok(good, "every amount of memory");
}

int
main(void)
{
	arena = booking_arena_create(TAP_ARENA);
	test_faults();
	test_members();
	test_writing();
	test_times();
	test_memory();
	booking_arena_free(arena);
	return tap_done();
}

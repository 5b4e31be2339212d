/*
 * test/fuzz/json_read.c
 *
 * Whatever comes from outside is a tree whose every text is UTF-8, or a fault.
 * What was read can be written, and reading that gives the same bytes again.
 */
#include "check.h"

#include "codec/json_read.h"
#include "codec/json_write.h"

static void check_value(const BookingJson *value, int depth);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	const BookingJson *value;
	const BookingJson *again;

	if (booking_json_read((const char *) data, size, arena, &value) == BOOKING_JSON_OK)
	{
		BookingJsonWriter writer;
		char	   *text;
		char	   *second;
		size_t		len;
		size_t		second_len;

		check_value(value, 1);
		booking_json_begin(&writer, arena);
		booking_json_put_value(&writer, NULL, value);
		text = booking_json_end(&writer, &len);
		if (text != NULL && booking_json_read(text, len, arena, &again) == BOOKING_JSON_OK)
		{
			booking_json_begin(&writer, arena);
			booking_json_put_value(&writer, NULL, again);
			second = booking_json_end(&writer, &second_len);
			check(second == NULL || (len == second_len && memcmp(text, second, len) == 0));
		}
		else
			check(booking_arena_failed(arena) || len > BOOKING_JSON_BYTES / 8);
	}
	else
		check(value == NULL);
	booking_arena_free(arena);
	return 0;
}

/*
 * What holds for every value.
 */
static void
check_value(const BookingJson *value, int depth)
{
	int			count = 0;

	check(depth <= BOOKING_JSON_DEPTH);
	check(is_text(value->text) && is_text(value->name));
	check((value->text != NULL) == (value->kind == BOOKING_JSON_STRING ||
									value->kind == BOOKING_JSON_NUMBER));
	for (const BookingJson *at = value->first; at != NULL; at = at->next)
	{
		check((at->name != NULL) == (value->kind == BOOKING_JSON_OBJECT));
		check_value(at, depth + 1);
		count++;
	}
	check(count == value->count);
}

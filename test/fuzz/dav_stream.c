/*
 * test/fuzz/dav_stream.c
 *
 * A multistatus that comes in pieces says what it says in one, wherever it is
 * cut: the network decides about that.  The input is read byte by byte, in two
 * pieces cut at a place that its first two bytes choose, and all at once; where
 * it is read to its end, all of them take the same resources, and so does the
 * reader of whole bodies.  That one reads UTF-16, too, which has a NUL.
 */
#include "check.h"

#include "codec/dav.h"

/* longer texts are cut off in a stream */
#define MAX_TEXT (16 * 1024)

/* what a reading has taken: a number that depends on all of it, in its order */
typedef struct Reading
{
	int			count;
	uint64		digest;
	BookingDavFault fault;
} Reading;

/*
 * Mix a string into a digest; none is another thing than an empty one.
 */
static void
mix_text(Reading *reading, const char *text)
{
	reading->digest = reading->digest * 31 + (text != NULL);
	for (; text != NULL && *text != '\0'; text++)
		reading->digest = reading->digest * 1099511628211u + (unsigned char) *text;
}

/*
 * Take a resource.
 */
static bool
take(void *arg, const BookingDavResource *resource)
{
	Reading    *reading = arg;

	check(resource->href != NULL && *resource->href != '\0');
	check(strlen(resource->href) <= MAX_TEXT);
	check(is_text(resource->href) && is_text(resource->etag) && is_text(resource->ctag));
	check(resource->status == 0 || (resource->status >= 100 && resource->status < 600));
	mix_text(reading, resource->href);
	mix_text(reading, resource->etag);
	mix_text(reading, resource->ctag);
	reading->digest = reading->digest * 31 + resource->status;
	reading->digest = reading->digest * 31 + resource->is_collection;
	reading->digest = reading->digest * 31 + resource->is_calendar;
	reading->count++;
	return true;
}

/*
 * Read in pieces: the first one of some length, the others of another.
 */
static Reading
read_pieces(const char *data, size_t size, size_t first, size_t others)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	Reading		reading = {0};
	BookingDavStream *stream = booking_dav_stream_begin(arena, take, &reading);
	const char *token;
	size_t		piece = first;

	check(stream != NULL);
	while (size > 0)
	{
		piece = Min(piece, size);
		if (!booking_dav_stream_feed(stream, data, piece))
			break;
		data += piece;
		size -= piece;
		piece = others;
	}
	reading.fault = booking_dav_stream_end(stream, &token);
	check(is_text(token));
	if (reading.fault == BOOKING_DAV_OK)
		mix_text(&reading, token);
	booking_arena_free(arena);
	return reading;
}

/*
 * Read a whole body.
 */
static Reading
read_whole(const char *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	Reading		reading = {0};
	BookingDavMultistatus result;

	reading.fault = booking_dav_read_multistatus(data, size, arena, &result);
	for (int i = 0; reading.fault == BOOKING_DAV_OK && i < result.nresources; i++)
		take(&reading, &result.resources[i]);
	if (reading.fault == BOOKING_DAV_OK)
		mix_text(&reading, result.sync_token);
	booking_arena_free(arena);
	return reading;
}

/*
 * Have two readings that came to an end taken the same?
 */
static void
check_same(const Reading *one, const Reading *other)
{
	check((one->fault == BOOKING_DAV_OK) == (other->fault == BOOKING_DAV_OK));
	if (one->fault == BOOKING_DAV_OK)
		check(one->count == other->count && one->digest == other->digest);
}

static int
test_input(const uint8 *data, size_t size)
{
	const char *body = (const char *) data + 2;
	Reading		at_once;
	Reading		bytes;
	Reading		two;
	Reading		whole;

	if (size < 3 || size - 2 > MAX_TEXT)
		return 0;
	size -= 2;
	at_once = read_pieces(body, size, size, size);
	bytes = read_pieces(body, size, 1, 1);
	two = read_pieces(body, size, 1 + (data[0] * 256 + data[1]) % size, size);
	whole = read_whole(body, size);
	check_same(&at_once, &bytes);
	check_same(&at_once, &two);
	if (memchr(body, '\0', size) != NULL)
		check(at_once.fault != BOOKING_DAV_OK);
	else
		check_same(&at_once, &whole);
	return 0;
}

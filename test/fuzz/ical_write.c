/*
 * test/fuzz/ical_write.c
 *
 * Whatever texts an event has, what is written has one event, the given people,
 * and lines of at most 75 octets that are UTF-8; it is read back with the same
 * times and flags, and writing that again gives the same bytes.
 *
 * Input: 20 bytes of times and flags, then texts that end in NUL: uid, marker,
 * summary, description, location, organizer and name, attendees and names.
 */
#include "check.h"

#include "codec/ical.h"

#define FIXED_BYTES 20
#define MAX_PEOPLE 20

static const char *take_text(const uint8 **data, size_t *size, BookingArena *arena);
static void make_event(const uint8 *data, size_t size, BookingArena *arena,
					   BookingEvent *event);
static void check_lines(const BookingEvent *event, const char *data, size_t len);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingEvent event = {0};
	BookingEvent again;
	char	   *written;
	char	   *rewritten;
	size_t		len;
	size_t		relen;

	if (size >= FIXED_BYTES)
	{
		make_event(data, size, arena, &event);
		if (booking_ical_write(&event, 0, arena, &written, &len) == BOOKING_ICAL_OK)
		{
			check_lines(&event, written, len);
			check(booking_ical_read(written, len, arena, &again) == BOOKING_ICAL_OK);
			check(again.start == event.start && again.end == event.end);
			check(again.all_day == event.all_day && again.canceled == event.canceled &&
				  again.transparent == event.transparent && !again.recurring);
			check(again.sequence == Max(event.sequence, 0));
			check(again.nattendees == event.nattendees);
			again.notify = event.notify;
			check(booking_ical_write(&again, 0, arena, &rewritten, &relen) == BOOKING_ICAL_OK);
			check(relen == len && memcmp(rewritten, written, len) == 0);
		}
	}
	booking_arena_free(arena);
	return 0;
}

/*
 * The next text of the input, NULL when it is used up.
 */
static const char *
take_text(const uint8 **data, size_t *size, BookingArena *arena)
{
	size_t		len = strnlen((const char *) *data, *size);
	const char *text;

	if (*size == 0)
		return NULL;
	text = booking_arena_copy(arena, (const char *) *data, len);
	len = Min(len + 1, *size);
	*data += len;
	*size -= len;
	return text;
}

/*
 * An event of the input.  Most times are made ones that can be written.
 */
static void
make_event(const uint8 *data, size_t size, BookingArena *arena, BookingEvent *event)
{
	int64		length;

	memcpy(&event->start, data, 8);
	memcpy(&length, data + 8, 8);
	memcpy(&event->sequence, data + 16, 4);
	event->all_day = (data[19] & 1) != 0;
	event->canceled = (data[19] & 2) != 0;
	event->transparent = (data[19] & 4) != 0;
	event->notify = (BookingNotify) (data[18] % 3);
	if ((data[19] & 8) == 0)
	{
		int64		unit = event->all_day ? INT64CONST(86400000000) : INT64CONST(1000000);

		event->start = event->start % INT64CONST(200000000000000000) / unit * unit;
		length = Max(length % 1000000, 1) * unit;
	}
	event->end = (int64) ((uint64) event->start + (uint64) length);

	data += FIXED_BYTES;
	size -= FIXED_BYTES;
	event->uid = take_text(&data, &size, arena);
	event->marker = take_text(&data, &size, arena);
	event->summary = take_text(&data, &size, arena);
	event->description = take_text(&data, &size, arena);
	event->location = take_text(&data, &size, arena);
	event->organizer_email = take_text(&data, &size, arena);
	event->organizer_name = take_text(&data, &size, arena);
	event->attendees = booking_arena_alloc(arena, MAX_PEOPLE * sizeof(BookingAttendee));
	while (size > 0 && event->nattendees < MAX_PEOPLE)
	{
		BookingAttendee *attendee = &event->attendees[event->nattendees++];

		attendee->email = take_text(&data, &size, arena);
		attendee->name = take_text(&data, &size, arena);
		attendee->optional = event->nattendees % 2 == 0;
	}
}

/*
 * The lines of what was written, as they stand there.
 */
static void
check_lines(const BookingEvent *event, const char *data, size_t len)
{
	int			nbegins = 0;
	int			nattendees = 0;
	const char *p = data;

	check(strlen(data) == len && is_text(data));
	while (*p != '\0')
	{
		const char *end = strstr(p, "\r\n");

		check(end != NULL && end - p <= 75);
		nbegins += strncmp(p, "BEGIN:", 6) == 0 ? 1 : 0;
		nattendees += strncmp(p, "ATTENDEE", 8) == 0 ? 1 : 0;
		for (; p < end; p++)
			check((unsigned char) *p >= 0x20 || *p == '\t');
		p += 2;
	}
	check(nbegins == 2 && nattendees == event->nattendees);
}

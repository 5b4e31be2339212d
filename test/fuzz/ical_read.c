/*
 * test/fuzz/ical_read.c
 *
 * Whatever comes from outside is an event whose every string is UTF-8 and which
 * ends no earlier than it begins, or a fault.  What was read can be written,
 * and reading that gives the same event.
 */
#include "check.h"

#include "codec/ical.h"

static void check_event(const BookingEvent *event);
static void check_again(BookingEvent *event, BookingArena *arena);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingEvent event;

	if (booking_ical_read((const char *) data, size, arena, &event) == BOOKING_ICAL_OK)
	{
		check_event(&event);
		check_again(&event, arena);
	}
	booking_arena_free(arena);
	return 0;
}

/*
 * What holds for every event.
 */
static void
check_event(const BookingEvent *event)
{
	check(event->start <= event->end);
	check(event->start % 1000000 == 0 && event->end % 1000000 == 0);
	check(!event->all_day || (event->start < event->end &&
							  event->start % INT64CONST(86400000000) == 0 &&
							  event->end % INT64CONST(86400000000) == 0));
	check(event->sequence >= 0);
	check(is_text(event->uid) && is_text(event->marker) && is_text(event->summary) &&
		  is_text(event->description) && is_text(event->location) &&
		  is_text(event->organizer_email) && is_text(event->organizer_name));
	check(event->nattendees >= 0);
	for (int i = 0; i < event->nattendees; i++)
	{
		check(event->attendees[i].email != NULL);
		check(is_text(event->attendees[i].email) && is_text(event->attendees[i].name));
	}
}

/*
 * Write it and read it.  Texts may lose control characters on the way, once.
 */
static void
check_again(BookingEvent *event, BookingArena *arena)
{
	BookingEvent again;
	char	   *data;
	size_t		len;

	if (booking_ical_write(event, 0, arena, &data, &len) != BOOKING_ICAL_OK)
		return;
	if (booking_ical_read(data, len, arena, &again) != BOOKING_ICAL_OK)
	{
		check(booking_arena_failed(arena));
		return;
	}
	check(again.start == event->start && again.end == event->end &&
		  again.all_day == event->all_day && again.canceled == event->canceled &&
		  again.transparent == event->transparent && again.sequence == event->sequence &&
		  again.nattendees == event->nattendees && !again.recurring);
}

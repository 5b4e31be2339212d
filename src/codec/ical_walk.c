/*-------------------------------------------------------------------------
 *
 * ical_walk.c
 *	  through the components of an iCalendar object, line by line
 *
 * An object must be whole: components nest and end as they began, for an answer
 * that was cut must not pass for an event.  The walk shows the lines of events,
 * keeps those of time zones, and passes over all others.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_walk.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/ical_walk.h"

static BookingIcalPlace present_place(const BookingIcalWalk *walk);
static BookingIcalFault begin_component(BookingIcalWalk *walk,
										const BookingContentLine *line);
static BookingIcalFault end_component(BookingIcalWalk *walk,
									  const BookingContentLine *line,
									  BookingIcalPlace *ended);

/*
 * Begin at the first line of an unfolded text (see contentline.h), which is
 * changed on the way and must live as long as the lines are used; NULL if the
 * arena has failed.
 */
void
booking_ical_walk_start(BookingIcalWalk *walk, char *text, int max_lines,
						BookingArena *arena, BookingIcalZones *zones)
{
	memset(walk, 0, sizeof(BookingIcalWalk));
	walk->arena = arena;
	walk->zones = zones;
	walk->cursor = text;
	walk->lines_left = max_lines;
	if (text == NULL)
		walk->fault = BOOKING_ICAL_TOO_LARGE;
	booking_ical_zones_init(zones, arena);
}

/*
 * Go on to the next line of an event, or to where one begins or ends.  After
 * BOOKING_ICAL_STOPPED, walk->fault says whether the object is whole.
 */
BookingIcalStep
booking_ical_walk_next(BookingIcalWalk *walk, BookingContentLine *line)
{
	while (walk->fault == BOOKING_ICAL_OK &&
		   booking_contentline_next(&walk->cursor, line))
	{
		BookingIcalPlace place = present_place(walk);

		if (walk->lines_left-- <= 0)
			walk->fault = BOOKING_ICAL_TOO_LARGE;
		else if (booking_contentline_is(line, "BEGIN"))
		{
			walk->fault = begin_component(walk, line);
			if (walk->fault == BOOKING_ICAL_OK &&
				present_place(walk) == BOOKING_ICAL_IN_EVENT)
				return BOOKING_ICAL_EVENT_BEGINS;
		}
		else if (booking_contentline_is(line, "END"))
		{
			walk->fault = end_component(walk, line, &place);
			if (walk->fault == BOOKING_ICAL_OK && place == BOOKING_ICAL_IN_EVENT)
				return BOOKING_ICAL_EVENT_ENDS;
		}
		else if (place == BOOKING_ICAL_IN_EVENT)
			return BOOKING_ICAL_EVENT_LINE;
		else if (place == BOOKING_ICAL_IN_ZONE || place == BOOKING_ICAL_IN_OBSERVANCE)
			booking_ical_zone_add(walk->zones, line,
								  place == BOOKING_ICAL_IN_OBSERVANCE);
		else if (place == BOOKING_ICAL_IN_NOTHING)
		{
			/* neither before the object nor behind it is there anything */
			walk->fault = BOOKING_ICAL_MALFORMED;
		}
	}
	if (booking_arena_failed(walk->arena))
		walk->fault = BOOKING_ICAL_TOO_LARGE;
	if (walk->fault == BOOKING_ICAL_OK && (walk->ncalendars == 0 || walk->depth > 0))
		walk->fault = BOOKING_ICAL_MALFORMED;
	return BOOKING_ICAL_STOPPED;
}

/*
 * The component that the walk is in.
 */
static BookingIcalPlace
present_place(const BookingIcalWalk *walk)
{
	return walk->depth == 0 ? BOOKING_ICAL_IN_NOTHING :
		walk->stack[walk->depth - 1].place;
}

/*
 * BEGIN: a component counts for what it is only where it may stand.
 */
static BookingIcalFault
begin_component(BookingIcalWalk *walk, const BookingContentLine *line)
{
	BookingIcalPlace outer = present_place(walk);
	BookingIcalComponent *component;

	if (walk->depth == BOOKING_ICAL_MAX_DEPTH)
		return BOOKING_ICAL_MALFORMED;
	component = &walk->stack[walk->depth++];
	component->place = BOOKING_ICAL_IN_OTHER;
	component->name = booking_contentline_word(line, walk->arena);
	if (component->name == NULL)
		return BOOKING_ICAL_TOO_LARGE;

	if (outer == BOOKING_ICAL_IN_NOTHING)
	{
		if (pg_strcasecmp(component->name, "VCALENDAR") != 0 ||
			walk->ncalendars++ > 0)
			return BOOKING_ICAL_MALFORMED;
		component->place = BOOKING_ICAL_IN_CALENDAR;
	}
	else if (outer == BOOKING_ICAL_IN_CALENDAR &&
			 pg_strcasecmp(component->name, "VEVENT") == 0)
		component->place = BOOKING_ICAL_IN_EVENT;
	else if (outer == BOOKING_ICAL_IN_CALENDAR &&
			 pg_strcasecmp(component->name, "VTIMEZONE") == 0)
	{
		component->place = BOOKING_ICAL_IN_ZONE;
		booking_ical_zone_begin(walk->zones);
	}
	else if (outer == BOOKING_ICAL_IN_ZONE)
	{
		component->place = BOOKING_ICAL_IN_OBSERVANCE;
		booking_ical_zone_begin_observance(walk->zones);
	}
	return BOOKING_ICAL_OK;
}

/*
 * END: of the component that began last.
 */
static BookingIcalFault
end_component(BookingIcalWalk *walk, const BookingContentLine *line,
			  BookingIcalPlace *ended)
{
	const BookingIcalComponent *component;
	const char *name = booking_contentline_word(line, walk->arena);

	if (name == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	if (walk->depth == 0)
		return BOOKING_ICAL_MALFORMED;
	component = &walk->stack[--walk->depth];
	*ended = component->place;
	return pg_strcasecmp(component->name, name) == 0 ? BOOKING_ICAL_OK :
		BOOKING_ICAL_MALFORMED;
}

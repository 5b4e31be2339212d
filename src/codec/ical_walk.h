/*-------------------------------------------------------------------------
 *
 * ical_walk.h
 *	  through the components of an iCalendar object, line by line
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_walk.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_WALK_H
#define BOOKING_ICAL_WALK_H

#include "codec/ical.h"
#include "codec/ical_zone.h"

#define BOOKING_ICAL_MAX_DEPTH 8

typedef enum BookingIcalPlace
{
	BOOKING_ICAL_IN_NOTHING,
	BOOKING_ICAL_IN_CALENDAR,
	BOOKING_ICAL_IN_EVENT,
	BOOKING_ICAL_IN_ZONE,
	BOOKING_ICAL_IN_OBSERVANCE,
	BOOKING_ICAL_IN_OTHER
} BookingIcalPlace;

/* what the walk has come to */
typedef enum BookingIcalStep
{
	BOOKING_ICAL_STOPPED,		/* at the end, or at a fault */
	BOOKING_ICAL_EVENT_BEGINS,
	BOOKING_ICAL_EVENT_LINE,
	BOOKING_ICAL_EVENT_ENDS
} BookingIcalStep;

typedef struct BookingIcalComponent
{
	BookingIcalPlace place;
	const char *name;
} BookingIcalComponent;

typedef struct BookingIcalWalk
{
	BookingArena *arena;
	BookingIcalZones *zones;	/* filled on the way */
	BookingIcalFault fault;
	char	   *cursor;
	int			lines_left;
	int			ncalendars;
	int			depth;
	BookingIcalComponent stack[BOOKING_ICAL_MAX_DEPTH];
} BookingIcalWalk;

extern void booking_ical_walk_start(BookingIcalWalk *walk, char *text,
									int max_lines, BookingArena *arena,
									BookingIcalZones *zones);
extern BookingIcalStep booking_ical_walk_next(BookingIcalWalk *walk,
											  BookingContentLine *line);

#endif							/* BOOKING_ICAL_WALK_H */

/*-------------------------------------------------------------------------
 *
 * ical_output.h
 *	  occurrences of one object as they are found, inside the codec
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_output.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_OUTPUT_H
#define BOOKING_ICAL_OUTPUT_H

#include "codec/ical_expand.h"

/* an occurrence and when it was found */
typedef struct BookingIcalFound
{
	BookingOccurrence occurrence;
	int			place;
} BookingIcalFound;

typedef struct BookingIcalOutput
{
	BookingArena *arena;
	int64		from;			/* the window, microseconds */
	int64		to;
	int			max;
	int			nfound;
	int			size;
	BookingIcalFound *found;
	int			event_first;	/* where those of the present event begin */
	int64		nrest;			/* found beyond the first max - 1 */
	BookingOccurrence rest;		/* the time in which they are */
	const char *problem;		/* the first one */
} BookingIcalOutput;

extern void booking_ical_output_start(BookingIcalOutput *output,
									  const BookingExpandRequest *request,
									  BookingArena *arena);
extern void booking_ical_output_problem(BookingIcalOutput *output,
										const char *problem);
extern void booking_ical_output_add(BookingIcalOutput *output,
									const BookingOccurrence *occurrence);
extern void booking_ical_output_extend_rest(BookingIcalOutput *output);
extern void booking_ical_output_end_event(BookingIcalOutput *output);
extern void booking_ical_output_finish(BookingIcalOutput *output,
									   BookingExpansion *expansion);

#endif							/* BOOKING_ICAL_OUTPUT_H */

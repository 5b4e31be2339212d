/*-------------------------------------------------------------------------
 *
 * ical_value.h
 *	  values of iCalendar properties that more than one reader needs
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_value.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_VALUE_H
#define BOOKING_ICAL_VALUE_H

#include "codec/contentline.h"

/* DURATION: days of the calendar and elapsed seconds */
typedef struct BookingIcalDuration
{
	bool		negative;		/* both of them */
	int64		days;
	int64		seconds;
} BookingIcalDuration;

extern const char *booking_ical_address(const BookingContentLine *line,
										BookingArena *arena);
extern int	booking_ical_sequence(const char *word);
extern bool booking_ical_duration(const char *word,
								  BookingIcalDuration *duration);

#endif							/* BOOKING_ICAL_VALUE_H */

/*-------------------------------------------------------------------------
 *
 * present.h
 *	  where a booking is now, and what it waits for
 *
 * IDENTIFICATION
 *	  booking/src/store/present.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PRESENT_H
#define BOOKING_PRESENT_H

#include "store/record.h"

/* states of an intent that has units because of what is at a provider */
#define BOOKING_HOLDING_STATES \
	"('approved', 'creating', 'created', 'unknown', 'canceling')"

/* of the newest operation of an intent; texts are NULL where there is nothing */
typedef struct BookingPresent
{
	bool		moved;			/* it followed its event, which was moved */
	TimestampTz start;			/* to this time */
	TimestampTz end;
	text	   *problem;		/* why nothing was sent yet */
	text	   *message;
	TimestampTz next_at;		/* with a problem: when it is tried again */
} BookingPresent;

extern void booking_store_present(const BookingIntent *intent,
								  BookingPresent *present);

#endif							/* BOOKING_PRESENT_H */

/*-------------------------------------------------------------------------
 *
 * hold.h
 *	  what intents hold, as outcomes change it
 *
 * IDENTIFICATION
 *	  booking/src/controller/hold.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_HOLD_H
#define BOOKING_HOLD_H

#include "store/record.h"

extern void booking_hold_release(const BookingIdentity *identity,
								 const BookingIntent *intent);
extern void booking_hold_move(const BookingIntent *intent,
							  const BookingIntent *predecessor,
							  const BookingIdentity *identity);

#endif							/* BOOKING_HOLD_H */

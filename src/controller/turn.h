/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  who may have what takes much memory
 *
 * IDENTIFICATION
 *	  booking/src/controller/turn.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_TURN_H
#define BOOKING_TURN_H

#include "codec/arena.h"

/* calendars that missed their turn and are remembered */
#define BOOKING_TURN_MISSED 64

/* what one round at a time has */
typedef enum BookingTurn
{
	BOOKING_TURN_ANSWER,		/* a large answer with objects */
	BOOKING_TURN_LISTING		/* a large listing */
} BookingTurn;

extern bool booking_turn_take(BookingTurn turn, const void *who);
extern bool booking_turn_has(BookingTurn turn, const void *who);
extern void booking_turn_leave(BookingTurn turn, const void *who);

extern BookingArena *booking_turn_listing(const void *who);
extern bool booking_turn_listed(const void *who, const BookingArena *listing);
extern bool booking_turn_relist(const void *who, int64 calendar_id);
extern int	booking_turn_missed(int64 *ids);

#endif							/* BOOKING_TURN_H */

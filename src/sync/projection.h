/*-------------------------------------------------------------------------
 *
 * projection.h
 *	  calendars of providers as rows of booking.event
 *
 * IDENTIFICATION
 *	  booking/src/sync/projection.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PROJECTION_H
#define BOOKING_PROJECTION_H

#include "provider/provider.h"
#include "sync/round.h"

extern int	booking_projection_list(const BookingRound *round,
									const BookingPullChunk *listed,
									const BookingPullItem **wanted);
extern void booking_projection_apply(BookingCall *call,
									 const BookingRound *round,
									 const BookingPullItem *items, int count);
extern void booking_projection_spoil(BookingCall *call,
									 const BookingRound *round,
									 const BookingPullItem *item,
									 const char *problem);

#endif							/* BOOKING_PROJECTION_H */

/*-------------------------------------------------------------------------
 *
 * lot.h
 *	  storing what a round brought
 *
 * IDENTIFICATION
 *	  booking/src/controller/lot.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LOT_H
#define BOOKING_LOT_H

#include "controller/session.h"
#include "provider/provider.h"
#include "sync/round.h"

extern int	booking_lot_collect(const BookingPullChunk *chunk,
								const BookingPullItem *const *wanted,
								int limit, BookingPullItem *items);
extern void booking_lot_store(BookingCall *call, const BookingRound *round,
							  const BookingPullItem *items, int count);

#endif							/* BOOKING_LOT_H */

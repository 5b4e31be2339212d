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

extern bool booking_lot_store_fetched(BookingCall *call,
									  const BookingRound *round,
									  const BookingPullChunk *chunk,
									  const BookingPullItem *const *wanted,
									  int limit, int *stored);
extern int	booking_lot_store_brought(BookingCall *call,
									  const BookingRound *round,
									  const BookingPullItem **wanted, int count);

#endif							/* BOOKING_LOT_H */

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

/* rows that are enough for one transaction */
#define BOOKING_PROJECTION_ROWS 20000

extern int	booking_projection_list(BookingRound *round,
									const BookingPullChunk *listed,
									const BookingPullItem **wanted);
extern int	booking_projection_apply(BookingCall *call,
									 const BookingRound *round,
									 const BookingPullItem *items, int count,
									 int64 *nrows);
extern void booking_projection_spoil(BookingCall *call,
									 const BookingRound *round,
									 const BookingPullItem *item,
									 const char *problem);

#endif							/* BOOKING_PROJECTION_H */

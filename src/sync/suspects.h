/*-------------------------------------------------------------------------
 *
 * suspects.h
 *	  events of ours that a listing does not show any more
 *
 * IDENTIFICATION
 *	  booking/src/sync/suspects.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SYNC_SUSPECTS_H
#define BOOKING_SYNC_SUSPECTS_H

#include "sync/round.h"

/* events that are asked about in one round */
#define BOOKING_MAX_ASKED 1000

extern void booking_suspects_begin(BookingRound *round);
extern bool booking_suspects_next(BookingRound *round, const int64 *intent_ids,
								  int count);
extern const BookingSuspect *booking_suspects_find(const BookingRound *round,
												   int64 intent_id);

#endif							/* BOOKING_SYNC_SUSPECTS_H */

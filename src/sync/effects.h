/*-------------------------------------------------------------------------
 *
 * effects.h
 *	  what a calendar says of events of ours
 *
 * IDENTIFICATION
 *	  booking/src/sync/effects.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EFFECTS_H
#define BOOKING_EFFECTS_H

#include "ledger/call.h"
#include "store/event.h"
#include "sync/round.h"

extern void booking_effects_apply(BookingCall *call, const BookingRound *round,
								  const BookingEventFacts *facts);

#endif							/* BOOKING_EFFECTS_H */

/*-------------------------------------------------------------------------
 *
 * effects.h
 *	  what becomes of bookings whose events others changed
 *
 * IDENTIFICATION
 *	  booking/src/sync/effects.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EFFECTS_H
#define BOOKING_EFFECTS_H

#include "ledger/call.h"
#include "sync/round.h"

extern BookingRoundStep booking_effects_settle(BookingCall *call,
											   BookingRound *round);

#endif							/* BOOKING_EFFECTS_H */

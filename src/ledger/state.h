/*-------------------------------------------------------------------------
 *
 * state.h
 *	  the state graph of an intent
 *
 * IDENTIFICATION
 *	  booking/src/ledger/state.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_STATE_H
#define BOOKING_STATE_H

#include "postgres.h"

typedef enum BookingState
{
	BOOKING_STATE_PROPOSED,
	BOOKING_STATE_APPROVED,
	BOOKING_STATE_COMMITTED,
	BOOKING_STATE_CONFLICT,
	BOOKING_STATE_CREATING,
	BOOKING_STATE_CREATED,
	BOOKING_STATE_UNKNOWN,
	BOOKING_STATE_FAILED,
	BOOKING_STATE_NEEDS_PROPOSAL,
	BOOKING_STATE_CANCELING,
	BOOKING_STATE_CANCELED
} BookingState;

#define BOOKING_STATE_COUNT (BOOKING_STATE_CANCELED + 1)

extern bool booking_state_parse(const text *name, BookingState *state);
extern BookingState booking_state_of(const text *name);
extern bool booking_state_may_become(BookingState from, BookingState to);
extern char *booking_state_names(void);

#endif							/* BOOKING_STATE_H */

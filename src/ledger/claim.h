/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  claims within a call, and steps that an approval takes too
 *
 * IDENTIFICATION
 *	  booking/src/ledger/claim.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CLAIM_H
#define BOOKING_CLAIM_H

#include "ledger/call.h"
#include "ledger/view.h"

/*
 * A claim within a call that has begun, for what decides more than a claim in
 * one transaction.  The payload has the form that booking_claim checks.
 */
extern void booking_claim_within(BookingCall *call,
								 const BookingIdentity *identity,
								 const BookingPayload *payload,
								 Jsonb *evidence, BookingResult *result);
extern text *booking_claim_receipt(void);
extern bool booking_claim_hold(const BookingView *view,
							   const BookingIdentity *identity,
							   const BookingPayload *payload, int64 intent_id,
							   LOCKMODE mode, bool override, Jsonb **collision);
extern const char *booking_claim_state(const BookingView *view,
									   const BookingPayload *payload);
extern void booking_claim_follow(const BookingCall *call,
								 const BookingView *view,
								 const BookingIdentity *identity,
								 const BookingPayload *payload,
								 int64 intent_id);
extern void booking_claim_end_predecessor(const BookingCall *call,
										  const BookingIntent *predecessor,
										  text *successor, const char *state);

#endif							/* BOOKING_CLAIM_H */

/*-------------------------------------------------------------------------
 *
 * propose.h
 *	  recording proposals
 *
 * IDENTIFICATION
 *	  booking/src/ledger/propose.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PROPOSE_H
#define BOOKING_PROPOSE_H

#include "ledger/call.h"
#include "ledger/view.h"

extern BookingProposal *booking_propose_record(const BookingCall *call,
											   const BookingRequest *request,
											   const BookingView *view,
											   const BookingPayload *payload,
											   int64 slot_version,
											   const TimestampTz *hold_until,
											   int64 intent_id,
											   Jsonb *evidence);
extern void booking_propose_keep(const BookingCall *call,
								 const BookingIntent *intent);

#endif							/* BOOKING_PROPOSE_H */

/*-------------------------------------------------------------------------
 *
 * outcome.h
 *	  what an outcome does to operation, intent and reservations
 *
 * IDENTIFICATION
 *	  booking/src/controller/outcome.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_OUTCOME_H
#define BOOKING_OUTCOME_H

#include "ledger/call.h"
#include "provider/provider.h"
#include "store/operation.h"

extern void booking_outcome_apply(BookingCall *call,
								  const BookingOperation *operation,
								  bool lookup, const BookingOutcome *outcome,
								  const BookingProvider *provider);
extern void booking_outcome_count(bool lookup, BookingJobKind job,
								  BookingOutcomeKind outcome);
extern void booking_outcome_give_up(BookingCall *call,
									const BookingOperation *operation);
extern void booking_outcome_confirm(BookingCall *call,
									const BookingOperation *operation,
									const BookingOutcome *outcome);
extern void booking_outcome_reject(BookingCall *call,
								   const BookingOperation *operation,
								   const char *problem, const char *message);
extern void booking_outcome_resend(BookingCall *call,
								   const BookingOperation *operation,
								   TimestampTz next_at, bool settled);
extern void booking_outcome_stale(BookingCall *call,
								  const BookingOperation *operation,
								  Jsonb *detail);
extern void booking_outcome_unread(BookingCall *call,
								   const BookingOperation *operation,
								   const char *message);

#endif							/* BOOKING_OUTCOME_H */

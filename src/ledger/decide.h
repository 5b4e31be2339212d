/*-------------------------------------------------------------------------
 *
 * decide.h
 *	  answers that follow from what is recorded
 *
 * IDENTIFICATION
 *	  booking/src/ledger/decide.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DECIDE_H
#define BOOKING_DECIDE_H

#include "ledger/call.h"
#include "ledger/view.h"

extern void booking_decide(BookingResult *result, const char *disposition,
						   Jsonb *detail);
extern void booking_decide_new(BookingResult *result, const char *disposition,
							   const char *state, const char *remote);
extern void booking_decide_refusal(BookingResult *result,
								   const BookingIntent *intent,
								   const char *disposition, Jsonb *detail);
extern void booking_decide_intent(BookingResult *result,
								  const BookingIntent *intent,
								  const char *disposition, bool replayed);
extern void booking_decide_replay(BookingResult *result,
								  const BookingIntent *intent);
extern void booking_decide_claim(BookingResult *result,
								 const BookingIntent *intent,
								 const BookingPayload *payload,
								 bool with_supersedes);
extern bool booking_decide_predecessor(BookingResult *result,
									   const BookingView *view);
extern Jsonb *booking_decide_versions(const BookingView *view,
									  const BookingIdentity *identity,
									  BookingPayload *payload,
									  int64 *slot_version);
extern Jsonb *booking_decide_drift(const BookingView *view,
								   const BookingProposal *proposal);
extern Jsonb *booking_decide_units(const BookingView *view,
								   const BookingPayload *payload);
extern void booking_decide_stale(BookingResult *result,
								 const BookingIntent *intent);
extern void booking_decide_mutation(BookingResult *result,
									const BookingIntent *intent,
									const char *disposition,
									const char *state, Jsonb *detail);

#endif							/* BOOKING_DECIDE_H */

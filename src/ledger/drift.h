/*-------------------------------------------------------------------------
 *
 * drift.h
 *	  what calendars said when a proposal was made, and what they say now
 *
 * IDENTIFICATION
 *	  booking/src/ledger/drift.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DRIFT_H
#define BOOKING_DRIFT_H

#include "ledger/detail.h"
#include "ledger/view.h"

extern void booking_drift_snapshot(BookingDetail *detail, text *tenant,
								   const BookingPayload *payload,
								   int64 intent_id, int64 predecessor_id);
extern Jsonb *booking_drift_read(text *tenant, const BookingProposal *proposal);
extern Jsonb *booking_drift_overlap(text *tenant,
									const BookingProposal *proposal,
									int64 intent_id, int64 predecessor_id);
extern Jsonb *booking_drift_explain(Jsonb *collision, Jsonb *drift);
extern Jsonb *booking_drift_new_overlap(text *tenant,
										const BookingPayload *payload,
										int64 intent_id, int64 predecessor_id,
										const int64 *known, int nknown);
extern void booking_drift_note_known(text *tenant,
									 const BookingPayload *payload,
									 int64 intent_id, int64 predecessor_id);

#endif							/* BOOKING_DRIFT_H */

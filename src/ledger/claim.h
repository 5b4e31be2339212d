/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  steps of a claim that an approval takes too
 *
 * IDENTIFICATION
 *	  booking/src/ledger/claim.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CLAIM_H
#define BOOKING_CLAIM_H

#include "ledger/call.h"

extern text *booking_claim_receipt(void);
extern void booking_claim_end_predecessor(const BookingCall *call,
										  const BookingIntent *predecessor,
										  text *successor);

#endif							/* BOOKING_CLAIM_H */

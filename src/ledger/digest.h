/*-------------------------------------------------------------------------
 *
 * digest.h
 *	  what is kept of values that were purged
 *
 * IDENTIFICATION
 *	  booking/src/ledger/digest.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DIGEST_H
#define BOOKING_DIGEST_H

#include "postgres.h"

#include "store/record.h"

extern bool booking_digest_fits(const BookingPayload *purged,
								const BookingPayload *payload);

#endif							/* BOOKING_DIGEST_H */

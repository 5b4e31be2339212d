/*-------------------------------------------------------------------------
 *
 * retain_policy.h
 *	  what booking_retain is told to purge, and how
 *
 * IDENTIFICATION
 *	  booking/src/ledger/retain_policy.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_RETAIN_POLICY_H
#define BOOKING_RETAIN_POLICY_H

#include "postgres.h"

#include "store/purge.h"
#include "utils/jsonb.h"

typedef struct BookingRetainPolicy
{
	int64		ages[BOOKING_PURGE_KINDS];	/* microseconds; below 0: keep */
	int64		batch;			/* rows of a transaction */
	int64		lock_timeout;	/* milliseconds */
	int64		rate;			/* rows a second at most; 0: no limit */
	int64		max_rows;		/* of a call; 0: no limit */
} BookingRetainPolicy;

extern void booking_retain_policy_read(Jsonb *json, BookingRetainPolicy *policy);
extern const char *booking_retain_kind_name(BookingPurgeKind kind);

#endif							/* BOOKING_RETAIN_POLICY_H */

/*-------------------------------------------------------------------------
 *
 * purge.h
 *	  the transactions of procedures that purge
 *
 * IDENTIFICATION
 *	  booking/src/ledger/purge.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PURGE_H
#define BOOKING_PURGE_H

#include "fmgr.h"

#include "ledger/call.h"

/* a part of the work, in a transaction of its own */
typedef void (*BookingPurgeWork) (BookingCall *call, void *arg);

/* guards let values go while this is set */
extern bool booking_purging;

extern void booking_purge_begin(FunctionCallInfo fcinfo, const char *name);
extern bool booking_purge_transaction(BookingPurgeWork work, void *arg,
									  int lock_timeout);
extern void booking_purge_report(const char *text);
extern bytea *booking_purge_key(void);
extern Datum booking_purge_return(FunctionCallInfo fcinfo, Jsonb *result);

#endif							/* BOOKING_PURGE_H */

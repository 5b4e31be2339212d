/*-------------------------------------------------------------------------
 *
 * wake.h
 *	  waking the worker when a transaction commits
 *
 * IDENTIFICATION
 *	  booking/src/ledger/wake.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WAKE_H
#define BOOKING_WAKE_H

#include "postgres.h"

extern void booking_wake_init(void (*wake) (Oid database));
extern void booking_wake_at_commit(void);

#endif							/* BOOKING_WAKE_H */

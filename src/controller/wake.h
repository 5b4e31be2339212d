/*-------------------------------------------------------------------------
 *
 * wake.h
 *	  waking the worker when a transaction commits
 *
 * IDENTIFICATION
 *	  booking/src/controller/wake.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WAKE_H
#define BOOKING_WAKE_H

#include "postgres.h"

extern void booking_wake_init(void);
extern void booking_wake_at_commit(void);

#endif							/* BOOKING_WAKE_H */

/*-------------------------------------------------------------------------
 *
 * session.h
 *	  short transactions of the worker
 *
 * IDENTIFICATION
 *	  booking/src/controller/session.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SESSION_H
#define BOOKING_SESSION_H

#include "ledger/call.h"

extern void booking_session_init(void);
extern void booking_session_begin(BookingCall *call, const char *activity);
extern void booking_session_commit(BookingCall *call);
extern void booking_session_abort(void);

/*
 * One item of a batch: run work in a subtransaction of its own.  If it fails,
 * its effects are gone, the others go on, and the error is returned.
 */
typedef void (*BookingSessionWork) (BookingCall *call, void *arg);
extern ErrorData *booking_session_item(BookingCall *call,
									   BookingSessionWork work, void *arg);

#endif							/* BOOKING_SESSION_H */

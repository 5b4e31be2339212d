/*-------------------------------------------------------------------------
 *
 * call.h
 *	  one call of an SQL function: who calls, as whom it works, its result
 *
 * IDENTIFICATION
 *	  booking/src/ledger/call.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CALL_H
#define BOOKING_CALL_H

#include "postgres.h"

#include "fmgr.h"

#include "store/record.h"

typedef struct BookingCall
{
	FunctionCallInfo fcinfo;
	MemoryContext caller_context;	/* where results go */
	Oid			caller;			/* effective role */
	Oid			owner;			/* of the relations */
	text	   *role;			/* name of the effective role */
	bool		privileged;		/* has the owner's privileges */
	bool		decides;		/* its answer is one of a decision */
	TimestampTz now;			/* wall clock; never orders anything */
	Oid			saved_user;
	int			saved_context;
	int			pinned;			/* level of settings, 0: not by the call */
} BookingCall;

/* booking_result, and what else a call decided */
typedef struct BookingResult
{
	const char *disposition;
	text	   *state;			/* NULL pointers become SQL NULL */
	text	   *remote;
	text	   *event;
	text	   *receipt;
	bool		replayed;
	Jsonb	   *detail;			/* NULL becomes an empty object */
} BookingResult;

#define BOOKING_RESULT_COLUMNS 7

extern void booking_call_begin(BookingCall *call, FunctionCallInfo fcinfo,
							   bool writes);
extern void booking_call_become_owner(BookingCall *call);
extern void booking_call_pin(BookingCall *call);
extern void booking_call_end(BookingCall *call);
extern Datum booking_call_return_row(BookingCall *call, Datum *values,
									 bool *nulls);
extern Datum booking_call_return(BookingCall *call, const BookingResult *result);
extern void booking_result_columns(const BookingResult *result, Datum *values,
								   bool *nulls);
extern TimestampTz booking_call_hold_clock(void);
extern Oid	booking_call_owner(void);

#endif							/* BOOKING_CALL_H */

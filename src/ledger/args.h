/*-------------------------------------------------------------------------
 *
 * args.h
 *	  validated arguments of the SQL functions
 *
 * Every function here raises a clear error that names the argument; nothing
 * was read or locked before.  name is the argument's name in SQL.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/args.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ARGS_H
#define BOOKING_ARGS_H

#include "postgres.h"

#include "fmgr.h"

#include "store/record.h"

#define BOOKING_MAX_RESOURCES 100
#define BOOKING_MAX_CAPACITY 32767
#define BOOKING_MAX_REASON_BYTES 1000
#define BOOKING_MAX_BUFFER_HOURS 744
#define BOOKING_MAX_TASK_HOURS 8784

/* first instant of 1970 and of 10000, in microseconds from 2000-01-01 UTC */
#define BOOKING_FIRST_INSTANT \
	((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)
#define BOOKING_INSTANT_LIMIT (INT64CONST(2921940) * USECS_PER_DAY)

/* the longest interval of fixed length that makes sense */
#define BOOKING_LONGEST_INTERVAL \
	(BOOKING_INSTANT_LIMIT - BOOKING_FIRST_INSTANT)

extern void booking_arg_require(FunctionCallInfo fcinfo, int n,
								const char *name);
extern text *booking_arg_label(FunctionCallInfo fcinfo, int n,
							   const char *name);
extern text *booking_arg_label_optional(FunctionCallInfo fcinfo, int n,
										const char *name);
extern void booking_arg_identity(FunctionCallInfo fcinfo, int n,
								 BookingIdentity *identity);
extern void booking_arg_labels(FunctionCallInfo fcinfo, int n,
							   const char *name, text ***labels, int *count);
extern void booking_arg_during(FunctionCallInfo fcinfo, int n,
							   const char *name, TimestampTz *start,
							   TimestampTz *end);
extern int64 booking_arg_version(FunctionCallInfo fcinfo, int n,
								 const char *name);
extern int32 booking_arg_positive(FunctionCallInfo fcinfo, int n,
								  const char *name);
extern Jsonb *booking_arg_terms(FunctionCallInfo fcinfo, int n);
extern Jsonb *booking_arg_jsonb(FunctionCallInfo fcinfo, int n,
								const char *name);
extern Jsonb *booking_arg_evidence(FunctionCallInfo fcinfo, int n);
extern text *booking_arg_supersedes(FunctionCallInfo fcinfo, int n,
									const text *intent);
extern text *booking_arg_reason(FunctionCallInfo fcinfo, int n);
extern int64 booking_arg_fixed_interval(FunctionCallInfo fcinfo, int n,
										const char *name, int64 least,
										int64 most);

#endif							/* BOOKING_ARGS_H */

/*-------------------------------------------------------------------------
 *
 * operation.h
 *	  provider effects that are wanted, and the tries to bring them about
 *
 * IDENTIFICATION
 *	  booking/src/store/operation.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_OPERATION_H
#define BOOKING_OPERATION_H

#include "store/record.h"

/* problem of an operation whose calendars cannot be read for now */
#define BOOKING_PROBLEM_UNREAD "calendar_unread"

/* a row of booking.operation; texts are terminated, NULL where the column is */
typedef struct BookingOperation
{
	int64		operation_id;
	int64		intent_id;
	int64		previous_id;	/* 0: none */
	int32		generation;
	int32		sequence;
	int32		epoch;
	int32		tries;
	bool		uncertain;
	char	   *tenant;
	char	   *account;
	char	   *calendar;
	char	   *kind;
	char	   *state;
	char	   *event_id;
	char	   *href;
	char	   *etag;
	bytea	   *body;			/* NULL: not made yet */
	TimestampTz next_at;
	char	   *problem;
	char	   *message;
} BookingOperation;

/* an operation that is due, and its intents */
typedef struct BookingDue
{
	int64		operation_id;
	BookingIdentity identity;
	text	   *supersedes;		/* the intent it supersedes, or NULL */
	text	   *account;
} BookingDue;

/* an operation that was leased, with what is needed to carry it out */
typedef struct BookingLease
{
	BookingOperation operation;
	char	   *principal;
	char	   *intent;
	char	   *intent_state;
	Jsonb	   *detail;			/* of the intent */
	BookingPayload payload;
	bytea	   *previous_body;	/* what we last left there, NULL nothing */
	bool		previous_moved; /* others moved it since, which was accepted */
	TimestampTz previous_start;
	TimestampTz previous_end;
	char	   *provider;
	char	   *base_url;
	char	   *remote_id;
	bool		sealed;
	bytea	   *secret;			/* NULL: no credential */
} BookingLease;

/* what a transition changes; NULL pointers leave the column as it is */
typedef struct BookingOperationChange
{
	int64		operation_id;
	const char *from;			/* state it must have, else nothing happens */
	const char *state;
	TimestampTz next_at;
	int32		epoch;
	int32		tries;
	bool		uncertain;
	const char *href;
	const char *etag;
	bytea	   *body;
	const char *problem;		/* replaces the column, NULL included */
	const char *message;		/* likewise */
	TimestampTz now;
} BookingOperationChange;

/*
 * What a statement sets round to as an operation, row o of booking.operation,
 * becomes state.
 */
#define BOOKING_OPERATION_ROUND(o, state) \
	" round = CASE WHEN " state " <> 'confirmed' THEN " o ".round ELSE coalesce(" \
	"  (SELECT k.round FROM booking.calendar c" \
	"    JOIN booking.cursor k ON k.calendar_id = c.calendar_id" \
	"   WHERE c.tenant = " o ".tenant AND c.calendar = " o ".calendar), 0) END"

extern int64 booking_store_operation_insert(const BookingOperation *operation,
											TimestampTz now);
extern BookingOperation *booking_store_operation_newest(int64 intent_id);
extern BookingOperation *booking_store_operation_read(int64 operation_id);
extern bool booking_store_operation_followed(int64 operation_id);
extern BookingDue *booking_store_operations_due(TimestampTz now,
												ArrayType *without,
												bool all_kinds, int limit,
												int *count);
extern BookingLease *booking_store_leases_read(const int64 *operation_ids,
											   int count, int *found);
extern BookingLease *booking_store_lease_read(int64 operation_id);
extern bool booking_store_operation_change(const BookingOperationChange *change);
extern void booking_store_operation_drop(int64 operation_id, TimestampTz now);
extern bool booking_store_operation_renew(const BookingOperation *operation,
										  const char *event_id,
										  TimestampTz next_at, TimestampTz now);
extern bool booking_store_operation_refused(int64 operation_id, char **problem,
											char **message);
extern void booking_store_operations_hasten(int64 calendar_id,
											const char *problem,
											TimestampTz now);
extern int64 booking_store_operations_held(const char *problem);
extern void booking_store_operations_unchecked(const int64 *checked, int count,
											   TimestampTz now);
extern int	booking_store_operations_recover(TimestampTz now);
extern bool booking_store_operation_next_due(TimestampTz *next_at);
extern int64 booking_store_operations_open(void);
extern void booking_store_attempt(int64 operation_id, int32 epoch,
								  const char *phase, const char *mark,
								  int status, const char *problem,
								  const char *message, TimestampTz now);

#endif							/* BOOKING_OPERATION_H */

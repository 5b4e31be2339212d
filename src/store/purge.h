/*-------------------------------------------------------------------------
 *
 * purge.h
 *	  statements that purge values
 *
 * IDENTIFICATION
 *	  booking/src/store/purge.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PURGE_STORE_H
#define BOOKING_PURGE_STORE_H

#include "utils/array.h"
#include "utils/timestamp.h"

/* what retention goes through, each in the order of its numbers */
typedef enum BookingPurgeKind
{
	BOOKING_PURGE_INTENTS,
	BOOKING_PURGE_INBOX,
	BOOKING_PURGE_DEAD_LETTERS,
	BOOKING_PURGE_EVENTS,
	BOOKING_PURGE_CONFLICTS,
	BOOKING_PURGE_CHECKS,
	BOOKING_PURGE_AUDIT,
	BOOKING_PURGE_KINDS
} BookingPurgeKind;

/* a part of what is gone through */
typedef struct BookingPurgeWindow
{
	int64		after;			/* numbers greater than this */
	int64		until;			/* and at most this */
	int32		limit;			/* rows at most */
	TimestampTz before;			/* what was over before this */
} BookingPurgeWindow;

/* retention.c */
extern bytea *booking_store_digest_key(void);
extern void booking_store_digest_key_put(bytea *key);
extern int64 booking_store_purge_position(void);
extern void booking_store_purge_position_put(int64 position);

/* purge.c */
extern ArrayType *booking_store_purge_pick(const BookingPurgeWindow *window,
										   int *count, int64 *last);
extern ArrayType *booking_store_purge_pick_person(text *tenant, text *principal,
												  const BookingPurgeWindow *window,
												  int *count, int64 *last);
extern char *booking_store_purge_open(text *tenant, text *principal,
									  TimestampTz now, int64 *count);
extern int64 booking_store_purge_left(text *tenant, text *principal);
extern int64 booking_store_purge_intents(ArrayType *picked, bytea *key);
extern int64 booking_store_purge_person(text *tenant, text *principal);

/* purge_rows.c */
extern int64 booking_store_purge_next(BookingPurgeKind kind, int64 after);
extern int64 booking_store_purge_rows(BookingPurgeKind kind,
									  const BookingPurgeWindow *window,
									  int64 *last);

#endif							/* BOOKING_PURGE_STORE_H */

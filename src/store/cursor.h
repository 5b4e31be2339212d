/*-------------------------------------------------------------------------
 *
 * cursor.h
 *	  how far each calendar is synchronized
 *
 * IDENTIFICATION
 *	  booking/src/store/cursor.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CURSOR_H
#define BOOKING_CURSOR_H

#include "nodes/pg_list.h"

#include "store/record.h"

/* a row of booking.cursor; texts are terminated, NULL where the column is */
typedef struct BookingCursor
{
	int64		calendar_id;
	int64		round;
	int64		watermark;
	int32		failures;
	bool		parked;
	bool		full_pass;
	bool		started;		/* a round is in progress */
	char	   *token;
	char	   *page;
	char	   *full_reason;
	char	   *problem;
	TimestampTz full_at;		/* 0: never */
	TimestampTz failed_at;		/* 0: never */
	TimestampTz from;			/* window; both 0 before the first full pass */
	TimestampTz until;
} BookingCursor;

/* a cursor with what is needed to read its calendar */
typedef struct BookingCursorLease
{
	BookingCursor cursor;
	char	   *tenant;
	char	   *account;
	char	   *calendar;
	char	   *provider;
	char	   *base_url;
	char	   *remote_id;
	char	   *time_zone;		/* of its resource, else UTC */
	bool		sealed;
	bytea	   *secret;			/* NULL: no credential */
} BookingCursorLease;

/* how a try of a round failed */
typedef struct BookingCursorFailure
{
	const char *problem;
	bool		counts;			/* the next try waits longer */
	bool		restart;		/* list everything, from the beginning */
	bool		park;			/* no next try before a person has looked */
} BookingCursorFailure;

/* how a request for a round stands */
typedef struct BookingSyncState
{
	bool		open;			/* no round has covered it yet */
	bool		parked;
	bool		account_parked;
	int32		failures;
	int64		watermark;
	int64		events;			/* counted once it is covered, or has failed */
	char	   *problem;		/* NULL: none */
	TimestampTz failed_at;		/* 0: never */
} BookingSyncState;

extern void booking_store_cursor_put(text *tenant, text *calendar,
									 bool elsewhere, TimestampTz now);
extern bool booking_store_cursors_complete(TimestampTz now);
extern void booking_store_cursor_remove(text *tenant, text *calendar);
extern void booking_store_cursors_restart(text *tenant, text *account,
										  TimestampTz now);
extern void booking_store_cursors_hasten(text *tenant, text *account,
										 TimestampTz now);
extern List *booking_store_cursors_due(TimestampTz now, int64 patience,
									   bool by_time, ArrayType *without,
									   ArrayType *running, int limit);
extern bool booking_store_cursor_next_due(TimestampTz now, int64 patience,
										  bool by_time, ArrayType *running,
										  TimestampTz *next_at);
extern BookingCursorLease *booking_store_cursor_lease(int64 calendar_id);
extern bool booking_store_cursor_lock(int64 calendar_id, int64 round);
extern void booking_store_cursor_begin(const BookingCursor *cursor,
									   TimestampTz now);
extern void booking_store_cursor_page(int64 calendar_id, const char *page);
extern void booking_store_cursor_finish(int64 calendar_id, const char *token,
										bool full, TimestampTz now,
										TimestampTz next_at);
extern void booking_store_cursor_fail(int64 calendar_id,
									  const BookingCursorFailure *failure,
									  TimestampTz now, TimestampTz next_at);

extern int64 booking_store_sync_ask(text *tenant, text *calendar,
									TimestampTz now);
extern bool booking_store_sync_state(int64 request_id, text *tenant,
									 text *calendar, TimestampTz asked_at,
									 BookingSyncState *state);

#endif							/* BOOKING_CURSOR_H */

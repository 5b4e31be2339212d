/*-------------------------------------------------------------------------
 *
 * change.h
 *	  the change feed, and what follows a change of an intent
 *
 * IDENTIFICATION
 *	  booking/src/store/change.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CHANGE_H
#define BOOKING_CHANGE_H

#include "store/record.h"

/* a row of booking.consumer */
typedef struct BookingConsumer
{
	bool		started;
	bool		own;			/* this transaction wrote the row */
	int64		delivered;
	int64		acked;
} BookingConsumer;

/* gets the columns of booking_change of one row; valid during the call */
typedef void (*BookingChangeReport) (void *arg, Datum *columns, bool *nulls);

#define BOOKING_CHANGE_COLUMNS 16

/* downstream.c */
extern void booking_store_downstream(int64 intent_id, text *tenant,
									 const char *kind);
extern void booking_store_downstream_rows(int count, const char *kind);
extern bool booking_store_feed_wanted(const text *tenant);
extern bool booking_store_tasks_wanted(const text *tenant);
extern bool booking_store_delivery_wanted(void);

/* change.c */
extern void booking_store_change_insert(int64 intent_id, const char *kind);
extern void booking_store_change_alarm(text *tenant, text *source,
									   int32 failures, const char *problem,
									   TimestampTz now);
extern int64 booking_store_feed_position(text *tenant);
extern bool booking_store_changes_pending(text *tenant);
extern void booking_store_changes_number(text *tenant, int limit);
extern int	booking_store_changes_read(text *tenant, int64 after, int limit,
									   BookingChangeReport report, void *arg,
									   int64 *last);
extern void booking_store_changes_purge(text *tenant, int limit);
extern void booking_store_changes_forget(text *tenant);

/* consumer.c */
extern bool booking_store_consumer_read(text *tenant, text *name,
										BookingConsumer *consumer);
extern bool booking_store_consumer_any(text *tenant, bool started);
extern void booking_store_consumer_insert(text *tenant, text *name,
										  bool started, TimestampTz now);
extern bool booking_store_consumer_delete(text *tenant, text *name);
extern void booking_store_consumer_start(text *tenant, text *name);
extern void booking_store_consumer_deliver(text *tenant, text *name,
										   int64 position);
extern void booking_store_consumer_ack(text *tenant, text *name,
									   int64 position);

#endif							/* BOOKING_CHANGE_H */

/*-------------------------------------------------------------------------
 *
 * webhook.h
 *	  sources of deliveries, the deliveries, and the bookings they speak of
 *
 * IDENTIFICATION
 *	  booking/src/store/webhook.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_STORE_WEBHOOK_H
#define BOOKING_STORE_WEBHOOK_H

#include "store/record.h"

/* a row of booking.webhook_source */
typedef struct BookingWebhookSource
{
	text	   *source;
	text	   *tenant;
	text	   *kind;
	Jsonb	   *settings;
	bool		removed;
	int32		failures;
} BookingWebhookSource;

/* a row of booking.webhook_secret */
typedef struct BookingWebhookSecret
{
	int32		number;
	bool		sealed;
	bytea	   *secret;
} BookingWebhookSecret;

/* a row of booking.inbox */
typedef struct BookingDelivery
{
	int64		delivery;
	bool		has_version;
	int64		version;
	int32		tries;
	TimestampTz received_at;
	const char *verdict;		/* to be written */
	const char *state;			/* to be written, or as it was read */
	const char *reason;			/* NULL: none */
	text	   *type;			/* NULL: none */
	text	   *booking;		/* NULL: none */
	text	   *dedupe;			/* NULL: none */
	bytea	   *body;
} BookingDelivery;

/* a row of booking.webhook_booking */
typedef struct BookingWebhookBooking
{
	text	   *booking;
	int64		version;
	int32		generation;
	const char *state;
	text	   *intent;
	text	   *resource;		/* NULL: none */
	text	   *successor;		/* NULL: none */
	bool		has_during;
	TimestampTz start;
	TimestampTz end;
	TimestampTz units_until;	/* valid while moving */
} BookingWebhookBooking;

/* what is to be done: half a pair ended, or a delivery tried again or read */
typedef struct BookingWebhookDue
{
	int64		delivery;		/* 0: half a pair */
	text	   *source;
	text	   *booking;
} BookingWebhookDue;

/* webhook.c */
extern bool booking_store_webhook_source_read(text *source,
											  BookingWebhookSource *found);
extern void booking_store_webhook_source_put(text *tenant, text *source,
											 text *kind, Jsonb *settings,
											 TimestampTz now);
extern void booking_store_webhook_source_remove(text *source, TimestampTz now);
extern int32 booking_store_webhook_source_failed(text *source,
												 const char *problem,
												 TimestampTz now);
extern void booking_store_webhook_source_works(text *source);
extern int32 booking_store_webhook_secret_put(text *source, bool sealed,
											  bytea *secret, TimestampTz now);
extern bool booking_store_webhook_secret_remove(text *source, int32 number);
extern BookingWebhookSecret *booking_store_webhook_secrets(text *source,
														   int *count);
extern void booking_store_webhook_map_put(text *source, text *remote_key,
										  text *resource);
extern void booking_store_webhook_map_remove(text *source, text *remote_key);
extern text *booking_store_webhook_map_read(text *source, text **keys,
											int count);
extern void booking_store_webhook_count(text *source, const char *verdict,
										TimestampTz now);
extern text **booking_store_webhook_calendars(text *tenant, text *resource,
											  int *count);

/* inbox.c */
extern int64 booking_store_inbox_insert(const BookingWebhookSource *source,
										const BookingDelivery *delivery);
extern bool booking_store_inbox_same(text *source, text *dedupe, bytea *body,
									 int64 *delivery);
extern bool booking_store_inbox_knows(text *source, text *dedupe);
extern void booking_store_inbox_decide(int64 delivery, const char *state,
									   const char *reason,
									   const TimestampTz *next_at,
									   bool failed, TimestampTz now);
extern void booking_store_inbox_arrived(text *source, text *booking,
										TimestampTz now);
extern bool booking_store_inbox_waiting(text *source);
extern BookingDelivery *booking_store_inbox_page(text *source, int64 after,
												 const RangeType *within,
												 ArrayType *list, int limit,
												 int *count);
extern bool booking_store_inbox_read(int64 delivery, text **source,
									 BookingDelivery *found);
extern BookingWebhookDue *booking_store_webhook_due(text *source,
													TimestampTz now, int limit,
													int *count);
extern BookingWebhookDue *booking_store_inbox_reads(text *source, int limit,
													int *count);
extern bool booking_store_webhook_next_due(TimestampTz *due);
extern bool booking_store_webhook_booking_read(text *source, text *booking,
											   BookingWebhookBooking *found);
extern void booking_store_webhook_booking_put(const BookingWebhookSource *source,
											  const BookingWebhookBooking *row,
											  TimestampTz now);
extern void booking_store_webhook_conflict_put(text *tenant, int64 intent_id,
											   text *object, TimestampTz start,
											   TimestampTz end,
											   TimestampTz now);

#endif							/* BOOKING_STORE_WEBHOOK_H */

/*-------------------------------------------------------------------------
 *
 * subscription.h
 *	  who is sent the changes of a tenant, and what was sent
 *
 * IDENTIFICATION
 *	  booking/src/store/subscription.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SUBSCRIPTION_H
#define BOOKING_SUBSCRIPTION_H

#include "store/change.h"

/* a row of booking.subscription */
typedef struct BookingSubscription
{
	int64		subscription_id;
	int32		failures;
	bool		enabled;
	text	   *tenant;
	text	   *name;
	text	   *key;
	text	   *url;
	text	   *consumer;		/* its name in booking.consumer */
	Jsonb	   *filter;
} BookingSubscription;

/* a row of booking.subscription_secret */
typedef struct BookingSubscriptionSecret
{
	int32		number;
	bool		sealed;
	bytea	   *secret;
} BookingSubscriptionSecret;

/* a row of booking.outbox */
typedef struct BookingOutboxRow
{
	int64		outbox_id;
	int32		tries;
	text	   *message;
	text	   *body;
} BookingOutboxRow;

/* what came of a request */
typedef struct BookingOutboxOutcome
{
	int64		outbox_id;
	const char *state;
	const char *reason;			/* NULL: none */
	int			status;			/* 0: no answer */
	TimestampTz next_at;		/* while it is waiting */
	TimestampTz now;
} BookingOutboxOutcome;

#define BOOKING_SUBSCRIPTIONS_COLUMNS 15

/* subscription.c */
extern bool booking_store_subscription_read(text *tenant, text *name,
											BookingSubscription *found);
extern bool booking_store_subscription_lock(int64 subscription_id,
											BookingSubscription *found);
extern int64 booking_store_subscription_put(const BookingSubscription *row,
											TimestampTz now);
extern void booking_store_subscription_disable(int64 subscription_id,
											   const char *problem,
											   TimestampTz now);
extern void booking_store_subscription_remove(int64 subscription_id);
extern void booking_store_subscription_works(int64 subscription_id,
											 TimestampTz now);
extern int32 booking_store_subscription_failed(int64 subscription_id,
											   const char *problem, bool died,
											   TimestampTz now);
extern void booking_store_subscription_block(int64 subscription_id, bool open,
											 TimestampTz until);
extern int32 booking_store_subscription_secret_put(int64 subscription_id,
												   bool sealed, bytea *secret,
												   TimestampTz now);
extern bool booking_store_subscription_secret_remove(int64 subscription_id,
													 int32 number);
extern BookingSubscriptionSecret *booking_store_subscription_secrets(int64 subscription_id,
																	 int *count);
extern void booking_store_subscriptions_list(text *tenant,
											 BookingChangeReport report,
											 void *arg);

/* outbox.c */
extern bool booking_store_subscriptions_any(void);
extern BookingSubscription *booking_store_outbox_wanting(int limit, int *count);
extern int64 booking_store_outbox_fill(const BookingSubscription *subscription,
									   int limit, TimestampTz now);
extern BookingSubscription *booking_store_outbox_sending(TimestampTz now,
														 int64 after, int limit,
														 int *count);
extern BookingOutboxRow *booking_store_outbox_due(int64 subscription_id,
												  TimestampTz now,
												  ArrayType *in_hand,
												  int limit, int *count);
extern bool booking_store_outbox_next_due(TimestampTz now, ArrayType *full,
										  ArrayType *in_hand,
										  TimestampTz *next_at);
extern bool booking_store_outbox_decide(const BookingOutboxOutcome *outcome);
extern int64 booking_store_outbox_replay(int64 subscription_id, int64 position,
										 TimestampTz now);
extern int	booking_store_outbox_purge(TimestampTz before, TimestampTz now,
									   int limit);

#endif							/* BOOKING_SUBSCRIPTION_H */

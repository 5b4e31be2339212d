/*-------------------------------------------------------------------------
 *
 * delivery.c
 *	  sending changes to subscribers
 *
 *	record	in a transaction: what came of requests
 *	fill	what subscriptions want of the feed is copied to the outbox
 *	lease	what is due is signed and taken in hand
 *	start	the transaction has committed: the requests go out
 *
 * What is in hand is in memory only.  A row of the outbox waits until its answer
 * is recorded, so whatever ends the worker, it is sent again, under the same id.
 * All of it has a transaction and a share of requests of its own: neither a
 * subscriber nor a failure here keeps anything else waiting.
 *
 * IDENTIFICATION
 *	  booking/src/controller/delivery.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hmac.h"
#include "common/sha2.h"
#include "lib/ilist.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "codec/delivery.h"
#include "codec/webhook_signature.h"
#include "compat.h"
#include "controller/delivery.h"
#include "controller/limits.h"
#include "controller/subscription.h"
#include "guc.h"
#include "ledger/lock.h"
#include "store/seal.h"

/* requests in hand at one time: all, of a subscriber, and of one that fails */
#define IN_HAND_LIMIT 64
#define SUBSCRIBER_LIMIT 4
#define FAILING_LIMIT 1

/* what one transaction copies: subscriptions, and changes for each */
#define FILL_SUBSCRIPTIONS 16
#define FILL_CHANGES 200
#define PURGE_LIMIT 1000
#define PURGE_SECS 60

/* a subscriber has so long to answer, and nobody reads more of what it says */
#define ANSWER_MS 15000
#define ANSWER_BYTES 65536

#define ARENA_LIMIT (1024 * 1024)

/* between two transactions, and after one that failed */
#define SPACING_USECS (10 * 1000)
#define ERROR_SECS 10

/* one delivery in hand, in an arena of its own */
typedef struct Delivery
{
	dlist_node	node;
	int64		outbox_id;
	int64		subscription_id;
	int32		tries;
	int			most;			/* requests that its subscriber is sent at a time */
	BookingArena *arena;		/* which no transaction touches */
	BookingHttpRequest request;
	BookingHttpAuth auth;		/* empty */
	BookingDeliveryVerdict verdict;
	const char *problem;
	int			status;
	int64		retry_after;
	bool		started;
	bool		finished;
	bool		recorded;
} Delivery;

/* what a subtransaction works on */
typedef struct Work
{
	Delivery   *delivery;
	const BookingSubscription *subscription;
	bool		more;			/* there is more to copy */
} Work;

static void send_all(BookingCall *call, TimestampTz now);
static void send_item(BookingCall *call, void *arg);
static void record_all(BookingCall *call);
static void record_item(BookingCall *call, void *arg);
static void record_failure(BookingCall *call, Delivery *delivery,
						   const BookingSubscription *subscription,
						   BookingOutboxOutcome *outcome);
static void alarm_others(const BookingSubscription *subscription,
						 int32 failures, const char *problem, TimestampTz now);
static void fill_all(BookingCall *call);
static void fill_item(BookingCall *call, void *arg);
static void lease_all(BookingCall *call);
static void lease_item(BookingCall *call, void *arg);
static Delivery *make_delivery(const BookingSubscription *subscription,
							   const BookingOutboxRow *row);
static void add_header(Delivery *delivery, const char *name, const char *value);
static char *sign(const BookingSubscription *subscription, const char *message,
				  const char *digits, const char *body);
static void sign_with(const char *secret, const char *message,
					  const char *digits, const char *body, uint8 *digest);
static void purge_item(BookingCall *call, void *arg);
static void complain(const char *what, const ErrorData *error);
static const BookingHttpLimits *limits(void);
static void on_answer(void *arg, const BookingHttpResponse *response);
static int	in_hand(int64 subscription_id);
static ArrayType *in_hand_ids(void);
static ArrayType *full_ids(void);
static void free_delivery(Delivery *delivery);
static uint32 random_part(void);

static BookingHttpEngine *http_engine = NULL;
static dlist_head deliveries;
static int	ndeliveries = 0;
static bool due_known = false;
static TimestampTz due_at = 0;
static TimestampTz worked_at = 0;	/* of the machine's clock */
static TimestampTz purged_at = 0;
static int64 served = 0;		/* subscription that was leased for last */

/*
 * Begin with nothing in hand.
 */
void
booking_delivery_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&deliveries);
	ndeliveries = 0;
}

/*
 * Do what is to be done, in a transaction of its own; nothing is taken in hand
 * unless it may be sent.
 */
void
booking_delivery_work(bool may_send)
{
	BookingCall call;
	TimestampTz now = GetCurrentTimestamp();
	dlist_mutable_iter iter;

	/* once it may be sent again, look soon */
	due_known = !may_send;
	due_at = 0;
	if (!may_send && !booking_delivery_finished())
		return;
	if (worked_at <= now && now < worked_at + SPACING_USECS)
	{
		due_known = true;
		due_at = booking_call_hold_clock() + SPACING_USECS;
		return;
	}
	worked_at = now;

	booking_session_begin(&call, "delivering changes");
	record_all(&call);
	if (may_send)
		send_all(&call, now);
	booking_session_commit(&call);

	dlist_foreach_modify(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		if (delivery->recorded)
			free_delivery(delivery);
	}
}

/*
 * Fill, lease and purge.  What cannot be done is tried again after a while.
 */
static void
send_all(BookingCall *call, TimestampTz now)
{
	ErrorData  *error = booking_session_item(call, send_item, NULL);

	if (error != NULL)
	{
		complain("changes could not be delivered", error);
		due_known = true;
		due_at = booking_call_hold_clock() + ERROR_SECS * USECS_PER_SEC;
	}
	if (purged_at <= now && now < purged_at + PURGE_SECS * USECS_PER_SEC)
		return;
	purged_at = now;
	error = booking_session_item(call, purge_item, NULL);
	if (error != NULL)
		complain("deliveries could not be removed", error);
}

/*
 * Fill and lease, in a subtransaction with others within it.
 */
static void
send_item(BookingCall *call, void *arg)
{
	if (!booking_store_subscriptions_any())
		return;
	fill_all(call);
	lease_all(call);
	if (!due_known)
		due_known = booking_store_outbox_next_due(booking_call_hold_clock(),
												  full_ids(), in_hand_ids(),
												  &due_at);
}

/*
 * When there is something to do again; false if there is nothing.
 */
bool
booking_delivery_next_due(TimestampTz *next_at)
{
	*next_at = due_at;
	return due_known;
}

/*
 * The transaction committed: send.
 */
void
booking_delivery_start(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		if (delivery->started)
			continue;
		delivery->started = true;
		booking_http_start(http_engine, &delivery->request, &delivery->auth,
						   limits(), delivery->arena, on_answer, delivery);
	}
}

/*
 * The transaction failed: nothing of it happened.
 */
void
booking_delivery_forget(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		delivery->recorded = false;
		if (!delivery->started)
			free_delivery(delivery);
	}
}

/*
 * Is there something to record?
 */
bool
booking_delivery_finished(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		if (dlist_container(Delivery, node, iter.cur)->finished)
			return true;
	}
	return false;
}

/*
 * Requests in hand.
 */
int
booking_delivery_in_flight(void)
{
	return ndeliveries;
}

/*
 * An answer came.  Called by the HTTP engine; no transaction, and nothing here
 * throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	Delivery   *delivery = arg;

	delivery->verdict = booking_delivery_judge(response, &delivery->problem);
	delivery->status = response->status;
	delivery->retry_after = response->retry_after;
	delivery->finished = true;
}

/*
 * Limits of requests to subscribers.
 */
static const BookingHttpLimits *
limits(void)
{
	static BookingHttpLimits own;

	own = *booking_http_limits();
	own.total_timeout = Min(own.total_timeout, ANSWER_MS);
	own.first_byte_timeout = Min(own.first_byte_timeout, ANSWER_MS);
	own.max_body = ANSWER_BYTES;
	return &own;
}

/*
 * Record what came of requests, each by itself.  What meets a lock is recorded
 * later; what cannot be recorded for another reason is let go of, and sent again.
 */
static void
record_all(BookingCall *call)
{
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		Work		work = {dlist_container(Delivery, node, iter.cur)};
		ErrorData  *error;

		if (!work.delivery->finished)
			continue;
		error = booking_session_item(call, record_item, &work);
		if (error == NULL)
			continue;
		work.delivery->recorded = error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED;
		if (work.delivery->recorded)
			complain("an answer of a subscriber could not be recorded", error);
	}
}

/*
 * Record one, in a subtransaction.
 */
static void
record_item(BookingCall *call, void *arg)
{
	Delivery   *delivery = ((Work *) arg)->delivery;
	BookingOutboxOutcome outcome = {delivery->outbox_id, "delivered"};
	BookingSubscription subscription;

	if (!booking_store_subscription_lock(delivery->subscription_id, &subscription))
	{
		delivery->recorded = true;
		return;
	}
	outcome.status = delivery->status;
	outcome.next_at = outcome.now = booking_call_hold_clock();
	if (delivery->verdict == BOOKING_DELIVERY_ACCEPTED)
	{
		(void) booking_store_outbox_decide(&outcome);
		booking_store_subscription_works(delivery->subscription_id, call->now);
	}
	else if (delivery->verdict == BOOKING_DELIVERY_GONE && subscription.enabled)
	{
		/* its lock comes first where others take both */
		if (!booking_lock_feed_try(subscription.tenant))
			return;
		(void) booking_store_subscription_failed(delivery->subscription_id,
												 delivery->problem, false, call->now);
		booking_subscription_unfeed(&subscription);
		booking_store_subscription_disable(delivery->subscription_id,
										   delivery->problem, outcome.now);
		alarm_others(&subscription, 1, delivery->problem, call->now);
	}
	else
		record_failure(call, delivery, &subscription, &outcome);
	delivery->recorded = true;
}

/*
 * A request failed: try again, later each time, until it was often enough.
 */
static void
record_failure(BookingCall *call, Delivery *delivery,
			   const BookingSubscription *subscription,
			   BookingOutboxOutcome *outcome)
{
	TimestampTz now = outcome->now;
	bool		dies = delivery->tries + 1 >= booking_max_attempts;
	bool		died;
	int32		failures;

	outcome->state = dies ? "dead" : "waiting";
	outcome->reason = delivery->problem;
	outcome->next_at = now + booking_delivery_pause(BOOKING_DELIVERY_FIRST_SECS,
													delivery->tries + 1,
													random_part());
	died = booking_store_outbox_decide(outcome) && dies;
	failures = booking_store_subscription_failed(delivery->subscription_id,
												 delivery->problem, died, call->now);
	if (failures >= BOOKING_CIRCUIT_FAILURES)
	{
		int64		pause = booking_delivery_pause(BOOKING_CIRCUIT_FIRST_SECS,
												   failures - BOOKING_CIRCUIT_FAILURES + 1,
												   random_part());

		booking_store_subscription_block(delivery->subscription_id, true, now + pause);
	}
	if (delivery->retry_after > 0)
		booking_store_subscription_block(delivery->subscription_id,
										 failures >= BOOKING_CIRCUIT_FAILURES,
										 now + Min(delivery->retry_after,
												   BOOKING_DELIVERY_LAST_SECS) * USECS_PER_SEC);
	if (failures == 1 || failures == 5 || failures == 20)
		alarm_others(subscription, failures, delivery->problem, call->now);
	if (died)
		ereport(LOG,
				(errmsg("a delivery to a subscriber was given up"),
				 errdetail("Tenant \"%s\", subscription \"%s\": row %lld of booking.outbox, the last time with %s.",
						   text_to_cstring(subscription->tenant),
						   text_to_cstring(subscription->name),
						   (long long) delivery->outbox_id, delivery->problem)));
}

/*
 * Raise the alarm.
 */
static void
alarm_others(const BookingSubscription *subscription, int32 failures,
			 const char *problem, TimestampTz now)
{
	if (booking_store_feed_wanted(subscription->tenant))
		booking_store_change_alarm(subscription->tenant, subscription->name,
								   failures, problem, now);
	ereport(LOG,
			(errmsg("deliveries to a subscriber fail"),
			 errdetail("Tenant \"%s\", subscription \"%s\": %d in a row, the last one with %s.",
					   text_to_cstring(subscription->tenant),
					   text_to_cstring(subscription->name), failures, problem)));
}

/*
 * Copy what subscriptions want of the feed.
 */
static void
fill_all(BookingCall *call)
{
	int			count;
	BookingSubscription *wanting = booking_store_outbox_wanting(FILL_SUBSCRIPTIONS,
																&count);

	for (int i = 0; i < count; i++)
	{
		Work		work = {NULL, &wanting[i]};
		ErrorData  *error = booking_session_item(call, fill_item, &work);

		if (error != NULL && error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			complain("changes could not be queued for a subscriber", error);
		if (error != NULL || work.more || count == FILL_SUBSCRIPTIONS)
		{
			due_known = true;
			due_at = booking_call_hold_clock() +
				(error != NULL ? ERROR_SECS * USECS_PER_SEC : SPACING_USECS);
		}
	}
}

/*
 * Copy for one, in a subtransaction.  While somebody else gives positions there
 * may be nothing to copy; whoever that is commits, and then there is.
 */
static void
fill_item(BookingCall *call, void *arg)
{
	Work	   *work = arg;
	const BookingSubscription *subscription = work->subscription;
	text	   *tenant = subscription->tenant;
	BookingConsumer consumer;
	int64		last;

	work->more = !booking_lock_feed_try(tenant);
	if (!booking_store_consumer_read(tenant, subscription->consumer, &consumer))
		return;
	if (!work->more)
		booking_store_changes_number(tenant, FILL_CHANGES);
	last = booking_store_outbox_fill(subscription, FILL_CHANGES,
									 booking_call_hold_clock());
	if (last == 0)
		return;
	work->more |= last >= consumer.acked + FILL_CHANGES;
	booking_store_consumer_deliver(tenant, subscription->consumer, last);
	booking_store_consumer_ack(tenant, subscription->consumer, last);
	booking_store_changes_purge(tenant, 2 * FILL_CHANGES);
}

/*
 * Take what is due in hand.
 */
static void
lease_all(BookingCall *call)
{
	int			count;
	BookingSubscription *sending =
		booking_store_outbox_sending(booking_call_hold_clock(), served,
									 IN_HAND_LIMIT, &count);

	for (int i = 0; i < count && ndeliveries < IN_HAND_LIMIT; i++)
	{
		Work		work = {NULL, &sending[i]};
		ErrorData  *error = booking_session_item(call, lease_item, &work);

		served = sending[i].subscription_id;
		if (error == NULL)
			continue;
		complain("deliveries to a subscriber could not begin", error);
		booking_store_subscription_block(sending[i].subscription_id, false,
										 booking_call_hold_clock() +
										 ERROR_SECS * USECS_PER_SEC);
	}
}

/*
 * Take those of one subscription in hand, in a subtransaction, which writes
 * nothing: what was made before an error goes out.
 */
static void
lease_item(BookingCall *call, void *arg)
{
	const BookingSubscription *subscription = ((Work *) arg)->subscription;
	int			most = subscription->failures > 0 ? FAILING_LIMIT : SUBSCRIBER_LIMIT;
	int			room = Min(IN_HAND_LIMIT - ndeliveries,
						   most - in_hand(subscription->subscription_id));
	BookingOutboxRow *rows;
	int			count;

	if (room <= 0)
		return;
	rows = booking_store_outbox_due(subscription->subscription_id,
									booking_call_hold_clock(), in_hand_ids(),
									room, &count);
	for (int i = 0; i < count; i++)
	{
		Delivery   *delivery = make_delivery(subscription, &rows[i]);

		delivery->most = most;
		dlist_push_tail(&deliveries, &delivery->node);
		ndeliveries++;
	}
}

/*
 * A delivery with its request, signed now.
 */
static Delivery *
make_delivery(const BookingSubscription *subscription, const BookingOutboxRow *row)
{
	char	   *body = text_to_cstring(row->body);
	char	   *message = text_to_cstring(row->message);
	char	   *digits = psprintf(INT64_FORMAT, (int64)
								  timestamptz_to_time_t(GetCurrentTimestamp()));
	char	   *signature;
	BookingArena *arena;
	Delivery   *delivery;

	body = pg_server_to_any(body, strlen(body), PG_UTF8);
	signature = sign(subscription, message, digits, body);

	arena = booking_arena_create(ARENA_LIMIT);
	delivery = arena == NULL ? NULL : booking_arena_alloc(arena, sizeof(Delivery));
	if (delivery != NULL)
	{
		delivery->arena = arena;
		delivery->outbox_id = row->outbox_id;
		delivery->subscription_id = subscription->subscription_id;
		delivery->tries = row->tries;
		delivery->request.method = "POST";
		delivery->request.url =
			booking_arena_copy_text(arena, text_to_cstring(subscription->url));
		delivery->request.body = booking_arena_copy_text(arena, body);
		delivery->request.body_len = strlen(body);
		add_header(delivery, "Content-Type", "application/cloudevents+json; charset=utf-8");
		add_header(delivery, "webhook-id", message);
		add_header(delivery, "webhook-timestamp", digits);
		add_header(delivery, "webhook-signature", signature);
	}
	if (arena == NULL || booking_arena_failed(arena))
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	return delivery;
}

/*
 * Add a header to a request.
 */
static void
add_header(Delivery *delivery, const char *name, const char *value)
{
	BookingHeader *header = &delivery->request.headers[delivery->request.nheaders++];

	header->name = name;
	header->value = booking_arena_copy_text(delivery->arena, value);
}

/*
 * The header with a signature for each secret, the newest first.
 */
static char *
sign(const BookingSubscription *subscription, const char *message,
	 const char *digits, const char *body)
{
	BookingSignature signature = {0};
	char	   *context = booking_subscription_seal_context(subscription->subscription_id);
	char	   *header = palloc(BOOKING_SIGNATURE_HEADER_SIZE);
	int			count;
	BookingSubscriptionSecret *secrets =
		booking_store_subscription_secrets(subscription->subscription_id, &count);

	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a subscription has no secret"),
				 errhint("Put one with booking_subscription_secret_put; a dump has none unless booking.dump_secrets is on.")));
	for (int i = 0; i < count && i < BOOKING_SIGNATURES; i++)
	{
		char	   *secret = booking_unseal(secrets[i].secret, secrets[i].sealed, context);

		sign_with(secret, message, digits, body,
				  signature.digests[signature.count++]);
		explicit_bzero(secret, strlen(secret));
	}
	booking_signature_standard_write(&signature, header);
	return header;
}

/*
 * The HMAC of Standard Webhooks with one secret.
 */
static void
sign_with(const char *secret, const char *message, const char *digits,
		  const char *body, uint8 *digest)
{
	const char *parts[5] = {message, ".", digits, ".", body};
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];
	int			len = booking_signature_standard_key(secret, key);
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);
	bool		ok = hmac != NULL && len > 0 && pg_hmac_init(hmac, key, len) >= 0;

	for (int i = 0; ok && i < lengthof(parts); i++)
		ok = pg_hmac_update(hmac, (const uint8 *) parts[i], strlen(parts[i])) >= 0;
	ok = ok && pg_hmac_final(hmac, digest, BOOKING_SIGNATURE_BYTES) >= 0;
	pg_hmac_free(hmac);
	explicit_bzero(key, sizeof(key));
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not sign a delivery")));
}

/*
 * Remove what was kept for long enough, in a subtransaction.
 */
static void
purge_item(BookingCall *call, void *arg)
{
	TimestampTz now = booking_call_hold_clock();

	if (booking_store_outbox_purge(now - booking_outbox_keep * USECS_PER_SEC, now,
								   PURGE_LIMIT) < PURGE_LIMIT)
		return;
	due_known = true;
	due_at = now;
}

/*
 * Log an error that ended a part of the work.
 */
static void
complain(const char *what, const ErrorData *error)
{
	ereport(LOG,
			(errmsg("booking: %s: %s", what, error->message)));
}

/*
 * Requests of a subscription that are in hand.
 */
static int
in_hand(int64 subscription_id)
{
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		if (delivery->subscription_id == subscription_id && !delivery->recorded)
			count++;
	}
	return count;
}

/*
 * Rows of the outbox that are in hand.
 */
static ArrayType *
in_hand_ids(void)
{
	int64	   *ids = palloc_array(int64, ndeliveries + 1);
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		if (!delivery->recorded)
			ids[count++] = delivery->outbox_id;
	}
	return booking_record_make_int8_array(ids, count);
}

/*
 * Subscriptions that take no more until one is answered.
 */
static ArrayType *
full_ids(void)
{
	int64	   *ids = palloc_array(int64, ndeliveries + 1);
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &deliveries)
	{
		Delivery   *delivery = dlist_container(Delivery, node, iter.cur);

		if (!delivery->recorded &&
			in_hand(delivery->subscription_id) >= delivery->most)
			ids[count++] = delivery->subscription_id;
	}
	return booking_record_make_int8_array(ids, count);
}

/*
 * Let go of a delivery.
 */
static void
free_delivery(Delivery *delivery)
{
	dlist_delete(&delivery->node);
	ndeliveries--;
	booking_arena_free(delivery->arena);
}

/*
 * A random number for the length of a pause; which one is no secret.
 */
static uint32
random_part(void)
{
	uint32		random;

	return pg_strong_random(&random, sizeof(random)) ? random : 0;
}

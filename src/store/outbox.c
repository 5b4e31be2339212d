/*-------------------------------------------------------------------------
 *
 * outbox.c
 *	  statements on booking.outbox
 *
 * A delivery is due when it is its time and no earlier change of the same
 * intent waits for the same subscriber.
 *
 * IDENTIFICATION
 *	  booking/src/store/outbox.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/subscription.h"

#define UTC_FORM "'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'"

#define NONE_BEFORE \
	"NOT EXISTS (SELECT FROM booking.outbox e" \
	" WHERE e.subscription_id = o.subscription_id" \
	"   AND e.intent_id = o.intent_id AND e.state = 'waiting'" \
	"   AND e.\"position\" < o.\"position\")"

/*
 * Is there a subscription that is enabled?
 */
bool
booking_store_subscriptions_any(void)
{
	static BookingPlan plan = {
		"SELECT FROM booking.subscription s WHERE s.state = 'enabled' LIMIT 1",
		{InvalidOid}
	};

	return booking_plan_run(&plan, NULL, NULL, 1) > 0;
}

/*
 * Subscriptions for which there are changes that are not in the outbox, at most
 * limit.
 */
BookingSubscription *
booking_store_outbox_wanting(int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT s.subscription_id, s.tenant, k.name"
		"  FROM booking.subscription s JOIN booking.consumer k"
		"    ON k.tenant = s.tenant"
		"   AND k.name = concat(E'\\nsubscription\\n', s.name)"
		" WHERE s.state = 'enabled'"
		"   AND (EXISTS (SELECT FROM booking.change c"
		"     WHERE c.tenant = s.tenant AND c.\"position\" > k.acked)"
		"    OR EXISTS (SELECT FROM booking.change c"
		"     WHERE c.tenant = s.tenant AND c.\"position\" IS NULL))"
		" ORDER BY k.acked, s.subscription_id LIMIT $1",
		{INT8OID}
	};
	Datum		values[1];
	BookingSubscription *found;

	values[0] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	found = palloc0_array(BookingSubscription, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		found[i].subscription_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		found[i].tenant = DatumGetTextPP(booking_plan_column(i, 2, NULL));
		found[i].consumer = DatumGetTextPP(booking_plan_column(i, 3, NULL));
	}
	return found;
}

/*
 * Copy what a subscription wants of the next changes that have a position, at
 * most limit, to the outbox, as the bytes that are sent; returns the position of
 * the last one that was looked at, 0 if none was.
 */
int64
booking_store_outbox_fill(const BookingSubscription *subscription, int limit,
						  TimestampTz now)
{
	static BookingPlan plan = {
		"WITH page AS MATERIALIZED (SELECT c.* FROM booking.consumer k"
		"  CROSS JOIN LATERAL (SELECT * FROM booking.change c"
		"   WHERE c.tenant = k.tenant AND c.\"position\" > k.acked"
		"   ORDER BY c.\"position\" LIMIT $4) c"
		"  WHERE k.tenant = $2 AND k.name = $3),"
		" filled AS (INSERT INTO booking.outbox (subscription_id, \"position\","
		"  intent_id, queued_at, next_at, state, message, body)"
		"  SELECT s.subscription_id, c.\"position\", c.intent_id, $5, $5,"
		"   'waiting', concat(s.key, '_', c.\"position\"),"
		"   jsonb_build_object('specversion', '1.0',"
		"    'id', concat(s.key, '_', c.\"position\"),"
		"    'source', concat('urn:booking:', s.key),"
		"    'type', concat('booking.', c.kind), 'subject', c.intent,"
		"    'time', to_char(c.at AT TIME ZONE 'UTC', " UTC_FORM "),"
		"    'datacontenttype', 'application/json',"
		"    'data', jsonb_strip_nulls(jsonb_build_object("
		"     'position', c.\"position\", 'tenant', c.tenant,"
		"     'principal', c.principal, 'intent', c.intent, 'kind', c.kind,"
		"     'disposition', c.disposition, 'state', c.state,"
		"     'remote', c.remote, 'event', c.event, 'version', c.version,"
		"     'revision', c.revision, 'resources', c.resources,"
		"     'start', to_char(lower(c.during) AT TIME ZONE 'UTC', " UTC_FORM "),"
		"     'end', to_char(upper(c.during) AT TIME ZONE 'UTC', " UTC_FORM "),"
		"     'units', c.units, 'detail', c.detail)))::text"
		"  FROM page c JOIN booking.subscription s ON s.subscription_id = $1"
		"  WHERE CASE WHEN s.filter ? 'types'"
		"    THEN s.filter -> 'types' ? concat('booking.', c.kind)"
		"    ELSE c.kind <> 'alarm' END"
		"   AND CASE WHEN c.kind = 'alarm' THEN c.principal <> s.name"
		"    ELSE (NOT s.filter ? 'resources'"
		"      OR coalesce(s.filter -> 'resources' ?| c.resources, false))"
		"     AND (NOT s.filter ? 'principals'"
		"      OR s.filter -> 'principals' ? c.principal)"
		"     AND (NOT s.filter ? 'intents'"
		"      OR s.filter -> 'intents' ? c.intent) END"
		"  ON CONFLICT ON CONSTRAINT outbox_position_key DO NOTHING)"
		" SELECT coalesce(max(\"position\"), 0) FROM page",
		{INT8OID, TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(subscription->subscription_id);
	values[1] = PointerGetDatum(subscription->tenant);
	values[2] = PointerGetDatum(subscription->consumer);
	values[3] = Int64GetDatum(limit);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Subscriptions that something may be sent to now, those behind a number first.
 */
BookingSubscription *
booking_store_outbox_sending(TimestampTz now, int64 after, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT s.subscription_id, s.failures, s.url FROM booking.subscription s"
		" WHERE s.state = 'enabled' AND coalesce(s.blocked_until <= $1, true)"
		"   AND EXISTS (SELECT FROM booking.outbox o"
		"    WHERE o.subscription_id = s.subscription_id"
		"      AND o.state = 'waiting' AND o.next_at <= $1)"
		" ORDER BY s.subscription_id <= $2, s.subscription_id LIMIT $3",
		{TIMESTAMPTZOID, INT8OID, INT8OID}
	};
	Datum		values[3];
	BookingSubscription *found;

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(after);
	values[2] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	found = palloc0_array(BookingSubscription, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		found[i].subscription_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		found[i].failures = DatumGetInt32(booking_plan_column(i, 2, NULL));
		found[i].url = DatumGetTextPP(booking_plan_column(i, 3, NULL));
	}
	return found;
}

/*
 * Deliveries of a subscription that are due and not in hand, the oldest first.
 */
BookingOutboxRow *
booking_store_outbox_due(int64 subscription_id, TimestampTz now,
						 ArrayType *in_hand, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT o.outbox_id, o.tries, o.message, o.body FROM booking.outbox o"
		" WHERE o.subscription_id = $1 AND o.state = 'waiting'"
		"   AND o.next_at <= $2 AND o.outbox_id <> ALL ($3)"
		"   AND " NONE_BEFORE
		" ORDER BY o.next_at, o.\"position\" LIMIT $4",
		{INT8OID, TIMESTAMPTZOID, INT8ARRAYOID, INT8OID}
	};
	Datum		values[4];
	BookingOutboxRow *rows;

	values[0] = Int64GetDatum(subscription_id);
	values[1] = TimestampTzGetDatum(now);
	values[2] = PointerGetDatum(in_hand);
	values[3] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	rows = palloc_array(BookingOutboxRow, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		rows[i].outbox_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		rows[i].tries = DatumGetInt32(booking_plan_column(i, 2, NULL));
		rows[i].message = DatumGetTextPP(booking_plan_column(i, 3, NULL));
		rows[i].body = DatumGetTextPP(booking_plan_column(i, 4, NULL));
	}
	return rows;
}

/*
 * When a delivery that is not in hand is due next, but for subscriptions that
 * take no more now; false if none is.
 */
bool
booking_store_outbox_next_due(TimestampTz now, ArrayType *full,
							  ArrayType *in_hand, TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT min(CASE WHEN s.blocked_until > $1 THEN s.blocked_until"
		"  ELSE (SELECT o.next_at FROM booking.outbox o"
		"    WHERE o.subscription_id = s.subscription_id"
		"      AND o.state = 'waiting' AND o.outbox_id <> ALL ($3)"
		"      AND " NONE_BEFORE
		"    ORDER BY o.next_at, o.\"position\" LIMIT 1) END)"
		"  FROM booking.subscription s WHERE s.state = 'enabled'"
		"   AND s.subscription_id <> ALL ($2)"
		"   AND EXISTS (SELECT FROM booking.outbox o"
		"    WHERE o.subscription_id = s.subscription_id"
		"      AND o.state = 'waiting')",
		{TIMESTAMPTZOID, INT8ARRAYOID, INT8ARRAYOID}
	};
	Datum		values[3];
	bool		isnull;

	values[0] = TimestampTzGetDatum(now);
	values[1] = PointerGetDatum(full);
	values[2] = PointerGetDatum(in_hand);
	booking_plan_run(&plan, values, NULL, 0);
	*next_at = DatumGetTimestampTz(booking_plan_column(0, 1, &isnull));
	return !isnull;
}

/*
 * Record what came of a request; returns false if nobody waits for that any
 * more.
 */
bool
booking_store_outbox_decide(const BookingOutboxOutcome *outcome)
{
	static BookingPlan plan = {
		"UPDATE booking.outbox o SET state = $2, reason = $3, status = $4,"
		" next_at = $5, tries = o.tries + CASE WHEN $3 IS NULL THEN 0 ELSE 1 END,"
		" settled_at = CASE WHEN $2 <> 'waiting' THEN $6 END"
		" WHERE o.outbox_id = $1 AND o.state = 'waiting'",
		{INT8OID, TEXTOID, TEXTOID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[6];
	bool		nulls[6] = {0};

	values[0] = Int64GetDatum(outcome->outbox_id);
	values[1] = CStringGetTextDatum(outcome->state);
	booking_plan_bind_cstring(values, nulls, 2, outcome->reason);
	values[3] = Int32GetDatum(outcome->status);
	nulls[3] = outcome->status == 0;
	values[4] = TimestampTzGetDatum(outcome->next_at);
	values[5] = TimestampTzGetDatum(outcome->now);
	return booking_plan_run(&plan, values, nulls, 0) > 0;
}

/*
 * Queue what is settled and kept from a position on again; returns how much.
 */
int64
booking_store_outbox_replay(int64 subscription_id, int64 position,
							TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.outbox o SET state = 'waiting', settled_at = NULL,"
		" queued_at = $3, next_at = $3, tries = 0, reason = NULL"
		" WHERE o.subscription_id = $1 AND o.\"position\" >= $2"
		"   AND o.state <> 'waiting'",
		{INT8OID, INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = Int64GetDatum(position);
	values[2] = TimestampTzGetDatum(now);
	return (int64) booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Give up what has waited, and remove what was settled, before an instant, at
 * most limit of each; returns how many that were.
 */
int
booking_store_outbox_purge(TimestampTz before, TimestampTz now, int limit)
{
	static BookingPlan expire = {
		"WITH given_up AS (UPDATE booking.outbox o SET state = 'dead',"
		"  reason = 'expired', settled_at = $2 WHERE o.outbox_id = ANY (ARRAY("
		"  SELECT e.outbox_id FROM booking.outbox e"
		"   WHERE e.state = 'waiting' AND e.queued_at < $1"
		"   ORDER BY e.queued_at LIMIT $3 FOR UPDATE SKIP LOCKED))"
		"  RETURNING o.subscription_id)"
		" UPDATE booking.subscription s SET dead = s.dead + g.n"
		"  FROM (SELECT subscription_id, count(*) AS n FROM given_up"
		"   GROUP BY subscription_id) g"
		"  WHERE s.subscription_id = g.subscription_id",
		{TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID}
	};
	static BookingPlan remove = {
		"DELETE FROM booking.outbox WHERE outbox_id = ANY (ARRAY("
		" SELECT o.outbox_id FROM booking.outbox o"
		"  WHERE o.state <> 'waiting' AND o.settled_at < $1"
		"  ORDER BY o.settled_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
		{TIMESTAMPTZOID, INT8OID}
	};
	Datum		values[3];
	int			count;

	values[0] = TimestampTzGetDatum(before);
	values[1] = TimestampTzGetDatum(now);
	values[2] = Int64GetDatum(limit);
	count = (int) booking_plan_run(&expire, values, NULL, 0);
	values[1] = Int64GetDatum(limit);
	return count + (int) booking_plan_run(&remove, values, NULL, 0);
}

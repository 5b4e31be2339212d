/*-------------------------------------------------------------------------
 *
 * subscription.c
 *	  statements on booking.subscription and booking.subscription_secret
 *
 * IDENTIFICATION
 *	  booking/src/store/subscription.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/subscription.h"

static void from_row(BookingSubscription *found);
static void remove_rows(BookingPlan *plan, int64 subscription_id);

#define SUBSCRIPTION_COLUMNS \
	"s.subscription_id, s.failures, s.state = 'enabled', s.tenant, s.name," \
	" s.key, s.url, concat(E'\\nsubscription\\n', s.name), s.filter"

/*
 * Read a subscription, and lock it for those who change it; returns whether
 * there is one.
 */
bool
booking_store_subscription_read(text *tenant, text *name,
								BookingSubscription *found)
{
	static BookingPlan plan = {
		"SELECT " SUBSCRIPTION_COLUMNS
		"  FROM booking.subscription s WHERE s.tenant = $1 AND s.name = $2"
		"  FOR NO KEY UPDATE",
		{TEXTOID, TEXTOID}
	};

	if (booking_plan_run_named(&plan, tenant, name, 1) == 0)
		return false;
	from_row(found);
	return true;
}

/*
 * The same, by its number.
 */
bool
booking_store_subscription_lock(int64 subscription_id,
								BookingSubscription *found)
{
	static BookingPlan plan = {
		"SELECT " SUBSCRIPTION_COLUMNS
		"  FROM booking.subscription s WHERE s.subscription_id = $1"
		"  FOR NO KEY UPDATE",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(subscription_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	from_row(found);
	return true;
}

/*
 * Fill in a subscription from the row that was read.
 */
static void
from_row(BookingSubscription *found)
{
	found->subscription_id = DatumGetInt64(booking_plan_column(0, 1, NULL));
	found->failures = DatumGetInt32(booking_plan_column(0, 2, NULL));
	found->enabled = DatumGetBool(booking_plan_column(0, 3, NULL));
	found->tenant = DatumGetTextPP(booking_plan_column(0, 4, NULL));
	found->name = DatumGetTextPP(booking_plan_column(0, 5, NULL));
	found->key = DatumGetTextPP(booking_plan_column(0, 6, NULL));
	found->url = DatumGetTextPP(booking_plan_column(0, 7, NULL));
	found->consumer = DatumGetTextPP(booking_plan_column(0, 8, NULL));
	found->filter = DatumGetJsonbP(booking_plan_column(0, 9, NULL));
}

/*
 * Record a subscription, or what has changed of one; it is enabled, and what was
 * held against it is forgotten.  Returns its number.
 */
int64
booking_store_subscription_put(const BookingSubscription *row, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.subscription AS s (tenant, name, state, key, url,"
		" filter, created_at) VALUES ($1, $2, 'enabled', $3, $4, $5, $6)"
		" ON CONFLICT ON CONSTRAINT subscription_name_key DO UPDATE"
		"  SET state = 'enabled', url = excluded.url, filter = excluded.filter,"
		"   failures = 0, problem = NULL, blocked_until = NULL,"
		"   circuit_open = false"
		" RETURNING s.subscription_id",
		{TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID}
	};
	Datum		values[6];

	values[0] = PointerGetDatum(row->tenant);
	values[1] = PointerGetDatum(row->name);
	values[2] = PointerGetDatum(row->key);
	values[3] = PointerGetDatum(row->url);
	values[4] = PointerGetDatum(row->filter);
	values[5] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Send nothing to a subscription any more: what waits is given up.
 */
void
booking_store_subscription_disable(int64 subscription_id, const char *problem,
								   TimestampTz now)
{
	static BookingPlan plan = {
		"WITH given_up AS (UPDATE booking.outbox o SET state = 'dead',"
		"  reason = $2, settled_at = $3"
		"  WHERE o.subscription_id = $1 AND o.state = 'waiting'"
		"  RETURNING o.outbox_id)"
		" UPDATE booking.subscription s SET state = 'disabled', problem = $2,"
		"  circuit_open = false, blocked_until = NULL,"
		"  dead = s.dead + (SELECT count(*) FROM given_up)"
		"  WHERE s.subscription_id = $1",
		{INT8OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = CStringGetTextDatum(problem);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Remove a subscription, its secrets and its deliveries.
 */
void
booking_store_subscription_remove(int64 subscription_id)
{
	static BookingPlan deliveries = {
		"DELETE FROM booking.outbox WHERE subscription_id = $1", {INT8OID}
	};
	static BookingPlan secrets = {
		"DELETE FROM booking.subscription_secret WHERE subscription_id = $1",
		{INT8OID}
	};
	static BookingPlan subscription = {
		"DELETE FROM booking.subscription WHERE subscription_id = $1", {INT8OID}
	};

	remove_rows(&deliveries, subscription_id);
	remove_rows(&secrets, subscription_id);
	remove_rows(&subscription, subscription_id);
}

/*
 * Run a statement on the rows of a subscription.
 */
static void
remove_rows(BookingPlan *plan, int64 subscription_id)
{
	Datum		values[1];

	values[0] = Int64GetDatum(subscription_id);
	booking_plan_run(plan, values, NULL, 0);
}

/*
 * A delivery was accepted.
 */
void
booking_store_subscription_works(int64 subscription_id, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.subscription s SET delivered = s.delivered + 1,"
		" delivered_at = $2, failures = 0, circuit_open = false,"
		" problem = CASE WHEN s.state = 'enabled' THEN NULL ELSE s.problem END,"
		" blocked_until = CASE WHEN s.failures = 0 THEN s.blocked_until END"
		" WHERE s.subscription_id = $1",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A request failed, and with it, where died, the delivery; returns how many have
 * failed in a row.
 */
int32
booking_store_subscription_failed(int64 subscription_id, const char *problem,
								  bool died, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.subscription s SET failed = s.failed + 1,"
		" failures = s.failures + 1, problem = $2, failed_at = $4,"
		" dead = s.dead + CASE WHEN $3 THEN 1 ELSE 0 END"
		" WHERE s.subscription_id = $1 RETURNING s.failures",
		{INT8OID, TEXTOID, BOOLOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = CStringGetTextDatum(problem);
	values[2] = BoolGetDatum(died);
	values[3] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) == 0)
		return 0;
	return DatumGetInt32(booking_plan_column(0, 1, NULL));
}

/*
 * Leave a subscription alone for a while, and from then on try one request at a
 * time where its circuit is open.
 */
void
booking_store_subscription_block(int64 subscription_id, bool open,
								 TimestampTz until)
{
	static BookingPlan plan = {
		"UPDATE booking.subscription s SET circuit_open = $2,"
		" blocked_until = greatest(s.blocked_until, $3)"
		" WHERE s.subscription_id = $1",
		{INT8OID, BOOLOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = BoolGetDatum(open);
	values[2] = TimestampTzGetDatum(until);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Add a secret; returns its number.
 */
int32
booking_store_subscription_secret_put(int64 subscription_id, bool sealed,
									  bytea *secret, TimestampTz now)
{
	static BookingPlan plan = {
		"WITH s AS (UPDATE booking.subscription SET secrets = secrets + 1"
		"  WHERE subscription_id = $1 RETURNING secrets)"
		" INSERT INTO booking.subscription_secret (subscription_id, number,"
		" sealed, secret, created_at) SELECT $1, s.secrets, $2, $3, $4 FROM s"
		" RETURNING number",
		{INT8OID, BOOLOID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = BoolGetDatum(sealed);
	values[2] = PointerGetDatum(secret);
	values[3] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) != 1)
		elog(ERROR, "subscription " INT64_FORMAT " vanished", subscription_id);
	return DatumGetInt32(booking_plan_column(0, 1, NULL));
}

/*
 * Remove a secret; returns whether there was one.
 */
bool
booking_store_subscription_secret_remove(int64 subscription_id, int32 number)
{
	static BookingPlan plan = {
		"DELETE FROM booking.subscription_secret"
		" WHERE subscription_id = $1 AND number = $2",
		{INT8OID, INT4OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(subscription_id);
	values[1] = Int32GetDatum(number);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * The secrets of a subscription, the newest first.
 */
BookingSubscriptionSecret *
booking_store_subscription_secrets(int64 subscription_id, int *count)
{
	static BookingPlan plan = {
		"SELECT e.number, e.sealed, e.secret"
		"  FROM booking.subscription_secret e WHERE e.subscription_id = $1"
		" ORDER BY e.number DESC",
		{INT8OID}
	};
	Datum		values[1];
	BookingSubscriptionSecret *secrets;

	values[0] = Int64GetDatum(subscription_id);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	secrets = palloc_array(BookingSubscriptionSecret, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		secrets[i].number = DatumGetInt32(booking_plan_column(i, 1, NULL));
		secrets[i].sealed = DatumGetBool(booking_plan_column(i, 2, NULL));
		secrets[i].secret = DatumGetByteaPP(booking_plan_column(i, 3, NULL));
	}
	return secrets;
}

/*
 * Report the subscriptions of a tenant, as booking_subscriptions() returns them.
 */
void
booking_store_subscriptions_list(text *tenant, BookingChangeReport report,
								 void *arg)
{
	static BookingPlan plan = {
		"SELECT s.name, s.state, s.url, s.filter, s.circuit_open, s.failures,"
		" s.problem, s.failed_at, s.blocked_until, s.delivered_at, s.delivered,"
		" s.failed, s.dead,"
		" (SELECT count(*) FROM booking.outbox o"
		"   WHERE o.subscription_id = s.subscription_id AND o.state = 'waiting'),"
		" ARRAY(SELECT e.number FROM booking.subscription_secret e"
		"   WHERE e.subscription_id = s.subscription_id ORDER BY e.number)"
		"  FROM booking.subscription s WHERE s.tenant = $1 ORDER BY s.name",
		{TEXTOID}
	};
	Datum		values[1];
	int			count;

	values[0] = PointerGetDatum(tenant);
	count = (int) booking_plan_run(&plan, values, NULL, 0);
	for (int row = 0; row < count; row++)
	{
		Datum		columns[BOOKING_SUBSCRIPTIONS_COLUMNS];
		bool		nulls[BOOKING_SUBSCRIPTIONS_COLUMNS];

		for (int i = 0; i < BOOKING_SUBSCRIPTIONS_COLUMNS; i++)
			columns[i] = booking_plan_column(row, i + 1, &nulls[i]);
		report(arg, columns, nulls);
	}
}

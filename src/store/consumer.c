/*-------------------------------------------------------------------------
 *
 * consumer.c
 *	  statements on booking.consumer
 *
 * IDENTIFICATION
 *	  booking/src/store/consumer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/change.h"
#include "store/plan.h"

static void change_position(BookingPlan *plan, text *tenant, text *name,
							int64 position);

/*
 * Read a consumer; returns whether there is one.
 */
bool
booking_store_consumer_read(text *tenant, text *name,
							BookingConsumer *consumer)
{
	static BookingPlan plan = {
		"SELECT c.started, c.delivered, c.acked, c.xmin"
		"  FROM booking.consumer c WHERE c.tenant = $1 AND c.name = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	consumer->started = DatumGetBool(booking_plan_column(0, 1, NULL));
	consumer->delivered = DatumGetInt64(booking_plan_column(0, 2, NULL));
	consumer->acked = DatumGetInt64(booking_plan_column(0, 3, NULL));
	consumer->own = TransactionIdIsCurrentTransactionId(
		DatumGetTransactionId(booking_plan_column(0, 4, NULL)));
	return true;
}

/*
 * Has the tenant a consumer, or one that has started?
 */
bool
booking_store_consumer_any(text *tenant, bool started)
{
	static BookingPlan plan = {
		"SELECT FROM booking.consumer c"
		" WHERE c.tenant = $1 AND (c.started OR NOT $2) LIMIT 1",
		{TEXTOID, BOOLOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = BoolGetDatum(started);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Record a consumer, which begins behind what is numbered.
 */
void
booking_store_consumer_insert(text *tenant, text *name, bool started,
							  TimestampTz now)
{
	static BookingPlan feed = {
		"INSERT INTO booking.feed (tenant) VALUES ($1)"
		" ON CONFLICT ON CONSTRAINT feed_pkey DO NOTHING",
		{TEXTOID}
	};
	static BookingPlan plan = {
		"INSERT INTO booking.consumer (tenant, name, started, created_at,"
		" delivered, acked)"
		" SELECT f.tenant, $2, $3, $4, f.last_position, f.last_position"
		"  FROM booking.feed f WHERE f.tenant = $1",
		{TEXTOID, TEXTOID, BOOLOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	values[2] = BoolGetDatum(started);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&feed, values, NULL, 0);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Remove a consumer; returns whether there was one.
 */
bool
booking_store_consumer_delete(text *tenant, text *name)
{
	static BookingPlan plan = {
		"DELETE FROM booking.consumer WHERE tenant = $1 AND name = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * Note that every change is written from now on.
 */
void
booking_store_consumer_start(text *tenant, text *name)
{
	static BookingPlan plan = {
		"UPDATE booking.consumer SET started = true"
		" WHERE tenant = $1 AND name = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Note how far a consumer was given changes.
 */
void
booking_store_consumer_deliver(text *tenant, text *name, int64 position)
{
	static BookingPlan plan = {
		"UPDATE booking.consumer SET delivered = greatest(delivered, $3)"
		" WHERE tenant = $1 AND name = $2",
		{TEXTOID, TEXTOID, INT8OID}
	};

	change_position(&plan, tenant, name, position);
}

/*
 * Note how far a consumer is done.
 */
void
booking_store_consumer_ack(text *tenant, text *name, int64 position)
{
	static BookingPlan plan = {
		"UPDATE booking.consumer SET acked = greatest(acked, $3)"
		" WHERE tenant = $1 AND name = $2",
		{TEXTOID, TEXTOID, INT8OID}
	};

	change_position(&plan, tenant, name, position);
}

/*
 * Run a statement on a consumer and a position.
 */
static void
change_position(BookingPlan *plan, text *tenant, text *name, int64 position)
{
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	values[2] = Int64GetDatum(position);
	booking_plan_run(plan, values, NULL, 0);
}

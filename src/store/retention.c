/*-------------------------------------------------------------------------
 *
 * retention.c
 *	  statements on booking.retention
 *
 * IDENTIFICATION
 *	  booking/src/store/retention.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "store/plan.h"
#include "store/purge.h"

/*
 * The key that digests of purged values are made with, NULL if nothing was ever
 * purged.
 */
bytea *
booking_store_digest_key(void)
{
	static BookingPlan plan = {
		"SELECT r.digest_key FROM booking.retention r",
		{InvalidOid}
	};

	if (booking_plan_run(&plan, NULL, NULL, 1) == 0)
		return NULL;
	return DatumGetByteaPP(booking_plan_column(0, 1, NULL));
}

/*
 * Record the key, unless there is one.
 */
void
booking_store_digest_key_put(bytea *key)
{
	static BookingPlan plan = {
		"INSERT INTO booking.retention (digest_key) VALUES ($1)"
		" ON CONFLICT ON CONSTRAINT retention_pkey DO NOTHING",
		{BYTEAOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(key);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Number of the intent behind which retention goes on; whoever purges beside us
 * waits for our transaction.
 */
int64
booking_store_purge_position(void)
{
	static BookingPlan plan = {
		"SELECT r.\"position\" FROM booking.retention r FOR UPDATE",
		{InvalidOid}
	};

	if (booking_plan_run(&plan, NULL, NULL, 1) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Record it.
 */
void
booking_store_purge_position_put(int64 position)
{
	static BookingPlan plan = {
		"UPDATE booking.retention SET \"position\" = $1",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(position);
	booking_plan_run(&plan, values, NULL, 0);
}

/*-------------------------------------------------------------------------
 *
 * change.c
 *	  statements on booking.change and booking.feed
 *
 * A change is inserted without a position by the transaction that makes it.
 * Whoever reads gives positions to what is visible, in the order of change_id,
 * while it holds the lock of the tenant's feed (ledger/feed.c).
 *
 * IDENTIFICATION
 *	  booking/src/store/change.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/change.h"
#include "store/plan.h"

/*
 * Write what an intent is now as a change, without a position.  Of the
 * explanation only the reason, a word of ours, is told: the rest may hold what
 * people wrote.
 */
void
booking_store_change_insert(int64 intent_id, const char *kind)
{
	static BookingPlan plan = {
		"INSERT INTO booking.change (at, intent_id, revision, version, units,"
		" tenant, principal, intent, kind, disposition, state, remote, event,"
		" resources, during, detail)"
		" SELECT i.changed_at, i.intent_id, i.revision, i.version, i.units,"
		"  i.tenant, i.principal, i.intent, $2, i.disposition, i.state,"
		"  i.remote, i.event, i.resources,"
		"  coalesce((SELECT o.moved_to FROM booking.operation o"
		"    WHERE o.intent_id = i.intent_id"
		"    ORDER BY o.operation_id DESC LIMIT 1), i.during),"
		"  jsonb_strip_nulls(jsonb_build_object('reason', i.detail -> 'reason',"
		"   'slot', i.slot, 'supersedes', i.supersedes,"
		"   'successor', i.successor))"
		"  FROM booking.intent i WHERE i.intent_id = $1",
		{INT8OID, TEXTOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = CStringGetTextDatum(kind);
	if (booking_plan_run(&plan, values, NULL, 0) != 1)
		elog(ERROR, "intent " INT64_FORMAT " vanished", intent_id);
}

/*
 * Write that a source fails as a change, which is of no intent: its name there is
 * unique, so that it is told from others as changes are.
 */
void
booking_store_change_alarm(text *tenant, text *source, int32 failures,
						   const char *problem, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.change (change_id, at, intent_id, revision, version,"
		" tenant, principal, intent, kind, disposition, state, remote, event,"
		" detail)"
		" SELECT n.id, $5, 0, $3, 0, $1, $2, concat('alarm ', n.id), 'alarm',"
		"  'failed', 'failed', 'none', 'none', jsonb_build_object('reason', $4)"
		"  FROM (SELECT nextval('booking.change_id_seq') AS id) n",
		{TEXTOID, TEXTOID, INT4OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(source);
	values[2] = Int32GetDatum(failures);
	values[3] = CStringGetTextDatum(problem);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The position given last, 0 if none was.
 */
int64
booking_store_feed_position(text *tenant)
{
	static BookingPlan plan = {
		"SELECT f.last_position FROM booking.feed f WHERE f.tenant = $1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(tenant);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Is there a change that has committed, or is our own, and has no position?
 */
bool
booking_store_changes_pending(text *tenant)
{
	static BookingPlan plan = {
		"SELECT FROM booking.change c"
		" WHERE c.tenant = $1 AND c.\"position\" IS NULL LIMIT 1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(tenant);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Give the next positions to at most limit changes, under the lock of the
 * feed.  As elements of an array they are expected to be few, so they are
 * looked up one by one however many changes there are.
 */
void
booking_store_changes_number(text *tenant, int limit)
{
	static BookingPlan plan = {
		"WITH numbered AS (UPDATE booking.change c"
		"  SET \"position\" = f.last_position + p.n"
		"  FROM booking.feed f, unnest(ARRAY("
		"   SELECT i.change_id FROM booking.change i"
		"    WHERE i.tenant = $1 AND i.\"position\" IS NULL"
		"    ORDER BY i.change_id LIMIT $2)) WITH ORDINALITY AS p (change_id, n)"
		"  WHERE f.tenant = $1 AND c.change_id = p.change_id"
		"  RETURNING c.\"position\")"
		" UPDATE booking.feed f SET last_position = n.last"
		"  FROM (SELECT max(\"position\") AS last FROM numbered) n"
		"  WHERE f.tenant = $1 AND n.last IS NOT NULL",
		{TEXTOID, INT8OID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = Int64GetDatum(limit);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Report at most limit changes behind a position, in order; returns how many,
 * and the position of the last of them.
 */
int
booking_store_changes_read(text *tenant, int64 after, int limit,
						   BookingChangeReport report, void *arg, int64 *last)
{
	static BookingPlan plan = {
		"SELECT c.\"position\", c.at, c.tenant, c.principal, c.intent, c.kind,"
		" c.disposition, c.state, c.remote, c.event, c.version, c.revision,"
		" c.resources, c.during, c.units, c.detail"
		"  FROM booking.change c"
		" WHERE c.tenant = $1 AND c.\"position\" > $2"
		" ORDER BY c.\"position\" LIMIT $3",
		{TEXTOID, INT8OID, INT8OID}
	};
	Datum		values[3];
	int			count;

	values[0] = PointerGetDatum(tenant);
	values[1] = Int64GetDatum(after);
	values[2] = Int64GetDatum(limit);
	count = (int) booking_plan_run(&plan, values, NULL, 0);
	for (int row = 0; row < count; row++)
	{
		Datum		columns[BOOKING_CHANGE_COLUMNS];
		bool		nulls[BOOKING_CHANGE_COLUMNS];

		for (int i = 0; i < BOOKING_CHANGE_COLUMNS; i++)
			columns[i] = booking_plan_column(row, i + 1, &nulls[i]);
		*last = DatumGetInt64(columns[0]);
		report(arg, columns, nulls);
	}
	return count;
}

/*
 * Remove at most limit changes that every consumer has acknowledged.  What
 * another call is removing is left to it.
 */
void
booking_store_changes_purge(text *tenant, int limit)
{
	static BookingPlan plan = {
		"DELETE FROM booking.change WHERE change_id = ANY (ARRAY("
		" SELECT c.change_id FROM booking.change c"
		"  WHERE c.tenant = $1 AND c.\"position\" <="
		"   (SELECT min(k.acked) FROM booking.consumer k WHERE k.tenant = $1)"
		"  ORDER BY c.\"position\" LIMIT $2 FOR UPDATE SKIP LOCKED))",
		{TEXTOID, INT8OID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = Int64GetDatum(limit);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Remove all changes of a tenant without consumers, under the lock of the
 * feed.
 */
void
booking_store_changes_forget(text *tenant)
{
	static BookingPlan plan = {
		"WITH numbered AS (DELETE FROM booking.change"
		"  WHERE tenant = $1 AND \"position\" IS NOT NULL)"
		" DELETE FROM booking.change"
		"  WHERE tenant = $1 AND \"position\" IS NULL",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(tenant);
	booking_plan_run(&plan, values, NULL, 0);
}

/*-------------------------------------------------------------------------
 *
 * purge.c
 *	  statements that purge the values of intents
 *
 * What is picked is locked, and what others have locked is left out, so that
 * nobody waits for a purge.  An intent is purged as a whole: its values go from
 * every relation that has them, in one transaction.
 *
 * IDENTIFICATION
 *	  booking/src/store/purge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/purge.h"
#include "store/record.h"

#define FINAL_STATES "('confirmed', 'rejected', 'dropped')"

/* when the booking of an intent i is over; others may have moved its event */
#define END_OF_BOOKING \
	"upper(coalesce(CASE i.state WHEN 'created' THEN" \
	" (SELECT o.moved_to FROM booking.operation o" \
	"   WHERE o.intent_id = i.intent_id" \
	"   ORDER BY o.operation_id DESC LIMIT 1) END, i.during))"

/* what a provider owes for an intent i, or its successor, is not settled */
#define UNSETTLED \
	"EXISTS (SELECT FROM booking.operation o" \
	"  LEFT JOIN booking.operation f ON f.previous_id = o.operation_id" \
	"   AND f.state NOT IN " FINAL_STATES \
	" WHERE o.intent_id = i.intent_id" \
	"   AND (o.state NOT IN " FINAL_STATES " OR f.operation_id IS NOT NULL))"

/* an intent i is over since before an instant, and nothing about it is open */
#define OVER_BEFORE(instant) \
	"(i.state IN ('canceled', 'conflict', 'failed', 'needs_proposal')" \
	"  OR i.state IN ('committed', 'created')" \
	"   AND " END_OF_BOOKING " < " instant ")" \
	" AND NOT " UNSETTLED \
	" AND NOT EXISTS (SELECT FROM booking.conflict k" \
	"  WHERE k.intent_id = i.intent_id AND k.resolved_at IS NULL" \
	"   AND k.kind = 'orphan')"

static ArrayType *picked_of_rows(uint64 rows, int *count, int64 *last);
static ArrayType *without_held(ArrayType *picked, int *count);
static void run_on(BookingPlan *plan, ArrayType *picked);

/*
 * Pick intents of a window to purge.  Returns those that nobody else holds, and
 * how far the window was gone through.
 */
ArrayType *
booking_store_purge_pick(const BookingPurgeWindow *window, int *count,
						 int64 *last)
{
	static BookingPlan plan = {
		"SELECT i.intent_id FROM booking.intent i"
		" WHERE i.intent_id > $1 AND i.intent_id <= $2 AND i.digest IS NULL"
		"   AND i.changed_at < $3 AND " OVER_BEFORE("$3")
		" ORDER BY i.intent_id LIMIT $4 FOR UPDATE OF i SKIP LOCKED",
		{INT8OID, INT8OID, TIMESTAMPTZOID, INT8OID}
	};
	Datum		values[4];
	uint64		rows;
	ArrayType  *picked;

	values[0] = Int64GetDatum(window->after);
	values[1] = Int64GetDatum(window->until);
	values[2] = TimestampTzGetDatum(window->before);
	values[3] = Int64GetDatum(window->limit);
	rows = booking_plan_run(&plan, values, NULL, 0);
	picked = picked_of_rows(rows, count, last);
	if (rows < window->limit)
		*last = window->until;
	return without_held(picked, count);
}

/*
 * The same for a person's intents that are over now; last is 0 behind them all.
 */
ArrayType *
booking_store_purge_pick_person(text *tenant, text *principal,
								const BookingPurgeWindow *window, int *count,
								int64 *last)
{
	static BookingPlan plan = {
		"SELECT i.intent_id FROM booking.intent i"
		" WHERE i.tenant = $1 AND i.principal = $2 AND i.intent_id > $3"
		"   AND i.digest IS NULL AND " OVER_BEFORE("$4")
		" ORDER BY i.intent_id LIMIT $5 FOR UPDATE OF i SKIP LOCKED",
		{TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID, INT8OID}
	};
	Datum		values[5];
	uint64		rows;
	ArrayType  *picked;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	values[2] = Int64GetDatum(window->after);
	values[3] = TimestampTzGetDatum(window->before);
	values[4] = Int64GetDatum(window->limit);
	rows = booking_plan_run(&plan, values, NULL, 0);
	picked = picked_of_rows(rows, count, last);
	if (rows < window->limit)
		*last = 0;
	return without_held(picked, count);
}

/*
 * How many intents of a person are not over, and the names of the first of
 * them.
 */
char *
booking_store_purge_open(text *tenant, text *principal, TimestampTz now,
						 int64 *count)
{
	static BookingPlan plan = {
		"SELECT count(*), string_agg(x.name, ', ') FILTER (WHERE x.place <= 10)"
		"  FROM (SELECT format('%s (%s)', i.intent, i.state) AS name,"
		"         row_number() OVER (ORDER BY i.intent) AS place"
		"   FROM booking.intent i"
		"  WHERE i.tenant = $1 AND i.principal = $2 AND i.digest IS NULL"
		"    AND (" OVER_BEFORE("$3") ") IS NOT TRUE) x",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
	*count = DatumGetInt64(booking_plan_column(0, 1, NULL));
	return booking_plan_cstring(0, 2);
}

/*
 * How many intents of a person have their values?
 */
int64
booking_store_purge_left(text *tenant, text *principal)
{
	static BookingPlan plan = {
		"SELECT count(*) FROM booking.intent i"
		" WHERE i.tenant = $1 AND i.principal = $2 AND i.digest IS NULL",
		{TEXTOID, TEXTOID}
	};

	booking_plan_run_named(&plan, tenant, principal, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Purge the values of intents that were picked; returns how many there were.
 * What identifies them, their states, the names of their resources and their
 * links to each other stay.
 */
int64
booking_store_purge_intents(ArrayType *picked, bytea *key)
{
	static BookingPlan proposals = {
		"UPDATE booking.proposal p SET digest = booking.payload_digest($2,"
		"  p.intent_id, p.resources, p.slot, p.during, p.expected_versions, p.terms),"
		" slot = NULL, during = NULL, expected_versions = NULL, terms = '{}',"
		" snapshot = '{}', evidence = NULL, reason = NULL"
		" WHERE p.intent_id = ANY ($1) AND p.digest IS NULL",
		{INT8ARRAYOID, BYTEAOID}
	};
	static BookingPlan intents = {
		"UPDATE booking.intent i SET digest = CASE i.version WHEN 0 THEN ''::bytea"
		"  ELSE booking.payload_digest($2, i.intent_id, i.resources, i.slot,"
		"   i.during, i.expected_versions, i.terms) END,"
		" slot = NULL, during = NULL, expected_versions = NULL,"
		" terms = CASE WHEN i.version > 0 THEN '{}'::jsonb END, evidence = NULL,"
		" override_reason = CASE WHEN i.override_reason IS NOT NULL THEN 'purged' END,"
		" detail = CASE WHEN i.detail ? 'reason' THEN"
		"  jsonb_build_object('purged', true, 'reason', i.detail -> 'reason') END"
		" WHERE i.intent_id = ANY ($1)",
		{INT8ARRAYOID, BYTEAOID}
	};
	static BookingPlan reservations = {
		"WITH t AS (DELETE FROM booking.task WHERE intent_id = ANY ($1))"
		" DELETE FROM booking.reservation WHERE intent_id = ANY ($1)",
		{INT8ARRAYOID}
	};
	static BookingPlan operations = {
		"WITH o AS (UPDATE booking.operation SET body = NULL, message = NULL,"
		"  moved_to = NULL, known_events = NULL, told_busy = NULL"
		"  WHERE intent_id = ANY ($1) RETURNING operation_id),"
		" a AS (DELETE FROM booking.attempt"
		"  WHERE operation_id IN (SELECT operation_id FROM o))"
		" DELETE FROM booking.conference"
		"  WHERE operation_id IN (SELECT operation_id FROM o)",
		{INT8ARRAYOID}
	};
	static BookingPlan conflicts = {
		"DELETE FROM booking.conflict WHERE intent_id = ANY ($1)"
		" AND (resolved_at IS NOT NULL OR kind <> 'orphan')",
		{INT8ARRAYOID}
	};
	static BookingPlan events = {
		"UPDATE booking.event SET organizer = NULL, attendees = NULL, zone = NULL"
		" WHERE intent_id = ANY ($1)",
		{INT8ARRAYOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(picked);
	values[1] = PointerGetDatum(key);
	run_on(&reservations, picked);
	booking_plan_run(&proposals, values, NULL, 0);
	run_on(&operations, picked);
	run_on(&conflicts, picked);
	run_on(&events, picked);
	return (int64) booking_plan_run(&intents, values, NULL, 0);
}

/*
 * Purge what else is known of a person: changes that nobody has read yet, what
 * was recorded of actions, and deliveries, if it is a source; returns how many
 * rows.
 */
int64
booking_store_purge_person(text *tenant, text *principal)
{
	static BookingPlan plans[] = {
		{
			"UPDATE booking.change c SET during = NULL, detail = '{}'"
			" WHERE c.tenant = $1 AND c.principal = $2"
			"   AND (c.during IS NOT NULL OR c.detail <> '{}')",
			{TEXTOID, TEXTOID}
		},
		{
			"UPDATE booking.audit_entry a SET detail = NULL, evidence = NULL"
			" WHERE a.tenant = $1 AND a.principal = $2 AND a.action <> 'forget'"
			"   AND (a.detail IS NOT NULL OR a.evidence IS NOT NULL)",
			{TEXTOID, TEXTOID}
		},
		{
			"UPDATE booking.inbox b SET body = '', state = 'ignored',"
			" reason = 'purged', next_at = NULL"
			" WHERE b.tenant = $1 AND b.source = $2 AND b.body <> ''",
			{TEXTOID, TEXTOID}
		},
		{
			"UPDATE booking.webhook_booking b SET during = NULL"
			" WHERE b.tenant = $1 AND b.source = $2 AND b.state = 'ended'"
			"   AND b.during IS NOT NULL",
			{TEXTOID, TEXTOID}
		}
	};
	int64		rows = 0;

	for (int i = 0; i < lengthof(plans); i++)
		rows += (int64) booking_plan_run_named(&plans[i], tenant, principal, 0);
	return rows;
}

/*
 * The numbers in the first column of the last result as an array, and the last
 * of them.
 */
static ArrayType *
picked_of_rows(uint64 rows, int *count, int64 *last)
{
	int64	   *ids = palloc_array(int64, rows + 1);

	*count = (int) rows;
	*last = 0;
	for (uint64 row = 0; row < rows; row++)
	{
		ids[row] = DatumGetInt64(booking_plan_column(row, 1, NULL));
		*last = ids[row];
	}
	return booking_record_make_int8_array(ids, *count);
}

/*
 * Lock the reservations of what was picked, and leave out intents of which
 * somebody holds one: a call that frees units locks them before the intent, and
 * the two would wait for each other.
 */
static ArrayType *
without_held(ArrayType *picked, int *count)
{
	static BookingPlan plan = {
		"WITH locked AS MATERIALIZED (SELECT v.intent_id FROM booking.reservation v"
		"  WHERE v.intent_id = ANY ($1) FOR UPDATE SKIP LOCKED),"
		" got AS (SELECT l.intent_id, count(*) AS rows FROM locked l GROUP BY 1),"
		" had AS (SELECT v.intent_id, count(*) AS rows FROM booking.reservation v"
		"  WHERE v.intent_id = ANY ($1) GROUP BY 1)"
		" SELECT n.intent_id FROM unnest($1) AS n (intent_id)"
		"  LEFT JOIN got g ON g.intent_id = n.intent_id"
		"  LEFT JOIN had h ON h.intent_id = n.intent_id"
		"  WHERE h.rows IS NOT DISTINCT FROM g.rows",
		{INT8ARRAYOID}
	};
	Datum		values[1];
	int64		last;

	if (*count == 0)
		return picked;
	values[0] = PointerGetDatum(picked);
	return picked_of_rows(booking_plan_run(&plan, values, NULL, 0), count, &last);
}

/*
 * Run a statement whose parameter is what was picked.
 */
static void
run_on(BookingPlan *plan, ArrayType *picked)
{
	Datum		values[1];

	values[0] = PointerGetDatum(picked);
	booking_plan_run(plan, values, NULL, 0);
}

/*-------------------------------------------------------------------------
 *
 * check.c
 *	  the rules between the relations
 *
 * Each statement returns (key, problem) for what breaks its rule.  They
 * read whole relations, and are joins where a look at each row by its key would
 * depend on the right index being chosen, also where nothing is known of how
 * values are spread.
 *
 * IDENTIFICATION
 *	  booking/src/store/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "store/plan.h"
#include "store/store.h"

#define INTENT_KEY "concat_ws('/', i.tenant, i.principal, i.intent)"

/* the reservations v that an intent i has of its resource n over a time */
#define HELD_AT(during) \
	"  LEFT JOIN booking.resource r" \
	"   ON r.tenant = i.tenant AND r.resource = n.name" \
	"  LEFT JOIN booking.reservation v" \
	"   ON v.intent_id = i.intent_id AND v.resource_id = r.resource_id" \
	"    AND v.occupied @> " during " AND v.hold_until IS NULL"

typedef struct Rule
{
	const char *object;
	BookingPlan plan;
} Rule;

static Rule rules[] = {
	{"intent", {
			"SELECT DISTINCT " INTENT_KEY ", 'a committed intent does not hold its units'"
			"  FROM booking.intent i CROSS JOIN unnest(i.resources) AS n(name)"
			HELD_AT("i.during")
			" WHERE i.state = 'committed' AND i.digest IS NULL"
			" GROUP BY i.intent_id, n.name"
			" HAVING count(v.intent_id) <> i.units"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'a committed intent holds more than its units'"
			"  FROM booking.intent i"
			" WHERE i.state = 'committed'"
			"   AND (SELECT count(*) FROM booking.reservation v"
			"         WHERE v.intent_id = i.intent_id)"
			"       > i.units::bigint * cardinality(i.resources)"
	}},
	{"intent", {
			"SELECT DISTINCT " INTENT_KEY ", 'a created intent does not hold the time of its event'"
			"  FROM booking.intent i"
			"  JOIN (SELECT DISTINCT ON (intent_id) intent_id, state, moved_to"
			"    FROM booking.operation ORDER BY intent_id, operation_id DESC) o"
			"   ON o.intent_id = i.intent_id"
			"  CROSS JOIN unnest(i.resources) AS n(name)"
			HELD_AT("coalesce(o.moved_to, i.during)")
			" WHERE i.state = 'created' AND o.state = 'confirmed'"
			"   AND i.digest IS NULL"
			" GROUP BY i.intent_id, n.name"
			" HAVING count(v.intent_id) <> i.units"
	}},
	/* beside an event that is to be moved, its row holds what both share */
	{"intent", {
			"SELECT DISTINCT " INTENT_KEY ", 'an intent whose event is not there yet does not hold its units'"
			"  FROM booking.intent i CROSS JOIN unnest(i.resources) AS n(name)"
			HELD_AT("i.during")
			" WHERE i.state IN ('approved', 'creating', 'unknown')"
			"   AND i.digest IS NULL AND NOT EXISTS"
			"  (SELECT FROM booking.intent p"
			"    WHERE p.tenant = i.tenant AND p.principal = i.principal"
			"      AND p.intent = i.supersedes AND p.state <> 'canceled')"
			" GROUP BY i.intent_id, n.name"
			" HAVING count(v.intent_id) <> i.units"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'an intent that holds nothing by its state has reservations'"
			"  FROM booking.intent i"
			" WHERE (i.state IN ('conflict', 'failed', 'needs_proposal', 'canceled')"
			"        OR i.digest IS NOT NULL)"
			"   AND EXISTS (SELECT FROM booking.reservation v"
			"    WHERE v.intent_id = i.intent_id)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'a proposed intent holds more than a hold'"
			"  FROM booking.intent i"
			" WHERE i.state = 'proposed' AND EXISTS"
			"  (SELECT FROM booking.reservation v"
			"    WHERE v.intent_id = i.intent_id AND v.hold_until IS NULL)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'disposition and state disagree'"
			"  FROM booking.intent i"
			" WHERE i.disposition <> ALL (CASE i.state"
			"   WHEN 'proposed' THEN ARRAY['proposed', 'held']"
			"   WHEN 'conflict' THEN ARRAY['inventory_conflict', 'resource_conflict']"
			"   WHEN 'failed' THEN ARRAY['failed']"
			"   WHEN 'needs_proposal' THEN ARRAY['needs_proposal']"
			"   WHEN 'canceling' THEN ARRAY['canceled']"
			"   WHEN 'canceled' THEN ARRAY['canceled']"
			"   ELSE ARRAY['committed'] END)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'a resource of the intent does not exist'"
			"  FROM booking.intent i, unnest(i.resources) AS n(name)"
			" WHERE NOT EXISTS (SELECT FROM booking.resource r"
			"   WHERE r.tenant = i.tenant AND r.resource = n.name)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'versions and resources differ in number'"
			"  FROM booking.intent i"
			" WHERE cardinality(i.expected_versions) <> cardinality(i.resources)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'the superseded intent is not canceled in favour of this one'"
			"  FROM booking.intent i"
			" WHERE i.state = 'committed' AND i.supersedes IS NOT NULL"
			"   AND NOT EXISTS (SELECT FROM booking.intent p"
			"    WHERE p.tenant = i.tenant AND p.principal = i.principal"
			"      AND p.intent = i.supersedes AND p.state = 'canceled'"
			"      AND p.successor = i.intent)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'the successor does not supersede this intent'"
			"  FROM booking.intent i"
			" WHERE i.successor IS NOT NULL"
			"   AND NOT EXISTS (SELECT FROM booking.intent s"
			"    WHERE s.tenant = i.tenant AND s.principal = i.principal"
			"      AND s.intent = i.successor AND s.supersedes = i.intent)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'the newest proposal is missing or differs from the intent'"
			"  FROM booking.intent i"
			" WHERE (i.state IN ('proposed', 'needs_proposal')"
			"        OR EXISTS (SELECT FROM booking.proposal q"
			"            WHERE q.intent_id = i.intent_id))"
			"   AND NOT EXISTS (SELECT FROM booking.proposal p"
			"    WHERE p.intent_id = i.intent_id AND p.version = i.version"
			"      AND p.resources = i.resources"
			"      AND p.during IS NOT DISTINCT FROM i.during"
			"      AND p.digest IS NOT DISTINCT FROM i.digest"
			"      AND p.units = i.units AND p.terms = i.terms"
			"      AND p.slot IS NOT DISTINCT FROM i.slot"
			"      AND p.expected_versions IS NOT DISTINCT FROM i.expected_versions"
			"      AND p.supersedes IS NOT DISTINCT FROM i.supersedes)"
	}},
	{"intent", {
			"SELECT " INTENT_KEY ", 'no operation makes the event of the intent'"
			"  FROM booking.intent i"
			" WHERE i.state IN ('approved', 'creating')"
			"   AND NOT EXISTS (SELECT FROM booking.operation o"
			"    WHERE o.intent_id = i.intent_id)"
	}},
	{"operation", {
			"SELECT o.operation_id::text, 'the operation belongs to no intent of its tenant'"
			"  FROM booking.operation o"
			" WHERE NOT EXISTS (SELECT FROM booking.intent i"
			"   WHERE i.intent_id = o.intent_id AND i.tenant = o.tenant)"
	}},
	{"operation", {
			"SELECT o.operation_id::text, 'an intent that needs a proposal has an open operation'"
			"  FROM booking.operation o"
			"  JOIN booking.intent i ON i.intent_id = o.intent_id"
			" WHERE i.state = 'needs_proposal'"
			"   AND o.state NOT IN ('confirmed', 'rejected', 'dropped')"
	}},
	{"calendar", {
			"SELECT concat_ws('/', c.tenant, c.calendar), 'the calendar belongs to no account of its tenant'"
			"  FROM booking.calendar c"
			" WHERE NOT EXISTS (SELECT FROM booking.account a"
			"   WHERE a.tenant = c.tenant AND a.account = c.account)"
	}},
	{"calendar", {
			"SELECT concat_ws('/', c.tenant, c.calendar), 'the calendar is on no resource of its tenant'"
			"  FROM booking.calendar c"
			" WHERE c.resource IS NOT NULL"
			"   AND NOT EXISTS (SELECT FROM booking.resource r"
			"    WHERE r.tenant = c.tenant AND r.resource = c.resource)"
	}},
	{"conflict", {
			"SELECT k.conflict_id::text, 'the conflict names no intent or calendar of its tenant'"
			"  FROM booking.conflict k"
			" WHERE k.intent_id IS NOT NULL AND NOT EXISTS"
			"   (SELECT FROM booking.intent i"
			"     WHERE i.intent_id = k.intent_id AND i.tenant = k.tenant)"
			"    OR k.calendar_id IS NOT NULL AND k.resolved_at IS NULL AND NOT EXISTS"
			"   (SELECT FROM booking.calendar c"
			"     WHERE c.calendar_id = k.calendar_id AND c.tenant = k.tenant)"
	}},
	{"event", {
			"SELECT e.row_id::text, 'the event belongs to no intent of its calendar''s tenant'"
			"  FROM booking.event e"
			"  JOIN booking.calendar c ON c.calendar_id = e.calendar_id"
			" WHERE e.intent_id IS NOT NULL AND NOT EXISTS"
			"  (SELECT FROM booking.intent i"
			"    WHERE i.intent_id = e.intent_id AND i.tenant = c.tenant)"
	}},
	{"proposal", {
			"SELECT concat_ws('/', p.intent_id, p.version), 'the proposal belongs to no intent'"
			"  FROM booking.proposal p"
			" WHERE NOT EXISTS (SELECT FROM booking.intent i"
			"   WHERE i.intent_id = p.intent_id)"
	}},
	{"proposal", {
			"SELECT concat_ws('/', p.intent_id, p.version), 'the state of the proposal does not fit its intent'"
			"  FROM booking.proposal p"
			"  JOIN booking.intent i ON i.intent_id = p.intent_id"
			" WHERE p.state = 'open' AND (p.version <> i.version OR i.state <> 'proposed')"
			"    OR p.state <> 'open' AND p.version = i.version AND i.state = 'proposed'"
			"    OR p.version < i.version AND p.state = 'approved'"
			"       AND i.state NOT IN ('proposed', 'failed', 'needs_proposal', 'canceled')"
			"    OR p.version > i.version"
	}},
	{"proposal", {
			"SELECT concat_ws('/', p.intent_id, p.version), 'an earlier version of the proposal is missing'"
			"  FROM booking.proposal p"
			" WHERE p.version > 1 AND NOT EXISTS (SELECT FROM booking.proposal q"
			"   WHERE q.intent_id = p.intent_id AND q.version = p.version - 1)"
	}},
	{"proposal", {
			"SELECT " INTENT_KEY ", 'none of the proposals of a booked intent is approved'"
			"  FROM booking.intent i"
			" WHERE i.state IN ('approved', 'committed', 'creating', 'created', 'unknown')"
			"   AND EXISTS (SELECT FROM booking.proposal p WHERE p.intent_id = i.intent_id)"
			"   AND NOT EXISTS (SELECT FROM booking.proposal p"
			"    WHERE p.intent_id = i.intent_id AND p.state = 'approved')"
	}},
	{"reservation", {
			"SELECT concat_ws('/', v.intent_id, v.piece), 'the hold does not fit its proposal'"
			"  FROM booking.reservation v"
			"  JOIN booking.intent i ON i.intent_id = v.intent_id"
			"  LEFT JOIN booking.proposal p"
			"    ON p.intent_id = i.intent_id AND p.version = i.version"
			" WHERE v.hold_until IS NOT NULL AND i.state = 'proposed'"
			"   AND (p.expires_at IS DISTINCT FROM v.hold_until"
			"        OR NOT v.occupied @> p.during)"
	}},
	{"reservation", {
			"SELECT " INTENT_KEY ", 'override and reservations disagree'"
			"  FROM booking.intent i"
			"  JOIN booking.reservation v ON v.intent_id = i.intent_id"
			" WHERE v.override <> (i.override_reason IS NOT NULL)"
			" GROUP BY i.tenant, i.principal, i.intent"
	}},
	{"reservation", {
			"SELECT concat_ws('/', v.intent_id, v.piece), 'the reservation belongs to no intent'"
			"  FROM booking.reservation v"
			" WHERE NOT EXISTS (SELECT FROM booking.intent i"
			"   WHERE i.intent_id = v.intent_id)"
	}},
	{"reservation", {
			"SELECT concat_ws('/', v.intent_id, v.piece), 'the reservation is on no resource of its tenant'"
			"  FROM booking.reservation v"
			" WHERE NOT EXISTS (SELECT FROM booking.resource r"
			"   WHERE r.resource_id = v.resource_id AND r.tenant = v.tenant)"
	}},
	{"reservation", {
			"SELECT concat_ws('/', v.intent_id, v.piece), 'the lane lies above the capacity'"
			"  FROM booking.reservation v"
			"  JOIN booking.resource r ON r.resource_id = v.resource_id"
			" WHERE v.unit >= 32768 OR NOT v.override AND v.unit >= r.capacity"
			"    OR v.override AND NOT r.overrides"
	}},
	{"reservation", {
			"SELECT concat_ws('/', v.intent_id, v.piece), 'two reservations hold one lane at one instant'"
			"  FROM (SELECT intent_id, piece, lower(occupied) AS start,"
			"         max(upper(occupied)) OVER"
			"          (PARTITION BY resource_id, unit"
			"           ORDER BY lower(occupied), intent_id, piece"
			"           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before"
			"          FROM booking.reservation) v"
			" WHERE v.before > v.start"
	}},
	{"resource", {
			"SELECT concat_ws('/', r.tenant, r.resource), 'more units are held than the capacity at ' ||"
			"  to_char(min(e.at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
			"  FROM booking.resource r"
			"  JOIN (SELECT resource_id, at, sum(sum(step)) OVER"
			"         (PARTITION BY resource_id ORDER BY at) AS held"
			"          FROM (SELECT resource_id, lower(occupied) AS at, 1 AS step"
			"                  FROM booking.reservation WHERE NOT override"
			"                UNION ALL"
			"                SELECT resource_id, upper(occupied), -1"
			"                  FROM booking.reservation WHERE NOT override) s"
			"         GROUP BY resource_id, at) e ON e.resource_id = r.resource_id"
			" WHERE e.held > r.capacity"
			" GROUP BY r.tenant, r.resource"
	}},
	{"slot", {
			"SELECT concat_ws('/', s.tenant, s.resource, s.slot), 'the slot is on no resource'"
			"  FROM booking.slot s"
			" WHERE NOT EXISTS (SELECT FROM booking.resource r"
			"   WHERE r.tenant = s.tenant AND r.resource = s.resource)"
	}},
	{"permission", {
			"SELECT concat_ws('/', p.tenant, p.principal, p.resource), 'the permission is on no resource'"
			"  FROM booking.permission p"
			" WHERE p.resource <> '' AND NOT EXISTS"
			"  (SELECT FROM booking.resource r"
			"   WHERE r.tenant = p.tenant AND r.resource = p.resource)"
	}},
	{"constraint", {
			"SELECT n.name, 'the constraint is missing or may be deferred'"
			"  FROM (VALUES ('intent', 'intent_identity_key'),"
			"   ('intent', 'intent_check'), ('reservation', 'reservation_check'),"
			"   ('reservation', 'reservation_lane_excl')) AS n(relation, name)"
			" WHERE NOT EXISTS (SELECT FROM pg_constraint c"
			"   WHERE c.conrelid = to_regclass('booking.' || n.relation)"
			"     AND c.conname = n.name AND c.convalidated"
			"     AND NOT c.condeferrable)"
	}},
	{"trigger", {
			"SELECT c.relname || '/' || t.tgname, 'the guard is disabled or not enabled always'"
			"  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
			" WHERE c.relnamespace = to_regnamespace('booking')"
			"   AND t.tgname IN ('guard', 'guard_truncate') AND t.tgenabled <> 'A'"
	}},
	{"consumer", {
			"SELECT concat_ws('/', c.tenant, c.name), 'the consumer is beyond the positions given'"
			"  FROM booking.consumer c"
			"  LEFT JOIN booking.feed f ON f.tenant = c.tenant"
			" WHERE f.tenant IS NULL OR c.delivered > f.last_position"
	}},
	{"feed", {
			"SELECT f.tenant, 'positions that a consumer has not acknowledged are missing'"
			"  FROM booking.feed f"
			"  JOIN (SELECT tenant, min(acked) AS acked FROM booking.consumer"
			"         GROUP BY tenant) k ON k.tenant = f.tenant"
			" WHERE f.last_position - k.acked <>"
			"  (SELECT count(*) FROM booking.change c"
			"    WHERE c.tenant = f.tenant AND c.\"position\" > k.acked"
			"      AND c.\"position\" <= f.last_position)"
	}},
	{"change", {
			"SELECT c.change_id::text, 'the position of the change was not given by its feed'"
			"  FROM booking.change c"
			" WHERE c.\"position\" > coalesce((SELECT f.last_position"
			"   FROM booking.feed f WHERE f.tenant = c.tenant), 0)"
	}},
	{"change", {
			"SELECT c.change_id::text, 'the change is not one of its intent'"
			"  FROM booking.change c"
			" WHERE c.kind <> 'alarm' AND NOT EXISTS (SELECT FROM booking.intent i"
			"   WHERE i.intent_id = c.intent_id AND i.tenant = c.tenant"
			"     AND i.principal = c.principal AND i.intent = c.intent"
			"     AND i.revision >= c.revision)"
	}},
	{"change", {
			"SELECT c.change_id::text, 'the changes of the intent are not in the order of its revisions'"
			"  FROM (SELECT change_id, revision, \"position\","
			"         lag(revision) OVER w AS earlier,"
			"         lag(\"position\") OVER w AS earlier_position"
			"          FROM booking.change WHERE kind <> 'alarm'"
			"         WINDOW w AS (PARTITION BY intent_id ORDER BY change_id)) c"
			" WHERE c.revision <= c.earlier"
			"    OR c.\"position\" <= c.earlier_position"
			"    OR c.\"position\" IS NOT NULL AND c.earlier IS NOT NULL"
			"       AND c.earlier_position IS NULL"
	}},
	{"task", {
			"SELECT t.task_id::text, 'the task belongs to no intent of its tenant'"
			"  FROM booking.task t"
			" WHERE NOT EXISTS (SELECT FROM booking.intent i"
			"   WHERE i.intent_id = t.intent_id AND i.tenant = t.tenant)"
	}},
	{"task", {
			"SELECT t.task_id::text, 'the state of the task does not fit its intent'"
			"  FROM booking.task t"
			"  JOIN booking.intent i ON i.intent_id = t.intent_id"
			" WHERE t.state <> 'done' AND t.state <> CASE"
			"   WHEN i.state IN ('approved', 'committed', 'creating', 'created', 'unknown')"
			"    THEN 'waiting'"
			"   WHEN i.state IN ('conflict', 'canceling', 'canceled') THEN 'dropped'"
			"   ELSE 'idle' END"
	}},
	{"task", {
			"SELECT t.task_id::text, 'the task is not due when its booking says'"
			"  FROM booking.task t"
			"  JOIN booking.intent i ON i.intent_id = t.intent_id"
			" WHERE t.due_at <> t.start_at - t.before"
			"    OR i.state IN ('proposed', 'committed')"
			"       AND t.state IN ('waiting', 'idle')"
			"       AND t.start_at IS DISTINCT FROM lower(i.during)"
	}},
	{"webhook_secret", {
			"SELECT concat_ws('/', k.source, k.number), 'the secret belongs to no source'"
			"  FROM booking.webhook_secret k"
			" WHERE NOT EXISTS (SELECT FROM booking.webhook_source s"
			"   WHERE s.source = k.source AND s.removed_at IS NULL"
			"     AND k.number <= s.secrets)"
	}},
	{"webhook_map", {
			"SELECT concat_ws('/', m.source, m.remote_key), 'the mapping names no source, or no resource of its tenant'"
			"  FROM booking.webhook_map m"
			" WHERE NOT EXISTS (SELECT FROM booking.webhook_source s"
			"   JOIN booking.resource r"
			"     ON r.tenant = s.tenant AND r.resource = m.resource"
			"   WHERE s.source = m.source AND s.removed_at IS NULL)"
	}},
	{"inbox", {
			"SELECT i.delivery::text, 'the delivery belongs to no source of its tenant'"
			"  FROM booking.inbox i"
			" WHERE NOT EXISTS (SELECT FROM booking.webhook_source s"
			"   WHERE s.source = i.source AND s.tenant = i.tenant)"
	}},
	{"inbox", {
			"SELECT i.delivery::text, 'the delivery waits for the other half of nothing'"
			"  FROM booking.inbox i"
			" WHERE i.state = 'waiting' AND NOT EXISTS"
			"  (SELECT FROM booking.webhook_booking b"
			"    WHERE b.source = i.source AND b.booking = i.booking"
			"      AND b.state = 'moving')"
	}},
	{"webhook_booking", {
			"SELECT concat_ws('/', b.source, b.booking), 'no intent of its source stands for the booking'"
			"  FROM booking.webhook_booking b"
			" WHERE b.state <> 'ended' AND NOT EXISTS"
			"  (SELECT FROM booking.intent i"
			"    WHERE i.tenant = b.tenant AND i.principal = b.source"
			"      AND i.intent = b.intent)"
	}},
	{"webhook_booking", {
			"SELECT concat_ws('/', b.source, b.booking), 'the booking has ended at its source and not here'"
			"  FROM booking.webhook_booking b"
			"  JOIN booking.intent i ON i.tenant = b.tenant"
			"   AND i.principal = b.source AND i.intent = b.intent"
			" WHERE b.state = 'ended'"
			"   AND i.state NOT IN ('canceling', 'canceled')"
			"   AND NOT EXISTS (SELECT FROM booking.intent n"
			"    WHERE n.tenant = i.tenant AND n.principal = i.principal"
			"      AND n.supersedes = i.intent AND n.state <> 'canceled')"
	}}
};

/*
 * Run every rule and report each violation as (object, key, problem).
 */
void
booking_store_check(BookingCheckReport report, void *arg)
{
	for (int i = 0; i < lengthof(rules); i++)
	{
		uint64		count;

		rules[i].plan.whole = true;
		count = booking_plan_run(&rules[i].plan, NULL, NULL, 0);
		for (uint64 row = 0; row < count; row++)
		{
			Datum		columns[3];

			columns[0] = CStringGetTextDatum(rules[i].object);
			columns[1] = booking_plan_column(row, 1, NULL);
			columns[2] = booking_plan_column(row, 2, NULL);
			report(arg, columns);
		}
	}
}

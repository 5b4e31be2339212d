/*-------------------------------------------------------------------------
 *
 * gauge.c
 *	  what is open, as numbers
 *
 * Everything here reads by partial indexes that have only what is open, or the
 * first entry of an index, and counts no more rows than it is told.  So it takes
 * as long with a hundred million settled rows as with none.
 *
 * IDENTIFICATION
 *	  booking/src/store/gauge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "store/counter.h"
#include "store/plan.h"

/* the predicate of operation_open_idx */
#define OPEN_STATES \
	"('waiting', 'checking', 'sending', 'unknown', 'reconciling', 'parked')"

/* a row of the result: a gauge without labels, or with one */
#define GAUGE(name, value) \
	" SELECT '" name "', '{}'::jsonb, (" value ")::float8"
#define GAUGE_OF(name, label, word, value) \
	" SELECT '" name "', '{\"" label "\": \"" word "\"}'::jsonb, (" value ")::float8"

/* how many there are, $2 at most */
#define UP_TO(from) \
	"SELECT count(*) FROM (SELECT FROM " from " LIMIT $2) x"

/* seconds until $1, at least none */
#define SECONDS_SINCE(value) \
	"SELECT greatest(extract(epoch FROM $1 - x.at), 0) FROM (" value ") x (at)" \
	" WHERE x.at IS NOT NULL"

static void report_plan(BookingPlan *plan, TimestampTz now, int most,
						BookingGaugeReport report, void *arg);
static void report_open(TimestampTz now, int most, BookingGaugeReport report,
						void *arg);
static void report_ledger(TimestampTz now, int most,
						  BookingGaugeReport report, void *arg);
static void report_outside(TimestampTz now, int most,
						   BookingGaugeReport report, void *arg);

/*
 * Report all gauges.  Of each kind of thing "most" are counted, and of each
 * state of operations.
 */
void
booking_store_gauges(TimestampTz now, int most, BookingGaugeReport report,
					 void *arg)
{
	report_open(now, most, report, arg);
	report_ledger(now, most, report, arg);
	report_outside(now, most, report, arg);
}

/*
 * Operations that are not settled, and the intents that they are about.  The
 * states that have few rows come first in the index, not that it matters: each
 * has a limit of its own.
 */
static void
report_open(TimestampTz now, int most, BookingGaugeReport report, void *arg)
{
	static BookingPlan plan = {
		"WITH open AS MATERIALIZED (SELECT o.* FROM"
		"  unnest('{waiting,checking,sending,unknown,reconciling,parked}'::text[])"
		"   AS s (state)"
		"  CROSS JOIN LATERAL (SELECT p.intent_id, p.kind, p.state, p.uncertain,"
		"    p.tries FROM booking.operation p"
		"   WHERE p.state = s.state AND p.state IN " OPEN_STATES " LIMIT $2) o)"
		" SELECT 'booking_operations',"
		"  jsonb_build_object('state', s.state, 'kind', k.kind),"
		"  coalesce(n.count, 0)::float8"
		"  FROM unnest('{waiting,checking,sending,unknown,reconciling,parked}'::text[])"
		"   AS s (state)"
		"  CROSS JOIN unnest('{create,update,cancel}'::text[]) AS k (kind)"
		"  LEFT JOIN (SELECT o.state, o.kind, count(*) FROM open o"
		"   GROUP BY o.state, o.kind) n ON n.state = s.state AND n.kind = k.kind"
		" UNION ALL"
		" SELECT 'booking_intents', jsonb_build_object('state', s.state),"
		"  coalesce(n.count, 0)::float8"
		"  FROM unnest('{approved,creating,unknown,canceling}'::text[]) AS s (state)"
		"  LEFT JOIN (SELECT i.state, count(*) FROM"
		"   (SELECT DISTINCT o.intent_id FROM open o) d"
		"   CROSS JOIN LATERAL (SELECT t.state FROM booking.intent t"
		"    WHERE t.intent_id = d.intent_id LIMIT 1) i"
		"   GROUP BY i.state) n ON n.state = s.state"
		" UNION ALL"
		GAUGE("booking_unknown_creates",
			  "SELECT count(*) FROM open o WHERE o.kind = 'create'"
			  " AND (o.uncertain OR o.state IN ('unknown', 'reconciling'))")
		" UNION ALL"
		GAUGE_OF("booking_parked", "object", "operation",
				 "SELECT count(*) FROM open o WHERE o.state = 'parked'")
		" UNION ALL"
		GAUGE_OF("booking_consecutive_failures", "object", "operation",
				 "SELECT coalesce(max(o.tries), 0) FROM open o"
				 " WHERE o.state <> 'parked'")
		/* the clock is of no use here, but a parameter must have a type */
		" UNION ALL SELECT NULL, NULL, NULL WHERE $1 IS NULL",
		{TIMESTAMPTZOID, INT8OID}
	};

	report_plan(&plan, now, most, report, arg);
}

/*
 * How late operations are, open proposals, and what calendars and ledger do not
 * agree on.
 */
static void
report_ledger(TimestampTz now, int most, BookingGaugeReport report, void *arg)
{
	static BookingPlan plan = {
		GAUGE("booking_queue_age_seconds",
			  "SELECT coalesce((" SECONDS_SINCE("SELECT o.next_at"
												" FROM booking.operation o WHERE o.state IN ('waiting', 'unknown')"
												" ORDER BY o.next_at LIMIT 1") "), 0)")
		" UNION ALL"
		GAUGE("booking_lease_age_seconds",
			  "SELECT coalesce((" SECONDS_SINCE("SELECT min(l.changed_at)"
												" FROM (SELECT o.changed_at FROM booking.operation o"
												"  WHERE o.state IN ('checking', 'sending', 'reconciling')"
												"  LIMIT $2) l") "), 0)")
		" UNION ALL"
		GAUGE_OF("booking_intents", "state", "proposed",
				 UP_TO("booking.proposal p WHERE p.state = 'open'"))
		" UNION ALL"
		GAUGE("booking_expired_holds",
			  UP_TO("booking.proposal p WHERE p.state = 'open' AND p.expires_at <= $1"))
		" UNION ALL"
		" SELECT 'booking_conflicts', jsonb_build_object('kind', k.kind),"
		"  (" UP_TO("booking.conflict c WHERE c.kind = k.kind AND c.resolved_at IS NULL") ")::float8"
		"  FROM unnest('{overlap,moved,orphan,missing,elsewhere}'::text[]) AS k (kind)"
		" UNION ALL"
		GAUGE("booking_events_without_intents",
			  UP_TO("booking.conflict c WHERE c.kind = 'orphan' AND c.resolved_at IS NULL"))
		" UNION ALL"
		GAUGE("booking_intents_without_events",
			  UP_TO("booking.conflict c WHERE c.kind = 'missing' AND c.resolved_at IS NULL")),
		{TIMESTAMPTZOID, INT8OID}
	};

	report_plan(&plan, now, most, report, arg);
}

/*
 * Calendars, accounts and sources of deliveries.
 */
static void
report_outside(TimestampTz now, int most, BookingGaugeReport report, void *arg)
{
	static BookingPlan plan = {
		GAUGE("booking_cursor_age_seconds",
			  "SELECT coalesce((" SECONDS_SINCE("SELECT min(k.finished_at)"
												" FROM booking.cursor k WHERE NOT k.parked") "), 0)")
		" UNION ALL"
		GAUGE("booking_cursors_unread",
			  UP_TO("booking.cursor k WHERE NOT k.parked AND k.finished_at IS NULL"))
		" UNION ALL"
		GAUGE_OF("booking_parked", "object", "cursor",
				 UP_TO("booking.cursor k WHERE k.parked"))
		" UNION ALL"
		GAUGE_OF("booking_parked", "object", "account",
				 UP_TO("booking.account a WHERE a.parked"))
		" UNION ALL"
		GAUGE("booking_accounts_blocked",
			  UP_TO("booking.account a WHERE a.blocked_until > $1"))
		" UNION ALL"
		GAUGE_OF("booking_consecutive_failures", "object", "cursor",
				 "SELECT coalesce(max(k.failures), 0) FROM booking.cursor k"
				 " WHERE k.failures > 0")
		" UNION ALL"
		GAUGE_OF("booking_consecutive_failures", "object", "sign_in",
				 "SELECT coalesce(max(t.failures), 0) FROM booking.token t"
				 " WHERE t.failures > 0")
		" UNION ALL"
		GAUGE_OF("booking_consecutive_failures", "object", "webhook_source",
				 "SELECT coalesce(max(s.failures), 0) FROM booking.webhook_source s"
				 " WHERE s.failures > 0 AND s.removed_at IS NULL")
		" UNION ALL"
		" SELECT 'booking_deliveries', jsonb_build_object('state', s.state),"
		"  (" UP_TO("booking.inbox d WHERE d.state = s.state"
					" AND d.state IN ('waiting', 'read_wanted', 'failed')") ")::float8"
		"  FROM unnest('{waiting,read_wanted,failed}'::text[]) AS s (state)"
		" UNION ALL"
		GAUGE("booking_dead_letters",
			  UP_TO("booking.inbox d WHERE d.state = 'failed' AND d.next_at IS NULL")),
		{TIMESTAMPTZOID, INT8OID}
	};

	report_plan(&plan, now, most, report, arg);
}

/*
 * Report the rows of a statement.
 */
static void
report_plan(BookingPlan *plan, TimestampTz now, int most,
			BookingGaugeReport report, void *arg)
{
	Datum		values[2];
	uint64		count;

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(most);
	count = booking_plan_run(plan, values, NULL, 0);
	for (uint64 i = 0; i < count; i++)
		report(arg, TextDatumGetCString(booking_plan_column(i, 1, NULL)),
			   DatumGetJsonbP(booking_plan_column(i, 2, NULL)),
			   DatumGetFloat8(booking_plan_column(i, 3, NULL)));
}

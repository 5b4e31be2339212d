/*-------------------------------------------------------------------------
 *
 * purge_rows.c
 *	  statements that purge what belongs to no intent
 *
 * Each relation is gone through in the order of its numbers, a window at a time:
 * there is no index for what is rarely asked and would cost every insert.
 *
 * IDENTIFICATION
 *	  booking/src/store/purge_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "store/plan.h"
#include "store/purge.h"

/* the rows of a window, their number named n, that are to be purged */
#define PICKED(n, relation, condition) \
	"(SELECT x." n " FROM booking." relation " x" \
	"  WHERE x." n " > $1 AND x." n " <= $2 AND " condition \
	"  ORDER BY x." n " LIMIT $4 FOR UPDATE SKIP LOCKED)"

#define PURGE_TYPES {INT8OID, INT8OID, TIMESTAMPTZOID, INT8OID}
#define NEXT(n, relation) \
	{"SELECT x." n " FROM booking." relation " x WHERE x." n " > $1" \
	 " ORDER BY x." n " LIMIT 1", {INT8OID}}

/* how one relation is gone through */
typedef struct Walk
{
	BookingPlan next;
	BookingPlan purge;			/* none for intents */
} Walk;

static Walk walks[BOOKING_PURGE_KINDS] = {
	[BOOKING_PURGE_INTENTS] = {NEXT("intent_id", "intent")},
	[BOOKING_PURGE_INBOX] = {NEXT("delivery", "inbox"), {
			"UPDATE booking.inbox i SET body = '' WHERE i.delivery = ANY (ARRAY"
			PICKED("delivery", "inbox", "x.received_at < $3 AND x.body <> ''"
				   " AND x.state IN ('applied', 'ignored')") ")"
			" RETURNING i.delivery", PURGE_TYPES
	}},
	[BOOKING_PURGE_DEAD_LETTERS] = {NEXT("delivery", "inbox"), {
			"UPDATE booking.inbox i SET body = '', state = 'ignored',"
			" reason = 'purged', next_at = NULL WHERE i.delivery = ANY (ARRAY"
			PICKED("delivery", "inbox", "x.received_at < $3 AND x.body <> ''"
				   " AND x.state = 'failed'") ")"
			" RETURNING i.delivery", PURGE_TYPES
	}},
	[BOOKING_PURGE_EVENTS] = {NEXT("row_id", "event"), {
			"UPDATE booking.event e SET organizer = NULL, attendees = NULL"
			" WHERE e.row_id = ANY (ARRAY"
			PICKED("row_id", "event", "upper(x.during) < $3"
				   " AND (x.organizer IS NOT NULL OR x.attendees IS NOT NULL)") ")"
			" RETURNING e.row_id", PURGE_TYPES
	}},
	[BOOKING_PURGE_CONFLICTS] = {NEXT("conflict_id", "conflict"), {
			"DELETE FROM booking.conflict k WHERE k.conflict_id = ANY (ARRAY"
			PICKED("conflict_id", "conflict", "x.resolved_at < $3") ")"
			" RETURNING k.conflict_id", PURGE_TYPES
	}},
	[BOOKING_PURGE_CHECKS] = {NEXT("check_id", "account_check"), {
			"DELETE FROM booking.account_check a WHERE a.check_id = ANY (ARRAY"
			PICKED("check_id", "account_check", "x.done_at < $3") ")"
			" RETURNING a.check_id", PURGE_TYPES
	}},
	[BOOKING_PURGE_AUDIT] = {NEXT("audit_id", "audit_entry"), {
			"DELETE FROM booking.audit_entry a WHERE a.audit_id = ANY (ARRAY"
			PICKED("audit_id", "audit_entry", "x.at < $3") ")"
			" RETURNING a.audit_id", PURGE_TYPES
	}}
};

/*
 * The first number behind one, 0 if there is none.
 */
int64
booking_store_purge_next(BookingPurgeKind kind, int64 after)
{
	Datum		values[1];

	values[0] = Int64GetDatum(after);
	if (booking_plan_run(&walks[kind].next, values, NULL, 1) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Purge rows of a window; returns how many, and how far it was gone through.
 */
int64
booking_store_purge_rows(BookingPurgeKind kind,
						 const BookingPurgeWindow *window, int64 *last)
{
	Datum		values[4];
	int64		rows;

	values[0] = Int64GetDatum(window->after);
	values[1] = Int64GetDatum(window->until);
	values[2] = TimestampTzGetDatum(window->before);
	values[3] = Int64GetDatum(window->limit);
	rows = (int64) booking_plan_run(&walks[kind].purge, values, NULL, 0);
	*last = window->after;
	for (int64 row = 0; row < rows; row++)
		*last = Max(*last, DatumGetInt64(booking_plan_column(row, 1, NULL)));
	if (rows < window->limit)
		*last = window->until;
	return rows;
}

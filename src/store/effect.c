/*-------------------------------------------------------------------------
 *
 * effect.c
 *	  statements on events of ours and what follows from them
 *
 * Rows of booking.event that have an intent are never deleted by what a server
 * lists: they are marked, and whoever judges them at the end of the round
 * deletes them.  So nothing is lost when the worker dies in between, and an
 * event that was only renamed is there under its other name by then.
 *
 * An event that the worker has just written is put into the projection by
 * itself, and its operation says during which round that was.  What that round
 * read may be older than the event.
 *
 * IDENTIFICATION
 *	  booking/src/store/effect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/change.h"
#include "store/effect.h"
#include "store/plan.h"
#include "store/task.h"

/* marks in booking.event.seen_round */
#define GONE "-1"
#define AGAIN "-2"

#define FINAL_STATES "('confirmed', 'rejected', 'dropped')"

/* states of an intent for which no event is to be there */
#define ENDED_STATES \
	"('canceled', 'failed', 'needs_proposal', 'conflict', 'proposed')"

/*
 * Columns of an event that is known from its operation o and intent i.  No round
 * has seen it, nor has the one that is in progress.
 */
#define EXPECTED_COLUMNS \
	" (calendar_id, seen_round, intent_id, object, during, busy, status," \
	" transparency, sequence, uid, marker)"
#define EXPECTED_EVENT \
	"SELECT c.calendar_id, greatest(k.round - 1, 0) AS round, o.intent_id, o.href, i.during," \
	" coalesce(i.terms #>> '{event,transparency}', '') <> 'transparent'," \
	" 'confirmed', CASE i.terms #>> '{event,transparency}'" \
	"  WHEN 'transparent' THEN 'transparent' ELSE 'opaque' END," \
	" o.sequence, o.event_id, o.event_id" \
	"  FROM booking.operation o" \
	"  JOIN booking.intent i ON i.intent_id = o.intent_id" \
	"  JOIN booking.calendar c" \
	"    ON c.tenant = o.tenant AND c.calendar = o.calendar" \
	"  JOIN booking.cursor k ON k.calendar_id = c.calendar_id" \
	" WHERE o.href IS NOT NULL AND i.during IS NOT NULL"

/*
 * Record that the events e (of intents that stand) are not known to be there
 * any more, for the reason $2.
 */
#define NOTE_MISSING(calendar_id, from) \
	"INSERT INTO booking.conflict (found_at, intent_id, calendar_id, kind," \
	" tenant, object, during, detail)" \
	" SELECT DISTINCT ON (i.intent_id) $1, i.intent_id, " calendar_id "," \
	"  'missing', i.tenant, e.object, e.during," \
	"  jsonb_build_object('reason', $2)" \
	"  FROM " from " JOIN booking.intent i ON i.intent_id = e.intent_id" \
	" WHERE i.state IN ('creating', 'created', 'unknown', 'canceling')" \
	" ORDER BY i.intent_id, e.object" \
	" ON CONFLICT (kind, intent_id, calendar_id, object)" \
	"  WHERE resolved_at IS NULL DO NOTHING"

static int64 *ids_of_rows(uint64 count, int *found);

/*
 * The events of operations that succeeded are there, whatever a round in
 * progress has read: each gets a row, which the next round completes.  If there
 * is one already, it is the intent's from now on; if that is said to be gone,
 * the next round asks.
 */
void
booking_store_events_expect(const int64 *operation_ids, int count)
{
	static BookingPlan plan = {
		"WITH x AS MATERIALIZED (" EXPECTED_EVENT " AND o.operation_id = ANY ($1)),"
		" u AS (UPDATE booking.event e SET (intent_id, seen_round) ="
		"   (SELECT x.intent_id, CASE e.seen_round WHEN " GONE " THEN " GONE
		"     ELSE greatest(e.seen_round, x.round) END FROM x"
		"     WHERE x.calendar_id = e.calendar_id AND x.href = e.object LIMIT 1)"
		"  WHERE e.ctid = ANY (ARRAY(SELECT d.ctid FROM x,"
		"   LATERAL (SELECT d.ctid FROM booking.event d"
		"     WHERE d.calendar_id = x.calendar_id AND d.object = x.href"
		"     OFFSET 0) d))"
		"  RETURNING e.calendar_id, e.object)"
		" INSERT INTO booking.event" EXPECTED_COLUMNS
		" SELECT * FROM x WHERE NOT EXISTS (SELECT FROM u"
		"   WHERE u.calendar_id = x.calendar_id AND u.object = x.href)"
		" ON CONFLICT ON CONSTRAINT event_identity_key DO NOTHING",
		{INT8ARRAYOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(booking_record_make_int8_array(operation_ids, count));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The same for all events of calendars that were never read, which an earlier
 * version wrote.
 */
void
booking_store_events_expect_all(void)
{
	static BookingPlan plan = {
		"INSERT INTO booking.event" EXPECTED_COLUMNS EXPECTED_EVENT
		" AND k.round = 0 AND k.started_at IS NULL AND o.state = 'confirmed'"
		" AND i.state = 'created' AND NOT EXISTS (SELECT FROM booking.operation n"
		"  WHERE n.intent_id = o.intent_id AND n.operation_id > o.operation_id)"
		" ON CONFLICT ON CONSTRAINT event_identity_key DO NOTHING",
		{InvalidOid}
	};

	booking_plan_run(&plan, NULL, NULL, 0);
}

/*
 * The provider has answered a cancel: if that confirmed it, the event is not
 * there any more.
 */
void
booking_store_event_forget(int64 operation_id)
{
	static BookingPlan plan = {
		"DELETE FROM booking.event e USING booking.operation o, booking.calendar c"
		" WHERE o.operation_id = $1 AND o.state = 'confirmed'"
		"   AND c.tenant = o.tenant AND c.calendar = o.calendar"
		"   AND e.calendar_id = c.calendar_id"
		"   AND e.object = o.href"
		"   AND (e.uid = o.event_id OR e.intent_id = o.intent_id)",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(operation_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Calendars of an account, or one of them, are elsewhere from now on.  What is
 * not listed there is no sign that somebody deleted it, so events of ours are
 * nobody's until they are read again, and missing until then.
 */
void
booking_store_events_disconnect(text *tenant, text *account, text *calendar,
								const char *reason, TimestampTz now)
{
	static BookingPlan plan = {
		"WITH e AS MATERIALIZED"
		"  (SELECT x.row_id, x.intent_id, x.calendar_id, x.object, x.during"
		"    FROM booking.calendar c"
		"    JOIN booking.event x ON x.calendar_id = c.calendar_id"
		"   WHERE c.tenant = $3 AND c.account = $4"
		"     AND ($5 IS NULL OR c.calendar = $5) AND x.intent_id IS NOT NULL),"
		" u AS (UPDATE booking.event d SET intent_id = NULL, etag = NULL"
		"   WHERE d.row_id = ANY (ARRAY(SELECT e.row_id FROM e)))"
		NOTE_MISSING("e.calendar_id", "e"),
		{TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[5];
	bool		nulls[5] = {0};

	values[0] = TimestampTzGetDatum(now);
	values[1] = CStringGetTextDatum(reason);
	values[2] = PointerGetDatum(tenant);
	values[3] = PointerGetDatum(account);
	booking_plan_bind(values, nulls, 4, calendar);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * A calendar is going to be removed; events of ours in it are missing then.
 */
void
booking_store_events_missing(text *tenant, text *calendar, TimestampTz now)
{
	static BookingPlan plan = {
		NOTE_MISSING("NULL", "booking.calendar c"
					 " JOIN booking.event e ON e.calendar_id = c.calendar_id"
					 "  AND c.tenant = $3 AND c.calendar = $4"
					 "  AND e.intent_id IS NOT NULL"),
		{TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[4];

	values[0] = TimestampTzGetDatum(now);
	values[1] = CStringGetTextDatum("calendar_removed");
	values[2] = PointerGetDatum(tenant);
	values[3] = PointerGetDatum(calendar);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Everything was listed: events of ours that were not are said to be gone.  A
 * listing of a window says nothing of events outside of it.
 */
void
booking_store_effects_unseen(int64 calendar_id, int64 round, bool windowed,
							 TimestampTz from, TimestampTz until)
{
	static BookingPlan plan = {
		"UPDATE booking.event SET seen_round = " GONE
		" WHERE calendar_id = $1 AND seen_round < $2 AND seen_round <> " GONE
		"   AND intent_id IS NOT NULL"
		"   AND (NOT $3 OR during IS NULL OR during && tstzrange($4, $5))",
		{INT8OID, INT8OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = BoolGetDatum(windowed);
	values[3] = TimestampTzGetDatum(from);
	values[4] = TimestampTzGetDatum(until);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Events of ours that two rounds, which both began after they were written, had
 * to name among what is new and did not: they were deleted before the first of
 * them, and no listing of changes tells of that.  Nor does one of a window of
 * what lies outside of it.
 */
void
booking_store_effects_never_seen(int64 calendar_id, int64 round, bool windowed,
								 TimestampTz from, TimestampTz until)
{
	static BookingPlan plan = {
		"UPDATE booking.event e SET seen_round = " GONE
		" WHERE e.calendar_id = $1 AND e.etag IS NULL"
		"   AND e.intent_id IS NOT NULL AND e.seen_round >= 0"
		"   AND EXISTS (SELECT FROM booking.operation o"
		"    WHERE o.event_id = e.uid AND o.intent_id = e.intent_id"
		"      AND o.round >= e.seen_round AND o.round < $2 - 1)"
		"   AND (NOT $3 OR e.during && tstzrange($4, $5))",
		{INT8OID, INT8OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = BoolGetDatum(windowed);
	values[3] = TimestampTzGetDatum(from);
	values[4] = TimestampTzGetDatum(until);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Are more than this many events of bookings said to be gone, and more than
 * half of all that the calendar has?
 */
bool
booking_store_effects_many_gone(int64 calendar_id, int64 most)
{
	static BookingPlan plan = {
		"SELECT count(*) FILTER (WHERE x.gone) > $2"
		"   AND count(*) FILTER (WHERE x.gone) * 2 > count(*)"
		"  FROM (SELECT bool_and(e.seen_round = " GONE ") AS gone"
		"   FROM booking.event e"
		"   JOIN booking.intent i ON i.intent_id = e.intent_id AND i.digest IS NULL"
		"  WHERE e.calendar_id = $1 AND i.state IN ('created', 'canceling')"
		"  GROUP BY e.intent_id) x",
		{INT8OID, INT8OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(most);
	booking_plan_run(&plan, values, NULL, 1);
	return DatumGetBool(booking_plan_column(0, 1, NULL));
}

/*
 * Intents with events that are said to be gone, in an order that is another one
 * in each round: where not all can be gone through, all get their turn.  after
 * is PG_INT64_MIN at first, then what last was.
 */
int64 *
booking_store_effects_gone(int64 calendar_id, int64 round, int64 after,
						   int limit, int *count, int64 *last)
{
	static BookingPlan plan = {
		"SELECT x.intent_id, hashint8extended(x.intent_id, $2) AS place"
		"  FROM (SELECT DISTINCT e.intent_id FROM booking.event e"
		"   JOIN booking.intent i ON i.intent_id = e.intent_id AND i.digest IS NULL"
		"   WHERE e.calendar_id = $1 AND e.seen_round = " GONE
		"     AND e.intent_id IS NOT NULL) x"
		" WHERE hashint8extended(x.intent_id, $2) > $3"
		" ORDER BY place LIMIT $4",
		{INT8OID, INT8OID, INT8OID, INT8OID}
	};
	Datum		values[4];
	int64	   *ids;

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = Int64GetDatum(after);
	values[3] = Int64GetDatum(limit);
	ids = ids_of_rows(booking_plan_run(&plan, values, NULL, 0), count);
	*last = *count == 0 ? after :
		DatumGetInt64(booking_plan_column(*count - 1, 2, NULL));
	return ids;
}

/*
 * Intents whose event a round saw as it should not be, in the order of their
 * numbers; and those with a conflict that may be over.
 */
int64 *
booking_store_effects_there(int64 calendar_id, int64 round, int64 after,
							int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT x.intent_id FROM"
		" (SELECT e.intent_id FROM booking.event e"
		"   JOIN booking.calendar c ON c.calendar_id = e.calendar_id"
		"   JOIN booking.intent i ON i.intent_id = e.intent_id AND i.digest IS NULL"
		"  CROSS JOIN LATERAL (SELECT o.* FROM booking.operation o"
		"    WHERE o.intent_id = e.intent_id"
		"    ORDER BY o.operation_id DESC LIMIT 1) o"
		"  WHERE e.calendar_id = $1 AND e.seen_round = $2"
		"    AND e.intent_id > $3 AND i.state = 'created'"
		"    AND o.tenant = c.tenant AND o.calendar = c.calendar"
		"    AND (e.recurring OR e.status = 'canceled' OR i.event <> 'present'"
		"      OR e.object IS DISTINCT FROM o.href"
		"      OR e.during IS DISTINCT FROM coalesce(o.moved_to, i.during))"
		"  UNION"
		"  SELECT k.intent_id FROM booking.conflict k"
		"   WHERE k.calendar_id = $1 AND k.resolved_at IS NULL"
		"     AND k.kind = 'moved' AND k.intent_id > $3) x"
		" ORDER BY x.intent_id LIMIT $4",
		{INT8OID, INT8OID, INT8OID, INT8OID}
	};
	Datum		values[4];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = Int64GetDatum(after);
	values[3] = Int64GetDatum(limit);
	return ids_of_rows(booking_plan_run(&plan, values, NULL, 0), count);
}

/*
 * Look again at what an earlier round left to this one.
 */
void
booking_store_effects_resume(int64 calendar_id, int64 round)
{
	static BookingPlan plan = {
		"UPDATE booking.event SET seen_round = $2"
		" WHERE calendar_id = $1 AND seen_round = " AGAIN
		"   AND intent_id IS NOT NULL",
		{INT8OID, INT8OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Have the next round look again at what this one saw of an intent's event.
 */
void
booking_store_effects_again(int64 calendar_id, int64 round, int64 intent_id)
{
	static BookingPlan plan = {
		"UPDATE booking.event SET seen_round = " AGAIN
		" WHERE intent_id = $3 AND calendar_id = $1 AND seen_round = $2",
		{INT8OID, INT8OID, INT8OID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = Int64GetDatum(intent_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Have the next round look at an intent's event, whether it changed or not.
 */
void
booking_store_effects_of_intent(int64 intent_id)
{
	static BookingPlan plan = {
		"UPDATE booking.event SET seen_round = " AGAIN
		" WHERE intent_id = $1 AND seen_round >= 0",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(intent_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Delete what is said to be gone of an intent's event; that has been judged.
 */
void
booking_store_effects_delete_gone(int64 calendar_id, int64 intent_id)
{
	static BookingPlan plan = {
		"DELETE FROM booking.event WHERE intent_id = $2 AND calendar_id = $1"
		" AND seen_round = " GONE,
		{INT8OID, INT8OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(intent_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * What is wanted of an intent's event, in a calendar.
 */
void
booking_store_subject(int64 intent_id, int64 calendar_id,
					  BookingSubject *subject)
{
	static BookingPlan plan = {
		"SELECT o.operation_id, o.round, o.kind, o.state, o.href,"
		" o.tenant = c.tenant AND o.calendar = c.calendar,"
		" EXISTS (SELECT FROM booking.operation f"
		"  WHERE f.event_id = o.event_id AND f.operation_id > o.operation_id"
		"    AND f.tenant = o.tenant AND f.state NOT IN " FINAL_STATES "),"
		" EXISTS (SELECT FROM booking.reservation v"
		"  WHERE v.intent_id = o.intent_id AND v.override), o.moved_to,"
		" o.event_id"
		"  FROM booking.operation o, booking.calendar c"
		" WHERE o.intent_id = $1 AND c.calendar_id = $2"
		" ORDER BY o.operation_id DESC LIMIT 1",
		{INT8OID, INT8OID}
	};
	Datum		values[2];
	Datum		moved_to;

	memset(subject, 0, sizeof(*subject));
	values[0] = Int64GetDatum(intent_id);
	values[1] = Int64GetDatum(calendar_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return;
	subject->operation_id = DatumGetInt64(booking_plan_column(0, 1, NULL));
	subject->round = DatumGetInt64(booking_plan_column(0, 2, NULL));
	subject->kind = booking_plan_cstring(0, 3);
	subject->state = booking_plan_cstring(0, 4);
	subject->href = booking_plan_cstring(0, 5);
	subject->here = DatumGetBool(booking_plan_column(0, 6, NULL));
	subject->followed = DatumGetBool(booking_plan_column(0, 7, NULL));
	subject->override = DatumGetBool(booking_plan_column(0, 8, NULL));
	subject->event_id = booking_plan_cstring(0, 10);
	moved_to = booking_plan_column(0, 9, NULL);
	subject->moved = DatumGetPointer(moved_to) != NULL;
	if (subject->moved)
		booking_range_bounds(moved_to, &subject->start, &subject->end);
}

/*
 * What a calendar shows of an intent's event: the occurrence that originally
 * began at one of the two starts, else the first one.  False if nothing is
 * there but what is said to be gone.
 */
bool
booking_store_own_event(int64 calendar_id, int64 intent_id, TimestampTz start,
						TimestampTz other_start, BookingOwnEvent *event)
{
	static BookingPlan plan = {
		"SELECT e.object, NOT e.recurring OR e.occurrence IN ($3, $4),"
		" e.during, e.status = 'canceled', e.recurring, e.all_day,"
		" e.problem IS NOT NULL"
		"  FROM booking.event e"
		" WHERE e.intent_id = $2 AND e.calendar_id = $1"
		"   AND e.seen_round <> " GONE
		" ORDER BY e.occurrence IN ($3, $4) DESC, e.occurrence LIMIT 1",
		{INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[4];
	Datum		during;
	bool		isnull;

	memset(event, 0, sizeof(*event));
	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(intent_id);
	values[2] = TimestampTzGetDatum(start);
	values[3] = TimestampTzGetDatum(other_start);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	event->object = DatumGetTextPP(booking_plan_column(0, 1, NULL));
	event->concrete = DatumGetBool(booking_plan_column(0, 2, NULL));
	during = booking_plan_column(0, 3, &isnull);
	event->has_time = !isnull;
	if (event->has_time)
		booking_range_bounds(during, &event->start, &event->end);
	event->canceled = DatumGetBool(booking_plan_column(0, 4, NULL));
	event->recurring = DatumGetBool(booking_plan_column(0, 5, NULL));
	event->all_day = DatumGetBool(booking_plan_column(0, 6, NULL));
	event->unreadable = DatumGetBool(booking_plan_column(0, 7, NULL));
	return true;
}

/*
 * An event is under this name now, and at this time, if that is not the
 * intent's.
 */
void
booking_store_operation_follow(int64 operation_id, text *href,
							   RangeType *moved_to)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET href = $2, moved_to = $3"
		" WHERE operation_id = $1",
		{INT8OID, TEXTOID, TSTZRANGEOID}
	};
	Datum		values[3];
	bool		nulls[3] = {0};

	values[0] = Int64GetDatum(operation_id);
	booking_plan_bind(values, nulls, 1, href);
	booking_plan_bind(values, nulls, 2, moved_to);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * What an intent holds has followed its event, which begins at start now.
 */
void
booking_store_intent_moved(int64 intent_id, TimestampTz start, text *role,
						   TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.intent SET event = 'present', changed_role = $2,"
		" changed_at = $3, revision = revision + 1"
		" WHERE intent_id = $1 RETURNING tenant",
		{INT8OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];
	text	   *tenant;

	values[0] = Int64GetDatum(intent_id);
	values[1] = PointerGetDatum(role);
	values[2] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) != 1)
		elog(ERROR, "intent " INT64_FORMAT " vanished", intent_id);
	tenant = DatumGetTextPP(booking_plan_column(0, 1, NULL));
	booking_store_downstream(intent_id, tenant, "moved");
	if (booking_store_tasks_wanted(tenant))
		booking_store_task_move(intent_id, start);
}

/*
 * When a booking begins, if not when its payload says, because what it holds
 * has followed its event.
 */
bool
booking_store_intent_moved_start(int64 intent_id, TimestampTz *start)
{
	static BookingPlan plan = {
		"SELECT lower(o.moved_to) FROM booking.operation o"
		" WHERE o.intent_id = $1 ORDER BY o.operation_id DESC LIMIT 1",
		{INT8OID}
	};
	Datum		values[1];
	Datum		found;
	bool		isnull;

	values[0] = Int64GetDatum(intent_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	found = booking_plan_column(0, 1, &isnull);
	if (!isnull)
		*start = DatumGetTimestampTz(found);
	return !isnull;
}

/*
 * Record a conflict, or what is known of it now.
 */
void
booking_store_conflict_open(const BookingConflict *conflict, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.conflict AS k (found_at, intent_id, calendar_id,"
		" kind, tenant, object, during, detail)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		" ON CONFLICT (kind, intent_id, calendar_id, object)"
		"  WHERE resolved_at IS NULL DO UPDATE"
		"  SET during = EXCLUDED.during, detail = EXCLUDED.detail"
		"  WHERE (k.during, k.detail) IS DISTINCT FROM"
		"   (EXCLUDED.during, EXCLUDED.detail)",
		{TIMESTAMPTZOID, INT8OID, INT8OID, TEXTOID, TEXTOID, TEXTOID,
			TSTZRANGEOID, JSONBOID}
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(conflict->intent_id);
	values[2] = Int64GetDatum(conflict->calendar_id);
	values[3] = CStringGetTextDatum(conflict->kind);
	values[4] = PointerGetDatum(conflict->tenant);
	booking_plan_bind(values, nulls, 5, conflict->object);
	booking_plan_bind(values, nulls, 6, conflict->during);
	booking_plan_bind(values, nulls, 7, conflict->detail);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * A conflict of an intent is over.
 */
void
booking_store_conflict_resolve(int64 intent_id, const char *kind,
							   TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.conflict SET resolved_at = $3"
		" WHERE kind = $2 AND intent_id = $1 AND resolved_at IS NULL",
		{INT8OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(intent_id);
	values[1] = CStringGetTextDatum(kind);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * An intent is canceled: it does not matter any more where its event is.
 */
void
booking_store_conflicts_end(int64 intent_id, TimestampTz now)
{
	booking_store_conflict_resolve(intent_id, "moved", now);
	booking_store_conflict_resolve(intent_id, "missing", now);
}

/*
 * What a round saw of events that carry an id of ours and belong to no booking
 * is an orphan, until it is gone or a booking claims it; and what was missing
 * is there again.
 */
void
booking_store_conflicts_of_round(int64 calendar_id, int64 round,
								 TimestampTz now)
{
	static BookingPlan open = {
		"INSERT INTO booking.conflict AS k (found_at, intent_id, calendar_id,"
		" kind, tenant, object, during)"
		" SELECT DISTINCT ON (e.object) $3, e.intent_id, $1, 'orphan', c.tenant,"
		"  e.object, e.during"
		"  FROM booking.event e"
		"  JOIN booking.calendar c ON c.calendar_id = e.calendar_id"
		"  LEFT JOIN booking.intent i ON i.intent_id = e.intent_id"
		" WHERE e.calendar_id = $1 AND e.seen_round = $2"
		"   AND e.marker IS NOT NULL AND e.marker = e.uid"
		"   AND e.status <> 'canceled'"
		"   AND (e.intent_id IS NULL OR i.state IN " ENDED_STATES ")"
		" ORDER BY e.object, e.occurrence"
		" ON CONFLICT (kind, intent_id, calendar_id, object)"
		"  WHERE resolved_at IS NULL DO UPDATE SET during = EXCLUDED.during"
		"  WHERE k.during IS DISTINCT FROM EXCLUDED.during",
		{INT8OID, INT8OID, TIMESTAMPTZOID}
	};
	static BookingPlan over = {
		"UPDATE booking.conflict k SET resolved_at = $2"
		" WHERE k.calendar_id = $1 AND k.resolved_at IS NULL"
		"   AND k.kind = 'orphan'"
		"   AND NOT EXISTS (SELECT FROM booking.event e"
		"    LEFT JOIN booking.intent i ON i.intent_id = e.intent_id"
		"    WHERE e.calendar_id = $1 AND e.object = k.object"
		"      AND e.marker IS NOT NULL AND e.status <> 'canceled'"
		"      AND (e.intent_id IS NULL OR i.state IN " ENDED_STATES "))",
		{INT8OID, TIMESTAMPTZOID}
	};
	static BookingPlan found = {
		"UPDATE booking.conflict k SET resolved_at = $3"
		"  FROM booking.event e"
		" WHERE e.calendar_id = $1 AND e.seen_round = $2"
		"   AND e.intent_id IS NOT NULL AND k.kind = 'missing'"
		"   AND k.intent_id = e.intent_id AND k.resolved_at IS NULL",
		{INT8OID, INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&open, values, NULL, 0);
	booking_plan_run(&found, values, NULL, 0);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&over, values, NULL, 0);
}

/*
 * Numbers in the first column of a result.
 */
static int64 *
ids_of_rows(uint64 count, int *found)
{
	int64	   *ids = palloc_array(int64, count + 1);

	for (uint64 i = 0; i < count; i++)
		ids[i] = DatumGetInt64(booking_plan_column(i, 1, NULL));
	*found = (int) count;
	return ids;
}

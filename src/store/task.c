/*-------------------------------------------------------------------------
 *
 * task.c
 *	  statements on booking.task
 *
 * All but booking_store_tasks_due() run under the lock of the task's intent,
 * which keeps what is decided here true until the transaction ends.
 *
 * IDENTIFICATION
 *	  booking/src/store/task.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/task.h"

/* states of an intent in which it is booked, and in which it has ended */
#define BOOKED "('approved', 'committed', 'creating', 'created', 'unknown')"
#define ENDED "('conflict', 'canceling', 'canceled')"

static Datum fixed_interval(int64 microseconds);

/*
 * A task of an intent, or NULL.
 */
BookingTask *
booking_store_task_read(int64 intent_id, text *task)
{
	static BookingPlan plan = {
		"SELECT t.task_id, t.intent_id, t.before, t.start_at, t.due_at, t.task,"
		" t.state, t.payload"
		"  FROM booking.task t WHERE t.intent_id = $1 AND t.task = $2",
		{INT8OID, TEXTOID}
	};
	Datum		values[2];
	BookingTask *found;

	values[0] = Int64GetDatum(intent_id);
	values[1] = PointerGetDatum(task);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	found = palloc0_object(BookingTask);
	found->task_id = DatumGetInt64(booking_plan_column(0, 1, NULL));
	found->intent_id = DatumGetInt64(booking_plan_column(0, 2, NULL));
	found->before = DatumGetIntervalP(booking_plan_column(0, 3, NULL))->time;
	found->start_at = DatumGetTimestampTz(booking_plan_column(0, 4, NULL));
	found->due_at = DatumGetTimestampTz(booking_plan_column(0, 5, NULL));
	found->task = DatumGetTextPP(booking_plan_column(0, 6, NULL));
	found->state = DatumGetTextPP(booking_plan_column(0, 7, NULL));
	found->payload = DatumGetJsonbP(booking_plan_column(0, 8, NULL));
	return found;
}

/*
 * Record a task.
 */
void
booking_store_task_insert(const BookingTask *task, text *tenant,
						  TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.task (intent_id, created_at, start_at, due_at,"
		" before, tenant, task, state, payload)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		{INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INTERVALOID,
			TEXTOID, TEXTOID, TEXTOID, JSONBOID}
	};
	Datum		values[9];

	values[0] = Int64GetDatum(task->intent_id);
	values[1] = TimestampTzGetDatum(now);
	values[2] = TimestampTzGetDatum(task->start_at);
	values[3] = TimestampTzGetDatum(task->due_at);
	values[4] = fixed_interval(task->before);
	values[5] = PointerGetDatum(tenant);
	values[6] = PointerGetDatum(task->task);
	values[7] = PointerGetDatum(task->state);
	values[8] = PointerGetDatum(task->payload);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Give a task other values.  Whoever had taken it has lost it.
 */
void
booking_store_task_replace(const BookingTask *task)
{
	static BookingPlan plan = {
		"UPDATE booking.task SET before = $2, due_at = $3, payload = $4,"
		" lease = 0, leased_until = NULL"
		" WHERE task_id = $1",
		{INT8OID, INTERVALOID, TIMESTAMPTZOID, JSONBOID}
	};
	Datum		values[4];

	values[0] = Int64GetDatum(task->task_id);
	values[1] = fixed_interval(task->before);
	values[2] = TimestampTzGetDatum(task->due_at);
	values[3] = PointerGetDatum(task->payload);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * An intent has changed.  Its tasks go to the successor if it has one, unless
 * that one has a task of the same name; else they follow the intent's state,
 * and a proposal's time.  What is done stays as it is.  Whoever had taken a
 * task that changes here has lost it.
 */
void
booking_store_task_follow(int64 intent_id)
{
	static BookingPlan hand = {
		"UPDATE booking.task t SET intent_id = s.intent_id,"
		"  start_at = lower(s.during), due_at = lower(s.during) - t.before,"
		"  state = CASE WHEN s.state IN " BOOKED " THEN 'waiting' ELSE 'idle' END,"
		"  lease = 0, leased_until = NULL"
		"  FROM booking.intent i"
		"  JOIN booking.intent s ON s.tenant = i.tenant"
		"   AND s.principal = i.principal AND s.intent = i.successor"
		" WHERE i.intent_id = $1 AND i.state IN " ENDED
		"   AND s.state NOT IN " ENDED
		"   AND t.intent_id = $1 AND t.state IN ('waiting', 'idle')"
		"   AND NOT EXISTS (SELECT FROM booking.task o"
		"    WHERE o.intent_id = s.intent_id AND o.task = t.task)",
		{INT8OID}
	};
	static BookingPlan follow = {
		"UPDATE booking.task t SET state = n.state, start_at = n.start_at,"
		"  due_at = n.start_at - t.before, lease = 0,"
		"  leased_until = NULL"
		"  FROM (SELECT o.task_id, CASE WHEN i.state IN " BOOKED " THEN 'waiting'"
		"     WHEN i.state IN " ENDED " THEN 'dropped' ELSE 'idle' END AS state,"
		"    CASE i.state WHEN 'proposed' THEN lower(i.during)"
		"     ELSE o.start_at END AS start_at"
		"    FROM booking.intent i JOIN booking.task o ON o.intent_id = i.intent_id"
		"    WHERE i.intent_id = $1 AND o.state IN ('waiting', 'idle')) n"
		" WHERE t.task_id = n.task_id"
		"   AND (t.state <> n.state OR t.start_at <> n.start_at)",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(intent_id);
	booking_plan_run(&hand, values, NULL, 0);
	booking_plan_run(&follow, values, NULL, 0);
}

/*
 * A booking begins at another time than its intent says, because somebody moved
 * its event in the calendar and the ledger accepted it.
 */
void
booking_store_task_move(int64 intent_id, TimestampTz start)
{
	static BookingPlan plan = {
		"UPDATE booking.task SET start_at = $2, due_at = $2 - before,"
		"  lease = 0, leased_until = NULL"
		" WHERE intent_id = $1 AND state IN ('waiting', 'idle')"
		"   AND start_at <> $2",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = TimestampTzGetDatum(start);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * At most limit tasks that are due and not taken, in the order of their
 * instants, behind one of them or, with NULL, from the first on.  Nothing is
 * locked, so each has to be looked at again.
 */
BookingTaskDue *
booking_store_tasks_due(text *tenant, TimestampTz now,
						const BookingTaskDue *after, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT t.task_id, t.intent_id, t.due_at, i.tenant, i.principal,"
		"  i.intent"
		"  FROM booking.task t JOIN booking.intent i ON i.intent_id = t.intent_id"
		" WHERE t.tenant = $1 AND t.state = 'waiting' AND t.due_at <= $2"
		"   AND (t.due_at, t.task_id) > ($3, $4)"
		"   AND (t.leased_until IS NULL OR t.leased_until <= $2)"
		"   AND i.state IN " BOOKED
		" ORDER BY t.due_at, t.task_id LIMIT $5",
		{TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT8OID}
	};
	Datum		values[5];
	BookingTaskDue *found;

	values[0] = PointerGetDatum(tenant);
	values[1] = TimestampTzGetDatum(now);
	values[2] = TimestampTzGetDatum(after != NULL ? after->due_at : DT_NOBEGIN);
	values[3] = Int64GetDatum(after != NULL ? after->task_id : 0);
	values[4] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	found = palloc_array(BookingTaskDue, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		found[i].task_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		found[i].intent_id = DatumGetInt64(booking_plan_column(i, 2, NULL));
		found[i].due_at = DatumGetTimestampTz(booking_plan_column(i, 3, NULL));
		found[i].identity.tenant = DatumGetTextPP(booking_plan_column(i, 4, NULL));
		found[i].identity.principal = DatumGetTextPP(booking_plan_column(i, 5, NULL));
		found[i].identity.intent = DatumGetTextPP(booking_plan_column(i, 6, NULL));
	}
	return found;
}

/*
 * Take a task, if it may still be taken, and report it; returns whether it
 * was.
 */
bool
booking_store_task_lease(const BookingTaskDue *due, int64 lease,
						 TimestampTz now, TimestampTz until,
						 BookingTaskReport report, void *arg)
{
	static BookingPlan plan = {
		"UPDATE booking.task t SET lease = $5, leased_until = $4,"
		"  tries = t.tries + 1"
		"  FROM booking.intent i"
		" WHERE t.task_id = $1 AND t.intent_id = $2 AND i.intent_id = $2"
		"   AND i.state IN " BOOKED
		"   AND t.state = 'waiting' AND t.due_at <= $3"
		"   AND (t.leased_until IS NULL OR t.leased_until <= $3)"
		" RETURNING i.tenant, i.principal, i.intent, t.task, t.lease, t.due_at,"
		"  t.leased_until, t.start_at, t.tries, t.payload",
		{INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID}
	};
	Datum		values[5];
	Datum		columns[BOOKING_TASK_COLUMNS];
	bool		nulls[BOOKING_TASK_COLUMNS];

	values[0] = Int64GetDatum(due->task_id);
	values[1] = Int64GetDatum(due->intent_id);
	values[2] = TimestampTzGetDatum(now);
	values[3] = TimestampTzGetDatum(until);
	values[4] = Int64GetDatum(lease);
	if (booking_plan_run(&plan, values, NULL, 0) == 0)
		return false;
	for (int i = 0; i < BOOKING_TASK_COLUMNS; i++)
		columns[i] = booking_plan_column(0, i + 1, &nulls[i]);
	report(arg, columns, nulls);
	return true;
}

/*
 * A task is done under a lease; returns false if that is not its newest one.
 */
bool
booking_store_task_done(const BookingIdentity *identity, text *task,
						int64 lease, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.task t SET state = 'done', leased_until = NULL,"
		"  done_at = coalesce(t.done_at, $6)"
		"  FROM booking.intent i"
		" WHERE i.tenant = $1 AND i.principal = $2 AND i.intent = $3"
		"   AND t.intent_id = i.intent_id AND t.task = $4 AND t.lease = $5"
		"   AND (t.leased_until IS NOT NULL OR t.state = 'done')",
		{TEXTOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[6];

	values[0] = PointerGetDatum(identity->tenant);
	values[1] = PointerGetDatum(identity->principal);
	values[2] = PointerGetDatum(identity->intent);
	values[3] = PointerGetDatum(task);
	values[4] = Int64GetDatum(lease);
	values[5] = TimestampTzGetDatum(now);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * An interval of fixed length.
 */
static Datum
fixed_interval(int64 microseconds)
{
	Interval   *interval = palloc0_object(Interval);

	interval->time = microseconds;
	return IntervalPGetDatum(interval);
}

/*-------------------------------------------------------------------------
 *
 * operation.c
 *	  statements on booking.operation and booking.attempt
 *
 * IDENTIFICATION
 *	  booking/src/store/operation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/change.h"
#include "store/operation.h"
#include "store/plan.h"

#define OPERATION_COLUMNS \
	"o.operation_id, o.intent_id, o.previous_id, o.generation, o.sequence," \
	" o.epoch, o.tries, o.uncertain, o.tenant, o.account, o.calendar, o.kind," \
	" o.state, o.event_id, o.href, o.etag, o.body, o.next_at, o.problem," \
	" o.message"
#define OPERATION_COLUMN_COUNT 20

#define FINAL_STATES "('confirmed', 'rejected', 'dropped')"

/* of an operation whose worker died at $1; 0, 1, 3, 7 ... 255 seconds */
#define AFTER_DEATH \
	"next_at = $1 + ((1 << least(tries, 8)) - 1) * interval '1 second'," \
	" tries = tries + 1, changed_at = $1, problem = 'worker_ended'," \
	" message = 'the worker ended while this was under way'"

static void operation_from_row(uint64 row, BookingOperation *operation);
static void lease_from_row(uint64 row, BookingLease *lease);
static bytea *column_bytea(uint64 row, int column);

/*
 * Record an operation in the state waiting and return its number.
 */
int64
booking_store_operation_insert(const BookingOperation *operation,
							   TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.operation (intent_id, previous_id, created_at,"
		" changed_at, next_at, generation, sequence, tenant, account, calendar,"
		" kind, event_id, href, etag)"
		" VALUES ($1, $2, $3, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
		" RETURNING operation_id",
		{INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, INT4OID, TEXTOID, TEXTOID,
			TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[12];
	bool		nulls[12] = {0};

	values[0] = Int64GetDatum(operation->intent_id);
	values[1] = Int64GetDatum(operation->previous_id);
	nulls[1] = operation->previous_id == 0;
	values[2] = TimestampTzGetDatum(now);
	values[3] = Int32GetDatum(operation->generation);
	values[4] = Int32GetDatum(operation->sequence);
	booking_plan_bind_cstring(values, nulls, 5, operation->tenant);
	booking_plan_bind_cstring(values, nulls, 6, operation->account);
	booking_plan_bind_cstring(values, nulls, 7, operation->calendar);
	booking_plan_bind_cstring(values, nulls, 8, operation->kind);
	booking_plan_bind_cstring(values, nulls, 9, operation->event_id);
	booking_plan_bind_cstring(values, nulls, 10, operation->href);
	booking_plan_bind_cstring(values, nulls, 11, operation->etag);
	booking_plan_run(&plan, values, nulls, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * The newest operation of an intent, or NULL.
 */
BookingOperation *
booking_store_operation_newest(int64 intent_id)
{
	static BookingPlan plan = {
		"SELECT " OPERATION_COLUMNS
		"  FROM booking.operation o"
		" WHERE o.intent_id = $1"
		" ORDER BY o.operation_id DESC LIMIT 1",
		{INT8OID}
	};
	Datum		values[1];
	BookingOperation *operation;

	values[0] = Int64GetDatum(intent_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	operation = palloc0_object(BookingOperation);
	operation_from_row(0, operation);
	return operation;
}

/*
 * An operation by number, or NULL.
 */
BookingOperation *
booking_store_operation_read(int64 operation_id)
{
	static BookingPlan plan = {
		"SELECT " OPERATION_COLUMNS
		"  FROM booking.operation o"
		" WHERE o.operation_id = $1",
		{INT8OID}
	};
	Datum		values[1];
	BookingOperation *operation;

	values[0] = Int64GetDatum(operation_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	operation = palloc0_object(BookingOperation);
	operation_from_row(0, operation);
	return operation;
}

/*
 * Does an operation that is not final follow this one on the same event?
 */
bool
booking_store_operation_followed(int64 operation_id)
{
	static BookingPlan plan = {
		"SELECT FROM booking.operation o"
		" WHERE o.previous_id = $1 AND o.state NOT IN " FINAL_STATES,
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(operation_id);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Operations that are due, oldest first.  Left out are
 * those of accounts that are parked or blocked, of accounts and calendars that
 * are named (as tenant, line feed, account, and for a calendar line feed and
 * its name), and those whose event has an earlier operation that is not
 * settled; without all_kinds also what would have to wait for its calendars
 * first.
 */
BookingDue *
booking_store_operations_due(TimestampTz now, ArrayType *without,
							 bool all_kinds, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT o.operation_id, i.tenant, i.principal, i.intent, i.supersedes,"
		" o.account"
		"  FROM booking.operation o"
		"  JOIN booking.account a"
		"    ON a.tenant = o.tenant AND a.account = o.account"
		"  JOIN booking.intent i ON i.intent_id = o.intent_id"
		" WHERE o.state IN ('waiting', 'unknown') AND o.next_at <= $1"
		"   AND NOT a.parked AND coalesce(a.blocked_until <= $1, true)"
		"   AND concat(o.tenant, E'\\n', o.account) <> ALL ($3)"
		"   AND ($4 OR o.state = 'unknown' OR o.kind = 'cancel')"
		"   AND concat(o.tenant, E'\\n', o.account, E'\\n', o.calendar) <> ALL ($3)"
		"   AND NOT EXISTS (SELECT FROM booking.operation p"
		"    WHERE p.operation_id = o.previous_id"
		"      AND p.state NOT IN " FINAL_STATES ")"
		" ORDER BY o.next_at LIMIT $2",
		{TIMESTAMPTZOID, INT8OID, TEXTARRAYOID, BOOLOID}
	};
	Datum		values[4];
	BookingDue *due;

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(limit);
	values[2] = PointerGetDatum(without);
	values[3] = BoolGetDatum(all_kinds);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	due = palloc_array(BookingDue, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		due[i].operation_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		due[i].identity.tenant = DatumGetTextPP(booking_plan_column(i, 2, NULL));
		due[i].identity.principal = DatumGetTextPP(booking_plan_column(i, 3, NULL));
		due[i].identity.intent = DatumGetTextPP(booking_plan_column(i, 4, NULL));
		due[i].supersedes = (text *) booking_plan_pointer(i, 5);
		due[i].account = DatumGetTextPP(booking_plan_column(i, 6, NULL));
	}
	return due;
}

/*
 * A calendar was read: try at once what was put off for a problem of the
 * calendars of its tenant, any of which may matter to it.  What somebody is
 * changing is left for its time.
 */
void
booking_store_operations_hasten(int64 calendar_id, const char *problem,
								TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET next_at = $3 WHERE operation_id = ANY (ARRAY("
		"  SELECT o.operation_id FROM booking.operation o"
		"   JOIN booking.calendar c ON c.tenant = o.tenant"
		"  WHERE c.calendar_id = $1 AND o.state = 'waiting' AND o.problem = $2"
		"    AND o.next_at > $3 FOR UPDATE OF o SKIP LOCKED))",
		{INT8OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = CStringGetTextDatum(problem);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * How many are put off for a problem, or because their account is parked?
 */
int64
booking_store_operations_held(const char *problem)
{
	static BookingPlan plan = {
		"SELECT count(*) FROM booking.operation o"
		"  JOIN booking.account a ON a.tenant = o.tenant AND a.account = o.account"
		" WHERE o.state = 'waiting' AND (o.problem = $1 OR a.parked)",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = CStringGetTextDatum(problem);
	booking_plan_run(&plan, values, NULL, 1);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Operations with everything needed to carry them out, in the order they were
 * wanted; those whose calendar or account is gone are left out.
 */
BookingLease *
booking_store_leases_read(const int64 *operation_ids, int count, int *found)
{
	static BookingPlan plan = {
		"SELECT " OPERATION_COLUMNS ", i.principal, i.intent, i.state, i.during,"
		" i.terms, i.supersedes, i.detail, p.body, a.provider,"
		" a.base_url, c.remote_id, s.sealed, s.secret, p.moved_to"
		"  FROM booking.operation o"
		"  JOIN booking.intent i ON i.intent_id = o.intent_id"
		"  JOIN booking.account a"
		"    ON a.tenant = o.tenant AND a.account = o.account"
		"  JOIN booking.calendar c"
		"    ON c.tenant = o.tenant AND c.calendar = o.calendar"
		"  LEFT JOIN booking.operation p ON p.operation_id = o.previous_id"
		"  LEFT JOIN booking.credential s"
		"    ON s.tenant = o.tenant AND s.account = o.account"
		" WHERE o.operation_id = ANY ($1)"
		" ORDER BY o.operation_id",
		{INT8ARRAYOID}
	};
	Datum		values[1];
	BookingLease *leases;

	values[0] = PointerGetDatum(booking_record_make_int8_array(operation_ids, count));
	*found = (int) booking_plan_run(&plan, values, NULL, 0);
	leases = palloc0_array(BookingLease, *found + 1);
	for (int i = 0; i < *found; i++)
		lease_from_row(i, &leases[i]);
	return leases;
}

/*
 * One of them, or NULL.
 */
BookingLease *
booking_store_lease_read(int64 operation_id)
{
	int			found;
	BookingLease *lease = booking_store_leases_read(&operation_id, 1, &found);

	return found > 0 ? lease : NULL;
}

/*
 * Fill a struct from a row of booking_store_leases_read().
 */
static void
lease_from_row(uint64 row, BookingLease *lease)
{
	const int	first = OPERATION_COLUMN_COUNT + 1;
	BookingPayload *payload = &lease->payload;
	bool		isnull;
	Datum		during;
	Datum		detail;
	Datum		moved_to;

	operation_from_row(row, &lease->operation);
	lease->principal = booking_plan_cstring(row, first);
	lease->intent = booking_plan_cstring(row, first + 1);
	lease->intent_state = booking_plan_cstring(row, first + 2);
	during = booking_plan_column(row, first + 3, &isnull);
	payload->has_during = !isnull;
	if (!isnull)
		booking_range_bounds(during, &payload->start, &payload->end);
	payload->terms = DatumGetJsonbP(booking_plan_column(row, first + 4, NULL));
	payload->supersedes = (text *) booking_plan_pointer(row, first + 5);
	detail = booking_plan_column(row, first + 6, &isnull);
	lease->detail = isnull ? NULL : DatumGetJsonbP(detail);
	lease->previous_body = column_bytea(row, first + 7);
	lease->provider = booking_plan_cstring(row, first + 8);
	lease->base_url = booking_plan_cstring(row, first + 9);
	lease->remote_id = booking_plan_cstring(row, first + 10);
	lease->sealed = DatumGetBool(booking_plan_column(row, first + 11, NULL));
	lease->secret = column_bytea(row, first + 12);
	moved_to = booking_plan_column(row, first + 13, &isnull);
	lease->previous_moved = !isnull;
	if (lease->previous_moved)
		booking_range_bounds(moved_to, &lease->previous_start,
							 &lease->previous_end);
}

/*
 * Change the state of an operation; returns false, and does nothing, if it is
 * not in the state it is expected in.
 */
bool
booking_store_operation_change(const BookingOperationChange *change)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET state = $3, next_at = $4, epoch = $5,"
		" tries = $6, uncertain = $7, href = coalesce($8, href),"
		" etag = coalesce($9, etag), body = coalesce($10, body),"
		" problem = $11, message = $12, changed_at = $13,"
		BOOKING_OPERATION_ROUND("operation", "$3")
		" WHERE operation_id = $1 AND state = $2",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT4OID, INT4OID, BOOLOID,
			TEXTOID, TEXTOID, BYTEAOID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[13];
	bool		nulls[13] = {0};

	values[0] = Int64GetDatum(change->operation_id);
	booking_plan_bind_cstring(values, nulls, 1, change->from);
	booking_plan_bind_cstring(values, nulls, 2, change->state);
	values[3] = TimestampTzGetDatum(change->next_at);
	values[4] = Int32GetDatum(change->epoch);
	values[5] = Int32GetDatum(change->tries);
	values[6] = BoolGetDatum(change->uncertain);
	booking_plan_bind_cstring(values, nulls, 7, change->href);
	booking_plan_bind_cstring(values, nulls, 8, change->etag);
	booking_plan_bind(values, nulls, 9, change->body);
	booking_plan_bind_cstring(values, nulls, 10, change->problem);
	booking_plan_bind_cstring(values, nulls, 11, change->message);
	values[12] = TimestampTzGetDatum(change->now);
	return booking_plan_run(&plan, values, nulls, 0) == 1;
}

/*
 * Give up an operation that was never sent.
 */
void
booking_store_operation_drop(int64 operation_id, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET state = 'dropped', changed_at = $2"
		" WHERE operation_id = $1 AND state IN ('waiting', 'checking')",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(operation_id);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Give a create a new id, because the one it had is of no use and was never
 * used; the body names the id and is made anew.  Returns false, and does
 * nothing, if the operation is not in the state it is expected in.
 */
bool
booking_store_operation_renew(const BookingOperation *operation,
							  const char *event_id, TimestampTz next_at,
							  TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET state = 'waiting', event_id = $3,"
		" generation = generation + 1, tries = tries + 1, next_at = $4,"
		" href = NULL, etag = NULL, body = NULL, changed_at = $5,"
		" problem = 'id_burnt',"
		" message = 'the id is in the trash bin; another one is used'"
		" WHERE operation_id = $1 AND state = $2 AND NOT uncertain",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];
	bool		nulls[5] = {0};

	values[0] = Int64GetDatum(operation->operation_id);
	booking_plan_bind_cstring(values, nulls, 1, operation->state);
	booking_plan_bind_cstring(values, nulls, 2, event_id);
	values[3] = TimestampTzGetDatum(next_at);
	values[4] = TimestampTzGetDatum(now);
	return booking_plan_run(&plan, values, nulls, 0) == 1;
}

/*
 * Was the last send of an operation refused for good?  Then tell why; else
 * false.  What an operator said since makes it void.
 */
bool
booking_store_operation_refused(int64 operation_id, char **problem,
								char **message)
{
	static BookingPlan plan = {
		"SELECT a.mark, a.problem, a.message FROM booking.attempt a"
		" WHERE a.operation_id = $1 AND a.phase IN ('send', 'resolve')"
		" ORDER BY a.attempt_id DESC LIMIT 1",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(operation_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0 ||
		strcmp(booking_plan_cstring(0, 1), "rejected") != 0)
		return false;
	*problem = booking_plan_cstring(0, 2);
	*message = booking_plan_cstring(0, 3);
	return true;
}

/*
 * Let operations wait that are being checked, but for those named.
 */
void
booking_store_operations_unchecked(const int64 *checked, int count,
								   TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET state = 'waiting', changed_at = $2"
		" WHERE state = 'checking' AND operation_id <> ALL ($1)",
		{INT8ARRAYOID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(booking_record_make_int8_array(checked, count));
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Take over what a worker that is proven dead left: what it was sending may
 * have taken effect, what it was reading has not changed anything.  Returns
 * how many there were.  The intents of the first kind are unknown.
 *
 * It counts as a try, and a second one in a row is made later: one of them may
 * be what the worker dies of.
 */
int
booking_store_operations_recover(TimestampTz now)
{
	static BookingPlan sent = {
		"WITH o AS (UPDATE booking.operation SET state = 'unknown',"
		"  uncertain = true, " AFTER_DEATH
		"  WHERE state = 'sending' RETURNING intent_id)"
		" UPDATE booking.intent i SET"
		"  state = CASE i.state WHEN 'creating' THEN 'unknown' ELSE i.state END,"
		"  remote = 'pending_reconciliation', event = 'unknown',"
		"  revision = revision + 1, changed_at = $1, changed_role = current_user"
		"  FROM o WHERE i.intent_id = o.intent_id"
		"   AND i.state IN ('creating', 'canceling')"
		" RETURNING i.intent_id, i.tenant",
		{TIMESTAMPTZOID}
	};
	static BookingPlan checked = {
		"UPDATE booking.operation SET state = 'waiting', changed_at = $1"
		" WHERE state = 'checking'",
		{TIMESTAMPTZOID}
	};
	static BookingPlan looked = {
		"UPDATE booking.operation SET state = 'unknown', " AFTER_DEATH
		" WHERE state = 'reconciling'",
		{TIMESTAMPTZOID}
	};
	Datum		values[1];
	int			count;

	values[0] = TimestampTzGetDatum(now);
	count = (int) booking_plan_run(&sent, values, NULL, 0);
	booking_store_downstream_rows(count, "changed");
	count += (int) booking_plan_run(&checked, values, NULL, 0);
	count += (int) booking_plan_run(&looked, values, NULL, 0);
	return count;
}

/*
 * When the next operation will be due; false if none waits.
 */
bool
booking_store_operation_next_due(TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT o.next_at FROM booking.operation o"
		" WHERE o.state IN ('waiting', 'unknown')"
		" ORDER BY o.next_at LIMIT 1",
		{InvalidOid}
	};

	if (booking_plan_run(&plan, NULL, NULL, 1) == 0)
		return false;
	*next_at = DatumGetTimestampTz(booking_plan_column(0, 1, NULL));
	return true;
}

/*
 * How many operations wait for the worker.
 */
int64
booking_store_operations_open(void)
{
	static BookingPlan plan = {
		"SELECT count(*) FROM booking.operation o"
		" WHERE o.state IN ('waiting', 'unknown')",
		{InvalidOid}
	};

	booking_plan_run(&plan, NULL, NULL, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Add a line of evidence.
 */
void
booking_store_attempt(int64 operation_id, int32 epoch, const char *phase,
					  const char *mark, int status, const char *problem,
					  const char *message, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.attempt (operation_id, epoch, phase, mark, status,"
		" problem, message, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID, TEXTOID, TEXTOID,
			TIMESTAMPTZOID}
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = Int64GetDatum(operation_id);
	values[1] = Int32GetDatum(epoch);
	booking_plan_bind_cstring(values, nulls, 2, phase);
	booking_plan_bind_cstring(values, nulls, 3, mark);
	values[4] = Int32GetDatum(status);
	nulls[4] = status == 0;
	booking_plan_bind_cstring(values, nulls, 5, problem);
	booking_plan_bind_cstring(values, nulls, 6, message);
	values[7] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Fill a struct from a row whose columns begin with OPERATION_COLUMNS.
 */
static void
operation_from_row(uint64 row, BookingOperation *operation)
{
	operation->operation_id = DatumGetInt64(booking_plan_column(row, 1, NULL));
	operation->intent_id = DatumGetInt64(booking_plan_column(row, 2, NULL));
	operation->previous_id = DatumGetInt64(booking_plan_column(row, 3, NULL));
	operation->generation = DatumGetInt32(booking_plan_column(row, 4, NULL));
	operation->sequence = DatumGetInt32(booking_plan_column(row, 5, NULL));
	operation->epoch = DatumGetInt32(booking_plan_column(row, 6, NULL));
	operation->tries = DatumGetInt32(booking_plan_column(row, 7, NULL));
	operation->uncertain = DatumGetBool(booking_plan_column(row, 8, NULL));
	operation->tenant = booking_plan_cstring(row, 9);
	operation->account = booking_plan_cstring(row, 10);
	operation->calendar = booking_plan_cstring(row, 11);
	operation->kind = booking_plan_cstring(row, 12);
	operation->state = booking_plan_cstring(row, 13);
	operation->event_id = booking_plan_cstring(row, 14);
	operation->href = booking_plan_cstring(row, 15);
	operation->etag = booking_plan_cstring(row, 16);
	operation->body = column_bytea(row, 17);
	operation->next_at = DatumGetTimestampTz(booking_plan_column(row, 18, NULL));
	operation->problem = booking_plan_cstring(row, 19);
	operation->message = booking_plan_cstring(row, 20);
}

/*
 * A bytea column, NULL if it is NULL.
 */
static bytea *
column_bytea(uint64 row, int column)
{
	bool		isnull;
	Datum		value = booking_plan_column(row, column, &isnull);

	return isnull ? NULL : DatumGetByteaPP(value);
}

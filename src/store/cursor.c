/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  statements on booking.cursor and booking.sync_request
 *
 * IDENTIFICATION
 *	  booking/src/store/cursor.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/cursor.h"
#include "store/plan.h"

/* of the calendars k, those whose account may be spoken to at a time */
#define OF_OPEN_ACCOUNT(k, now) \
	" JOIN booking.calendar c ON c.calendar_id = " k ".calendar_id" \
	" JOIN booking.account a" \
	"   ON a.tenant = c.tenant AND a.account = c.account" \
	" WHERE NOT a.parked AND coalesce(a.blocked_until <= " now ", true)"

/*
 * How long a request for a calendar d waits after a failure: some microseconds,
 * and from the fourth one in a row twice as long each time, up to five minutes,
 * since many may ask for what is out of order.
 */
#define PATIENCE(microseconds) \
	"least(" microseconds " * 2 ^ least(greatest(d.failures - 3, 0), 10)," \
	" 300000000) * interval '1 microsecond'"

static void cursor_from_row(uint64 row, BookingCursor *cursor);

/*
 * Have a calendar synchronized, from now on.  If it is elsewhere than before,
 * or waits for a person, what was known of it is of no use for going on: the
 * next round lists everything.  A round in progress finds that its number is
 * not the cursor's any more.
 */
void
booking_store_cursor_put(text *tenant, text *calendar, bool elsewhere,
						 TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.cursor AS k (calendar_id, next_at)"
		" SELECT c.calendar_id, $3 FROM booking.calendar c"
		"  WHERE c.tenant = $1 AND c.calendar = $2"
		" ON CONFLICT ON CONSTRAINT cursor_pkey DO UPDATE"
		" SET round = k.round + 1, started_at = NULL, page = NULL, token = NULL,"
		" full_pass = true, full_reason = 'calendar_put', parked = false,"
		" failures = 0, problem = NULL, next_at = EXCLUDED.next_at"
		" WHERE $4 OR k.parked",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID, BOOLOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(calendar);
	values[2] = TimestampTzGetDatum(now);
	values[3] = BoolGetDatum(elsewhere);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Give a cursor to each calendar that has none, because it was made by an
 * earlier version; returns whether there were any.
 */
bool
booking_store_cursors_complete(TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.cursor (calendar_id, next_at)"
		" SELECT c.calendar_id, $1 FROM booking.calendar c"
		" ON CONFLICT ON CONSTRAINT cursor_pkey DO NOTHING",
		{TIMESTAMPTZOID}
	};
	Datum		values[1];

	values[0] = TimestampTzGetDatum(now);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * Forget how far a calendar was synchronized, and all that was read in it.  If
 * it is put again its rounds are counted from the start.
 */
void
booking_store_cursor_remove(text *tenant, text *calendar)
{
	static BookingPlan plan = {
		"WITH gone AS (DELETE FROM booking.cursor k USING booking.calendar c"
		"   WHERE c.tenant = $1 AND c.calendar = $2"
		"     AND k.calendar_id = c.calendar_id RETURNING k.calendar_id),"
		" asked AS (DELETE FROM booking.sync_request r USING gone g"
		"   WHERE r.calendar_id = g.calendar_id),"
		" written AS (UPDATE booking.operation o SET round = 0"
		"   WHERE o.tenant = $1 AND o.calendar = $2 AND o.round > 0)"
		" DELETE FROM booking.event e USING gone g"
		"  WHERE e.calendar_id = g.calendar_id",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(calendar);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The account is at another URL now: list all of its calendars anew.
 */
void
booking_store_cursors_restart(text *tenant, text *account, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.cursor k"
		" SET round = k.round + 1, started_at = NULL, page = NULL, token = NULL,"
		" full_pass = true, full_reason = 'account_put', parked = false,"
		" failures = 0, problem = NULL, next_at = $3"
		" FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.account = $2"
		"   AND k.calendar_id = c.calendar_id",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Try failed rounds of an account at once, since something was changed, and not
 * ever later if they fail again.
 */
void
booking_store_cursors_hasten(text *tenant, text *account, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.cursor k SET next_at = $3, failures = least(failures, 1)"
		" FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.account = $2"
		"   AND k.calendar_id = c.calendar_id"
		"   AND k.failures > 0 AND k.next_at > $3",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * List of int64 pointers: calendars that are to be read.  Their time has come
 * (which counts only if by_time), or a round is in progress, or one was asked
 * for; a request shortens the wait after a failure (see PATIENCE).  Left out
 * are those of accounts that are parked, blocked or named (as tenant, line feed,
 * account), and those that are being read.
 */
List *
booking_store_cursors_due(TimestampTz now, int64 patience, bool by_time,
						  ArrayType *without, ArrayType *running, int limit)
{
	static BookingPlan plan = {
		"SELECT k.calendar_id FROM"
		" (SELECT d.calendar_id, d.next_at FROM booking.cursor d"
		"   WHERE d.next_at <= $1 AND NOT d.parked"
		"     AND ($3 OR d.started_at IS NOT NULL)"
		"  UNION"
		"  SELECT d.calendar_id, d.next_at FROM booking.cursor d"
		"   WHERE NOT d.parked"
		"     AND (d.failures = 0 OR d.failed_at + " PATIENCE("$2") " <= $1)"
		"     AND d.calendar_id IN (SELECT r.calendar_id"
		"      FROM booking.sync_request r WHERE r.round IS NULL)) k"
		" " OF_OPEN_ACCOUNT("k", "$1")
		"   AND concat(c.tenant, E'\\n', c.account) <> ALL ($4)"
		"   AND k.calendar_id <> ALL ($5)"
		" ORDER BY k.next_at LIMIT $6",
		{TIMESTAMPTZOID, INT8OID, BOOLOID, TEXTARRAYOID, INT8ARRAYOID,
			INT8OID}
	};
	Datum		values[6];
	List	   *due = NIL;
	uint64		count;

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(patience);
	values[2] = BoolGetDatum(by_time);
	values[3] = PointerGetDatum(without);
	values[4] = PointerGetDatum(running);
	values[5] = Int64GetDatum(limit);
	count = booking_plan_run(&plan, values, NULL, 0);
	for (uint64 i = 0; i < count; i++)
	{
		int64	   *id = palloc_object(int64);

		*id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		due = lappend(due, id);
	}
	return due;
}

/*
 * When a calendar that is not being read is due next, by the rules of
 * booking_store_cursors_due(), or an account is not blocked any more; false if
 * none is.  A request shortens the wait after a failure (see PATIENCE).  This is
 * asked every time that something is recorded, so it reads no more than it must.
 */
bool
booking_store_cursor_next_due(TimestampTz now, int64 patience, bool by_time,
							  ArrayType *running, TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT least((SELECT d.next_at FROM booking.cursor d"
		" " OF_OPEN_ACCOUNT("d", "$4")
		"  AND NOT d.parked AND ($2 OR d.started_at IS NOT NULL)"
		"  AND d.calendar_id <> ALL ($3) ORDER BY d.next_at LIMIT 1),"
		" (SELECT min(CASE WHEN d.failures = 0 THEN '-infinity'"
		"   ELSE d.failed_at + " PATIENCE("$1") " END)"
		"  FROM (SELECT DISTINCT r.calendar_id FROM booking.sync_request r"
		"    WHERE r.round IS NULL) r"
		"  JOIN booking.cursor d ON d.calendar_id = r.calendar_id"
		" " OF_OPEN_ACCOUNT("d", "$4")
		"  AND NOT d.parked AND d.calendar_id <> ALL ($3)),"
		" (SELECT min(a.blocked_until) FROM booking.account a"
		"  WHERE NOT a.parked AND a.blocked_until > $4))",
		{INT8OID, BOOLOID, INT8ARRAYOID, TIMESTAMPTZOID}
	};
	Datum		values[4];
	bool		isnull;

	values[0] = Int64GetDatum(patience);
	values[1] = BoolGetDatum(by_time);
	values[2] = PointerGetDatum(running);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 1);
	*next_at = DatumGetTimestampTz(booking_plan_column(0, 1, &isnull));
	return !isnull;
}

/*
 * A cursor, locked, with everything needed to read its calendar; NULL when the
 * calendar or its account is gone, or somebody is changing the cursor.
 */
BookingCursorLease *
booking_store_cursor_lease(int64 calendar_id)
{
	static BookingPlan plan = {
		"SELECT k.calendar_id, k.round, k.watermark, k.failures, k.parked,"
		" k.full_pass, k.started_at IS NOT NULL, k.token, k.page,"
		" k.full_reason, k.problem, k.full_at, k.failed_at, lower(k.within),"
		" upper(k.within), c.tenant, c.account, c.calendar, a.provider,"
		" a.base_url, c.remote_id, coalesce(r.time_zone, 'UTC'),"
		" coalesce(s.sealed, false), s.secret"
		"  FROM booking.cursor k"
		"  JOIN booking.calendar c ON c.calendar_id = k.calendar_id"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		"  LEFT JOIN booking.credential s"
		"    ON s.tenant = c.tenant AND s.account = c.account"
		"  LEFT JOIN booking.resource r"
		"    ON r.tenant = c.tenant AND r.resource = c.resource"
		" WHERE k.calendar_id = $1 FOR UPDATE OF k SKIP LOCKED",
		{INT8OID}
	};
	Datum		values[1];
	BookingCursorLease *lease;
	bool		isnull;
	Datum		secret;

	values[0] = Int64GetDatum(calendar_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	lease = palloc0_object(BookingCursorLease);
	cursor_from_row(0, &lease->cursor);
	lease->tenant = booking_plan_cstring(0, 16);
	lease->account = booking_plan_cstring(0, 17);
	lease->calendar = booking_plan_cstring(0, 18);
	lease->provider = booking_plan_cstring(0, 19);
	lease->base_url = booking_plan_cstring(0, 20);
	lease->remote_id = booking_plan_cstring(0, 21);
	lease->time_zone = booking_plan_cstring(0, 22);
	lease->sealed = DatumGetBool(booking_plan_column(0, 23, NULL));
	secret = booking_plan_column(0, 24, &isnull);
	lease->secret = isnull ? NULL : DatumGetByteaPP(secret);
	return lease;
}

/*
 * Lock the cursor of a calendar for a transaction of a round; false if that
 * round is not in progress any more.
 */
bool
booking_store_cursor_lock(int64 calendar_id, int64 round)
{
	static BookingPlan plan = {
		"SELECT FROM booking.cursor k"
		" WHERE k.calendar_id = $1 AND k.round = $2 AND k.started_at IS NOT NULL"
		" FOR UPDATE",
		{INT8OID, INT8OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Begin a round, as the cursor says, or go on with one.  It covers what was
 * asked for until now, unless it goes on at a page: what it has read before may
 * be older than the request.  If its worker dies it is due, though it may have
 * been begun ahead of its time.
 */
void
booking_store_cursor_begin(const BookingCursor *cursor, TimestampTz now)
{
	static BookingPlan plan = {
		"WITH asked AS (UPDATE booking.sync_request r SET round = $2"
		"   WHERE r.calendar_id = $1 AND r.round IS NULL AND $8)"
		" UPDATE booking.cursor k SET round = $2, full_pass = $3,"
		" full_reason = $4, within = tstzrange($5, $6),"
		" started_at = coalesce(k.started_at, $7),"
		" next_at = least(k.next_at, $7)"
		" WHERE k.calendar_id = $1",
		{INT8OID, INT8OID, BOOLOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
			TIMESTAMPTZOID, BOOLOID}
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = Int64GetDatum(cursor->calendar_id);
	values[1] = Int64GetDatum(cursor->round);
	values[2] = BoolGetDatum(cursor->full_pass);
	booking_plan_bind_cstring(values, nulls, 3, cursor->full_reason);
	values[4] = TimestampTzGetDatum(cursor->from);
	values[5] = TimestampTzGetDatum(cursor->until);
	values[6] = TimestampTzGetDatum(now);
	values[7] = BoolGetDatum(cursor->page == NULL);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Note where the round in progress goes on.
 */
void
booking_store_cursor_page(int64 calendar_id, const char *page)
{
	static BookingPlan plan = {
		"UPDATE booking.cursor SET page = $2 WHERE calendar_id = $1",
		{INT8OID, TEXTOID}
	};
	Datum		values[2];
	bool		nulls[2] = {0};

	values[0] = Int64GetDatum(calendar_id);
	booking_plan_bind_cstring(values, nulls, 1, page);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * The round is complete: only now token and watermark move, and what was asked
 * for before it began is done.
 */
void
booking_store_cursor_finish(int64 calendar_id, const char *token, bool full,
							TimestampTz now, TimestampTz next_at)
{
	static BookingPlan plan = {
		"WITH done AS (UPDATE booking.cursor k SET token = $2, page = NULL,"
		"   watermark = watermark + 1, started_at = NULL, finished_at = $4,"
		"   full_at = CASE WHEN $3 THEN $4 ELSE full_at END, full_pass = false,"
		"   failures = 0, problem = NULL, next_at = $5"
		"   WHERE k.calendar_id = $1 RETURNING k.round)"
		" DELETE FROM booking.sync_request r USING done d"
		"  WHERE r.calendar_id = $1 AND r.round <= d.round",
		{INT8OID, TEXTOID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];
	bool		nulls[5] = {0};

	values[0] = Int64GetDatum(calendar_id);
	booking_plan_bind_cstring(values, nulls, 1, token);
	values[2] = BoolGetDatum(full);
	values[3] = TimestampTzGetDatum(now);
	values[4] = TimestampTzGetDatum(next_at);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * A try failed.  The round goes on later where it was, or lists everything from
 * the beginning, for the reason that is the problem.
 */
void
booking_store_cursor_fail(int64 calendar_id, const BookingCursorFailure *failure,
						  TimestampTz now, TimestampTz next_at)
{
	static BookingPlan plan = {
		"UPDATE booking.cursor SET problem = $2, parked = $4,"
		" failed_at = CASE WHEN $7 THEN $5 ELSE failed_at END,"
		" failures = failures + CASE WHEN $7 THEN 1 ELSE 0 END, next_at = $6,"
		" full_pass = full_pass OR $3,"
		" full_reason = CASE WHEN $3 THEN $2 ELSE full_reason END,"
		" page = CASE WHEN $3 THEN NULL ELSE page END,"
		" token = CASE WHEN $3 THEN NULL ELSE token END"
		" WHERE calendar_id = $1",
		{INT8OID, TEXTOID, BOOLOID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
			BOOLOID}
	};
	Datum		values[7];
	bool		nulls[7] = {0};

	values[0] = Int64GetDatum(calendar_id);
	booking_plan_bind_cstring(values, nulls, 1, failure->problem);
	values[2] = BoolGetDatum(failure->restart);
	values[3] = BoolGetDatum(failure->park);
	values[4] = TimestampTzGetDatum(now);
	values[5] = TimestampTzGetDatum(next_at);
	values[6] = BoolGetDatum(failure->counts);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Ask for a round, and return the number of a request that no round has taken
 * up; 0 if there is no such calendar.  A request that is there already will do:
 * the round that takes it up begins later than now.
 */
int64
booking_store_sync_ask(text *tenant, text *calendar, TimestampTz now)
{
	static BookingPlan plan = {
		"WITH cal AS MATERIALIZED (SELECT c.calendar_id FROM booking.calendar c"
		"   WHERE c.tenant = $1 AND c.calendar = $2),"
		" present AS MATERIALIZED (SELECT max(r.request_id) AS id"
		"   FROM booking.sync_request r"
		"   WHERE r.calendar_id = (SELECT calendar_id FROM cal)"
		"     AND r.round IS NULL),"
		" made AS (INSERT INTO booking.sync_request (calendar_id, asked_at)"
		"   SELECT cal.calendar_id, $3 FROM cal, present WHERE present.id IS NULL"
		"   RETURNING request_id)"
		" SELECT coalesce((SELECT request_id FROM made), present.id)"
		"   FROM cal, present",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(calendar);
	values[2] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * How a request made at asked_at stands; false if its calendar is gone.
 */
bool
booking_store_sync_state(int64 request_id, text *tenant, text *calendar,
						 TimestampTz asked_at, BookingSyncState *state)
{
	static BookingPlan plan = {
		"SELECT EXISTS (SELECT FROM booking.sync_request r"
		"   WHERE r.request_id = $1),"
		" k.parked, k.watermark, k.problem, k.failed_at,"
		" (SELECT count(*) FROM booking.event e"
		"   WHERE e.calendar_id = k.calendar_id AND"
		"    (k.failures > 0 AND k.failed_at >= $4 OR NOT EXISTS"
		"     (SELECT FROM booking.sync_request r WHERE r.request_id = $1))),"
		" k.failures, a.parked"
		"  FROM booking.calendar c"
		"  JOIN booking.cursor k ON k.calendar_id = c.calendar_id"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		" WHERE c.tenant = $2 AND c.calendar = $3",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[3] = TimestampTzGetDatum(asked_at);
	values[0] = Int64GetDatum(request_id);
	values[1] = PointerGetDatum(tenant);
	values[2] = PointerGetDatum(calendar);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	state->open = DatumGetBool(booking_plan_column(0, 1, NULL));
	state->parked = DatumGetBool(booking_plan_column(0, 2, NULL));
	state->watermark = DatumGetInt64(booking_plan_column(0, 3, NULL));
	state->problem = booking_plan_cstring(0, 4);
	state->failed_at = DatumGetTimestampTz(booking_plan_column(0, 5, NULL));
	state->events = DatumGetInt64(booking_plan_column(0, 6, NULL));
	state->failures = DatumGetInt32(booking_plan_column(0, 7, NULL));
	state->account_parked = DatumGetBool(booking_plan_column(0, 8, NULL));
	return true;
}

/*
 * Read the columns of a cursor that booking_store_cursor_lease() selects first.
 */
static void
cursor_from_row(uint64 row, BookingCursor *cursor)
{
	cursor->calendar_id = DatumGetInt64(booking_plan_column(row, 1, NULL));
	cursor->round = DatumGetInt64(booking_plan_column(row, 2, NULL));
	cursor->watermark = DatumGetInt64(booking_plan_column(row, 3, NULL));
	cursor->failures = DatumGetInt32(booking_plan_column(row, 4, NULL));
	cursor->parked = DatumGetBool(booking_plan_column(row, 5, NULL));
	cursor->full_pass = DatumGetBool(booking_plan_column(row, 6, NULL));
	cursor->started = DatumGetBool(booking_plan_column(row, 7, NULL));
	cursor->token = booking_plan_cstring(row, 8);
	cursor->page = booking_plan_cstring(row, 9);
	cursor->full_reason = booking_plan_cstring(row, 10);
	cursor->problem = booking_plan_cstring(row, 11);
	cursor->full_at = DatumGetTimestampTz(booking_plan_column(row, 12, NULL));
	cursor->failed_at = DatumGetTimestampTz(booking_plan_column(row, 13, NULL));
	cursor->from = DatumGetTimestampTz(booking_plan_column(row, 14, NULL));
	cursor->until = DatumGetTimestampTz(booking_plan_column(row, 15, NULL));
}

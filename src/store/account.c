/*-------------------------------------------------------------------------
 *
 * account.c
 *	  statements on booking.site, booking.account, booking.credential and
 *	  booking.calendar
 *
 * IDENTIFICATION
 *	  booking/src/store/account.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/account.h"
#include "store/plan.h"

static text *column_text(uint64 row, int column);

/*
 * Which database was armed; false if none ever was.
 */
bool
booking_store_site_read(BookingSite *site)
{
	static BookingPlan plan = {
		"SELECT s.event_key, s.system_identifier, s.database_oid, s.arm_digest"
		"  FROM booking.site s WHERE s.single",
		{InvalidOid}
	};

	if (booking_plan_run(&plan, NULL, NULL, 1) == 0)
		return false;
	site->event_key = DatumGetByteaPP(booking_plan_column(0, 1, NULL));
	site->system_identifier = DatumGetInt64(booking_plan_column(0, 2, NULL));
	site->database_oid = DatumGetInt64(booking_plan_column(0, 3, NULL));
	site->arm_digest = DatumGetByteaPP(booking_plan_column(0, 4, NULL));
	return true;
}

/*
 * Say which database is armed.  The event key, once there, stays: ids that
 * went out must be derived again after a restore.
 */
void
booking_store_site_put(const BookingSite *site, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.site (event_key, system_identifier, database_oid,"
		" arm_digest, armed_at) VALUES ($1, $2, $3, $4, $5)"
		" ON CONFLICT ON CONSTRAINT site_pkey DO UPDATE"
		" SET system_identifier = EXCLUDED.system_identifier,"
		" database_oid = EXCLUDED.database_oid,"
		" arm_digest = EXCLUDED.arm_digest, armed_at = EXCLUDED.armed_at",
		{BYTEAOID, INT8OID, INT8OID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(site->event_key);
	values[1] = Int64GetDatum(site->system_identifier);
	values[2] = Int64GetDatum(site->database_oid);
	values[3] = PointerGetDatum(site->arm_digest);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * An account; returns whether it exists.  The results may be NULL.
 */
bool
booking_store_account_read(text *tenant, text *account, text **provider,
						   text **base_url, Jsonb **settings)
{
	static BookingPlan plan = {
		"SELECT a.provider, a.base_url, a.settings FROM booking.account a"
		" WHERE a.tenant = $1 AND a.account = $2",
		{TEXTOID, TEXTOID}
	};

	if (booking_plan_run_named(&plan, tenant, account, 1) == 0)
		return false;
	if (provider != NULL)
		*provider = column_text(0, 1);
	if (base_url != NULL)
		*base_url = column_text(0, 2);
	if (settings != NULL)
		*settings = DatumGetJsonbP(booking_plan_column(0, 3, NULL));
	return true;
}

/*
 * Create or change an account, and let it be used again, unless it waits for a
 * credential.
 */
void
booking_store_account_put(text *tenant, text *account, text *provider,
						  text *base_url, Jsonb *settings, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.account (tenant, account, provider, base_url,"
		" settings, changed_at) VALUES ($1, $2, $3, $4, $5, $6)"
		" ON CONFLICT ON CONSTRAINT account_pkey DO UPDATE"
		" SET provider = EXCLUDED.provider, base_url = EXCLUDED.base_url,"
		" settings = EXCLUDED.settings, blocked_until = NULL,"
		" changed_at = EXCLUDED.changed_at, (parked, problem) ="
		" (SELECT s.bare, CASE WHEN s.bare THEN booking.account.problem END"
		"    FROM (SELECT booking.account.parked AND NOT EXISTS"
		"      (SELECT FROM booking.credential c"
		"        WHERE c.tenant = $1 AND c.account = $2) AS bare) s)",
		{TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID}
	};
	Datum		values[6];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = PointerGetDatum(provider);
	values[3] = PointerGetDatum(base_url);
	values[4] = PointerGetDatum(settings);
	values[5] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Let an account be used again.
 */
void
booking_store_account_unpark(text *tenant, text *account, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.account SET parked = false, problem = NULL,"
		" blocked_until = NULL, changed_at = $3"
		" WHERE tenant = $1 AND account = $2",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Stop using an account until its credential is put anew.
 */
void
booking_store_account_park(text *tenant, text *account, text *problem,
						   TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.account SET parked = true, problem = $3, changed_at = $4"
		" WHERE tenant = $1 AND account = $2",
		{TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = PointerGetDatum(problem);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Leave an account alone until an instant, as its provider asked.
 */
void
booking_store_account_block(text *tenant, text *account, TimestampTz until,
							text *problem, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.account SET blocked_until = $3, problem = $4,"
		" changed_at = $5"
		" WHERE tenant = $1 AND account = $2"
		"   AND coalesce(blocked_until < $3, true)",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = TimestampTzGetDatum(until);
	values[3] = PointerGetDatum(problem);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Accounts that are left alone because their credential does not open.
 */
int64
booking_store_accounts_sealed(TimestampTz now)
{
	static BookingPlan plan = {
		"SELECT count(*) FROM booking.account a"
		" WHERE a.problem = $1 AND a.blocked_until > $2",
		{TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = CStringGetTextDatum(BOOKING_PROBLEM_SEALED);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 1);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Remove an account; returns whether it existed.
 */
bool
booking_store_account_remove(text *tenant, text *account)
{
	static BookingPlan plan = {
		"DELETE FROM booking.account WHERE tenant = $1 AND account = $2",
		{TEXTOID, TEXTOID}
	};

	return booking_plan_run_named(&plan, tenant, account, 0) > 0;
}

/*
 * Names of the calendars of an account, comma-separated, NULL if none.
 */
text *
booking_store_account_calendars(text *tenant, text *account)
{
	static BookingPlan plan = {
		"SELECT string_agg(c.calendar, ', ' ORDER BY c.calendar)"
		"  FROM booking.calendar c WHERE c.tenant = $1 AND c.account = $2",
		{TEXTOID, TEXTOID}
	};

	booking_plan_run_named(&plan, tenant, account, 1);
	return column_text(0, 1);
}

/*
 * Store a credential, sealed or plain.
 */
void
booking_store_credential_put(text *tenant, text *account, bool sealed,
							 bytea *secret, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.credential (tenant, account, sealed, secret,"
		" changed_at) VALUES ($1, $2, $3, $4, $5)"
		" ON CONFLICT ON CONSTRAINT credential_pkey DO UPDATE"
		" SET sealed = EXCLUDED.sealed, secret = EXCLUDED.secret,"
		" changed_at = EXCLUDED.changed_at",
		{TEXTOID, TEXTOID, BOOLOID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = BoolGetDatum(sealed);
	values[3] = PointerGetDatum(secret);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Forget a credential; returns whether there was one.
 */
bool
booking_store_credential_remove(text *tenant, text *account)
{
	static BookingPlan plan = {
		"DELETE FROM booking.credential WHERE tenant = $1 AND account = $2",
		{TEXTOID, TEXTOID}
	};

	return booking_plan_run_named(&plan, tenant, account, 0) > 0;
}

/*
 * A calendar; returns whether it exists.
 */
bool
booking_store_calendar_read(text *tenant, text *calendar,
							BookingCalendar *found)
{
	static BookingPlan plan = {
		"SELECT c.calendar, c.account, a.provider, c.remote_id, c.resource,"
		" c.role, c.address"
		"  FROM booking.calendar c"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		" WHERE c.tenant = $1 AND c.calendar = $2",
		{TEXTOID, TEXTOID}
	};

	if (booking_plan_run_named(&plan, tenant, calendar, 1) == 0)
		return false;
	found->calendar = column_text(0, 1);
	found->account = column_text(0, 2);
	found->provider = column_text(0, 3);
	found->remote_id = column_text(0, 4);
	found->resource = column_text(0, 5);
	found->role = column_text(0, 6);
	found->address = column_text(0, 7);
	return true;
}

/*
 * Create or change a calendar.
 */
void
booking_store_calendar_put(text *tenant, const BookingCalendar *calendar,
						   TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.calendar (tenant, calendar, account, remote_id,"
		" resource, role, address, changed_at)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
		" ON CONFLICT ON CONSTRAINT calendar_pkey DO UPDATE"
		" SET account = EXCLUDED.account, remote_id = EXCLUDED.remote_id,"
		" resource = EXCLUDED.resource, role = EXCLUDED.role,"
		" address = EXCLUDED.address, changed_at = EXCLUDED.changed_at",
		{TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
			TIMESTAMPTZOID}
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(calendar->calendar);
	values[2] = PointerGetDatum(calendar->account);
	values[3] = PointerGetDatum(calendar->remote_id);
	booking_plan_bind(values, nulls, 4, calendar->resource);
	values[5] = PointerGetDatum(calendar->role);
	booking_plan_bind(values, nulls, 6, calendar->address);
	values[7] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Remove a calendar.
 */
void
booking_store_calendar_remove(text *tenant, text *calendar)
{
	static BookingPlan plan = {
		"DELETE FROM booking.calendar WHERE tenant = $1 AND calendar = $2",
		{TEXTOID, TEXTOID}
	};

	booking_plan_run_named(&plan, tenant, calendar, 0);
}

/*
 * Intents with open operations on a calendar, a few of them, NULL if none.
 */
text *
booking_store_calendar_open_operations(text *tenant, text *calendar)
{
	static BookingPlan plan = {
		"SELECT string_agg(x.intent, ', ') FROM"
		" (SELECT DISTINCT i.intent FROM booking.operation o"
		"    JOIN booking.intent i ON i.intent_id = o.intent_id"
		"   WHERE o.tenant = $1 AND o.calendar = $2"
		"     AND o.state NOT IN ('confirmed', 'rejected', 'dropped')"
		"   ORDER BY 1 LIMIT 10) x",
		{TEXTOID, TEXTOID}
	};

	booking_plan_run_named(&plan, tenant, calendar, 1);
	return column_text(0, 1);
}

/*
 * Intents with operations through an account that were sent and are not
 * settled, a few of them, NULL if none.  calendar NULL means any.
 */
text *
booking_store_operations_sent(text *tenant, text *account, text *calendar)
{
	static BookingPlan plan = {
		"SELECT string_agg(x.intent, ', ') FROM"
		" (SELECT DISTINCT i.intent FROM booking.operation o"
		"    JOIN booking.intent i ON i.intent_id = o.intent_id"
		"   WHERE o.tenant = $1 AND o.account = $2"
		"     AND ($3 IS NULL OR o.calendar = $3)"
		"     AND (o.state IN ('sending', 'unknown', 'reconciling', 'parked')"
		"      OR o.state IN ('waiting', 'checking') AND o.uncertain)"
		"   ORDER BY 1 LIMIT 10) x",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];
	bool		nulls[3] = {0};

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	booking_plan_bind(values, nulls, 2, calendar);
	booking_plan_run(&plan, values, nulls, 1);
	return column_text(0, 1);
}

/*
 * The write calendar of a resource, NULL if none.
 */
text *
booking_store_calendar_writer(text *tenant, text *resource)
{
	static BookingPlan plan = {
		"SELECT c.calendar FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.resource = $2 AND c.role = 'write'",
		{TEXTOID, TEXTOID}
	};

	return booking_plan_run_named(&plan, tenant, resource, 1) == 0 ? NULL :
		column_text(0, 1);
}

/*
 * Note the write calendar of a resource in it, NULL for none, so that a claim
 * needs not look for it.  No version grows: no value of the resource changes.
 */
void
booking_store_resource_calendar(text *tenant, text *resource, text *calendar)
{
	static BookingPlan plan = {
		"UPDATE booking.resource SET calendar = $3"
		" WHERE tenant = $1 AND resource = $2",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];
	bool		nulls[3] = {0};

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	booking_plan_bind(values, nulls, 2, calendar);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Ask the worker for an account check, and return its number.
 */
int64
booking_store_check_ask(text *tenant, text *account, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.account_check (tenant, account, asked_at)"
		" VALUES ($1, $2, $3) RETURNING check_id",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Some checks that nobody has answered, but for those in hand, a row a calendar.
 * Their numbers do not tell which are new: a lower one may be committed later.
 */
BookingAccountCheck *
booking_store_checks_waiting(const int64 *in_hand, int nin_hand, int *count)
{
	static BookingPlan plan = {
		"SELECT k.check_id, k.tenant, k.account, a.provider, a.base_url,"
		" c.calendar, c.remote_id, coalesce(s.sealed, false), s.secret"
		"  FROM booking.account_check k"
		"  JOIN booking.account a ON a.tenant = k.tenant AND a.account = k.account"
		"  LEFT JOIN booking.calendar c"
		"    ON c.tenant = k.tenant AND c.account = k.account"
		"  LEFT JOIN booking.credential s"
		"    ON s.tenant = k.tenant AND s.account = k.account"
		" WHERE k.check_id IN (SELECT w.check_id FROM booking.account_check w"
		"   WHERE w.done_at IS NULL AND w.check_id <> ALL ($1)"
		"   ORDER BY w.check_id LIMIT 20)"
		" ORDER BY k.check_id, c.calendar",
		{INT8ARRAYOID}
	};
	Datum		values[1];
	BookingAccountCheck *checks;

	values[0] = PointerGetDatum(booking_record_make_int8_array(in_hand, nin_hand));
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	checks = palloc0_array(BookingAccountCheck, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		bool		isnull;
		Datum		secret = booking_plan_column(i, 9, &isnull);

		checks[i].check_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		checks[i].tenant = column_text(i, 2);
		checks[i].account = column_text(i, 3);
		checks[i].provider = column_text(i, 4);
		checks[i].base_url = column_text(i, 5);
		checks[i].calendar = column_text(i, 6);
		checks[i].remote_id = column_text(i, 7);
		checks[i].sealed = DatumGetBool(booking_plan_column(i, 8, NULL));
		checks[i].secret = isnull ? NULL : DatumGetByteaPP(secret);
	}
	return checks;
}

/*
 * Record what a check found.
 */
void
booking_store_check_answer(int64 check_id, Jsonb *findings, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.account_check SET findings = $2, done_at = $3"
		" WHERE check_id = $1",
		{INT8OID, JSONBOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(check_id);
	values[1] = PointerGetDatum(findings);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * What a check found; false while it is not answered.
 */
bool
booking_store_check_read(int64 check_id, Jsonb **findings)
{
	static BookingPlan plan = {
		"SELECT k.findings FROM booking.account_check k"
		" WHERE k.check_id = $1 AND k.done_at IS NOT NULL",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(check_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	*findings = DatumGetJsonbP(booking_plan_column(0, 1, NULL));
	return true;
}

/*
 * A text column, NULL if it is NULL.
 */
static text *
column_text(uint64 row, int column)
{
	bool		isnull;
	Datum		value = booking_plan_column(row, column, &isnull);

	return isnull ? NULL : DatumGetTextPP(value);
}

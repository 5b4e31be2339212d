/*-------------------------------------------------------------------------
 *
 * token.c
 *	  statements on booking.token, and the credential it comes from
 *
 * IDENTIFICATION
 *	  booking/src/store/token.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "store/plan.h"
#include "store/token.h"

/*
 * The token of an account; false if it never had one and never failed to get
 * one.
 */
bool
booking_store_token_read(text *tenant, text *account, BookingToken *token)
{
	static BookingPlan plan = {
		"SELECT t.serial, t.sealed, t.secret, t.renew_at, t.renewed,"
		" t.write_renewed, t.failures, t.failed_at, t.problem"
		"  FROM booking.token t WHERE t.tenant = $1 AND t.account = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		value;
	bool		isnull;

	memset(token, 0, sizeof(*token));
	if (booking_plan_run_named(&plan, tenant, account, 1) == 0)
		return false;
	token->serial = DatumGetInt64(booking_plan_column(0, 1, NULL));
	token->sealed = DatumGetBool(booking_plan_column(0, 2, NULL));
	value = booking_plan_column(0, 3, &isnull);
	token->secret = isnull ? NULL : DatumGetByteaPP(value);
	token->renew_at = DatumGetTimestampTz(booking_plan_column(0, 4, NULL));
	token->renewed = DatumGetBool(booking_plan_column(0, 5, NULL));
	token->write_renewed = DatumGetBool(booking_plan_column(0, 6, NULL));
	token->failures = DatumGetInt32(booking_plan_column(0, 7, NULL));
	value = booking_plan_column(0, 8, &isnull);
	token->failed_at = isnull ? 0 : DatumGetTimestampTz(value);
	value = booking_plan_column(0, 9, &isnull);
	token->problem = isnull ? NULL : text_to_cstring(DatumGetTextPP(value));
	return true;
}

/*
 * Store a token that was granted.  Whether it replaces one that was refused
 * stays known until it is accepted, or replaced in its turn.
 */
void
booking_store_token_put(text *tenant, text *account, bool sealed,
						bytea *secret, TimestampTz renew_at,
						TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.token (tenant, account, sealed, secret,"
		" renew_at, granted_at) VALUES ($1, $2, $3, $4, $5, $6)"
		" ON CONFLICT ON CONSTRAINT token_pkey DO UPDATE"
		" SET serial = booking.token.serial + 1, sealed = EXCLUDED.sealed,"
		" secret = EXCLUDED.secret, renew_at = EXCLUDED.renew_at,"
		" granted_at = EXCLUDED.granted_at, failures = 0, failed_at = NULL,"
		" problem = NULL,"
		" renewed = booking.token.renewed"
		"  AND booking.token.renew_at = '-infinity',"
		" write_renewed = booking.token.write_renewed"
		"  AND booking.token.renew_at = '-infinity'",
		{TEXTOID, TEXTOID, BOOLOID, BYTEAOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[6];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = BoolGetDatum(sealed);
	values[3] = PointerGetDatum(secret);
	values[4] = TimestampTzGetDatum(renew_at);
	values[5] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A token was refused: the next one is got before its time.  False if that
 * would be of no use, because it was got after a refusal itself; true if there
 * is another one already.
 *
 * Reads and writes are told apart: a credential that may only read has its
 * tokens accepted by one and refused by the other, for ever.
 */
bool
booking_store_token_refuse(text *tenant, text *account, bool writes,
						   int64 serial)
{
	static BookingPlan plan = {
		"UPDATE booking.token SET renew_at = '-infinity',"
		" renewed = renewed OR NOT $4, write_renewed = write_renewed OR $4"
		" WHERE tenant = $1 AND account = $2 AND serial = $3"
		"   AND NOT CASE WHEN $4 THEN write_renewed ELSE renewed END",
		{TEXTOID, TEXTOID, INT8OID, BOOLOID}
	};
	Datum		values[4];
	BookingToken token;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = Int64GetDatum(serial);
	values[3] = BoolGetDatum(writes);
	if (booking_plan_run(&plan, values, NULL, 0) > 0)
		return true;
	return booking_store_token_read(tenant, account, &token) &&
		(token.serial != serial || TIMESTAMP_IS_NOBEGIN(token.renew_at));
}

/*
 * A token that was got after a refusal was accepted, by what had refused the
 * one before.
 */
void
booking_store_token_accept(text *tenant, text *account, bool writes,
						   int64 serial)
{
	static BookingPlan plan = {
		"UPDATE booking.token SET renewed = renewed AND $4,"
		" write_renewed = write_renewed AND NOT $4"
		" WHERE tenant = $1 AND account = $2 AND serial = $3",
		{TEXTOID, TEXTOID, INT8OID, BOOLOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = Int64GetDatum(serial);
	values[3] = BoolGetDatum(writes);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Note that no token could be got.
 */
void
booking_store_token_fail(text *tenant, text *account, const char *problem,
						 TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.token (tenant, account, sealed, renew_at,"
		" failures, failed_at, problem)"
		" VALUES ($1, $2, false, '-infinity', 1, $4, $3)"
		" ON CONFLICT ON CONSTRAINT token_pkey DO UPDATE"
		" SET failures = least(booking.token.failures + 1, 1000),"
		" failed_at = EXCLUDED.failed_at, problem = EXCLUDED.problem",
		{TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(account);
	values[2] = CStringGetTextDatum(problem);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Forget the token of an account: its credential has changed.
 */
void
booking_store_token_remove(text *tenant, text *account)
{
	static BookingPlan plan = {
		"DELETE FROM booking.token WHERE tenant = $1 AND account = $2",
		{TEXTOID, TEXTOID}
	};

	booking_plan_run_named(&plan, tenant, account, 0);
}

/*
 * The credential of an account, and when it was put; false if it has none.
 */
bool
booking_store_credential_read(text *tenant, text *account, bool *sealed,
							  bytea **secret, TimestampTz *changed_at)
{
	static BookingPlan plan = {
		"SELECT c.sealed, c.secret, c.changed_at FROM booking.credential c"
		" WHERE c.tenant = $1 AND c.account = $2",
		{TEXTOID, TEXTOID}
	};

	if (booking_plan_run_named(&plan, tenant, account, 1) == 0)
		return false;
	*sealed = DatumGetBool(booking_plan_column(0, 1, NULL));
	*secret = DatumGetByteaPP(booking_plan_column(0, 2, NULL));
	*changed_at = DatumGetTimestampTz(booking_plan_column(0, 3, NULL));
	return true;
}

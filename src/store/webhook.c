/*-------------------------------------------------------------------------
 *
 * webhook.c
 *	  statements on booking.webhook_source, booking.webhook_secret,
 *	  booking.webhook_map and booking.webhook_count
 *
 * IDENTIFICATION
 *	  booking/src/store/webhook.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/webhook.h"

/*
 * Read a source, removed or not; returns whether there is one.
 */
bool
booking_store_webhook_source_read(text *source, BookingWebhookSource *found)
{
	static BookingPlan plan = {
		"SELECT s.tenant, s.kind, s.settings, s.removed_at IS NOT NULL, s.failures"
		"  FROM booking.webhook_source s WHERE s.source = $1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(source);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	found->source = source;
	found->tenant = DatumGetTextPP(booking_plan_column(0, 1, NULL));
	found->kind = DatumGetTextPP(booking_plan_column(0, 2, NULL));
	found->settings = DatumGetJsonbP(booking_plan_column(0, 3, NULL));
	found->removed = DatumGetBool(booking_plan_column(0, 4, NULL));
	found->failures = DatumGetInt32(booking_plan_column(0, 5, NULL));
	return true;
}

/*
 * Record a source, or what has changed of one of the same tenant.
 */
void
booking_store_webhook_source_put(text *tenant, text *source, text *kind,
								 Jsonb *settings, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.webhook_source (tenant, source, kind, settings,"
		" created_at) VALUES ($1, $2, $3, $4, $5)"
		" ON CONFLICT ON CONSTRAINT webhook_source_pkey DO UPDATE"
		" SET kind = EXCLUDED.kind, settings = EXCLUDED.settings,"
		" removed_at = NULL",
		{TEXTOID, TEXTOID, TEXTOID, JSONBOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(source);
	values[2] = PointerGetDatum(kind);
	values[3] = PointerGetDatum(settings);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Remove a source: its row stays, so that nobody else gets its name.
 */
void
booking_store_webhook_source_remove(text *source, TimestampTz now)
{
	static BookingPlan plan = {
		"WITH secrets AS (DELETE FROM booking.webhook_secret WHERE source = $1),"
		" maps AS (DELETE FROM booking.webhook_map WHERE source = $1),"
		" readers AS (DELETE FROM booking.webhook_reader WHERE source = $1),"
		" credentials AS (DELETE FROM booking.webhook_credential"
		"  WHERE source = $1)"
		" UPDATE booking.webhook_source SET removed_at = $2, failures = 0,"
		" problem = NULL WHERE source = $1",
		{TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A delivery of a source failed; returns how many have since the last one that
 * did not.
 */
int32
booking_store_webhook_source_failed(text *source, const char *problem,
									TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.webhook_source s SET failures = s.failures + 1,"
		"  failed_at = $3, problem = $2"
		" WHERE s.source = $1 RETURNING s.failures",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(source);
	values[1] = CStringGetTextDatum(problem);
	values[2] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) == 0)
		return 0;
	return DatumGetInt32(booking_plan_column(0, 1, NULL));
}

/*
 * A delivery of a source did not fail.  Where another one that fails has not
 * committed yet nothing is to be written: who sends what is refused must not
 * hold up what is not.
 */
void
booking_store_webhook_source_works(text *source)
{
	static BookingPlan plan = {
		"UPDATE booking.webhook_source s SET failures = 0, problem = NULL"
		" WHERE s.source = (SELECT f.source FROM booking.webhook_source f"
		"  WHERE f.source = $1 AND f.failures > 0"
		"  FOR NO KEY UPDATE SKIP LOCKED)",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(source);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Record a secret under the next number of the source, and return that.
 */
int32
booking_store_webhook_secret_put(text *source, bool sealed, bytea *secret,
								 TimestampTz now)
{
	static BookingPlan plan = {
		"WITH next AS (UPDATE booking.webhook_source s SET secrets = s.secrets + 1"
		"  WHERE s.source = $1 RETURNING s.secrets)"
		" INSERT INTO booking.webhook_secret (source, number, sealed, secret,"
		" created_at) SELECT $1, n.secrets, $2, $3, $4 FROM next n"
		" RETURNING number",
		{TEXTOID, BOOLOID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(source);
	values[1] = BoolGetDatum(sealed);
	values[2] = PointerGetDatum(secret);
	values[3] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) != 1)
		elog(ERROR, "webhook source vanished");
	return DatumGetInt32(booking_plan_column(0, 1, NULL));
}

/*
 * Remove a secret; returns whether there was one of the number.
 */
bool
booking_store_webhook_secret_remove(text *source, int32 number)
{
	static BookingPlan plan = {
		"DELETE FROM booking.webhook_secret s"
		" WHERE s.source = $1 AND s.number = $2",
		{TEXTOID, INT4OID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = Int32GetDatum(number);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * All secrets of a source, the newest first.
 */
BookingWebhookSecret *
booking_store_webhook_secrets(text *source, int *count)
{
	static BookingPlan plan = {
		"SELECT s.number, s.sealed, s.secret FROM booking.webhook_secret s"
		" WHERE s.source = $1 ORDER BY s.number DESC",
		{TEXTOID}
	};
	BookingWebhookSecret *secrets;
	Datum		values[1];

	values[0] = PointerGetDatum(source);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	secrets = palloc_array(BookingWebhookSecret, *count + 1);
	for (int row = 0; row < *count; row++)
	{
		secrets[row].number = DatumGetInt32(booking_plan_column(row, 1, NULL));
		secrets[row].sealed = DatumGetBool(booking_plan_column(row, 2, NULL));
		secrets[row].secret = DatumGetByteaPP(booking_plan_column(row, 3, NULL));
	}
	return secrets;
}

/*
 * Say which resource a key of a source means.
 */
void
booking_store_webhook_map_put(text *source, text *remote_key, text *resource)
{
	static BookingPlan plan = {
		"INSERT INTO booking.webhook_map (source, remote_key, resource)"
		" VALUES ($1, $2, $3)"
		" ON CONFLICT ON CONSTRAINT webhook_map_pkey DO UPDATE"
		" SET resource = EXCLUDED.resource",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(remote_key);
	values[2] = PointerGetDatum(resource);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A key of a source means nothing any more.
 */
void
booking_store_webhook_map_remove(text *source, text *remote_key)
{
	static BookingPlan plan = {
		"DELETE FROM booking.webhook_map m"
		" WHERE m.source = $1 AND m.remote_key = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(remote_key);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The resource of the first of some keys that is mapped; NULL if none is.
 */
text *
booking_store_webhook_map_read(text *source, text **keys, int count)
{
	static BookingPlan plan = {
		"SELECT m.resource FROM unnest($2) WITH ORDINALITY AS k (remote_key, n)"
		"  JOIN booking.webhook_map m"
		"    ON m.source = $1 AND m.remote_key = k.remote_key"
		" ORDER BY k.n LIMIT 1",
		{TEXTOID, TEXTARRAYOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(booking_record_make_text_array(keys, count));
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	return DatumGetTextPP(booking_plan_column(0, 1, NULL));
}

/*
 * Count what is not kept.
 */
void
booking_store_webhook_count(text *source, const char *verdict, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.webhook_count AS c (source, verdict, deliveries,"
		" last_at) VALUES ($1, $2, 1, $3)"
		" ON CONFLICT ON CONSTRAINT webhook_count_pkey DO UPDATE"
		" SET deliveries = c.deliveries + 1, last_at = EXCLUDED.last_at",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(source);
	values[1] = CStringGetTextDatum(verdict);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Names of the calendars of a resource.
 */
text **
booking_store_webhook_calendars(text *tenant, text *resource, int *count)
{
	static BookingPlan plan = {
		"SELECT c.calendar FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.resource = $2 ORDER BY c.calendar",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];
	text	  **calendars;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	calendars = palloc_array(text *, *count + 1);
	for (int row = 0; row < *count; row++)
		calendars[row] = DatumGetTextPP(booking_plan_column(row, 1, NULL));
	return calendars;
}

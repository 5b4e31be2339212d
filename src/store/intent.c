/*-------------------------------------------------------------------------
 *
 * intent.c
 *	  statements on booking.intent
 *
 * IDENTIFICATION
 *	  booking/src/store/intent.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "store/plan.h"
#include "store/store.h"

#define INTENT_COLUMNS \
	"i.intent_id, i.revision, i.version, i.resources, i.expected_versions, " \
	"i.slot, i.during, i.units, i.terms, i.supersedes, i.intent, " \
	"i.disposition, i.state, i.remote, i.event, i.receipt, i.successor, i.detail"

static BookingIntent *intent_from_row(uint64 row);
static void payload_bind(Datum *values, bool *nulls, int first,
						 const BookingPayload *payload);

/*
 * The number of a new intent.  Taken before the row is written, because the
 * reservation that decides the disposition carries it.
 */
int64
booking_store_next_intent_id(void)
{
	Oid			schema = get_namespace_oid("booking", false);

	return nextval_internal(get_relname_relid("intent_id_seq", schema), false);
}

/*
 * The intent of an identity, or NULL.
 */
BookingIntent *
booking_store_intent_read(const BookingIdentity *identity)
{
	static BookingPlan plan = {
		"SELECT " INTENT_COLUMNS
		"  FROM booking.intent i"
		" WHERE i.tenant = $1 AND i.principal = $2 AND i.intent = $3",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(identity->tenant);
	values[1] = PointerGetDatum(identity->principal);
	values[2] = PointerGetDatum(identity->intent);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	return intent_from_row(0);
}

/*
 * The intent of a number, or NULL, and its identity.
 */
BookingIntent *
booking_store_intent_by_id(int64 intent_id, BookingIdentity *identity)
{
	static BookingPlan plan = {
		"SELECT " INTENT_COLUMNS ", i.tenant, i.principal"
		"  FROM booking.intent i WHERE i.intent_id = $1",
		{INT8OID}
	};
	Datum		values[1];
	BookingIntent *intent;

	values[0] = Int64GetDatum(intent_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	intent = intent_from_row(0);
	identity->tenant = DatumGetTextPP(booking_plan_column(0, 19, NULL));
	identity->principal = DatumGetTextPP(booking_plan_column(0, 20, NULL));
	identity->intent = intent->intent;
	return intent;
}

/*
 * Record a new intent that was read, under its lock, not to exist.  A row that
 * is there all the same came by direct DML, and is answered as the race it is.
 */
void
booking_store_intent_record(const BookingIntentRow *row)
{
	if (!booking_store_intent_insert(row))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not record the intent because of a concurrent direct insert"),
				 errhint("The transaction might succeed if retried.")));
}

/*
 * Record a new intent, unless its identity is known; returns whether it was
 * recorded.
 */
bool
booking_store_intent_insert(const BookingIntentRow *row)
{
	static BookingPlan plan = {
		"INSERT INTO booking.intent (intent_id, version, tenant, principal,"
		" intent, disposition, state, receipt, override_reason, detail,"
		" evidence, created_role, changed_role, created_at, changed_at,"
		" resources, expected_versions, slot, during, units, terms, supersedes,"
		" remote)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13,"
		" $13, $14, $15, $16, $17, $18, $19, $20, $21)"
		" ON CONFLICT ON CONSTRAINT intent_identity_key DO NOTHING",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
			TEXTOID, JSONBOID, JSONBOID, TEXTOID, TIMESTAMPTZOID, TEXTARRAYOID,
			INT8ARRAYOID, TEXTOID, TSTZRANGEOID, INT4OID, JSONBOID, TEXTOID, TEXTOID}
	};
	Datum		values[21];
	bool		nulls[21] = {0};

	values[0] = Int64GetDatum(row->intent_id);
	values[1] = Int32GetDatum(row->version);
	values[2] = PointerGetDatum(row->identity->tenant);
	values[3] = PointerGetDatum(row->identity->principal);
	values[4] = PointerGetDatum(row->identity->intent);
	values[5] = CStringGetTextDatum(row->disposition);
	values[6] = CStringGetTextDatum(row->state);
	booking_plan_bind(values, nulls, 7, row->receipt);
	booking_plan_bind(values, nulls, 8, row->override_reason);
	booking_plan_bind(values, nulls, 9, row->detail);
	booking_plan_bind(values, nulls, 10, row->evidence);
	values[11] = PointerGetDatum(row->role);
	values[12] = TimestampTzGetDatum(row->now);
	payload_bind(values, nulls, 13, row->payload);
	values[20] = CStringGetTextDatum(row->remote != NULL ? row->remote : "not_required");

	return booking_plan_run(&plan, values, nulls, 0) == 1;
}

/*
 * Change what is decided of an intent.  The row may have vanished from under a
 * direct DELETE only if the guard was disabled.
 */
void
booking_store_intent_change(const BookingIntentChange *change)
{
	static BookingPlan plan = {
		"UPDATE booking.intent SET disposition = $2, state = $3,"
		" receipt = coalesce($4, receipt), successor = coalesce($5, successor),"
		" detail = $6, changed_role = $7, changed_at = $8,"
		" remote = coalesce($9, remote), event = coalesce($10, event),"
		" revision = revision + 1"
		" WHERE intent_id = $1",
		{INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, TEXTOID,
			TIMESTAMPTZOID, TEXTOID, TEXTOID}
	};
	Datum		values[10];
	bool		nulls[10] = {0};

	values[0] = Int64GetDatum(change->intent_id);
	values[1] = CStringGetTextDatum(change->disposition);
	values[2] = CStringGetTextDatum(change->state);
	booking_plan_bind(values, nulls, 3, change->receipt);
	booking_plan_bind(values, nulls, 4, change->successor);
	booking_plan_bind(values, nulls, 5, change->detail);
	values[6] = PointerGetDatum(change->role);
	values[7] = TimestampTzGetDatum(change->now);
	booking_plan_bind(values, nulls, 8, change->remote == NULL ? NULL :
					  cstring_to_text(change->remote));
	booking_plan_bind(values, nulls, 9, change->event == NULL ? NULL :
					  cstring_to_text(change->event));
	if (booking_plan_run(&plan, values, nulls, 0) != 1)
		elog(ERROR, "intent " INT64_FORMAT " vanished", change->intent_id);
}

/*
 * Give an intent its next payload; the guard allows that only on the way to
 * the state proposed.
 */
void
booking_store_intent_repropose(int64 intent_id, int32 version,
							   const BookingPayload *payload,
							   const char *disposition,
							   text *role, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.intent SET version = $2, disposition = $3,"
		" state = 'proposed', detail = NULL, changed_role = $4,"
		" changed_at = $5, revision = revision + 1, resources = $6,"
		" expected_versions = $7, slot = $8, during = $9, units = $10,"
		" terms = $11, supersedes = $12"
		" WHERE intent_id = $1",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTARRAYOID,
			INT8ARRAYOID, TEXTOID, TSTZRANGEOID, INT4OID, JSONBOID, TEXTOID}
	};
	Datum		values[12];
	bool		nulls[12] = {0};

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	values[2] = CStringGetTextDatum(disposition);
	values[3] = PointerGetDatum(role);
	values[4] = TimestampTzGetDatum(now);
	payload_bind(values, nulls, 5, payload);
	if (booking_plan_run(&plan, values, nulls, 0) != 1)
		elog(ERROR, "intent " INT64_FORMAT " vanished", intent_id);
}

/*
 * A page of a principal's intents in byte order of their names, without those
 * on a resource the principal may not use now.
 */
BookingIntent **
booking_store_intent_list(const BookingListFilter *filter, int limit,
						  int *count)
{
	static BookingPlan plan = {
		"SELECT " INTENT_COLUMNS
		"  FROM booking.intent i"
		" WHERE i.tenant = $1 AND i.principal = $2"
		"   AND ($3 IS NULL OR i.during && $3)"
		"   AND ($4 IS NULL OR i.state = $4)"
		"   AND i.intent > coalesce($5, '')"
		"   AND NOT EXISTS (SELECT FROM unnest(i.resources) AS r(name)"
		"     WHERE NOT coalesce((SELECT p.allowed FROM booking.permission p"
		"       WHERE p.tenant = $1 AND p.principal = $2 AND p.resource = r.name),"
		"      (SELECT p.allowed FROM booking.permission p"
		"       WHERE p.tenant = $1 AND p.principal = $2 AND p.resource = ''),"
		"      false))"
		" ORDER BY i.intent LIMIT $6",
		{TEXTOID, TEXTOID, TSTZRANGEOID, TEXTOID, TEXTOID, INT8OID}
	};
	Datum		values[6];
	bool		nulls[6] = {0};
	BookingIntent **intents;

	values[0] = PointerGetDatum(filter->tenant);
	values[1] = PointerGetDatum(filter->principal);
	booking_plan_bind(values, nulls, 2, filter->within);
	booking_plan_bind(values, nulls, 3, filter->state);
	booking_plan_bind(values, nulls, 4, filter->after);
	values[5] = Int64GetDatum(limit);

	*count = (int) booking_plan_run(&plan, values, nulls, 0);
	intents = palloc_array(BookingIntent *, *count + 1);
	for (int i = 0; i < *count; i++)
		intents[i] = intent_from_row(i);
	return intents;
}

/*
 * Struct of a row whose columns are INTENT_COLUMNS.
 */
static BookingIntent *
intent_from_row(uint64 row)
{
	BookingIntent *intent = palloc0_object(BookingIntent);
	BookingPayload *payload = &intent->payload;
	bool		isnull;
	Datum		value;

	intent->intent_id = DatumGetInt64(booking_plan_column(row, 1, NULL));
	intent->revision = DatumGetInt32(booking_plan_column(row, 2, NULL));
	intent->version = DatumGetInt32(booking_plan_column(row, 3, NULL));
	value = booking_plan_column(row, 4, &isnull);
	if (!isnull)
	{
		booking_record_text_array(value, &payload->nresources,
								  &payload->resources);
		value = booking_plan_column(row, 5, &isnull);
		if (!isnull)
			payload->versions = booking_record_int8_array(value,
														  payload->nresources);
		value = booking_plan_column(row, 6, &isnull);
		if (!isnull)
			payload->slot = DatumGetTextPP(value);
		value = booking_plan_column(row, 7, &isnull);
		if (!isnull)
		{
			payload->has_during = true;
			booking_range_bounds(value, &payload->start, &payload->end);
		}
		payload->units = DatumGetInt32(booking_plan_column(row, 8, NULL));
		payload->terms = DatumGetJsonbP(booking_plan_column(row, 9, NULL));
		value = booking_plan_column(row, 10, &isnull);
		if (!isnull)
			payload->supersedes = DatumGetTextPP(value);
	}
	intent->intent = DatumGetTextPP(booking_plan_column(row, 11, NULL));
	intent->disposition = DatumGetTextPP(booking_plan_column(row, 12, NULL));
	intent->state = DatumGetTextPP(booking_plan_column(row, 13, NULL));
	intent->remote = DatumGetTextPP(booking_plan_column(row, 14, NULL));
	intent->event = DatumGetTextPP(booking_plan_column(row, 15, NULL));
	value = booking_plan_column(row, 16, &isnull);
	if (!isnull)
		intent->receipt = DatumGetTextPP(value);
	value = booking_plan_column(row, 17, &isnull);
	if (!isnull)
		intent->successor = DatumGetTextPP(value);
	value = booking_plan_column(row, 18, &isnull);
	if (!isnull)
		intent->detail = DatumGetJsonbP(value);
	return intent;
}

/*
 * Bind the seven payload columns from parameter first on, all NULL without a
 * payload.
 */
static void
payload_bind(Datum *values, bool *nulls, int first,
			 const BookingPayload *payload)
{
	if (payload == NULL)
	{
		for (int i = 0; i < 7; i++)
			nulls[first + i] = true;
		return;
	}

	values[first] = PointerGetDatum(booking_record_make_text_array(payload->resources,
																   payload->nresources));
	booking_plan_bind(values, nulls, first + 1, payload->versions == NULL ? NULL :
					  booking_record_make_int8_array(payload->versions,
													 payload->nresources));
	booking_plan_bind(values, nulls, first + 2, payload->slot);
	booking_plan_bind(values, nulls, first + 3, !payload->has_during ? NULL :
					  booking_range_make(payload->start, payload->end));
	values[first + 4] = Int32GetDatum(payload->units);
	values[first + 5] = PointerGetDatum(payload->terms);
	booking_plan_bind(values, nulls, first + 6, payload->supersedes);
}

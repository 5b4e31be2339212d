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

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "store/change.h"
#include "store/plan.h"
#include "store/present.h"
#include "store/row.h"
#include "store/store.h"

/* the columns of booking.intent, counted from 0 */
enum
{
	INTENT_ID, CREATED_AT, CHANGED_AT, REVISION, VERSION, UNITS, TENANT,
	PRINCIPAL, INTENT, DISPOSITION, STATE, REMOTE, EVENT, RECEIPT, RESOURCES,
	SLOT, DURING, EXPECTED_VERSIONS, TERMS, SUPERSEDES, SUCCESSOR,
	OVERRIDE_REASON, DETAIL, EVIDENCE, CREATED_ROLE, CHANGED_ROLE, DIGEST,
	INTENT_NCOLUMNS
};

#define INTENT_COLUMNS \
	"intent_id, created_at, changed_at, revision, version, units, tenant, " \
	"principal, intent, disposition, state, remote, event, receipt, resources, " \
	"slot, during, expected_versions, terms, supersedes, successor, " \
	"override_reason, detail, evidence, created_role, changed_role, digest"

static BookingIntent *intent_from_columns(const Datum *values,
										 const bool *nulls);
static text *text_or_null(const Datum *values, const bool *nulls, int column);
static void payload_bind(Datum *values, bool *nulls,
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
	static BookingSearch search = {
		{
			"SELECT " INTENT_COLUMNS " FROM booking.intent"
			" WHERE tenant = $1 AND principal = $2 AND intent = $3",
			{TEXTOID, TEXTOID, TEXTOID}
		},
		"intent", INTENT_COLUMNS, "intent_identity_key",
		"tenant, principal, intent"
	};
	Datum		keys[3];
	Datum		values[INTENT_NCOLUMNS];
	bool		nulls[INTENT_NCOLUMNS];

	keys[0] = PointerGetDatum(identity->tenant);
	keys[1] = PointerGetDatum(identity->principal);
	keys[2] = PointerGetDatum(identity->intent);
	if (!booking_row_search(&search, keys, values, nulls))
		return NULL;
	return intent_from_columns(values, nulls);
}

/*
 * The intent of a number, or NULL, and its identity.
 */
BookingIntent *
booking_store_intent_by_id(int64 intent_id, BookingIdentity *identity)
{
	static BookingSearch search = {
		{
			"SELECT " INTENT_COLUMNS " FROM booking.intent WHERE intent_id = $1",
			{INT8OID}
		},
		"intent", INTENT_COLUMNS, "intent_pkey", "intent_id"
	};
	Datum		keys[1];
	Datum		values[INTENT_NCOLUMNS];
	bool		nulls[INTENT_NCOLUMNS];
	BookingIntent *intent;

	keys[0] = Int64GetDatum(intent_id);
	if (!booking_row_search(&search, keys, values, nulls))
		return NULL;
	intent = intent_from_columns(values, nulls);
	identity->tenant = DatumGetTextPP(values[TENANT]);
	identity->principal = DatumGetTextPP(values[PRINCIPAL]);
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
	static BookingInsert insert = {
		{
			"INSERT INTO booking.intent (" INTENT_COLUMNS ")"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
			" $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,"
			" $27)"
			" ON CONFLICT ON CONSTRAINT intent_identity_key DO NOTHING",
			{INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID,
				TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
				TEXTOID, TEXTARRAYOID, TEXTOID, TSTZRANGEOID, INT8ARRAYOID,
				JSONBOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, JSONBOID, TEXTOID,
				TEXTOID, BYTEAOID}
		},
		"intent", INTENT_COLUMNS, "intent_identity_key"
	};
	Datum		values[INTENT_NCOLUMNS];
	bool		nulls[INTENT_NCOLUMNS] = {0};

	values[INTENT_ID] = Int64GetDatum(row->intent_id);
	values[CREATED_AT] = TimestampTzGetDatum(row->now);
	values[CHANGED_AT] = TimestampTzGetDatum(row->now);
	values[REVISION] = Int32GetDatum(1);
	values[VERSION] = Int32GetDatum(row->version);
	values[TENANT] = PointerGetDatum(row->identity->tenant);
	values[PRINCIPAL] = PointerGetDatum(row->identity->principal);
	values[INTENT] = PointerGetDatum(row->identity->intent);
	values[DISPOSITION] = CStringGetTextDatum(row->disposition);
	values[STATE] = CStringGetTextDatum(row->state);
	values[REMOTE] = CStringGetTextDatum(row->remote != NULL ? row->remote : "not_required");
	values[EVENT] = CStringGetTextDatum("none");
	booking_plan_bind(values, nulls, RECEIPT, row->receipt);
	booking_plan_bind(values, nulls, SUCCESSOR, NULL);
	booking_plan_bind(values, nulls, OVERRIDE_REASON, row->override_reason);
	booking_plan_bind(values, nulls, DETAIL, row->detail);
	booking_plan_bind(values, nulls, EVIDENCE, row->evidence);
	values[CREATED_ROLE] = PointerGetDatum(row->role);
	values[CHANGED_ROLE] = PointerGetDatum(row->role);
	booking_plan_bind(values, nulls, DIGEST, NULL);
	payload_bind(values, nulls, row->payload);

	if (!booking_row_insert(&insert, values, nulls))
		return false;
	booking_store_downstream(row->intent_id, row->identity->tenant, "recorded");
	return true;
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
		" WHERE intent_id = $1 RETURNING tenant",
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
	booking_store_downstream(change->intent_id,
							 DatumGetTextPP(booking_plan_column(0, 1, NULL)),
							 "changed");
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
		" terms = $11, supersedes = $12, digest = NULL"
		" WHERE intent_id = $1 RETURNING tenant",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTARRAYOID,
			INT8ARRAYOID, TEXTOID, TSTZRANGEOID, INT4OID, JSONBOID, TEXTOID}
	};
	static const int columns[] = {RESOURCES, EXPECTED_VERSIONS, SLOT, DURING,
	UNITS, TERMS, SUPERSEDES};
	Datum		row[INTENT_NCOLUMNS];
	bool		row_nulls[INTENT_NCOLUMNS] = {0};
	Datum		values[12];
	bool		nulls[12] = {0};

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	values[2] = CStringGetTextDatum(disposition);
	values[3] = PointerGetDatum(role);
	values[4] = TimestampTzGetDatum(now);
	payload_bind(row, row_nulls, payload);
	for (int i = 0; i < lengthof(columns); i++)
	{
		values[5 + i] = row[columns[i]];
		nulls[5 + i] = row_nulls[columns[i]];
	}
	if (booking_plan_run(&plan, values, nulls, 0) != 1)
		elog(ERROR, "intent " INT64_FORMAT " vanished", intent_id);
	booking_store_downstream(intent_id,
							 DatumGetTextPP(booking_plan_column(0, 1, NULL)),
							 "proposed");
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
		"   AND ($3 IS NULL OR coalesce((SELECT o.moved_to"
		"     FROM booking.operation o WHERE o.intent_id = i.intent_id"
		"      AND i.state IN " BOOKING_HOLDING_STATES
		"     ORDER BY o.operation_id DESC LIMIT 1), i.during) && $3)"
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
	{
		Datum		row[INTENT_NCOLUMNS];
		bool		row_nulls[INTENT_NCOLUMNS];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, row,
						  row_nulls);
		intents[i] = intent_from_columns(row, row_nulls);
	}
	return intents;
}

/*
 * Struct of a row.
 */
static BookingIntent *
intent_from_columns(const Datum *values, const bool *nulls)
{
	BookingIntent *intent = palloc0_object(BookingIntent);
	BookingPayload *payload = &intent->payload;

	intent->intent_id = DatumGetInt64(values[INTENT_ID]);
	intent->revision = DatumGetInt32(values[REVISION]);
	intent->version = DatumGetInt32(values[VERSION]);
	if (!nulls[RESOURCES])
	{
		booking_record_text_array(values[RESOURCES], &payload->nresources,
								  &payload->resources);
		if (!nulls[EXPECTED_VERSIONS])
			payload->versions = booking_record_int8_array(values[EXPECTED_VERSIONS],
														  payload->nresources);
		payload->slot = text_or_null(values, nulls, SLOT);
		payload->has_during = !nulls[DURING];
		if (payload->has_during)
			booking_range_bounds(values[DURING], &payload->start, &payload->end);
		payload->units = DatumGetInt32(values[UNITS]);
		payload->terms = DatumGetJsonbP(values[TERMS]);
		payload->supersedes = text_or_null(values, nulls, SUPERSEDES);
		payload->digest = nulls[DIGEST] ? NULL : DatumGetByteaPP(values[DIGEST]);
		payload->intent_id = intent->intent_id;
	}
	intent->intent = DatumGetTextPP(values[INTENT]);
	intent->disposition = DatumGetTextPP(values[DISPOSITION]);
	intent->state = DatumGetTextPP(values[STATE]);
	intent->remote = DatumGetTextPP(values[REMOTE]);
	intent->event = DatumGetTextPP(values[EVENT]);
	intent->receipt = text_or_null(values, nulls, RECEIPT);
	intent->successor = text_or_null(values, nulls, SUCCESSOR);
	intent->detail = nulls[DETAIL] ? NULL : DatumGetJsonbP(values[DETAIL]);
	return intent;
}

/*
 * A text of a row, NULL for NULL.
 */
static text *
text_or_null(const Datum *values, const bool *nulls, int column)
{
	return nulls[column] ? NULL : DatumGetTextPP(values[column]);
}

/*
 * Bind the seven columns of a payload, all NULL without one.
 */
static void
payload_bind(Datum *values, bool *nulls, const BookingPayload *payload)
{
	bool		none = payload == NULL;

	booking_plan_bind(values, nulls, RESOURCES, none ? NULL :
					  booking_record_make_text_array(payload->resources,
													 payload->nresources));
	booking_plan_bind(values, nulls, EXPECTED_VERSIONS,
					  none || payload->versions == NULL ? NULL :
					  booking_record_make_int8_array(payload->versions,
													 payload->nresources));
	booking_plan_bind(values, nulls, SLOT, none ? NULL : payload->slot);
	booking_plan_bind(values, nulls, DURING, none || !payload->has_during ? NULL :
					  booking_range_make(payload->start, payload->end));
	values[UNITS] = Int32GetDatum(none ? 0 : payload->units);
	nulls[UNITS] = none;
	booking_plan_bind(values, nulls, TERMS, none ? NULL : payload->terms);
	booking_plan_bind(values, nulls, SUPERSEDES, none ? NULL :
					  payload->supersedes);
}

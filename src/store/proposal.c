/*-------------------------------------------------------------------------
 *
 * proposal.c
 *	  statements on booking.proposal
 *
 * IDENTIFICATION
 *	  booking/src/store/proposal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/store.h"

#define PROPOSAL_COLUMNS \
	"p.version, p.expires_at, p.state, p.snapshot, p.proposed_role," \
	" p.resources, p.expected_versions, p.slot, p.during, p.units, p.terms," \
	" p.supersedes, p.digest, p.intent_id"

static BookingProposal *proposal_from_row(uint64 row);

/*
 * One proposal of an intent, or NULL: a payload that was claimed directly has
 * no row here.
 */
BookingProposal *
booking_store_proposal_read(int64 intent_id, int32 version)
{
	static BookingPlan plan = {
		"SELECT " PROPOSAL_COLUMNS
		"  FROM booking.proposal p"
		" WHERE p.intent_id = $1 AND p.version = $2",
		{INT8OID, INT4OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	return proposal_from_row(0);
}

/*
 * List of BookingProposal: those of an intent before a version.
 */
List *
booking_store_proposals_before(int64 intent_id, int32 version)
{
	static BookingPlan plan = {
		"SELECT " PROPOSAL_COLUMNS
		"  FROM booking.proposal p"
		" WHERE p.intent_id = $1 AND p.version < $2"
		" ORDER BY p.version DESC",
		{INT8OID, INT4OID}
	};
	Datum		values[2];
	List	   *proposals = NIL;
	uint64		count;

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	count = booking_plan_run(&plan, values, NULL, 0);
	for (uint64 i = 0; i < count; i++)
		proposals = lappend(proposals, proposal_from_row(i));
	return proposals;
}

/*
 * Record a proposal in the state open.
 */
void
booking_store_proposal_insert(int64 intent_id, const BookingProposal *proposal,
							  Jsonb *evidence, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.proposal (intent_id, version, proposed_at,"
		" expires_at, snapshot, evidence, proposed_role, resources,"
		" expected_versions, slot, during, units, terms, supersedes)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
		{INT8OID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, JSONBOID, JSONBOID,
			TEXTOID, TEXTARRAYOID, INT8ARRAYOID, TEXTOID, TSTZRANGEOID, INT4OID,
			JSONBOID, TEXTOID}
	};
	const BookingPayload *payload = &proposal->payload;
	Datum		values[14];
	bool		nulls[14] = {0};

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(proposal->version);
	values[2] = TimestampTzGetDatum(now);
	values[3] = TimestampTzGetDatum(proposal->expires_at);
	nulls[3] = !proposal->held;
	values[4] = PointerGetDatum(proposal->snapshot);
	booking_plan_bind(values, nulls, 5, evidence);
	values[6] = PointerGetDatum(proposal->proposed_role);
	values[7] = PointerGetDatum(booking_record_make_text_array(payload->resources,
															   payload->nresources));
	booking_plan_bind(values, nulls, 8, payload->versions == NULL ? NULL :
					  booking_record_make_int8_array(payload->versions,
													 payload->nresources));
	booking_plan_bind(values, nulls, 9, payload->slot);
	values[10] = PointerGetDatum(booking_range_make(payload->start,
													payload->end));
	values[11] = Int32GetDatum(payload->units);
	values[12] = PointerGetDatum(payload->terms);
	booking_plan_bind(values, nulls, 13, payload->supersedes);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * End an open proposal; does nothing when it is not open or has no row.
 * decided_by and reason may be NULL.
 */
void
booking_store_proposal_decide(int64 intent_id, int32 version,
							  const char *state, text *decided_by,
							  text *role, text *reason, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.proposal SET state = $3, decided_by = $4,"
		" decided_role = $5, reason = $6, decided_at = $7"
		" WHERE intent_id = $1 AND version = $2 AND state = 'open'",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[7];
	bool		nulls[7] = {0};

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	values[2] = CStringGetTextDatum(state);
	booking_plan_bind(values, nulls, 3, decided_by);
	values[4] = PointerGetDatum(role);
	booking_plan_bind(values, nulls, 5, reason);
	values[6] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * The next version takes the place of one that was approved and came to
 * nothing.  Who approved it stays on record.
 */
void
booking_store_proposal_displace(int64 intent_id, int32 version)
{
	static BookingPlan plan = {
		"UPDATE booking.proposal SET state = 'displaced'"
		" WHERE intent_id = $1 AND version = $2 AND state = 'approved'",
		{INT8OID, INT4OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(version);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Struct of a row whose columns are PROPOSAL_COLUMNS.
 */
static BookingProposal *
proposal_from_row(uint64 row)
{
	BookingProposal *proposal = palloc0_object(BookingProposal);
	BookingPayload *payload = &proposal->payload;
	bool		isnull;
	Datum		value;

	proposal->version = DatumGetInt32(booking_plan_column(row, 1, NULL));
	value = booking_plan_column(row, 2, &isnull);
	proposal->held = !isnull;
	proposal->expires_at = DatumGetTimestampTz(value);
	proposal->state = DatumGetTextPP(booking_plan_column(row, 3, NULL));
	proposal->snapshot = DatumGetJsonbP(booking_plan_column(row, 4, NULL));
	proposal->proposed_role = DatumGetTextPP(booking_plan_column(row, 5, NULL));
	booking_record_text_array(booking_plan_column(row, 6, NULL),
							  &payload->nresources, &payload->resources);
	value = booking_plan_column(row, 7, &isnull);
	if (!isnull)
		payload->versions = booking_record_int8_array(value,
													  payload->nresources);
	value = booking_plan_column(row, 8, &isnull);
	if (!isnull)
		payload->slot = DatumGetTextPP(value);
	value = booking_plan_column(row, 9, &isnull);
	payload->has_during = !isnull;
	if (!isnull)
		booking_range_bounds(value, &payload->start, &payload->end);
	payload->units = DatumGetInt32(booking_plan_column(row, 10, NULL));
	payload->terms = DatumGetJsonbP(booking_plan_column(row, 11, NULL));
	value = booking_plan_column(row, 12, &isnull);
	if (!isnull)
		payload->supersedes = DatumGetTextPP(value);
	value = booking_plan_column(row, 13, &isnull);
	if (!isnull)
		payload->digest = DatumGetByteaPP(value);
	payload->intent_id = DatumGetInt64(booking_plan_column(row, 14, NULL));
	return proposal;
}

/*-------------------------------------------------------------------------
 *
 * reservation.c
 *	  statements on booking.reservation
 *
 * IDENTIFICATION
 *	  booking/src/store/reservation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/plan.h"
#include "store/row.h"
#include "store/store.h"

/*
 * A whole resource within the exclusion constraint's index: the expression
 * must be the index's own, and both sides int8, or the index is not used.
 */
#define LANES_OF_RESOURCE \
	"(r.resource_id * 65536 + r.unit) BETWEEN $1 * 65536 AND $1 * 65536 + 65535"

#define INSERTED_COLUMNS \
	"intent_id, resource_id, piece, unit, occupied, hold_until, override, tenant"

#define RESERVATION_COLUMNS \
	"r.intent_id, r.piece, r.unit, r.occupied, r.hold_until, r.override"

static BookingReservation *reservations_from_rows(uint64 count);

/*
 * Hold a lane of a resource, if it is free throughout.  Waits for a
 * transaction in progress that holds it.  Returns whether it was free.
 */
bool
booking_store_reservation_insert(const BookingReservationRow *row)
{
	static BookingInsert insert = {
		{
			"INSERT INTO booking.reservation (" INSERTED_COLUMNS ")"
			" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
			" ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING",
			{INT8OID, INT8OID, INT4OID, INT4OID, TSTZRANGEOID, TIMESTAMPTZOID,
				BOOLOID, TEXTOID}
		},
		"reservation", INSERTED_COLUMNS, "reservation_lane_excl"
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = Int64GetDatum(row->intent_id);
	values[1] = Int64GetDatum(row->resource_id);
	values[2] = Int32GetDatum(row->piece);
	values[3] = Int32GetDatum(row->unit);
	values[4] = PointerGetDatum(row->occupied);
	values[5] = row->hold_until != NULL ? TimestampTzGetDatum(*row->hold_until) : 0;
	nulls[5] = row->hold_until == NULL;
	values[6] = BoolGetDatum(row->override);
	values[7] = PointerGetDatum(row->tenant);
	return booking_row_insert(&insert, values, nulls);
}

/*
 * Rows of a resource that overlap [start, end), expired holds included.
 */
BookingReservation *
booking_store_reservation_overlap(int64 resource_id, TimestampTz start,
								  TimestampTz end, int *count)
{
	static BookingPlan plan = {
		"SELECT " RESERVATION_COLUMNS
		"  FROM booking.reservation r"
		" WHERE " LANES_OF_RESOURCE
		"   AND r.occupied && $2",
		{INT8OID, TSTZRANGEOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(resource_id);
	values[1] = PointerGetDatum(booking_range_make(start, end));
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	return reservations_from_rows(*count);
}

/*
 * All rows of a resource.
 */
BookingReservation *
booking_store_reservation_all(int64 resource_id, int *count)
{
	static BookingPlan plan = {
		"SELECT " RESERVATION_COLUMNS
		"  FROM booking.reservation r"
		" WHERE " LANES_OF_RESOURCE,
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(resource_id);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	return reservations_from_rows(*count);
}

/*
 * Does an intent hold anything?  With hold, by a hold that may have expired;
 * without, by a booking.
 */
bool
booking_store_reservation_exists(int64 intent_id, bool hold)
{
	static BookingPlan plan = {
		"SELECT FROM booking.reservation r"
		" WHERE r.intent_id = $1 AND (r.hold_until IS NOT NULL) = $2",
		{INT8OID, BOOLOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = BoolGetDatum(hold);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Free everything an intent holds.
 */
void
booking_store_reservation_delete(int64 intent_id)
{
	static BookingPlan plan = {
		"DELETE FROM booking.reservation WHERE intent_id = $1",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(intent_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Free one row.  It may be gone: two claims can meet the same expired hold.
 */
void
booking_store_reservation_delete_piece(int64 intent_id, int32 piece)
{
	static BookingPlan plan = {
		"DELETE FROM booking.reservation WHERE intent_id = $1 AND piece = $2",
		{INT8OID, INT4OID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = Int32GetDatum(piece);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Move rows to other lanes of their resource.  The constraint is immediate and
 * one UPDATE would meet rows that have not moved yet, so all go up to the
 * temporary lanes first and down from there.  Needs the exclusive lock of the
 * resource.
 */
void
booking_store_reservation_relane(BookingReservation **rows,
								 const int32 *lanes, int count)
{
	static BookingPlan up = {
		"UPDATE booking.reservation r SET unit = m.lane + 32768"
		"  FROM unnest($1, $2, $3) AS m(intent_id, piece, lane)"
		" WHERE r.intent_id = m.intent_id AND r.piece = m.piece",
		{INT8ARRAYOID, INT4ARRAYOID, INT4ARRAYOID}
	};
	static BookingPlan down = {
		"UPDATE booking.reservation r SET unit = r.unit - 32768"
		"  FROM unnest($1, $2) AS m(intent_id, piece)"
		" WHERE r.intent_id = m.intent_id AND r.piece = m.piece",
		{INT8ARRAYOID, INT4ARRAYOID}
	};
	int64	   *intent_ids = palloc_array(int64, count);
	int32	   *pieces = palloc_array(int32, count);
	Datum		values[3];

	for (int i = 0; i < count; i++)
	{
		intent_ids[i] = rows[i]->intent_id;
		pieces[i] = rows[i]->piece;
	}
	values[0] = PointerGetDatum(booking_record_make_int8_array(intent_ids, count));
	values[1] = PointerGetDatum(booking_record_make_int4_array(pieces, count));
	values[2] = PointerGetDatum(booking_record_make_int4_array(lanes, count));
	if (booking_plan_run(&up, values, NULL, 0) != (uint64) count ||
		booking_plan_run(&down, values, NULL, 0) != (uint64) count)
		elog(ERROR, "reservations vanished while they were moved");
}

/*
 * Structs of all rows of the last result, whose columns are
 * RESERVATION_COLUMNS.
 */
static BookingReservation *
reservations_from_rows(uint64 count)
{
	BookingReservation *rows = palloc0_array(BookingReservation, count + 1);

	for (uint64 i = 0; i < count; i++)
	{
		BookingReservation *row = &rows[i];
		bool		isnull;
		Datum		value;

		row->intent_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		row->piece = DatumGetInt32(booking_plan_column(i, 2, NULL));
		row->unit = DatumGetInt32(booking_plan_column(i, 3, NULL));
		booking_range_bounds(booking_plan_column(i, 4, NULL),
							 &row->start, &row->end);
		value = booking_plan_column(i, 5, &isnull);
		row->held = !isnull;
		row->hold_until = DatumGetTimestampTz(value);
		row->override = DatumGetBool(booking_plan_column(i, 6, NULL));
	}
	return rows;
}

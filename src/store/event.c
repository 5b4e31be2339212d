/*-------------------------------------------------------------------------
 *
 * event.c
 *	  statements on booking.event
 *
 * A calendar may hold a hundred thousand events, so everything here is done
 * for many at once, with arrays.  Plans are made when nothing is known of how
 * many there are, so the statements leave no choice but to look each object up
 * by the index of event_identity_key: a join with unnest() would be planned as
 * a reading of all events for each object.
 *
 * IDENTIFICATION
 *	  booking/src/store/event.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "store/event.h"
#include "store/plan.h"

#define FIRST_ROWS 256

/* types of the columns, in the order of BookingEventColumn */
static const Oid column_types[BOOKING_EVENT_COLUMNS] = {
	TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BOOLOID, BOOLOID,
	BOOLOID, TEXTOID, TEXTOID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
	TEXTOID, JSONBOID, TEXTOID
};

static Datum column_array(const BookingEventRows *rows, int column);

/*
 * Add a row to those that are to be stored.
 */
void
booking_store_event_add(BookingEventRows *rows, const Datum *values,
						const bool *nulls)
{
	if (rows->count == rows->size)
	{
		int			size = rows->size == 0 ? FIRST_ROWS : rows->size * 2;

		for (int i = 0; i < BOOKING_EVENT_COLUMNS; i++)
		{
			if (rows->size == 0)
			{
				rows->values[i] = palloc_array(Datum, size);
				rows->nulls[i] = palloc_array(bool, size);
				continue;
			}
			rows->values[i] = repalloc(rows->values[i], size * sizeof(Datum));
			rows->nulls[i] = repalloc(rows->nulls[i], size * sizeof(bool));
		}
		rows->size = size;
	}
	for (int i = 0; i < BOOKING_EVENT_COLUMNS; i++)
	{
		rows->values[i][rows->count] = values[i];
		rows->nulls[i][rows->count] = nulls[i];
	}
	rows->count++;
}

/*
 * Store rows of objects that have none.  An event is ours if its marker is our
 * id and its UID too, since a copy has a UID of its own; in the calendar that
 * it was written to the UID alone is enough, since no two objects of a calendar
 * share one, and editors drop what they do not know.  It belongs to the newest
 * intent that wants or wanted the event to be.
 */
void
booking_store_events_insert(int64 calendar_id, int64 round,
							const BookingEventRows *rows)
{
	static BookingPlan plan = {
		"INSERT INTO booking.event (calendar_id, seen_round,"
		"  intent_id, object, occurrence, during, busy, all_day, recurring,"
		"  status, transparency, sequence, uid, marker, etag, zone, organizer,"
		"  attendees, problem)"
		" SELECT $1, $2, CASE WHEN length(x.uid) = " BOOKING_EVENT_ID_LENGTH " THEN"
		"   (SELECT o.intent_id FROM booking.operation o"
		"    WHERE o.event_id = x.uid AND o.tenant = c.tenant"
		"      AND (x.marker = x.uid OR o.calendar = c.calendar)"
		"    ORDER BY o.state IN ('rejected', 'dropped'), o.operation_id DESC"
		"    LIMIT 1) END,"
		"  x.object, x.occurrence, CASE WHEN x.start IS NULL THEN NULL"
		"   WHEN x.until > x.start THEN tstzrange(x.start, x.until)"
		"   ELSE tstzrange(x.start, x.start, '[]') END,"
		"  x.busy, x.all_day, x.recurring, x.status, x.transparency, x.sequence,"
		"  x.uid, x.marker, x.etag, x.zone, x.organizer, x.attendees, x.problem"
		"  FROM booking.calendar c,"
		"   unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
		"   $16, $17, $18, $19) AS x (object, occurrence, start, until, busy,"
		"   all_day, recurring, status, transparency, sequence, uid, marker, etag,"
		"   zone, organizer, attendees, problem)"
		" WHERE c.calendar_id = $1"
		" ON CONFLICT ON CONSTRAINT event_identity_key DO NOTHING",
		{INT8OID, INT8OID, TEXTARRAYOID, TIMESTAMPTZARRAYOID,
			TIMESTAMPTZARRAYOID, TIMESTAMPTZARRAYOID, BOOLARRAYOID,
			BOOLARRAYOID, BOOLARRAYOID, TEXTARRAYOID, TEXTARRAYOID,
			INT4ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID,
			TEXTARRAYOID, TEXTARRAYOID, JSONBARRAYOID, TEXTARRAYOID}
	};
	Datum		values[2 + BOOKING_EVENT_COLUMNS];

	if (rows->count == 0)
		return;
	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	for (int i = 0; i < BOOKING_EVENT_COLUMNS; i++)
		values[2 + i] = column_array(rows, i);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Delete all that is stored of some objects, which are going to be stored
 * anew.  Which of them were ours is returned in owned, for
 * booking_store_events_keep().
 */
void
booking_store_events_delete(int64 calendar_id, ArrayType *objects,
							BookingOwnedObjects *owned)
{
	static BookingPlan plan = {
		"WITH e AS (DELETE FROM booking.event d"
		"  WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($2) AS o (object),"
		"   LATERAL (SELECT e.ctid FROM booking.event e"
		"     WHERE e.calendar_id = $1 AND e.object = o.object OFFSET 0) x))"
		"  RETURNING d.intent_id, d.object)"
		" SELECT DISTINCT ON (e.object) e.object, e.intent_id FROM e"
		"  WHERE e.intent_id IS NOT NULL ORDER BY e.object",
		{INT8OID, TEXTARRAYOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = PointerGetDatum(objects);
	owned->count = (int) booking_plan_run(&plan, values, NULL, 0);
	owned->objects = palloc_array(text *, owned->count + 1);
	owned->intent_ids = palloc_array(int64, owned->count + 1);
	for (int i = 0; i < owned->count; i++)
	{
		owned->objects[i] = DatumGetTextPP(booking_plan_column(i, 1, NULL));
		owned->intent_ids[i] = DatumGetInt64(booking_plan_column(i, 2, NULL));
	}
}

/*
 * An object that was ours and says nothing of whose it is, because it cannot be
 * read or has no occurrence in the window, is ours still.
 */
void
booking_store_events_keep(int64 calendar_id, const BookingOwnedObjects *owned)
{
	static BookingPlan plan = {
		"UPDATE booking.event d SET intent_id = x.intent_id"
		"  FROM (SELECT o.intent_id, e.ctid"
		"    FROM unnest($2, $3) AS o (object, intent_id),"
		"     LATERAL (SELECT e.ctid FROM booking.event e"
		"       WHERE e.calendar_id = $1 AND e.object = o.object"
		"         AND e.intent_id IS NULL AND e.uid IS NULL OFFSET 0) e) x"
		" WHERE d.ctid = x.ctid",
		{INT8OID, TEXTARRAYOID, INT8ARRAYOID}
	};
	Datum		values[3];

	if (owned->count == 0)
		return;
	values[0] = Int64GetDatum(calendar_id);
	values[1] = PointerGetDatum(booking_record_make_text_array(owned->objects,
															   owned->count));
	values[2] = PointerGetDatum(booking_record_make_int8_array(owned->intent_ids,
															   owned->count));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A listing says that some objects are gone.  Events of ours are only marked,
 * to be judged at the end of the round, or of the next one if they were written
 * while this one was in progress: what it says may be older (see effects.c).
 */
void
booking_store_events_remove(int64 calendar_id, ArrayType *objects)
{
	static BookingPlan foreign = {
		"DELETE FROM booking.event d"
		" WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($2) AS o (object),"
		"   LATERAL (SELECT e.ctid FROM booking.event e"
		"     WHERE e.calendar_id = $1 AND e.object = o.object"
		"       AND e.intent_id IS NULL OFFSET 0) x))",
		{INT8OID, TEXTARRAYOID}
	};
	static BookingPlan own = {
		"UPDATE booking.event d SET seen_round = -1, etag = NULL"
		" WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($2) AS o (object),"
		"   LATERAL (SELECT e.ctid FROM booking.event e"
		"     WHERE e.calendar_id = $1 AND e.object = o.object"
		"       AND e.intent_id IS NOT NULL OFFSET 0) x))",
		{INT8OID, TEXTARRAYOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = PointerGetDatum(objects);
	booking_plan_run(&foreign, values, NULL, 0);
	booking_plan_run(&own, values, NULL, 0);
}

/*
 * Delete what a whole listing did not name; events of ours are judged first.
 * One of a window says nothing of events outside of it; what belongs to a series
 * is kept inside only.
 */
void
booking_store_events_sweep(int64 calendar_id, int64 round, bool windowed,
						   TimestampTz from, TimestampTz until)
{
	static BookingPlan plan = {
		"DELETE FROM booking.event d WHERE d.calendar_id = $1"
		" AND d.seen_round < $2 AND d.intent_id IS NULL"
		" AND (NOT $3 OR d.recurring OR d.during IS NULL"
		"  OR d.during && tstzrange($4, $5))",
		{INT8OID, INT8OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = BoolGetDatum(windowed);
	values[3] = TimestampTzGetDatum(from);
	values[4] = TimestampTzGetDatum(until);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Note that a whole listing names these objects, in the version that is stored.
 */
void
booking_store_events_seen(int64 calendar_id, int64 round, ArrayType *objects)
{
	static BookingPlan plan = {
		"UPDATE booking.event d SET seen_round = $2"
		" WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($3) AS o (object),"
		"   LATERAL (SELECT e.ctid FROM booking.event e"
		"     WHERE e.calendar_id = $1 AND e.object = o.object"
		"       AND e.seen_round < $2 OFFSET 0) x))",
		{INT8OID, INT8OID, TEXTARRAYOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = PointerGetDatum(objects);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Which of these objects are not stored in this version, or, of those that are
 * in doubt, are stored?  Their places in the arrays, counted from 0, ascending;
 * returns how many.
 */
int
booking_store_events_unknown(int64 calendar_id, ArrayType *objects,
							 ArrayType *etags, ArrayType *doubts, int *places)
{
	static BookingPlan plan = {
		"SELECT l.place::integer FROM unnest($2, $3, $4) WITH ORDINALITY"
		"   AS l (object, etag, doubted, place)"
		" WHERE l.doubted = ((SELECT true FROM booking.event e"
		"   WHERE e.calendar_id = $1 AND e.object = l.object"
		"     AND (l.doubted OR e.etag = l.etag) LIMIT 1) IS NOT NULL)"
		" ORDER BY l.place",
		{INT8OID, TEXTARRAYOID, TEXTARRAYOID, BOOLARRAYOID}
	};
	Datum		values[4];
	uint64		count;

	values[0] = Int64GetDatum(calendar_id);
	values[1] = PointerGetDatum(objects);
	values[2] = PointerGetDatum(etags);
	values[3] = PointerGetDatum(doubts);
	count = booking_plan_run(&plan, values, NULL, 0);
	for (uint64 i = 0; i < count; i++)
		places[i] = DatumGetInt32(booking_plan_column(i, 1, NULL)) - 1;
	return (int) count;
}

/*
 * Have the series of a calendar fetched again, because the window they were
 * expanded in has moved.
 */
void
booking_store_events_expire(int64 calendar_id)
{
	static BookingPlan plan = {
		"UPDATE booking.event SET etag = NULL"
		" WHERE calendar_id = $1 AND recurring AND etag IS NOT NULL",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(calendar_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A column of all rows.
 */
static Datum
column_array(const BookingEventRows *rows, int column)
{
	int			dims[1] = {rows->count};
	int			bounds[1] = {1};
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(column_types[column], &typlen, &typbyval, &typalign);
	return PointerGetDatum(construct_md_array(rows->values[column],
											  rows->nulls[column], 1, dims,
											  bounds, column_types[column],
											  typlen, typbyval, typalign));
}

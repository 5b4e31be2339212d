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

/* what a statement that deletes returns of events of ours */
#define FACT_COLUMNS "e.intent_id, e.object, e.occurrence"

/* types of the columns, in the order of BookingEventColumn */
static const Oid column_types[BOOKING_EVENT_COLUMNS] = {
	TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, BOOLOID, BOOLOID,
	BOOLOID, TEXTOID, TEXTOID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
	TEXTOID, JSONBOID, TEXTOID
};

static Datum column_array(const BookingEventRows *rows, int column);
static void add_facts(BookingEventFacts *facts, uint64 count, bool present);

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
 * id and its UID too, since a copy has a UID of its own; it belongs to the
 * newest intent that wants or wanted the event to be.
 */
void
booking_store_events_insert(int64 calendar_id, int64 round,
							const BookingEventRows *rows,
							BookingEventFacts *facts)
{
	static BookingPlan plan = {
		"WITH e AS (INSERT INTO booking.event (calendar_id, seen_round,"
		"  intent_id, object, occurrence, during, busy, all_day, recurring,"
		"  status, transparency, sequence, uid, marker, etag, zone, organizer,"
		"  attendees, problem)"
		" SELECT $1, $2, CASE WHEN x.marker = x.uid THEN"
		"   (SELECT o.intent_id FROM booking.operation o"
		"     WHERE o.event_id = x.marker AND o.tenant ="
		"       (SELECT c.tenant FROM booking.calendar c WHERE c.calendar_id = $1)"
		"     ORDER BY o.state IN ('rejected', 'dropped'), o.operation_id DESC"
		"     LIMIT 1) END,"
		"  x.object, x.occurrence, CASE WHEN x.start IS NULL THEN NULL"
		"   WHEN x.until > x.start THEN tstzrange(x.start, x.until)"
		"   ELSE tstzrange(x.start, x.start, '[]') END,"
		"  x.busy, x.all_day, x.recurring, x.status, x.transparency, x.sequence,"
		"  x.uid, x.marker, x.etag, x.zone, x.organizer, x.attendees, x.problem"
		"  FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"
		"   $16, $17, $18, $19) AS x (object, occurrence, start, until, busy,"
		"   all_day, recurring, status, transparency, sequence, uid, marker, etag,"
		"   zone, organizer, attendees, problem)"
		" ON CONFLICT ON CONSTRAINT event_identity_key DO NOTHING"
		" RETURNING intent_id, object, occurrence)"
		" SELECT " FACT_COLUMNS " FROM e WHERE e.intent_id IS NOT NULL",
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
	add_facts(facts, booking_plan_run(&plan, values, NULL, 0), true);
}

/*
 * Delete all that is stored of some objects.
 */
void
booking_store_events_delete(int64 calendar_id, ArrayType *objects,
							BookingEventFacts *facts)
{
	static BookingPlan plan = {
		"WITH e AS (DELETE FROM booking.event d"
		"  WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($2) AS o (object),"
		"   LATERAL (SELECT e.ctid FROM booking.event e"
		"     WHERE e.calendar_id = $1 AND e.object = o.object OFFSET 0) x))"
		"  RETURNING d.intent_id, d.object, d.occurrence)"
		" SELECT " FACT_COLUMNS " FROM e WHERE e.intent_id IS NOT NULL",
		{INT8OID, TEXTARRAYOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = PointerGetDatum(objects);
	add_facts(facts, booking_plan_run(&plan, values, NULL, 0), false);
}

/*
 * Delete what a whole listing did not name.  One of a window says nothing of
 * events outside of it; what belongs to a series is kept inside only.
 */
void
booking_store_events_sweep(int64 calendar_id, int64 round, bool windowed,
						   TimestampTz from, TimestampTz until,
						   BookingEventFacts *facts)
{
	static BookingPlan plan = {
		"WITH e AS (DELETE FROM booking.event d"
		"  WHERE d.calendar_id = $1 AND d.seen_round < $2"
		"    AND (NOT $3 OR d.recurring OR d.during IS NULL"
		"     OR d.during && tstzrange($4, $5))"
		"  RETURNING d.intent_id, d.object, d.occurrence)"
		" SELECT " FACT_COLUMNS " FROM e WHERE e.intent_id IS NOT NULL",
		{INT8OID, INT8OID, BOOLOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = Int64GetDatum(round);
	values[2] = BoolGetDatum(windowed);
	values[3] = TimestampTzGetDatum(from);
	values[4] = TimestampTzGetDatum(until);
	add_facts(facts, booking_plan_run(&plan, values, NULL, 0), false);
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
 * Whose an intent is, and what is known of its event; false if its event is
 * not settled, so that the worker who sends it knows better.
 */
bool
booking_store_event_intent(int64 intent_id, BookingIdentity *identity,
						   text **event)
{
	static BookingPlan plan = {
		"SELECT i.tenant, i.principal, i.intent, i.event FROM booking.intent i"
		" WHERE i.intent_id = $1 AND i.state = 'created'",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(intent_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	identity->tenant = DatumGetTextPP(booking_plan_column(0, 1, NULL));
	identity->principal = DatumGetTextPP(booking_plan_column(0, 2, NULL));
	identity->intent = DatumGetTextPP(booking_plan_column(0, 3, NULL));
	*event = DatumGetTextPP(booking_plan_column(0, 4, NULL));
	return true;
}

/*
 * Note what is known of an intent's event; its state is another matter.
 */
void
booking_store_event_note(int64 intent_id, const char *event, text *role,
						 TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.intent SET event = $2, changed_role = $3,"
		" changed_at = $4, revision = revision + 1"
		" WHERE intent_id = $1 AND event <> $2",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = Int64GetDatum(intent_id);
	values[1] = CStringGetTextDatum(event);
	values[2] = PointerGetDatum(role);
	values[3] = TimestampTzGetDatum(now);
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

/*
 * Add what a statement returned of events of ours.
 */
static void
add_facts(BookingEventFacts *facts, uint64 count, bool present)
{
	for (uint64 i = 0; i < count; i++)
	{
		BookingEventFact *fact;

		if (facts->count == facts->size)
		{
			facts->size = Max(facts->size * 2, 8);
			facts->facts = facts->facts == NULL ?
				palloc_array(BookingEventFact, facts->size) :
				repalloc(facts->facts, facts->size * sizeof(BookingEventFact));
		}
		fact = &facts->facts[facts->count++];
		fact->intent_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		fact->object = DatumGetTextPP(booking_plan_column(i, 2, NULL));
		fact->occurrence = DatumGetTimestampTz(booking_plan_column(i, 3, NULL));
		fact->present = present;
	}
}

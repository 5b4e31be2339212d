/*-------------------------------------------------------------------------
 *
 * conflict.c
 *	  statements on booking.conflict: other people's events over bookings
 *
 * A look at the calendar comes before each write, but somebody may put an event
 * there between the look and the write, or later.  The booking stands; that
 * both are there is recorded, and is over when one of them has gone.
 *
 * IDENTIFICATION
 *	  booking/src/store/conflict.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/conflict.h"
#include "store/event.h"
#include "store/plan.h"

/*
 * States of what is real: of what waits for its turn, the look at the calendar
 * before the write decides.
 */
#define BOOKED_STATES "('committed', 'creating', 'created', 'unknown')"

/* when a booking is: where its event was moved to and it followed, that time */
#define BOOKED_TIME \
	"coalesce((SELECT m.moved_to FROM booking.operation m" \
	"   WHERE m.intent_id = i.intent_id" \
	"   ORDER BY m.operation_id DESC LIMIT 1), i.during)"

/* reservations of the resource with this id, by the constraint's index */
#define LANES_OF(resource_id) \
	"(v.resource_id * 65536 + v.unit) BETWEEN " \
	resource_id " * 65536 AND " resource_id " * 65536 + 65535"

/* busy events of a calendar at the time of a reservation v */
#define EVENTS_OVER(calendar_id) \
	" CROSS JOIN LATERAL (SELECT * FROM booking.event x" \
	"   WHERE x.calendar_id + 0 = " calendar_id " AND x.busy" \
	"     AND x.during && v.occupied OFFSET 0) e"

/*
 * Record the overlaps of an event e and a booking that holds v; $1 is the time.
 * The part from says where to begin, so that only what is asked about is read.
 * An event that takes one unit is over a booking only where all units are taken;
 * an orphan takes one, as the booking did whose event it was.
 */
#define NOTE_OVERLAPS(from) \
	"INSERT INTO booking.conflict AS k (found_at, intent_id, calendar_id, kind," \
	" tenant, object, during)" \
	" SELECT DISTINCT ON (i.intent_id, e.calendar_id, e.object)" \
	"  $1, i.intent_id, e.calendar_id, 'overlap', i.tenant, e.object, e.during" \
	"  FROM " from \
	"  JOIN booking.calendar c ON c.calendar_id = e.calendar_id" \
	"  JOIN booking.account a ON a.tenant = c.tenant AND a.account = c.account" \
	"  JOIN booking.resource r ON r.resource_id = v.resource_id" \
	"  JOIN booking.intent i ON i.intent_id = v.intent_id" \
	" WHERE e.busy AND e.intent_id IS NULL AND " BOOKED_TIME " && e.during" \
	"   AND i.state IN " BOOKED_STATES " AND NOT v.override" \
	"   AND NOT EXISTS (SELECT FROM booking.operation o" \
	"    WHERE o.event_id = e.uid AND o.tenant = c.tenant)" \
	"   AND CASE CASE WHEN " BOOKING_ORPHAN_EVENT " THEN 'one'" \
	"    ELSE coalesce(a.settings ->> 'busy_blocks', 'all') END" \
	"    WHEN 'all' THEN true WHEN 'none' THEN false" \
	"    ELSE r.capacity <= (SELECT count(*) FROM booking.reservation v" \
	"     WHERE " LANES_OF("r.resource_id") \
	"       AND v.occupied && (e.during * " BOOKED_TIME ")) END" \
	" ORDER BY i.intent_id, e.calendar_id, e.object, lower(e.during)" \
	" ON CONFLICT (kind, intent_id, calendar_id, object)" \
	"  WHERE resolved_at IS NULL DO UPDATE SET during = EXCLUDED.during" \
	"  WHERE k.during IS DISTINCT FROM EXCLUDED.during"

/*
 * Record which bookings lie under events of some objects of a calendar.
 */
void
booking_store_overlaps_of_objects(int64 calendar_id, ArrayType *objects,
								  TimestampTz now)
{
	static BookingPlan plan = {
		NOTE_OVERLAPS("(SELECT x.*, y.resource_id FROM booking.event x"
					  "   JOIN booking.calendar z ON z.calendar_id = x.calendar_id"
					  "   JOIN booking.resource y"
					  "     ON y.tenant = z.tenant AND y.resource = z.resource"
					  "  WHERE x.calendar_id = $2 AND x.object = ANY ($3)"
					  "    AND x.busy OFFSET 0) e"
					  " CROSS JOIN LATERAL (SELECT * FROM booking.reservation v"
					  "   WHERE " LANES_OF("e.resource_id")
					  "     AND v.occupied && e.during OFFSET 0) v"),
		{TIMESTAMPTZOID, INT8OID, TEXTARRAYOID}
	};
	Datum		values[3];

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(calendar_id);
	values[2] = PointerGetDatum(objects);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Record which events bookings lie under that have become real.
 */
void
booking_store_overlaps_of_intents(const int64 *intent_ids, int count,
								  TimestampTz now)
{
	static BookingPlan plan = {
		NOTE_OVERLAPS("(SELECT v.*, z.calendar_id FROM booking.reservation v"
					  "   CROSS JOIN LATERAL (SELECT z.calendar_id"
					  "     FROM booking.resource y JOIN booking.calendar z"
					  "       ON z.tenant = y.tenant AND z.resource = y.resource"
					  "    WHERE y.resource_id = v.resource_id OFFSET 0) z"
					  "  WHERE v.intent_id = ANY ($2) OFFSET 0) v"
					  EVENTS_OVER("v.calendar_id")),
		{TIMESTAMPTZOID, INT8ARRAYOID}
	};
	Datum		values[2];

	values[0] = TimestampTzGetDatum(now);
	values[1] = PointerGetDatum(booking_record_make_int8_array(intent_ids, count));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The same for all that is booked from now on of the calendar's resource, where
 * bookings stay local.  No look at the calendar precedes those, and one that
 * was decided while an event was stored has not seen it.
 */
void
booking_store_overlaps_of_calendar(int64 calendar_id, TimestampTz now)
{
	static BookingPlan plan = {
		NOTE_OVERLAPS("(SELECT v.*, z.calendar_id FROM booking.calendar z"
					  "   JOIN booking.resource y"
					  "     ON y.tenant = z.tenant AND y.resource = z.resource"
					  "   JOIN booking.reservation v ON " LANES_OF("y.resource_id")
					  "  WHERE z.calendar_id = $2 AND y.calendar IS NULL"
					  "    AND upper(v.occupied) > $1 OFFSET 0) v"
					  EVENTS_OVER("v.calendar_id")),
		{TIMESTAMPTZOID, INT8OID}
	};
	Datum		values[2];

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(calendar_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Overlaps in a calendar are over where event or booking has gone, or moved.
 */
void
booking_store_overlaps_resolve(int64 calendar_id, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.conflict k SET resolved_at = $2"
		" WHERE k.calendar_id = $1 AND k.kind = 'overlap'"
		"   AND k.resolved_at IS NULL"
		"   AND NOT EXISTS (SELECT FROM booking.event e, booking.intent i"
		"    WHERE e.calendar_id = k.calendar_id AND e.object = k.object"
		"      AND e.busy AND i.intent_id = k.intent_id"
		"      AND " BOOKED_TIME " && e.during AND i.state IN " BOOKED_STATES ")",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(calendar_id);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Nothing that a calendar said counts any more: it is removed.
 */
void
booking_store_conflicts_close(text *tenant, text *calendar, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.conflict k SET resolved_at = $3"
		"  FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.calendar = $2"
		"   AND k.calendar_id = c.calendar_id AND k.resolved_at IS NULL",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(calendar);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

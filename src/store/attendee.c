/*-------------------------------------------------------------------------
 *
 * attendee.c
 *	  whom others invited to our events, or took off them
 *
 * Who decides that an event is to be changed decides for the people that are
 * known to be on it then.  Which those are is kept as a digest, beside those of
 * the overlaps that were known (see busy.c).
 *
 * IDENTIFICATION
 *	  booking/src/store/attendee.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "store/attendee.h"
#include "store/plan.h"

/*
 * Addresses in a list, sorted; the organizer is none of them, since servers add
 * and leave out organizers by themselves.
 */
#define ADDRESSES(list, path) \
	"(SELECT coalesce(string_agg(l.address, ',' ORDER BY l.address COLLATE \"C\"), '')" \
	"   FROM (SELECT DISTINCT lower(coalesce(x #>> '{}', '')) AS address" \
	"    FROM jsonb_path_query(" list ", '" path "') x) l" \
	"  WHERE l.address IS DISTINCT FROM lower(e.organizer)" \
	"    AND l.address IS DISTINCT FROM lower(i.terms #>> '{event,organizer,email}'))"

/*
 * The event e of an operation p that succeeded, where it was read and is not the
 * version that we left, and who is on it.  One that repeats is another event.
 */
#define CHANGED_EVENT \
	"  JOIN booking.intent i ON i.intent_id = p.intent_id" \
	"  JOIN booking.calendar c" \
	"    ON c.tenant = p.tenant AND c.calendar = p.calendar" \
	"  JOIN booking.event e ON e.calendar_id = c.calendar_id" \
	"   AND e.object = p.href AND e.uid = p.event_id" \
	" CROSS JOIN LATERAL (SELECT " ADDRESSES("e.attendees", "$[*].email") \
	"   AS there, " ADDRESSES("i.terms", "$.event.attendees[*].email") \
	"   AS left_there) a" \
	" WHERE p.state = 'confirmed' AND NOT e.recurring AND e.problem IS NULL" \
	"   AND e.etag <> coalesce(p.etag, '') AND a.there <> a.left_there"

/* which people they are, and where */
#define DIGEST_OF_PEOPLE \
	"hashtextextended(concat_ws('/', 'people', e.calendar_id, e.object, a.there), 0)"

/*
 * Are other people on an intent's event than we left there, and is that news?
 */
bool
booking_store_attendees_changed(int64 intent_id, const int64 *known,
								int nknown, BookingBusyEvent *change)
{
	static BookingPlan plan = {
		"SELECT " DIGEST_OF_PEOPLE ", c.calendar FROM"
		" (SELECT * FROM booking.operation o WHERE o.intent_id = $1"
		"   ORDER BY o.operation_id DESC LIMIT 1) p"
		CHANGED_EVENT " AND " DIGEST_OF_PEOPLE " <> ALL ($2)",
		{INT8OID, INT8ARRAYOID}
	};
	Datum		values[2];

	memset(change, 0, sizeof(*change));
	values[0] = Int64GetDatum(intent_id);
	values[1] = PointerGetDatum(booking_record_make_int8_array(known, nknown));
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	change->people = true;
	change->digest = DatumGetInt64(booking_plan_column(0, 1, NULL));
	change->calendar = DatumGetTextPP(booking_plan_column(0, 2, NULL));
	return true;
}

/*
 * Who is on the event that an operation changes, if those are others than we
 * left there, and it was known when the change was decided; else NULL.
 */
Jsonb *
booking_store_attendees_accepted(int64 operation_id)
{
	static BookingPlan plan = {
		"SELECT coalesce(e.attendees, '[]') FROM booking.operation o"
		"  JOIN booking.operation p ON p.operation_id = o.previous_id"
		CHANGED_EVENT " AND o.operation_id = $1"
		" AND " DIGEST_OF_PEOPLE " = ANY (o.known_events)",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(operation_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return NULL;
	return DatumGetJsonbP(booking_plan_column(0, 1, NULL));
}

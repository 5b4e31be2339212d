/*-------------------------------------------------------------------------
 *
 * busy.c
 *	  statements on what calendars say of the time of resources and people
 *
 * Nothing here reads a title or an address of an event: what is told of one is
 * when it is, and in which calendar.
 *
 * IDENTIFICATION
 *	  booking/src/store/busy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/busy.h"
#include "store/cache.h"
#include "store/event.h"
#include "store/plan.h"

/* how the events of an account's calendars count */
#define BUSY_BLOCKS "coalesce(a.settings ->> 'busy_blocks', 'all')"

/*
 * The intent that an event belongs to: the one it was matched with, or, where
 * the marker was lost on the way (a copy in an attendee's calendar, an editor
 * that drops what it does not know), the one whose id the UID is.  Nobody can
 * guess such an id.
 */
#define OWNER_OF_EVENT \
	"LATERAL (SELECT coalesce(e.intent_id," \
	"   (SELECT o.intent_id FROM booking.operation o" \
	"     WHERE o.event_id = e.uid AND o.tenant = $1" \
	"     ORDER BY o.state IN ('rejected', 'dropped'), o.operation_id DESC" \
	"     LIMIT 1)) AS intent_id) w"

/* which event it is, for as long as it lies in that calendar */
#define DIGEST_OF_EVENT \
	"hashtextextended(concat_ws('/', e.calendar_id," \
	" extract(epoch FROM e.occurrence), e.object), 0)"

#define EVENT_BOUNDS \
	"coalesce(lower(e.during), '-infinity'), coalesce(upper(e.during), 'infinity')"

/* a tenant's resources that have calendars, as cached; all of them if few */
#define FEW_SHOWN 1000

typedef struct Shown
{
	bool		complete;		/* these are all */
	int			count;
	text	   *resources[FLEXIBLE_ARRAY_MEMBER];	/* in their order */
} Shown;

static const Shown *resources_shown(text *tenant);
static void bind_scope(const BookingBusyScope *scope, Datum *values);

/*
 * May a resource have calendars whose events count?  Most have none, and this
 * answers for all of a tenant's with one reading.
 */
bool
booking_store_may_be_busy(text *tenant, text *resource)
{
	const Shown *shown = resources_shown(tenant);
	int			low = 0;
	int			high = shown->count;

	if (!shown->complete)
		return true;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = booking_text_compare(shown->resources[middle], resource);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/*
 * The resources of a tenant that have any calendar, or that they are too many
 * to be kept together.
 */
static const Shown *
resources_shown(text *tenant)
{
	static BookingPlan plan = {
		"SELECT DISTINCT c.resource FROM booking.calendar c"
		" WHERE c.tenant = $1 AND c.resource IS NOT NULL"
		" ORDER BY c.resource",
		{TEXTOID}
	};
	BookingCacheKey key = {BOOKING_CACHE_SHOWN, {tenant}};
	Shown	   *known;
	Datum		values[1];
	int			count;

	if (booking_cache_find(&key, (void **) &known))
		return known;

	values[0] = PointerGetDatum(tenant);
	count = (int) booking_plan_run(&plan, values, NULL, FEW_SHOWN + 1);
	known = booking_cache_alloc(offsetof(Shown, resources) +
								count * sizeof(text *));
	known->complete = count <= FEW_SHOWN;
	for (int i = 0; known->complete && i < count; i++)
		known->resources[known->count++] =
			booking_cache_text(DatumGetTextPP(booking_plan_column(i, 1, NULL)));
	booking_cache_add(&key, known);
	return known;
}

/*
 * Calendars whose events count for a resource, by number.
 */
BookingBusyCalendar *
booking_store_busy_calendars(text *tenant, text *resource, int *count)
{
	static BookingPlan plan = {
		"SELECT c.calendar_id, " BUSY_BLOCKS " = 'one', c.calendar"
		"  FROM booking.calendar c"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		" WHERE c.tenant = $1 AND c.resource = $2"
		"   AND " BUSY_BLOCKS " <> 'none'"
		" ORDER BY c.calendar_id",
		{TEXTOID, TEXTOID}
	};
	BookingBusyCalendar *calendars;
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	calendars = palloc0_array(BookingBusyCalendar, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		calendars[i].calendar_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		calendars[i].one_unit = DatumGetBool(booking_plan_column(i, 2, NULL));
		calendars[i].calendar = DatumGetTextPP(booking_plan_column(i, 3, NULL));
	}
	return calendars;
}

/*
 * Events of a calendar that take time of its resource from others, within the
 * scope's time, in the order of their starts; at most so many if limit is not
 * 0.
 *
 * An event of one of our own bookings is no such event where the booking holds
 * the resource at that time, nor in the collection that it was written to,
 * which may be another resource's too.  It is one where somebody moved it away
 * from what its booking holds, and as a copy in the calendar of a resource that
 * its booking does not hold.  An event that has the id which the booking's own
 * would get is what is left of a booking that was lost, and is going to be its
 * own.
 *
 * One meeting in several calendars of a resource has one UID: it is left out
 * where it was counted already.
 */
BookingBusyEvent *
booking_store_busy_events(const BookingBusyScope *scope, int64 calendar_id,
						  long limit, int *count)
{
	static BookingPlan plan = {
		"SELECT " EVENT_BOUNDS
		"  FROM booking.event e, " OWNER_OF_EVENT
		" WHERE e.calendar_id + 0 = $2 AND e.during && $3 AND e.busy"
		"   AND ($6 IS NULL OR e.uid IS DISTINCT FROM $6)"
		"   AND ($7 = 0 OR ($7 = 2) = (w.intent_id IS NULL AND " BOOKING_ORPHAN_EVENT "))"
		"   AND (w.intent_id IS NULL OR w.intent_id <> ALL ($4)"
		"    AND CASE WHEN EXISTS (SELECT FROM booking.reservation v"
		"        WHERE v.intent_id = w.intent_id AND v.resource_id = $5)"
		"      THEN EXISTS (SELECT FROM booking.intent i"
		"         WHERE i.intent_id = w.intent_id AND i.state = 'created')"
		"       AND NOT EXISTS (SELECT FROM booking.reservation v"
		"         WHERE v.intent_id = w.intent_id AND v.resource_id = $5"
		"           AND v.occupied @> e.during)"
		"      ELSE NOT EXISTS (SELECT FROM booking.operation o"
		"         JOIN booking.calendar k"
		"           ON k.tenant = o.tenant AND k.calendar = o.calendar"
		"         JOIN booking.calendar c ON c.calendar_id = $2"
		"        WHERE o.intent_id = w.intent_id"
		"          AND k.tenant = c.tenant AND k.account = c.account"
		"          AND k.remote_id = c.remote_id) END)"
		"   AND NOT EXISTS (SELECT FROM unnest($8) AS b (calendar_id),"
		"     LATERAL (SELECT FROM booking.event x"
		"       WHERE x.calendar_id + 0 = b.calendar_id AND x.during && e.during"
		"         AND x.busy AND x.uid = e.uid AND x.during = e.during OFFSET 0) x)"
		" ORDER BY 1, 2",
		{TEXTOID, INT8OID, TSTZRANGEOID, INT8ARRAYOID, INT8OID, TEXTOID,
			INT4OID, INT8ARRAYOID}
	};
	BookingBusyEvent *events;
	Datum		values[8];
	bool		nulls[8] = {0};

	bind_scope(scope, values);
	values[1] = Int64GetDatum(calendar_id);
	values[4] = Int64GetDatum(scope->resource_id);
	booking_plan_bind(values, nulls, 5, scope->own_event_id == NULL ? NULL :
					  cstring_to_text(scope->own_event_id));
	values[6] = Int32GetDatum((int) scope->which);
	values[7] = PointerGetDatum(booking_record_make_int8_array(scope->counted,
															   scope->ncounted));
	*count = (int) booking_plan_run(&plan, values, nulls, limit);
	events = palloc0_array(BookingBusyEvent, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		events[i].start = DatumGetTimestampTz(booking_plan_column(i, 1, NULL));
		events[i].end = DatumGetTimestampTz(booking_plan_column(i, 2, NULL));
	}
	return events;
}

/*
 * Events in the calendars of the attendees that the terms name, within the
 * scope's time, but for those that are known.
 */
BookingBusyEvent *
booking_store_attendee_events(const BookingBusyScope *scope, Jsonb *terms,
							  const int64 *known, int nknown, int *count)
{
	static BookingPlan plan = {
		"SELECT " EVENT_BOUNDS ", c.calendar, " DIGEST_OF_EVENT
		"  FROM booking.calendar c"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		"  JOIN booking.event e ON e.calendar_id + 0 = c.calendar_id, " OWNER_OF_EVENT
		" WHERE c.tenant = $1 AND lower(c.address) IN"
		"   (SELECT lower(x #>> '{}') FROM"
		"     jsonb_path_query($2, '$.event.attendees[*].email') x)"
		"   AND " BUSY_BLOCKS " <> 'none'"
		"   AND e.during && $3 AND e.busy"
		"   AND (w.intent_id IS NULL OR w.intent_id <> ALL ($4))"
		"   AND " DIGEST_OF_EVENT " <> ALL ($5)"
		" ORDER BY 1, 2, 3, 4",
		{TEXTOID, JSONBOID, TSTZRANGEOID, INT8ARRAYOID, INT8ARRAYOID}
	};
	BookingBusyEvent *events;
	Datum		values[5];

	bind_scope(scope, values);
	values[1] = PointerGetDatum(terms);
	values[4] = PointerGetDatum(booking_record_make_int8_array(known, nknown));
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	events = palloc0_array(BookingBusyEvent, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		events[i].start = DatumGetTimestampTz(booking_plan_column(i, 1, NULL));
		events[i].end = DatumGetTimestampTz(booking_plan_column(i, 2, NULL));
		events[i].calendar = DatumGetTextPP(booking_plan_column(i, 3, NULL));
		events[i].digest = DatumGetInt64(booking_plan_column(i, 4, NULL));
	}
	return events;
}

/*
 * Calendars that matter to a payload, by name: those of its resources, and
 * those whose address is an attendee's.
 */
BookingRelevantCalendar *
booking_store_relevant_calendars(text *tenant, const BookingPayload *payload,
								 int *count)
{
	static BookingPlan plan = {
		"WITH r AS (SELECT c.calendar_id FROM booking.calendar c"
		"   WHERE c.tenant = $1 AND c.resource = ANY ($2)"
		"  UNION SELECT c.calendar_id FROM booking.calendar c"
		"   WHERE c.tenant = $1 AND lower(c.address) IN"
		"    (SELECT lower(x #>> '{}') FROM"
		"      jsonb_path_query($3, '$.event.attendees[*].email') x))"
		" SELECT c.calendar_id, c.calendar, coalesce(k.watermark, 0)"
		"  FROM r"
		"  JOIN booking.calendar c ON c.calendar_id = r.calendar_id"
		"  JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		"  LEFT JOIN booking.cursor k ON k.calendar_id = r.calendar_id"
		" WHERE " BUSY_BLOCKS " <> 'none'"
		" ORDER BY c.calendar",
		{TEXTOID, TEXTARRAYOID, JSONBOID}
	};
	BookingRelevantCalendar *calendars;
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(booking_record_make_text_array(payload->resources,
															   payload->nresources));
	values[2] = PointerGetDatum(payload->terms);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	calendars = palloc0_array(BookingRelevantCalendar, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		calendars[i].calendar_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		calendars[i].calendar = DatumGetTextPP(booking_plan_column(i, 2, NULL));
		calendars[i].watermark = DatumGetInt64(booking_plan_column(i, 3, NULL));
	}
	return calendars;
}

/*
 * Note which attendees' events are no news to the operation that an intent
 * waits for.
 */
void
booking_store_operation_know(int64 intent_id, const int64 *known, int nknown)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET known_events = $2"
		" WHERE intent_id = $1 AND state = 'waiting'",
		{INT8OID, INT8ARRAYOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = PointerGetDatum(booking_record_make_int8_array(known, nknown));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Bind what a scope says: $1 tenant, $3 time, $4 own intents.
 */
static void
bind_scope(const BookingBusyScope *scope, Datum *values)
{
	values[0] = PointerGetDatum(scope->tenant);
	values[2] = PointerGetDatum(booking_range_make(scope->start, scope->end));
	values[3] = PointerGetDatum(booking_record_make_int8_array(scope->own,
															   BOOKING_BUSY_OWN));
}

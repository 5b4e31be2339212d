/*-------------------------------------------------------------------------
 *
 * inventory.c
 *	  statements on booking.tenant, booking.resource and booking.slot
 *
 * IDENTIFICATION
 *	  booking/src/store/inventory.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/busy.h"
#include "store/cache.h"
#include "store/plan.h"
#include "store/row.h"
#include "store/store.h"

/* the columns of booking.resource, counted from 0 */
enum
{
	RESOURCE_ID, TENANT, RESOURCE, CAPACITY, TIME_ZONE, BUFFER_BEFORE,
	BUFFER_AFTER, VERSION, OVERRIDES, CALENDAR, RESOURCE_NCOLUMNS
};

#define RESOURCE_COLUMNS \
	"resource_id, tenant, resource, capacity, time_zone, buffer_before, " \
	"buffer_after, version, overrides, calendar"

static BookingResource *resource_to_cache(text *tenant,
										  const BookingResource *fresh);
static void resource_from_cache(const BookingResource *known, text *name,
								BookingResource *resource);
static void resource_from_columns(const Datum *values, const bool *nulls,
								  BookingResource *resource);
static int64 interval_microseconds(Datum interval);
static Datum microseconds_interval(int64 microseconds);

/*
 * Those of the named resources of a tenant that exist.
 */
BookingResource *
booking_store_resources_read(text *tenant, text **names, int count, int *found)
{
	BookingResource *resources = palloc0_array(BookingResource, count + 1);

	*found = 0;
	for (int i = 0; i < count; i++)
	{
		BookingCacheKey key = {BOOKING_CACHE_RESOURCE, {tenant, names[i]}};
		BookingResource *known;

		if (!booking_cache_find(&key, (void **) &known))
		{
			BookingResource fresh;

			known = NULL;
			if (booking_store_resource_lookup(tenant, names[i], &fresh, NULL))
				known = resource_to_cache(tenant, &fresh);
			booking_cache_add(&key, known);
		}
		if (known != NULL)
			resource_from_cache(known, names[i], &resources[(*found)++]);
	}
	return resources;
}

/*
 * A resource as it is remembered, with the calendars whose events count.
 */
static BookingResource *
resource_to_cache(text *tenant, const BookingResource *fresh)
{
	BookingResource *known = booking_cache_alloc(sizeof(BookingResource));
	BookingBusyCalendar *busy = NULL;

	*known = *fresh;
	known->calendar = booking_cache_text(fresh->calendar);
	if (booking_store_may_be_busy(tenant, fresh->name))
		busy = booking_store_busy_calendars(tenant, fresh->name, &known->nbusy);
	if (known->nbusy > 0)
		known->busy = booking_cache_alloc(sizeof(BookingBusyCalendar) * known->nbusy);
	for (int i = 0; i < known->nbusy; i++)
	{
		known->busy[i] = busy[i];
		known->busy[i].calendar = booking_cache_text(busy[i].calendar);
	}
	return known;
}

/*
 * A copy of a remembered resource: the cache may be emptied while the call
 * goes on.
 */
static void
resource_from_cache(const BookingResource *known, text *name,
					BookingResource *resource)
{
	*resource = *known;
	resource->name = name;
	if (known->calendar != NULL)
		resource->calendar =
			DatumGetTextPCopy(PointerGetDatum(known->calendar));
	if (known->nbusy == 0)
		return;
	resource->busy = palloc_array(BookingBusyCalendar, known->nbusy);
	for (int i = 0; i < known->nbusy; i++)
	{
		resource->busy[i] = known->busy[i];
		resource->busy[i].calendar =
			DatumGetTextPCopy(PointerGetDatum(known->busy[i].calendar));
	}
}

/*
 * Does the tenant want four eyes?
 */
bool
booking_store_tenant_four_eyes(text *tenant)
{
	static BookingPlan plan = {
		"SELECT t.four_eyes FROM booking.tenant t WHERE t.tenant = $1",
		{TEXTOID}
	};
	BookingCacheKey key = {BOOKING_CACHE_FOUR_EYES, {tenant}};
	void	   *known;
	Datum		values[1];
	bool		four_eyes;

	if (booking_cache_find(&key, &known))
		return known != NULL;

	values[0] = PointerGetDatum(tenant);
	four_eyes = booking_plan_run(&plan, values, NULL, 1) > 0 &&
		DatumGetBool(booking_plan_column(0, 1, NULL));
	booking_cache_add(&key, four_eyes ? booking_cache_alloc(1) : NULL);
	return four_eyes;
}

/*
 * Interval and version of a slot; returns whether it exists.
 */
bool
booking_store_slot_read(text *tenant, text *resource, text *slot,
						TimestampTz *start, TimestampTz *end, int64 *version)
{
	static BookingPlan plan = {
		"SELECT s.during, s.version FROM booking.slot s"
		" WHERE s.tenant = $1 AND s.resource = $2 AND s.slot = $3",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	values[2] = PointerGetDatum(slot);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	booking_range_bounds(booking_plan_column(0, 1, NULL), start, end);
	*version = DatumGetInt64(booking_plan_column(0, 2, NULL));
	return true;
}

/*
 * Create or change a slot; returns whether it is new.
 */
bool
booking_store_slot_put(text *tenant, text *resource, text *slot,
					   RangeType *during, int64 version)
{
	static BookingPlan update = {
		"UPDATE booking.slot SET during = $4, version = $5"
		" WHERE tenant = $1 AND resource = $2 AND slot = $3",
		{TEXTOID, TEXTOID, TEXTOID, TSTZRANGEOID, INT8OID}
	};
	static BookingPlan insert = {
		"INSERT INTO booking.slot (tenant, resource, slot, during, version)"
		" VALUES ($1, $2, $3, $4, $5)",
		{TEXTOID, TEXTOID, TEXTOID, TSTZRANGEOID, INT8OID}
	};
	Datum		values[5];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	values[2] = PointerGetDatum(slot);
	values[3] = PointerGetDatum(during);
	values[4] = Int64GetDatum(version);
	if (booking_plan_run(&update, values, NULL, 0) > 0)
		return false;
	booking_plan_run(&insert, values, NULL, 0);
	return true;
}

/*
 * Intents that hold a slot at present.
 */
int64
booking_store_slot_bookings(text *tenant, text *resource, text *slot)
{
	static BookingPlan plan = {
		"SELECT count(DISTINCT v.intent_id)"
		"  FROM booking.resource r"
		"  JOIN booking.reservation v ON"
		"   (v.resource_id * 65536 + v.unit)"
		"   BETWEEN r.resource_id * 65536 AND r.resource_id * 65536 + 65535"
		"  JOIN booking.intent i ON i.intent_id = v.intent_id"
		" WHERE r.tenant = $1 AND r.resource = $2 AND i.slot = $3",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	values[2] = PointerGetDatum(slot);
	booking_plan_run(&plan, values, NULL, 0);
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Create a resource; returns whether there was none of that name.
 */
bool
booking_store_resource_insert(text *tenant, text *resource, int32 capacity,
							  text *time_zone, int64 buffer_before,
							  int64 buffer_after)
{
	static BookingPlan plan = {
		"INSERT INTO booking.resource (tenant, resource, capacity, time_zone,"
		" buffer_before, buffer_after) VALUES ($1, $2, $3, $4, $5, $6)"
		" ON CONFLICT ON CONSTRAINT resource_name_key DO NOTHING",
		{TEXTOID, TEXTOID, INT4OID, TEXTOID, INTERVALOID, INTERVALOID}
	};
	Datum		values[6];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(resource);
	values[2] = Int32GetDatum(capacity);
	values[3] = PointerGetDatum(time_zone);
	values[4] = microseconds_interval(buffer_before);
	values[5] = microseconds_interval(buffer_after);
	return booking_plan_run(&plan, values, NULL, 0) == 1;
}

/*
 * A resource by name; returns whether it exists.  time_zone may be NULL.
 */
bool
booking_store_resource_lookup(text *tenant, text *resource,
							  BookingResource *found, text **time_zone)
{
	static BookingSearch search = {
		{
			"SELECT " RESOURCE_COLUMNS " FROM booking.resource"
			" WHERE tenant = $1 AND resource = $2",
			{TEXTOID, TEXTOID}
		},
		"resource", RESOURCE_COLUMNS, "resource_name_key", "tenant, resource"
	};
	Datum		keys[2];
	Datum		values[RESOURCE_NCOLUMNS];
	bool		nulls[RESOURCE_NCOLUMNS];

	keys[0] = PointerGetDatum(tenant);
	keys[1] = PointerGetDatum(resource);
	if (!booking_row_search(&search, keys, values, nulls))
		return false;
	memset(found, 0, sizeof(*found));
	found->name = resource;
	resource_from_columns(values, nulls, found);
	if (time_zone != NULL)
		*time_zone = DatumGetTextPP(values[TIME_ZONE]);
	return true;
}

/*
 * Change the values of a resource and take its next version.
 */
void
booking_store_resource_update(int64 resource_id, int32 capacity,
							  text *time_zone, int64 buffer_before,
							  int64 buffer_after)
{
	static BookingPlan plan = {
		"UPDATE booking.resource SET capacity = $2, time_zone = $3,"
		" buffer_before = $4, buffer_after = $5, version = version + 1"
		" WHERE resource_id = $1",
		{INT8OID, INT4OID, TEXTOID, INTERVALOID, INTERVALOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(resource_id);
	values[1] = Int32GetDatum(capacity);
	values[2] = PointerGetDatum(time_zone);
	values[3] = microseconds_interval(buffer_before);
	values[4] = microseconds_interval(buffer_after);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Note that a resource has overrides, so that claims look for them.
 */
void
booking_store_resource_mark_overrides(int64 resource_id)
{
	static BookingPlan plan = {
		"UPDATE booking.resource SET overrides = true"
		" WHERE resource_id = $1 AND NOT overrides",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(resource_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Set the rules of a tenant; a NULL pointer keeps the present value.
 */
void
booking_store_tenant_put(text *tenant, const bool *four_eyes)
{
	static BookingPlan plan = {
		"INSERT INTO booking.tenant AS t (tenant, four_eyes)"
		" VALUES ($1, coalesce($2, false))"
		" ON CONFLICT ON CONSTRAINT tenant_pkey DO UPDATE"
		" SET four_eyes = coalesce($2, t.four_eyes)",
		{TEXTOID, BOOLOID}
	};
	Datum		values[2];
	bool		nulls[2] = {0};

	values[0] = PointerGetDatum(tenant);
	values[1] = four_eyes != NULL ? BoolGetDatum(*four_eyes) : 0;
	nulls[1] = four_eyes == NULL;
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Fill a struct from a row.
 */
static void
resource_from_columns(const Datum *values, const bool *nulls,
					  BookingResource *resource)
{
	resource->resource_id = DatumGetInt64(values[RESOURCE_ID]);
	resource->capacity = DatumGetInt32(values[CAPACITY]);
	resource->buffer_before = interval_microseconds(values[BUFFER_BEFORE]);
	resource->buffer_after = interval_microseconds(values[BUFFER_AFTER]);
	resource->version = DatumGetInt64(values[VERSION]);
	resource->overrides = DatumGetBool(values[OVERRIDES]);
	resource->calendar = nulls[CALENDAR] ? NULL : DatumGetTextPP(values[CALENDAR]);
}

/*
 * Microseconds of an interval that a CHECK keeps free of days and months.
 */
static int64
interval_microseconds(Datum interval)
{
	return DatumGetIntervalP(interval)->time;
}

/*
 * The interval of so many microseconds.
 */
static Datum
microseconds_interval(int64 microseconds)
{
	Interval   *interval = palloc0_object(Interval);

	interval->time = microseconds;
	return IntervalPGetDatum(interval);
}

/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  booking_tenant_put, booking_resource_put, booking_slot_put,
 *	  booking_permit, booking_permit_all, booking_bind_role,
 *	  booking_unbind_role
 *
 * Inventory and access.  All of it is audited.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/admin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/zone.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_tenant_put);
PG_FUNCTION_INFO_V1(booking_resource_put);
PG_FUNCTION_INFO_V1(booking_slot_put);
PG_FUNCTION_INFO_V1(booking_permit);
PG_FUNCTION_INFO_V1(booking_permit_all);
PG_FUNCTION_INFO_V1(booking_bind_role);
PG_FUNCTION_INFO_V1(booking_unbind_role);

/* wishes for a resource; what is not given is kept */
typedef struct ResourceWish
{
	text	   *tenant;
	text	   *resource;
	int32		capacity;		/* 0: not given */
	text	   *time_zone;		/* NULL: not given */
	int64		buffer_before;	/* -1: not given */
	int64		buffer_after;	/* -1: not given */
} ResourceWish;

static int64 change_resource(const ResourceWish *wish, bool *changed);
static void audit_resource(const BookingCall *call, const ResourceWish *wish,
						   int64 version);
static void notice_bookings(int64 count, const char *object, const char *kept);
static void permit(FunctionCallInfo fcinfo, text *resource, bool allowed);
static void demand_resource(text *tenant, text *resource,
							BookingResource *found);
static void bind(FunctionCallInfo fcinfo, bool bound);

/*
 * booking_tenant_put(tenant, four_eyes) returns void
 */
Datum
booking_tenant_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	bool		four_eyes = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	BookingCall call;
	BookingDetail detail;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	booking_store_tenant_put(tenant, PG_ARGISNULL(1) ? NULL : &four_eyes);

	booking_detail_begin(&detail);
	if (!PG_ARGISNULL(1))
		booking_detail_word(&detail, "four_eyes", four_eyes ? "on" : "off");
	booking_store_audit("tenant_put", call.role, tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call.now);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_resource_put(tenant, resource, capacity, time_zone, buffer_before,
 * buffer_after) returns bigint
 *
 * The version grows only if a value changes.  Reservations keep the buffers
 * they were made with.
 */
Datum
booking_resource_put(PG_FUNCTION_ARGS)
{
	const int64 longest = BOOKING_MAX_BUFFER_HOURS * USECS_PER_HOUR;
	ResourceWish wish = {0};
	BookingCall call;
	int64		version = 1;
	bool		changed = true;

	wish.tenant = booking_arg_label(fcinfo, 0, "tenant");
	wish.resource = booking_arg_label(fcinfo, 1, "resource");
	if (!PG_ARGISNULL(2))
	{
		wish.capacity = PG_GETARG_INT32(2);
		if (wish.capacity < 1 || wish.capacity > BOOKING_MAX_CAPACITY)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" is out of range", "capacity"),
					 errhint("Give 1 to %d units.", BOOKING_MAX_CAPACITY)));
	}
	if (!PG_ARGISNULL(3))
	{
		pg_tz	   *zone = booking_zone_lookup(PG_GETARG_TEXT_PP(3), "time_zone");

		wish.time_zone = cstring_to_text(pg_get_timezone_name(zone));
	}
	wish.buffer_before = PG_ARGISNULL(4) ? -1 :
		booking_arg_fixed_interval(fcinfo, 4, "buffer_before", 0, longest);
	wish.buffer_after = PG_ARGISNULL(5) ? -1 :
		booking_arg_fixed_interval(fcinfo, 5, "buffer_after", 0, longest);

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, wish.tenant);
	if (!booking_store_resource_insert(wish.tenant, wish.resource,
									   Max(wish.capacity, 1),
									   wish.time_zone != NULL ?
									   wish.time_zone : cstring_to_text("UTC"),
									   Max(wish.buffer_before, 0),
									   Max(wish.buffer_after, 0)))
		version = change_resource(&wish, &changed);
	if (!changed)
	{
		booking_call_end(&call);
		PG_RETURN_INT64(version);
	}

	audit_resource(&call, &wish, version);
	booking_call_end(&call);
	PG_RETURN_INT64(version);
}

/*
 * booking_slot_put(tenant, resource, slot, during, version) returns bigint
 *
 * Equal values leave the version as it is.  Bookings of the slot keep the
 * interval they were made with.
 */
Datum
booking_slot_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *resource = booking_arg_label(fcinfo, 1, "resource");
	text	   *slot = booking_arg_label(fcinfo, 2, "slot");
	TimestampTz start;
	TimestampTz end;
	int64		version = 0;
	BookingCall call;
	BookingDetail detail;
	BookingResource found;
	TimestampTz present_start = 0;
	TimestampTz present_end = 0;
	int64		present = 0;
	bool		equal;

	booking_arg_during(fcinfo, 3, "during", &start, &end);
	if (!PG_ARGISNULL(4))
		version = booking_arg_version(fcinfo, 4, "version");

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	demand_resource(tenant, resource, &found);
	booking_lock_resource(found.resource_id, ExclusiveLock);

	equal = booking_store_slot_read(tenant, resource, slot, &present_start,
									&present_end, &present) &&
		present_start == start && present_end == end;
	if (equal && (version == 0 || version == present))
	{
		booking_call_end(&call);
		PG_RETURN_INT64(present);
	}
	if (version != 0 && version <= present)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the slot already has version " INT64_FORMAT, present),
				 errhint("Give a greater version, or none to take the next one.")));
	if (version == 0)
		version = present + 1;

	if (!booking_store_slot_put(tenant, resource, slot,
								booking_range_make(start, end), version) &&
		!equal)
		notice_bookings(booking_store_slot_bookings(tenant, resource, slot),
						"slot", "interval");

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "resource", resource);
	booking_detail_text(&detail, "slot", slot);
	booking_detail_integer(&detail, "version", version);
	booking_detail_instant(&detail, "start", start);
	booking_detail_instant(&detail, "end", end);
	booking_store_audit("slot_put", call.role, tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call.now);
	booking_call_end(&call);
	PG_RETURN_INT64(version);
}

/*
 * booking_permit(tenant, principal, resource, allowed) returns void
 */
Datum
booking_permit(PG_FUNCTION_ARGS)
{
	booking_arg_label(fcinfo, 0, "tenant");
	booking_arg_label(fcinfo, 1, "principal");
	booking_arg_label(fcinfo, 2, "resource");
	booking_arg_require(fcinfo, 3, "allowed");
	permit(fcinfo, PG_GETARG_TEXT_PP(2), PG_GETARG_BOOL(3));
	PG_RETURN_VOID();
}

/*
 * booking_permit_all(tenant, principal, allowed) returns void
 */
Datum
booking_permit_all(PG_FUNCTION_ARGS)
{
	booking_arg_label(fcinfo, 0, "tenant");
	booking_arg_label(fcinfo, 1, "principal");
	booking_arg_require(fcinfo, 2, "allowed");
	permit(fcinfo, NULL, PG_GETARG_BOOL(2));
	PG_RETURN_VOID();
}

/*
 * booking_bind_role(role, tenant) returns void
 */
Datum
booking_bind_role(PG_FUNCTION_ARGS)
{
	bind(fcinfo, true);
	PG_RETURN_VOID();
}

/*
 * booking_unbind_role(role, tenant) returns void
 */
Datum
booking_unbind_role(PG_FUNCTION_ARGS)
{
	bind(fcinfo, false);
	PG_RETURN_VOID();
}

/*
 * Change a resource that exists, if any value differs, and return its version.
 * The lock waits for
 * the calls that decided on the present values.
 */
static int64
change_resource(const ResourceWish *wish, bool *changed)
{
	BookingResource present;
	text	   *time_zone;
	int32		capacity;
	int64		before;
	int64		after;
	int			bookings;

	demand_resource(wish->tenant, wish->resource, &present);
	booking_lock_resource(present.resource_id, ExclusiveLock);
	(void) booking_store_resource_lookup(wish->tenant, wish->resource,
										 &present, &time_zone);

	capacity = wish->capacity > 0 ? wish->capacity : present.capacity;
	before = wish->buffer_before >= 0 ? wish->buffer_before : present.buffer_before;
	after = wish->buffer_after >= 0 ? wish->buffer_after : present.buffer_after;
	if (capacity == present.capacity && before == present.buffer_before &&
		after == present.buffer_after &&
		(wish->time_zone == NULL ||
		 booking_text_compare(wish->time_zone, time_zone) == 0))
	{
		*changed = false;
		return present.version;
	}

	if (capacity < present.capacity)
		booking_capacity_lower(&present, capacity);
	booking_store_resource_update(present.resource_id, capacity,
								  wish->time_zone != NULL ? wish->time_zone : time_zone,
								  before, after);
	if (before != present.buffer_before || after != present.buffer_after)
	{
		(void) booking_store_reservation_all(present.resource_id, &bookings);
		notice_bookings(bookings, "resource", "buffers");
	}
	return present.version + 1;
}

/*
 * Record what was given of a resource.
 */
static void
audit_resource(const BookingCall *call, const ResourceWish *wish,
			   int64 version)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "resource", wish->resource);
	booking_detail_integer(&detail, "version", version);
	if (wish->capacity > 0)
		booking_detail_integer(&detail, "capacity", wish->capacity);
	booking_detail_text(&detail, "time_zone", wish->time_zone);
	if (wish->buffer_before >= 0)
		booking_detail_integer(&detail, "buffer_before_seconds",
							   wish->buffer_before / USECS_PER_SEC);
	if (wish->buffer_after >= 0)
		booking_detail_integer(&detail, "buffer_after_seconds",
							   wish->buffer_after / USECS_PER_SEC);
	booking_store_audit("resource_put", call->role, wish->tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call->now);
}

/*
 * Say how many bookings a change leaves as they are.
 */
static void
notice_bookings(int64 count, const char *object, const char *kept)
{
	if (count > 0)
		ereport(NOTICE,
				(errmsg(INT64_FORMAT " booking(s) of the %s keep their %s",
						count, object, kept)));
}

/*
 * Set a permission; resource NULL is all.  A resource that does not exist is
 * an error, because a revocation with a typo must not look like one.
 */
static void
permit(FunctionCallInfo fcinfo, text *resource, bool allowed)
{
	text	   *tenant = PG_GETARG_TEXT_PP(0);
	text	   *principal = PG_GETARG_TEXT_PP(1);
	BookingCall call;
	BookingDetail detail;
	BookingResource found;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	if (resource != NULL)
		demand_resource(tenant, resource, &found);
	booking_lock_permission(tenant, principal, ExclusiveLock);
	booking_store_permission_put(tenant, principal, resource, allowed);

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "resource", resource);
	booking_detail_word(&detail, "allowed", allowed ? "true" : "false");
	booking_store_audit(resource != NULL ? "permit" : "permit_all", call.role,
						tenant, principal, NULL, booking_detail_end(&detail),
						NULL, call.now);
	booking_call_end(&call);
}

/*
 * Read a resource, or raise an error.
 */
static void
demand_resource(text *tenant, text *resource, BookingResource *found)
{
	if (!booking_store_resource_lookup(tenant, resource, found, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("resource does not exist"),
				 errhint("Create it with booking_resource_put first, and check the spelling.")));
}

/*
 * Bind or unbind a role.  A role that does not exist can be unbound, which is
 * how the binding of a dropped one is removed.
 */
static void
bind(FunctionCallInfo fcinfo, bool bound)
{
	text	   *role = booking_arg_label(fcinfo, 0, "role");
	text	   *tenant = booking_arg_label(fcinfo, 1, "tenant");
	Oid			role_oid = get_role_oid(text_to_cstring(role), true);
	BookingCall call;
	BookingDetail detail;

	if (bound && !OidIsValid(role_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("argument \"%s\" names no role", "role"),
				 errhint("Give the name of a role as in pg_roles; names are compared byte for byte.")));

	booking_call_begin(&call, fcinfo, true);
	if (!bound)
		booking_lock_binding(tenant, ExclusiveLock);
	booking_access_demand(&call, tenant);
	if (bound)
		booking_store_bind_role(tenant, role, role_oid,
								(int64) GetSystemIdentifier());
	else
		booking_store_unbind_role(tenant, role);

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "role", role);
	booking_store_audit(bound ? "bind_role" : "unbind_role", call.role, tenant,
						NULL, NULL, booking_detail_end(&detail), NULL, call.now);
	booking_call_end(&call);
}

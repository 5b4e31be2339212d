/*-------------------------------------------------------------------------
 *
 * access.c
 *	  statements on booking.permission and booking.role_binding
 *
 * IDENTIFICATION
 *	  booking/src/store/access.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/cache.h"
#include "store/plan.h"
#include "store/store.h"

/* roles bound to a tenant, as cached */
typedef struct BoundRoles
{
	int			count;
	BookingBoundRole roles[FLEXIBLE_ARRAY_MEMBER];
} BoundRoles;

/* a principal's rows, as cached; only all of them if they are few */
#define FEW_PERMISSIONS 32

typedef struct Permissions
{
	bool		complete;		/* these are all rows */
	bool		others;			/* what the row for all resources says */
	int			count;
	struct
	{
		text	   *resource;
		bool		allowed;
	}			rows[FLEXIBLE_ARRAY_MEMBER];
} Permissions;

static Permissions *permissions_read(text *tenant, text *principal);
static void *permission_read(text *tenant, text *principal, text *resource);

/*
 * The row for all resources has this name, which no resource can have.
 */
#define ALL_RESOURCES cstring_to_text_with_len("", 0)

/* cached values of a permission; the addresses tell them apart */
static char allows;
static char forbids;

/*
 * May the principal use a resource?  The row for one resource wins over the
 * one for all; no row forbids.
 */
bool
booking_store_permitted(text *tenant, text *principal, text *resource)
{
	Permissions *known = permissions_read(tenant, principal);
	void	   *permission = NULL;

	if (known->complete)
	{
		for (int i = 0; i < known->count; i++)
		{
			if (booking_text_compare(known->rows[i].resource, resource) == 0)
				return known->rows[i].allowed;
		}
		return known->others;
	}

	permission = permission_read(tenant, principal, resource);
	if (permission == NULL)
		permission = permission_read(tenant, principal, ALL_RESOURCES);
	return permission == &allows;
}

/*
 * May the principal use anything of the tenant?
 */
bool
booking_store_permission_any(text *tenant, text *principal)
{
	static BookingPlan plan = {
		"SELECT FROM booking.permission p"
		" WHERE p.tenant = $1 AND p.principal = $2 AND p.allowed",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Set what a principal may do with one resource or, with NULL, with all that
 * have no row of their own.
 */
void
booking_store_permission_put(text *tenant, text *principal, text *resource,
							 bool allowed)
{
	static BookingPlan plan = {
		"INSERT INTO booking.permission (tenant, principal, resource, allowed)"
		" VALUES ($1, $2, $3, $4)"
		" ON CONFLICT ON CONSTRAINT permission_pkey"
		" DO UPDATE SET allowed = EXCLUDED.allowed",
		{TEXTOID, TEXTOID, TEXTOID, BOOLOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	values[2] = PointerGetDatum(resource != NULL ? resource : ALL_RESOURCES);
	values[3] = BoolGetDatum(allowed);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Names of the roles bound to a tenant, valid until the next
 * booking_cache_accept().
 */
void
booking_store_bound_roles(text *tenant, int64 cluster, int *count,
						  const BookingBoundRole **roles)
{
	static BookingPlan plan = {
		"SELECT b.role, CASE WHEN b.cluster = $2 THEN b.role_oid END"
		"  FROM booking.role_binding b WHERE b.tenant = $1",
		{TEXTOID, INT8OID}
	};
	BookingCacheKey key = {BOOKING_CACHE_BINDING, {tenant}};
	BoundRoles *known;
	Datum		values[2];

	if (!booking_cache_find(&key, (void **) &known))
	{
		int			found;

		values[0] = PointerGetDatum(tenant);
		values[1] = Int64GetDatum(cluster);
		found = (int) booking_plan_run(&plan, values, NULL, 0);
		known = booking_cache_alloc(offsetof(BoundRoles, roles) +
									found * sizeof(BookingBoundRole));
		known->count = found;
		for (int i = 0; i < found; i++)
		{
			known->roles[i].role =
				booking_cache_text(DatumGetTextPP(booking_plan_column(i, 1, NULL)));
			known->roles[i].role_oid =
				DatumGetObjectId(booking_plan_column(i, 2, NULL));
		}
		booking_cache_add(&key, known);
	}
	*count = known->count;
	*roles = known->roles;
}

/*
 * Let a role act for a tenant.
 */
void
booking_store_bind_role(text *tenant, text *role, Oid role_oid, int64 cluster)
{
	static BookingPlan plan = {
		"INSERT INTO booking.role_binding (tenant, role, role_oid, cluster)"
		" VALUES ($1, $2, $3, $4)"
		" ON CONFLICT ON CONSTRAINT role_binding_pkey DO UPDATE"
		" SET role_oid = EXCLUDED.role_oid, cluster = EXCLUDED.cluster",
		{TEXTOID, TEXTOID, OIDOID, INT8OID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(role);
	values[2] = ObjectIdGetDatum(role_oid);
	values[3] = Int64GetDatum(cluster);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Stop a role from acting for a tenant; waits for the calls that rely on it.
 */
void
booking_store_unbind_role(text *tenant, text *role)
{
	static BookingPlan plan = {
		"DELETE FROM booking.role_binding WHERE tenant = $1 AND role = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(role);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The rows of a principal, or that they are too many to be kept together.
 * Most principals have one row for all resources: it must not take an entry
 * for each resource to know that there is no other.
 */
static Permissions *
permissions_read(text *tenant, text *principal)
{
	static BookingPlan plan = {
		"SELECT p.resource, p.allowed FROM booking.permission p"
		" WHERE p.tenant = $1 AND p.principal = $2",
		{TEXTOID, TEXTOID}
	};
	BookingCacheKey key = {BOOKING_CACHE_PRINCIPAL, {tenant, principal}};
	Permissions *known;
	Datum		values[2];
	int			count;

	if (booking_cache_find(&key, (void **) &known))
		return known;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	count = (int) booking_plan_run(&plan, values, NULL, FEW_PERMISSIONS + 1);
	known = booking_cache_alloc(offsetof(Permissions, rows) +
								Min(count, FEW_PERMISSIONS) * sizeof(known->rows[0]));
	known->complete = count <= FEW_PERMISSIONS;
	for (int i = 0; known->complete && i < count; i++)
	{
		text	   *resource = DatumGetTextPP(booking_plan_column(i, 1, NULL));
		bool		allowed = DatumGetBool(booking_plan_column(i, 2, NULL));

		if (VARSIZE_ANY_EXHDR(resource) == 0)
			known->others = allowed;
		else
		{
			known->rows[known->count].resource = booking_cache_text(resource);
			known->rows[known->count++].allowed = allowed;
		}
	}
	booking_cache_add(&key, known);
	return known;
}

/*
 * What the row of a permission says: &allows, &forbids or, without one, NULL.
 */
static void *
permission_read(text *tenant, text *principal, text *resource)
{
	static BookingPlan plan = {
		"SELECT p.allowed FROM booking.permission p"
		" WHERE p.tenant = $1 AND p.principal = $2 AND p.resource = $3",
		{TEXTOID, TEXTOID, TEXTOID}
	};
	BookingCacheKey key = {BOOKING_CACHE_PERMISSION, {tenant, principal, resource}};
	void	   *known;
	Datum		values[3];

	if (booking_cache_find(&key, &known))
		return known;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	values[2] = PointerGetDatum(resource);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		known = NULL;
	else
		known = DatumGetBool(booking_plan_column(0, 1, NULL)) ? &allows : &forbids;
	booking_cache_add(&key, known);
	return known;
}

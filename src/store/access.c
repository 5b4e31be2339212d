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
#include "store/plan.h"
#include "store/store.h"

/*
 * The row for all resources has this name, which no resource can have.
 */
#define ALL_RESOURCES cstring_to_text_with_len("", 0)

/*
 * What a principal may do with the named resources.
 */
void
booking_store_permissions_read(text *tenant, text *principal,
							   ArrayType *names,
							   BookingPermissions *permissions)
{
	static BookingPlan plan = {
		"SELECT p.resource, p.allowed FROM booking.permission p"
		" WHERE p.tenant = $1 AND p.principal = $2"
		"   AND p.resource = ANY (array_append($3, ''))",
		{TEXTOID, TEXTOID, TEXTARRAYOID}
	};
	Datum		values[3];
	uint64		count;

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(principal);
	values[2] = PointerGetDatum(names);
	count = booking_plan_run(&plan, values, NULL, 0);

	permissions->others = false;
	permissions->count = 0;
	permissions->resources = palloc_array(text *, count + 1);
	permissions->allowed = palloc_array(bool, count + 1);
	for (uint64 i = 0; i < count; i++)
	{
		text	   *resource = DatumGetTextPP(booking_plan_column(i, 1, NULL));
		bool		allowed = DatumGetBool(booking_plan_column(i, 2, NULL));

		if (VARSIZE_ANY_EXHDR(resource) == 0)
			permissions->others = allowed;
		else
		{
			permissions->resources[permissions->count] = resource;
			permissions->allowed[permissions->count++] = allowed;
		}
	}
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
 * Names of the roles bound to a tenant.
 */
void
booking_store_bound_roles(text *tenant, int *count, text ***roles)
{
	static BookingPlan plan = {
		"SELECT b.role FROM booking.role_binding b WHERE b.tenant = $1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(tenant);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	*roles = palloc_array(text *, *count + 1);
	for (int i = 0; i < *count; i++)
		(*roles)[i] = DatumGetTextPP(booking_plan_column(i, 1, NULL));
}

/*
 * Let a role act for a tenant.
 */
void
booking_store_bind_role(text *tenant, text *role)
{
	static BookingPlan plan = {
		"INSERT INTO booking.role_binding (tenant, role) VALUES ($1, $2)"
		" ON CONFLICT ON CONSTRAINT role_binding_pkey DO NOTHING",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(role);
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

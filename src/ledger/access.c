/*-------------------------------------------------------------------------
 *
 * access.c
 *	  which database role may act for which tenant
 *
 * EXECUTE on a function is the server's matter; this is what comes on top.
 * Owner and superusers may act for every tenant, any other role for those it
 * is bound to.  The role judged is the effective one, after SET ROLE or within
 * a SECURITY DEFINER function.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/access.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/lock.h"
#include "store/cache.h"
#include "store/store.h"

static Oid	bound_role(const BookingBoundRole *binding);

/*
 * May the caller act for the tenant?  Does not lock.
 */
bool
booking_access_bound(const BookingCall *call, text *tenant)
{
	const BookingBoundRole *roles;
	int			count;

	if (call->privileged)
		return true;

	booking_store_bound_roles(tenant, (int64) GetSystemIdentifier(), &count, &roles);
	for (int i = 0; i < count; i++)
	{
		Oid			role = bound_role(&roles[i]);

		if (OidIsValid(role) && has_privs_of_role(call->caller, role))
			return true;
	}
	return false;
}

/*
 * Raise an error unless the caller may act for the tenant; for functions that
 * have no disposition to return.  Takes the share lock first, so that an
 * unbinding that committed is never followed by what it forbids.
 */
void
booking_access_demand(const BookingCall *call, text *tenant)
{
	if (call->privileged)
		return;
	booking_lock_binding(tenant, ShareLock);
	(void) booking_cache_accept();
	if (!booking_access_bound(call, tenant))
		booking_access_raise_denied();
}

/*
 * Raise an error unless the caller has the owner's privileges; for what
 * belongs to no tenant.
 */
void
booking_access_demand_owner(const BookingCall *call)
{
	if (!call->privileged)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied"),
				 errhint("Only the owner of the extension and superusers may do this.")));
}

/*
 * How many of the roles bound to a tenant may execute the function that is
 * called?  For booking_approve: if more than one, roles separate people there.
 */
int
booking_access_executing_roles(const BookingCall *call, text *tenant)
{
	const BookingBoundRole *roles;
	int			count;
	int			executing = 0;

	booking_store_bound_roles(tenant, (int64) GetSystemIdentifier(), &count, &roles);
	for (int i = 0; i < count; i++)
	{
		Oid			role = bound_role(&roles[i]);

		if (OidIsValid(role) &&
			booking_proc_aclcheck(call->fcinfo->flinfo->fn_oid, role,
								  ACL_EXECUTE) == ACLCHECK_OK)
			executing++;
	}
	return executing;
}

/*
 * The error of functions that have no disposition to return.
 */
void
booking_access_raise_denied(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied"),
			 errhint("The role must be bound to the tenant (booking_bind_role), and the principal be allowed every resource named (booking_permit).")));
}

/*
 * The role of a binding, InvalidOid if there is none: one that was dropped or
 * renamed binds nobody, and neither does another that took its name since.  In
 * a cluster that the database was restored into, the name alone counts.
 */
static Oid
bound_role(const BookingBoundRole *binding)
{
	Oid			role = get_role_oid(text_to_cstring(binding->role), true);

	if (OidIsValid(binding->role_oid) && binding->role_oid != role)
		return InvalidOid;
	return role;
}

/*-------------------------------------------------------------------------
 *
 * audit.c
 *	  statements on booking.audit_entry
 *
 * IDENTIFICATION
 *	  booking/src/store/audit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "store/plan.h"
#include "store/store.h"

/*
 * Record who did what.  principal, intent, detail and evidence may be NULL.
 */
void
booking_store_audit(const char *action, text *role, text *tenant,
					text *principal, text *intent, Jsonb *detail,
					Jsonb *evidence, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.audit_entry (action, role, tenant, principal,"
		" intent, detail, evidence, at)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		{TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, JSONBOID,
			TIMESTAMPTZOID}
	};
	Datum		values[8];
	bool		nulls[8] = {0};

	values[0] = CStringGetTextDatum(action);
	values[1] = PointerGetDatum(role);
	booking_plan_bind(values, nulls, 2, tenant);
	booking_plan_bind(values, nulls, 3, principal);
	booking_plan_bind(values, nulls, 4, intent);
	booking_plan_bind(values, nulls, 5, detail);
	booking_plan_bind(values, nulls, 6, evidence);
	values[7] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*-------------------------------------------------------------------------
 *
 * check.c
 *	  booking_check
 *
 * There are no foreign keys between the tables; the functions are their only
 * writers.  This verifies what keys and constraints do not, as amcheck does.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"

#include "ledger/access.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_check);

static void report_violation(void *arg, Datum *columns);

/*
 * booking_check() returns table (object, key, problem)
 *
 * One row a violation.  Reads every row of every table in one snapshot a rule;
 * owner and superusers only, because it shows identities of all tenants.
 */
Datum
booking_check(PG_FUNCTION_ARGS)
{
	BookingCall call;

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, false);
	booking_access_demand_owner(&call);
	booking_store_check(report_violation, fcinfo->resultinfo);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * Add one violation to the result.
 */
static void
report_violation(void *arg, Datum *columns)
{
	ReturnSetInfo *rsinfo = arg;
	bool		nulls[3] = {false, false, false};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns, nulls);
}

/*-------------------------------------------------------------------------
 *
 * call.c
 *	  one call of an SQL function: who calls, as whom it works, its result
 *
 * The functions are not SECURITY DEFINER.  They become the owner of the
 * relations as the triggers of foreign keys do (ri_triggers.c), so the
 * effective role stays known.  An error needs no clean-up here: the end of the
 * (sub)transaction resets the user and closes SPI.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "guc.h"
#include "ledger/call.h"
#include "ledger/count.h"
#include "ledger/detail.h"
#include "store/extension.h"
#include "store/plan.h"

static Oid	owner_of_relations(void);
static void compare_again(Datum arg, int cacheid, uint32 hashvalue);
static void on_relation(Datum arg, int cacheid, uint32 hashvalue);

static Oid	compared = InvalidOid;	/* schema whose version fits the library */
static Oid	known_owner = InvalidOid;	/* until something changes */
static uint32 known_relation = 0;	/* hash of the relation that told */
static uint64 changes = 0;		/* that may concern the owner */

/*
 * Begin the part of a call that reads or writes relations: every argument has
 * been validated.  Leaves the current memory context at that of SPI, which the
 * end of the call frees.
 */
void
booking_call_begin(BookingCall *call, FunctionCallInfo fcinfo, bool writes)
{
	if (writes || IsInParallelMode())
	{
		const char *name = get_func_name(fcinfo->flinfo->fn_oid);

		/* only a caller wrongly labelled parallel safe brings us there */
		PreventCommandIfParallelMode(name);
		PreventCommandDuringRecovery(name);
		PreventCommandIfReadOnly(name);
	}

	call->fcinfo = fcinfo;
	call->pinned = 0;
	call->decides = writes;
	call->caller_context = CurrentMemoryContext;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	booking_call_become_owner(call);
}

/*
 * Note who calls, and become the owner of the relations.
 */
void
booking_call_become_owner(BookingCall *call)
{
	call->caller = GetUserId();
	call->owner = booking_call_owner();
	call->privileged = has_privs_of_role(call->caller, call->owner);
	call->now = GetCurrentTimestamp();
	call->role = cstring_to_text(GetUserNameFromId(call->caller, false));
	GetUserIdAndSecContext(&call->saved_user, &call->saved_context);
	SetUserIdAndSecContext(call->owner, call->saved_context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
}

/*
 * Several statements are to come: pin what they depend on once for all, where
 * the SQL function does not.
 */
void
booking_call_pin(BookingCall *call)
{
	if (call->pinned == 0)
		call->pinned = booking_plan_pin();
}

/*
 * End the call.  Everything allocated since its beginning is gone, but for
 * what booking_call_return_row() made.
 */
void
booking_call_end(BookingCall *call)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	SetUserIdAndSecContext(call->saved_user, call->saved_context);
	booking_plan_unpin(call->pinned);
}

/*
 * End the call with a row of the function's composite result type.
 */
Datum
booking_call_return_row(BookingCall *call, Datum *values, bool *nulls)
{
	TupleDesc	tupdesc;
	HeapTuple	tuple;
	MemoryContext old = MemoryContextSwitchTo(call->caller_context);

	if (get_call_result_type(call->fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	tuple = heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls);
	MemoryContextSwitchTo(old);

	booking_call_end(call);
	return HeapTupleGetDatum(tuple);
}

/*
 * End the call with a booking_result.  What only looks is no answer to count.
 */
Datum
booking_call_return(BookingCall *call, const BookingResult *result)
{
	Datum		values[BOOKING_RESULT_COLUMNS];
	bool		nulls[BOOKING_RESULT_COLUMNS];

	booking_result_columns(result, values, nulls);
	if (call->decides)
		booking_count_answer(result->disposition, result->replayed);
	return booking_call_return_row(call, values, nulls);
}

/*
 * Fill the columns of a booking_result.
 */
void
booking_result_columns(const BookingResult *result, Datum *values, bool *nulls)
{
	const text *texts[4] = {result->state, result->remote, result->event,
	result->receipt};

	values[0] = CStringGetTextDatum(result->disposition);
	nulls[0] = false;
	for (int i = 0; i < 4; i++)
	{
		values[1 + i] = PointerGetDatum(texts[i]);
		nulls[1 + i] = texts[i] == NULL;
	}
	values[5] = BoolGetDatum(result->replayed);
	nulls[5] = false;
	values[6] = PointerGetDatum(result->detail != NULL ? result->detail :
								booking_detail_empty());
	nulls[6] = false;
}

/*
 * The clock that decides whether a hold has expired.
 */
TimestampTz
booking_call_hold_clock(void)
{
	return GetCurrentTimestamp() + booking_clock_offset * USECS_PER_SEC;
}

/*
 * Owner of the relations, remembered until one of the catalogue's messages says
 * that it may be another.
 */
Oid
booking_call_owner(void)
{
	static bool registered = false;
	uint64		before;
	Oid			owner;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(PROCOID, compare_again, (Datum) 0);
		CacheRegisterSyscacheCallback(NAMESPACEOID, compare_again, (Datum) 0);
		CacheRegisterSyscacheCallback(RELOID, on_relation, (Datum) 0);
	}
	registered = true;
	if (OidIsValid(known_owner))
		return known_owner;

	before = changes;
	owner = owner_of_relations();
	if (changes == before)
		known_owner = owner;
	return owner;
}

/*
 * Look the owner up.  The schema is a member of the extension, so while the
 * calling function exists nobody else can have made one of that name.
 *
 * Also the place where library and objects are compared, once for each schema
 * that a process meets, since dropping and creating the extension makes a new
 * one, and again when functions have changed, as each update of the extension
 * does.
 */
static Oid
owner_of_relations(void)
{
	Oid			schema = get_namespace_oid("booking", false);
	Oid			relation = get_relname_relid("intent", schema);
	HeapTuple	tuple;
	Oid			owner;

	known_relation = GetSysCacheHashValue1(RELOID, ObjectIdGetDatum(relation));
	if (schema != compared)
	{
		booking_store_extension_demand();
		compared = schema;
	}
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"booking.intent\" does not exist"),
				 errhint("The extension is damaged: restore its relations from a backup.")));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Functions or schemas have changed.
 */
static void
compare_again(Datum arg, int cacheid, uint32 hashvalue)
{
	compared = InvalidOid;
	known_owner = InvalidOid;
	changes++;
}

/*
 * A relation has changed; any, if the hash is 0.
 */
static void
on_relation(Datum arg, int cacheid, uint32 hashvalue)
{
	if (hashvalue != 0 && hashvalue != known_relation)
		return;
	known_owner = InvalidOid;
	changes++;
}

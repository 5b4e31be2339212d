/*-------------------------------------------------------------------------
 *
 * purge.c
 *	  the transactions of procedures that purge
 *
 * A purge is many short transactions.  Each is whole in itself, so that a
 * procedure can be ended at any time and called again; and none waits long: what
 * somebody else holds is left for later.
 *
 * The guards let values go within such a transaction only.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/purge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "compat.h"
#include "ledger/purge.h"
#include "store/plan.h"
#include "store/purge.h"

#define KEY_LEN 32

static bool attempt(BookingPurgeWork work, BookingCall *call, void *arg);
static bool is_passing(int sqlerrcode);

bool		booking_purging = false;

/*
 * Raise an error unless a procedure can commit where it is called.
 */
void
booking_purge_begin(FunctionCallInfo fcinfo, const char *name)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("%s cannot run in a transaction block", name),
				 errhint("It purges in many short transactions: use CALL by itself.")));
	PreventCommandDuringRecovery(name);
	PreventCommandIfReadOnly(name);
}

/*
 * Do some work in a transaction and commit it.  Returns false, with nothing done,
 * if somebody held what it needs.  It pins search_path by itself, since a
 * procedure that commits cannot have a SET clause.
 */
bool
booking_purge_transaction(BookingPurgeWork work, void *arg, int lock_timeout)
{
	BookingCall call = {0};
	bool		done;
	int			level;

	CHECK_FOR_INTERRUPTS();
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	level = NewGUCNestLevel();
	(void) set_config_option("lock_timeout", psprintf("%d", lock_timeout),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
							 0, false);
	(void) booking_plan_pin();
	booking_call_become_owner(&call);
	done = attempt(work, &call, arg);
	SetUserIdAndSecContext(call.saved_user, call.saved_context);
	AtEOXact_GUC(true, level);
	SPI_commit();
	SPI_finish();
	return done;
}

/*
 * Tell in pg_stat_activity how far it is.
 */
void
booking_purge_report(const char *text)
{
	pgstat_report_activity(STATE_RUNNING, text);
}

/*
 * The key of digests, which the first purge of a database makes.
 */
bytea *
booking_purge_key(void)
{
	bytea	   *key = booking_store_digest_key();

	if (key != NULL)
		return key;
	key = palloc(VARHDRSZ + KEY_LEN);
	SET_VARSIZE(key, VARHDRSZ + KEY_LEN);
	if (!pg_strong_random(VARDATA(key), KEY_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	booking_store_digest_key_put(key);
	return booking_store_digest_key();
}

/*
 * The row that the procedure returns.
 */
Datum
booking_purge_return(FunctionCallInfo fcinfo, Jsonb *result)
{
	TupleDesc	tupdesc;
	Datum		values[1];
	bool		nulls[1] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = PointerGetDatum(result);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values,
											 nulls));
}

/*
 * Do the work in a subtransaction, which is given up when somebody else is in
 * the way.
 */
static bool
attempt(BookingPurgeWork work, BookingCall *call, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	booking_purging = true;
	PG_TRY();
	{
		work(call, arg);
		booking_purging = false;
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		booking_purging = false;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!is_passing(error->sqlerrcode))
			ReThrowError(error);
		done = false;
	}
	PG_END_TRY();
	return done;
}

/*
 * Does an error come from what others do at the same time?
 */
static bool
is_passing(int sqlerrcode)
{
	return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE;
}

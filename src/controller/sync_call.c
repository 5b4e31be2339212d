/*-------------------------------------------------------------------------
 *
 * sync_call.c
 *	  booking_sync, booking_sync_wait
 *
 * A request is a row of its own, so whoever asks waits for nobody.  A round
 * takes up what it finds when it begins; what is asked for after that makes
 * another one, once, however often it is asked for.
 *
 * IDENTIFICATION
 *	  booking/src/controller/sync_call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "controller/shared.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/lock.h"
#include "ledger/wake.h"
#include "store/cursor.h"
#include "store/plan.h"

PG_FUNCTION_INFO_V1(booking_sync);
PG_FUNCTION_INFO_V1(booking_sync_wait);

#define WAIT_POLL_MS 50

/* how long a worker that just starts, or looks again, is waited for */
#define WORKER_PATIENCE_MS 10000

/* a request that is waited for */
typedef struct SyncWait
{
	text	   *tenant;
	text	   *calendar;
	int64		request_id;		/* 0: not asked yet */
	TimestampTz asked_at;
	TimestampTz since;			/* by the clock of the wall */
	Jsonb	   *result;
} SyncWait;

static int64 ask(text *tenant, text *calendar, TimestampTz now);
static bool wait_step(SyncWait *wait, MemoryContext context);
static bool covered(const SyncWait *wait, const BookingSyncState *state);
static void demand_calendar(const BookingSyncState *state);
static void demand_worker(const SyncWait *wait);
static Jsonb *make_result(const BookingSyncState *state);

/*
 * booking_sync(tenant, calendar) returns void
 */
Datum
booking_sync(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *calendar = booking_arg_label(fcinfo, 1, "calendar");
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	(void) ask(tenant, calendar, booking_call_hold_clock());
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * CALL booking_sync_wait(tenant, calendar, result)
 */
Datum
booking_sync_wait(PG_FUNCTION_ARGS)
{
	SyncWait	wait = {0};
	bool		atomic = fcinfo->context == NULL ||
		!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic;
	MemoryContext context = CurrentMemoryContext;
	TupleDesc	tupdesc;
	Datum		values[1];
	bool		nulls[1] = {false};

	wait.tenant = booking_arg_label(fcinfo, 0, "tenant");
	wait.calendar = booking_arg_label(fcinfo, 1, "calendar");
	if (atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("booking_sync_wait cannot run in a transaction block"),
				 errhint("The worker sees the request only after a commit: use CALL by itself.")));
	PreventCommandDuringRecovery("booking_sync_wait");
	PreventCommandIfReadOnly("booking_sync_wait");

	wait.tenant = DatumGetTextPCopy(PointerGetDatum(wait.tenant));
	wait.calendar = DatumGetTextPCopy(PointerGetDatum(wait.calendar));
	wait.since = GetCurrentTimestamp();
	while (!wait_step(&wait, context))
	{
		booking_shared_wake(MyDatabaseId);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 WAIT_POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	MemoryContextSwitchTo(context);
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = PointerGetDatum(wait.result);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values,
											 nulls));
}

/*
 * Record a request; raises an error if there is no such calendar.
 */
static int64
ask(text *tenant, text *calendar, TimestampTz now)
{
	int64		request_id = booking_store_sync_ask(tenant, calendar, now);

	if (request_id == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("calendar does not exist"),
				 errhint("Create it with booking_calendar_put first, and check the spelling.")));
	return request_id;
}

/*
 * One transaction: ask the first time, look how it stands after.  It pins
 * search_path by itself, since a procedure that commits cannot have a SET
 * clause.  Returns whether there is a result.
 */
static bool
wait_step(SyncWait *wait, MemoryContext context)
{
	BookingCall call = {0};
	BookingSyncState state = {0};
	Jsonb	   *result = NULL;
	int			level;

	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	level = booking_plan_pin();
	booking_call_become_owner(&call);
	if (wait->request_id == 0)
	{
		booking_access_demand(&call, wait->tenant);
		wait->asked_at = booking_call_hold_clock();
		wait->request_id = ask(wait->tenant, wait->calendar, wait->asked_at);
	}
	else if (!booking_store_sync_state(wait->request_id, wait->tenant,
									   wait->calendar, wait->asked_at, &state))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the calendar was removed")));
	else if (covered(wait, &state))
	{
		result = make_result(&state);
		wait->result = MemoryContextAlloc(context, VARSIZE(result));
		memcpy(wait->result, result, VARSIZE(result));
	}
	else
	{
		demand_calendar(&state);
		demand_worker(wait);
	}
	SetUserIdAndSecContext(call.saved_user, call.saved_context);
	booking_plan_unpin(level);
	SPI_commit();
	SPI_finish();
	return result != NULL;
}

/*
 * Is there something to tell: a round has covered the request, or failed after
 * it?
 */
static bool
covered(const SyncWait *wait, const BookingSyncState *state)
{
	return !state->open ||
		(state->failures > 0 && state->failed_at >= wait->asked_at &&
		 !state->parked && !state->account_parked);
}

/*
 * Raise an error if no round will come before somebody acts.
 */
static void
demand_calendar(const BookingSyncState *state)
{
	if (state->parked)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the calendar is parked"),
				 errdetail("Problem: %s.", state->problem != NULL ? state->problem : "unknown"),
				 errhint("When it is solved, put the calendar again with booking_calendar_put.")));
	if (state->account_parked)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the account of the calendar is parked"),
				 errhint("Its credential was refused: put it again with booking_credential_put.")));
}

/*
 * Raise an error if no worker is there to do it.
 */
static void
demand_worker(const SyncWait *wait)
{
	BookingWorkerInfo info = {0};
	bool		known = booking_shared_worker_info(MyDatabaseId, &info);

	if (!TimestampDifferenceExceeds(wait->since, GetCurrentTimestamp(),
									WORKER_PATIENCE_MS))
		return;
	if (!known && booking_lock_worker_holder() == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no worker runs in this database"),
				 errhint("See booking_worker_status().")));
	if (known && info.state == BOOKING_WORKER_PAUSED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the worker is paused: %s", info.reason),
				 errhint("See booking_worker_status().")));
}

/*
 * {"watermark", "events", "problem"}.
 */
static Jsonb *
make_result(const BookingSyncState *state)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"watermark\": " INT64_FORMAT ", \"events\": " INT64_FORMAT
					 ", \"problem\": ", state->watermark, state->events);
	if (state->problem == NULL)
		appendStringInfoString(&json, "null");
	else
		escape_json(&json, state->problem);
	appendStringInfoChar(&json, '}');
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

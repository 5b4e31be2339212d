/*-------------------------------------------------------------------------
 *
 * status.c
 *	  booking_worker_start, booking_worker_status, booking_account_check
 *
 * IDENTIFICATION
 *	  booking/src/controller/status.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/builtins.h"

#include "compat.h"
#include "controller/hindrance.h"
#include "controller/launcher.h"
#include "controller/shared.h"
#include "guc.h"
#include "ledger/access.h"
#include "ledger/lock.h"
#include "ledger/site.h"
#include "store/account.h"
#include "store/operation.h"

PG_FUNCTION_INFO_V1(booking_worker_start);
PG_FUNCTION_INFO_V1(booking_worker_status);

static const char *why_idle(bool present);
static const char *what_waits(void);

/*
 * booking_worker_start() returns boolean
 *
 * Start the worker of this database; false if it runs.  Needed only when the
 * library is not preloaded.
 */
Datum
booking_worker_start(PG_FUNCTION_ARGS)
{
	BackgroundWorkerHandle *handle;
	BookingWorkerInfo info;
	pid_t		pid;

	PreventCommandDuringRecovery("booking_worker_start");
	if (booking_shared_worker_info(MyDatabaseId, &info) ||
		booking_lock_worker_holder() != 0)
		PG_RETURN_BOOL(false);
	if (!booking_launcher_start_worker(MyDatabaseId, &handle))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("no slot is free for a worker"),
				 errhint("Increase max_worker_processes.")));
	if (WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_STARTED)
		PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(true);
}

/*
 * booking_worker_status() returns table (pid, state, reason, in_flight, due)
 *
 * One row.  Without the preloaded library it is not known what a worker is at:
 * its state is "running", and nothing is counted as in flight.
 */
Datum
booking_worker_status(PG_FUNCTION_ARGS)
{
	static const char *const states[] = {
		[BOOKING_WORKER_STARTING] = "starting",
		[BOOKING_WORKER_IDLE] = "idle",
		[BOOKING_WORKER_BUSY] = "busy",
		[BOOKING_WORKER_PAUSED] = "paused"
	};
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BookingCall call;
	BookingWorkerInfo info = {0};
	const char *state = "absent";
	const char *reason = NULL;
	bool		known;
	Datum		values[5] = {0};
	bool		nulls[5] = {0};

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, false);
	booking_access_demand_owner(&call);
	known = booking_shared_worker_info(MyDatabaseId, &info);
	if (known)
	{
		state = states[info.state];

		/*
		 * The reason may be gone since it looked, as in a database that was
		 * restored: nothing of that wakes it.
		 */
		if (info.state == BOOKING_WORKER_PAUSED)
		{
			reason = why_idle(true);
			booking_shared_wake(MyDatabaseId);
		}
		if (reason == NULL && info.reason[0] != '\0')
			reason = info.reason;
	}
	else if (!booking_shared_present() && (info.pid = booking_lock_worker_holder()) != 0)
		state = "running";
	if (reason == NULL)
		reason = why_idle(info.pid != 0);
	if (reason == NULL)
		reason = what_waits();

	values[0] = Int32GetDatum(info.pid);
	nulls[0] = info.pid == 0;
	values[1] = CStringGetTextDatum(state);
	if (reason != NULL)
		values[2] = CStringGetTextDatum(reason);
	nulls[2] = reason == NULL;
	values[3] = Int32GetDatum(info.in_flight);
	values[4] = Int64GetDatum(booking_store_operations_open());
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * Why nothing is sent, as far as this backend can tell; NULL if all is well.
 */
static const char *
why_idle(bool present)
{
	const char *reason;

	if (!present && RecoveryInProgress())
		return "the server is a standby";
	if (!booking_worker)
		return "booking.worker is off";
	reason = booking_site_disarmed();
	if (reason == NULL)
		reason = booking_hindrance();
	if (reason != NULL || present)
		return reason;
	if (!booking_shared_present())
		return "the library is not in shared_preload_libraries; see booking_worker_start()";
	return booking_shared_absence();
}

/*
 * What the worker cannot do for others' faults; NULL if there is nothing.
 */
static const char *
what_waits(void)
{
	int64		sealed = booking_store_accounts_sealed(booking_call_hold_clock());
	int64		held;

	if (sealed > 0)
		return psprintf("credentials of " INT64_FORMAT " accounts were sealed with "
						"another key: name its file in booking.secret_key_file, or "
						"put the credentials again", sealed);
	held = booking_store_operations_held(BOOKING_PROBLEM_UNREAD);
	return held == 0 ? NULL :
		psprintf(INT64_FORMAT " operations wait for a calendar or an account "
				 "that cannot be used; see booking.recovery", held);
}

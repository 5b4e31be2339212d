/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  the worker of one database
 *
 * One loop: lease what is due, send, wait for answers or a wake-up, record
 * outcomes.  HTTP is in no transaction, and every wait is on the latch, so the
 * worker answers shutdown, DROP DATABASE and barriers at once.
 *
 * An error ends the transaction it happened in and is logged; the loop goes on
 * after a pause that grows.  Everything untrusted is parsed by the codec,
 * which has no errors to throw.
 *
 * IDENTIFICATION
 *	  booking/src/controller/worker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "controller/account_check.h"
#include "controller/delivery.h"
#include "controller/dispatch.h"
#include "controller/errand.h"
#include "controller/hindrance.h"
#include "controller/metrics.h"
#include "controller/pull.h"
#include "controller/session.h"
#include "controller/shared.h"
#include "controller/signin.h"
#include "guc.h"
#include "ledger/count.h"
#include "ledger/lock.h"
#include "ledger/site.h"
#include "ledger/wake.h"
#include "net/http.h"
#include "store/cursor.h"
#include "store/effect.h"
#include "store/extension.h"
#include "store/operation.h"
#include "store/webhook.h"
#include "webhook/apply.h"

PGDLLEXPORT void booking_worker_main(Datum arg);

#define CONTENDED_MS 50
#define LOCK_TRIES 20
#define UNWOKEN_POLL_MS 1000
#define GATHER_MS 8				/* for answers to be recorded together */
#define ERROR_FIRST_MS 1000
#define ERROR_LAST_MS 60000
#define WEBHOOKS_AT_ONCE 50

/* what is as large as that goes back to the system when it is freed */
#define HEAP_LARGE (512 * 1024)

typedef enum RoundResult
{
	ROUND_GONE,					/* no extension: leave */
	ROUND_CONTENDED,			/* the extension is being changed */
	ROUND_PAUSED,				/* not armed, or told not to send */
	ROUND_FAILED,				/* an error ended it */
	ROUND_WORKED
} RoundResult;

static void on_terminate(SIGNAL_ARGS);
static void bound_heap(void);
static bool become_worker(bool *present);
static bool extension_present(void);
static RoundResult work_round(bool recovered, bool careful);
static RoundResult enter_extension(void);
static void leave_extension(void);
static void record_outcomes(void);
static void settle_webhooks(void);
static void recorded(void);
static long wait_time(RoundResult result);
static long wait_until(TimestampTz due, long wait);
static void report_state(RoundResult result);
static bool idle_too_long(void);
pg_noreturn static void leave(BookingWorkerEnd end);
static BookingWorkerEnd run_loop(BookingHttpEngine *engine);
static void wait_for_work(BookingHttpEngine *engine, long wait);
static RoundResult after_error(void);
static const char *unfit(void);

static char pause_reason[BOOKING_REASON_LEN] = "";
static LOCKTAG extension_lock;
static bool extension_locked = false;
static bool next_known = false;
static TimestampTz next_due = 0;
static bool pull_known = false; /* the same for reading calendars */
static TimestampTz pull_due = 0;
static bool webhook_known = false;	/* and for deliveries that wait */
static TimestampTz webhook_due = 0;
static bool errand_known = false;	/* the same for all else */
static TimestampTz errand_due = 0;
static bool may_deliver = false;	/* as the last round found */

/*
 * Entry point.  arg is the database.
 */
void
booking_worker_main(Datum arg)
{
	Oid			database = DatumGetObjectId(arg);
	BookingHttpEngine *engine;
	bool		present;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, on_terminate);
	bound_heap();
	BackgroundWorkerUnblockSignals();
	if (booking_shared_worker_attach(database) != 0)
		leave(BOOKING_END_LEFT);
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	pgstat_report_appname("booking worker");
	booking_session_init();

	if (!become_worker(&present))
		leave(present ? BOOKING_END_LEFT : BOOKING_END_NOTHING);
	booking_count(BOOKING_COUNT_WORKERS, "begun", NULL);
	booking_shared_worker_report(BOOKING_WORKER_IDLE, 0, NULL);
	engine = booking_http_create();
	booking_dispatch_init(engine);
	booking_account_check_init(engine);
	booking_pull_init(engine);
	booking_signin_init(engine);
	booking_errand_init(engine);
	booking_delivery_init(engine);
	leave(run_loop(engine));
}

/*
 * Have glibc give back what a large calendar took.  Left alone it takes the first
 * large block that is freed for a sign that there will be more, and from then on
 * has blocks of up to 32 MB in the heap, and twice as much of it unused at the end.
 */
static void
bound_heap(void)
{
#ifdef __GLIBC__
	(void) mallopt(M_MMAP_THRESHOLD, HEAP_LARGE);
	(void) mallopt(M_TRIM_THRESHOLD, HEAP_LARGE * 2);
#endif
}

/*
 * SIGTERM: as any backend, but the launcher is told that it was meant.
 */
static void
on_terminate(SIGNAL_ARGS)
{
	booking_shared_worker_ending(BOOKING_END_TERMINATED);
	die(postgres_signal_arg);
}

/*
 * End the process, and tell the launcher how.
 */
static void
leave(BookingWorkerEnd end)
{
	booking_shared_worker_ending(end);
	proc_exit(0);
}

/*
 * Find the extension and take the lock of the one worker; false if there is
 * none, or nothing to do here.  An earlier worker that is just ending may still have
 * the lock, so it is asked for a few times.
 */
static bool
become_worker(bool *present)
{
	bool		locked = false;

	for (int i = 0; i < LOCK_TRIES; i++)
	{
		CHECK_FOR_INTERRUPTS();
		StartTransactionCommand();
		*present = extension_present();
		locked = *present && booking_lock_worker_try();
		CommitTransactionCommand();
		if (!*present || locked)
			break;
		ResetLatch(MyLatch);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 CONTENDED_MS, PG_WAIT_EXTENSION);
	}
	return locked;
}

/*
 * Is there something to work on?  A database that became a template, or is
 * closed to connections, is to be left alone: see launcher.c.
 */
static bool
extension_present(void)
{
	HeapTuple	tuple;
	bool		ours;

	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (!HeapTupleIsValid(tuple))
		return false;
	ours = ((Form_pg_database) GETSTRUCT(tuple))->datallowconn &&
		!((Form_pg_database) GETSTRUCT(tuple))->datistemplate;
	ReleaseSysCache(tuple);
	return ours && booking_store_extension_version() != NULL;
}

/*
 * The loop, until there is a reason to end.  Errors of one round end that round
 * only.
 */
static BookingWorkerEnd
run_loop(BookingHttpEngine *engine)
{
	volatile bool recovered = false;
	volatile long error_wait = 0;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "booking worker",
												  ALLOCSET_DEFAULT_SIZES);

	for (;;)
	{
		volatile long wait = CONTENDED_MS;
		volatile RoundResult result = ROUND_WORKED;

		/* before looking for work, so that no wake-up is lost */
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		if (booking_shared_held(MyDatabaseId))
			return BOOKING_END_LEFT;

		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			result = work_round(recovered, error_wait > 0);
			recovered = recovered || result == ROUND_WORKED;
			booking_signin_start();
			booking_dispatch_start();
			booking_account_check_start();
			booking_pull_start();
			booking_errand_start();
			booking_delivery_start();
			wait = wait_time(result);
			error_wait = 0;
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(context);
			result = after_error();
			error_wait = error_wait == 0 ? ERROR_FIRST_MS :
				Min(error_wait * 2, ERROR_LAST_MS);
			wait = error_wait;
		}
		PG_END_TRY();
		MemoryContextSwitchTo(context);
		MemoryContextReset(context);

		if (result == ROUND_GONE)
			return BOOKING_END_NOTHING;
		report_state(result);
		if (idle_too_long())
			return BOOKING_END_LEFT;
		wait_for_work(engine, wait);
	}
}

/*
 * Wait for an answer or a wake-up.  While there is enough to send meanwhile, the
 * answers of some milliseconds are taken together: to record them one by one
 * takes twice the time.
 */
static void
wait_for_work(BookingHttpEngine *engine, long wait)
{
	TimestampTz begin;
	long		left = GATHER_MS;

	booking_http_wait(engine, wait, PG_WAIT_EXTENSION);
	begin = GetCurrentTimestamp();
	while (left > 0 && !MyLatch->is_set && booking_dispatch_finished() &&
		   booking_dispatch_has_stock())
	{
		booking_http_wait(engine, left, PG_WAIT_EXTENSION);
		left = GATHER_MS - (GetCurrentTimestamp() - begin) / 1000;
	}
}

/*
 * Clean up after an error, and report it: unless its cause is that the
 * extension was dropped while the round was under way, which is no trouble.
 */
static RoundResult
after_error(void)
{
	ErrorData  *error = CopyErrorData();
	bool		present;

	FlushErrorState();

	/* an abort lets go of the session's locks as well */
	extension_locked &= !IsTransactionOrTransactionBlock();
	booking_session_abort();
	leave_extension();
	booking_dispatch_forget();
	booking_pull_forget();
	booking_errand_forget();
	booking_delivery_forget();

	StartTransactionCommand();
	present = extension_present();
	CommitTransactionCommand();
	if (!present)
		return ROUND_GONE;
	error->elevel = LOG;
	ThrowErrorData(error);
	return ROUND_FAILED;
}

/*
 * Has there been nothing to do for so long that a worker which nobody
 * preloaded should leave, so that its database can be dropped?
 */
static bool
idle_too_long(void)
{
	static TimestampTz idle_since = 0;
	TimestampTz due;

	if (booking_shared_present())
		return false;
	if (idle_since == 0 || booking_dispatch_in_flight() > 0 || next_known ||
		webhook_known || booking_pull_in_flight() > 0 ||
		booking_delivery_in_flight() > 0 ||
		(may_deliver && booking_delivery_next_due(&due)))
		idle_since = GetCurrentTimestamp();
	return TimestampDifferenceExceeds(idle_since, GetCurrentTimestamp(),
									  booking_idle_exit * 1000);
}

/*
 * One round: record what came and lease what is due, in one transaction, since
 * each commit is waited for.  After an error, outcomes get a transaction of
 * their own, so that whatever keeps the worker from leasing does not keep it
 * from recording; so they do before calendars are worked on, which takes time;
 * and so do checks of accounts, which are let go of at once.
 */
static RoundResult
work_round(bool recovered, bool careful)
{
	BookingCall call;
	const char *reason;
	bool		recording;
	RoundResult result = enter_extension();

	if (result != ROUND_WORKED)
		return result;
	if (booking_account_check_finished() || booking_signin_finished() ||
		booking_errand_finished() ||
		((careful || booking_pull_ready()) && booking_dispatch_finished()))
		record_outcomes();
	booking_pull_work(pause_reason[0] == '\0');
	if (webhook_known && webhook_due <= booking_call_hold_clock())
		settle_webhooks();
	booking_delivery_work(may_deliver);

	recording = booking_dispatch_finished();
	booking_session_begin(&call, "recording and leasing");
	if (recording)
		booking_dispatch_apply(&call);
	reason = !booking_worker ? "booking.worker is off" : booking_site_disarmed();
	if (reason == NULL)
	{
		/* it answers with what is in the way, if something is */
		booking_account_check_lease(&call);
		reason = booking_hindrance();
	}
	if (reason == NULL)
	{
		if (!recovered)
		{
			(void) booking_store_operations_recover(call.now);
			if (booking_store_cursors_complete(booking_call_hold_clock()))
				booking_store_events_expect_all();
		}
		booking_dispatch_lease(&call);
		booking_pull_lease(&call);
		booking_errand_lease(&call);
		next_known = booking_store_operation_next_due(&next_due);
		pull_known = booking_pull_next_due(&pull_due);
		errand_known = booking_errand_next_due(&errand_due);
	}
	else
	{
		result = ROUND_PAUSED;
		next_known = pull_known = errand_known = false;
	}
	may_deliver = result == ROUND_WORKED;
	strlcpy(pause_reason, reason != NULL ? reason : "", sizeof(pause_reason));
	webhook_known = booking_store_webhook_next_due(&webhook_due);
	booking_session_commit(&call);
	if (recording)
		recorded();
	booking_metrics_keep();
	leave_extension();
	return result;
}

/*
 * Lock the extension for a round, before anything in it: DROP EXTENSION takes
 * the same lock first, and would else meet our locks on relations in an order
 * of its own, and one of us would be a victim.  Not waited for, since answers
 * of providers come meanwhile.
 */
static RoundResult
enter_extension(void)
{
	RoundResult result = ROUND_WORKED;
	const char *reason;
	Oid			extension;

	StartTransactionCommand();
	extension = get_extension_oid("booking", true);
	if (!extension_present())
		result = ROUND_GONE;
	else if ((reason = unfit()) != NULL)
	{
		result = ROUND_PAUSED;
		strlcpy(pause_reason, reason, sizeof(pause_reason));
		next_known = pull_known = webhook_known = errand_known = false;
		may_deliver = false;
	}
	else
	{
		SET_LOCKTAG_OBJECT(extension_lock, MyDatabaseId, ExtensionRelationId,
						   extension, 0);
		if (LockAcquire(&extension_lock, AccessShareLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
			result = ROUND_CONTENDED;
		else
			extension_locked = true;

		/* what was dropped before we had the lock */
		if (extension_locked && get_extension_oid("booking", true) != extension)
		{
			leave_extension();
			result = ROUND_CONTENDED;
		}
	}
	CommitTransactionCommand();
	return result;
}

/*
 * Give the lock of the extension back, if we have it.
 */
static void
leave_extension(void)
{
	if (extension_locked)
		LockRelease(&extension_lock, AccessShareLock, true);
	extension_locked = false;
}

/*
 * Why the objects of this database are not those that the library works on;
 * NULL if they are.
 */
static const char *
unfit(void)
{
	char	   *version = booking_store_extension_version();

	if (strcmp(version, BOOKING_SQL_VERSION) == 0)
		return NULL;
	if (booking_store_extension_newer(version))
		return psprintf("the objects are of version %s, the library of " BOOKING_SQL_VERSION
						": install the newer library and restart", version);
	return psprintf("the objects are of version %s, the library of " BOOKING_SQL_VERSION
					": ALTER EXTENSION booking UPDATE", version);
}

/*
 * Record outcomes, those of checks too, in a transaction of their own.
 */
static void
record_outcomes(void)
{
	BookingCall call;

	booking_session_begin(&call, "recording outcomes");
	booking_signin_record(&call);
	booking_dispatch_apply(&call);
	booking_account_check_record(&call);
	booking_errand_record(&call);
	booking_session_commit(&call);
	booking_signin_recorded();
	booking_errand_recorded();
	recorded();
}

/*
 * Settle deliveries that wait, in a transaction of their own, for they need
 * locks.  Nothing of it is sent, so it does not matter whether we may send.
 */
static void
settle_webhooks(void)
{
	BookingCall call;

	booking_session_begin(&call, "settling deliveries");
	booking_webhook_settle(&call, WEBHOOKS_AT_ONCE);
	booking_session_commit(&call);
}

/*
 * Outcomes are recorded and committed.
 */
static void
recorded(void)
{
	booking_dispatch_applied();
	booking_shared_worker_useful();
}

/*
 * Milliseconds to wait for answers or a wake-up.
 */
static long
wait_time(RoundResult result)
{
	long		wait = booking_poll_interval * 1000L;
	TimestampTz due;

	/* without shared memory nobody can wake us */
	if (!booking_shared_present())
		wait = Min(wait, UNWOKEN_POLL_MS);
	if (result == ROUND_CONTENDED)
		return Min(wait, CONTENDED_MS * 4);
	if (webhook_known)
		wait = wait_until(webhook_due, wait);
	if (booking_delivery_finished())
		wait = Min(wait, CONTENDED_MS);
	if (result != ROUND_WORKED)
		return wait;
	if (booking_dispatch_contended() || booking_dispatch_finished() ||
		booking_errand_finished())
		return CONTENDED_MS;
	if (booking_pull_ready())
		return booking_pull_contended() ? CONTENDED_MS : 0;
	if (next_known)
		wait = wait_until(next_due, wait);
	if (pull_known)
		wait = wait_until(pull_due, wait);
	if (errand_known)
		wait = wait_until(errand_due, wait);
	if (booking_delivery_next_due(&due))
		wait = wait_until(due, wait);
	return wait;
}

/*
 * Milliseconds until something is due, if that is before wait is over.  What is
 * due but was not taken waits for a place, or for somebody's lock.
 */
static long
wait_until(TimestampTz due, long wait)
{
	TimestampTz now = booking_call_hold_clock();

	if (due <= now)
		return Min(wait, booking_dispatch_in_flight() + booking_pull_in_flight() > 0 ?
				   CONTENDED_MS : CONTENDED_MS * 20);
	return (long) Min((double) wait, (double) (due - now) / 1000 + 1);
}

/*
 * Show what the worker is at.
 */
static void
report_state(RoundResult result)
{
	int			operations = booking_dispatch_in_flight();
	int			rounds = booking_pull_in_flight();
	int			in_flight = operations + rounds;
	const char *contention = result == ROUND_CONTENDED ?
		"another transaction is changing the extension" : NULL;

	if (result == ROUND_PAUSED || result == ROUND_FAILED)
	{
		const char *reason = result == ROUND_PAUSED ? pause_reason :
			"an error ended the last round: see the server's log";

		booking_shared_worker_report(BOOKING_WORKER_PAUSED, in_flight, reason);
		pgstat_report_activity(STATE_IDLE, reason);
		return;
	}
	booking_shared_worker_report(in_flight > 0 ? BOOKING_WORKER_BUSY : BOOKING_WORKER_IDLE,
								 in_flight, contention);
	if (contention != NULL)
		pgstat_report_activity(STATE_IDLE, contention);
	else if (in_flight > 0)
	{
		char		activity[96];

		snprintf(activity, sizeof(activity),
				 "%d operation(s) in flight, %d calendar(s) being read",
				 operations, rounds);
		pgstat_report_activity(STATE_IDLE, activity);
	}
}

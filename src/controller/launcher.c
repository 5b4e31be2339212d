/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  starting workers, and keeping them out of the way
 *
 * When the library is preloaded, a launcher looks through pg_database and
 * starts one worker for each database that can be connected to.  A worker that
 * finds no extension leaves at once, and the launcher does not come back to
 * that database before CREATE EXTENSION says so or the slow poll.  Workers are
 * never restarted by the postmaster: the launcher does it, at once or after a
 * back-off; see restart.c.
 *
 * Commands that need a database without sessions would wait five seconds for
 * an idle worker and fail; a hook tells the worker to leave first, and holds
 * the launcher off until the command has ended.
 *
 * IDENTIFICATION
 *	  booking/src/controller/launcher.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "controller/launcher.h"
#include "controller/restart.h"
#include "controller/shared.h"
#include "ledger/count.h"
#include "guc.h"
#include "ledger/wake.h"

PGDLLEXPORT void booking_launcher_main(Datum arg);

/* a database as the launcher knows it */
typedef struct Target
{
	BookingRestart restart;		/* first, so that a list of both can be made */
	bool		seen;			/* in pg_database now */
	bool		starved;		/* there was no slot for its worker */
	BackgroundWorkerHandle *handle; /* the worker we started, NULL none */
} Target;

#define STARVED_SECS 5
#define START_WATCH_SECS 2

static void on_utility(PlannedStmt *pstmt, const char *query, bool read_only,
					   ProcessUtilityContext context, ParamListInfo params,
					   QueryEnvironment *environment, DestReceiver *dest,
					   QueryCompletion *completion);
static Oid	database_to_clear(Node *statement);
static bool changes_entry(List *options);
static bool option_names(List *options, const char *name, DefElem **found);
static void wake_after(Node *statement);
static void at_end_of_transaction(XactEvent event, void *arg);
static void clear_database(Oid database);
static List *look_around(List *targets, const List *saved,
						 MemoryContext context);
static Target *make_target(Oid database, const List *saved);
static bool observe(Target *target);
static void tell_backoff(const BookingRestart *restart);
static void start_missing(List *targets, MemoryContext context);
static bool may_start(const Target *target);
static bool start_worker(Target *target, List *targets, MemoryContext context);
static void watch_start(const Target *target);
static long until_next(List *targets);

static ProcessUtility_hook_type previous_utility_hook = NULL;
static bool holding = false;	/* this backend keeps workers out of a database */

/*
 * Register hooks and, when preloaded, the launcher.  Not during pg_upgrade:
 * nothing may be written there.
 */
void
booking_launcher_init(void)
{
	BackgroundWorker worker = {0};

	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;

	booking_shared_init();
	booking_count_init();
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
	RegisterXactCallback(at_end_of_transaction, NULL);

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 5;
	strlcpy(worker.bgw_library_name, "booking", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "booking_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "booking launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "booking launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

/*
 * Start the worker of a database.  Returns false when no slot is free.
 */
bool
booking_launcher_start_worker(Oid database, BackgroundWorkerHandle **handle)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "booking", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "booking_worker_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "booking worker", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "booking worker", BGW_MAXLEN);
	worker.bgw_main_arg = ObjectIdGetDatum(database);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, handle);
}

/*
 * The launcher.
 */
void
booking_launcher_main(Datum arg)
{
	List	   *targets = NIL;
	List	   *saved;
	MemoryContext context;
	MemoryContext old;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	context = AllocSetContextCreate(TopMemoryContext, "booking launcher",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	saved = booking_restart_load();
	MemoryContextSwitchTo(old);
	booking_shared_launcher_attach();

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		targets = look_around(targets, saved, context);
		list_free_deep(saved);
		saved = NIL;

		/* also what stops a worker that crashes the server at each start */
		if (booking_worker)
			start_missing(targets, context);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 until_next(targets), PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/*
 * Read pg_database, keeping what is known of those that are still there, and
 * taking from an earlier launcher what it knew of the others.
 * Templates and databases that allow no connections are left alone, so that
 * they can be copied at any time.
 */
static List *
look_around(List *targets, const List *saved, MemoryContext context)
{
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;
	ListCell   *cell;

	foreach(cell, targets)
		((Target *) lfirst(cell))->seen = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	pgstat_report_activity(STATE_RUNNING, "looking for databases");
	relation = table_open(DatabaseRelationId, AccessShareLock);
	booking_count_sweep_begin();
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);
		Target	   *target = NULL;

		booking_count_seen(database->oid);
		if (!database->datallowconn || database->datistemplate)
			continue;
		foreach(cell, targets)
		{
			if (((Target *) lfirst(cell))->restart.database == database->oid)
				target = lfirst(cell);
		}
		if (target == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			target = make_target(database->oid, saved);
			targets = lappend(targets, target);
			MemoryContextSwitchTo(old);
		}
		target->seen = true;
	}
	table_endscan(scan);
	booking_count_sweep_end();
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);

	foreach(cell, targets)
	{
		Target	   *target = lfirst(cell);

		if (target->seen)
			continue;
		targets = foreach_delete_current(targets, cell);
		if (target->handle != NULL)
			pfree(target->handle);
		pfree(target);
	}
	return targets;
}

/*
 * A database that was not known.
 */
static Target *
make_target(Oid database, const List *saved)
{
	Target	   *target = palloc0_object(Target);
	ListCell   *cell;

	target->restart.database = database;
	foreach(cell, saved)
	{
		const BookingRestart *earlier = lfirst(cell);

		if (earlier->database != database)
			continue;
		target->restart = *earlier;
		tell_backoff(&target->restart);
	}
	return target;
}

/*
 * Learn what became of the worker of a database.  Returns whether that is to
 * be saved.
 */
static bool
observe(Target *target)
{
	BookingRestart *restart = &target->restart;
	TimestampTz now = GetCurrentTimestamp();
	int			failures = restart->failures;
	bool		stopped = false;
	BookingWorkerInfo info;
	BookingWorkerEnd end = BOOKING_END_FAILED;
	pid_t		pid;

	if (target->handle != NULL)
	{
		BgwHandleStatus status = GetBackgroundWorkerPid(target->handle, &pid);

		stopped = status != BGWH_STARTED && status != BGWH_NOT_YET_STARTED;
	}
	if (failures > 0 &&
		booking_shared_worker_info(restart->database, &info) &&
		(info.useful ||
		 (info.state != BOOKING_WORKER_STARTING &&
		  TimestampDifferenceExceeds(restart->started_at, now,
									 BOOKING_PROOF_SECS * 1000))))
		booking_restart_proved(restart);

	if (booking_shared_take_end(restart->database, &end) || stopped)
	{
		booking_restart_ended(restart, end, now);
		if (end == BOOKING_END_FAILED)
		{
			booking_count_worker_failed(restart->database);
			tell_backoff(restart);
		}
		stopped = true;
	}
	if (stopped && target->handle != NULL)
	{
		pfree(target->handle);
		target->handle = NULL;
	}
	return restart->failures != failures;
}

/*
 * Tell why a database has no worker for a while; a single failure may be
 * anything, and is told by its own message.
 */
static void
tell_backoff(const BookingRestart *restart)
{
	if (restart->failures > 1)
		ereport(LOG,
				(errmsg("booking: %d starts of a worker of database %u came to nothing",
						restart->failures, restart->database),
				 errdetail("The next one is not before %s.",
						   timestamptz_to_str(restart->next_at)),
				 errhint("If it crashes the server, set booking.worker to off.")));
}

/*
 * Start workers where there are none, one after the other, so that databases
 * without the extension take one slot at a time.
 */
static void
start_missing(List *targets, MemoryContext context)
{
	bool		changed = false;
	bool		started = false;
	bool		starved = false;
	ListCell   *cell;

	foreach(cell, targets)
		changed |= observe(lfirst(cell));
	if (changed)
		booking_restart_save(targets);

	foreach(cell, targets)
	{
		Target	   *target = lfirst(cell);

		if (!may_start(target))
		{
			starved |= target->starved;
			continue;
		}
		if (!start_worker(target, targets, context))
			return;
		started = true;
		watch_start(target);
	}
	booking_shared_starved(starved);
	foreach(cell, targets)
	{
		const BookingRestart *restart = &((Target *) lfirst(cell))->restart;

		booking_count_backoff(restart->database, restart->failures,
							  restart->next_at);
	}

	/* watching them took wake-ups that were for us */
	if (started)
		SetLatch(MyLatch);
}

/*
 * Should a database get a worker now?  Work that waits there is a reason to
 * come back to where there was nothing to do, but not to where starts come to
 * nothing.
 */
static bool
may_start(const Target *target)
{
	const BookingRestart *restart = &target->restart;

	if (target->handle != NULL ||
		booking_shared_worker_known(restart->database) ||
		booking_shared_held(restart->database))
		return false;
	return restart->next_at <= GetCurrentTimestamp() ||
		(restart->failures == 0 && !target->starved &&
		 booking_shared_wanted(restart->database));
}

/*
 * Start the worker of a database; false if no slot is free.  The start is
 * counted first, because it may be the last thing that this server does.
 */
static bool
start_worker(Target *target, List *targets, MemoryContext context)
{
	BookingRestart before = target->restart;
	TimestampTz now = GetCurrentTimestamp();
	MemoryContext old;
	bool		started;

	booking_restart_begin(&target->restart, now);
	booking_restart_save(targets);
	old = MemoryContextSwitchTo(context);
	started = booking_launcher_start_worker(target->restart.database,
											&target->handle);
	MemoryContextSwitchTo(old);
	if (!started)
	{
		/* workers of others end without telling us, so look soon */
		if (!target->starved)
			ereport(LOG,
					(errmsg("booking: no slot is free for a worker"),
					 errhint("Increase max_worker_processes.")));
		target->handle = NULL;
		target->restart = before;
		target->restart.next_at = now + STARVED_SECS * USECS_PER_SEC;
		booking_restart_save(targets);
	}
	target->starved = !started;
	if (!started)
		booking_shared_starved(true);
	return started;
}

/*
 * Wait until a worker works, or has ended; not for long, since connecting may
 * have to wait for the database's lock.
 */
static void
watch_start(const Target *target)
{
	TimestampTz end = GetCurrentTimestamp() + START_WATCH_SECS * USECS_PER_SEC;
	BookingWorkerInfo info;
	pid_t		pid;

	while (GetCurrentTimestamp() < end)
	{
		BgwHandleStatus status = GetBackgroundWorkerPid(target->handle, &pid);

		if ((status != BGWH_STARTED && status != BGWH_NOT_YET_STARTED) ||
			(booking_shared_worker_info(target->restart.database, &info) &&
			 info.state != BOOKING_WORKER_STARTING))
			return;
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 10, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/*
 * Milliseconds until the launcher has to look again: for the next start, or for
 * a worker to have proved itself.
 */
static long
until_next(List *targets)
{
	TimestampTz now = GetCurrentTimestamp();
	long		wait = booking_poll_interval * 1000L;
	ListCell   *cell;

	foreach(cell, targets)
	{
		const Target *target = lfirst(cell);
		const BookingRestart *restart = &target->restart;
		TimestampTz next_at = restart->next_at;

		if (target->handle != NULL ||
			booking_shared_worker_known(restart->database))
		{
			if (restart->failures == 0)
				continue;
			next_at = restart->started_at + BOOKING_PROOF_SECS * USECS_PER_SEC;
		}
		if (next_at > now)
			wait = Min(wait, (long) ((next_at - now) / 1000) + 1);
		else if (target->handle != NULL)
			wait = Min(wait, BOOKING_PROOF_SECS * 1000L);
	}
	return Max(wait, 100);
}

/*
 * ProcessUtility_hook: clear the way for commands on whole databases, and wake
 * workers for what is committed or created in other ways than by our calls.
 */
static void
on_utility(PlannedStmt *pstmt, const char *query, bool read_only,
		   ProcessUtilityContext context, ParamListInfo params,
		   QueryEnvironment *environment, DestReceiver *dest,
		   QueryCompletion *completion)
{
	Node	   *statement = pstmt->utilityStmt;
	volatile Oid database = database_to_clear(statement);

	if (OidIsValid(database))
		clear_database(database);

	if (previous_utility_hook != NULL)
		previous_utility_hook(pstmt, query, read_only, context, params,
							  environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only, context, params,
								environment, dest, completion);

	wake_after(statement);
}

/*
 * Wake workers for what is committed, or comes and goes, in other ways than by
 * our calls.
 */
static void
wake_after(Node *statement)
{
	const char *name = NULL;

	if (IsA(statement, TransactionStmt))
	{
		/* without the extension there is nobody to wake */
		if (((TransactionStmt *) statement)->kind == TRANS_STMT_COMMIT_PREPARED &&
			OidIsValid(get_extension_oid("booking", true)))
			booking_shared_wake(MyDatabaseId);
		return;
	}
	if (IsA(statement, DropStmt) &&
		((DropStmt *) statement)->removeType == OBJECT_EXTENSION &&
		booking_shared_worker_known(MyDatabaseId))
		booking_wake_at_commit();

	if (IsA(statement, CreateExtensionStmt))
		name = ((CreateExtensionStmt *) statement)->extname;
	else if (IsA(statement, AlterExtensionStmt))
		name = ((AlterExtensionStmt *) statement)->extname;
	if (name != NULL && strcmp(name, "booking") == 0)
		booking_wake_at_commit();
}

/*
 * The database that a command needs without sessions, if any, and if the user
 * may do that to it.
 */
static Oid
database_to_clear(Node *statement)
{
	const char *name = NULL;
	DefElem    *option;
	Oid			database;

	if (IsA(statement, DropdbStmt))
		name = ((DropdbStmt *) statement)->dbname;
	else if (IsA(statement, RenameStmt) &&
			 ((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
		name = ((RenameStmt *) statement)->subname;
	else if (IsA(statement, CreatedbStmt) &&
			 option_names(((CreatedbStmt *) statement)->options, "template", &option) &&
			 option->arg != NULL)
		name = defGetString(option);
	else if (IsA(statement, AlterDatabaseStmt) &&
			 changes_entry(((AlterDatabaseStmt *) statement)->options))
		name = ((AlterDatabaseStmt *) statement)->dbname;
	if (name == NULL)
		return InvalidOid;

	/* others must not be able to drive the worker out: requests are lost */
	database = get_database_oid(name, true);
	return OidIsValid(database) &&
		booking_database_ownercheck(database, GetUserId()) ? database : InvalidOid;
}

/*
 * Do options of ALTER DATABASE move the database, or say who may enter it?
 */
static bool
changes_entry(List *options)
{
	DefElem    *option;

	return option_names(options, "tablespace", &option) ||
		option_names(options, "is_template", &option) ||
		option_names(options, "allow_connections", &option);
}

/*
 * Find an option of a statement.
 */
static bool
option_names(List *options, const char *name, DefElem **found)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		*found = lfirst(cell);
		if (strcmp((*found)->defname, name) == 0)
			return true;
	}
	return false;
}

/*
 * The transaction of such a command ended: workers may enter again, if the
 * database is still there and still theirs.
 */
static void
at_end_of_transaction(XactEvent event, void *arg)
{
	if (holding && (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
					event == XACT_EVENT_PREPARE))
	{
		holding = false;
		booking_shared_release();
	}
}

/*
 * Have the worker of a database leave, and wait for it, three seconds at most:
 * the command itself waits five more and tells who is in its way.
 */
static void
clear_database(Oid database)
{
	BookingWorkerInfo info;
	TimestampTz end = GetCurrentTimestamp() + 3 * USECS_PER_SEC;

	holding = true;
	booking_shared_hold(database);
	while (booking_shared_worker_info(database, &info) &&
		   GetCurrentTimestamp() < end)
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 10, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  starting workers, and keeping them out of the way
 *
 * When the library is preloaded, a launcher looks through pg_database and
 * starts one worker for each database that can be connected to.  A worker that
 * finds no extension leaves at once, and the launcher does not come back to
 * that database before CREATE EXTENSION says so or the slow poll.  Workers are
 * never restarted by the postmaster: the launcher does it, with a back-off
 * that grows while they end early.
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
#include "controller/shared.h"
#include "guc.h"
#include "ledger/wake.h"

PGDLLEXPORT void booking_launcher_main(Datum arg);

/* a database as the launcher knows it */
typedef struct Target
{
	Oid			database;
	bool		seen;			/* in pg_database now */
	TimestampTz started_at;		/* last start of a worker, 0 never */
	TimestampTz next_at;		/* not before this */
	int			failures;		/* early ends in a row */
	bool		starved;		/* there was no slot for its worker */
} Target;

#define BACKOFF_LAST_SECS 300
#define EARLY_END_SECS 5
#define START_WATCH_SECS 2
#define RESTART_SECS 1

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
static List *look_around(List *targets, MemoryContext context);
static void start_missing(List *targets);
static bool watch_start(Target *target, BackgroundWorkerHandle *handle);
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
	MemoryContext context;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	context = AllocSetContextCreate(TopMemoryContext, "booking launcher",
									ALLOCSET_DEFAULT_SIZES);
	booking_shared_launcher_attach();

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}

		targets = look_around(targets, context);

		/* also what stops a worker that crashes the server at each start */
		if (booking_worker)
			start_missing(targets);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 until_next(targets), PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

/*
 * Read pg_database, keeping what is known of those that are still there.
 * Templates and databases that allow no connections are left alone, so that
 * they can be copied at any time.
 */
static List *
look_around(List *targets, MemoryContext context)
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
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);
		Target	   *target = NULL;

		if (!database->datallowconn || database->datistemplate)
			continue;
		foreach(cell, targets)
		{
			if (((Target *) lfirst(cell))->database == database->oid)
				target = lfirst(cell);
		}
		if (target == NULL)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			target = palloc0_object(Target);
			target->database = database->oid;
			targets = lappend(targets, target);
			MemoryContextSwitchTo(old);
		}
		target->seen = true;
	}
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);

	foreach(cell, targets)
	{
		Target	   *target = lfirst(cell);

		if (target->seen)
			continue;
		targets = foreach_delete_current(targets, cell);
		pfree(target);
	}
	return targets;
}

/*
 * Start workers where there are none, one after the other, so that databases
 * without the extension take one slot at a time.  A worker that ended soon
 * after its start found no extension, or failed: it is tried again later and
 * later.
 */
static void
start_missing(List *targets)
{
	bool		started = false;
	bool		starved = false;
	ListCell   *cell;

	foreach(cell, targets)
	{
		Target	   *target = lfirst(cell);
		TimestampTz now = GetCurrentTimestamp();
		BackgroundWorkerHandle *handle;
		int			wait;

		if (booking_shared_worker_known(target->database))
		{
			if (target->failures > 0 &&
				TimestampDifferenceExceeds(target->started_at, now, EARLY_END_SECS * 1000))
				target->failures = 0;
			continue;
		}
		if (booking_shared_held(target->database) ||
			(target->next_at > now && !booking_shared_wanted(target->database)))
		{
			starved |= target->starved;
			continue;
		}

		if (!booking_launcher_start_worker(target->database, &handle))
		{
			/* workers of others end without telling us, so look soon */
			if (!target->starved)
				ereport(LOG,
						(errmsg("booking: no slot is free for a worker"),
						 errhint("Increase max_worker_processes.")));
			target->starved = true;
			booking_shared_starved(true);
			target->next_at = now + EARLY_END_SECS * USECS_PER_SEC;
			return;
		}
		started = true;
		target->starved = false;
		wait = Min(EARLY_END_SECS << Min(target->failures, 10), BACKOFF_LAST_SECS);
		target->failures++;
		target->started_at = now;
		target->next_at = now + wait * USECS_PER_SEC;
		if (watch_start(target, handle))
		{
			/* it works: whatever ends it later is no reason to wait long */
			target->failures = 0;
			target->next_at = now + RESTART_SECS * USECS_PER_SEC;
		}
		pfree(handle);
	}
	booking_shared_starved(starved);

	/* watching them took wake-ups that were for us */
	if (started)
		SetLatch(MyLatch);
}

/*
 * Wait until a worker works, or has ended; not for long, since connecting may
 * have to wait for the database's lock.  Returns whether it works.
 */
static bool
watch_start(Target *target, BackgroundWorkerHandle *handle)
{
	TimestampTz end = GetCurrentTimestamp() + START_WATCH_SECS * USECS_PER_SEC;
	BookingWorkerInfo info;
	pid_t		pid;

	while (GetCurrentTimestamp() < end)
	{
		BgwHandleStatus status = GetBackgroundWorkerPid(handle, &pid);

		if (status != BGWH_STARTED && status != BGWH_NOT_YET_STARTED)
			return false;
		if (booking_shared_worker_info(target->database, &info) &&
			info.state != BOOKING_WORKER_STARTING)
			return true;
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 10, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
	return false;
}

/*
 * Milliseconds until the launcher has to look again.
 */
static long
until_next(List *targets)
{
	TimestampTz now = GetCurrentTimestamp();
	long		wait = booking_poll_interval * 1000L;
	ListCell   *cell;

	foreach(cell, targets)
	{
		Target	   *target = lfirst(cell);

		if (target->next_at > now &&
			!booking_shared_worker_known(target->database))
			wait = Min(wait, (long) ((target->next_at - now) / 1000) + 1);
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

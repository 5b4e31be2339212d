/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  what backends, launcher and workers know of each other
 *
 * A small array in shared memory, one slot a database with a worker, under one
 * spinlock that is only ever held for a few instructions.  It exists only when
 * the library is preloaded; a worker started without that is found through its
 * lock instead (see worker.c), and finds work by polling.
 *
 * Processes are named by pid and process number, never by pointers of their
 * own; a slot is cleared by its owner's before_shmem_exit callback, which is
 * safe at every stage of its start.
 *
 * IDENTIFICATION
 *	  booking/src/controller/shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "controller/shared.h"

typedef struct WorkerSlot
{
	Oid			database;		/* InvalidOid: free */
	Latch	   *latch;			/* in the PGPROC array, which never moves */
	BookingWorkerInfo info;
} WorkerSlot;

/* a database no worker may enter now */
typedef struct Hold
{
	Oid			database;		/* InvalidOid: free */
	pid_t		holder;
} Hold;

#define MAX_HOLDS 32

/* how the worker of a database ended, until the launcher takes note */
typedef struct Ending
{
	Oid			database;		/* InvalidOid: free */
	BookingWorkerEnd end;
} Ending;

typedef struct Shared
{
	slock_t		mutex;
	Latch	   *launcher;		/* NULL: none */
	bool		starved;		/* no slot was free for a worker */
	Hold		holds[MAX_HOLDS];
	int			next_wanted;	/* to overwrite when there are too many */
	Oid			wanted[BOOKING_MAX_WORKERS];	/* databases with work but no worker */
	int			next_ending;	/* likewise */
	Ending		endings[BOOKING_MAX_WORKERS];
	WorkerSlot	slots[BOOKING_MAX_WORKERS];
} Shared;

static void request_memory(void);
static void startup_memory(void);
static void launcher_detach(int code, Datum arg);
static void worker_detach(int code, Datum arg);
static void release_at_exit(int code, Datum arg);
static WorkerSlot *find_slot(Oid database);
static bool held(Oid database);
static void want(Oid database);
static void note_ending(Oid database, BookingWorkerEnd end);

static Shared *shared = NULL;
static WorkerSlot *my_slot = NULL;
static Oid	my_database = InvalidOid;	/* whose worker this process is to be */
static volatile sig_atomic_t my_end = BOOKING_END_FAILED;
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

/*
 * Ask for the memory.  Called while the postmaster loads the library.
 */
void
booking_shared_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_memory;
}

/*
 * Was the library preloaded?
 */
bool
booking_shared_present(void)
{
	return shared != NULL;
}

/*
 * Enter this process as the worker of a database.  Returns 0 if it is, 1 if
 * there is another one, 2 if no slot is free or the database is held.
 */
int
booking_shared_worker_attach(Oid database)
{
	int			rc = 2;

	if (shared == NULL)
		return 0;
	my_database = database;
	before_shmem_exit(worker_detach, (Datum) 0);
	SpinLockAcquire(&shared->mutex);
	if (!held(database))
	{
		WorkerSlot *slot = find_slot(database);

		if (slot != NULL)
			rc = 1;
		else if ((slot = find_slot(InvalidOid)) != NULL)
		{
			memset(slot, 0, sizeof(*slot));
			slot->database = database;
			slot->latch = MyLatch;
			slot->info.pid = MyProcPid;
			my_slot = slot;
			rc = 0;
		}
	}
	SpinLockRelease(&shared->mutex);
	return rc;
}

/*
 * Leave, before the process ends or before it lets the database go.
 */
void
booking_shared_worker_detach(void)
{
	if (!OidIsValid(my_database))
		return;
	SpinLockAcquire(&shared->mutex);
	if (my_slot != NULL)
	{
		my_slot->database = InvalidOid;
		my_slot->latch = NULL;
	}
	note_ending(my_database, my_end);
	SpinLockRelease(&shared->mutex);
	my_slot = NULL;
	my_database = InvalidOid;
	booking_shared_wake_launcher();
}

/*
 * Say how this process is about to end.  Called by signal handlers too.
 */
void
booking_shared_worker_ending(BookingWorkerEnd end)
{
	my_end = end;
}

/*
 * The worker has recorded something: it is not one of those that only end.
 */
void
booking_shared_worker_useful(void)
{
	bool		news;

	if (my_slot == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	news = !my_slot->info.useful;
	my_slot->info.useful = true;
	SpinLockRelease(&shared->mutex);
	if (news)
		booking_shared_wake_launcher();
}

/*
 * Say what the worker is at; reason may be NULL.
 */
void
booking_shared_worker_report(BookingWorkerState state, int in_flight,
							 const char *reason)
{
	char		copy[BOOKING_REASON_LEN];
	TimestampTz now = GetCurrentTimestamp();

	if (my_slot == NULL)
		return;
	strlcpy(copy, reason != NULL ? reason : "", sizeof(copy));
	SpinLockAcquire(&shared->mutex);
	my_slot->info.state = state;
	my_slot->info.in_flight = in_flight;
	my_slot->info.beat_at = now;
	memcpy(my_slot->info.reason, copy, sizeof(copy));
	SpinLockRelease(&shared->mutex);
}

/*
 * Enter this process as the launcher.
 */
void
booking_shared_launcher_attach(void)
{
	before_shmem_exit(launcher_detach, (Datum) 0);
	SpinLockAcquire(&shared->mutex);
	shared->launcher = MyLatch;
	SpinLockRelease(&shared->mutex);
}

/*
 * Has a database a worker?
 */
bool
booking_shared_worker_known(Oid database)
{
	BookingWorkerInfo info;

	return booking_shared_worker_info(database, &info);
}

/*
 * How did the last worker of a database end?  Tells each end once; false if
 * there is none to tell.
 */
bool
booking_shared_take_end(Oid database, BookingWorkerEnd *end)
{
	bool		found = false;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < BOOKING_MAX_WORKERS && !found; i++)
	{
		if (shared->endings[i].database != database)
			continue;
		shared->endings[i].database = InvalidOid;
		*end = shared->endings[i].end;
		found = true;
	}
	SpinLockRelease(&shared->mutex);
	return found;
}

/*
 * Must workers stay out of a database?
 */
bool
booking_shared_held(Oid database)
{
	bool		result;

	if (shared == NULL)
		return false;
	SpinLockAcquire(&shared->mutex);
	result = held(database);
	SpinLockRelease(&shared->mutex);
	return result;
}

/*
 * Note whether there was a slot for every worker.
 */
void
booking_shared_starved(bool starved)
{
	SpinLockAcquire(&shared->mutex);
	shared->starved = starved;
	SpinLockRelease(&shared->mutex);
}

/*
 * Why a database may have no worker although the library is preloaded.
 */
const char *
booking_shared_absence(void)
{
	bool		launcher;
	bool		starved;
	bool		full;

	SpinLockAcquire(&shared->mutex);
	launcher = shared->launcher != NULL;
	starved = shared->starved;
	full = find_slot(InvalidOid) == NULL;
	SpinLockRelease(&shared->mutex);

	if (!launcher)
		return "the launcher does not run; see max_worker_processes and the server's log";
	if (starved)
		return "no slot is free for a worker: increase max_worker_processes";
	if (full)
		return "as many databases have a worker as can have one";
	return "it is about to start, or ended early: see the server's log";
}

/*
 * Did a commit leave work in a database without a worker?  Asking takes note.
 */
bool
booking_shared_wanted(Oid database)
{
	bool		wanted = false;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < BOOKING_MAX_WORKERS; i++)
	{
		if (shared->wanted[i] != database)
			continue;
		shared->wanted[i] = InvalidOid;
		wanted = true;
	}
	SpinLockRelease(&shared->mutex);
	return wanted;
}

/*
 * What the worker of a database is at; false if there is none.
 */
bool
booking_shared_worker_info(Oid database, BookingWorkerInfo *info)
{
	WorkerSlot *slot;

	if (shared == NULL)
		return false;
	SpinLockAcquire(&shared->mutex);
	slot = find_slot(database);
	if (slot != NULL)
		*info = slot->info;
	SpinLockRelease(&shared->mutex);
	return slot != NULL;
}

/*
 * Wake the worker of a database.  Called from commit callbacks: cannot fail.
 */
void
booking_shared_wake(Oid database)
{
	Latch	   *latch = NULL;
	WorkerSlot *slot;

	if (shared == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	slot = find_slot(database);
	if (slot != NULL)
		latch = slot->latch;
	/* one that starts may have looked before the commit, and leave */
	if (slot == NULL || slot->info.state == BOOKING_WORKER_STARTING)
		want(database);
	SpinLockRelease(&shared->mutex);
	if (latch != NULL)
		SetLatch(latch);
	else
		booking_shared_wake_launcher();
}

/*
 * Wake the launcher.  Cannot fail.
 */
void
booking_shared_wake_launcher(void)
{
	Latch	   *latch;

	if (shared == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	latch = shared->launcher;
	SpinLockRelease(&shared->mutex);
	if (latch != NULL)
		SetLatch(latch);
}

/*
 * Keep workers out of a database until booking_shared_release(), or the end of
 * this process.  When too many are held the command may meet a worker, as it
 * would without us.
 */
void
booking_shared_hold(Oid database)
{
	static bool registered = false;

	if (shared == NULL)
		return;
	if (!registered)
		before_shmem_exit(release_at_exit, (Datum) 0);
	registered = true;

	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MAX_HOLDS; i++)
	{
		if (OidIsValid(shared->holds[i].database))
			continue;
		shared->holds[i].database = database;
		shared->holds[i].holder = MyProcPid;
		break;
	}
	SpinLockRelease(&shared->mutex);
	booking_shared_wake(database);
}

/*
 * Let workers in again where this process kept them out.
 */
void
booking_shared_release(void)
{
	if (shared == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	for (int i = 0; i < MAX_HOLDS; i++)
	{
		if (shared->holds[i].holder == MyProcPid)
			shared->holds[i].database = InvalidOid;
	}
	SpinLockRelease(&shared->mutex);
	booking_shared_wake_launcher();
}

/*
 * shmem_request_hook
 */
static void
request_memory(void)
{
	if (previous_request_hook != NULL)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(Shared)));
}

/*
 * shmem_startup_hook; runs again after a crash, with fresh memory
 */
static void
startup_memory(void)
{
	bool		found;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("booking", sizeof(Shared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(Shared));
		SpinLockInit(&shared->mutex);
	}
	LWLockRelease(AddinShmemInitLock);
}

/*
 * before_shmem_exit of the launcher
 */
static void
launcher_detach(int code, Datum arg)
{
	SpinLockAcquire(&shared->mutex);
	shared->launcher = NULL;
	SpinLockRelease(&shared->mutex);
}

/*
 * before_shmem_exit of a process that held a database; a FATAL error passes no
 * PG_FINALLY
 */
static void
release_at_exit(int code, Datum arg)
{
	booking_shared_release();
}

/*
 * before_shmem_exit of a worker
 */
static void
worker_detach(int code, Datum arg)
{
	booking_shared_worker_detach();
}

/*
 * Slot of a database, or with InvalidOid a free one; NULL if none.  The mutex
 * is held.
 */
static WorkerSlot *
find_slot(Oid database)
{
	for (int i = 0; i < BOOKING_MAX_WORKERS; i++)
	{
		if (shared->slots[i].database == database)
			return &shared->slots[i];
	}
	return NULL;
}

/*
 * Is a database held?  The mutex is held.
 */
static bool
held(Oid database)
{
	for (int i = 0; i < MAX_HOLDS; i++)
	{
		if (shared->holds[i].database == database)
			return true;
	}
	return false;
}

/*
 * Note that a database has work but no worker.  The mutex is held.
 */
static void
want(Oid database)
{
	int			place = -1;

	for (int i = 0; i < BOOKING_MAX_WORKERS; i++)
	{
		if (shared->wanted[i] == database)
			return;
		if (place < 0 && shared->wanted[i] == InvalidOid)
			place = i;
	}
	if (place < 0)
		place = shared->next_wanted++ % BOOKING_MAX_WORKERS;
	shared->wanted[place] = database;
}

/*
 * Note how the worker of a database ended.  The mutex is held.  When there are
 * too many, one is forgotten, and counts as failed.
 */
static void
note_ending(Oid database, BookingWorkerEnd end)
{
	int			place = -1;

	for (int i = 0; i < BOOKING_MAX_WORKERS; i++)
	{
		if (shared->endings[i].database == database ||
			(place < 0 && shared->endings[i].database == InvalidOid))
			place = i;
		if (shared->endings[i].database == database)
			break;
	}
	if (place < 0)
		place = shared->next_ending++ % BOOKING_MAX_WORKERS;
	shared->endings[place].database = database;
	shared->endings[place].end = end;
}

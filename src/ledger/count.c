/*-------------------------------------------------------------------------
 *
 * count.c
 *	  counting what happens, in shared memory
 *
 * A counter is one atomic number; to count is to add one to it, without a lock
 * and without a transaction: what is told to a caller was told, whether or not
 * the caller commits.  There is one slot of counters for each database that
 * counts, and a process finds that of its database once.  Sources of deliveries
 * have slots of their own, as many as there is room for; the others share one.
 *
 * A slot begins with what happened since the server started.  When somebody
 * loads it, what is stored is added, and from then on it has the whole; only
 * then is it stored again.  So nothing is counted twice, whoever is first.  The
 * mutex guards which slots there are and what is added to them as a whole, and
 * is not taken to count.
 *
 * Without shared memory each process counts for itself, and only the worker's
 * numbers are ever stored.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "compat.h"
#include "ledger/count_internal.h"

static void request_memory(void);
static void startup_memory(void);

BookingCountShared *booking_count_memory = NULL;

static BookingCountSlot *mine = NULL;	/* of this process's database */
static BookingCountSlot alone;	/* where there is no room in shared memory */
static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

/*
 * Ask for the memory.  Called while the postmaster loads the library.
 */
void
booking_count_init(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup_memory;
}

/*
 * shmem_request_hook
 */
static void
request_memory(void)
{
	if (previous_request_hook != NULL)
		previous_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(BookingCountShared)));
}

/*
 * shmem_startup_hook; runs again after a crash, with fresh memory.  Only the
 * postmaster's orderly end writes the file.
 */
static void
startup_memory(void)
{
	bool		found;

	if (previous_startup_hook != NULL)
		previous_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	booking_count_memory = ShmemInitStruct("booking counters",
										   sizeof(BookingCountShared), &found);
	if (!found)
	{
		memset(booking_count_memory, 0, sizeof(BookingCountShared));
		SpinLockInit(&booking_count_memory->mutex);
		for (int i = 0; i < BOOKING_COUNT_SLOTS; i++)
			booking_count_empty(&booking_count_memory->slots[i], InvalidOid);
		for (int i = 0; i < BOOKING_COUNT_SOURCES; i++)
		{
			for (int j = 0; j < BOOKING_COUNT_VERDICTS; j++)
				pg_atomic_init_u64(&booking_count_memory->sources[i].counts[j], 0);
		}
	}
	LWLockRelease(AddinShmemInitLock);

	if (!found)
		booking_count_file_read();
	if (!IsUnderPostmaster)
		on_shmem_exit(booking_count_file_write, (Datum) 0);
}

/*
 * Count one; second is NULL where the family has one label.
 */
void
booking_count(BookingCountFamily family, const char *first, const char *second)
{
	int			index = booking_count_index(family, first, second);

	(void) pg_atomic_fetch_add_u64(&booking_count_mine()->counts[index], 1);
}

/*
 * Count an answer to a caller.
 */
void
booking_count_answer(const char *disposition, bool replayed)
{
	booking_count(BOOKING_COUNT_ANSWERS, disposition,
				  replayed ? "true" : "false");
}

/*
 * Count a delivery of a source, which is named by a digest.  Verdicts that are
 * kept elsewhere are not counted here.
 */
void
booking_count_delivery(uint64 source, const char *verdict)
{
	int			index = booking_count_verdict(verdict);
	BookingCountSource *slot = NULL;

	if (index < 0 || !booking_count_shared())
		return;
	booking_count_lock();
	slot = booking_count_source(MyDatabaseId, source);
	if (slot != NULL)
		(void) pg_atomic_fetch_add_u64(&slot->counts[index], 1);
	booking_count_unlock();
}

/*
 * The slot of this process's database, taken when it is first asked for.
 */
BookingCountSlot *
booking_count_mine(void)
{
	if (mine != NULL)
		return mine;
	if (booking_count_memory != NULL)
	{
		SpinLockAcquire(&booking_count_memory->mutex);
		mine = booking_count_slot(MyDatabaseId);
		if (mine == NULL && (mine = booking_count_slot(InvalidOid)) != NULL)
			booking_count_empty(mine, MyDatabaseId);
		SpinLockRelease(&booking_count_memory->mutex);
	}
	if (mine == NULL)
	{
		mine = &alone;
		booking_count_empty(mine, MyDatabaseId);
	}
	return mine;
}

/*
 * The slot of a database, or with InvalidOid a free one; NULL if there is none.
 * The mutex is held.
 */
BookingCountSlot *
booking_count_slot(Oid database)
{
	for (int i = 0; i < BOOKING_COUNT_SLOTS; i++)
	{
		if (booking_count_memory->slots[i].database == database)
			return &booking_count_memory->slots[i];
	}
	return NULL;
}

/*
 * The slot of a source, or that of all for which there is no room; NULL if not
 * even that one is there.  The mutex is held.
 */
BookingCountSource *
booking_count_source(Oid database, uint64 source)
{
	BookingCountSource *free_slot = NULL;
	int			nfree = 0;

	for (int i = 0; i < BOOKING_COUNT_SOURCES; i++)
	{
		BookingCountSource *slot = &booking_count_memory->sources[i];

		if (slot->database == database && slot->source == source)
			return slot;
		if (OidIsValid(slot->database))
			continue;
		if (free_slot == NULL)
			free_slot = slot;
		nfree++;
	}

	/* each database may need one of the last ones for those without a slot */
	if (source != 0 && nfree <= BOOKING_COUNT_SLOTS)
		return booking_count_source(database, 0);
	if (free_slot == NULL)
		return NULL;
	for (int i = 0; i < BOOKING_COUNT_VERDICTS; i++)
	{
		pg_atomic_write_u64(&free_slot->counts[i], 0);
		free_slot->stored[i] = 0;
	}
	free_slot->database = database;
	free_slot->source = source;
	return free_slot;
}

/*
 * Begin with a slot, for a database or for none, with nothing counted.
 */
void
booking_count_empty(BookingCountSlot *slot, Oid database)
{
	slot->database = database;
	slot->relation = InvalidOid;
	slot->loaded = false;
	slot->seen = true;
	memset(&slot->backoff, 0, sizeof(slot->backoff));
	memset(slot->stored, 0, sizeof(slot->stored));
	for (int i = 0; i < BOOKING_COUNTERS; i++)
		pg_atomic_init_u64(&slot->counts[i], 0);
}

/*
 * Take the mutex, if there is one.
 */
void
booking_count_lock(void)
{
	if (booking_count_memory != NULL)
		SpinLockAcquire(&booking_count_memory->mutex);
}

/*
 * Give the mutex back.
 */
void
booking_count_unlock(void)
{
	if (booking_count_memory != NULL)
		SpinLockRelease(&booking_count_memory->mutex);
}

/*
 * Is what all sessions of this database do counted together?
 */
bool
booking_count_shared(void)
{
	return booking_count_mine() != &alone;
}

/*
 * How the starts of this database's worker go.
 */
void
booking_count_starts(BookingCountBackoff *backoff)
{
	BookingCountSlot *slot = booking_count_mine();

	booking_count_lock();
	*backoff = slot->backoff;
	booking_count_unlock();
}

/*
 * A worker of a database ended by an error.  Where nothing is counted there was
 * none.
 */
void
booking_count_worker_failed(Oid database)
{
	int			index = booking_count_index(BOOKING_COUNT_WORKERS, "failed", NULL);
	BookingCountSlot *slot;

	booking_count_lock();
	slot = booking_count_slot(database);
	if (slot != NULL)
		(void) pg_atomic_fetch_add_u64(&slot->counts[index], 1);
	booking_count_unlock();
}

/*
 * Say how the starts of a database's worker go.
 */
void
booking_count_backoff(Oid database, int failures, TimestampTz next_at)
{
	BookingCountSlot *slot;

	booking_count_lock();
	slot = booking_count_slot(database);
	if (slot != NULL)
	{
		slot->backoff.failures = failures;
		slot->backoff.next_at = next_at;
	}
	booking_count_unlock();
}

/*
 * Before the databases of the server are listed: those that are seen until
 * booking_count_sweep_end() keep what they have, and so do those that begin to
 * count in between.
 */
void
booking_count_sweep_begin(void)
{
	booking_count_lock();
	for (int i = 0; i < BOOKING_COUNT_SLOTS; i++)
		booking_count_memory->slots[i].seen = false;
	booking_count_unlock();
}

/*
 * A database is there.
 */
void
booking_count_seen(Oid database)
{
	BookingCountSlot *slot;

	booking_count_lock();
	slot = booking_count_slot(database);
	if (slot != NULL)
		slot->seen = true;
	booking_count_unlock();
}

/*
 * Free what dropped databases had; nobody can be connected to them.
 */
void
booking_count_sweep_end(void)
{
	booking_count_lock();
	for (int i = 0; i < BOOKING_COUNT_SLOTS; i++)
	{
		BookingCountSlot *slot = &booking_count_memory->slots[i];

		if (!OidIsValid(slot->database) || slot->seen)
			continue;
		for (int j = 0; j < BOOKING_COUNT_SOURCES; j++)
		{
			if (booking_count_memory->sources[j].database == slot->database)
				booking_count_memory->sources[j].database = InvalidOid;
		}
		slot->database = InvalidOid;
	}
	booking_count_unlock();
}

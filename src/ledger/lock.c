/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  the ledger's locks
 *
 * Heavyweight transaction locks in classes of our own: LOCKTAG_ADVISORY with
 * a field4 that neither users (1, 2) nor other extensions (Citus: 4 to 16)
 * use.  No tuple is dirtied, PREPARE TRANSACTION and crash recovery keep them,
 * and pg_locks shows them.
 *
 * Order, everywhere: booking of a webhook source, role binding, permission,
 * intent, resource; within a class ascending.  Classes with many keys are
 * hashed into buckets, so that a long transaction cannot exhaust the lock
 * table; a collision only waits.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/lock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "compat.h"
#include "ledger/lock.h"

typedef enum BookingLockClass
{
	BOOKING_LOCK_BINDING = 19265,
	BOOKING_LOCK_PERMISSION = 19266,
	BOOKING_LOCK_INTENT = 19267,
	BOOKING_LOCK_RESOURCE = 19268,
	BOOKING_LOCK_WORKER = 19269,
	BOOKING_LOCK_SIGNIN = 19270,
	BOOKING_LOCK_PLACE = 19271,
	BOOKING_LOCK_FEED = 19272,
	BOOKING_LOCK_WEBHOOK = 19273
} BookingLockClass;

static void acquire(BookingLockClass class, uint64 key, LOCKMODE mode);
static void release(BookingLockClass class, uint64 key, LOCKMODE mode);
static uint32 intent_bucket(const BookingIdentity *identity,
							const text *intent);
static uint32 hash_texts(const text *a, const text *b, const text *c);

static bool waiting_allowed = true;

/*
 * Whether this process waits for locks of the ledger from now on; if not, one
 * that another session has is an error at once.  For the worker, which holds
 * the locks of many intents while it needs one more.
 */
void
booking_lock_allow_waiting(bool allowed)
{
	waiting_allowed = allowed;
}

/*
 * Lock the role bindings of a tenant.
 */
void
booking_lock_binding(const text *tenant, LOCKMODE mode)
{
	acquire(BOOKING_LOCK_BINDING,
			hash_texts(tenant, NULL, NULL) % BOOKING_PERMISSION_BUCKETS, mode);
}

/*
 * Lock the permissions of a principal.
 */
void
booking_lock_permission(const text *tenant, const text *principal,
						LOCKMODE mode)
{
	acquire(BOOKING_LOCK_PERMISSION,
			hash_texts(tenant, principal, NULL) % BOOKING_PERMISSION_BUCKETS,
			mode);
}

/*
 * Lock the permissions of a principal and, unless NULL, of an approver.
 */
void
booking_lock_permissions(const text *tenant, const text *principal,
						 const text *approver, LOCKMODE mode)
{
	uint32		first = hash_texts(tenant, principal, NULL) %
		BOOKING_PERMISSION_BUCKETS;
	uint32		second = approver == NULL ? first :
		hash_texts(tenant, approver, NULL) % BOOKING_PERMISSION_BUCKETS;

	acquire(BOOKING_LOCK_PERMISSION, Min(first, second), mode);
	if (first != second)
		acquire(BOOKING_LOCK_PERMISSION, Max(first, second), mode);
}

/*
 * Lock an intent and, unless NULL, the earlier intent of the same principal
 * that it supersedes.
 */
void
booking_lock_intents(const BookingIdentity *identity, const text *predecessor)
{
	uint32		first = intent_bucket(identity, identity->intent);
	uint32		second = predecessor == NULL ? first :
		intent_bucket(identity, predecessor);

	acquire(BOOKING_LOCK_INTENT, Min(first, second), ExclusiveLock);
	if (first != second)
		acquire(BOOKING_LOCK_INTENT, Max(first, second), ExclusiveLock);
}

/*
 * Lock an intent unless somebody has it; returns whether it is locked.
 */
bool
booking_lock_intent_try(const BookingIdentity *identity)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0,
						 intent_bucket(identity, identity->intent),
						 BOOKING_LOCK_INTENT);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Lock bookings of a webhook source, those that are not NULL, before any lock
 * of intents and resources.  The identity's intent is not looked at.
 */
void
booking_lock_webhook(const BookingIdentity *identity, const text *const *bookings,
					 int count)
{
	uint32		buckets[BOOKING_WEBHOOK_BOOKINGS];
	int			n = 0;

	Assert(count <= BOOKING_WEBHOOK_BOOKINGS);
	for (int i = 0; i < count; i++)
	{
		int			at = n;
		uint32		bucket;

		if (bookings[i] == NULL)
			continue;
		bucket = intent_bucket(identity, bookings[i]);
		for (; at > 0 && buckets[at - 1] > bucket; at--)
			buckets[at] = buckets[at - 1];
		buckets[at] = bucket;
		n++;
	}
	for (int i = 0; i < n; i++)
		acquire(BOOKING_LOCK_WEBHOOK, buckets[i], ExclusiveLock);
}

/*
 * Lock the feed of a tenant: give positions to its changes, or change who
 * reads them.  Nothing that writes changes takes it.
 */
void
booking_lock_feed(const text *tenant)
{
	acquire(BOOKING_LOCK_FEED,
			hash_texts(tenant, NULL, NULL) % BOOKING_PERMISSION_BUCKETS,
			ExclusiveLock);
}

/*
 * Lock the feed of a tenant unless somebody has it; returns whether it is
 * locked.
 */
bool
booking_lock_feed_try(const text *tenant)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0,
						 hash_texts(tenant, NULL, NULL) %
						 BOOKING_PERMISSION_BUCKETS,
						 BOOKING_LOCK_FEED);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Give the lock of a feed back, when nothing was done under it.
 */
void
booking_unlock_feed(const text *tenant)
{
	release(BOOKING_LOCK_FEED,
			hash_texts(tenant, NULL, NULL) % BOOKING_PERMISSION_BUCKETS,
			ExclusiveLock);
}

/*
 * Lock where an account sends to, in order to point it, or one of its calendars,
 * elsewhere.  Waits for a lease that is not committed yet: what it is about to
 * send there is known as sent afterwards.
 */
void
booking_lock_place(const text *tenant, const text *account)
{
	acquire(BOOKING_LOCK_PLACE, hash_texts(tenant, account, NULL), ExclusiveLock);
}

/*
 * Lock where an account sends to, in order to send there, unless somebody is
 * pointing it elsewhere; returns whether it is locked.
 */
bool
booking_lock_place_try(const text *tenant, const text *account)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0,
						 hash_texts(tenant, account, NULL), BOOKING_LOCK_PLACE);
	return LockAcquire(&tag, ShareLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Become the one worker of the database, for the life of the process.  Who has
 * this lock knows that every earlier worker is dead, and with it whatever it
 * was sending.
 */
bool
booking_lock_worker_try(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 0, BOOKING_LOCK_WORKER);
	return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Become the one who signs in to an account, until booking_unlock_signin() or
 * the end of the process; false if somebody else is.  Outlives transactions,
 * because requests are in none.
 */
bool
booking_lock_signin_try(const text *tenant, const text *account)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0,
						 hash_texts(tenant, account, NULL), BOOKING_LOCK_SIGNIN);
	return LockAcquire(&tag, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Let others sign in to an account.
 */
void
booking_unlock_signin(const text *tenant, const text *account)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0,
						 hash_texts(tenant, account, NULL), BOOKING_LOCK_SIGNIN);
	(void) LockRelease(&tag, ExclusiveLock, true);
}

/*
 * Process number of the worker of this database, 0 if there is none.  Looks
 * at all locks; asking for the lock itself could turn away a worker that
 * starts at that moment.
 */
int
booking_lock_worker_holder(void)
{
	LockData   *data = GetLockStatusData();
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, 0, BOOKING_LOCK_WORKER);
	for (int i = 0; i < data->nelements; i++)
	{
		const LockInstanceData *lock = &data->locks[i];

		if (memcmp(&lock->locktag, &tag, sizeof(tag)) == 0 &&
			(lock->holdMask & LOCKBIT_ON(ExclusiveLock)) != 0)
			return lock->pid;
	}
	return 0;
}

/*
 * Give back what booking_lock_intents() took, when nothing was decided yet.
 */
void
booking_unlock_intents(const BookingIdentity *identity,
					   const text *predecessor)
{
	uint32		first = intent_bucket(identity, identity->intent);
	uint32		second = predecessor == NULL ? first :
		intent_bucket(identity, predecessor);

	release(BOOKING_LOCK_INTENT, Max(first, second), ExclusiveLock);
	if (first != second)
		release(BOOKING_LOCK_INTENT, Min(first, second), ExclusiveLock);
}

/*
 * Lock a resource: ShareLock to add to or take from lane 0 or to free,
 * ExclusiveLock for all that moves or counts lanes.
 */
void
booking_lock_resource(int64 resource_id, LOCKMODE mode)
{
	acquire(BOOKING_LOCK_RESOURCE, (uint64) resource_id, mode);
}

/*
 * Lock a resource unless somebody has it in a mode that conflicts; returns
 * whether it is locked.
 */
bool
booking_lock_resource_try(int64 resource_id, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (resource_id >> 32),
						 (uint32) resource_id, BOOKING_LOCK_RESOURCE);
	return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

/*
 * Give back a resource lock under which nothing was decided yet, to take it in
 * another mode or order.  A lock that an earlier call of the transaction took
 * stays.
 */
void
booking_unlock_resource(int64 resource_id, LOCKMODE mode)
{
	release(BOOKING_LOCK_RESOURCE, (uint64) resource_id, mode);
}

/*
 * Take a lock for the rest of the transaction, waiting under lock_timeout.
 */
static void
acquire(BookingLockClass class, uint64 key, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (key >> 32),
						 (uint32) key, class);
	if (LockAcquire(&tag, mode, false, !waiting_allowed) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("another session has a lock that is not waited for")));
}

/*
 * Give a lock back before the end of the transaction.
 */
static void
release(BookingLockClass class, uint64 key, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (key >> 32),
						 (uint32) key, class);
	(void) LockRelease(&tag, mode, false);
}

/*
 * Bucket of an intent of the identity's principal.
 */
static uint32
intent_bucket(const BookingIdentity *identity, const text *intent)
{
	return hash_texts(identity->tenant, identity->principal, intent) %
		BOOKING_INTENT_BUCKETS;
}

/*
 * Hash up to three texts, each with its length so that "a","bc" and "ab","c"
 * differ.  The values never leave the running server.
 */
static uint32
hash_texts(const text *a, const text *b, const text *c)
{
	const text *parts[3] = {a, b, c};
	uint32		hash = 0;

	for (int i = 0; i < 3; i++)
	{
		if (parts[i] == NULL)
			continue;
		hash = hash_combine(hash,
							hash_bytes((const unsigned char *) VARDATA_ANY(parts[i]),
									   VARSIZE_ANY_EXHDR(parts[i])));
	}
	return hash;
}

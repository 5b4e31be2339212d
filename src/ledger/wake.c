/*-------------------------------------------------------------------------
 *
 * wake.c
 *	  waking the worker when a transaction commits
 *
 * A backend notes that its transaction left work, and has the worker woken once
 * the commit is visible and its locks are given back: a worker that came before
 * would find the intent locked, and come again much later.  A prepared
 * transaction commits in another session that knows nothing of its content, so
 * every COMMIT PREPARED wakes the worker of its database.  What is missed, such
 * as work that a restored or replicated database brings, is found by the slow
 * poll.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/wake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/resowner.h"

#include "ledger/wake.h"
#include "store/change.h"

static void at_end_of_transaction(XactEvent event, void *arg);
static void at_release(ResourceReleasePhase phase, bool is_commit,
					   bool is_top_level, void *arg);

static void (*wake_worker) (Oid database) = NULL;
static bool wanted = false;
static bool committed = false;

/*
 * Register the callbacks, and how the worker of a database is woken; that may
 * not fail.  Once a process, from _PG_init.
 */
void
booking_wake_init(void (*wake) (Oid database))
{
	wake_worker = wake;
	RegisterXactCallback(at_end_of_transaction, NULL);
	RegisterResourceReleaseCallback(at_release, NULL);
}

/*
 * Wake the worker if the current transaction commits.
 */
void
booking_wake_at_commit(void)
{
	wanted = true;
}

/*
 * The transaction ended.  May not fail.
 */
static void
at_end_of_transaction(XactEvent event, void *arg)
{
	bool		delivery;

	switch (event)
	{
		case XACT_EVENT_COMMIT:
			delivery = booking_store_delivery_wanted();
			committed = wanted || delivery;
			wanted = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			(void) booking_store_delivery_wanted();
			wanted = false;
			break;
		default:
			break;
	}
}

/*
 * Resources of a transaction, or of a part of it, are given back.  May not
 * fail.
 */
static void
at_release(ResourceReleasePhase phase, bool is_commit, bool is_top_level,
		   void *arg)
{
	if (!committed || phase != RESOURCE_RELEASE_AFTER_LOCKS || !is_top_level)
		return;
	committed = false;
	wake_worker(MyDatabaseId);
}

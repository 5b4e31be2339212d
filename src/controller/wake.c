/*-------------------------------------------------------------------------
 *
 * wake.c
 *	  waking the worker when a transaction commits
 *
 * A backend notes that its transaction left work, and sets the worker's latch
 * once the commit is visible.  A prepared transaction commits in another
 * session that knows nothing of its content, so every COMMIT PREPARED wakes
 * the worker of its database.  What is missed, such as work that a restored or
 * replicated database brings, is found by the slow poll.
 *
 * IDENTIFICATION
 *	  booking/src/controller/wake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "controller/shared.h"
#include "controller/wake.h"

static void at_end_of_transaction(XactEvent event, void *arg);

static bool wanted = false;

/*
 * Register the callback.  Once a process, from _PG_init.
 */
void
booking_wake_init(void)
{
	RegisterXactCallback(at_end_of_transaction, NULL);
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
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			if (wanted)
				booking_shared_wake(MyDatabaseId);
			wanted = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			wanted = false;
			break;
		default:
			break;
	}
}

/*-------------------------------------------------------------------------
 *
 * session.c
 *	  short transactions of the worker
 *
 * Between them the worker holds neither transaction nor snapshot, so DROP
 * EXTENSION and vacuum never wait for a provider.
 *
 * IDENTIFICATION
 *	  booking/src/controller/session.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "controller/session.h"
#include "ledger/access.h"
#include "store/cache.h"

/*
 * Settings of the process.  A send must be on disk before its first byte, so
 * commits are synchronous; nothing may wait long for a caller's lock; and plans
 * resolve names as those of the SQL functions do.  Plans are made once, perhaps
 * while tables are empty, and must serve when they are large: they look rows up
 * by their keys, and never read a whole table or index to join.  None of them is
 * worth compiling.
 */
void
booking_session_init(void)
{
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_SUSET,
					PGC_S_OVERRIDE);
	SetConfigOption("enable_seqscan", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("enable_hashjoin", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("enable_mergejoin", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("join_collapse_limit", "1", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("enable_material", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("jit", "off", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("lock_timeout", "50ms", PGC_SUSET, PGC_S_OVERRIDE);
	if (synchronous_commit < SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		SetConfigOption("synchronous_commit", "on", PGC_SUSET, PGC_S_OVERRIDE);
#ifdef BOOKING_HAVE_TRANSACTION_TIMEOUT
	SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE);
#endif
}

/*
 * Begin a transaction as the owner of the relations.
 */
void
booking_session_begin(BookingCall *call, const char *activity)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, activity);

	memset(call, 0, sizeof(*call));
	call->owner = booking_call_owner();
	call->caller = call->owner;
	call->privileged = true;
	call->now = GetCurrentTimestamp();
	GetUserIdAndSecContext(&call->saved_user, &call->saved_context);
	SetUserIdAndSecContext(call->owner, call->saved_context |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_NOFORCE_RLS);
	call->role = cstring_to_text(GetUserNameFromId(call->owner, false));
	(void) booking_cache_accept();
}

/*
 * Commit it.
 */
void
booking_session_commit(BookingCall *call)
{
	SetUserIdAndSecContext(call->saved_user, call->saved_context);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * Clean up after an error that ended the transaction.
 */
void
booking_session_abort(void)
{
	AbortCurrentTransaction();
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * See session.h.  Cancel and shutdown are not caught.
 */
ErrorData *
booking_session_item(BookingCall *call, BookingSessionWork work, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(call, arg);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
			error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
			ReThrowError(error);
	}
	PG_END_TRY();
	return error;
}

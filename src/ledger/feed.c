/*-------------------------------------------------------------------------
 *
 * feed.c
 *	  booking_consumer_put, booking_consumer_remove, booking_changes,
 *	  booking_consumer_ack
 *
 * Each change of an intent is written once, in its own transaction, and gets a
 * position after it has committed: whoever reads gives the next positions to
 * what it sees, under the lock of the tenant's feed, which it keeps to the end
 * of its transaction.  So a change that becomes visible late, because its
 * transaction was long or prepared, gets a late position, and nobody has read
 * past it.  Writers take no lock for the feed.
 *
 * Order of locks: role binding, then feed.  Nothing else is taken after it.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/feed.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/call.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_consumer_put);
PG_FUNCTION_INFO_V1(booking_consumer_remove);
PG_FUNCTION_INFO_V1(booking_changes);
PG_FUNCTION_INFO_V1(booking_consumer_ack);

#define CHANGES_MAX 1000

/* an acknowledgement removes more than a reading gives, so it catches up */
#define PURGE_MAX (2 * CHANGES_MAX)

static void begin(BookingCall *call, FunctionCallInfo fcinfo, text *tenant);
static void demand_consumer(text *tenant, text *name,
							BookingConsumer *consumer);
static void number(text *tenant, const BookingConsumer *consumer, int limit);
static void start(text *tenant, text *name);
static void return_change(void *arg, Datum *columns, bool *nulls);
static void audit(const BookingCall *call, const char *action, text *tenant,
				  text *name);

/*
 * booking_consumer_put(tenant, name) returns void
 *
 * A consumer that is there stays as it is.
 */
Datum
booking_consumer_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	BookingCall call;
	BookingConsumer consumer;

	begin(&call, fcinfo, tenant);
	booking_lock_feed(tenant);
	if (!booking_store_consumer_read(tenant, name, &consumer))
	{
		/* what transactions wrote that outlived the last consumer */
		if (!booking_store_consumer_any(tenant, false))
			booking_store_changes_forget(tenant);
		booking_store_consumer_insert(tenant, name,
									  booking_store_consumer_any(tenant, true),
									  call.now);
		audit(&call, "consumer_put", tenant, name);
	}
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_consumer_remove(tenant, name) returns void
 *
 * What only this consumer had not acknowledged goes with later
 * acknowledgements of the others.
 */
Datum
booking_consumer_remove(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	BookingCall call;

	begin(&call, fcinfo, tenant);
	booking_lock_feed(tenant);
	if (booking_store_consumer_delete(tenant, name))
	{
		if (!booking_store_consumer_any(tenant, false))
			booking_store_changes_forget(tenant);
		audit(&call, "consumer_remove", tenant, name);
	}
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_changes(tenant, name, max) returns setof booking_change
 *
 * The same again until they are acknowledged.
 */
Datum
booking_changes(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	int32		max = booking_arg_positive(fcinfo, 2, "max");
	BookingCall call;
	BookingConsumer consumer;
	int64		last = 0;

	if (max > CHANGES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", "max"),
				 errhint("Give 1 to %d, and acknowledge them to read on.",
						 CHANGES_MAX)));

	InitMaterializedSRF(fcinfo, 0);
	begin(&call, fcinfo, tenant);
	demand_consumer(tenant, name, &consumer);
	if (!consumer.started && !consumer.own)
	{
		start(tenant, name);
		/* it may have been removed meanwhile */
		demand_consumer(tenant, name, &consumer);
	}
	number(tenant, &consumer, max);
	if (booking_store_changes_read(tenant, consumer.acked, max, return_change,
								   fcinfo->resultinfo, &last) > 0 &&
		last > consumer.delivered)
	{
		booking_store_consumer_deliver(tenant, name, last);

		/*
		 * A position that a client has seen must survive a crash, or another
		 * change could get it, whatever synchronous_commit is.
		 */
		ForceSyncCommit();
	}
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * booking_consumer_ack(tenant, name, position) returns void
 *
 * A position that was acknowledged before changes nothing.  One that was not
 * delivered is an error: it may have been read in a transaction that was rolled
 * back, and then it is another change's now.
 */
Datum
booking_consumer_ack(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	int64		position;
	BookingCall call;
	BookingConsumer consumer;

	booking_arg_require(fcinfo, 2, "position");
	position = PG_GETARG_INT64(2);
	if (position < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be negative", "position"),
				 errhint("Give the position of the last change that was dealt with.")));

	begin(&call, fcinfo, tenant);
	demand_consumer(tenant, name, &consumer);
	if (position > consumer.delivered)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("argument \"%s\" is beyond what was delivered",
						"position"),
				 errhint("Read with booking_changes, commit, and then acknowledge; what a transaction read that was rolled back was not delivered.")));
	if (position > consumer.acked)
		booking_store_consumer_ack(tenant, name, position);
	booking_store_changes_purge(tenant, PURGE_MAX);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * Begin a call of a role that may act for the tenant.
 */
static void
begin(BookingCall *call, FunctionCallInfo fcinfo, text *tenant)
{
	booking_call_begin(call, fcinfo, true);
	booking_access_demand(call, tenant);
}

/*
 * Read a consumer, or raise an error.
 */
static void
demand_consumer(text *tenant, text *name, BookingConsumer *consumer)
{
	if (!booking_store_consumer_read(tenant, name, consumer))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("consumer does not exist"),
				 errhint("Create it with booking_consumer_put first, and check the spelling.")));
}

/*
 * Give positions to what has none, as far as this reading needs them.  When
 * another transaction is numbering, wait for it only if there is nothing else
 * to read.
 */
static void
number(text *tenant, const BookingConsumer *consumer, int limit)
{
	int64		numbered;

	numbered = booking_store_feed_position(tenant) - consumer->acked;
	if (numbered >= limit || !booking_store_changes_pending(tenant))
		return;
	if (numbered == 0)
		booking_lock_feed(tenant);
	else if (!booking_lock_feed_try(tenant))
		return;

	/* others may have numbered some while this waited; these are the next */
	booking_store_changes_number(tenant, limit);
}

/*
 * A consumer reads for the first time.  Calls that began before it was known
 * may have changed intents without writing changes: wait until they have ended,
 * so that whoever now reads the state of the intents knows that all further
 * changes come.
 *
 * Each such call holds the lock of a writer on booking.intent to the end of its
 * transaction, prepared ones too.  New ones are not held up, as they would be
 * by taking a lock that conflicts.  The lock of the feed comes first, because
 * booking_consumer_put gives it back after it has sent its messages; it is not
 * held while waiting, so that consumers can be put and removed.
 */
static void
start(text *tenant, text *name)
{
	LOCKTAG		tag;

	booking_lock_feed(tenant);
	booking_unlock_feed(tenant);
	SET_LOCKTAG_RELATION(tag, MyDatabaseId,
						 get_relname_relid("intent",
										   get_namespace_oid("booking", false)));
	WaitForLockers(tag, ShareLock, false);
	booking_store_consumer_start(tenant, name);
}

/*
 * Add one change to the result.
 */
static void
return_change(void *arg, Datum *columns, bool *nulls)
{
	ReturnSetInfo *rsinfo = arg;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns, nulls);
}

/*
 * Record who created or removed a consumer.
 */
static void
audit(const BookingCall *call, const char *action, text *tenant, text *name)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "name", name);
	booking_store_audit(action, call->role, tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call->now);
}

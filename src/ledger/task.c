/*-------------------------------------------------------------------------
 *
 * task.c
 *	  booking_task_put, booking_task_take, booking_task_done
 *
 * A task is due some time before its booking starts.  Everything that is done
 * to a task is done under the lock of its intent, as everything that ends or
 * moves a booking is (store/task.c, booking_store_task_follow()).  So a task
 * that was taken belonged to a booking that stood when the taking committed.
 *
 * Taking waits for nobody: a task whose intent somebody has locked is passed
 * over.  What was taken comes back when its lease ends, unless it was reported
 * done under that lease.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/task.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "ledger/view.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/effect.h"
#include "store/task.h"

PG_FUNCTION_INFO_V1(booking_task_put);
PG_FUNCTION_INFO_V1(booking_task_take);
PG_FUNCTION_INFO_V1(booking_task_done);

#define TAKE_MAX 1000

static void read_intent(BookingCall *call, BookingRequest *request,
						BookingView *view);
static void put(const BookingCall *call, const BookingRequest *request,
				const BookingIntent *intent, BookingTask *wish);
static int64 make_lease(void);
static bool is_booked(BookingState state);
static bool has_ended(BookingState state);
static void return_task(void *arg, Datum *columns, bool *nulls);

/*
 * booking_task_put(tenant, principal, intent, task, before, payload) returns
 * timestamptz
 *
 * When it is due, as things are; NULL if the intent has ended.  Equal values
 * change nothing.
 */
Datum
booking_task_put(PG_FUNCTION_ARGS)
{
	const int64 longest = BOOKING_MAX_TASK_HOURS * USECS_PER_HOUR;
	BookingRequest request = {0};
	BookingTask wish = {0};
	BookingCall call;
	BookingView view = {0};

	booking_arg_identity(fcinfo, 0, &request.identity);
	wish.task = booking_arg_label(fcinfo, 3, "task");
	wish.before = booking_arg_fixed_interval(fcinfo, 4, "before", 0, longest);
	booking_arg_require(fcinfo, 5, "payload");
	wish.payload = booking_arg_jsonb(fcinfo, 5, "payload");

	booking_call_begin(&call, fcinfo, true);
	read_intent(&call, &request, &view);
	if (has_ended(booking_state_of(view.intent->state)) ||
		view.intent->payload.digest != NULL)
	{
		booking_call_end(&call);
		PG_RETURN_NULL();
	}
	put(&call, &request, view.intent, &wish);
	booking_call_end(&call);
	PG_RETURN_TIMESTAMPTZ(wish.due_at);
}

/*
 * booking_task_take(tenant, max, lease) returns setof booking_task
 *
 * Tasks that are due, in the order of their instants, but for those that others
 * have taken or whose intent is locked.
 */
Datum
booking_task_take(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	int32		max = booking_arg_positive(fcinfo, 1, "max");
	int64		length;
	TimestampTz now = booking_call_hold_clock();
	BookingCall call;
	BookingTaskDue *due = NULL;
	int			count = 0;
	int			taken = 0;

	if (max > TAKE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", "max"),
				 errhint("Give 1 to %d.", TAKE_MAX)));
	length = booking_arg_fixed_interval(fcinfo, 2, "lease", 1,
										BOOKING_MAX_BUFFER_HOURS * USECS_PER_HOUR);

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	do
	{
		due = booking_store_tasks_due(tenant, now,
									  count > 0 ? &due[count - 1] : NULL,
									  max - taken, &count);
		for (int i = 0; i < count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (booking_lock_intent_try(&due[i].identity) &&
				booking_store_task_lease(&due[i], make_lease(), now,
										 now + length, return_task,
										 fcinfo->resultinfo))
				taken++;
		}
	} while (count > 0 && taken < max);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * booking_task_done(tenant, principal, intent, task, lease) returns boolean
 *
 * Told twice under one lease, it is true twice.
 */
Datum
booking_task_done(PG_FUNCTION_ARGS)
{
	BookingIdentity identity;
	text	   *task;
	int64		lease;
	BookingCall call;
	bool		done;

	booking_arg_identity(fcinfo, 0, &identity);
	task = booking_arg_label(fcinfo, 3, "task");
	lease = booking_arg_version(fcinfo, 4, "lease");

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, identity.tenant);
	booking_lock_intents(&identity, NULL);
	done = booking_store_task_done(&identity, task, lease, call.now);
	booking_call_end(&call);
	PG_RETURN_BOOL(done);
}

/*
 * Read an intent under its lock, or raise an error.
 */
static void
read_intent(BookingCall *call, BookingRequest *request, BookingView *view)
{
	do
	{
		booking_view_read(call, request, view);
		if (view->denied)
			booking_access_raise_denied();
		if (view->intent == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("intent does not exist"),
					 errhint("Claim or propose it first, and check tenant, principal and intent.")));
	} while (booking_view_lock(call, request, view, NoLock));
}

/*
 * Record what is wished, and fill in when it is due.
 *
 * The first task of a tenant tells all backends to look for tasks from now on;
 * those that change the intent accept that message after they have its lock.
 */
static void
put(const BookingCall *call, const BookingRequest *request,
	const BookingIntent *intent, BookingTask *wish)
{
	BookingTask *present = booking_store_task_read(intent->intent_id, wish->task);
	bool		booked = is_booked(booking_state_of(intent->state));

	wish->start_at = intent->payload.start;
	if (present != NULL)
		wish->start_at = present->start_at;
	else
		(void) booking_store_intent_moved_start(intent->intent_id,
												&wish->start_at);
	wish->due_at = wish->start_at - wish->before;
	if (present == NULL)
	{
		if (!booking_store_tasks_wanted(request->identity.tenant))
			booking_cache_signal();
		wish->intent_id = intent->intent_id;
		wish->state = cstring_to_text(booked ? "waiting" : "idle");
		booking_store_task_insert(wish, request->identity.tenant, call->now);
		return;
	}

	if (present->before == wish->before &&
		compareJsonbContainers(&present->payload->root, &wish->payload->root) == 0)
		return;
	if (booking_text_is(present->state, "done"))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the task is done and cannot be changed"),
				 errhint("Give the new one another name.")));
	wish->task_id = present->task_id;
	booking_store_task_replace(wish);
}

/*
 * A number that names a lease.  It is random, because one that was counted
 * would be given again when the taking is rolled back, and then somebody who
 * took nothing could report it done.  52 bits, which every client can hold.
 */
static int64
make_lease(void)
{
	uint64		random;

	if (!pg_strong_random(&random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	return (int64) (random >> 12) + 1;
}

/*
 * Is an intent in this state booked?
 */
static bool
is_booked(BookingState state)
{
	return state == BOOKING_STATE_APPROVED || state == BOOKING_STATE_COMMITTED ||
		state == BOOKING_STATE_CREATING || state == BOOKING_STATE_CREATED ||
		state == BOOKING_STATE_UNKNOWN;
}

/*
 * Will an intent in this state never be booked?
 */
static bool
has_ended(BookingState state)
{
	return state == BOOKING_STATE_CONFLICT || state == BOOKING_STATE_CANCELING ||
		state == BOOKING_STATE_CANCELED;
}

/*
 * Add one task to the result.
 */
static void
return_task(void *arg, Datum *columns, bool *nulls)
{
	ReturnSetInfo *rsinfo = arg;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns, nulls);
}

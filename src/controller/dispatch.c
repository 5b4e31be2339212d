/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  carrying out operations
 *
 *	lease	one transaction: what is due becomes checking while its calendars
 *			are read (fresh.c), then sending (or reconciling), with its id, its
 *			exact bytes and a mark of the attempt on disk
 *	start	no transaction: the first request of each goes out, or, where as
 *			many are out as may be, once another has ended
 *	...		no transaction: answers come, adapters ask for further requests
 *	apply	one transaction: outcomes are recorded
 *
 * Leasing, and recording that a new event was made, is done for many operations
 * at once, in few statements.  If that fails, nothing of it happened, and they
 * are gone through one by one, each in a subtransaction; so are outcomes that
 * take more than that.
 *
 * A caller may hold the lock of an intent for as long as its transaction; the
 * worker never waits for it, but comes back.
 *
 * IDENTIFICATION
 *	  booking/src/controller/dispatch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "controller/confirm.h"
#include "controller/credential.h"
#include "controller/dispatch.h"
#include "controller/fresh.h"
#include "controller/limits.h"
#include "controller/outcome.h"
#include "controller/prepare.h"
#include "controller/signin.h"
#include "guc.h"
#include "ledger/lock.h"
#include "store/batch.h"

/* operations leased in one transaction */
#define LEASE_LIMIT 64

/*
 * Operations that may wait for one that is out to end, as a share of those: what
 * would else be out waits for an answer to be recorded and the next lease to be
 * on disk.
 */
#define AHEAD_SHARE 4

/* operations whose calendars are being read */
#define CHECK_LIMIT 1024

/* operations that are leased together */
typedef struct LeaseWork
{
	const int64 *operation_ids;
	int			count;
	BookingBatch *batch;		/* what is put down of them */
	int			nleased;		/* so far, the last in the list */
} LeaseWork;

static int	lock_due(int64 *operation_ids, int limit);
static void lease_checked(BookingCall *call, int room);
static void end_checks(const int64 *operation_ids, int count,
					   const BookingLease *leases, int found);
static void lease_together(BookingCall *call, const int64 *operation_ids,
						   int count);
static void lease_items(BookingCall *call, void *arg);
static void lease_item(BookingCall *call, const BookingLease *lease,
					   LeaseWork *work);
static void give_back_last(LeaseWork *work);
static bool may_send(BookingCall *call, const BookingLease *lease,
					 BookingBatch *batch);
static int	compare_dispatches(const void *a, const void *b);
static void confirm_together(BookingCall *call, BookingDispatch **dispatches,
							 int count);
static void apply_one(BookingCall *call, BookingDispatch *dispatch);
static void apply_item(BookingCall *call, void *arg);
static void note_recorded(BookingDispatch *dispatch);
static void doubt_outcome(BookingDispatch *dispatch);
static void give_up_lease(BookingCall *call, void *arg);
static void start_ready(void);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void free_dispatch(BookingDispatch *dispatch);
static bool try_lock_intents(const BookingIdentity *identity, text *supersedes);
static bool met_a_lock(const ErrorData *error);
static void take_place(BookingDispatch *dispatch);
static void release_place(BookingDispatch *dispatch);

static BookingHttpEngine *http_engine = NULL;
static dlist_head leased;		/* in this transaction */
static dlist_head ready;		/* committed, not started */
static dlist_head running;		/* requests out */
static dlist_head finished;		/* outcome known, not recorded */
static int	in_flight = 0;		/* in any of the lists, and not recorded */
static int	nready = 0;
static int	nrunning = 0;
static int	nanswered = 0;		/* answers since the last lease */
static bool contended = false;	/* something waited for a caller's lock */

/*
 * Begin with nothing in hand.
 */
void
booking_dispatch_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	booking_fresh_init(engine);
	dlist_init(&leased);
	dlist_init(&ready);
	dlist_init(&running);
	dlist_init(&finished);
}

/*
 * Lease what is due, as far as limits allow, within the caller's transaction.
 * If that fails, call not booking_dispatch_start(), but
 * booking_dispatch_forget().
 */
void
booking_dispatch_lease(BookingCall *call)
{
	int			ahead = Min(nanswered, booking_max_in_flight / AHEAD_SHARE);
	int			room = Min(booking_max_in_flight + ahead - in_flight, LEASE_LIMIT);
	int64	   *operation_ids;
	int			count;

	/* nothing is leased ahead of requests that get no answers */
	nanswered = 0;
	contended = false;
	if (room <= 0)
		return;
	room += in_flight;
	booking_fresh_sweep(call);
	operation_ids = palloc_array(int64, room - in_flight);
	count = lock_due(operation_ids, room - in_flight);
	booking_lock_allow_waiting(true);
	if (count > 0)
		lease_together(call, operation_ids, count);
	lease_checked(call, room - in_flight);
	booking_lock_allow_waiting(true);
}

/*
 * Lock what is due and nobody else has, up to limit, and put it down; returns how
 * many.  An account that somebody is pointing elsewhere must not hide what is due
 * for others, so then that is looked for without it.
 */
static int
lock_due(int64 *operation_ids, int limit)
{
	List	   *moving = NIL;
	int			nmoving;
	int			found;
	int			count;

	do
	{
		BookingDue *due;

		nmoving = list_length(moving);
		count = 0;
		due = booking_store_operations_due(booking_call_hold_clock(),
										   booking_load_full_keys(moving),
										   booking_fresh_waiting() < CHECK_LIMIT,
										   limit, &found);
		for (int i = 0; i < found; i++)
		{
			const BookingIdentity *identity = &due[i].identity;

			if (!try_lock_intents(identity, due[i].supersedes))
				contended = true;
			else if (booking_lock_place_try(identity->tenant, due[i].account))
				operation_ids[count++] = due[i].operation_id;
			else
				moving = lappend(moving, psprintf("%s\n%s",
												  text_to_cstring(identity->tenant),
												  text_to_cstring(due[i].account)));
		}
	} while (found == limit && list_length(moving) > nmoving);
	contended |= moving != NIL;
	return count;
}

/*
 * Lease those whose calendars are read, or cannot be.
 */
static void
lease_checked(BookingCall *call, int room)
{
	List	   *ready;
	int64	   *operation_ids;
	BookingLease *leases;
	ListCell   *cell;
	int			found;
	int			count = 0;

	booking_fresh_look();
	ready = booking_fresh_ready();
	operation_ids = palloc_array(int64, list_length(ready) + 1);
	foreach(cell, ready)
	{
		BookingFreshReady *check = lfirst(cell);

		if (count < room && !booking_load_full(check->account_key) &&
			!booking_load_full(check->calendar_key) &&
			!booking_signin_waits(check->account_key))
			operation_ids[count++] = check->operation_id;
	}
	if (count == 0)
		return;
	leases = booking_store_leases_read(operation_ids, count, &found);
	end_checks(operation_ids, count, leases, found);
	count = 0;
	for (int i = 0; i < found; i++)
	{
		BookingIdentity identity;

		identity.tenant = cstring_to_text(leases[i].operation.tenant);
		identity.principal = cstring_to_text(leases[i].principal);
		identity.intent = cstring_to_text(leases[i].intent);
		if (try_lock_intents(&identity, leases[i].payload.supersedes) &&
			booking_lock_place_try(identity.tenant,
								   cstring_to_text(leases[i].operation.account)))
			operation_ids[count++] = leases[i].operation.operation_id;
		else
			contended = true;
	}
	if (count > 0)
		lease_together(call, operation_ids, count);
}

/*
 * Forget the checks of operations that are not among those found, because their
 * calendar or account is gone.
 */
static void
end_checks(const int64 *operation_ids, int count, const BookingLease *leases,
		   int found)
{
	for (int i = 0; i < count; i++)
	{
		bool		known = false;

		for (int j = 0; j < found && !known; j++)
			known = leases[j].operation.operation_id == operation_ids[i];
		if (!known)
			booking_fresh_end(operation_ids[i]);
	}
}

/*
 * Lease operations whose intents are locked: all together or, if that fails,
 * one by one.  One that fails by itself is put off, unless it only met a lock.
 */
static void
lease_together(BookingCall *call, const int64 *operation_ids, int count)
{
	LeaseWork	work = {operation_ids, count};
	ErrorData  *error;

	error = booking_session_item(call, lease_items, &work);
	if (error == NULL)
		return;
	while (work.nleased > 0)
		give_back_last(&work);
	booking_fresh_undo(operation_ids, count);
	if (met_a_lock(error) && count == 1)
		return;
	if (count > 1)
	{
		for (int i = 0; i < count; i++)
			lease_together(call, &operation_ids[i], 1);
		return;
	}

	booking_fresh_abort(operation_ids[0]);
	ereport(LOG,
			(errmsg("booking: operation " INT64_FORMAT " could not begin: %s",
					operation_ids[0], error->message)));
	error = booking_session_item(call, give_up_lease, &work);
	if (error != NULL)
		ereport(LOG,
				(errmsg("booking: operation " INT64_FORMAT " could not be put off: %s",
						operation_ids[0], error->message)));
	contended |= error != NULL;
}

/*
 * The leases are committed: send.
 */
void
booking_dispatch_start(void)
{
	booking_fresh_commit();
	while (!dlist_is_empty(&leased))
	{
		dlist_push_tail(&ready, dlist_pop_head_node(&leased));
		nready++;
	}
	start_ready();
}

/*
 * Send what is ready, as far as there is room.
 */
static void
start_ready(void)
{
	while (!dlist_is_empty(&ready) && nrunning < booking_max_in_flight)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node,
													dlist_pop_head_node(&ready));

		dlist_push_tail(&running, &dispatch->node);
		nready--;
		nrunning++;
		booking_http_start(http_engine, &dispatch->request, &dispatch->auth,
						   booking_http_limits(), dispatch->arena, on_answer, dispatch);
	}
}

/*
 * The transaction failed: nothing of it happened.  What was leased is let go
 * of, what was recorded is to be recorded again.
 */
void
booking_dispatch_forget(void)
{
	dlist_iter	iter;

	booking_fresh_abort(0);
	while (!dlist_is_empty(&leased))
		free_dispatch(dlist_container(BookingDispatch, node,
									  dlist_pop_head_node(&leased)));
	dlist_foreach(iter, &finished)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

		if (!dispatch->recorded)
			continue;
		dispatch->recorded = false;
		take_place(dispatch);
	}
}

/*
 * Is there an outcome to record?
 */
bool
booking_dispatch_finished(void)
{
	return !dlist_is_empty(&finished);
}

/*
 * Operations in hand.
 */
int
booking_dispatch_in_flight(void)
{
	return in_flight;
}

/*
 * Are there enough operations ready that the next answers need not be recorded
 * at once for as many requests to be out as may be?
 */
bool
booking_dispatch_has_stock(void)
{
	return nready > booking_max_in_flight / AHEAD_SHARE / 2;
}

/*
 * Did something have to wait for a caller's lock?
 */
bool
booking_dispatch_contended(void)
{
	return contended;
}

/*
 * Record outcomes within the caller's transaction.  Those whose intent is
 * locked by a caller stay for the next time; so do those whose resources are,
 * and of these only the first is waited for, because whoever has the lock may
 * wait for one of the intents that are locked here.
 */
void
booking_dispatch_apply(BookingCall *call)
{
	BookingDispatch **dispatches = palloc_array(BookingDispatch *, in_flight + 1);
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &finished)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

		if (try_lock_intents(&dispatch->identity, dispatch->supersedes))
			dispatches[count++] = dispatch;
		else
			contended = true;
	}
	qsort(dispatches, count, sizeof(BookingDispatch *), compare_dispatches);
	confirm_together(call, dispatches, count);
	booking_lock_allow_waiting(true);
	for (int i = 0; i < count; i++)
	{
		if (!dispatches[i]->recorded)
			apply_one(call, dispatches[i]);
	}
	booking_lock_allow_waiting(true);
}

/*
 * Order by operation number.
 */
static int
compare_dispatches(const void *a, const void *b)
{
	int64		left = (*(BookingDispatch *const *) a)->operation_id;
	int64		right = (*(BookingDispatch *const *) b)->operation_id;

	return left < right ? -1 : left > right;
}

/*
 * Record those outcomes that say no more than that a new event was made.  If
 * that fails for any, none is recorded.
 */
static void
confirm_together(BookingCall *call, BookingDispatch **dispatches, int count)
{
	BookingConfirmWork work = {dispatches, count};

	work.recorded = palloc0_array(bool, count + 1);
	if (count == 0 ||
		booking_session_item(call, booking_confirm_items, &work) != NULL)
		return;
	for (int i = 0; i < count; i++)
	{
		if (work.recorded[i])
			note_recorded(dispatches[i]);
	}
}

/*
 * Record one outcome by itself.
 */
static void
apply_one(BookingCall *call, BookingDispatch *dispatch)
{
	ErrorData  *error = booking_session_item(call, apply_item, dispatch);

	if (error == NULL)
	{
		note_recorded(dispatch);
		return;
	}
	contended = true;
	if (met_a_lock(error))
		return;
	ereport(LOG,
			(errmsg("booking: outcome of operation " INT64_FORMAT " could not be recorded: %s",
					dispatch->operation_id, error->message)));
	doubt_outcome(dispatch);
}

/*
 * An outcome is recorded, once the transaction commits: its place is free.
 */
static void
note_recorded(BookingDispatch *dispatch)
{
	dispatch->recorded = true;
	booking_outcome_count(dispatch->lookup, dispatch->job.looked_up,
						  dispatch->task.outcome.kind);
	release_place(dispatch);
}

/*
 * An outcome could not be recorded for a reason that will not pass.  Record
 * instead that it is unknown; if even that fails, leave: to the next worker,
 * whatever a dead one was sending is unknown.
 */
static void
doubt_outcome(BookingDispatch *dispatch)
{
	if (++dispatch->failures > 3)
		ereport(FATAL,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("the worker could not record what it sent")));
	memset(&dispatch->task.outcome, 0, sizeof(dispatch->task.outcome));
	dispatch->task.outcome.kind = dispatch->lookup ? BOOKING_OUTCOME_FAILED :
		BOOKING_OUTCOME_UNKNOWN;
	dispatch->task.outcome.retry_after = -1;
	dispatch->task.outcome.problem = "not_recorded";
}

/*
 * The transaction of booking_dispatch_apply() committed: let go of what it
 * recorded.
 */
void
booking_dispatch_applied(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &finished)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

		if (!dispatch->recorded)
			continue;
		dlist_delete(iter.cur);
		free_dispatch(dispatch);
	}
}

/*
 * Lease operations, in a subtransaction.  They are read here, since whatever
 * was read before their intents, and the place they are sent to, were locked may
 * have changed.
 */
static void
lease_items(BookingCall *call, void *arg)
{
	LeaseWork  *work = arg;
	int			found;
	BookingLease *leases = booking_store_leases_read(work->operation_ids,
													 work->count, &found);

	work->batch = booking_batch_create(work->count);
	for (int i = 0; i < found; i++)
		lease_item(call, &leases[i], work);
	booking_batch_write(work->batch, call->role, call->now);
}

/*
 * Lease one operation, or settle what needs no request: decide what it becomes,
 * and put down what must be known before a byte is sent.
 */
static void
lease_item(BookingCall *call, const BookingLease *lease, LeaseWork *work)
{
	const BookingOperation *operation = &lease->operation;
	bool		lookup = strcmp(operation->state, "unknown") == 0;
	BookingDispatch *dispatch;

	if (!lookup && booking_prepare_unwanted(lease))
	{
		booking_fresh_end(operation->operation_id);
		booking_store_operation_drop(operation->operation_id, call->now);
		return;
	}
	if (operation->tries >= booking_max_attempts && !booking_prepare_unread(operation))
	{
		booking_fresh_end(operation->operation_id);
		booking_outcome_give_up(call, operation);
		return;
	}
	if (!lookup && !may_send(call, lease, work->batch))
		return;
	if (booking_load_full(psprintf("%s\n%s", operation->tenant, operation->account)) ||
		(!lookup && booking_load_full(psprintf("%s\n%s\n%s", operation->tenant,
											   operation->account,
											   operation->calendar))))
		return;
	dispatch = booking_prepare_dispatch(call, lease, lookup);
	if (dispatch == NULL)
		return;
	dlist_push_tail(&leased, &dispatch->node);
	take_place(dispatch);
	work->nleased++;
	booking_fresh_end(operation->operation_id);
	dispatch->provider->start(&dispatch->task, &dispatch->request);
	if (dispatch->request.method != NULL)
	{
		booking_prepare_record(lease, dispatch, work->batch);
		return;
	}
	/* nothing is to be asked: this is no attempt, and has its outcome */
	booking_outcome_apply(call, operation, lookup, &dispatch->task.outcome,
						  dispatch->provider);
	give_back_last(work);
}

/*
 * Do the calendars allow an operation to be sent now?  If not, what follows
 * from it is recorded.
 */
static bool
may_send(BookingCall *call, const BookingLease *lease, BookingBatch *batch)
{
	const BookingOperation *operation = &lease->operation;
	BookingFreshVerdict verdict;
	BookingOutcome gone = {BOOKING_OUTCOME_CALENDAR_GONE};

	booking_fresh_judge(call, lease, &verdict);
	switch (verdict.freshness)
	{
		case BOOKING_FRESH:
			return true;

		case BOOKING_FRESH_ASKED:
			booking_prepare_change(operation, "checking",
								   &batch->changes[batch->nchanges++]);
			break;

		case BOOKING_FRESH_WAITS:
			break;

		case BOOKING_FRESH_UNREAD:
			booking_fresh_end(operation->operation_id);
			booking_outcome_unread(call, operation, verdict.message);
			break;

		case BOOKING_FRESH_GONE:
			booking_fresh_end(operation->operation_id);
			gone.problem = "calendar_gone";
			gone.message = verdict.message;
			gone.retry_after = -1;
			booking_outcome_apply(call, operation, false, &gone,
								  booking_provider_find(lease->provider));
			break;

		case BOOKING_FRESH_STALE:
			booking_fresh_end(operation->operation_id);
			booking_outcome_stale(call, operation, verdict.detail);
			break;
	}
	return false;
}

/*
 * Let go of the operation that was leased last.
 */
static void
give_back_last(LeaseWork *work)
{
	BookingDispatch *dispatch = dlist_tail_element(BookingDispatch, node,
												   &leased);

	dlist_delete(&dispatch->node);
	free_dispatch(dispatch);
	work->nleased--;
}

/*
 * Record one outcome, in a subtransaction.  An answer to an earlier send, or
 * about an operation that somebody moved meanwhile, is evidence only.
 */
static void
apply_item(BookingCall *call, void *arg)
{
	BookingDispatch *dispatch = arg;
	const BookingOutcome *outcome = &dispatch->task.outcome;
	BookingOperation *operation = booking_store_operation_read(dispatch->operation_id);
	BookingAttempt attempt = booking_confirm_attempt(dispatch);

	if (operation == NULL)
		return;
	booking_store_attempt(attempt.operation_id, attempt.epoch, attempt.phase,
						  attempt.mark, attempt.status, attempt.problem,
						  attempt.message, call->now);
	if (operation->epoch != dispatch->epoch ||
		strcmp(operation->state, dispatch->lookup ? "reconciling" : "sending") != 0)
		return;
	booking_confirm_account(call, operation, dispatch);
	booking_outcome_apply(call, operation, dispatch->lookup, outcome,
						  dispatch->provider);
}

/*
 * An operation that cannot even begin is put off, and parked in the end.
 */
static void
give_up_lease(BookingCall *call, void *arg)
{
	LeaseWork  *work = arg;
	BookingLease *lease = booking_store_lease_read(work->operation_ids[0]);
	BookingOutcome outcome = {BOOKING_OUTCOME_NOT_EXECUTED};

	if (lease == NULL)
		return;
	outcome.problem = "cannot_begin";
	outcome.retry_after = -1;
	booking_outcome_apply(call, &lease->operation,
						  strcmp(lease->operation.state, "unknown") == 0,
						  &outcome, booking_provider_find(lease->provider));
}

/*
 * An answer came: ask the adapter what follows.  Called by the HTTP engine; no
 * transaction, and nothing here throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	BookingDispatch *dispatch = arg;

	if (dispatch->provider->next(&dispatch->task, response, &dispatch->request))
	{
		booking_http_start(http_engine, &dispatch->request, &dispatch->auth,
						   booking_http_limits(), dispatch->arena, on_answer, dispatch);
		return;
	}
	dlist_delete(&dispatch->node);
	dlist_push_tail(&finished, &dispatch->node);
	nrunning--;
	nanswered++;
	start_ready();
}

/*
 * Let go of an operation; its credential is wiped.
 */
static void
free_dispatch(BookingDispatch *dispatch)
{
	booking_auth_wipe(&dispatch->auth);
	if (!dispatch->recorded)
		release_place(dispatch);
	booking_arena_free(dispatch->arena);
}

/*
 * Take the lock of an operation's intent without waiting, and that of the
 * intent it supersedes, which the outcome may end.
 */
static bool
try_lock_intents(const BookingIdentity *identity, text *supersedes)
{
	BookingIdentity superseded = *identity;

	if (!booking_lock_intent_try(identity))
		return false;
	superseded.intent = supersedes;
	return supersedes == NULL || booking_lock_intent_try(&superseded);
}

/*
 * Was a lock of somebody in the way?  Then come back, and wait for no other one
 * in this transaction.
 */
static bool
met_a_lock(const ErrorData *error)
{
	if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
		error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
		return false;
	contended = true;
	booking_lock_allow_waiting(false);
	return true;
}

/*
 * An operation takes a place of its account, and the one of its calendar where
 * the provider wants one write at a time.
 */
static void
take_place(BookingDispatch *dispatch)
{
	dispatch->load = booking_load_take(dispatch->account_key,
									   dispatch->provider->max_in_flight);
	if (dispatch->calendar_key != NULL)
		dispatch->calendar_load = booking_load_take(dispatch->calendar_key, 1);
	in_flight++;
}

/*
 * Its places are free.
 */
static void
release_place(BookingDispatch *dispatch)
{
	booking_load_release(dispatch->load);
	booking_load_release(dispatch->calendar_load);
	dispatch->load = dispatch->calendar_load = NULL;
	in_flight--;
}

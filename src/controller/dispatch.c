/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  carrying out operations
 *
 *	lease	one transaction: what is due becomes sending (or reconciling), with
 *			its id, its exact bytes and a mark of the attempt on disk
 *	start	no transaction: the first request of each goes out
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
#include "controller/event.h"
#include "controller/limits.h"
#include "controller/outcome.h"
#include "controller/seal.h"
#include "guc.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "store/batch.h"

/* memory of one operation: its bodies, and the answers of its requests */
#define ARENA_LIMIT (16 * 1024 * 1024)

/* operations leased in one transaction */
#define LEASE_LIMIT 64

/* operations that are leased together */
typedef struct LeaseWork
{
	const int64 *operation_ids;
	int			count;
	BookingBatch *batch;		/* what is put down of them */
	int			nleased;		/* so far, the last in the list */
} LeaseWork;

static void lease_together(BookingCall *call, const int64 *operation_ids,
						   int count);
static void lease_items(BookingCall *call, void *arg);
static void lease_item(BookingCall *call, const BookingLease *lease,
					   LeaseWork *work);
static void give_back_last(LeaseWork *work);
static void record_lease(BookingCall *call, const BookingLease *lease,
						 BookingDispatch *dispatch, const char *state,
						 BookingBatch *batch);
static const char *lease_state(const BookingLease *lease);
static BookingDispatch *make_dispatch(BookingCall *call,
									  const BookingLease *lease, bool lookup);
static bool fill_bodies(BookingCall *call, const BookingLease *lease,
						BookingDispatch *dispatch);
static void copy_intents(const BookingLease *lease, BookingDispatch *dispatch);
static const char *copy_string(BookingArena *arena, const char *string);
static text *copy_text(BookingArena *arena, const char *string);
static int	compare_dispatches(const void *a, const void *b);
static void confirm_together(BookingCall *call, BookingDispatch **dispatches,
							 int count);
static void apply_one(BookingCall *call, BookingDispatch *dispatch);
static void apply_item(BookingCall *call, void *arg);
static void note_recorded(BookingDispatch *dispatch);
static void doubt_outcome(BookingDispatch *dispatch);
static void give_up_lease(BookingCall *call, void *arg);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void free_dispatch(BookingDispatch *dispatch);
static bool try_lock_intents(const BookingIdentity *identity, text *supersedes);
static bool met_a_lock(const ErrorData *error);

static BookingHttpEngine *http_engine = NULL;
static dlist_head leased;		/* committed, not started */
static dlist_head running;		/* requests out */
static dlist_head finished;		/* outcome known, not recorded */
static int	in_flight = 0;		/* in any of the lists, and not recorded */
static bool contended = false;	/* something waited for a caller's lock */

/*
 * Begin with nothing in hand.
 */
void
booking_dispatch_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&leased);
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
	int			room = Min(booking_max_in_flight - in_flight, LEASE_LIMIT);
	BookingDue *due;
	int64	   *operation_ids;
	int			found;
	int			count = 0;

	contended = false;
	if (room <= 0)
		return;
	due = booking_store_operations_due(booking_call_hold_clock(),
									   booking_load_full_accounts(), room,
									   &found);
	operation_ids = palloc_array(int64, found + 1);
	for (int i = 0; i < found; i++)
	{
		if (try_lock_intents(&due[i].identity, due[i].supersedes))
			operation_ids[count++] = due[i].operation_id;
		else
			contended = true;
	}
	booking_lock_allow_waiting(true);
	if (count > 0)
		lease_together(call, operation_ids, count);
	booking_lock_allow_waiting(true);
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
	if (met_a_lock(error) && count == 1)
		return;
	if (count > 1)
	{
		for (int i = 0; i < count; i++)
			lease_together(call, &operation_ids[i], 1);
		return;
	}

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
	while (!dlist_is_empty(&leased))
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node,
													dlist_pop_head_node(&leased));

		dlist_push_tail(&running, &dispatch->node);
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

	while (!dlist_is_empty(&leased))
		free_dispatch(dlist_container(BookingDispatch, node,
									  dlist_pop_head_node(&leased)));
	dlist_foreach(iter, &finished)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

		if (!dispatch->recorded)
			continue;
		dispatch->recorded = false;
		dispatch->load = booking_load_take(dispatch->account_key,
										   dispatch->provider->max_in_flight);
		in_flight++;
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
	booking_load_release(dispatch->load);
	dispatch->load = NULL;
	in_flight--;
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
 * was read before their intents were locked may have changed.
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
	const char *state;
	BookingDispatch *dispatch;

	if (!lookup && strcmp(operation->state, "waiting") != 0)
		return;
	state = lookup ? "reconciling" : lease_state(lease);
	if (strcmp(state, "dropped") == 0)
	{
		booking_store_operation_drop(operation->operation_id, call->now);
		return;
	}
	if (operation->tries >= booking_max_attempts)
	{
		booking_outcome_give_up(call, operation);
		return;
	}
	if (booking_load_full(psprintf("%s\n%s", operation->tenant, operation->account)))
		return;
	dispatch = make_dispatch(call, lease, lookup);
	dlist_push_tail(&leased, &dispatch->node);
	work->nleased++;
	dispatch->provider->start(&dispatch->task, &dispatch->request);
	if (dispatch->request.method != NULL)
	{
		record_lease(call, lease, dispatch, state, work->batch);
		return;
	}
	/* nothing is to be asked: this is no attempt, and has its outcome */
	booking_outcome_apply(call, operation, lookup, &dispatch->task.outcome,
						  dispatch->provider);
	give_back_last(work);
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
 * Put down that an operation is begun: its state, its exact bytes, a mark of
 * the attempt, and the state of its intent.
 */
static void
record_lease(BookingCall *call, const BookingLease *lease,
			 BookingDispatch *dispatch, const char *state, BookingBatch *batch)
{
	const BookingOperation *operation = &lease->operation;
	BookingOperationChange change = {0};
	BookingAttempt attempt = {operation->operation_id};
	BookingIntentChange intent = {operation->intent_id};
	bool		canceling = strcmp(lease->intent_state, "canceling") == 0;

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = state;
	change.next_at = operation->next_at;
	change.epoch = operation->epoch + (dispatch->lookup ? 0 : 1);
	change.tries = operation->tries;
	change.uncertain = operation->uncertain;
	change.problem = operation->problem;
	change.message = operation->message;
	if (operation->body == NULL && dispatch->job.body != NULL)
		change.body = (bytea *) cstring_to_text_with_len(dispatch->job.body,
														 dispatch->job.body_len);
	batch->changes[batch->nchanges++] = change;

	attempt.epoch = dispatch->epoch = change.epoch;
	attempt.phase = dispatch->lookup ? "lookup" : "send";
	attempt.mark = "begun";
	batch->attempts[batch->nattempts++] = attempt;

	if (dispatch->lookup)
		return;
	intent.disposition = canceling ? "canceled" : "committed";
	intent.state = canceling ? "canceling" : "creating";
	intent.remote = "in_flight";
	intent.detail = lease->detail;
	batch->intents[batch->nintents++] = intent;
}

/*
 * What a waiting operation becomes when it is due.
 */
static const char *
lease_state(const BookingLease *lease)
{
	text	   *name = cstring_to_text(lease->intent_state);
	BookingState state = booking_state_of(name);
	bool		cancel = strcmp(lease->operation.kind, "cancel") == 0;

	if (state == BOOKING_STATE_CANCELED)
		return "dropped";
	if (state == BOOKING_STATE_CANCELING && !cancel &&
		!lease->operation.uncertain && lease->operation.epoch == 0)
		return "dropped";
	return "sending";
}

/*
 * Everything a job needs, copied out of the transaction.  Raises an error when
 * it cannot be made; then the operation is not begun.
 */
static BookingDispatch *
make_dispatch(BookingCall *call, const BookingLease *lease, bool lookup)
{
	const BookingOperation *operation = &lease->operation;
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingDispatch *dispatch = arena != NULL ?
		booking_arena_alloc(arena, sizeof(BookingDispatch)) : NULL;
	BookingJob *job;

	if (dispatch == NULL)
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	memset(dispatch, 0, sizeof(*dispatch));
	dispatch->arena = arena;
	dispatch->operation_id = operation->operation_id;
	dispatch->lookup = lookup;
	dispatch->task.job = &dispatch->job;
	dispatch->task.arena = arena;
	dispatch->provider = booking_provider_find(lease->provider);
	dispatch->account_key = copy_string(arena, psprintf("%s\n%s", operation->tenant,
														operation->account));
	copy_intents(lease, dispatch);
	job = &dispatch->job;
	job->looked_up = strcmp(operation->kind, "create") == 0 ? BOOKING_JOB_CREATE :
		strcmp(operation->kind, "update") == 0 ? BOOKING_JOB_UPDATE :
		BOOKING_JOB_CANCEL;
	job->kind = lookup ? BOOKING_JOB_LOOKUP : job->looked_up;
	job->base_url = copy_string(arena, lease->base_url);
	job->collection = copy_string(arena, lease->remote_id);
	job->event_id = copy_string(arena, operation->event_id);
	job->href = copy_string(arena, operation->href);
	job->etag = copy_string(arena, operation->etag);
	job->wanted = &dispatch->wanted;

	if (dispatch->provider == NULL || lease->secret == NULL ||
		!booking_auth_fill(&dispatch->auth, lease->secret, lease->sealed,
						   booking_seal_context(cstring_to_text(operation->tenant),
												cstring_to_text(operation->account)),
						   arena) ||
		!fill_bodies(call, lease, dispatch) || booking_arena_failed(arena))
	{
		booking_auth_wipe(&dispatch->auth);
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the request could not be made"),
				 errhint("The account needs a credential, and the provider must be able to hold what terms.event wishes.")));
	}
	dispatch->load = booking_load_take(dispatch->account_key,
									   dispatch->provider->max_in_flight);
	in_flight++;
	return dispatch;
}

/*
 * The event that is wanted, the one that was left there last, and the exact
 * bytes to store: those of an earlier try, or made now.  Returns whether the
 * provider can express it.
 */
static bool
fill_bodies(BookingCall *call, const BookingLease *lease,
			BookingDispatch *dispatch)
{
	const bytea *stored = lease->operation.body;
	const bytea *previous = lease->previous_body;
	BookingJob *job = &dispatch->job;
	char	   *body = NULL;

	if (!booking_wanted_event(lease, dispatch->arena, &dispatch->wanted))
		return false;
	if (previous != NULL)
	{
		if (!dispatch->provider->read_body(VARDATA_ANY(previous),
										   VARSIZE_ANY_EXHDR(previous),
										   dispatch->arena, &dispatch->previous))
			return false;
		job->previous = &dispatch->previous;
		if (job->looked_up == BOOKING_JOB_CANCEL)
			job->wanted = job->previous;
	}
	if (job->looked_up == BOOKING_JOB_CANCEL)
		return true;
	if (stored != NULL)
	{
		job->body_len = VARSIZE_ANY_EXHDR(stored);
		job->body = booking_arena_copy(dispatch->arena, VARDATA_ANY(stored),
									   job->body_len);
		return true;
	}
	if (!dispatch->provider->write_body(&dispatch->wanted,
										booking_unix_microseconds(call->now),
										dispatch->arena, &body, &job->body_len))
		return false;
	job->body = body;
	return true;
}

/*
 * The identities of the intents whose locks the outcome takes.
 */
static void
copy_intents(const BookingLease *lease, BookingDispatch *dispatch)
{
	BookingArena *arena = dispatch->arena;
	text	   *supersedes = lease->payload.supersedes;

	dispatch->identity.tenant = copy_text(arena, lease->operation.tenant);
	dispatch->identity.principal = copy_text(arena, lease->principal);
	dispatch->identity.intent = copy_text(arena, lease->intent);
	if (supersedes != NULL)
		dispatch->supersedes = copy_text(arena, text_to_cstring(supersedes));
}

/*
 * A copy of a string in an arena, NULL for NULL.
 */
static const char *
copy_string(BookingArena *arena, const char *string)
{
	return string == NULL ? NULL :
		booking_arena_copy(arena, string, strlen(string));
}

/*
 * A text in an arena.
 */
static text *
copy_text(BookingArena *arena, const char *string)
{
	size_t		len = strlen(string);
	text	   *copy = booking_arena_alloc(arena, VARHDRSZ + len);

	if (copy == NULL)
		return NULL;
	SET_VARSIZE(copy, VARHDRSZ + len);
	memcpy(VARDATA(copy), string, len);
	return copy;
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
}

/*
 * Let go of an operation; its credential is wiped.
 */
static void
free_dispatch(BookingDispatch *dispatch)
{
	booking_auth_wipe(&dispatch->auth);
	if (!dispatch->recorded)
	{
		booking_load_release(dispatch->load);
		in_flight--;
	}
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

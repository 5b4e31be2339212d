/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  carrying out operations
 *
 *	lease	one transaction: what is due becomes sending (or reconciling), with
 *			its id, its exact bytes and a mark of the attempt on disk
 *	start	no transaction: the first request of each goes out
 *	...		no transaction: answers come, adapters ask for further requests
 *	apply	one transaction: outcomes are recorded, each item on its own
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
#include "controller/credential.h"
#include "controller/dispatch.h"
#include "controller/event.h"
#include "controller/limits.h"
#include "controller/outcome.h"
#include "controller/pull.h"
#include "controller/seal.h"
#include "guc.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "store/store.h"

/* memory of one operation: its bodies, and the answers of its requests */
#define ARENA_LIMIT (16 * 1024 * 1024)

/* operations leased in one transaction */
#define LEASE_LIMIT 64

typedef struct LeaseWork
{
	BookingLease *lease;
	BookingDispatch *dispatch;
} LeaseWork;

static void lease_item(BookingCall *call, void *arg);
static bool record_lease(BookingCall *call, const BookingLease *lease,
						 BookingDispatch *dispatch, const char *state);
static void forget_dispatch(LeaseWork *work);
static const char *lease_state(const BookingLease *lease);
static BookingDispatch *make_dispatch(BookingCall *call,
									  const BookingLease *lease, bool lookup);
static bool fill_bodies(BookingCall *call, const BookingLease *lease,
						BookingDispatch *dispatch);
static const char *copy_string(BookingArena *arena, const char *string);
static void begin_intent(BookingCall *call, const BookingLease *lease);
static void apply_item(BookingCall *call, void *arg);
static void doubt_outcome(BookingDispatch *dispatch);
static void give_up_lease(BookingCall *call, void *arg);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void free_dispatch(BookingDispatch *dispatch);
static int	account_in_flight(const char *account_key);
static ArrayType *saturated_accounts(void);
static bool try_lock_intent(const BookingLease *lease);

static BookingHttpEngine *http_engine = NULL;
static dlist_head leased;		/* committed, not started */
static dlist_head running;		/* requests out */
static dlist_head finished;		/* outcome known, not recorded */
static int	in_flight = 0;		/* in any of the lists */
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
 * Returns how many; if the transaction fails, call booking_dispatch_start()
 * not, but booking_dispatch_forget().
 */
int
booking_dispatch_lease(BookingCall *call)
{
	int			room = Min(booking_max_in_flight - in_flight, LEASE_LIMIT);
	List	   *due;
	ListCell   *cell;
	int			count = 0;

	contended = false;
	if (room <= 0)
		return 0;
	due = booking_store_operations_due(booking_call_hold_clock(),
									   saturated_accounts(), room);
	foreach(cell, due)
	{
		LeaseWork	work = {0};
		ErrorData  *error;

		work.lease = booking_store_lease_read(*(int64 *) lfirst(cell));
		if (work.lease == NULL)
			continue;
		error = booking_session_item(call, lease_item, &work);
		if (error != NULL)
		{
			ereport(LOG,
					(errmsg("booking: operation " INT64_FORMAT " could not begin: %s",
							work.lease->operation.operation_id, error->message)));
			forget_dispatch(&work);
			error = booking_session_item(call, give_up_lease, &work);
			if (error != NULL)
				ereport(LOG,
						(errmsg("booking: operation " INT64_FORMAT " could not be put off: %s",
								work.lease->operation.operation_id, error->message)));
			contended |= error != NULL;
			continue;
		}
		if (work.dispatch != NULL)
		{
			dlist_push_tail(&leased, &work.dispatch->node);
			in_flight++;
			count++;
		}
	}
	return count;
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
 * The transaction of the lease failed: nothing of it happened.
 */
void
booking_dispatch_forget(void)
{
	while (!dlist_is_empty(&leased))
		free_dispatch(dlist_container(BookingDispatch, node,
									  dlist_pop_head_node(&leased)));
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
 * locked by a caller stay for the next time.
 */
void
booking_dispatch_apply(BookingCall *call)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &finished)
	{
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);
		BookingLease *lease = booking_store_lease_read(dispatch->operation_id);
		ErrorData  *error;

		if (lease != NULL && !try_lock_intent(lease))
		{
			contended = true;
			continue;
		}
		error = booking_session_item(call, apply_item, dispatch);
		if (error != NULL)
		{
			ereport(LOG,
					(errmsg("booking: outcome of operation " INT64_FORMAT " could not be recorded: %s",
							dispatch->operation_id, error->message)));
			contended = true;
			if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
				error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
				doubt_outcome(dispatch);
			continue;
		}
		dispatch->recorded = true;
	}
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
 * Lease one operation, in a subtransaction: decide what it becomes, and put
 * down what must be known before a byte is sent.
 */
static void
lease_item(BookingCall *call, void *arg)
{
	LeaseWork  *work = arg;
	BookingLease *lease = work->lease;
	const BookingOperation *operation = &lease->operation;
	BookingDispatch *dispatch;
	const char *state;
	bool		lookup;

	if (!try_lock_intent(lease))
	{
		contended = true;
		return;
	}
	/* read again what was read before the lock */
	lease = work->lease = booking_store_lease_read(operation->operation_id);
	if (lease == NULL)
		return;
	operation = &lease->operation;
	lookup = strcmp(operation->state, "unknown") == 0;
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

	dispatch = work->dispatch = make_dispatch(call, lease, lookup);
	if (account_in_flight(dispatch->account_key) >= dispatch->provider->max_in_flight)
	{
		forget_dispatch(work);
		return;
	}
	dispatch->provider->start(&dispatch->task, &dispatch->request);
	if (dispatch->request.method == NULL)
	{
		/* nothing is to be asked: this is no attempt, and has its outcome */
		booking_outcome_apply(call, operation, lookup, &dispatch->task.outcome,
							  dispatch->provider);
		forget_dispatch(work);
	}
	else if (!record_lease(call, lease, dispatch, state))
		forget_dispatch(work);
}

/*
 * Put down that an operation is begun: its state, its exact bytes, and a mark
 * of the attempt.  False if somebody else moved it.
 */
static bool
record_lease(BookingCall *call, const BookingLease *lease,
			 BookingDispatch *dispatch, const char *state)
{
	const BookingOperation *operation = &lease->operation;
	BookingOperationChange change = {0};

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = state;
	change.next_at = operation->next_at;
	change.epoch = operation->epoch + (dispatch->lookup ? 0 : 1);
	change.tries = operation->tries;
	change.uncertain = operation->uncertain;
	change.problem = operation->problem;
	change.message = operation->message;
	change.now = call->now;
	if (operation->body == NULL && dispatch->job.body != NULL)
		change.body = (bytea *) cstring_to_text_with_len(dispatch->job.body,
														 dispatch->job.body_len);
	if (!booking_store_operation_change(&change))
		return false;
	booking_store_attempt(operation->operation_id, change.epoch,
						  dispatch->lookup ? "lookup" : "send", "begun", 0, NULL,
						  NULL, call->now);
	dispatch->epoch = change.epoch;
	if (!dispatch->lookup)
		begin_intent(call, lease);
	return true;
}

/*
 * Let go of what was made for an operation that is not begun.
 */
static void
forget_dispatch(LeaseWork *work)
{
	if (work->dispatch == NULL)
		return;
	booking_auth_wipe(&work->dispatch->auth);
	booking_arena_free(work->dispatch->arena);
	work->dispatch = NULL;
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
 * A copy of a string in an arena, NULL for NULL.
 */
static const char *
copy_string(BookingArena *arena, const char *string)
{
	return string == NULL ? NULL :
		booking_arena_copy(arena, string, strlen(string));
}

/*
 * The intent's own state as its operation is sent.
 */
static void
begin_intent(BookingCall *call, const BookingLease *lease)
{
	BookingIdentity identity;
	BookingIntent *intent = booking_store_intent_by_id(lease->operation.intent_id,
													   &identity);
	BookingState state = booking_state_of(intent->state);
	BookingIntentChange change = {0};

	change.intent_id = intent->intent_id;
	change.disposition = state == BOOKING_STATE_CANCELING ? "canceled" : "committed";
	change.state = state == BOOKING_STATE_CANCELING ? "canceling" : "creating";
	change.remote = "in_flight";
	change.detail = intent->detail;
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
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
	static const char *const marks[] = {
		[BOOKING_OUTCOME_DONE] = "done",
		[BOOKING_OUTCOME_REJECTED] = "rejected",
		[BOOKING_OUTCOME_NOT_EXECUTED] = "not_executed",
		[BOOKING_OUTCOME_UNKNOWN] = "unknown",
		[BOOKING_OUTCOME_EQUAL] = "equal",
		[BOOKING_OUTCOME_DIFFERENT] = "different",
		[BOOKING_OUTCOME_FOREIGN] = "foreign",
		[BOOKING_OUTCOME_ABSENT] = "absent",
		[BOOKING_OUTCOME_AUTH] = "auth",
		[BOOKING_OUTCOME_CALENDAR_GONE] = "calendar_gone",
		[BOOKING_OUTCOME_FAILED] = "failed"
	};

	if (operation == NULL)
		return;
	booking_store_attempt(dispatch->operation_id, dispatch->epoch,
						  dispatch->lookup ? "lookup" : "send",
						  marks[outcome->kind], outcome->status,
						  outcome->problem, outcome->message, call->now);
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
	BookingOperation *operation;
	BookingOutcome outcome = {BOOKING_OUTCOME_NOT_EXECUTED};

	operation = booking_store_operation_read(work->lease->operation.operation_id);
	if (operation == NULL || !try_lock_intent(work->lease))
		return;
	outcome.problem = "cannot_begin";
	outcome.retry_after = -1;
	booking_outcome_apply(call, operation, strcmp(operation->state, "unknown") == 0,
						  &outcome, booking_provider_find(work->lease->provider));
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
	in_flight--;
	booking_arena_free(dispatch->arena);
}

/*
 * Requests of an account that may be out: operations in hand, and rounds of
 * synchronization.
 */
static int
account_in_flight(const char *account_key)
{
	dlist_head *lists[] = {&leased, &running, &finished};
	int			count = booking_pull_in_account(account_key);

	for (int i = 0; i < lengthof(lists); i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, lists[i])
		{
			BookingDispatch *other = dlist_container(BookingDispatch, node, iter.cur);

			if (strcmp(other->account_key, account_key) == 0)
				count++;
		}
	}
	return count;
}

/*
 * Keys of the accounts that take no more for now, so that their backlog does
 * not hide what is due for others.
 */
static ArrayType *
saturated_accounts(void)
{
	dlist_head *lists[] = {&leased, &running, &finished};
	text	  **keys = palloc_array(text *, in_flight + 1);
	int			count = 0;

	for (int i = 0; i < lengthof(lists); i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, lists[i])
		{
			BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

			if (account_in_flight(dispatch->account_key) >= dispatch->provider->max_in_flight)
				keys[count++] = cstring_to_text(dispatch->account_key);
		}
	}
	return booking_record_make_text_array(keys, count);
}

/*
 * Take the lock of an operation's intent without waiting, and that of the
 * intent it supersedes, which the outcome may end.
 */
static bool
try_lock_intent(const BookingLease *lease)
{
	BookingIdentity identity;

	identity.tenant = cstring_to_text(lease->operation.tenant);
	identity.principal = cstring_to_text(lease->principal);
	identity.intent = cstring_to_text(lease->intent);
	if (!booking_lock_intent_try(&identity))
		return false;
	identity.intent = lease->payload.supersedes;
	return identity.intent == NULL || booking_lock_intent_try(&identity);
}

/*-------------------------------------------------------------------------
 *
 * dispatch.c
 *	  carrying out operations
 *
 *	lease	one transaction: what is due becomes checking while its calendars
 *			are read (fresh.c), then sending (or reconciling), with its id, its
 *			exact bytes and a mark of the attempt on disk
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
#include "controller/fresh.h"
#include "controller/limits.h"
#include "controller/outcome.h"
#include "controller/pull.h"
#include "controller/signin.h"
#include "guc.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "store/store.h"

/* memory of one operation: its bodies, and the answers of its requests */
#define ARENA_LIMIT (16 * 1024 * 1024)

/* operations leased in one transaction */
#define LEASE_LIMIT 64

/* operations whose calendars are being read */
#define CHECK_LIMIT 1024

typedef struct LeaseWork
{
	BookingLease *lease;
	BookingDispatch *dispatch;
} LeaseWork;

static int	lease_one(BookingCall *call, int64 operation_id);
static void lease_item(BookingCall *call, void *arg);
static bool may_send(BookingCall *call, const BookingLease *lease);
static bool unread(const BookingOperation *operation);
static void forget_dispatch(LeaseWork *work);
static void fill_change(const BookingCall *call,
						const BookingOperation *operation, const char *state,
						BookingOperationChange *change);
static bool to_be_dropped(const BookingLease *lease);
static BookingDispatch *make_dispatch(BookingCall *call,
									  const BookingLease *lease, bool lookup);
static void fill_job(const BookingOperation *operation,
					 const BookingLease *lease, BookingDispatch *dispatch);
static BookingSigninState sign_in(BookingCall *call,
								  const BookingSigninAccount *account,
								  BookingDispatch *dispatch);
static bool fill_bodies(BookingCall *call, const BookingLease *lease,
						BookingDispatch *dispatch);
static const char *copy_string(BookingArena *arena, const char *string);
static void begin_intent(BookingCall *call, const BookingLease *lease);
static void apply_item(BookingCall *call, void *arg);
static void note_token(const BookingOperation *operation,
					   BookingDispatch *dispatch);
static void doubt_outcome(BookingDispatch *dispatch);
static void give_up_lease(BookingCall *call, void *arg);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void free_dispatch(BookingDispatch *dispatch);
static int	account_in_flight(const char *account_key);
static bool account_saturated(const char *account_key);
static bool calendar_in_flight(const BookingDispatch *dispatch);
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
	booking_fresh_init();
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
	booking_fresh_sweep(call);
	due = booking_store_operations_due(booking_call_hold_clock(),
									   saturated_accounts(),
									   booking_fresh_waiting() < CHECK_LIMIT,
									   room);
	foreach(cell, due)
		count += lease_one(call, *(int64 *) lfirst(cell));

	booking_fresh_look();
	foreach(cell, booking_fresh_ready())
	{
		BookingFreshReady *ready = lfirst(cell);

		if (count >= room)
			break;
		if (!account_saturated(ready->account_key))
			count += lease_one(call, ready->operation_id);
	}
	return count;
}

/*
 * Lease one operation; returns how many there are to be sent, one or none.
 */
static int
lease_one(BookingCall *call, int64 operation_id)
{
	LeaseWork	work = {0};
	ErrorData  *error;

	work.lease = booking_store_lease_read(operation_id);
	if (work.lease == NULL)
	{
		booking_fresh_end(operation_id);
		return 0;
	}
	error = booking_session_item(call, lease_item, &work);
	if (error != NULL)
	{
		booking_fresh_abort(operation_id);
		forget_dispatch(&work);
		ereport(LOG,
				(errmsg("booking: operation " INT64_FORMAT " could not begin: %s",
						operation_id, error->message)));
		error = booking_session_item(call, give_up_lease, &work);
		if (error != NULL)
			ereport(LOG,
					(errmsg("booking: operation " INT64_FORMAT " could not be put off: %s",
							operation_id, error->message)));
		contended |= error != NULL;
		return 0;
	}
	if (work.dispatch == NULL)
		return 0;
	dlist_push_tail(&leased, &work.dispatch->node);
	in_flight++;
	return 1;
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
		BookingDispatch *dispatch = dlist_container(BookingDispatch, node,
													dlist_pop_head_node(&leased));

		dlist_push_tail(&running, &dispatch->node);
		dispatch->task.job = &dispatch->job;
		dispatch->task.arena = dispatch->arena;
		dispatch->provider->start(&dispatch->task, &dispatch->request);
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
	booking_fresh_abort(0);
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
	BookingOperation *operation = &lease->operation;
	BookingOperationChange change = {.now = call->now};
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
	if (!lookup && to_be_dropped(lease))
	{
		booking_fresh_end(operation->operation_id);
		booking_store_operation_drop(operation->operation_id, call->now);
		return;
	}
	if (!lookup && !may_send(call, lease))
		return;

	work->dispatch = make_dispatch(call, lease, lookup);
	if (work->dispatch == NULL || calendar_in_flight(work->dispatch) ||
		account_in_flight(work->dispatch->account_key) >=
		work->dispatch->provider->max_in_flight)
	{
		forget_dispatch(work);
		return;
	}

	fill_change(call, operation, lookup ? "reconciling" : "sending", &change);
	change.epoch += lookup ? 0 : 1;
	if (unread(operation))
		change.tries = 0;
	if (operation->body == NULL && work->dispatch->job.body != NULL)
		change.body = (bytea *) cstring_to_text_with_len(work->dispatch->job.body,
														 work->dispatch->job.body_len);
	if (!booking_store_operation_change(&change))
	{
		forget_dispatch(work);
		return;
	}
	booking_store_attempt(operation->operation_id, change.epoch,
						  lookup ? "lookup" : "send", "begun", 0, NULL, NULL,
						  call->now);
	work->dispatch->epoch = change.epoch;
	booking_fresh_end(operation->operation_id);
	if (!lookup)
		begin_intent(call, lease);
}

/*
 * Do the calendars allow an operation to be sent now?  If not, what follows
 * from it is recorded.
 */
static bool
may_send(BookingCall *call, const BookingLease *lease)
{
	const BookingOperation *operation = &lease->operation;
	BookingFreshVerdict verdict;
	BookingOutcome gone = {BOOKING_OUTCOME_CALENDAR_GONE};
	BookingOperationChange change = {0};

	booking_fresh_judge(call, lease, &verdict);
	switch (verdict.freshness)
	{
		case BOOKING_FRESH:
			return true;

		case BOOKING_FRESH_ASKED:
			fill_change(call, operation, "checking", &change);
			booking_store_operation_change(&change);
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
 * Has an operation been put off because its calendars could not be read?
 */
static bool
unread(const BookingOperation *operation)
{
	return operation->problem != NULL &&
		strcmp(operation->problem, BOOKING_PROBLEM_UNREAD) == 0;
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
 * A change of an operation's state that leaves all else as it is.
 */
static void
fill_change(const BookingCall *call, const BookingOperation *operation,
			const char *state, BookingOperationChange *change)
{
	change->operation_id = operation->operation_id;
	change->from = operation->state;
	change->state = state;
	change->next_at = operation->next_at;
	change->epoch = operation->epoch;
	change->tries = operation->tries;
	change->uncertain = operation->uncertain;
	change->problem = operation->problem;
	change->message = operation->message;
	change->now = call->now;
}

/*
 * Is an operation not wanted any more that was never sent, or not to be sent
 * because somebody has settled it?  (The latter is not changed by a drop.)
 */
static bool
to_be_dropped(const BookingLease *lease)
{
	const BookingOperation *operation = &lease->operation;
	BookingState state = booking_state_of(cstring_to_text(lease->intent_state));

	if (strcmp(operation->state, "waiting") != 0 &&
		strcmp(operation->state, "checking") != 0)
		return true;
	return state == BOOKING_STATE_CANCELED ||
		(state == BOOKING_STATE_CANCELING &&
		 strcmp(operation->kind, "cancel") != 0 && !operation->uncertain &&
		 operation->epoch == 0);
}

/*
 * Everything a job needs, copied out of the transaction.  Raises an error when
 * it cannot be made; then the operation is not begun.  NULL while the account
 * waits for a token.
 */
static BookingDispatch *
make_dispatch(BookingCall *call, const BookingLease *lease, bool lookup)
{
	const BookingOperation *operation = &lease->operation;
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingDispatch *dispatch = arena != NULL ?
		booking_arena_alloc(arena, sizeof(BookingDispatch)) : NULL;
	BookingSigninAccount account = {
		booking_provider_find(lease->provider),
		cstring_to_text(operation->tenant), cstring_to_text(operation->account),
		lease->secret, lease->sealed
	};
	BookingSigninState state = BOOKING_SIGNIN_UNUSABLE;

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
	dispatch->provider = account.provider;
	dispatch->account_key = copy_string(arena, psprintf("%s\n%s", operation->tenant,
														operation->account));
	if (account.provider != NULL && account.provider->writes_in_series && !lookup)
		dispatch->calendar_key = copy_string(arena, psprintf("%s\n%s",
															 dispatch->account_key,
															 operation->calendar));
	fill_job(operation, lease, dispatch);

	if (dispatch->provider != NULL)
		state = sign_in(call, &account, dispatch);
	if (state == BOOKING_SIGNIN_WAITING)
	{
		booking_arena_free(arena);
		return NULL;
	}
	if (state == BOOKING_SIGNIN_UNUSABLE ||
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
 * What the job is about, besides its events.
 */
static void
fill_job(const BookingOperation *operation, const BookingLease *lease,
		 BookingDispatch *dispatch)
{
	BookingArena *arena = dispatch->arena;
	BookingJob *job = &dispatch->job;

	job->looked_up = strcmp(operation->kind, "create") == 0 ? BOOKING_JOB_CREATE :
		strcmp(operation->kind, "update") == 0 ? BOOKING_JOB_UPDATE :
		BOOKING_JOB_CANCEL;
	job->kind = dispatch->lookup ? BOOKING_JOB_LOOKUP : job->looked_up;
	job->base_url = copy_string(arena, lease->base_url);
	job->collection = copy_string(arena, lease->remote_id);
	job->event_id = copy_string(arena, operation->event_id);
	job->href = copy_string(arena, operation->href);
	job->etag = copy_string(arena, operation->etag);
	job->wanted = &dispatch->wanted;
}

/*
 * Fill in the credential.  An error, which says that it was sealed with another
 * key, must not leave the arena behind.
 */
static BookingSigninState
sign_in(BookingCall *call, const BookingSigninAccount *account,
		BookingDispatch *dispatch)
{
	BookingArena *arena = dispatch->arena;
	BookingSigninState state = BOOKING_SIGNIN_UNUSABLE;
	const char *problem;

	PG_TRY();
	{
		state = booking_signin_fill(call, account, arena, &dispatch->auth, &problem);
	}
	PG_CATCH();
	{
		booking_arena_free(arena);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return state;
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
		/* a body does not say who was to be told */
		dispatch->previous.notify = dispatch->wanted.notify;
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
	note_token(operation, dispatch);
	booking_outcome_apply(call, operation, dispatch->lookup, outcome,
						  dispatch->provider);
}

/*
 * A token that was refused is got anew, once; then it is the credential.
 */
static void
note_token(const BookingOperation *operation, BookingDispatch *dispatch)
{
	BookingOutcome *outcome = &dispatch->task.outcome;
	text	   *tenant = cstring_to_text(operation->tenant);
	text	   *account = cstring_to_text(operation->account);

	if (outcome->kind != BOOKING_OUTCOME_AUTH)
	{
		if (outcome->status >= 200 && outcome->status < 300)
			booking_signin_accept(tenant, account, &dispatch->auth);
	}
	else if (booking_signin_renew(tenant, account, &dispatch->auth))
	{
		outcome->kind = dispatch->lookup ? BOOKING_OUTCOME_FAILED :
			BOOKING_OUTCOME_NOT_EXECUTED;
		outcome->problem = "token_refused";
	}
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
 * Does an account take no more for now?
 */
static bool
account_saturated(const char *account_key)
{
	dlist_head *lists[] = {&leased, &running, &finished};

	for (int i = 0; i < lengthof(lists); i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, lists[i])
		{
			BookingDispatch *other = dlist_container(BookingDispatch, node, iter.cur);

			if (strcmp(other->account_key, account_key) == 0)
				return account_in_flight(account_key) >= other->provider->max_in_flight;
		}
	}
	return false;
}

/*
 * Is a write to the same calendar in hand, where the provider wants one at a
 * time?
 */
static bool
calendar_in_flight(const BookingDispatch *dispatch)
{
	dlist_head *lists[] = {&leased, &running, &finished};

	for (int i = 0; dispatch->calendar_key != NULL && i < lengthof(lists); i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, lists[i])
		{
			BookingDispatch *other = dlist_container(BookingDispatch, node, iter.cur);

			if (other->calendar_key != NULL &&
				strcmp(other->calendar_key, dispatch->calendar_key) == 0)
				return true;
		}
	}
	return false;
}

/*
 * Keys of the accounts and calendars that take no more for now, so that their
 * backlog does not hide what is due for others.
 */
static ArrayType *
saturated_accounts(void)
{
	dlist_head *lists[] = {&leased, &running, &finished};
	text	  **keys = palloc_array(text *, 2 * in_flight + BOOKING_SIGNIN_LIMIT + 1);
	int			count = booking_signin_pending(keys);

	for (int i = 0; i < lengthof(lists); i++)
	{
		dlist_iter	iter;

		dlist_foreach(iter, lists[i])
		{
			BookingDispatch *dispatch = dlist_container(BookingDispatch, node, iter.cur);

			if (account_in_flight(dispatch->account_key) >= dispatch->provider->max_in_flight)
				keys[count++] = cstring_to_text(dispatch->account_key);
			if (dispatch->calendar_key != NULL)
				keys[count++] = cstring_to_text(dispatch->calendar_key);
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

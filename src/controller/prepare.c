/*-------------------------------------------------------------------------
 *
 * prepare.c
 *	  everything that an operation needs while no transaction is there
 *
 * What is sent is made of rows, and sent when they are out of reach; so they are
 * copied into an arena of the operation's own, with the credential and the exact
 * bytes to store.
 *
 * IDENTIFICATION
 *	  booking/src/controller/prepare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/credential.h"
#include "controller/event.h"
#include "controller/outcome.h"
#include "controller/prepare.h"
#include "controller/signin.h"
#include "ledger/state.h"
#include "store/attendee.h"
#include "store/operation.h"

/* memory of one operation: its bodies, and the answers of its requests */
#define ARENA_LIMIT (16 * 1024 * 1024)

static void fill_job(const BookingOperation *operation,
					 const BookingLease *lease, BookingDispatch *dispatch);
static BookingSigninState sign_in(BookingCall *call,
								  const BookingSigninAccount *account,
								  BookingDispatch *dispatch);
static bool fill_bodies(BookingCall *call, const BookingLease *lease,
						BookingDispatch *dispatch);
static bool accept_attendees(const BookingLease *lease,
							 BookingDispatch *dispatch);
static void copy_intents(const BookingLease *lease, BookingDispatch *dispatch);
static text *copy_text(BookingArena *arena, const char *string);

/*
 * Everything a job needs, copied out of the transaction.  Raises an error when
 * it cannot be made; then the operation is not begun.  NULL while the account
 * waits for a token, or for the key that its credential was sealed with.
 */
BookingDispatch *
booking_prepare_dispatch(BookingCall *call, const BookingLease *lease,
						 bool lookup)
{
	const BookingOperation *operation = &lease->operation;
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingDispatch *dispatch = arena != NULL ?
		booking_arena_alloc(arena, sizeof(BookingDispatch)) : NULL;
	BookingSigninAccount account = {
		booking_provider_find(lease->provider),
		cstring_to_text(operation->tenant), cstring_to_text(operation->account),
		lease->secret, lease->sealed, !lookup
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
	dispatch->task.job = &dispatch->job;
	dispatch->task.arena = arena;
	dispatch->provider = account.provider;
	dispatch->account_key =
		booking_arena_copy_text(arena, psprintf("%s\n%s", operation->tenant,
												operation->account));
	copy_intents(lease, dispatch);
	if (account.provider != NULL && account.provider->writes_in_series && !lookup)
		dispatch->calendar_key =
			booking_arena_copy_text(arena, psprintf("%s\n%s",
													dispatch->account_key,
													operation->calendar));
	fill_job(operation, lease, dispatch);

	if (dispatch->provider != NULL)
		state = sign_in(call, &account, dispatch);
	if (state == BOOKING_SIGNIN_WAITING || state == BOOKING_SIGNIN_SEALED)
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
	job->base_url = booking_arena_copy_text(arena, lease->base_url);
	job->collection = booking_arena_copy_text(arena, lease->remote_id);
	job->event_id = booking_arena_copy_text(arena, operation->event_id);
	job->href = booking_arena_copy_text(arena, operation->href);
	job->etag = booking_arena_copy_text(arena, operation->etag);
	job->wanted = &dispatch->wanted;
}

/*
 * Fill in the credential.  An error, which says that the file it is in is of no
 * use, must not leave the arena behind.
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
		if (lease->previous_moved)
		{
			dispatch->previous.start = booking_unix_microseconds(lease->previous_start);
			dispatch->previous.end = booking_unix_microseconds(lease->previous_end);
		}
		if (job->looked_up == BOOKING_JOB_UPDATE &&
			!accept_attendees(lease, dispatch))
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
 * If others changed who is on the event, and that was known to whoever decided
 * the update, it is what was left there; false if memory ran out.
 */
static bool
accept_attendees(const BookingLease *lease, BookingDispatch *dispatch)
{
	Jsonb	   *attendees =
		booking_store_attendees_accepted(lease->operation.operation_id);

	return attendees == NULL ||
		booking_event_attendees(&attendees->root, dispatch->arena,
								&dispatch->previous);
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
 * Put down that an operation is begun: its state, its exact bytes, a mark of
 * the attempt, and the state of its intent.
 */
void
booking_prepare_record(const BookingLease *lease, BookingDispatch *dispatch,
					   BookingBatch *batch)
{
	const BookingOperation *operation = &lease->operation;
	BookingOperationChange change = {0};
	BookingAttempt attempt = {operation->operation_id};
	BookingIntentChange intent = {operation->intent_id};
	bool		canceling = strcmp(lease->intent_state, "canceling") == 0;

	booking_prepare_change(operation, dispatch->lookup ? "reconciling" : "sending", &change);
	change.epoch += dispatch->lookup ? 0 : 1;
	if (booking_prepare_unread(operation))
		change.tries = 0;
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
 * A change of an operation's state that leaves all else as it is.
 */
void
booking_prepare_change(const BookingOperation *operation, const char *state,
					   BookingOperationChange *change)
{
	memset(change, 0, sizeof(*change));
	change->operation_id = operation->operation_id;
	change->from = operation->state;
	change->state = state;
	change->next_at = operation->next_at;
	change->epoch = operation->epoch;
	change->tries = operation->tries;
	change->uncertain = operation->uncertain;
	change->problem = operation->problem;
	change->message = operation->message;
}

/*
 * Has an operation been put off because its calendars could not be read?
 */
bool
booking_prepare_unread(const BookingOperation *operation)
{
	return operation->problem != NULL &&
		strcmp(operation->problem, BOOKING_PROBLEM_UNREAD) == 0;
}

/*
 * Is an operation not wanted any more that was never sent, or not to be sent
 * because somebody has settled it?  (The latter is not changed by a drop.)
 */
bool
booking_prepare_unwanted(const BookingLease *lease)
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

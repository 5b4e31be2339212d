/*-------------------------------------------------------------------------
 *
 * outcome.c
 *	  what an outcome does to operation, intent and reservations
 *
 * The second half of STATES.md.  Called under the lock of the intent, in a
 * subtransaction of its own.  Order of locks: intent, operation, resources.
 *
 * IDENTIFICATION
 *	  booking/src/controller/outcome.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "utils/builtins.h"

#include "compat.h"
#include "controller/conference.h"
#include "controller/hold.h"
#include "controller/outage.h"
#include "controller/outcome.h"
#include "guc.h"
#include "ledger/capacity.h"
#include "ledger/claim.h"
#include "ledger/count.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/propose.h"
#include "ledger/site.h"
#include "ledger/state.h"
#include "ledger/want.h"
#include "store/account.h"
#include "store/conflict.h"
#include "store/effect.h"
#include "store/store.h"

#define BACKOFF_FIRST_SECS 1
#define BACKOFF_LAST_SECS 300
#define RETRY_AFTER_LAST_SECS 3600

/* tries after which BACKOFF_LAST_SECS is reached */
#define BACKOFF_TRIES 9

static void refused(BookingCall *call, const BookingOperation *operation,
					bool lookup, const BookingOutcome *outcome);
static void met_another(BookingCall *call, const BookingOperation *operation,
						bool lookup, const BookingOutcome *outcome);
static void not_there(BookingCall *call, const BookingOperation *operation,
					  bool lookup, const BookingOutcome *outcome,
					  const BookingProvider *provider);
static void id_burnt(BookingCall *call, const BookingOperation *operation,
					 const BookingOutcome *outcome);
static bool has_problem(const BookingOutcome *outcome, const char *problem);
static bool last_refusal(const BookingOperation *operation,
						 BookingOutcome *refusal);
static void event_deleted(BookingCall *call, const BookingOperation *operation,
						  const BookingOutcome *outcome);
static void later(BookingCall *call, const BookingOperation *operation,
				  const BookingOutcome *outcome, const char *state,
				  bool uncertain);
static bool says_nothing(const BookingOperation *operation,
						 const BookingOutcome *outcome);
static void park(BookingCall *call, const BookingOperation *operation,
				 const BookingOutcome *outcome);
static void leave_approved(BookingCall *call, const BookingIntent *intent);
static void change_operation(BookingCall *call,
							 const BookingOperation *operation,
							 const BookingOutcome *outcome, const char *state);
static void change_intent(BookingCall *call, const BookingIntent *intent,
						  const char *disposition, const char *state,
						  const char *remote, const char *event,
						  Jsonb *detail);
static BookingIntent *intent_of(const BookingOperation *operation,
								BookingIdentity *identity);
static void confirm_cancel(BookingCall *call, const BookingIntent *intent,
						   const BookingIdentity *identity);
static void confirm_predecessor(BookingCall *call, const BookingIntent *intent,
								const BookingIdentity *identity, bool moved);
static Jsonb *problem_detail(const char *problem, const char *message);
static TimestampTz backoff(const BookingOperation *operation,
						   const BookingOutcome *outcome);

/*
 * Record an outcome.  lookup says whether it was sought by reading.
 */
void
booking_outcome_apply(BookingCall *call, const BookingOperation *operation,
					  bool lookup, const BookingOutcome *outcome,
					  const BookingProvider *provider)
{
	switch (outcome->kind)
	{
		case BOOKING_OUTCOME_DONE:
		case BOOKING_OUTCOME_EQUAL:
			booking_outcome_confirm(call, operation, outcome);
			break;

		case BOOKING_OUTCOME_ABSENT:
			not_there(call, operation, lookup, outcome, provider);
			break;

		case BOOKING_OUTCOME_NOT_EXECUTED:
			later(call, operation, outcome,
				  operation->uncertain ? "unknown" : "waiting",
				  operation->uncertain);
			break;

		case BOOKING_OUTCOME_UNKNOWN:
			later(call, operation, outcome, "unknown", true);
			break;

		case BOOKING_OUTCOME_FAILED:
			later(call, operation, outcome, "unknown", operation->uncertain);
			break;

		case BOOKING_OUTCOME_AUTH:
			booking_store_account_park(cstring_to_text(operation->tenant),
									   cstring_to_text(operation->account),
									   cstring_to_text("auth_refused"),
									   call->now);
			later(call, operation, outcome,
				  lookup || operation->uncertain ? "unknown" : "waiting",
				  operation->uncertain);
			break;

		case BOOKING_OUTCOME_REJECTED:
		case BOOKING_OUTCOME_CALENDAR_GONE:
			refused(call, operation, lookup, outcome);
			break;

		case BOOKING_OUTCOME_DIFFERENT:
			met_another(call, operation, lookup, outcome);
			break;

		case BOOKING_OUTCOME_FOREIGN:
			park(call, operation, outcome);
			break;
	}
	if (strcmp(operation->kind, "cancel") == 0)
		booking_store_event_forget(operation->operation_id);
}

/*
 * Count an outcome that was recorded, of a send or of a lookup of one.
 */
void
booking_outcome_count(bool lookup, BookingJobKind job, BookingOutcomeKind outcome)
{
	static const char *const names[] = {
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

	booking_count(lookup ? BOOKING_COUNT_LOOKUPS : BOOKING_COUNT_SENDS,
				  job == BOOKING_JOB_CREATE ? "create" :
				  job == BOOKING_JOB_UPDATE ? "update" : "cancel", names[outcome]);
}

/*
 * An operation was tried as often as may be, the last times without an outcome
 * to judge: its worker died over it, or it was proven not to have happened and
 * sent again.
 */
void
booking_outcome_give_up(BookingCall *call, const BookingOperation *operation)
{
	BookingOutcome outcome = {BOOKING_OUTCOME_FAILED};

	outcome.problem = operation->problem != NULL ? operation->problem :
		"too_many_tries";
	outcome.message = operation->message;
	park(call, operation, &outcome);
}

/*
 * The provider refused.  That says nothing about an earlier send which may
 * have taken effect, so a lookup follows, and it decides: see not_there() and
 * met_another().  A refused cancel leaves an event behind.  A lookup that finds
 * the id with a deleted event has learned what a create would.
 */
static void
refused(BookingCall *call, const BookingOperation *operation, bool lookup,
		const BookingOutcome *outcome)
{
	if (operation->uncertain && !lookup)
		later(call, operation, outcome, "unknown", true);
	else if (lookup && strcmp(operation->kind, "create") == 0 &&
			 has_problem(outcome, "deleted_at_provider"))
		id_burnt(call, operation, outcome);
	else if (lookup || strcmp(operation->kind, "cancel") == 0)
		park(call, operation, outcome);
	else
		booking_outcome_reject(call, operation, outcome->problem,
							   outcome->message);
}

/*
 * The event is ours, and not as wanted.  A cancel that has not happened is
 * sent again, unless the provider refuses to do it.  A conditional update that
 * met other people's edit did not happen.  All else is for a person to judge.
 */
static void
met_another(BookingCall *call, const BookingOperation *operation, bool lookup,
			const BookingOutcome *outcome)
{
	BookingOutcome refusal = *outcome;

	if (strcmp(operation->kind, "cancel") == 0 && lookup &&
		has_problem(outcome, "still_present") && last_refusal(operation, &refusal))
		park(call, operation, &refusal);
	else if (strcmp(operation->kind, "cancel") == 0 && lookup &&
			 has_problem(outcome, "still_present"))
		booking_outcome_resend(call, operation, backoff(operation, outcome), false);
	else if (strcmp(operation->kind, "update") == 0 && !lookup &&
			 !operation->uncertain)
		booking_outcome_reject(call, operation, outcome->problem,
							   outcome->message);
	else
		park(call, operation, outcome);
}

/*
 * There is no event, and the calendar is there.  That is all a cancel wants.
 * Else a lookup that proves it settles what earlier sends left in doubt: they
 * took no effect.  So if the provider refused the last one, that refusal counts
 * after all, and if not, the same id is sent again.
 */
static void
not_there(BookingCall *call, const BookingOperation *operation, bool lookup,
		  const BookingOutcome *outcome, const BookingProvider *provider)
{
	BookingOutcome refusal = *outcome;
	bool		update = strcmp(operation->kind, "update") == 0;

	if (strcmp(operation->kind, "cancel") == 0)
		booking_outcome_confirm(call, operation, outcome);
	else if (!lookup && update)
		event_deleted(call, operation, outcome);
	else if (!lookup && has_problem(outcome, "deleted_at_provider"))
		id_burnt(call, operation, outcome);
	else if (!lookup || !provider->absence_is_proof)
		park(call, operation, outcome);
	else if (last_refusal(operation, &refusal))
	{
		if (update && has_problem(outcome, "deleted_at_provider"))
			event_deleted(call, operation, outcome);
		else
			booking_outcome_reject(call, operation, refusal.problem,
								   refusal.message);
	}
	else
		booking_outcome_resend(call, operation, backoff(operation, outcome),
							   false);
}

/*
 * The id of a new event belongs to a deleted one that the provider keeps.  If
 * the event may have been made by us, somebody deleted it, and so called off
 * what it stood for.  If no send of ours can have made it, the id was burnt in
 * another life of this database, and the event gets another one.  Both are on
 * disk before anything is sent.
 */
static void
id_burnt(BookingCall *call, const BookingOperation *operation,
		 const BookingOutcome *outcome)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	char	   *event_id;

	if (operation->uncertain)
	{
		change_operation(call, operation, outcome, "rejected");
		booking_hold_release(&identity, intent);
		change_intent(call, intent, "canceled", "canceled", "rejected", "absent",
					  problem_detail("deleted_at_provider", outcome->message));
		return;
	}
	if (booking_state_of(intent->state) == BOOKING_STATE_CANCELING)
	{
		booking_outcome_resend(call, operation, call->now, false);
		return;
	}
	if (operation->tries + 1 >= booking_max_attempts)
	{
		park(call, operation, outcome);
		return;
	}
	event_id = booking_site_event_id(&identity,
									 cstring_to_text(operation->calendar),
									 operation->generation + 1);
	if (!booking_store_operation_renew(operation, event_id,
									   backoff(operation, outcome), call->now))
		elog(ERROR, "operation " INT64_FORMAT " is not in the state %s any more",
			 operation->operation_id, operation->state);
	change_intent(call, intent, "committed", "approved", "not_attempted",
				  "none", intent->detail);
}

/*
 * Does an outcome name this problem?
 */
static bool
has_problem(const BookingOutcome *outcome, const char *problem)
{
	return outcome->problem != NULL && strcmp(outcome->problem, problem) == 0;
}

/*
 * If the last send was refused for good, put down why.
 */
static bool
last_refusal(const BookingOperation *operation, BookingOutcome *refusal)
{
	char	   *problem;
	char	   *message;

	if (!booking_store_operation_refused(operation->operation_id, &problem,
										 &message))
		return false;
	refusal->problem = problem;
	refusal->message = message;
	return true;
}

/*
 * The event that was to be updated is not there: somebody deleted it, and so
 * called off what it stood for.  Making it anew would overrule that.
 */
static void
event_deleted(BookingCall *call, const BookingOperation *operation,
			  const BookingOutcome *outcome)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingIntent *predecessor = NULL;

	if (intent->payload.supersedes != NULL)
	{
		BookingIdentity name = identity;

		name.intent = intent->payload.supersedes;
		predecessor = booking_store_intent_read(&name);
	}
	if (predecessor != NULL &&
		booking_state_of(predecessor->state) == BOOKING_STATE_CREATED)
	{
		booking_hold_release(&identity, predecessor);
		change_intent(call, predecessor, "canceled", "canceled", "confirmed",
					  "absent", problem_detail("deleted_at_provider", NULL));
	}
	booking_outcome_reject(call, operation, "deleted_at_provider",
						   outcome->message);
}

/*
 * What was wanted is so.
 */
void
booking_outcome_confirm(BookingCall *call, const BookingOperation *operation,
						const BookingOutcome *outcome)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingState state = booking_state_of(intent->state);
	BookingOutcome done = *outcome;

	/* what a conference lacks is put down with the conference */
	if (booking_conference_told(outcome))
		done.problem = done.message = NULL;
	change_operation(call, operation, &done, "confirmed");
	if (strcmp(operation->kind, "cancel") == 0)
	{
		confirm_cancel(call, intent, &identity);
		return;
	}

	booking_store_events_expect(&operation->operation_id, 1);
	confirm_predecessor(call, intent, &identity,
						strcmp(operation->kind, "update") == 0);
	if (state == BOOKING_STATE_CANCELING)
	{
		/* canceled meanwhile: the event that exists is deleted next */
		BookingIntent exists = *intent;

		exists.state = cstring_to_text("created");
		(void) booking_want_cancel(call, &exists);
		change_intent(call, intent, "canceled", "canceling", "not_attempted",
					  "present", intent->detail);
	}
	else if (state != BOOKING_STATE_CANCELED)
	{
		change_intent(call, intent, "committed", "created", "confirmed",
					  "present", booking_conference_note(call, operation, outcome));
		booking_store_overlaps_of_intents(&intent->intent_id, 1, call->now);
	}
}

/*
 * What was wanted will never be.  A create or update frees what it held, and
 * the predecessor stands unchanged.
 */
void
booking_outcome_reject(BookingCall *call, const BookingOperation *operation,
					   const char *problem, const char *message)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingOutcome outcome = {BOOKING_OUTCOME_REJECTED};
	bool		canceling =
		booking_state_of(intent->state) == BOOKING_STATE_CANCELING;

	outcome.problem = problem;
	outcome.message = message;
	change_operation(call, operation, &outcome, "rejected");
	leave_approved(call, intent);
	booking_hold_release(&identity, intent);
	change_intent(call, intent, canceling ? "canceled" : "failed",
				  canceling ? "canceled" : "failed", "rejected",
				  strcmp(operation->kind, "create") == 0 ? "absent" : "none",
				  problem_detail(problem, message));
}

/*
 * It is proven that it has not happened: send the same id again, or, when the
 * intent was canceled meanwhile, let it be.  settled says that a person vouches
 * for it, so that no earlier send is in doubt any more.
 */
void
booking_outcome_resend(BookingCall *call, const BookingOperation *operation,
					   TimestampTz next_at, bool settled)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingState state = booking_state_of(intent->state);
	BookingOperationChange change = {0};
	bool		cancel = strcmp(operation->kind, "cancel") == 0;
	bool		canceling = state == BOOKING_STATE_CANCELING && !cancel;

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = canceling ? "dropped" : "waiting";
	change.next_at = next_at;
	change.epoch = operation->epoch;
	change.tries = settled ? 0 : operation->tries + 1;
	change.uncertain = operation->uncertain && !settled;
	change.now = call->now;
	booking_store_operation_change(&change);

	if (canceling)
		confirm_cancel(call, intent, &identity);
	else if (cancel)
		change_intent(call, intent, "canceled", "canceling", "not_attempted",
					  "present", intent->detail);
	else
		change_intent(call, intent, "committed", settled ? "approved" : "unknown",
					  settled ? "not_attempted" : "pending_reconciliation",
					  "absent", settled ? NULL : intent->detail);
}

/*
 * What was decided is not so any more, and nothing was sent, or it is proven
 * that it did not arrive: free what the intent held, and ask for another
 * proposal.  A predecessor stands unchanged.
 */
void
booking_outcome_stale(BookingCall *call, const BookingOperation *operation,
					  Jsonb *detail)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingOutcome outcome = {BOOKING_OUTCOME_REJECTED};

	outcome.problem = booking_detail_reason_of(detail);
	booking_count(BOOKING_COUNT_STALE, "send", NULL);
	change_operation(call, operation, &outcome, "dropped");
	booking_hold_release(&identity, intent);
	booking_propose_keep(call, intent);
	booking_store_proposal_decide(intent->intent_id, intent->version, "lapsed",
								  NULL, call->role,
								  cstring_to_text(outcome.problem),
								  call->now);
	change_intent(call, intent, "needs_proposal", "needs_proposal",
				  "not_attempted",
				  booking_state_of(intent->state) == BOOKING_STATE_UNKNOWN ?
				  "absent" : NULL, detail);

	/* an event that came late was seen while it was wanted still */
	booking_store_effects_of_intent(intent->intent_id);
}

/*
 * The calendars could not be read: nothing is sent, and they are read again
 * later.  However often that happens, the operation is not given up, since it
 * is none of its doing.
 */
void
booking_outcome_unread(BookingCall *call, const BookingOperation *operation,
					   const char *message)
{
	BookingOutcome outcome = {BOOKING_OUTCOME_NOT_EXECUTED};
	BookingOperationChange change = {0};

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = "waiting";
	change.next_at = backoff(operation, &outcome);
	change.epoch = operation->epoch;
	change.tries = operation->tries + 1;
	change.uncertain = operation->uncertain;
	change.problem = BOOKING_PROBLEM_UNREAD;
	change.message = message;
	change.now = call->now;
	booking_store_operation_change(&change);
}

/*
 * Try again later, from a state.
 */
static void
later(BookingCall *call, const BookingOperation *operation,
	  const BookingOutcome *outcome, const char *state, bool uncertain)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	BookingOperationChange change = {0};
	bool		unknown = strcmp(state, "unknown") == 0;
	BookingState present = booking_state_of(intent->state);
	int			tries = operation->tries + 1;

	if (present == BOOKING_STATE_CANCELING && !unknown &&
		strcmp(operation->kind, "cancel") != 0)
	{
		/* canceled on the way, and certainly not done: leave it at that */
		booking_outcome_resend(call, operation, call->now, false);
		return;
	}

	/* the pauses grow, but most of the tries stay for when there is a server */
	if (says_nothing(operation, outcome))
		tries = Max(operation->tries,
					Min(tries, Min(BACKOFF_TRIES, booking_max_attempts / 2)));
	else if (tries >= booking_max_attempts)
	{
		park(call, operation, outcome);
		return;
	}
	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = state;
	change.next_at = backoff(operation, outcome);
	change.epoch = operation->epoch;
	change.tries = tries;
	change.uncertain = uncertain;
	change.problem = outcome->problem;
	change.message = outcome->message;
	change.now = call->now;
	booking_store_operation_change(&change);

	if (outcome->retry_after > 0)
		booking_store_account_block(cstring_to_text(operation->tenant),
									cstring_to_text(operation->account),
									change.next_at,
									cstring_to_text("the provider asked to wait"),
									call->now);

	if (present == BOOKING_STATE_CREATING)
		change_intent(call, intent, "committed", unknown ? "unknown" : "approved",
					  unknown ? "pending_reconciliation" : "not_attempted",
					  unknown ? "unknown" : NULL, intent->detail);
	else if (present == BOOKING_STATE_CANCELING)
		change_intent(call, intent, "canceled", "canceling",
					  unknown ? "pending_reconciliation" : "not_attempted",
					  unknown ? "unknown" : NULL, intent->detail);
}

/*
 * Is a try no evidence against the operation: because it found no server, so that
 * certainly nothing came of it, or because the server answers nobody else either?
 * However long that lasts, no operator could do more than wait.
 */
static bool
says_nothing(const BookingOperation *operation, const BookingOutcome *outcome)
{
	if (outcome->unreached && outcome->kind != BOOKING_OUTCOME_UNKNOWN)
		return true;
	return (outcome->status == 0 || outcome->status >= 500) &&
		booking_outage_lasts(psprintf("%s\n%s", operation->tenant, operation->account));
}

/*
 * Leave it to an operator; the units stay held.
 */
static void
park(BookingCall *call, const BookingOperation *operation,
	 const BookingOutcome *outcome)
{
	BookingIdentity identity;
	BookingIntent *intent = intent_of(operation, &identity);
	bool		canceling =
		booking_state_of(intent->state) == BOOKING_STATE_CANCELING;

	change_operation(call, operation, outcome, "parked");
	leave_approved(call, intent);
	change_intent(call, intent, canceling ? "canceled" : "committed",
				  canceling ? "canceling" : "unknown", "needs_operator",
				  outcome->kind == BOOKING_OUTCOME_DIFFERENT ||
				  outcome->kind == BOOKING_OUTCOME_FOREIGN ? "present" : "unknown",
				  problem_detail(outcome->problem, outcome->message));
}

/*
 * What ends before it could begin: unknown and failed are reached through
 * creating only.
 */
static void
leave_approved(BookingCall *call, const BookingIntent *intent)
{
	if (booking_state_of(intent->state) == BOOKING_STATE_APPROVED)
		change_intent(call, intent, "committed", "creating", "in_flight", NULL,
					  intent->detail);
}

/*
 * Move an operation to a state in which nothing is due.
 */
static void
change_operation(BookingCall *call, const BookingOperation *operation,
				 const BookingOutcome *outcome, const char *state)
{
	BookingOperationChange change = {0};

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = state;
	change.next_at = call->now;
	change.epoch = operation->epoch;
	change.tries = operation->tries;
	change.uncertain = operation->uncertain;
	change.href = outcome->href;
	change.etag = outcome->etag;
	change.problem = outcome->problem;
	change.message = outcome->message;
	change.now = call->now;
	if (!booking_store_operation_change(&change))
		elog(ERROR, "operation " INT64_FORMAT " is not in the state %s any more",
			 operation->operation_id, operation->state);
}

/*
 * Change an intent.
 */
static void
change_intent(BookingCall *call, const BookingIntent *intent,
			  const char *disposition, const char *state, const char *remote,
			  const char *event, Jsonb *detail)
{
	BookingIntentChange change = {0};

	change.intent_id = intent->intent_id;
	change.disposition = disposition;
	change.state = state;
	change.remote = remote;
	change.event = event;
	change.detail = detail;
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	if (strcmp(state, "canceled") == 0)
		booking_store_conflicts_end(intent->intent_id, call->now);
}

/*
 * The intent of an operation.
 */
static BookingIntent *
intent_of(const BookingOperation *operation, BookingIdentity *identity)
{
	BookingIntent *intent = booking_store_intent_by_id(operation->intent_id,
													   identity);

	if (intent == NULL)
		elog(ERROR, "operation " INT64_FORMAT " has no intent",
			 operation->operation_id);
	return intent;
}

/*
 * The event is gone, or never was: the intent is canceled and holds nothing.
 */
static void
confirm_cancel(BookingCall *call, const BookingIntent *intent,
			   const BookingIdentity *identity)
{
	booking_hold_release(identity, intent);
	change_intent(call, intent, "canceled", "canceled", "confirmed", "absent",
				  intent->detail);
}

/*
 * The intent's event exists.  If its event was that of the predecessor, that
 * one has moved; if not, the predecessor's is deleted next.
 */
static void
confirm_predecessor(BookingCall *call, const BookingIntent *intent,
					const BookingIdentity *identity, bool moved)
{
	BookingIdentity name = *identity;
	BookingIntent *predecessor;
	const char *state;

	if (intent->payload.supersedes == NULL)
		return;
	name.intent = intent->payload.supersedes;
	predecessor = booking_store_intent_read(&name);
	if (predecessor == NULL ||
		booking_state_of(predecessor->state) != BOOKING_STATE_CREATED)
		return;
	if (moved)
	{
		booking_hold_move(intent, predecessor, identity);
		state = "canceled";
	}
	else
		state = booking_want_cancel(call, predecessor);
	booking_claim_end_predecessor(call, predecessor, identity->intent, state);
	booking_store_conflicts_end(predecessor->intent_id, call->now);
}

/*
 * Why, for people.
 */
static Jsonb *
problem_detail(const char *problem, const char *message)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", problem != NULL ? problem : "unknown");
	if (message != NULL)
		booking_detail_word(&detail, "message", message);
	return booking_detail_end(&detail);
}

/*
 * When to try again: exponentially later, spread by a quarter so that many do
 * not come at once, and not before the provider asked for.
 */
static TimestampTz
backoff(const BookingOperation *operation, const BookingOutcome *outcome)
{
	double		seconds = BACKOFF_FIRST_SECS;

	for (int i = 0; i < operation->tries && seconds < BACKOFF_LAST_SECS; i++)
		seconds *= 2;
	seconds = Min(seconds, BACKOFF_LAST_SECS);
	seconds *= 0.75 + 0.5 * pg_prng_double(&pg_global_prng_state);
	if (outcome->retry_after > 0)
		seconds = Max(seconds, Min(outcome->retry_after, RETRY_AFTER_LAST_SECS));
	return booking_call_hold_clock() + (TimestampTz) (seconds * USECS_PER_SEC);
}

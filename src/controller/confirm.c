/*-------------------------------------------------------------------------
 *
 * confirm.c
 *	  recording together what needs nothing but to be put down
 *
 * By far most outcomes say that a new event is there as wanted.  If its intent
 * was neither canceled meanwhile nor supersedes another one, that changes the
 * operation and the intent and nothing else, so many such outcomes are written
 * in one statement a table.  All others take booking_outcome_apply().
 *
 * IDENTIFICATION
 *	  booking/src/controller/confirm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/conference.h"
#include "controller/confirm.h"
#include "controller/outage.h"
#include "controller/signin.h"
#include "store/conflict.h"
#include "store/effect.h"
#include "store/operation.h"

static bool is_plain(const BookingDispatch *dispatch,
					 const BookingLease *lease);
static void confirm_item(BookingCall *call, const BookingDispatch *dispatch,
						 const BookingLease *lease, BookingBatch *batch);
static bool no_server(const BookingOutcome *outcome);

/*
 * Confirm, in a subtransaction, those operations that take no more than that.
 */
void
booking_confirm_items(BookingCall *call, void *arg)
{
	BookingConfirmWork *work = arg;
	BookingBatch *batch = booking_batch_create(work->count);
	int64	   *operation_ids = palloc_array(int64, work->count);
	int64	   *confirmed_ids = palloc_array(int64, work->count);
	int64	   *intent_ids = palloc_array(int64, work->count);
	int			confirmed = 0;
	BookingLease *leases;
	int			found;
	int			at = 0;

	for (int i = 0; i < work->count; i++)
		operation_ids[i] = work->dispatches[i]->operation_id;
	leases = booking_store_leases_read(operation_ids, work->count, &found);
	for (int i = 0; i < work->count && at < found; i++)
	{
		const BookingDispatch *dispatch = work->dispatches[i];

		if (leases[at].operation.operation_id != dispatch->operation_id)
			continue;
		if (is_plain(dispatch, &leases[at]))
		{
			confirm_item(call, dispatch, &leases[at], batch);
			confirmed_ids[confirmed] = dispatch->operation_id;
			intent_ids[confirmed++] = leases[at].operation.intent_id;
			work->recorded[i] = true;
		}
		at++;
	}
	booking_batch_write(batch, call->role, call->now);
	if (confirmed > 0)
	{
		booking_store_events_expect(confirmed_ids, confirmed);
		booking_store_overlaps_of_intents(intent_ids, confirmed, call->now);
	}
}

/*
 * Does an outcome say that a new event is there as wanted, with nothing else to
 * settle?  See booking_outcome_confirm().  That a token is good which was got in
 * place of another one has to be recorded too, and so has a conference.
 */
static bool
is_plain(const BookingDispatch *dispatch, const BookingLease *lease)
{
	BookingOutcomeKind kind = dispatch->task.outcome.kind;

	return !dispatch->auth.renewed &&
		!booking_conference_told(&dispatch->task.outcome) &&
		(kind == BOOKING_OUTCOME_DONE || kind == BOOKING_OUTCOME_EQUAL) &&
		dispatch->job.looked_up == BOOKING_JOB_CREATE &&
		lease->operation.epoch == dispatch->epoch &&
		strcmp(lease->operation.state, dispatch->lookup ? "reconciling" : "sending") == 0 &&
		lease->payload.supersedes == NULL &&
		(strcmp(lease->intent_state, "creating") == 0 ||
		 strcmp(lease->intent_state, "unknown") == 0);
}

/*
 * Put down that the event is there.
 */
static void
confirm_item(BookingCall *call, const BookingDispatch *dispatch,
			 const BookingLease *lease, BookingBatch *batch)
{
	const BookingOperation *operation = &lease->operation;
	const BookingOutcome *outcome = &dispatch->task.outcome;
	BookingOperationChange change = {0};
	BookingIntentChange intent = {0};

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = "confirmed";
	change.next_at = call->now;
	change.epoch = operation->epoch;
	change.tries = operation->tries;
	change.uncertain = operation->uncertain;
	change.href = outcome->href;
	change.etag = outcome->etag;
	change.problem = outcome->problem;
	change.message = outcome->message;
	batch->changes[batch->nchanges++] = change;
	batch->attempts[batch->nattempts++] = booking_confirm_attempt(dispatch);
	booking_outage_over(dispatch->account_key);
	intent.intent_id = operation->intent_id;
	intent.disposition = "committed";
	intent.state = "created";
	intent.remote = "confirmed";
	intent.event = "present";
	batch->intents[batch->nintents++] = intent;
}

/*
 * The line of evidence about an outcome.
 */
BookingAttempt
booking_confirm_attempt(const BookingDispatch *dispatch)
{
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
	const BookingOutcome *outcome = &dispatch->task.outcome;
	BookingAttempt attempt = {dispatch->operation_id, dispatch->epoch};

	attempt.phase = dispatch->lookup ? "lookup" : "send";
	attempt.mark = marks[outcome->kind];
	attempt.status = outcome->status;
	attempt.problem = outcome->problem;
	attempt.message = outcome->message;
	return attempt;
}

/*
 * What an outcome says about the account: whether its server answers, and
 * whether its token is good.  One that was refused is got anew, once; then it is
 * the credential.
 */
void
booking_confirm_account(const BookingCall *call, const BookingOperation *operation,
						BookingDispatch *dispatch)
{
	BookingOutcome *outcome = &dispatch->task.outcome;
	text	   *tenant = cstring_to_text(operation->tenant);
	text	   *account = cstring_to_text(operation->account);

	if (no_server(outcome))
		booking_outage_failed(call, dispatch->account_key, operation->operation_id);
	else if (outcome->status > 0)
		booking_outage_over(dispatch->account_key);
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
 * Was there nobody to answer, or nobody who could?
 */
static bool
no_server(const BookingOutcome *outcome)
{
	return (outcome->status == 0 || outcome->status >= 500) &&
		(outcome->kind == BOOKING_OUTCOME_NOT_EXECUTED ||
		 outcome->kind == BOOKING_OUTCOME_UNKNOWN ||
		 outcome->kind == BOOKING_OUTCOME_FAILED);
}

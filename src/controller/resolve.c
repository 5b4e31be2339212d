/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  booking_resolve, booking_release, booking_requeue, booking_park
 *
 * What a person found out at the provider, where the worker cannot prove it; and
 * what the worker is to look at again, or to leave alone.  There is no "try again
 * under another name", and what may have been sent is looked for before it is
 * sent again.
 *
 * While the worker has an operation in its hands nobody else changes it: both do
 * so under the lock of the intent, and by the state that the operation was in.
 *
 * IDENTIFICATION
 *	  booking/src/controller/resolve.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/outcome.h"
#include "ledger/args.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/state.h"
#include "ledger/wake.h"
#include "store/effect.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_resolve);
PG_FUNCTION_INFO_V1(booking_release);
PG_FUNCTION_INFO_V1(booking_requeue);
PG_FUNCTION_INFO_V1(booking_park);

/* what is to become of an operation */
typedef void (*Handling) (BookingCall *call, const BookingIntent *intent,
						  const BookingOperation *operation);

static Datum handle(FunctionCallInfo fcinfo, const char *action, Handling handling);
static void requeue(BookingCall *call, const BookingIntent *intent,
					const BookingOperation *operation);
static void park(BookingCall *call, const BookingIntent *intent,
				 const BookingOperation *operation);
static bool is_in(const BookingOperation *operation, const char *state);
static void resolve(BookingCall *call, const BookingOperation *operation,
					text *verdict);
pg_noreturn static void raise_impossible(const BookingIntent *intent);
static bool read_intent(BookingCall *call, BookingRequest *request,
						BookingView *view, BookingResult *result);

/*
 * booking_resolve(tenant, principal, intent, verdict, evidence) returns
 * booking_result
 *
 * verdict: exists or adopt (the event there is the booking's), absent (there
 * is none: send again), abandon (give the booking up).
 */
Datum
booking_resolve(PG_FUNCTION_ARGS)
{
	static const char *const verdicts[] = {"exists", "adopt", "absent", "abandon"};
	BookingRequest request = {0};
	text	   *verdict;
	Jsonb	   *evidence;
	bool		known = false;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingOperation *operation;
	BookingDetail detail;

	booking_arg_identity(fcinfo, 0, &request.identity);
	verdict = booking_arg_label(fcinfo, 3, "verdict");
	for (int i = 0; i < lengthof(verdicts); i++)
		known |= booking_text_is(verdict, verdicts[i]);
	if (!known)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is invalid", "verdict"),
				 errhint("Give exists, adopt, absent or abandon.")));
	booking_arg_require(fcinfo, 4, "evidence");
	evidence = booking_arg_evidence(fcinfo, 4);

	booking_call_begin(&call, fcinfo, true);
	if (read_intent(&call, &request, &view, &result))
		return booking_call_return(&call, &result);

	operation = booking_store_operation_newest(view.intent->intent_id);
	if (operation == NULL || strcmp(operation->state, "parked") != 0)
		raise_impossible(view.intent);
	booking_store_attempt(operation->operation_id, operation->epoch, "resolve",
						  text_to_cstring(verdict), 0, NULL, NULL, call.now);
	resolve(&call, operation, verdict);

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "verdict", verdict);
	booking_detail_integer(&detail, "operation", operation->operation_id);
	booking_store_audit("resolve", call.role, request.identity.tenant,
						request.identity.principal, request.identity.intent,
						booking_detail_end(&detail), evidence, call.now);
	booking_wake_at_commit();
	booking_decide_replay(&result, booking_store_intent_read(&request.identity));
	result.replayed = false;
	return booking_call_return(&call, &result);
}

/*
 * booking_release(tenant, principal, intent, reason) returns booking_result
 *
 * Free the units of an intent that is being canceled, before the provider has
 * confirmed.  The event may still be there; that is what the reason is for.
 */
Datum
booking_release(PG_FUNCTION_ARGS)
{
	BookingRequest request = {0};
	text	   *reason;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingDetail detail;

	booking_arg_identity(fcinfo, 0, &request.identity);
	reason = booking_arg_reason(fcinfo, 3);

	booking_call_begin(&call, fcinfo, true);
	if (read_intent(&call, &request, &view, &result))
		return booking_call_return(&call, &result);
	if (booking_state_of(view.intent->state) != BOOKING_STATE_CANCELING)
		raise_impossible(view.intent);

	booking_store_reservation_delete(view.intent->intent_id);
	booking_detail_begin(&detail);
	booking_detail_text(&detail, "reason", reason);
	booking_store_audit("release", call.role, request.identity.tenant,
						request.identity.principal, request.identity.intent,
						booking_detail_end(&detail), NULL, call.now);
	booking_decide_replay(&result, view.intent);
	return booking_call_return(&call, &result);
}

/*
 * booking_requeue(tenant, principal, intent, reason) returns booking_result
 *
 * Have the worker go on at once with what waits, or was parked, as if it had not
 * been tried.  What may have been sent is looked for first.
 */
Datum
booking_requeue(PG_FUNCTION_ARGS)
{
	return handle(fcinfo, "requeue", requeue);
}

/*
 * booking_park(tenant, principal, intent, reason) returns booking_result
 *
 * Have the worker leave alone what waits, until a person says more.
 */
Datum
booking_park(PG_FUNCTION_ARGS)
{
	return handle(fcinfo, "park", park);
}

/*
 * One of the two.
 */
static Datum
handle(FunctionCallInfo fcinfo, const char *action, Handling handling)
{
	BookingRequest request = {0};
	text	   *reason;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingOperation *operation;
	BookingDetail detail;

	booking_arg_identity(fcinfo, 0, &request.identity);
	reason = booking_arg_reason(fcinfo, 3);

	booking_call_begin(&call, fcinfo, true);
	if (read_intent(&call, &request, &view, &result))
		return booking_call_return(&call, &result);

	operation = booking_store_operation_newest(view.intent->intent_id);
	if (operation == NULL || is_in(operation, "confirmed") ||
		is_in(operation, "rejected") || is_in(operation, "dropped"))
		raise_impossible(view.intent);
	if (!is_in(operation, "waiting") && !is_in(operation, "unknown") &&
		!is_in(operation, "parked"))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the worker has the operation of the intent in its hands: it is %s",
						operation->state),
				 errhint("It ends within booking.http_timeout. Call again then, if booking.recovery still shows it.")));
	handling(&call, view.intent, operation);

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "reason", reason);
	booking_detail_integer(&detail, "operation", operation->operation_id);
	booking_detail_word(&detail, "was", operation->state);
	booking_store_audit(action, call.role, request.identity.tenant,
						request.identity.principal, request.identity.intent,
						booking_detail_end(&detail), NULL, call.now);
	booking_wake_at_commit();
	booking_decide_replay(&result, booking_store_intent_read(&request.identity));
	result.replayed = false;
	return booking_call_return(&call, &result);
}

/*
 * Make an operation due.  One that was parked is looked for first, whatever is
 * known of it; and that a person wants to know again makes an earlier refusal
 * void.
 */
static void
requeue(BookingCall *call, const BookingIntent *intent,
		const BookingOperation *operation)
{
	BookingOperationChange change = {0};
	BookingIntentChange pending = {0};
	bool		parked = is_in(operation, "parked");

	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = parked ? "unknown" : operation->state;
	change.next_at = call->now;
	change.epoch = operation->epoch;
	change.uncertain = operation->uncertain;
	change.problem = operation->problem;
	change.message = operation->message;
	change.now = call->now;
	if (!booking_store_operation_change(&change))
		elog(ERROR, "operation " INT64_FORMAT " is not in the state %s any more",
			 operation->operation_id, operation->state);
	if (!parked)
		return;
	booking_store_attempt(operation->operation_id, operation->epoch, "resolve",
						  "requeue", 0, NULL, NULL, call->now);
	pending.intent_id = intent->intent_id;
	pending.disposition = text_to_cstring(intent->disposition);
	pending.state = text_to_cstring(intent->state);
	pending.remote = "pending_reconciliation";
	pending.detail = intent->detail;
	pending.role = call->role;
	pending.now = call->now;
	booking_store_intent_change(&pending);
}

/*
 * Leave an operation to a person; one that is, stays so.
 */
static void
park(BookingCall *call, const BookingIntent *intent,
	 const BookingOperation *operation)
{
	BookingOperation parked = *operation;

	if (is_in(operation, "parked"))
		return;
	parked.problem = "parked_by_operator";
	parked.message = "an operator stopped it";
	booking_store_attempt(operation->operation_id, operation->epoch, "resolve",
						  "park", 0, NULL, NULL, call->now);
	booking_outcome_give_up(call, &parked);
}

/*
 * Is an operation in a state?
 */
static bool
is_in(const BookingOperation *operation, const char *state)
{
	return strcmp(operation->state, state) == 0;
}

/*
 * Read an intent under its locks; true if the answer is known already.
 */
static bool
read_intent(BookingCall *call, BookingRequest *request, BookingView *view,
			BookingResult *result)
{
	do
	{
		booking_view_read(call, request, view);
		if (view->denied || view->intent == NULL)
		{
			booking_decide(result, view->denied ? "denied" : "unknown_intent", NULL);
			return true;
		}
		/* the verdict may end it too */
		view->predecessor_name = view->intent->payload.supersedes;
	} while (booking_view_lock(call, request, view, ShareLock));
	return false;
}

/*
 * Carry out a verdict on a parked operation.
 */
static void
resolve(BookingCall *call, const BookingOperation *operation, text *verdict)
{
	BookingOutcome outcome = {BOOKING_OUTCOME_EQUAL};
	bool		cancel = strcmp(operation->kind, "cancel") == 0;

	if (booking_text_is(verdict, "abandon"))
	{
		if (cancel)
			booking_outcome_confirm(call, operation, &outcome);
		else
			booking_outcome_reject(call, operation, "abandoned",
								   "given up by an operator");
	}
	else if (booking_text_is(verdict, "absent"))
	{
		if (cancel)
			booking_outcome_confirm(call, operation, &outcome);
		else
			booking_outcome_resend(call, operation, call->now, true);
	}
	else if (cancel)
		booking_outcome_resend(call, operation, call->now, true);
	else
	{
		booking_outcome_confirm(call, operation, &outcome);
		/* it need not be at the time that was wanted */
		booking_store_effects_of_intent(operation->intent_id);
	}
}

/*
 * The error for an intent on which there is nothing to say.
 */
static void
raise_impossible(const BookingIntent *intent)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this is not possible in the state %s of the intent",
					text_to_cstring(intent->state)),
			 errhint("See booking.recovery for intents that wait for an operator.")));
}

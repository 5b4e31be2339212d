/*-------------------------------------------------------------------------
 *
 * resolve.c
 *	  booking_resolve, booking_release
 *
 * What a person found out at the provider, where the worker cannot prove it.
 * There is no "try again under another name".
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

/*-------------------------------------------------------------------------
 *
 * cancel.c
 *	  booking_cancel, booking_cancel_exact, booking_cancel_exact_slot,
 *	  booking_cancel_exact_all
 *
 * Canceled is terminal.  Canceling an intent that nobody recorded yet leaves a
 * tombstone, so that its claim, should it still arrive, books nothing.  The
 * exact forms cancel only what has the values given, and leave a tombstone
 * bound to them.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/cancel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/cancel.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/state.h"
#include "ledger/want.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_cancel);
PG_FUNCTION_INFO_V1(booking_cancel_exact);
PG_FUNCTION_INFO_V1(booking_cancel_exact_slot);
PG_FUNCTION_INFO_V1(booking_cancel_exact_all);

static Datum cancel_exact(FunctionCallInfo fcinfo, BookingShape shape);
static Datum cancel(FunctionCallInfo fcinfo, BookingRequest *request,
					Jsonb *evidence);
static void work(BookingCall *call, BookingRequest *request, Jsonb *evidence,
				 BookingResult *result);
static bool settled(const BookingRequest *request, const BookingView *view,
					BookingResult *result);
static void bury(BookingCall *call, const BookingRequest *request,
				 Jsonb *evidence, BookingResult *result);
static void end(BookingCall *call, const BookingRequest *request,
				const BookingIntent *intent, Jsonb *evidence,
				BookingResult *result);

/*
 * booking_cancel(tenant, principal, intent, evidence) returns booking_result
 *
 * End an intent by its identity alone.
 */
Datum
booking_cancel(PG_FUNCTION_ARGS)
{
	BookingRequest request = {0};

	booking_arg_identity(fcinfo, 0, &request.identity);
	return cancel(fcinfo, &request, booking_arg_evidence(fcinfo, 3));
}

/*
 * booking_cancel_exact(tenant, principal, intent, resource, during,
 * expected_version, units, terms, evidence) returns booking_result
 */
Datum
booking_cancel_exact(PG_FUNCTION_ARGS)
{
	return cancel_exact(fcinfo, BOOKING_SHAPE_RESOURCE);
}

/*
 * booking_cancel_exact_slot(tenant, principal, intent, resource, slot,
 * expected_version, units, terms, evidence) returns booking_result
 */
Datum
booking_cancel_exact_slot(PG_FUNCTION_ARGS)
{
	return cancel_exact(fcinfo, BOOKING_SHAPE_SLOT);
}

/*
 * booking_cancel_exact_all(tenant, principal, intent, resources, during,
 * expected_versions, units, terms, evidence) returns booking_result
 */
Datum
booking_cancel_exact_all(PG_FUNCTION_ARGS)
{
	return cancel_exact(fcinfo, BOOKING_SHAPE_ALL);
}

/*
 * The arguments that the exact forms share.
 */
static Datum
cancel_exact(FunctionCallInfo fcinfo, BookingShape shape)
{
	BookingRequest request = {0};
	BookingPayload payload;
	int			n;

	booking_arg_identity(fcinfo, 0, &request.identity);
	n = booking_payload_from_args(fcinfo, 3, shape, &payload);
	request.payload = &payload;
	return cancel(fcinfo, &request, booking_arg_evidence(fcinfo, n));
}

/*
 * One call.
 */
static Datum
cancel(FunctionCallInfo fcinfo, BookingRequest *request, Jsonb *evidence)
{
	BookingCall call;
	BookingResult result;

	booking_call_begin(&call, fcinfo, true);
	work(&call, request, evidence, &result);
	return booking_call_return(&call, &result);
}

/*
 * See cancel.h.
 */
void
booking_cancel_within(BookingCall *call, const BookingIdentity *identity,
					  Jsonb *evidence, BookingResult *result)
{
	BookingRequest request = {0};

	request.identity = *identity;
	work(call, &request, evidence, result);
}

/*
 * Read, lock, read again and write, within a call that has begun.  Freeing
 * units needs the share lock: rows must not be moved to other lanes meanwhile.
 */
static void
work(BookingCall *call, BookingRequest *request, Jsonb *evidence,
	 BookingResult *result)
{
	BookingView view = {0};

	do
	{
		booking_view_read(call, request, &view);
		if (settled(request, &view, result))
			return;
	} while (booking_view_lock(call, request, &view,
							   view.intent == NULL ? NoLock : ShareLock));

	if (view.intent == NULL)
		bury(call, request, evidence, result);
	else
		end(call, request, view.intent, evidence, result);
}

/*
 * Is the answer known without writing?
 */
static bool
settled(const BookingRequest *request, const BookingView *view,
		BookingResult *result)
{
	const BookingIntent *intent = view->intent;

	if (view->denied)
	{
		booking_decide(result, "denied", NULL);
		return true;
	}
	if (intent == NULL)
		return false;

	if (request->payload != NULL && intent->version > 0 &&
		!booking_payload_equal(&intent->payload, request->payload, false, NULL))
	{
		booking_decide_claim(result, intent, request->payload, false);
		return true;
	}

	switch (booking_state_of(intent->state))
	{
		case BOOKING_STATE_CANCELING:
		case BOOKING_STATE_CANCELED:
			booking_decide_replay(result, intent);
			return true;
		case BOOKING_STATE_CREATED:
			if (!booking_want_pending(intent->intent_id))
				return false;
			booking_decide_intent(result, intent, "predecessor_unresolved",
								  false);
			result->detail = booking_detail_reason("update_pending");
			return true;
		default:
			return false;
	}
}

/*
 * Leave a tombstone for an intent that nobody recorded.
 */
static void
bury(BookingCall *call, const BookingRequest *request, Jsonb *evidence,
	 BookingResult *result)
{
	BookingIntentRow row = {0};

	row.intent_id = booking_store_next_intent_id();
	row.version = request->payload != NULL ? 1 : 0;
	row.identity = &request->identity;
	row.payload = request->payload;
	row.disposition = "canceled";
	row.state = "canceled";
	row.evidence = evidence;
	row.role = call->role;
	row.now = call->now;
	booking_store_intent_record(&row);

	booking_decide_new(result, "canceled", "canceled", "not_required");
}

/*
 * End a recorded intent.  What it holds is freed at once if nothing may exist
 * at a provider; else it stays held until the provider has confirmed.
 */
static void
end(BookingCall *call, const BookingRequest *request,
	const BookingIntent *intent, Jsonb *evidence, BookingResult *result)
{
	BookingIntentChange change = {0};

	change.intent_id = intent->intent_id;
	change.disposition = "canceled";
	change.state = booking_want_cancel(call, intent);
	if (strcmp(change.state, "canceled") == 0)
		booking_store_reservation_delete(intent->intent_id);
	else if (booking_state_of(intent->state) == BOOKING_STATE_CREATED)
		change.remote = "not_attempted";
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	if (booking_state_of(intent->state) == BOOKING_STATE_PROPOSED)
		booking_store_proposal_decide(intent->intent_id, intent->version,
									  "canceled", NULL, call->role, NULL,
									  call->now);
	if (evidence != NULL)
		booking_store_audit("cancel", call->role, request->identity.tenant,
							request->identity.principal,
							request->identity.intent, NULL, evidence,
							call->now);
	booking_decide_mutation(result, intent, "canceled", change.state, NULL);
	if (change.remote != NULL)
		result->remote = cstring_to_text(change.remote);
}

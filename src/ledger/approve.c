/*-------------------------------------------------------------------------
 *
 * approve.c
 *	  booking_approve, booking_reject
 *
 * Only the newest version can be approved, and only if what it was bound to
 * still holds; then it is booked in the same transaction.  An expired hold is
 * no obstacle if the time is still free.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/approve.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/claim.h"
#include "ledger/count.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/drift.h"
#include "ledger/state.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_approve);
PG_FUNCTION_INFO_V1(booking_reject);

static void identity_from_args(FunctionCallInfo fcinfo, BookingRequest *request,
							   int32 *version);
static bool settled(const BookingView *view, int32 version,
					BookingResult *result);
static bool same_eyes(const BookingCall *call, const BookingRequest *request,
					  const BookingView *view);
static void approve(BookingCall *call, const BookingRequest *request,
					const BookingView *view, Jsonb *evidence,
					BookingResult *result);
static bool hold(const BookingRequest *request, const BookingView *view,
				 const BookingProposal *proposal, Jsonb **collision);
static void lapse(BookingCall *call, const BookingRequest *request,
				  const BookingView *view, const char *proposal_state,
				  text *reason, Jsonb *detail, BookingResult *result);
static void audit_decision(BookingCall *call, const BookingRequest *request,
						   const BookingIntent *intent, const char *action,
						   text *reason, Jsonb *evidence);

/*
 * booking_approve(tenant, approver, principal, intent, version, evidence)
 * returns booking_result
 */
Datum
booking_approve(PG_FUNCTION_ARGS)
{
	BookingRequest request = {0};
	int32		version;
	Jsonb	   *evidence;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;

	identity_from_args(fcinfo, &request, &version);
	evidence = booking_arg_evidence(fcinfo, 5);
	request.stored_predecessor = true;

	booking_call_begin(&call, fcinfo, true);
	do
	{
		booking_view_read(&call, &request, &view);
		if (settled(&view, version, &result))
			return booking_call_return(&call, &result);
		if (same_eyes(&call, &request, &view))
		{
			booking_decide(&result, "denied", NULL);
			return booking_call_return(&call, &result);
		}
		if (booking_decide_predecessor(&result, &view))
			return booking_call_return(&call, &result);
	} while (booking_view_lock(&call, &request, &view, ExclusiveLock));

	if (!booking_decide_predecessor(&result, &view))
		approve(&call, &request, &view, evidence, &result);
	return booking_call_return(&call, &result);
}

/*
 * booking_reject(tenant, approver, principal, intent, version, reason)
 * returns booking_result
 *
 * End the newest proposal and its hold.  The intent can be proposed again.
 */
Datum
booking_reject(PG_FUNCTION_ARGS)
{
	BookingRequest request = {0};
	int32		version;
	text	   *reason;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingDetail detail;

	identity_from_args(fcinfo, &request, &version);
	reason = booking_arg_reason(fcinfo, 5);
	request.approver_decides = true;

	booking_call_begin(&call, fcinfo, true);
	do
	{
		booking_view_read(&call, &request, &view);
		if (settled(&view, version, &result))
			return booking_call_return(&call, &result);
	} while (booking_view_lock(&call, &request, &view, ShareLock));

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "rejected");
	booking_detail_text(&detail, "rejection", reason);
	lapse(&call, &request, &view, "rejected", reason,
		  booking_detail_end(&detail), &result);
	audit_decision(&call, &request, view.intent, "reject", reason, NULL);
	return booking_call_return(&call, &result);
}

/*
 * The arguments that both functions begin with.
 */
static void
identity_from_args(FunctionCallInfo fcinfo, BookingRequest *request,
				   int32 *version)
{
	request->identity.tenant = booking_arg_label(fcinfo, 0, "tenant");
	request->approver = booking_arg_label(fcinfo, 1, "approver");
	request->identity.principal = booking_arg_label(fcinfo, 2, "principal");
	request->identity.intent = booking_arg_label(fcinfo, 3, "intent");
	*version = booking_arg_positive(fcinfo, 4, "version");
}

/*
 * Is the answer known without writing?  Only the newest version of a proposed
 * intent is open to a decision.
 */
static bool
settled(const BookingView *view, int32 version, BookingResult *result)
{
	const BookingIntent *intent = view->intent;

	if (view->denied)
	{
		booking_decide(result, "denied", NULL);
		return true;
	}
	if (intent == NULL)
	{
		booking_decide(result, "unknown_intent", NULL);
		return true;
	}

	switch (booking_state_of(intent->state))
	{
		case BOOKING_STATE_PROPOSED:
			if (version == intent->version)
				return false;
			booking_decide_stale(result, intent);
			return true;
		case BOOKING_STATE_CONFLICT:
		case BOOKING_STATE_CANCELING:
		case BOOKING_STATE_CANCELED:
			booking_decide_replay(result, intent);
			return true;
		case BOOKING_STATE_COMMITTED:
		case BOOKING_STATE_APPROVED:
		case BOOKING_STATE_CREATING:
		case BOOKING_STATE_CREATED:
		case BOOKING_STATE_UNKNOWN:
		case BOOKING_STATE_FAILED:
		case BOOKING_STATE_NEEDS_PROPOSAL:
			if (version == intent->version)
				booking_decide_replay(result, intent);
			else
				booking_decide_stale(result, intent);
			return true;
	}
	return false;				/* keep compiler quiet */
}

/*
 * Would the proposer approve, where the tenant wants four eyes?  Principals
 * must differ; the effective roles too where roles separate people, which is
 * so when several that may approve are bound to the tenant.
 */
static bool
same_eyes(const BookingCall *call, const BookingRequest *request,
		  const BookingView *view)
{
	const BookingIdentity *identity = &request->identity;
	BookingProposal *proposal;

	if (!booking_store_tenant_four_eyes(identity->tenant))
		return false;
	if (booking_text_compare(request->approver, identity->principal) == 0)
		return true;
	if (call->privileged ||
		booking_access_executing_roles(call, identity->tenant) < 2)
		return false;

	proposal = booking_store_proposal_read(view->intent->intent_id,
										   view->intent->version);
	return proposal != NULL &&
		booking_text_compare(proposal->proposed_role, call->role) == 0;
}

/*
 * Check again what the proposal is bound to, book it, and record the approval;
 * or record that it is no longer valid.
 */
static void
approve(BookingCall *call, const BookingRequest *request,
		const BookingView *view, Jsonb *evidence, BookingResult *result)
{
	const BookingIntent *intent = view->intent;
	BookingPayload current = intent->payload;
	BookingProposal *proposal;
	BookingIntentChange change = {0};
	Jsonb	   *drift;
	Jsonb	   *detail;

	proposal = booking_store_proposal_read(intent->intent_id, intent->version);
	if (proposal == NULL)
		elog(ERROR, "proposal vanished");
	detail = booking_decide_versions(view, &request->identity, &current, NULL);
	if (detail == NULL)
		detail = booking_decide_drift(view, proposal);
	if (detail != NULL)
	{
		lapse(call, request, view, "lapsed", cstring_to_text("inventory"),
			  detail, result);
		return;
	}

	drift = booking_drift_read(request->identity.tenant, proposal);
	if (!hold(request, view, proposal, &detail))
	{
		lapse(call, request, view, "lapsed", cstring_to_text("capacity"),
			  booking_drift_explain(detail, drift), result);
		return;
	}

	change.intent_id = intent->intent_id;
	change.disposition = "committed";
	change.state = booking_claim_state(view, &intent->payload);
	if (strcmp(change.state, "approved") == 0)
		change.remote = "not_attempted";
	change.receipt = intent->receipt == NULL ? booking_claim_receipt() : NULL;
	change.detail = drift;
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	booking_store_proposal_decide(intent->intent_id, intent->version,
								  "approved", request->approver, call->role,
								  NULL, call->now);
	booking_claim_follow(call, view, &request->identity, &intent->payload,
						 intent->intent_id);
	audit_decision(call, request, intent, "approve", NULL, evidence);

	booking_decide_mutation(result, intent, "committed", change.state, drift);
	if (change.remote != NULL)
		result->remote = cstring_to_text(change.remote);
	if (change.receipt != NULL)
		result->receipt = change.receipt;
}

/*
 * Hold what a proposal wants, unless calendars of attendees say something new.
 * Whatever comes of it, its own hold has ended.
 */
static bool
hold(const BookingRequest *request, const BookingView *view,
	 const BookingProposal *proposal, Jsonb **collision)
{
	const BookingIntent *intent = view->intent;

	booking_store_reservation_delete(intent->intent_id);
	*collision = booking_drift_overlap(request->identity.tenant, proposal,
									   intent->intent_id,
									   booking_view_predecessor_id(view));
	return *collision == NULL &&
		booking_claim_hold(view, &request->identity, &intent->payload,
						   intent->intent_id, ExclusiveLock, false, collision);
}

/*
 * End the newest proposal and its hold; the intent needs another one.
 */
static void
lapse(BookingCall *call, const BookingRequest *request,
	  const BookingView *view, const char *proposal_state, text *reason,
	  Jsonb *detail, BookingResult *result)
{
	const BookingIntent *intent = view->intent;
	BookingIntentChange change = {0};

	booking_store_reservation_delete(intent->intent_id);
	change.intent_id = intent->intent_id;
	change.disposition = "needs_proposal";
	change.state = "needs_proposal";
	change.detail = detail;
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	booking_store_proposal_decide(intent->intent_id, intent->version,
								  proposal_state, request->approver,
								  call->role, reason, call->now);
	if (strcmp(proposal_state, "lapsed") == 0)
		booking_count(BOOKING_COUNT_STALE, "approval", NULL);
	booking_decide_mutation(result, intent, "needs_proposal", "needs_proposal",
							detail);
}

/*
 * Record who decided.
 */
static void
audit_decision(BookingCall *call, const BookingRequest *request,
			   const BookingIntent *intent, const char *action, text *reason,
			   Jsonb *evidence)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "approver", request->approver);
	booking_detail_integer(&detail, "version", intent->version);
	booking_detail_text(&detail, "reason", reason);
	booking_store_audit(action, call->role, request->identity.tenant,
						request->identity.principal, request->identity.intent,
						booking_detail_end(&detail), evidence, call->now);
}

/*-------------------------------------------------------------------------
 *
 * propose.c
 *	  booking_propose, booking_propose_slot, booking_propose_all
 *
 * A proposal is a numbered, immutable payload bound to the resource versions
 * it was made from.  A hold keeps its units until it expires; it needs no job
 * to have run, because whoever wants the time removes expired holds.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/propose.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "guc.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/count.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/drift.h"
#include "ledger/propose.h"
#include "ledger/state.h"
#include "ledger/terms.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_propose);
PG_FUNCTION_INFO_V1(booking_propose_slot);
PG_FUNCTION_INFO_V1(booking_propose_all);

/* a proposal under way */
typedef struct Propose
{
	BookingRequest request;
	BookingPayload payload;
	int64		hold_for;		/* microseconds, 0 none */
	int32		after_version;	/* -1: none named */
	Jsonb	   *evidence;
} Propose;

static Datum propose(FunctionCallInfo fcinfo, BookingShape shape);
static bool settled(const Propose *propose, const BookingView *view,
					BookingResult *result);
static bool settled_open(const Propose *propose, const BookingIntent *intent,
						 BookingResult *result);
static LOCKMODE lock_mode(const Propose *propose, const BookingView *view);
static BookingProposal *decide(BookingCall *call, Propose *propose,
							   const BookingView *view, LOCKMODE mode,
							   BookingResult *result);
static Jsonb *snapshot(const BookingView *view, text *tenant,
					   const BookingPayload *payload, int64 slot_version,
					   int64 intent_id);
static Datum return_proposal(BookingCall *call, const BookingResult *result,
							 const BookingProposal *proposal, int32 version);

/*
 * booking_propose(tenant, principal, intent, resource, during,
 * expected_version, units, terms, supersedes, hold_for, after_version,
 * evidence) returns booking_proposal
 */
Datum
booking_propose(PG_FUNCTION_ARGS)
{
	return propose(fcinfo, BOOKING_SHAPE_RESOURCE);
}

/*
 * booking_propose_slot(tenant, principal, intent, resource, slot,
 * expected_version, units, terms, supersedes, hold_for, after_version,
 * evidence) returns booking_proposal
 */
Datum
booking_propose_slot(PG_FUNCTION_ARGS)
{
	return propose(fcinfo, BOOKING_SHAPE_SLOT);
}

/*
 * booking_propose_all(tenant, principal, intent, resources, during,
 * expected_versions, units, terms, supersedes, hold_for, after_version,
 * evidence) returns booking_proposal
 */
Datum
booking_propose_all(PG_FUNCTION_ARGS)
{
	return propose(fcinfo, BOOKING_SHAPE_ALL);
}

/*
 * Record a payload as the next version of its intent, new or known, under the
 * intent's lock.  The hold, if any, is the caller's to have made.
 */
BookingProposal *
booking_propose_record(const BookingCall *call, const BookingRequest *request,
					   const BookingView *view, const BookingPayload *payload,
					   int64 slot_version, const TimestampTz *hold_until,
					   int64 intent_id, Jsonb *evidence)
{
	BookingProposal *proposal = palloc0_object(BookingProposal);
	const char *disposition = hold_until != NULL ? "held" : "proposed";

	proposal->version = view->intent != NULL ? view->intent->version + 1 : 1;
	proposal->held = hold_until != NULL;
	proposal->expires_at = hold_until != NULL ? *hold_until : 0;
	proposal->snapshot = snapshot(view, request->identity.tenant, payload,
								  slot_version, intent_id);
	proposal->proposed_role = call->role;
	proposal->payload = *payload;

	if (view->intent != NULL)
	{
		booking_propose_keep(call, view->intent);
		booking_store_proposal_decide(intent_id, view->intent->version,
									  "displaced", NULL, call->role, NULL,
									  call->now);
		booking_store_proposal_displace(intent_id, view->intent->version);
		booking_store_intent_repropose(intent_id, proposal->version, payload,
									   disposition, call->role, call->now);
	}
	else
	{
		BookingIntentRow row = {0};

		row.intent_id = intent_id;
		row.version = proposal->version;
		row.identity = &request->identity;
		row.payload = payload;
		row.disposition = disposition;
		row.state = "proposed";
		row.evidence = evidence;
		row.role = call->role;
		row.now = call->now;
		booking_store_intent_record(&row);
	}
	booking_store_proposal_insert(intent_id, proposal, evidence, call->now);
	return proposal;
}

/*
 * A payload that was claimed directly stands in its intent alone.  Before the
 * next version takes that place, or is asked for, keep it as the version it
 * was, so that a late retry of it is still known.
 */
void
booking_propose_keep(const BookingCall *call, const BookingIntent *intent)
{
	BookingProposal claimed = {0};

	if (booking_store_proposal_read(intent->intent_id, intent->version) != NULL)
		return;
	claimed.version = intent->version;
	claimed.snapshot = booking_detail_empty();
	claimed.proposed_role = call->role;
	claimed.payload = intent->payload;
	booking_store_proposal_insert(intent->intent_id, &claimed, NULL, call->now);
}

/*
 * Read, lock, read again, decide and write.
 */
static Datum
propose(FunctionCallInfo fcinfo, BookingShape shape)
{
	Propose		this;
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingProposal *proposal;
	LOCKMODE	mode;
	int			n;

	memset(&this, 0, sizeof(this));
	booking_arg_identity(fcinfo, 0, &this.request.identity);
	n = booking_payload_from_args(fcinfo, 3, shape, &this.payload);
	this.payload.supersedes = booking_arg_supersedes(fcinfo, n,
													 this.request.identity.intent);
	if (!PG_ARGISNULL(n + 1))
		this.hold_for = booking_arg_fixed_interval(fcinfo, n + 1, "hold_for",
												   1, BOOKING_LONGEST_INTERVAL);
	this.after_version = PG_ARGISNULL(n + 2) ? -1 : PG_GETARG_INT32(n + 2);
	if (!PG_ARGISNULL(n + 2) && this.after_version < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be negative",
						"after_version"),
				 errhint("Name the version that the proposal follows, 0 for the first.")));
	this.evidence = booking_arg_evidence(fcinfo, n + 3);
	this.request.payload = &this.payload;

	booking_call_begin(&call, fcinfo, true);
	do
	{
		booking_view_read(&call, &this.request, &view);
		if (settled(&this, &view, &result))
		{
			proposal = view.intent == NULL || view.denied ? NULL :
				booking_store_proposal_read(view.intent->intent_id,
											view.intent->version);
			return return_proposal(&call, &result, proposal,
								   view.intent == NULL || view.denied ? 0 :
								   view.intent->version);
		}
		mode = lock_mode(&this, &view);
	} while (booking_view_lock(&call, &this.request, &view, mode));

	booking_terms_check_calendar(this.payload.terms, this.request.identity.tenant,
								 booking_view_resource(&view, this.payload.resources[0])->calendar);
	proposal = booking_decide_predecessor(&result, &view) ? NULL :
		decide(&call, &this, &view, mode, &result);
	return return_proposal(&call, &result, proposal,
						   view.intent != NULL ? view.intent->version : 0);
}

/*
 * Is the answer known without writing?
 */
static bool
settled(const Propose *propose, const BookingView *view, BookingResult *result)
{
	const BookingIntent *intent = view->intent;

	if (view->denied)
	{
		booking_decide(result, "denied", NULL);
		return true;
	}

	if (intent == NULL)
	{
		if (propose->after_version > 0)
		{
			booking_decide(result, "unknown_intent", NULL);
			return true;
		}
		return booking_decide_predecessor(result, view);
	}

	switch (booking_state_of(intent->state))
	{
		case BOOKING_STATE_PROPOSED:
		case BOOKING_STATE_FAILED:
		case BOOKING_STATE_NEEDS_PROPOSAL:
			return settled_open(propose, intent, result) ||
				booking_decide_predecessor(result, view);
		case BOOKING_STATE_COMMITTED:
		case BOOKING_STATE_APPROVED:
		case BOOKING_STATE_CREATING:
		case BOOKING_STATE_CREATED:
		case BOOKING_STATE_UNKNOWN:
			booking_decide_claim(result, intent, &propose->payload, true);
			return true;
		case BOOKING_STATE_CONFLICT:
		case BOOKING_STATE_CANCELING:
		case BOOKING_STATE_CANCELED:
			booking_decide_replay(result, intent);
			return true;
	}
	return false;				/* keep compiler quiet */
}

/*
 * The same for an intent that takes further versions.  Equal values repeat the
 * newest version; with after_version naming that one they make the next.
 */
static bool
settled_open(const Propose *propose, const BookingIntent *intent,
			 BookingResult *result)
{
	bool		equal;

	if (propose->after_version == intent->version)
		return false;

	equal = booking_payload_equal(&intent->payload, &propose->payload, true,
								  NULL);
	if (equal && (propose->after_version < 0 ||
				  propose->after_version == intent->version - 1))
	{
		booking_decide_replay(result, intent);
		return true;
	}
	if (propose->after_version >= 0)
	{
		booking_decide_stale(result, intent);
		return true;
	}
	return false;
}

/*
 * How the resources have to be locked.
 */
static LOCKMODE
lock_mode(const Propose *propose, const BookingView *view)
{
	if (view->intent != NULL)
		return ExclusiveLock;
	if (propose->hold_for == 0)
		return ShareLock;
	return booking_capacity_lock_mode(booking_view_payload_resources(view,
																	 &propose->payload),
									  propose->payload.nresources);
}

/*
 * Decide under the locks, and record a version unless it could not be
 * approved as things are.
 */
static BookingProposal *
decide(BookingCall *call, Propose *propose, const BookingView *view,
	   LOCKMODE mode, BookingResult *result)
{
	BookingPayload *payload = &propose->payload;
	const BookingIdentity *identity = &propose->request.identity;
	int64		intent_id = view->intent != NULL ? view->intent->intent_id :
		booking_store_next_intent_id();
	int64		slot_version = 0;
	TimestampTz hold_until = 0;
	bool		hold = propose->hold_for > 0;
	Jsonb	   *detail;
	BookingProposal *proposal;

	detail = booking_decide_versions(view, identity, payload, &slot_version);
	if (detail != NULL)
	{
		booking_decide_refusal(result, view->intent, "inventory_conflict", detail);
		return NULL;
	}
	detail = booking_decide_units(view, payload);
	if (detail != NULL)
	{
		booking_decide_refusal(result, view->intent, "resource_conflict", detail);
		return NULL;
	}

	if (hold)
	{
		BookingWish wish = {identity->tenant, intent_id, identity};

		hold_until = booking_call_hold_clock() +
			Min(propose->hold_for, booking_max_hold * USECS_PER_SEC);
		wish.nresources = payload->nresources;
		wish.resources = booking_view_payload_resources(view, payload);
		wish.start = payload->start;
		wish.end = payload->end;
		wish.units = payload->units;
		wish.hold_until = &hold_until;
		wish.replaces = view->intent != NULL ? intent_id : 0;
		wish.predecessor = booking_view_predecessor_id(view);
		wish.mode = mode;
		if (!booking_capacity_reserve(&wish, &detail))
		{
			booking_decide_refusal(result, view->intent, "resource_conflict",
								   detail);
			return NULL;
		}
	}
	else if (view->intent != NULL)
		booking_store_reservation_delete(intent_id);

	proposal = booking_propose_record(call, &propose->request, view, payload,
									  slot_version, hold ? &hold_until : NULL,
									  intent_id, propose->evidence);
	booking_decide(result, hold ? "held" : "proposed", NULL);
	result->state = cstring_to_text("proposed");
	return proposal;
}

/*
 * What a proposal was made from: the versions of its resources, and of its
 * slot, and how far the calendars that matter were read.
 */
static Jsonb *
snapshot(const BookingView *view, text *tenant, const BookingPayload *payload,
		 int64 slot_version, int64 intent_id)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_object(&detail, "resources");
	for (int i = 0; i < payload->nresources; i++)
	{
		const BookingResource *resource =
			booking_view_resource(view, payload->resources[i]);

		booking_detail_integer(&detail, text_to_cstring(resource->name),
							   resource->version);
	}
	booking_detail_object_end(&detail);
	if (payload->slot != NULL)
		booking_detail_integer(&detail, "slot", slot_version);
	booking_drift_snapshot(&detail, tenant, payload, intent_id,
						   booking_view_predecessor_id(view));
	return booking_detail_end(&detail);
}

/*
 * End the call with a booking_proposal.  version is used when there is no
 * proposal; 0 is none.
 */
static Datum
return_proposal(BookingCall *call, const BookingResult *result,
				const BookingProposal *proposal, int32 version)
{
	Datum		values[7] = {0};
	bool		nulls[7] = {0};

	if (proposal != NULL)
		version = proposal->version;
	values[0] = CStringGetTextDatum(result->disposition);
	values[1] = Int32GetDatum(version);
	nulls[1] = version == 0;
	values[2] = PointerGetDatum(result->state);
	nulls[2] = result->state == NULL;
	nulls[3] = proposal == NULL;
	nulls[4] = proposal == NULL || !proposal->held;
	if (proposal != NULL)
	{
		values[3] = PointerGetDatum(proposal->snapshot);
		values[4] = TimestampTzGetDatum(proposal->expires_at);
	}
	values[5] = BoolGetDatum(result->replayed);
	values[6] = PointerGetDatum(result->detail != NULL ? result->detail :
								booking_detail_empty());
	booking_count_answer(result->disposition, result->replayed);
	return booking_call_return_row(call, values, nulls);
}

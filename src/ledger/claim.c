/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  booking_claim, booking_claim_slot, booking_claim_all, booking_override
 *
 * One intent gets one recorded result: committed, or one of the two conflicts,
 * which stand as firmly as a booking.  With four eyes a claim is recorded as
 * the first proposal instead.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/claim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/claim.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/propose.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_claim);
PG_FUNCTION_INFO_V1(booking_claim_slot);
PG_FUNCTION_INFO_V1(booking_claim_all);
PG_FUNCTION_INFO_V1(booking_override);

/* a claim under way */
typedef struct Claim
{
	BookingRequest request;
	BookingPayload payload;
	Jsonb	   *evidence;
	text	   *override_reason;	/* NULL: within the capacity */
} Claim;

static Datum claim_from_args(FunctionCallInfo fcinfo, BookingShape shape);
static Datum claim(FunctionCallInfo fcinfo, Claim *claim);
static void decide(BookingCall *call, Claim *claim, const BookingView *view,
				   LOCKMODE mode, BookingResult *result);
static void record(BookingCall *call, const Claim *claim, int64 intent_id,
				   const char *disposition, const char *state, Jsonb *detail,
				   BookingResult *result);
static void audit_override(const BookingCall *call, const Claim *claim);
static LOCKMODE lock_mode(const Claim *claim, const BookingView *view);

/*
 * booking_claim(tenant, principal, intent, resource, during, expected_version,
 * units, terms, supersedes, evidence) returns booking_result
 *
 * Book units of a resource over during, once per intent.
 */
Datum
booking_claim(PG_FUNCTION_ARGS)
{
	return claim_from_args(fcinfo, BOOKING_SHAPE_RESOURCE);
}

/*
 * booking_claim_slot(tenant, principal, intent, resource, slot,
 * expected_version, units, terms, supersedes, evidence) returns booking_result
 *
 * Book units of a slot, whose interval and version are read under the lock.
 */
Datum
booking_claim_slot(PG_FUNCTION_ARGS)
{
	return claim_from_args(fcinfo, BOOKING_SHAPE_SLOT);
}

/*
 * booking_claim_all(tenant, principal, intent, resources, during,
 * expected_versions, units, terms, supersedes, evidence) returns
 * booking_result
 *
 * Book units of every resource over during, or of none.
 */
Datum
booking_claim_all(PG_FUNCTION_ARGS)
{
	return claim_from_args(fcinfo, BOOKING_SHAPE_ALL);
}

/*
 * booking_override(tenant, principal, intent, resource, during, units, terms,
 * reason) returns booking_result
 *
 * Book beyond the capacity on purpose.  EXECUTE on this function is the
 * privilege it needs.
 */
Datum
booking_override(PG_FUNCTION_ARGS)
{
	Claim		override;

	memset(&override, 0, sizeof(override));
	booking_arg_identity(fcinfo, 0, &override.request.identity);
	override.payload.nresources = 1;
	override.payload.resources = palloc_object(text *);
	override.payload.resources[0] = booking_arg_label(fcinfo, 3, "resource");
	override.payload.has_during = true;
	booking_arg_during(fcinfo, 4, "during", &override.payload.start,
					   &override.payload.end);
	override.payload.units = booking_arg_positive(fcinfo, 5, "units");
	if (override.payload.units > BOOKING_MAX_CAPACITY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", "units"),
				 errhint("Give at most %d units.", BOOKING_MAX_CAPACITY)));
	override.payload.terms = booking_arg_terms(fcinfo, 6);
	override.override_reason = booking_arg_reason(fcinfo, 7);
	return claim(fcinfo, &override);
}

/*
 * An opaque receipt, without personal data and not to be guessed.
 */
text *
booking_claim_receipt(void)
{
	char		random[16];
	char		receipt[6 + 2 * sizeof(random)] = "local:";

	if (!pg_strong_random(random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	hex_encode(random, sizeof(random), receipt + 6);
	return cstring_to_text_with_len(receipt, sizeof(receipt));
}

/*
 * End the superseded intent, whose rows have been replaced.
 */
void
booking_claim_end_predecessor(const BookingCall *call,
							  const BookingIntent *predecessor,
							  text *successor)
{
	BookingIntentChange change = {0};
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "superseded");
	booking_detail_text(&detail, "successor", successor);

	change.intent_id = predecessor->intent_id;
	change.disposition = "canceled";
	change.state = "canceled";
	change.successor = successor;
	change.detail = booking_detail_end(&detail);
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	booking_store_proposal_decide(predecessor->intent_id, predecessor->version,
								  "canceled", NULL, call->role, NULL, call->now);
}

/*
 * The arguments that the three claims share.
 */
static Datum
claim_from_args(FunctionCallInfo fcinfo, BookingShape shape)
{
	Claim		this;
	int			n;

	memset(&this, 0, sizeof(this));
	booking_arg_identity(fcinfo, 0, &this.request.identity);
	n = booking_payload_from_args(fcinfo, 3, shape, &this.payload);
	this.payload.supersedes = booking_arg_supersedes(fcinfo, n,
													 this.request.identity.intent);
	this.evidence = booking_arg_evidence(fcinfo, n + 1);
	return claim(fcinfo, &this);
}

/*
 * Read, lock, read again, decide and write.
 */
static Datum
claim(FunctionCallInfo fcinfo, Claim *claim)
{
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	LOCKMODE	mode;

	claim->request.payload = &claim->payload;
	booking_call_begin(&call, fcinfo, true);
	do
	{
		booking_view_read(&call, &claim->request, &view);
		if (view.denied)
		{
			booking_decide(&result, "denied", NULL);
			return booking_call_return(&call, &result);
		}
		if (view.intent != NULL)
		{
			booking_decide_claim(&result, view.intent, &claim->payload, true);
			return booking_call_return(&call, &result);
		}
		if (booking_decide_predecessor(&result, &view))
			return booking_call_return(&call, &result);
		mode = lock_mode(claim, &view);
	} while (booking_view_lock(&call, &claim->request, &view, mode));

	if (!booking_decide_predecessor(&result, &view))
		decide(&call, claim, &view, mode, &result);
	return booking_call_return(&call, &result);
}

/*
 * Decide a new intent under the locks, and record the decision.
 */
static void
decide(BookingCall *call, Claim *claim, const BookingView *view,
	   LOCKMODE mode, BookingResult *result)
{
	BookingPayload *payload = &claim->payload;
	const BookingIdentity *identity = &claim->request.identity;
	int64		intent_id = booking_store_next_intent_id();
	int64		slot_version = 0;
	Jsonb	   *detail;
	BookingWish wish = {0};

	detail = booking_decide_versions(view, identity, payload, &slot_version);
	if (detail != NULL)
	{
		record(call, claim, intent_id, "inventory_conflict", "conflict",
			   detail, result);
		return;
	}

	if (claim->override_reason == NULL &&
		booking_store_tenant_four_eyes(identity->tenant))
	{
		detail = booking_decide_units(view, payload);
		if (detail != NULL)
			record(call, claim, intent_id, "resource_conflict", "conflict",
				   detail, result);
		else
		{
			booking_propose_record(call, &claim->request, view, payload,
								   slot_version, NULL, intent_id,
								   claim->evidence);
			booking_decide_new(result, "proposed", "proposed");
		}
		return;
	}

	wish.tenant = identity->tenant;
	wish.intent_id = intent_id;
	wish.nresources = payload->nresources;
	wish.resources = booking_view_payload_resources(view, payload);
	wish.start = payload->start;
	wish.end = payload->end;
	wish.units = payload->units;
	wish.override = claim->override_reason != NULL;
	wish.replaces = view->predecessor != NULL ? view->predecessor->intent_id : 0;
	wish.mode = mode;
	if (!booking_capacity_reserve(&wish, &detail))
	{
		record(call, claim, intent_id, "resource_conflict", "conflict",
			   detail, result);
		return;
	}

	record(call, claim, intent_id, "committed", "committed", NULL, result);
	if (view->predecessor != NULL)
		booking_claim_end_predecessor(call, view->predecessor, identity->intent);
	if (claim->override_reason != NULL)
		audit_override(call, claim);
}

/*
 * Record who went beyond the capacity, and why.
 */
static void
audit_override(const BookingCall *call, const Claim *claim)
{
	const BookingIdentity *identity = &claim->request.identity;
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "resource", claim->payload.resources[0]);
	booking_detail_integer(&detail, "units", claim->payload.units);
	booking_detail_text(&detail, "reason", claim->override_reason);
	booking_store_audit("override", call->role, identity->tenant,
						identity->principal, identity->intent,
						booking_detail_end(&detail), NULL, call->now);
}

/*
 * Write the intent's row and say what it says.
 */
static void
record(BookingCall *call, const Claim *claim, int64 intent_id,
	   const char *disposition, const char *state, Jsonb *detail,
	   BookingResult *result)
{
	BookingIntentRow row = {0};

	row.intent_id = intent_id;
	row.version = 1;
	row.identity = &claim->request.identity;
	row.payload = &claim->payload;
	row.disposition = disposition;
	row.state = state;
	row.receipt = strcmp(state, "committed") == 0 ? booking_claim_receipt() : NULL;
	row.override_reason = claim->override_reason;
	row.detail = detail;
	row.evidence = claim->evidence;
	row.role = call->role;
	row.now = call->now;
	booking_store_intent_insert(&row);

	booking_decide_new(result, disposition, state);
	result->detail = detail;
	result->receipt = row.receipt;
}

/*
 * How the resources have to be locked.
 */
static LOCKMODE
lock_mode(const Claim *claim, const BookingView *view)
{
	if (claim->override_reason != NULL || view->predecessor != NULL)
		return ExclusiveLock;
	return booking_capacity_lock_mode(booking_view_payload_resources(view,
																	 &claim->payload),
									  claim->payload.nresources);
}

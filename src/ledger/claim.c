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
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/claim.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/drift.h"
#include "ledger/propose.h"
#include "ledger/state.h"
#include "ledger/terms.h"
#include "ledger/want.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_claim);
PG_FUNCTION_INFO_V1(booking_claim_slot);
PG_FUNCTION_INFO_V1(booking_claim_all);
PG_FUNCTION_INFO_V1(booking_override);

/* bytes of chance in a receipt */
#define RECEIPT_RANDOM 16

/* a claim under way */
typedef struct Claim
{
	BookingRequest request;
	BookingPayload payload;
	Jsonb	   *evidence;
	text	   *override_reason;	/* NULL: within the capacity */
	int			overtaken;		/* times an insert found the intent recorded */
} Claim;

static Datum claim_from_args(FunctionCallInfo fcinfo, BookingShape shape);
static Datum claim(FunctionCallInfo fcinfo, Claim *claim);
static void work(BookingCall *call, Claim *claim, BookingResult *result);
static bool settled(const Claim *claim, const BookingView *view,
					BookingResult *result);
static bool may_let_insert_decide(const Claim *claim);
static bool decide(BookingCall *call, Claim *claim, const BookingView *view,
				   LOCKMODE mode, BookingResult *result);
static bool overtaken(Claim *claim);
static bool record(BookingCall *call, Claim *claim, int64 intent_id,
				   const char *disposition, const char *state, Jsonb *detail,
				   BookingResult *result);
static void audit_override(const BookingCall *call, const Claim *claim);
static bool needs_statements(const BookingView *view, LOCKMODE mode);
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
 * An opaque receipt, without personal data and not to be guessed.  Random bytes
 * are asked for in stock, which is never inherited from another process, and
 * forgotten with their use.
 */
text *
booking_claim_receipt(void)
{
	static char stock[RECEIPT_RANDOM * 64];
	static int	left = 0;
	static int	owner = 0;
	char		receipt[6 + 2 * RECEIPT_RANDOM] = "local:";

	if (owner != MyProcPid || left == 0)
	{
		left = 0;
		if (!pg_strong_random(stock, sizeof(stock)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		owner = MyProcPid;
		left = sizeof(stock);
	}
	left -= RECEIPT_RANDOM;
	hex_encode(stock + left, RECEIPT_RANDOM, receipt + 6);
	memset(stock + left, 0, RECEIPT_RANDOM);
	return cstring_to_text_with_len(receipt, sizeof(receipt));
}

/*
 * Hold the units of a payload under the locks, or explain in collision why
 * not.  The rows of a predecessor give way; but while its event exists at a
 * provider its time is real, and is held beside until the event has moved.
 */
bool
booking_claim_hold(const BookingView *view, const BookingIdentity *identity,
				   const BookingPayload *payload, int64 intent_id,
				   LOCKMODE mode, bool override, Jsonb **collision)
{
	const BookingIntent *predecessor = view->predecessor;
	BookingWish wish = {0};

	wish.tenant = identity->tenant;
	wish.intent_id = intent_id;
	wish.identity = identity;
	wish.nresources = payload->nresources;
	wish.resources = booking_view_payload_resources(view, payload);
	wish.start = payload->start;
	wish.end = payload->end;
	wish.units = payload->units;
	wish.override = override;
	wish.predecessor = booking_view_predecessor_id(view);
	wish.mode = mode;

	if (predecessor != NULL &&
		booking_state_of(predecessor->state) == BOOKING_STATE_CREATED)
	{
		if (booking_want_same_calendar(predecessor->intent_id,
									   wish.resources[0]->calendar))
			return booking_capacity_reserve_beside(&wish,
												   predecessor->intent_id,
												   collision);
	}
	else if (predecessor != NULL)
		wish.replaces = predecessor->intent_id;
	return booking_capacity_reserve(&wish, collision);
}

/*
 * State of a booking at first: its first resource has a calendar, or not.
 */
const char *
booking_claim_state(const BookingView *view, const BookingPayload *payload)
{
	return booking_view_resource(view, payload->resources[0])->calendar != NULL ?
		"approved" : "committed";
}

/*
 * After a booking was recorded: want its event, and settle its predecessor.
 * The event of a predecessor in the same calendar becomes this one's; one in
 * another calendar is deleted when this one's exists.
 */
void
booking_claim_follow(const BookingCall *call, const BookingView *view,
					 const BookingIdentity *identity,
					 const BookingPayload *payload, int64 intent_id)
{
	const BookingIntent *predecessor = view->predecessor;
	text	   *calendar = booking_view_resource(view, payload->resources[0])->calendar;

	booking_terms_check_calendar(payload->terms, identity->tenant, calendar);
	if (predecessor != NULL && calendar != NULL &&
		booking_state_of(predecessor->state) == BOOKING_STATE_CREATED)
	{
		if (!booking_want_update(call, intent_id, predecessor->intent_id,
								 calendar))
			booking_want_create(call, identity, intent_id, calendar);
	}
	else
	{
		if (predecessor != NULL)
			booking_claim_end_predecessor(call, predecessor, identity->intent,
										  booking_want_cancel(call, predecessor));
		if (calendar != NULL)
			booking_want_create(call, identity, intent_id, calendar);
	}
	if (calendar != NULL)
		booking_drift_note_known(identity->tenant, payload, intent_id,
								 booking_view_predecessor_id(view));
}

/*
 * End the superseded intent in the state given, canceled or canceling.
 */
void
booking_claim_end_predecessor(const BookingCall *call,
							  const BookingIntent *predecessor,
							  text *successor, const char *state)
{
	BookingIntentChange change = {0};
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "superseded");
	booking_detail_text(&detail, "successor", successor);

	change.intent_id = predecessor->intent_id;
	change.disposition = "canceled";
	change.state = state;
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
 * One call.
 */
static Datum
claim(FunctionCallInfo fcinfo, Claim *claim)
{
	BookingCall call;
	BookingResult result;

	booking_call_begin(&call, fcinfo, true);
	work(&call, claim, &result);
	return booking_call_return(&call, &result);
}

/*
 * See claim.h.
 */
void
booking_claim_within(BookingCall *call, const BookingIdentity *identity,
					 const BookingPayload *payload, Jsonb *evidence,
					 BookingResult *result)
{
	Claim		this;

	memset(&this, 0, sizeof(this));
	this.request.identity = *identity;
	this.payload = *payload;
	this.evidence = evidence;
	work(call, &this, result);
}

/*
 * Read, lock, read again, decide and write, within a call that has begun.
 */
static void
work(BookingCall *call, Claim *claim, BookingResult *result)
{
	BookingView view = {0};
	LOCKMODE	mode;

	claim->request.payload = &claim->payload;
	do
	{
		do
		{
			booking_view_read(call, &claim->request, &view);
			if (settled(claim, &view, result))
				return;
			mode = lock_mode(claim, &view);
			if (needs_statements(&view, mode))
				booking_call_pin(call);
			claim->request.intent_absent = may_let_insert_decide(claim);
		} while (booking_view_lock(call, &claim->request, &view, mode));
	} while (!booking_decide_predecessor(result, &view) &&
			 !decide(call, claim, &view, mode, result));
}

/*
 * Is the answer known without writing?
 */
static bool
settled(const Claim *claim, const BookingView *view, BookingResult *result)
{
	if (view->denied)
	{
		booking_decide(result, "denied", NULL);
		return true;
	}
	if (view->intent != NULL)
	{
		booking_decide_claim(result, view->intent, &claim->payload, true);
		return true;
	}
	return booking_decide_predecessor(result, view);
}

/*
 * Once an intent was found absent, reading again under the lock can be left to
 * the insert, which finds a row that came in between: that is the cheaper way
 * to notice what is rare.  Not when more than this intent is at stake, and not
 * after the insert did find one.
 */
static bool
may_let_insert_decide(const Claim *claim)
{
	return claim->overtaken == 0 && claim->payload.supersedes == NULL &&
		!booking_store_tenant_four_eyes(claim->request.identity.tenant);
}

/*
 * Decide a new intent under the locks, and record the decision.  Returns false
 * when the intent turns out to be known: then everything is read again.
 */
static bool
decide(BookingCall *call, Claim *claim, const BookingView *view,
	   LOCKMODE mode, BookingResult *result)
{
	BookingPayload *payload = &claim->payload;
	const BookingIdentity *identity = &claim->request.identity;
	int64		intent_id = booking_store_next_intent_id();
	int64		slot_version = 0;
	Jsonb	   *detail;

	detail = booking_decide_versions(view, identity, payload, &slot_version);
	if (detail != NULL)
		return record(call, claim, intent_id, "inventory_conflict", "conflict",
					  detail, result);

	if (claim->override_reason == NULL &&
		booking_store_tenant_four_eyes(identity->tenant))
	{
		if (!view->intent_read)
			return overtaken(claim);
		detail = booking_decide_units(view, payload);
		if (detail != NULL)
			return record(call, claim, intent_id, "resource_conflict",
						  "conflict", detail, result);
		booking_propose_record(call, &claim->request, view, payload,
							   slot_version, NULL, intent_id, claim->evidence);
		booking_decide_new(result, "proposed", "proposed", "not_required");
		return true;
	}

	if (!booking_claim_hold(view, identity, payload, intent_id, mode,
							claim->override_reason != NULL, &detail))
		return record(call, claim, intent_id, "resource_conflict", "conflict",
					  detail, result);

	if (!record(call, claim, intent_id, "committed",
				booking_claim_state(view, payload), NULL, result))
		return false;
	booking_claim_follow(call, view, identity, payload, intent_id);
	if (claim->override_reason != NULL)
		audit_override(call, claim);
	return true;
}

/*
 * The intent was recorded by another call since it was read: read it again,
 * this time under the lock.  A row that can neither be read nor written again
 * and again is kept away by something else.
 */
static bool
overtaken(Claim *claim)
{
	if (++claim->overtaken >= BOOKING_MAX_REFUSALS)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not record the intent"),
				 errhint("Look for a trigger or rule on booking.intent that suppresses its rows.")));
	claim->request.intent_absent = false;
	return false;
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
 * Write the intent's row and say what it says.  Returns false, with nothing
 * held, when the intent is known.
 */
static bool
record(BookingCall *call, Claim *claim, int64 intent_id,
	   const char *disposition, const char *state, Jsonb *detail,
	   BookingResult *result)
{
	BookingIntentRow row = {0};
	const char *remote = strcmp(state, "approved") == 0 ? "not_attempted" :
		"not_required";

	row.intent_id = intent_id;
	row.remote = remote;
	row.version = 1;
	row.identity = &claim->request.identity;
	row.payload = &claim->payload;
	row.disposition = disposition;
	row.state = state;
	row.receipt = strcmp(disposition, "committed") == 0 ? booking_claim_receipt() : NULL;
	row.override_reason = claim->override_reason;
	row.detail = detail;
	row.evidence = claim->evidence;
	row.role = call->role;
	row.now = call->now;
	if (!booking_store_intent_insert(&row))
	{
		booking_store_reservation_delete(intent_id);
		return overtaken(claim);
	}

	booking_decide_new(result, disposition, state, remote);
	result->detail = detail;
	result->receipt = row.receipt;
	return true;
}

/*
 * Will a claim run statements?  One of a resource of one unit, without any
 * calendar, finds and writes its rows without.
 */
static bool
needs_statements(const BookingView *view, LOCKMODE mode)
{
	return mode != ShareLock || view->resources[0].calendar != NULL ||
		view->resources[0].nbusy > 0;
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

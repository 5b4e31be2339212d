/*-------------------------------------------------------------------------
 *
 * decide.c
 *	  answers that follow from what is recorded
 *
 * The rows of the state machine that need no writing: what a repeated call is
 * told, and what stands in the way of a new one.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/decide.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "compat.h"
#include "ledger/capacity.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/state.h"
#include "ledger/want.h"
#include "store/store.h"

static bool equals_older_version(const BookingIntent *intent,
								 const BookingPayload *payload);
static bool hold_lives(const BookingIntent *intent);

/*
 * An answer about no recorded intent; detail may be NULL.
 */
void
booking_decide(BookingResult *result, const char *disposition, Jsonb *detail)
{
	memset(result, 0, sizeof(*result));
	result->disposition = disposition;
	result->detail = detail;
}

/*
 * An answer about an intent that was recorded just now.
 */
void
booking_decide_new(BookingResult *result, const char *disposition,
				   const char *state, const char *remote)
{
	booking_decide(result, disposition, NULL);
	result->state = cstring_to_text(state);
	result->remote = cstring_to_text(remote);
	result->event = cstring_to_text("none");
}

/*
 * An answer that changes nothing; of an intent that is known, NULL if not, it
 * tells the state.
 */
void
booking_decide_refusal(BookingResult *result, const BookingIntent *intent,
					   const char *disposition, Jsonb *detail)
{
	booking_decide(result, disposition, detail);
	if (intent != NULL)
	{
		result->state = intent->state;
		result->remote = intent->remote;
		result->event = intent->event;
	}
}

/*
 * An answer with everything that is recorded of an intent.
 */
void
booking_decide_intent(BookingResult *result, const BookingIntent *intent,
					  const char *disposition, bool replayed)
{
	result->disposition = disposition;
	result->state = intent->state;
	result->remote = intent->remote;
	result->event = intent->event;
	result->receipt = intent->receipt;
	result->replayed = replayed;
	result->detail = intent->detail;
	if (result->detail == NULL && intent->payload.digest != NULL)
	{
		BookingDetail detail;

		booking_detail_begin(&detail);
		booking_detail_flag(&detail, "purged");
		result->detail = booking_detail_end(&detail);
	}
}

/*
 * What the same claim is told: the recorded result.
 */
void
booking_decide_replay(BookingResult *result, const BookingIntent *intent)
{
	const char *disposition = NULL;

	switch (booking_state_of(intent->state))
	{
		case BOOKING_STATE_PROPOSED:
			disposition = hold_lives(intent) ? "held" : "proposed";
			break;
		case BOOKING_STATE_COMMITTED:
		case BOOKING_STATE_APPROVED:
		case BOOKING_STATE_CREATING:
		case BOOKING_STATE_CREATED:
		case BOOKING_STATE_UNKNOWN:
			disposition = "historical_retry";
			break;
		case BOOKING_STATE_FAILED:
			disposition = "failed";
			break;
		case BOOKING_STATE_NEEDS_PROPOSAL:
			disposition = "needs_proposal";
			break;
		case BOOKING_STATE_CONFLICT:
			disposition = text_to_cstring(intent->disposition);
			break;
		case BOOKING_STATE_CANCELING:
		case BOOKING_STATE_CANCELED:
			disposition = "canceled";
			break;
	}
	booking_decide_intent(result, intent, disposition, true);
}

/*
 * What a claim of some values is told about a recorded intent.  Of other
 * values only the names of the fields that differ are told, and no receipt,
 * which is the other values'.
 */
void
booking_decide_claim(BookingResult *result, const BookingIntent *intent,
					 const BookingPayload *payload, bool with_supersedes)
{
	BookingDifference difference;
	BookingDetail detail;

	/* an exact cancel cannot say what the claim it forestalls supersedes */
	if (booking_state_of(intent->state) == BOOKING_STATE_CANCELED &&
		intent->revision == 1)
		with_supersedes = false;

	/* a tombstone known by identity alone answers every claim */
	if (intent->version == 0 ||
		booking_payload_equal(&intent->payload, payload, with_supersedes,
							  &difference))
	{
		booking_decide_replay(result, intent);
		return;
	}
	if (equals_older_version(intent, payload))
	{
		booking_decide_stale(result, intent);
		return;
	}

	booking_decide_intent(result, intent, "intent_conflict", false);
	result->receipt = NULL;
	booking_detail_begin(&detail);
	booking_detail_words(&detail, "fields", difference.fields,
						 difference.count);
	result->detail = booking_detail_end(&detail);
}

/*
 * Does the superseded intent stand in the way?  If so, the answer is in
 * result; to be asked before locking and again after it.  That it is unknown
 * is only certain under its lock.  One that is canceled, or was superseded
 * before, is never replaced by a plain claim: two concurrent reschedules must
 * not make two meetings.
 */
bool
booking_decide_predecessor(BookingResult *result, const BookingView *view)
{
	BookingDetail detail;
	const BookingIntent *predecessor = view->predecessor;

	if (view->predecessor_name == NULL)
		return false;
	if (view->predecessor_denied)
	{
		booking_decide(result, "denied", NULL);
		return true;
	}

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "supersedes", view->predecessor_name);
	if (predecessor == NULL && !view->locked)
		return false;			/* it may be on its way */
	if (predecessor == NULL)
	{
		booking_decide_refusal(result, view->intent, "unknown_intent",
							   booking_detail_end(&detail));
		return true;
	}

	switch (booking_state_of(predecessor->state))
	{
		case BOOKING_STATE_PROPOSED:
		case BOOKING_STATE_APPROVED:
		case BOOKING_STATE_COMMITTED:
		case BOOKING_STATE_CONFLICT:
		case BOOKING_STATE_FAILED:
		case BOOKING_STATE_NEEDS_PROPOSAL:
			return false;
		case BOOKING_STATE_CREATED:
			/* whose time is gone cannot be moved */
			if (predecessor->payload.digest == NULL &&
				!booking_want_pending(predecessor->intent_id))
				return false;
			break;
		case BOOKING_STATE_CREATING:
		case BOOKING_STATE_UNKNOWN:
		case BOOKING_STATE_CANCELING:
		case BOOKING_STATE_CANCELED:
			break;
	}
	booking_detail_text(&detail, "predecessor_state", predecessor->state);
	booking_detail_text(&detail, "successor", predecessor->successor);
	booking_decide_refusal(result, view->intent, "predecessor_unresolved",
						   booking_detail_end(&detail));
	return true;
}

/*
 * Compare the versions a payload demands with the present ones, under the
 * locks, and give a slot's payload its interval.  Returns NULL if all are
 * right, else what is not.  slot_version may be NULL.
 */
Jsonb *
booking_decide_versions(const BookingView *view,
						const BookingIdentity *identity,
						BookingPayload *payload, int64 *slot_version)
{
	BookingDetail detail;
	int64		present = 0;

	booking_detail_begin(&detail);
	if (payload->slot != NULL)
	{
		payload->has_during = booking_store_slot_read(identity->tenant,
													  payload->resources[0],
													  payload->slot,
													  &payload->start,
													  &payload->end, &present);
		if (slot_version != NULL)
			*slot_version = present;
		if (!payload->has_during)
		{
			booking_detail_word(&detail, "reason", "unknown_slot");
			booking_detail_text(&detail, "resource", payload->resources[0]);
			booking_detail_text(&detail, "slot", payload->slot);
			return booking_detail_end(&detail);
		}
	}

	for (int i = 0; payload->versions != NULL && i < payload->nresources; i++)
	{
		if (payload->slot == NULL)
			present = booking_view_resource(view, payload->resources[i])->version;
		if (payload->versions[i] == present)
			continue;
		booking_detail_word(&detail, "reason", "version");
		booking_detail_text(&detail, "resource", payload->resources[i]);
		booking_detail_text(&detail, "slot", payload->slot);
		booking_detail_integer(&detail, "expected_version",
							   payload->versions[i]);
		booking_detail_integer(&detail, "present_version", present);
		return booking_detail_end(&detail);
	}
	return NULL;
}

/*
 * Compare the resource versions in a proposal's snapshot with the present
 * ones, under the locks.  Returns NULL if all are the same, else the first
 * that is not.
 */
Jsonb *
booking_decide_drift(const BookingView *view, const BookingProposal *proposal)
{
	JsonbValue	versions;

	if (getKeyJsonValueFromContainer(&proposal->snapshot->root, "resources", 9,
									 &versions) == NULL ||
		versions.type != jbvBinary)
		elog(ERROR, "proposal has no resource versions");

	for (int i = 0; i < proposal->payload.nresources; i++)
	{
		const text *name = proposal->payload.resources[i];
		int64		present = booking_view_resource(view, name)->version;
		JsonbValue	version;
		BookingDetail detail;
		int64		proposed = 0;

		if (getKeyJsonValueFromContainer(versions.val.binary.data,
										 VARDATA_ANY(name),
										 VARSIZE_ANY_EXHDR(name),
										 &version) != NULL &&
			version.type == jbvNumeric)
		{
			Datum		number = NumericGetDatum(version.val.numeric);

			proposed = DatumGetInt64(DirectFunctionCall1(numeric_int8, number));
		}
		if (proposed == present)
			continue;
		booking_detail_begin(&detail);
		booking_detail_word(&detail, "reason", "version");
		booking_detail_text(&detail, "resource", name);
		booking_detail_integer(&detail, "proposed_version", proposed);
		booking_detail_integer(&detail, "present_version", present);
		return booking_detail_end(&detail);
	}
	return NULL;
}

/*
 * Does a payload want more units than some resource has?  NULL if not, else
 * the explanation.
 */
Jsonb *
booking_decide_units(const BookingView *view, const BookingPayload *payload)
{
	for (int i = 0; i < payload->nresources; i++)
	{
		const BookingResource *resource =
			booking_view_resource(view, payload->resources[i]);

		if (payload->units > resource->capacity)
			return booking_capacity_exceeded(resource, payload->units);
	}
	return NULL;
}

/*
 * The answer to a proposal, or to values, that a newer version displaced.
 */
void
booking_decide_stale(BookingResult *result, const BookingIntent *intent)
{
	BookingDetail detail;

	booking_decide_intent(result, intent, "stale_proposal", false);
	booking_detail_begin(&detail);
	booking_detail_integer(&detail, "version", intent->version);
	result->detail = booking_detail_end(&detail);
}

/*
 * The answer after a change of an intent's state; intent holds what was
 * recorded before it.
 */
void
booking_decide_mutation(BookingResult *result, const BookingIntent *intent,
						const char *disposition, const char *state,
						Jsonb *detail)
{
	booking_decide_intent(result, intent, disposition, false);
	result->state = cstring_to_text(state);
	result->detail = detail;
}

/*
 * Are these the values of an earlier version of a repaired intent?
 */
static bool
equals_older_version(const BookingIntent *intent,
					 const BookingPayload *payload)
{
	ListCell   *cell;

	if (intent->version < 2)
		return false;
	foreach(cell, booking_store_proposals_before(intent->intent_id,
												 intent->version))
	{
		BookingProposal *older = lfirst(cell);

		if (booking_payload_equal(&older->payload, payload, true, NULL))
			return true;
	}
	return false;
}

/*
 * Does the newest proposal of an intent hold its units now?
 */
static bool
hold_lives(const BookingIntent *intent)
{
	BookingProposal *proposal = booking_store_proposal_read(intent->intent_id,
															intent->version);

	return proposal != NULL && proposal->held &&
		proposal->expires_at > booking_call_hold_clock();
}

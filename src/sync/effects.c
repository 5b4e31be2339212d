/*-------------------------------------------------------------------------
 *
 * effects.c
 *	  what a calendar says of events of ours
 *
 * Called in the transaction that stored what was read, so a fact is never lost
 * between the two.  Facts of one part of a round come in the order in which
 * they were found: an object that was read anew is first gone and then there.
 *
 * IDENTIFICATION
 *	  booking/src/sync/effects.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ledger/lock.h"
#include "sync/effects.h"

static bool is_present(const BookingEventFacts *facts, int64 intent_id);
static bool is_first(const BookingEventFacts *facts, int place);

/*
 * Record what is known of the events of intents.  A caller may hold the lock of
 * an intent for as long as its transaction; it is not waited for, but what was
 * read is applied again a little later.
 */
void
booking_effects_apply(BookingCall *call, const BookingRound *round,
					  const BookingEventFacts *facts)
{
	for (int i = 0; i < facts->count; i++)
	{
		int64		intent_id = facts->facts[i].intent_id;
		BookingIdentity identity;
		text	   *known;
		const char *event;

		if (!is_first(facts, i) ||
			!booking_store_event_intent(intent_id, &identity, &known))
			continue;
		event = is_present(facts, intent_id) ? "present" : "absent";
		if (booking_text_is(known, event))
			continue;
		if (!booking_lock_intent_try(&identity))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("an intent of the calendar is locked")));
		booking_store_event_note(intent_id, event, call->role, call->now);
	}
}

/*
 * Is an event of the intent there, by these facts?
 */
static bool
is_present(const BookingEventFacts *facts, int64 intent_id)
{
	for (int i = facts->count - 1; i >= 0; i--)
	{
		if (facts->facts[i].intent_id == intent_id && facts->facts[i].present)
			return true;
	}
	return false;
}

/*
 * Is this the first fact about its intent?
 */
static bool
is_first(const BookingEventFacts *facts, int place)
{
	for (int i = 0; i < place; i++)
	{
		if (facts->facts[i].intent_id == facts->facts[place].intent_id)
			return false;
	}
	return true;
}

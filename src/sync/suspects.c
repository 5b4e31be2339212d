/*-------------------------------------------------------------------------
 *
 * suspects.c
 *	  events of ours that a listing does not show any more
 *
 * A listing may be wrong: of another collection, cut by a proxy, empty because
 * the calendar is not shared any more.  So what it does not show, or says is
 * gone, is under suspicion only, and the provider is asked about each event by
 * its identity before a booking ends for it.  Here is decided who is asked
 * about; the controller asks, outside of any transaction (see proof.c), and
 * effects.c judges by what was said.
 *
 * Nothing of this is kept in the database but the mark of the event, which
 * remains until its absence is proven: the next round asks again.
 *
 * IDENTIFICATION
 *	  booking/src/sync/suspects.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "ledger/state.h"
#include "store/effect.h"
#include "store/store.h"
#include "sync/suspects.h"

/*
 * More events than this, and more than half of all that a calendar has of ours,
 * do not go at a time but by a person who clears it, or by a fault.
 */
#define MANY 10

/* memory for the names of those in hand: a path has 8 kB at most */
#define NAMES_LIMIT (1024 * 1024)

static void add_suspect(BookingRound *round, int64 intent_id);
static bool needs_proof(const BookingRound *round, const BookingIntent *intent,
						const BookingSubject *subject);

/*
 * All that the listing says is gone is marked: begin with nobody in hand.
 */
void
booking_suspects_begin(BookingRound *round)
{
	BookingSuspects *suspects = round->suspects;

	suspects->count = 0;
	suspects->nasked = 0;
	suspects->nabsent = 0;
	suspects->capped = false;
	suspects->stopped[0] = '\0';
	suspects->vouched = false;
	suspects->doubted = false;
	suspects->many = booking_store_effects_many_gone(round->calendar_id, MANY);
}

/*
 * Take these intents, at most BOOKING_SUSPECTS, in hand; true if the provider
 * has to be asked about any of them.  No lock is taken: whoever judges looks
 * again.
 */
bool
booking_suspects_next(BookingRound *round, const int64 *intent_ids, int count)
{
	BookingSuspects *suspects = round->suspects;
	bool		asks = false;

	booking_arena_free(suspects->arena);
	suspects->arena = booking_arena_create(NAMES_LIMIT);
	suspects->count = 0;
	for (int i = 0; i < count; i++)
	{
		add_suspect(round, intent_ids[i]);
		asks |= suspects->items[i].event_id != NULL;
	}
	return asks;
}

/*
 * Add one of those in hand.
 */
static void
add_suspect(BookingRound *round, int64 intent_id)
{
	BookingSuspects *suspects = round->suspects;
	BookingSuspect *suspect = &suspects->items[suspects->count++];
	BookingIdentity identity;
	BookingIntent *intent = booking_store_intent_by_id(intent_id, &identity);
	BookingSubject subject;

	memset(suspect, 0, sizeof(*suspect));
	suspect->intent_id = intent_id;
	if (intent == NULL)
		return;
	booking_store_subject(intent_id, round->calendar_id, &subject);
	if (!needs_proof(round, intent, &subject))
		return;
	suspect->event_id = booking_arena_copy(suspects->arena, subject.event_id,
										   strlen(subject.event_id));
	if (subject.href != NULL)
		suspect->href = booking_arena_copy(suspects->arena, subject.href,
										   strlen(subject.href));
	if (suspect->event_id == NULL || booking_arena_failed(suspects->arena))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
}

/*
 * Would the booking end if the event is not there?
 */
static bool
needs_proof(const BookingRound *round, const BookingIntent *intent,
			const BookingSubject *subject)
{
	BookingState state = booking_state_of(intent->state);
	BookingOwnEvent event;
	TimestampTz start = subject->moved ? subject->start : intent->payload.start;

	if (!subject->here || subject->round >= round->round ||
		(state != BOOKING_STATE_CREATED && state != BOOKING_STATE_CANCELING))
		return false;
	return !booking_store_own_event(round->calendar_id, intent->intent_id,
									intent->payload.start, start, &event);
}

/*
 * What was said of an intent's event; NULL if nobody was asked about it.
 */
const BookingSuspect *
booking_suspects_find(const BookingRound *round, int64 intent_id)
{
	const BookingSuspects *suspects = round->suspects;

	for (int i = 0; i < suspects->count; i++)
	{
		const BookingSuspect *suspect = &suspects->items[i];

		if (suspect->intent_id == intent_id && suspect->event_id != NULL)
			return suspect;
	}
	return NULL;
}

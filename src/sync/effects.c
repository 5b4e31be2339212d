/*-------------------------------------------------------------------------
 *
 * effects.c
 *	  what becomes of bookings whose events others changed
 *
 * Judged at the end of a round, when all that it found is stored: an event that
 * was renamed is there under its other name by then, and one that was listed as
 * removed and as changed is what it was last.  The work is done in transactions
 * of a few intents each, under the locks of those intents and then of their
 * resources, in their order.  A caller may hold one for as long as its
 * transaction; then the next round looks again.
 *
 * That a listing does not show an event proves nothing: before a booking ends
 * for that, the provider has said of this one event that it is not there (see
 * suspects.c).
 *
 * Only what is settled is judged: while an operation of the event is on its
 * way, the worker that sends it learns what is there, and decides.  What the
 * round read before an operation succeeded is older than its event, and what it
 * read later is not; which it was is not known, so the next round judges.
 *
 * IDENTIFICATION
 *	  booking/src/sync/effects.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/capacity.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "store/effect.h"
#include "store/operation.h"
#include "store/store.h"
#include "sync/effects.h"
#include "sync/suspects.h"

/* intents in one transaction */
#define BATCH_SIZE 50

/* an intent, locked */
typedef struct Case
{
	BookingIdentity identity;
	BookingIntent *intent;
	BookingSubject subject;
	TimestampTz start;			/* the time its event should have */
	TimestampTz end;
	int			nresources;
	BookingResource *resources;
	bool		locked;			/* they too */
} Case;

static BookingRoundStep settle_gone(BookingCall *call, BookingRound *round);
static void work_on(BookingCall *call, const BookingRound *round,
					const int64 *ids, int count);
static bool open_case(const BookingRound *round, int64 intent_id, Case *item);
static void lock_resources(const BookingRound *round, Case *cases, int count);
static int64 next_resource(const Case *cases, int count, int64 last);
static bool needs_resource(const Case *item, int64 resource_id);
static void judge(BookingCall *call, const BookingRound *round,
				  const Case *item);
static void judge_created(BookingCall *call, const BookingRound *round,
						  const Case *item);
static void judge_canceling(BookingCall *call, const BookingRound *round,
							const Case *item);
static bool find_event(const BookingRound *round, const Case *item,
					   BookingOwnEvent *event);
static bool is_gone(BookingCall *call, const BookingRound *round,
					const Case *item);
static void judge_event(BookingCall *call, const BookingRound *round,
						const Case *item, const BookingOwnEvent *event);
static void judge_series(BookingCall *call, const BookingRound *round,
						 const Case *item, const BookingOwnEvent *event);
static void judge_time(BookingCall *call, const BookingRound *round,
					   const Case *item, const BookingOwnEvent *event);
static bool follow(const Case *item, const BookingOwnEvent *event,
				   Jsonb **collision);
static void dispute(BookingCall *call, const BookingRound *round,
					const Case *item, const BookingOwnEvent *event,
					Jsonb *detail);
static void end_intent(BookingCall *call, const Case *item, Jsonb *detail);
static void note_present(BookingCall *call, const Case *item,
						 const BookingOwnEvent *event);

/*
 * Work on what a round found of events of ours, as much as one transaction may
 * do.
 */
BookingRoundStep
booking_effects_settle(BookingCall *call, BookingRound *round)
{
	int64	   *ids;
	int			count;

	if (!round->gone_judged)
	{
		BookingRoundStep step = settle_gone(call, round);

		if (step != BOOKING_ROUND_OVER)
			return step;
	}
	ids = booking_store_effects_there(round->calendar_id, round->round,
									  round->judged, BATCH_SIZE, &count);
	if (count > 0)
	{
		work_on(call, round, ids, count);
		round->judged = ids[count - 1];
		round->impatient = false;
		return BOOKING_ROUND_GOES_ON;
	}
	booking_store_conflicts_of_round(round->calendar_id, round->round, call->now);
	return BOOKING_ROUND_OVER;
}

/*
 * Work on events of ours that are said to be gone: take some in hand, have the
 * provider asked about those that a booking depends on, and judge them.
 */
static BookingRoundStep
settle_gone(BookingCall *call, BookingRound *round)
{
	int64		ids[BOOKING_SUSPECTS];
	int			count;

	if (!round->gone_noted)
	{
		if (round->whole)
			booking_store_effects_unseen(round->calendar_id, round->round,
										 round->provider->lists_window,
										 round->from, round->until);
		else
			booking_store_effects_never_seen(round->calendar_id, round->round,
											 round->provider->lists_window,
											 round->from, round->until);
		booking_suspects_begin(round);
		round->judged = PG_INT64_MIN;
		round->gone_noted = true;
	}
	if (!round->gone_in_hand)
	{
		int64	   *found = booking_store_effects_gone(round->calendar_id,
													   round->round, round->judged,
													   BOOKING_SUSPECTS, &count,
													   &round->in_hand);

		if (count == 0)
		{
			booking_store_effects_resume(round->calendar_id, round->round);
			round->gone_judged = true;
			round->judged = 0;
			return BOOKING_ROUND_OVER;
		}
		round->gone_in_hand = true;
		if (booking_suspects_next(round, found, count))
			return BOOKING_ROUND_ASKS;
	}
	count = round->suspects->count;
	for (int i = 0; i < count; i++)
		ids[i] = round->suspects->items[i].intent_id;
	work_on(call, round, ids, count);
	round->judged = round->in_hand;
	round->gone_in_hand = false;
	round->impatient = false;
	return BOOKING_ROUND_GOES_ON;
}
/*
 * Judge some intents of one tenant.  All locks are taken before anything is
 * written, resources in the order of their numbers.
 */
static void
work_on(BookingCall *call, const BookingRound *round, const int64 *ids,
		int count)
{
	Case	   *cases = palloc0_array(Case, count);
	int			ncases = 0;

	for (int i = 0; i < count; i++)
	{
		if (open_case(round, ids[i], &cases[ncases]))
			ncases++;
	}
	if (ncases == 0)
		return;
	lock_resources(round, cases, ncases);
	for (int i = 0; i < ncases; i++)
	{
		if (cases[i].locked)
			judge(call, round, &cases[i]);
		else
			booking_store_effects_again(round->calendar_id, round->round,
										cases[i].intent->intent_id);
	}
}

/*
 * Lock an intent and read what is needed to judge it; false if somebody has
 * its lock.
 */
static bool
open_case(const BookingRound *round, int64 intent_id, Case *item)
{
	if (booking_store_intent_by_id(intent_id, &item->identity) == NULL)
		return false;
	if (!booking_lock_intent_try(&item->identity))
	{
		booking_store_effects_again(round->calendar_id, round->round, intent_id);
		return false;
	}
	item->intent = booking_store_intent_by_id(intent_id, &item->identity);
	item->locked = true;
	booking_store_subject(intent_id, round->calendar_id, &item->subject);
	item->start = item->subject.moved ? item->subject.start :
		item->intent->payload.start;
	item->end = item->subject.moved ? item->subject.end :
		item->intent->payload.end;
	return true;
}

/*
 * Lock the resources of all intents, which are of one tenant.  Somebody may
 * hold one for as long as a transaction: if this has been waited for in vain
 * before, the intents that need it are left for the next round.
 */
static void
lock_resources(const BookingRound *round, Case *cases, int count)
{
	int64		last = 0;

	for (int i = 0; i < count; i++)
	{
		const BookingPayload *payload = &cases[i].intent->payload;

		cases[i].resources =
			booking_store_resources_read(cases[i].identity.tenant,
										 payload->resources,
										 payload->nresources,
										 &cases[i].nresources);
	}
	for (;;)
	{
		int64		next = next_resource(cases, count, last);

		if (next == PG_INT64_MAX)
			return;
		last = next;
		if (!round->impatient)
			booking_lock_resource(next, ExclusiveLock);
		else if (!booking_lock_resource_try(next, ExclusiveLock))
		{
			for (int i = 0; i < count; i++)
				cases[i].locked &= !needs_resource(&cases[i], next);
		}
	}
}

/*
 * The lowest number of a resource above another one.
 */
static int64
next_resource(const Case *cases, int count, int64 last)
{
	int64		next = PG_INT64_MAX;

	for (int i = 0; i < count; i++)
	{
		for (int j = 0; j < cases[i].nresources; j++)
		{
			if (cases[i].resources[j].resource_id > last)
				next = Min(next, cases[i].resources[j].resource_id);
		}
	}
	return next;
}

/*
 * Does an intent hold a resource?
 */
static bool
needs_resource(const Case *item, int64 resource_id)
{
	for (int i = 0; i < item->nresources; i++)
	{
		if (item->resources[i].resource_id == resource_id)
			return true;
	}
	return false;
}

/*
 * Judge what a calendar says of an intent's event.
 */
static void
judge(BookingCall *call, const BookingRound *round, const Case *item)
{
	if (!item->subject.here)
	{
		/* a copy that others made in another calendar */
		booking_store_effects_delete_gone(round->calendar_id,
										  item->intent->intent_id);
		return;
	}
	if (item->subject.round >= round->round)
	{
		booking_store_effects_again(round->calendar_id, round->round,
									item->intent->intent_id);
		return;
	}
	switch (booking_state_of(item->intent->state))
	{
		case BOOKING_STATE_CREATED:
			judge_created(call, round, item);
			break;

		case BOOKING_STATE_CANCELING:
			judge_canceling(call, round, item);
			break;

			/* the operation finds out */
		case BOOKING_STATE_APPROVED:
		case BOOKING_STATE_CREATING:
		case BOOKING_STATE_UNKNOWN:
			break;

		case BOOKING_STATE_PROPOSED:
		case BOOKING_STATE_COMMITTED:
		case BOOKING_STATE_CONFLICT:
		case BOOKING_STATE_FAILED:
		case BOOKING_STATE_NEEDS_PROPOSAL:
		case BOOKING_STATE_CANCELED:
			booking_store_effects_delete_gone(round->calendar_id,
											  item->intent->intent_id);
			break;
	}
}

/*
 * The event of a booking that stands: deleted by others, or changed.
 */
static void
judge_created(BookingCall *call, const BookingRound *round, const Case *item)
{
	BookingOwnEvent event;

	/* an update on its way to a successor finds out */
	if (item->subject.followed || strcmp(item->subject.state, "confirmed") != 0)
		return;
	if (find_event(round, item, &event))
		judge_event(call, round, item, &event);
	else if (is_gone(call, round, item))
		end_intent(call, item, booking_detail_reason("deleted_at_provider"));
	else
		return;
	booking_store_effects_delete_gone(round->calendar_id,
									  item->intent->intent_id);
}

/*
 * The event of a booking that is being canceled is gone: that is all that was
 * wanted.  A cancel that is being sent finds out by itself; one that waits, for
 * its time or for a person, has nothing left to do.
 */
static void
judge_canceling(BookingCall *call, const BookingRound *round, const Case *item)
{
	BookingOwnEvent event;
	BookingOperation *operation;
	BookingOperationChange change = {0};

	if (strcmp(item->subject.kind, "cancel") != 0 ||
		(strcmp(item->subject.state, "waiting") != 0 &&
		 strcmp(item->subject.state, "unknown") != 0 &&
		 strcmp(item->subject.state, "parked") != 0) ||
		find_event(round, item, &event) || !is_gone(call, round, item))
		return;
	operation = booking_store_operation_read(item->subject.operation_id);
	change.operation_id = operation->operation_id;
	change.from = operation->state;
	change.state = "confirmed";
	change.next_at = call->now;
	change.epoch = operation->epoch;
	change.tries = operation->tries;
	change.uncertain = operation->uncertain;
	change.now = call->now;
	if (!booking_store_operation_change(&change))
		return;
	end_intent(call, item, item->intent->detail);
	booking_store_effects_delete_gone(round->calendar_id,
									  item->intent->intent_id);
}

/*
 * What the calendar shows of an intent's event; false if it is gone.
 */
static bool
find_event(const BookingRound *round, const Case *item, BookingOwnEvent *event)
{
	return booking_store_own_event(round->calendar_id, item->intent->intent_id,
								   item->intent->payload.start, item->start,
								   event);
}

/*
 * Is it proven that an event is gone which the calendar does not show?  If it is
 * not, people are told, and its mark stays, so that the next round asks again.
 */
static bool
is_gone(BookingCall *call, const BookingRound *round, const Case *item)
{
	const BookingSuspect *suspect =
		booking_suspects_find(round, item->intent->intent_id);
	BookingConflict conflict = {"missing"};

	if (suspect != NULL && suspect->absent)
		return true;

	/* not among those that were to be asked about, or too many of them were */
	if (suspect == NULL || suspect->doubt[0] == '\0')
		return false;
	round->suspects->doubted |= round->suspects->many;
	conflict.intent_id = item->intent->intent_id;
	conflict.calendar_id = round->calendar_id;
	conflict.tenant = item->identity.tenant;
	if (item->subject.href != NULL)
		conflict.object = cstring_to_text(item->subject.href);
	conflict.during = booking_range_make(item->start, item->end);
	conflict.detail = booking_detail_reason(suspect->doubt);
	booking_store_conflict_open(&conflict, call->now);
	return false;
}

/*
 * The event is there.  What stands for the booking is the event, or, when
 * somebody made it repeat, the occurrence at the booking's time.
 */
static void
judge_event(BookingCall *call, const BookingRound *round, const Case *item,
			const BookingOwnEvent *event)
{
	note_present(call, item, event);
	if (event->unreadable)
		return;
	if (!event->concrete || (event->recurring && !event->has_time))
		judge_series(call, round, item, event);
	else if (event->canceled)
		end_intent(call, item, booking_detail_reason("canceled_at_provider"));
	else if (event->has_time)
		judge_time(call, round, item, event);
}

/*
 * A series without an occurrence at the booking's time.  If it has none at all
 * where there should be one, the booking was called off; with others there is
 * no telling whether the booking's was moved or left out.
 */
static void
judge_series(BookingCall *call, const BookingRound *round, const Case *item,
			 const BookingOwnEvent *event)
{
	if (item->start < round->from || item->end > round->until)
		return;
	if (event->has_time)
		dispute(call, round, item, event,
				booking_detail_reason("no_such_occurrence"));
	else
		end_intent(call, item, booking_detail_reason("canceled_at_provider"));
}

/*
 * What is held follows the time of the event if that is free.
 */
static void
judge_time(BookingCall *call, const BookingRound *round, const Case *item,
		   const BookingOwnEvent *event)
{
	const BookingPayload *payload = &item->intent->payload;
	bool		back = event->start == payload->start &&
		event->end == payload->end;
	Jsonb	   *collision = NULL;

	if (event->start != item->start || event->end != item->end)
	{
		if (!follow(item, event, &collision))
		{
			dispute(call, round, item, event, collision);
			return;
		}
		booking_store_operation_follow(item->subject.operation_id, event->object,
									   back ? NULL :
									   booking_range_make(event->start, event->end));
		booking_store_intent_moved(item->intent->intent_id, event->start,
								   call->role, call->now);
	}
	booking_store_conflict_resolve(item->intent->intent_id, "moved", call->now);
}

/*
 * Hold the time that the event has now, with the buffers that the resources
 * have now, instead of what is held; false, with the reason, if it is not free.
 */
static bool
follow(const Case *item, const BookingOwnEvent *event, Jsonb **collision)
{
	const BookingPayload *payload = &item->intent->payload;
	BookingWish wish = {0};
	BookingResource *resources;
	bool		in_range = true;

	/* again, since they may have changed until they were locked */
	resources = booking_store_resources_read(item->identity.tenant,
											 payload->resources,
											 payload->nresources,
											 &wish.nresources);
	wish.resources = palloc_array(const BookingResource *, wish.nresources + 1);
	for (int i = 0; i < wish.nresources; i++)
	{
		wish.resources[i] = &resources[i];
		in_range &= event->start - resources[i].buffer_before >= BOOKING_FIRST_INSTANT &&
			event->end + resources[i].buffer_after < BOOKING_INSTANT_LIMIT;
	}
	*collision = booking_detail_reason(event->all_day ? "all_day" : "out_of_range");
	if (event->all_day || !in_range || event->start >= event->end)
		return false;

	wish.tenant = item->identity.tenant;
	wish.intent_id = item->intent->intent_id;
	wish.start = event->start;
	wish.end = event->end;
	wish.units = payload->units;
	wish.override = item->subject.override;
	wish.replaces = item->intent->intent_id;
	wish.mode = ExclusiveLock;
	return booking_capacity_reserve(&wish, collision);
}

/*
 * Calendar and ledger do not agree: what is held stays, and people are told.
 */
static void
dispute(BookingCall *call, const BookingRound *round, const Case *item,
		const BookingOwnEvent *event, Jsonb *detail)
{
	BookingConflict conflict = {"moved"};

	conflict.intent_id = item->intent->intent_id;
	conflict.calendar_id = round->calendar_id;
	conflict.tenant = item->identity.tenant;
	conflict.object = event->object;
	if (event->start < event->end)
		conflict.during = booking_range_make(event->start, event->end);
	conflict.detail = detail;
	booking_store_conflict_open(&conflict, call->now);
}

/*
 * The booking was called off in the calendar: it is canceled, and holds
 * nothing.
 */
static void
end_intent(BookingCall *call, const Case *item, Jsonb *detail)
{
	BookingIntentChange change = {0};

	booking_store_reservation_delete(item->intent->intent_id);
	change.intent_id = item->intent->intent_id;
	change.disposition = "canceled";
	change.state = "canceled";
	change.remote = "confirmed";
	change.event = "absent";
	change.detail = detail;
	change.role = call->role;
	change.now = call->now;
	booking_store_intent_change(&change);
	booking_store_conflicts_end(item->intent->intent_id, call->now);
}

/*
 * The event is there, perhaps under another name.  Its version is not taken
 * over: what is written next is judged by the version that we left, so that
 * the adapter looks at what others wrote before it writes over it.
 */
static void
note_present(BookingCall *call, const Case *item, const BookingOwnEvent *event)
{
	const BookingSubject *subject = &item->subject;

	if (subject->href == NULL || !booking_text_is(event->object, subject->href))
		booking_store_operation_follow(subject->operation_id, event->object,
									   subject->moved ?
									   booking_range_make(subject->start,
														  subject->end) : NULL);
	if (!booking_text_is(item->intent->event, "present"))
	{
		BookingIntentChange change = {0};

		change.intent_id = item->intent->intent_id;
		change.disposition = "committed";
		change.state = "created";
		change.event = "present";
		change.detail = item->intent->detail;
		change.role = call->role;
		change.now = call->now;
		booking_store_intent_change(&change);
	}
}

/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  bringing what a delivery says about through the ledger
 *
 * Deliveries come in any order and more than once.  What they add up to does
 * not depend on it:
 *
 *	- a cancel ends a booking for ever, whatever its version, also one that
 *	  nobody has heard of yet;
 *	- of creations and changes the newest version counts; one of the same
 *	  version changes nothing;
 *	- whoever says that it came from another booking ends that one, also when
 *	  it has itself ended meanwhile;
 *	- a cancel that is half of a reschedule leaves the units where they are
 *	  until the other half comes, or the time for that is over.
 *
 * The values of an intent never change, so a booking that is altered under the
 * same id becomes another intent, which supersedes the first.
 *
 * Where the sender writes its bookings to the calendar of the resource by itself,
 * claiming them would be the second word about the same: what is told is then
 * only a reason to read that calendar.
 *
 * Everything happens in a subtransaction, which is given up as a whole where
 * the ledger does not let it be brought about; the delivery stays stored.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/apply.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "ledger/cancel.h"
#include "ledger/claim.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "ledger/wake.h"
#include "store/cursor.h"
#include "store/effect.h"
#include "store/store.h"
#include "webhook/apply.h"
#include "webhook/verify.h"

/* tries of one call after a deadlock */
#define TRIES 3

/* seconds that half a reschedule keeps its units */
#define PAIR_WAIT 3600

/* a delivery that cannot be applied now is tried again so often by itself */
#define RETRIES 12
#define FIRST_RETRY (10 * USECS_PER_SEC)
#define LAST_RETRY (3600 * USECS_PER_SEC)
#define RELEASE_RETRY (60 * USECS_PER_SEC)

/* one event being applied, under the lock of its bookings */
typedef struct BookingApply
{
	BookingCall *call;
	const BookingWebhookSource *source;
	const BookingWebhookEvent *event;
	BookingApplyMode mode;
	text	   *booking;
	text	   *old_booking;	/* NULL: none */
	text	   *new_booking;	/* NULL: none */
	text	   *superseded;		/* intent that a claim took the place of */
	bool		known;
	BookingWebhookBooking row;
	BookingApplied *outcome;
} BookingApply;

static void try_apply(BookingApply *apply, void (*work) (BookingApply *apply));
static bool is_passing(int sqlerrcode);
static void apply_event(BookingApply *apply);
static void apply_live(BookingApply *apply);
static void apply_ended(BookingApply *apply);
static bool comes_by_calendar(const BookingApply *apply);
static bool is_booked(const BookingApply *apply, text *booking);
static void read_calendars(BookingApply *apply);
static void release_half(BookingApply *apply);
static bool is_altered(const BookingApply *apply, const text *resource);
static text *intent_of(text *booking, int32 generation);
static void book(BookingApply *apply, text *resource);
static bool claim(BookingApply *apply, text *intent, text *resource,
				  text *supersedes, BookingResult *result);
static bool has_ended(const BookingApply *apply, text *intent,
					  const BookingResult *result);
static void refuse_late(BookingApply *apply, text *intent);
static void note_conflict(const BookingApply *apply, text *intent);
static text *supersedes_of(const BookingApply *apply);
static void end_old(BookingApply *apply);
static void end_booking(BookingApply *apply, text *booking, text *successor);
static bool cancel(BookingApply *apply, text *intent, bool known);
static void put_row(const BookingApply *apply);
static void finish(BookingApply *apply, const char *state, const char *reason,
				   bool changed);
static void fail(BookingApply *apply, const char *reason, bool again);
static text *resource_of(const BookingApply *apply);
static text *text_of(const char *string);
static TimestampTz instant_of(int64 unix_microseconds);
static Jsonb *terms_of(const BookingWebhookSource *source);

/*
 * Apply an event.  In a replay the one whose version counts is looked at again:
 * what it says may be mapped otherwise by now.  Another of the same version did
 * not count, and never will.
 */
void
booking_apply(BookingCall *call, const BookingWebhookSource *source,
			  const BookingWebhookEvent *event, BookingApplyMode mode,
			  BookingApplied *outcome)
{
	BookingApply apply = {0};

	memset(outcome, 0, sizeof(*outcome));
	apply.call = call;
	apply.source = source;
	apply.event = event;
	apply.mode = mode;
	apply.outcome = outcome;
	switch (event->meaning)
	{
		case BOOKING_WEBHOOK_IGNORED:
			finish(&apply, "ignored", "unknown_type", false);
			return;
		case BOOKING_WEBHOOK_UNUSABLE:
			finish(&apply, "ignored", event->problem, false);
			return;
		case BOOKING_WEBHOOK_PENDING:
			finish(&apply, "ignored", "pending", false);
			return;
		case BOOKING_WEBHOOK_READ:
		case BOOKING_WEBHOOK_LIVE:
		case BOOKING_WEBHOOK_ENDED:
			try_apply(&apply, apply_event);
			return;
	}
}

/*
 * The time of half a reschedule is over: it is a cancel.
 */
void
booking_apply_release(BookingCall *call, const BookingWebhookSource *source,
					  text *booking, BookingApplied *outcome)
{
	BookingApply apply = {0};

	memset(outcome, 0, sizeof(*outcome));
	apply.call = call;
	apply.source = source;
	apply.booking = booking;
	apply.outcome = outcome;
	try_apply(&apply, release_half);
	if (!outcome->failed)
		return;

	/* later, and not at once again */
	if (booking_store_webhook_booking_read(source->source, booking, &apply.row) &&
		strcmp(apply.row.state, "moving") == 0)
	{
		apply.row.units_until = booking_call_hold_clock() + RELEASE_RETRY;
		put_row(&apply);
	}
}

/*
 * Record what became of a delivery, and when it is tried again if it is.
 */
void
booking_apply_record(BookingCall *call, const BookingWebhookSource *source,
					 int64 delivery, int32 tries,
					 const BookingApplied *outcome)
{
	TimestampTz next;
	bool		again = outcome->failed && outcome->again && tries < RETRIES;

	next = booking_call_hold_clock() +
		Min(FIRST_RETRY << Min(tries, RETRIES), LAST_RETRY);
	booking_store_inbox_decide(delivery, outcome->state, outcome->reason,
							   again ? &next : NULL, outcome->failed,
							   booking_call_hold_clock());
	if (again || strcmp(outcome->state, "waiting") == 0 ||
		strcmp(outcome->state, "read_wanted") == 0)
		booking_wake_at_commit();
	if (outcome->late)
		booking_store_webhook_count(source->source, "late_create",
									booking_call_hold_clock());
}

/*
 * Do some work in a subtransaction that is given up when it fails.  Cancel and
 * shutdown are not caught, and neither is what a transaction that sees one
 * snapshot throughout must be repeated for.
 */
static void
try_apply(BookingApply *apply, void (*work) (BookingApply *apply))
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile int tries = 0;
	volatile bool again;

	do
	{
		again = false;
		memset(apply->outcome, 0, sizeof(*apply->outcome));
		memset(&apply->row, 0, sizeof(apply->row));
		apply->superseded = NULL;
		BeginInternalSubTransaction(NULL);
		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			work(apply);
			if (apply->outcome->failed)
				RollbackAndReleaseCurrentSubTransaction();
			else
				ReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
		}
		PG_CATCH();
		{
			ErrorData  *error;

			MemoryContextSwitchTo(context);
			error = CopyErrorData();
			FlushErrorState();
			RollbackAndReleaseCurrentSubTransaction();
			MemoryContextSwitchTo(context);
			CurrentResourceOwner = owner;
			if (error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
				error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN ||
				error->sqlerrcode == ERRCODE_CRASH_SHUTDOWN ||
				(error->sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE &&
				 IsolationUsesXactSnapshot()))
				ReThrowError(error);
			again = error->sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED &&
				++tries < TRIES;
			fail(apply, psprintf("sqlstate_%s", unpack_sql_state(error->sqlerrcode)),
				 is_passing(error->sqlerrcode));
		}
		PG_END_TRY();
	} while (again);
}

/*
 * May an error go away by itself?
 */
static bool
is_passing(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case MAKE_SQLSTATE('4', '0', '0', '0', '0'):	/* rollback */
		case MAKE_SQLSTATE('5', '3', '0', '0', '0'):	/* resources */
		case MAKE_SQLSTATE('5', '8', '0', '0', '0'):	/* system */
			return true;
		default:
			return sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

/*
 * Lock the bookings that an event speaks of, before anything of the ledger, and
 * apply it.
 */
static void
apply_event(BookingApply *apply)
{
	const BookingWebhookEvent *event = apply->event;
	BookingIdentity identity = {apply->source->tenant, apply->source->source, NULL};
	const text *bookings[BOOKING_WEBHOOK_BOOKINGS];

	if (event->meaning == BOOKING_WEBHOOK_READ)
	{
		if (booking_webhook_by_calendar(apply->source))
			read_calendars(apply);
		else
			finish(apply, "read_wanted", NULL, false);
		return;
	}
	bookings[0] = apply->booking = text_of(event->booking);
	bookings[1] = apply->old_booking = text_of(event->old_booking);
	bookings[2] = apply->new_booking = text_of(event->new_booking);
	booking_lock_webhook(&identity, bookings, lengthof(bookings));
	apply->known = booking_store_webhook_booking_read(apply->source->source,
													  apply->booking,
													  &apply->row);
	if (comes_by_calendar(apply))
		read_calendars(apply);
	else if (event->meaning == BOOKING_WEBHOOK_LIVE)
		apply_live(apply);
	else
		apply_ended(apply);
}

/*
 * A booking is there, at a time.
 */
static void
apply_live(BookingApply *apply)
{
	const BookingWebhookEvent *event = apply->event;
	text	   *resource;

	if (apply->known && strcmp(apply->row.state, "live") != 0)
	{
		/* what is repeated by hand is no late creation */
		apply->outcome->late = apply->mode == BOOKING_APPLY_NEW;
		finish(apply, "ignored", "canceled", false);
		end_old(apply);
		return;
	}
	if (apply->known && (event->version < apply->row.version ||
						 (event->version == apply->row.version &&
						  apply->mode != BOOKING_APPLY_COUNTED)))
	{
		finish(apply, "ignored", event->version < apply->row.version ?
			   "older" : "same_version", false);
		end_old(apply);
		return;
	}
	resource = resource_of(apply);
	if (resource == NULL)
	{
		fail(apply, "unmapped", false);
		return;
	}
	if (!apply->known || is_altered(apply, resource))
	{
		book(apply, resource);
		if (apply->outcome->failed)
			return;
	}
	else
	{
		finish(apply, "applied", NULL, event->version != apply->row.version);
		apply->row.version = event->version;
		if (apply->outcome->changed)
			put_row(apply);
	}
	end_old(apply);
}

/*
 * Does an event say something else than what is booked?
 */
static bool
is_altered(const BookingApply *apply, const text *resource)
{
	const BookingWebhookBooking *row = &apply->row;

	return row->start != instant_of(apply->event->start) ||
		row->end != instant_of(apply->event->end) ||
		booking_text_compare(row->resource, resource) != 0;
}

/*
 * Book what an event says, in place of what was booked under the same id or the
 * one it was moved from.  Where there is no place for it the source has it all
 * the same: that is recorded, and what it replaces ends.
 */
static void
book(BookingApply *apply, text *resource)
{
	BookingWebhookBooking *row = &apply->row;
	text	   *previous = apply->known ? row->intent : supersedes_of(apply);
	text	   *intent;
	BookingResult result;

	if (apply->known)
		row->generation++;
	intent = intent_of(apply->booking, row->generation);
	if (!claim(apply, intent, resource, previous, &result))
		return;
	if (strcmp(result.disposition, "resource_conflict") == 0)
	{
		note_conflict(apply, intent);
		if (previous != NULL && !cancel(apply, previous, true))
			return;
	}
	row->booking = apply->booking;
	row->version = apply->event->version;
	row->state = "live";
	row->intent = intent;
	row->resource = resource;
	row->has_during = true;
	row->start = instant_of(apply->event->start);
	row->end = instant_of(apply->event->end);
	put_row(apply);
	finish(apply, "applied",
		   strcmp(result.disposition, "resource_conflict") == 0 ?
		   "resource_conflict" :
		   strcmp(result.disposition, "proposed") == 0 ? "proposed" : NULL, true);
}

/*
 * The intent that stands for a booking which was altered so many times under its
 * id.  An id that looks as if it had a generation gets one at once, so that no
 * two bookings have the same intent.
 */
static text *
intent_of(text *booking, int32 generation)
{
	char	   *id = text_to_cstring(booking);
	size_t		len = strlen(id);
	size_t		digits = 0;

	while (digits < len && id[len - digits - 1] >= '0' &&
		   id[len - digits - 1] <= '9')
		digits++;
	if (generation == 0 &&
		(digits == 0 || digits == len || id[len - digits - 1] != '#'))
		return booking;
	return cstring_to_text(psprintf("%s#%d", id, generation));
}

/*
 * Claim through the ledger; false, with the outcome failed or decided, where it
 * does not say what became of the booking.
 */
static bool
claim(BookingApply *apply, text *intent, text *resource, text *supersedes,
	  BookingResult *result)
{
	BookingIdentity identity = {apply->source->tenant, apply->source->source, intent};
	BookingPayload payload = {0};

	payload.nresources = 1;
	payload.resources = &resource;
	payload.has_during = true;
	payload.start = instant_of(apply->event->start);
	payload.end = instant_of(apply->event->end);
	payload.units = 1;
	payload.terms = terms_of(apply->source);
	payload.supersedes = supersedes;
	booking_claim_within(apply->call, &identity, &payload, NULL, result);

	/* it ended here, by other hands, and takes nothing along */
	if (supersedes != NULL && has_ended(apply, supersedes, result))
	{
		payload.supersedes = NULL;
		booking_claim_within(apply->call, &identity, &payload, NULL, result);
	}
	else if (strcmp(result->disposition, "resource_conflict") != 0)
		apply->superseded = supersedes;
	if (strcmp(result->disposition, "committed") == 0 ||
		strcmp(result->disposition, "historical_retry") == 0 ||
		strcmp(result->disposition, "proposed") == 0 ||
		strcmp(result->disposition, "resource_conflict") == 0)
		return true;
	if (strcmp(result->disposition, "canceled") == 0)
		refuse_late(apply, intent);
	else
		fail(apply, result->disposition,
			 strcmp(result->disposition, "predecessor_unresolved") == 0);
	return false;
}

/*
 * Did the ledger refuse to exchange an intent because it has ended?
 */
static bool
has_ended(const BookingApply *apply, text *intent, const BookingResult *result)
{
	BookingIdentity identity = {apply->source->tenant, apply->source->source, intent};
	BookingIntent *found;

	if (strcmp(result->disposition, "unknown_intent") == 0)
		return true;
	if (strcmp(result->disposition, "predecessor_unresolved") != 0)
		return false;
	found = booking_store_intent_read(&identity);
	return found != NULL &&
		booking_state_of(found->state) == BOOKING_STATE_CANCELED;
}

/*
 * The intent was canceled here before the source told of it.
 */
static void
refuse_late(BookingApply *apply, text *intent)
{
	apply->row.booking = apply->booking;
	apply->row.version = apply->event->version;
	apply->row.state = "ended";
	apply->row.intent = intent;
	put_row(apply);
	apply->outcome->late = true;
	finish(apply, "ignored", "canceled", false);
}

/*
 * Make it visible that a booking found no place.
 */
static void
note_conflict(const BookingApply *apply, text *intent)
{
	BookingIdentity identity = {apply->source->tenant, apply->source->source, intent};
	BookingIntent *found = booking_store_intent_read(&identity);

	if (found != NULL)
		booking_store_webhook_conflict_put(identity.tenant, found->intent_id,
										   apply->booking,
										   instant_of(apply->event->start),
										   instant_of(apply->event->end),
										   apply->call->now);
}

/*
 * The intent that a new booking takes the place of; NULL if there is none.
 */
static text *
supersedes_of(const BookingApply *apply)
{
	BookingWebhookBooking old;

	if (apply->old_booking == NULL ||
		!booking_store_webhook_booking_read(apply->source->source,
											apply->old_booking, &old) ||
		strcmp(old.state, "ended") == 0)
		return NULL;
	return old.intent;
}

/*
 * A booking has ended.
 */
static void
apply_ended(BookingApply *apply)
{
	const BookingWebhookEvent *event = apply->event;
	BookingWebhookBooking *row = &apply->row;
	BookingWebhookBooking other;

	if (apply->known && strcmp(row->state, "ended") == 0)
		finish(apply, "ignored", "canceled", false);
	else if (apply->known && event->rescheduled &&
			 (apply->new_booking == NULL ||
			  !booking_store_webhook_booking_read(apply->source->source,
												  apply->new_booking, &other)))
	{
		finish(apply, "waiting", "other_half", strcmp(row->state, "live") == 0);
		if (apply->outcome->changed)
		{
			row->state = "moving";
			row->units_until = booking_call_hold_clock() +
				booking_webhook_setting(apply->source->settings, "pair_wait",
										PAIR_WAIT) * USECS_PER_SEC;
		}
		row->version = Max(row->version, event->version);
		put_row(apply);
	}
	else
	{
		end_booking(apply, apply->booking, apply->new_booking);
		if (apply->outcome->failed)
			return;
		finish(apply, "applied", NULL, true);
	}
	end_old(apply);
}

/*
 * What a booking was moved from has ended.
 */
static void
end_old(BookingApply *apply)
{
	if (apply->old_booking != NULL && !apply->outcome->failed)
		end_booking(apply, apply->old_booking, apply->booking);
}

/*
 * End a booking, also one that is not known yet, and the intent that stands for
 * it.
 */
static void
end_booking(BookingApply *apply, text *booking, text *successor)
{
	text	   *source = apply->source->source;
	BookingWebhookBooking row;
	bool		known = booking_store_webhook_booking_read(source, booking, &row);

	if (known && strcmp(row.state, "ended") == 0)
		return;
	if (!known)
	{
		row.booking = booking;
		row.intent = intent_of(booking, 0);
	}
	if (!cancel(apply, row.intent, known))
		return;
	if (apply->event != NULL && booking == apply->booking)
		row.version = Max(row.version, apply->event->version);
	row.state = "ended";
	row.successor = successor;
	booking_store_webhook_booking_put(apply->source, &row, apply->call->now);
	booking_store_inbox_arrived(source, booking, apply->call->now);
	apply->outcome->changed = true;
}

/*
 * Cancel an intent; false, with the outcome failed, where the ledger does not
 * let it.  Of one that was never recorded it leaves a tombstone, for which
 * nothing need be mapped.
 */
static bool
cancel(BookingApply *apply, text *intent, bool known)
{
	BookingIdentity identity = {apply->source->tenant, apply->source->source, intent};
	BookingIntent *found;
	BookingResult result;

	found = booking_store_intent_read(&identity);
	if (found != NULL)
		booking_store_conflict_resolve(found->intent_id, "elsewhere",
									   apply->call->now);

	/* its event goes over to the successor, if it has one */
	if (apply->superseded != NULL &&
		booking_text_compare(intent, apply->superseded) == 0)
		return true;
	booking_cancel_within(apply->call, &identity, NULL, &result);
	if (strcmp(result.disposition, "canceled") == 0 ||
		(!known && strcmp(result.disposition, "denied") == 0))
		return true;
	fail(apply, result.disposition,
		 strcmp(result.disposition, "predecessor_unresolved") == 0);
	return false;
}

/*
 * Does an event speak of what comes with the calendar, and of nothing that was
 * booked here before the source was set so?
 */
static bool
comes_by_calendar(const BookingApply *apply)
{
	return booking_webhook_by_calendar(apply->source) &&
		!is_booked(apply, apply->booking) &&
		!is_booked(apply, apply->old_booking);
}

/*
 * Does an intent stand for a booking?
 */
static bool
is_booked(const BookingApply *apply, text *booking)
{
	BookingWebhookBooking row;

	return booking != NULL &&
		booking_store_webhook_booking_read(apply->source->source, booking, &row) &&
		strcmp(row.state, "ended") != 0;
}

/*
 * Have the calendars of a resource read.
 */
static void
read_calendars(BookingApply *apply)
{
	text	   *resource = resource_of(apply);
	text	  **calendars;
	int			count;

	if (resource == NULL)
	{
		fail(apply, "unmapped", false);
		return;
	}
	calendars = booking_store_webhook_calendars(apply->source->tenant, resource,
												&count);
	for (int i = 0; i < count; i++)
		(void) booking_store_sync_ask(apply->source->tenant, calendars[i],
									  booking_call_hold_clock());
	if (count == 0)
		fail(apply, "no_calendar", false);
	else
	{
		finish(apply, "applied", NULL, false);
		booking_wake_at_commit();
	}
}

/*
 * See booking_apply_release().
 */
static void
release_half(BookingApply *apply)
{
	BookingIdentity identity = {apply->source->tenant, apply->source->source, NULL};
	const text *bookings[1] = {apply->booking};

	booking_lock_webhook(&identity, bookings, 1);
	apply->known = booking_store_webhook_booking_read(apply->source->source,
													  apply->booking,
													  &apply->row);
	finish(apply, "applied", NULL, false);
	if (!apply->known || strcmp(apply->row.state, "moving") != 0)
		return;
	end_booking(apply, apply->booking, NULL);
}

/*
 * Write the row of the booking.
 */
static void
put_row(const BookingApply *apply)
{
	booking_store_webhook_booking_put(apply->source, &apply->row,
									  apply->call->now);
}

/*
 * Say what became of it.
 */
static void
finish(BookingApply *apply, const char *state, const char *reason, bool changed)
{
	apply->outcome->state = state;
	apply->outcome->reason = reason;
	apply->outcome->changed = changed;
}

/*
 * Say that nothing became of it.
 */
static void
fail(BookingApply *apply, const char *reason, bool again)
{
	memset(apply->outcome, 0, sizeof(*apply->outcome));
	apply->outcome->state = "failed";
	apply->outcome->reason = reason;
	apply->outcome->failed = true;
	apply->outcome->again = again;
}

/*
 * The resource that an event means; NULL if none is mapped.
 */
static text *
resource_of(const BookingApply *apply)
{
	const BookingWebhookEvent *event = apply->event;
	text	   *keys[BOOKING_WEBHOOK_KEYS + 1];
	int			count = 0;

	for (int i = 0; i < event->nkeys; i++)
		keys[count++] = text_of(event->keys[i]);
	keys[count++] = text_of("*");
	return booking_store_webhook_map_read(apply->source->source, keys, count);
}

/*
 * A string as text, NULL if there is none.
 */
static text *
text_of(const char *string)
{
	return string == NULL ? NULL : cstring_to_text(string);
}

/*
 * An instant as PostgreSQL counts.
 */
static TimestampTz
instant_of(int64 unix_microseconds)
{
	return unix_microseconds -
		(int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/*
 * The terms of the source's bookings.
 */
static Jsonb *
terms_of(const BookingWebhookSource *source)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(&source->settings->root, "terms", 5,
									 &value) == NULL ||
		value.type != jbvBinary)
		return booking_detail_empty();
	return JsonbValueToJsonb(&value);
}

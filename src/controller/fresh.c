/*-------------------------------------------------------------------------
 *
 * fresh.c
 *	  a look at the calendars before something is written
 *
 * Before an event is created or moved, the calendars that matter to it are
 * read: those of the resources it holds, and those of its attendees.  The
 * worker asks for a reading (store/cursor.c), as anybody may; one that begins
 * after the request covers it, so one reading serves all operations that are
 * due by then.  When all are read, what they say is judged as a claim would be.
 * Of attendees without a calendar the provider is asked meanwhile, if that is
 * wished (people.c).
 *
 * What an operation waits for is kept in memory only.  If the worker dies, the
 * operation is waiting again, and its calendars are asked for again; nothing
 * was sent.
 *
 * Within a transaction checks are only added, or marked as over: what has to be
 * undone if it fails is undone by booking_fresh_abort().
 *
 * IDENTIFICATION
 *	  booking/src/controller/fresh.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "controller/fresh.h"
#include "controller/people.h"
#include "ledger/capacity.h"
#include "ledger/drift.h"
#include "ledger/state.h"
#include "store/busy.h"
#include "store/cursor.h"
#include "store/fresh.h"
#include "store/store.h"

/* a reading is good for so long, while an operation waits for its turn */
#define FRESH_FOR_MS 10000

/* requests that are compared with the next one, so that few are asked twice */
#define LOOK_BACK 8

/* one calendar that an operation waits for */
typedef struct FreshReading
{
	int64		calendar_id;
	int64		request_id;
	BookingReading reading;
	bool		target;			/* the operation writes to it */
} FreshReading;

/* an operation in the state checking */
typedef struct FreshCheck
{
	dlist_node	node;
	BookingFreshReady ready;	/* which operation, and whose */
	TimestampTz asked_at;		/* by the clock of cursors */
	TimestampTz read_at;		/* by the wall clock; 0: not all are read */
	bool		added;			/* by the transaction in progress */
	bool		over;			/* likewise */
	BookingQuestion *question;	/* about attendees, or NULL */
	bool		mute;			/* there is nobody whom it could be put to */
	char	   *failure;		/* why they cannot be read, or NULL */
	bool		gone;			/* the one to be written to does not exist */
	int			nreadings;
	FreshReading readings[FLEXIBLE_ARRAY_MEMBER];
} FreshCheck;

static FreshCheck *find_check(int64 operation_id);
static bool covers(const FreshCheck *check,
				   const BookingRelevantCalendar *calendars, int count);
static FreshCheck *ask(const BookingLease *lease,
					   const BookingRelevantCalendar *calendars, int count);
static BookingFreshness begin(BookingCall *call, const BookingLease *lease,
							  const BookingRelevantCalendar *calendars,
							  int count, bool people);
static void note_reading(FreshCheck *check, FreshReading *reading,
						 const BookingReadingState *state);
static void note_readings(const BookingReadingState *states, int count);
static void note_complete(void);
static Jsonb *judge(const BookingIntent *intent,
					const BookingIdentity *identity, int64 operation_id);
static Jsonb *overrun(const BookingIntent *intent,
					  const BookingIdentity *identity, int64 predecessor_id);
static void free_check(FreshCheck *check);

static dlist_head checks;
static int	nchecks = 0;
static MemoryContext check_context = NULL;
static bool astray = false;		/* an operation may have lost its check */

/*
 * Begin with nothing in hand.
 */
void
booking_fresh_init(BookingHttpEngine *engine)
{
	booking_people_init(engine);
	dlist_init(&checks);
	nchecks = 0;
	check_context = AllocSetContextCreate(TopMemoryContext,
										  "booking freshness",
										  ALLOCSET_DEFAULT_SIZES);
}

/*
 * Operations whose calendars are being read.
 */
int
booking_fresh_waiting(void)
{
	return nchecks;
}

/*
 * Find out which readings are done and which have failed, within a transaction:
 * one statement for all of them.
 */
void
booking_fresh_look(void)
{
	int64	   *request_ids;
	int64	   *calendar_ids;
	TimestampTz *asked_at;
	BookingReadingState *states;
	dlist_iter	iter;
	int			size = 0;
	int			count = 0;

	dlist_foreach(iter, &checks)
		size += dlist_container(FreshCheck, node, iter.cur)->nreadings;
	if (size == 0)
	{
		note_complete();
		return;
	}
	request_ids = palloc_array(int64, size);
	calendar_ids = palloc_array(int64, size);
	asked_at = palloc_array(TimestampTz, size);
	dlist_foreach(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		for (int i = 0; i < check->nreadings; i++)
		{
			const FreshReading *reading = &check->readings[i];
			bool		known = reading->reading != BOOKING_READING_OPEN;

			/* those that are due together wait for the same ones */
			for (int j = count; j > Max(0, count - LOOK_BACK) && !known; j--)
				known = request_ids[j - 1] == reading->request_id;
			if (known)
				continue;
			request_ids[count] = reading->request_id;
			calendar_ids[count] = reading->calendar_id;
			asked_at[count++] = check->asked_at;
		}
	}
	if (count > 0)
	{
		states = booking_store_readings(request_ids, calendar_ids, asked_at,
										count, booking_call_hold_clock(), &count);
		note_readings(states, count);
	}
	note_complete();
}

/*
 * List of BookingFreshReady: operations whose calendars are read, or cannot be.
 * Valid until the end of the transaction.
 */
List *
booking_fresh_ready(void)
{
	List	   *ready = NIL;
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		if (check->over || (check->read_at == 0 && check->failure == NULL))
			continue;
		ready = lappend(ready, &check->ready);
	}
	return ready;
}

/*
 * May an operation be sent?  If its calendars have to be read first, that is
 * asked for.  Called under the lock of its intent, in a subtransaction; whoever
 * acts on another verdict than BOOKING_FRESH_ASKED and BOOKING_FRESH_WAITS calls
 * booking_fresh_end().
 */
void
booking_fresh_judge(BookingCall *call, const BookingLease *lease,
					BookingFreshVerdict *verdict)
{
	const BookingOperation *operation = &lease->operation;
	FreshCheck *check = find_check(operation->operation_id);
	BookingIdentity identity;
	BookingIntent *intent = booking_store_intent_by_id(operation->intent_id,
													   &identity);
	BookingRelevantCalendar *calendars;
	bool		people;
	int			count;

	memset(verdict, 0, sizeof(*verdict));

	/* what is canceled has to be settled, whatever calendars say */
	if (strcmp(operation->kind, "cancel") == 0 ||
		booking_state_of(intent->state) == BOOKING_STATE_CANCELING)
		return;
	calendars = booking_store_relevant_calendars(identity.tenant,
												 &intent->payload, &count);
	people = booking_people_concern(lease);
	if (count == 0 && !people)
		return;
	if (check != NULL && check->failure != NULL)
	{
		verdict->freshness = check->gone ? BOOKING_FRESH_GONE : BOOKING_FRESH_UNREAD;
		verdict->message = check->failure;
	}
	else if (check == NULL || !covers(check, calendars, count) ||
			 (people && check->question == NULL && !check->mute) ||
			 (check->read_at != 0 &&
			  TimestampDifferenceExceeds(check->read_at, GetCurrentTimestamp(),
										 FRESH_FOR_MS)))
		verdict->freshness = begin(call, lease, calendars, count, people);
	else if (check->read_at == 0)
		verdict->freshness = BOOKING_FRESH_WAITS;
	else
	{
		verdict->detail = judge(intent, &identity, operation->operation_id);
		if (verdict->detail != NULL)
			verdict->freshness = BOOKING_FRESH_STALE;
		else if (check->question != NULL)
			booking_people_judge(call, lease, &identity, check->question, verdict);
	}
}

/*
 * Begin to check an operation, anew if need be.  What has to wait for a place of
 * its account stays as it is.
 */
static BookingFreshness
begin(BookingCall *call, const BookingLease *lease,
	  const BookingRelevantCalendar *calendars, int count, bool people)
{
	BookingAsking asking = BOOKING_ASKING_NOBODY;
	BookingQuestion *question = NULL;
	FreshCheck *check;

	if (people)
		asking = booking_people_ask(call, lease, &question);
	if (asking == BOOKING_ASKING_LATER)
		return BOOKING_FRESH_WAITS;
	booking_fresh_end(lease->operation.operation_id);
	check = ask(lease, calendars, count);
	check->question = question;
	check->mute = asking == BOOKING_ASKING_NOBODY;
	return BOOKING_FRESH_ASKED;
}

/*
 * An operation waits for no reading any more.
 */
void
booking_fresh_end(int64 operation_id)
{
	FreshCheck *check = find_check(operation_id);

	if (check != NULL)
		check->over = true;
}

/*
 * The transaction committed.
 */
void
booking_fresh_commit(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		check->added = false;
		if (check->over)
			free_check(check);
		else if (check->question != NULL)
			booking_people_start(check->question);
	}
}

/*
 * The part of the transaction that was about these operations failed: they are
 * gone through again.
 */
void
booking_fresh_undo(const int64 *operation_ids, int count)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		for (int i = 0; i < count; i++)
		{
			if (operation_ids[i] != check->ready.operation_id)
				continue;
			if (check->added)
				free_check(check);
			else
				check->over = false;
			break;
		}
	}
}

/*
 * The transaction failed, or with an operation the part of it that was about
 * this one (0: the whole): what was asked for was not.  An operation that is
 * left in the state checking is found by booking_fresh_sweep().
 */
void
booking_fresh_abort(int64 operation_id)
{
	dlist_mutable_iter iter;

	astray = true;
	dlist_foreach_modify(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		if (operation_id != 0 ? check->ready.operation_id == operation_id :
			check->added || check->over)
			free_check(check);
	}
}

/*
 * Let operations wait again that are in the state checking though nobody checks
 * them any more: after an error.
 */
void
booking_fresh_sweep(BookingCall *call)
{
	int64	   *checked = palloc_array(int64, nchecks + 1);
	int			count = 0;
	dlist_iter	iter;

	if (!astray)
		return;
	dlist_foreach(iter, &checks)
		checked[count++] =
		dlist_container(FreshCheck, node, iter.cur)->ready.operation_id;
	booking_store_operations_unchecked(checked, count, call->now);
	astray = false;
}

/*
 * The check of an operation, NULL if there is none.
 */
static FreshCheck *
find_check(int64 operation_id)
{
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		if (check->ready.operation_id == operation_id && !check->over)
			return check;
	}
	return NULL;
}

/*
 * Are these calendars among those that are read?
 */
static bool
covers(const FreshCheck *check, const BookingRelevantCalendar *calendars,
	   int count)
{
	for (int i = 0; i < count; i++)
	{
		bool		found = false;

		for (int j = 0; j < check->nreadings && !found; j++)
			found = check->readings[j].calendar_id == calendars[i].calendar_id;
		if (!found)
			return false;
	}
	return true;
}

/*
 * Have calendars read for an operation.
 */
static FreshCheck *
ask(const BookingLease *lease, const BookingRelevantCalendar *calendars,
	int count)
{
	TimestampTz now = booking_call_hold_clock();
	text	   *tenant = cstring_to_text(lease->operation.tenant);
	FreshCheck *check =
		MemoryContextAllocZero(check_context, offsetof(FreshCheck, readings) +
							   sizeof(FreshReading) * count);

	check->ready.operation_id = lease->operation.operation_id;
	check->ready.account_key =
		MemoryContextStrdup(check_context,
							psprintf("%s\n%s", lease->operation.tenant,
									 lease->operation.account));
	check->ready.calendar_key =
		MemoryContextStrdup(check_context,
							psprintf("%s\n%s", check->ready.account_key,
									 lease->operation.calendar));
	check->asked_at = now;
	check->added = true;
	check->nreadings = count;
	dlist_push_tail(&checks, &check->node);
	nchecks++;
	for (int i = 0; i < count; i++)
	{
		check->readings[i].calendar_id = calendars[i].calendar_id;
		check->readings[i].request_id =
			booking_store_sync_ask(tenant, calendars[i].calendar, now);
		check->readings[i].target = booking_text_is(calendars[i].calendar,
													lease->operation.calendar);
	}
	return check;
}

/*
 * Note with the checks how readings stand.
 */
static void
note_readings(const BookingReadingState *states, int count)
{
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);

		for (int i = 0; i < check->nreadings; i++)
		{
			FreshReading *reading = &check->readings[i];

			for (int j = 0; j < count && reading->reading == BOOKING_READING_OPEN; j++)
			{
				if (states[j].request_id == reading->request_id)
					note_reading(check, reading, &states[j]);
			}
		}
	}
}

/*
 * Note which checks have all that they wait for.
 */
static void
note_complete(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
	{
		FreshCheck *check = dlist_container(FreshCheck, node, iter.cur);
		bool		all = check->question == NULL ||
			booking_people_answered(check->question);

		for (int i = 0; i < check->nreadings && all; i++)
			all = check->readings[i].reading == BOOKING_READING_DONE;
		if (all && check->read_at == 0)
			check->read_at = GetCurrentTimestamp();
	}
}

/*
 * Note how a reading of one check stands.  That the calendar to be written to
 * is not there is an answer, and no failure that may pass.
 */
static void
note_reading(FreshCheck *check, FreshReading *reading,
			 const BookingReadingState *state)
{
	reading->reading = state->reading;
	if (state->reading != BOOKING_READING_FAILED)
		return;
	check->gone = check->gone ||
		(reading->target && strcmp(state->problem, "calendar_gone") == 0);
	if (check->failure == NULL)
		check->failure =
			MemoryContextStrdup(check_context,
								psprintf("calendar %s: %s",
										 state->calendar != NULL ?
										 state->calendar : "unknown",
										 state->problem));
}

/*
 * Would the intent be decided so now?  NULL if it would, else what has changed.
 */
static Jsonb *
judge(const BookingIntent *intent, const BookingIdentity *identity,
	  int64 operation_id)
{
	BookingFreshFacts facts;
	Jsonb	   *collision = NULL;
	BookingDetail detail;

	booking_store_fresh_facts(operation_id, &facts);
	if (!facts.override)
		collision = overrun(intent, identity, facts.predecessor_id);
	if (collision == NULL)
		return booking_drift_new_overlap(identity->tenant, &intent->payload,
										 intent->intent_id,
										 facts.predecessor_id, facts.known,
										 facts.nknown);
	booking_detail_begin(&detail);
	booking_detail_members(&detail, collision);
	booking_detail_word(&detail, "reason", "calendar_changed");
	return booking_detail_end(&detail);
}

/*
 * Do the calendars of its resources leave an intent what it holds?
 */
static Jsonb *
overrun(const BookingIntent *intent, const BookingIdentity *identity,
		int64 predecessor_id)
{
	const BookingPayload *payload = &intent->payload;
	int			found;
	BookingResource *resources =
		booking_store_resources_read(identity->tenant, payload->resources,
									 payload->nresources, &found);
	BookingWish wish = {0};

	wish.tenant = identity->tenant;
	wish.intent_id = intent->intent_id;
	wish.predecessor = predecessor_id;
	wish.nresources = found;
	wish.resources = palloc_array(const BookingResource *, found + 1);
	for (int i = 0; i < found; i++)
		wish.resources[i] = &resources[i];
	wish.start = payload->start;
	wish.end = payload->end;
	wish.units = payload->units;
	return booking_capacity_overrun(&wish);
}

/*
 * Forget a check.
 */
static void
free_check(FreshCheck *check)
{
	dlist_delete(&check->node);
	nchecks--;
	if (check->question != NULL)
		booking_people_forget(check->question);
	pfree(check->ready.account_key);
	pfree(check->ready.calendar_key);
	if (check->failure != NULL)
		pfree(check->failure);
	pfree(check);
}

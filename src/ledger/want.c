/*-------------------------------------------------------------------------
 *
 * want.c
 *	  what the ledger wants of a provider
 *
 * The ledger only records what is wanted, in the caller's transaction; the
 * controller brings it about after the commit.  All of it is called under the
 * lock of the intent.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/want.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "ledger/site.h"
#include "ledger/state.h"
#include "ledger/wake.h"
#include "ledger/want.h"
#include "store/account.h"
#include "store/operation.h"

static bool is_final(const BookingOperation *operation);

/*
 * Want an event for a new booking.
 */
void
booking_want_create(const BookingCall *call, const BookingIdentity *identity,
					int64 intent_id, text *calendar)
{
	BookingCalendar target;
	BookingOperation operation = {0};

	if (!booking_store_calendar_read(identity->tenant, calendar, &target))
		elog(ERROR, "calendar of the resource does not exist");
	operation.intent_id = intent_id;
	operation.generation = 1;
	operation.tenant = text_to_cstring(identity->tenant);
	operation.account = text_to_cstring(target.account);
	operation.calendar = text_to_cstring(calendar);
	operation.kind = "create";
	operation.event_id = booking_site_event_id(identity, calendar, 1);
	(void) booking_store_operation_insert(&operation, call->now);
	booking_wake_at_commit();
}

/*
 * Want the event of the predecessor to become that of an intent, if it is in
 * the same calendar; returns whether it is.
 */
bool
booking_want_update(const BookingCall *call, int64 intent_id,
					int64 predecessor_id, const text *calendar)
{
	BookingOperation *previous = booking_store_operation_newest(predecessor_id);
	BookingOperation operation;

	if (!booking_want_same_calendar(predecessor_id, calendar))
		return false;
	operation = *previous;
	operation.intent_id = intent_id;
	operation.previous_id = previous->operation_id;
	operation.kind = "update";
	operation.sequence = previous->sequence + 1;
	(void) booking_store_operation_insert(&operation, call->now);
	booking_wake_at_commit();
	return true;
}

/*
 * Want nothing more of an intent than that its event, if there is one, goes;
 * returns the state the intent is in then.  What was never sent is dropped.
 */
const char *
booking_want_cancel(const BookingCall *call, const BookingIntent *intent)
{
	BookingState state = booking_state_of(intent->state);
	BookingOperation *newest;
	BookingOperation operation;

	if (state != BOOKING_STATE_APPROVED && state != BOOKING_STATE_CREATING &&
		state != BOOKING_STATE_CREATED && state != BOOKING_STATE_UNKNOWN)
		return "canceled";

	newest = booking_store_operation_newest(intent->intent_id);
	if (newest == NULL)
		return "canceled";
	if (state == BOOKING_STATE_APPROVED && !newest->uncertain)
	{
		booking_store_operation_drop(newest->operation_id, call->now);
		return "canceled";
	}
	if (state == BOOKING_STATE_CREATED)
	{
		operation = *newest;
		operation.previous_id = newest->operation_id;
		operation.kind = "cancel";
		operation.sequence = newest->sequence + 1;
		(void) booking_store_operation_insert(&operation, call->now);
	}
	/* else what was sent is settled first; see controller/outcome.c */
	booking_wake_at_commit();
	return "canceling";
}

/*
 * Is something wanted of an intent's event that is not settled: an update on
 * its way to a successor?
 */
bool
booking_want_pending(int64 intent_id)
{
	BookingOperation *newest = booking_store_operation_newest(intent_id);

	return newest != NULL &&
		(!is_final(newest) || booking_store_operation_followed(newest->operation_id));
}

/*
 * Is the event of the predecessor in this calendar?
 */
bool
booking_want_same_calendar(int64 predecessor_id, const text *calendar)
{
	BookingOperation *previous = booking_store_operation_newest(predecessor_id);

	return previous != NULL && calendar != NULL &&
		booking_text_is(calendar, previous->calendar);
}

/*
 * Is an operation settled?
 */
static bool
is_final(const BookingOperation *operation)
{
	return strcmp(operation->state, "confirmed") == 0 ||
		strcmp(operation->state, "rejected") == 0 ||
		strcmp(operation->state, "dropped") == 0;
}

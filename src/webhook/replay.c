/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  booking_webhook_replay, booking_webhook_replay_list, and what the worker
 *	  settles when its time has come
 *
 * A replay reads the stored bytes anew and applies them in the order of
 * arrival, each as if it came now.  What comes out as it did before changes
 * nothing.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/replay.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "webhook/apply.h"
#include "webhook/source.h"

PG_FUNCTION_INFO_V1(booking_webhook_replay);
PG_FUNCTION_INFO_V1(booking_webhook_replay_list);

/* deliveries whose bodies are in memory at one time */
#define PAGE 100

/* what a replay came to */
typedef struct Replay
{
	text	   *source;
	RangeType  *within;			/* NULL: any time */
	ArrayType  *list;			/* NULL: all */
	int64		deliveries;
	int64		changed;
	int64		failed;
} Replay;

static Datum replay(FunctionCallInfo fcinfo, Replay *replay);
static int64 replay_page(BookingCall *call, const BookingWebhookSource *source,
						 Replay *replay, int64 after);
static void reapply(BookingCall *call, const BookingWebhookSource *source,
					const BookingDelivery *delivery, BookingArena *arena,
					bool again, BookingApplied *outcome);
static bool settle(BookingCall *call, const BookingWebhookDue *due);

/*
 * booking_webhook_replay(source, within) returns (deliveries, changed, failed)
 */
Datum
booking_webhook_replay(PG_FUNCTION_ARGS)
{
	Replay		this = {0};

	this.source = booking_arg_label(fcinfo, 0, "source");
	if (!PG_ARGISNULL(1))
		this.within = PG_GETARG_RANGE_P(1);
	return replay(fcinfo, &this);
}

/*
 * booking_webhook_replay_list(source, list) returns (deliveries, changed,
 * failed)
 */
Datum
booking_webhook_replay_list(PG_FUNCTION_ARGS)
{
	Replay		this = {0};

	this.source = booking_arg_label(fcinfo, 0, "source");
	booking_arg_require(fcinfo, 1, "list");
	this.list = PG_GETARG_ARRAYTYPE_P(1);
	return replay(fcinfo, &this);
}

/*
 * Page after page, each in memory of its own.
 */
static Datum
replay(FunctionCallInfo fcinfo, Replay *replay)
{
	BookingWebhookSource source;
	BookingWebhookDue *due;
	BookingCall call;
	int			count;
	int64		after = 0;
	Datum		values[3];
	bool		nulls[3] = {false};

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, replay->source, &source);
	call.privileged = true;
	due = booking_store_webhook_due(source.source, booking_call_hold_clock(),
									PAGE, &count);
	for (int i = 0; i < count; i++)
		replay->changed += settle(&call, &due[i]);
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (SPI_connect() != SPI_OK_CONNECT)
			elog(ERROR, "SPI_connect failed");
		after = replay_page(&call, &source, replay, after);
		if (SPI_finish() != SPI_OK_FINISH)
			elog(ERROR, "SPI_finish failed");
	} while (after != 0);
	values[0] = Int64GetDatum(replay->deliveries);
	values[1] = Int64GetDatum(replay->changed);
	values[2] = Int64GetDatum(replay->failed);
	return booking_call_return_row(&call, values, nulls);
}

/*
 * Apply the deliveries behind one again; returns the last of them, 0 if there
 * was none.
 */
static int64
replay_page(BookingCall *call, const BookingWebhookSource *source,
			Replay *replay, int64 after)
{
	int			count;
	BookingDelivery *deliveries = booking_store_inbox_page(source->source, after,
														   replay->within,
														   replay->list, PAGE,
														   &count);
	BookingArena *arena = booking_webhook_arena();

	for (int i = 0; i < count; i++)
	{
		BookingApplied outcome;

		reapply(call, source, &deliveries[i], arena, true, &outcome);
		booking_arena_reset(arena);
		replay->deliveries++;
		replay->changed += outcome.changed;
		replay->failed += outcome.failed;
	}
	return count == 0 ? 0 : deliveries[count - 1].delivery;
}

/*
 * Apply a stored delivery, and record what became of it.  A copy that was
 * altered never counts, and what was purged says nothing any more.
 */
static void
reapply(BookingCall *call, const BookingWebhookSource *source,
		const BookingDelivery *delivery, BookingArena *arena, bool again,
		BookingApplied *outcome)
{
	BookingWebhookEvent event;

	memset(outcome, 0, sizeof(*outcome));
	if (strcmp(delivery->verdict, "duplicate") == 0 ||
		VARSIZE_ANY_EXHDR(delivery->body) == 0)
		return;
	booking_webhook_decode(source, delivery->body, arena, &event);
	booking_apply(call, source, &event, !again ? BOOKING_APPLY_NEW :
				  strcmp(delivery->state, "applied") == 0 ?
				  BOOKING_APPLY_COUNTED : BOOKING_APPLY_AGAIN, outcome);

	/* what was applied and would change nothing now stays what it is */
	if (outcome->changed || strcmp(delivery->state, "applied") != 0 ||
		outcome->failed)
		booking_apply_record(call, source, delivery->delivery, delivery->tries,
							 outcome);
}

/*
 * Settle what is due: halves of reschedules, and deliveries to be tried again.
 * Called by the worker, within one of its transactions.
 */
void
booking_webhook_settle(BookingCall *call, int limit)
{
	int			count;
	BookingWebhookDue *due = booking_store_webhook_due(NULL, booking_call_hold_clock(),
													   limit, &count);

	for (int i = 0; i < count; i++)
		(void) settle(call, &due[i]);
}

/*
 * One of them; returns whether that changed a booking.
 */
static bool
settle(BookingCall *call, const BookingWebhookDue *due)
{
	BookingWebhookSource source;
	BookingDelivery delivery;
	BookingApplied outcome;
	text	   *name;

	memset(&outcome, 0, sizeof(outcome));
	if (!booking_store_webhook_source_read(due->source, &source))
		return false;
	if (due->delivery == 0)
		booking_apply_release(call, &source, due->booking, &outcome);
	else if (booking_store_inbox_read(due->delivery, &name, &delivery))
		reapply(call, &source, &delivery, booking_webhook_arena(), false,
				&outcome);
	return outcome.changed;
}

/*-------------------------------------------------------------------------
 *
 * retain.c
 *	  booking_retain
 *
 * Purge values and personal data by a policy.  What decides a late retry or a
 * late delivery is kept: identity, keyed digest (see digest.c) and state of each
 * intent, and what makes a delivery the same as another.
 *
 * Every relation is gone through in the order of its numbers.  Of intents, the
 * longest of them, the place is recorded, so that a call which was ended, or had
 * a limit, is followed by one that goes on there.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/retain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/detail.h"
#include "ledger/purge.h"
#include "ledger/retain_policy.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_retain);

/* numbers looked at for each row that may be purged in a transaction */
#define LOOK_AHEAD 20

/* times that a part is tried which somebody is in the way of */
#define TRIES 3

/* a call */
typedef struct Retain
{
	BookingRetainPolicy policy;
	TimestampTz now;
	BookingPurgeKind kind;		/* gone through now */
	int64		position;		/* behind this number */
	bool		wrapped;		/* intents: the first ones are gone through again */
	int64		start;			/* intents: where this call began */
	bool		finished;		/* with this kind */
	int64		rows[BOOKING_PURGE_KINDS];
	int64		left;			/* parts that somebody was in the way of */
} Retain;

static void begin(BookingCall *call, void *arg);
static void go_through(Retain *retain);
static void step(BookingCall *call, void *arg);
static bool look_further(Retain *retain, BookingPurgeWindow *window);
static int64 purge_window(const BookingPurgeWindow *window, int64 *last);
static void pass_over(BookingCall *call, void *arg);
static void end(BookingCall *call, void *arg);
static Jsonb *make_result(const Retain *retain);
static bool is_full(const Retain *retain);
static void report(const Retain *retain);
static void keep_rate(int64 rate, int64 rows, TimestampTz began);

/*
 * CALL booking_retain(policy, result)
 */
Datum
booking_retain(PG_FUNCTION_ARGS)
{
	Retain		retain = {0};

	booking_arg_require(fcinfo, 0, "policy");
	booking_retain_policy_read(booking_arg_jsonb(fcinfo, 0, "policy"),
							   &retain.policy);
	booking_purge_begin(fcinfo, "booking_retain");
	retain.now = booking_call_hold_clock();
	(void) booking_purge_transaction(begin, &retain, retain.policy.lock_timeout);
	for (int kind = 0; kind < BOOKING_PURGE_KINDS && !is_full(&retain); kind++)
	{
		retain.kind = kind;
		if (retain.policy.ages[kind] >= 0)
			go_through(&retain);
	}
	(void) booking_purge_transaction(end, &retain, retain.policy.lock_timeout);
	return booking_purge_return(fcinfo, make_result(&retain));
}

/*
 * Who may purge what belongs to all tenants?  Make the key before it is needed.
 */
static void
begin(BookingCall *call, void *arg)
{
	Retain	   *retain = arg;

	booking_access_demand_owner(call);
	(void) booking_purge_key();
	retain->start = booking_store_purge_position();
}

/*
 * One kind of rows, a part after the other.
 */
static void
go_through(Retain *retain)
{
	int			tries = 0;

	retain->position = retain->kind == BOOKING_PURGE_INTENTS ? retain->start : 0;
	retain->finished = false;
	while (!retain->finished && !is_full(retain))
	{
		TimestampTz began = GetCurrentTimestamp();
		int64		rows = retain->rows[retain->kind];

		if (booking_purge_transaction(step, retain, retain->policy.lock_timeout))
			tries = 0;
		else if (++tries == TRIES)
		{
			retain->left++;
			tries = 0;
			(void) booking_purge_transaction(pass_over, retain,
											 retain->policy.lock_timeout);
		}
		report(retain);
		keep_rate(retain->policy.rate, retain->rows[retain->kind] - rows, began);
	}
}

/*
 * One part, in its transaction.
 */
static void
step(BookingCall *call, void *arg)
{
	Retain	   *retain = arg;
	BookingPurgeWindow window;
	int64		last;
	int64		rows;

	if (!look_further(retain, &window))
		return;
	rows = retain->kind == BOOKING_PURGE_INTENTS ? purge_window(&window, &last) :
		booking_store_purge_rows(retain->kind, &window, &last);
	if (retain->kind == BOOKING_PURGE_INTENTS)
		booking_store_purge_position_put(last);
	retain->rows[retain->kind] += rows;
	retain->position = last;
}

/*
 * What is looked at next; false if all was.  Intents begin where the last call
 * ended, and go on with the first ones.
 */
static bool
look_further(Retain *retain, BookingPurgeWindow *window)
{
	int64		next;

	/* wait for others that purge: they do not do it twice */
	if (retain->kind == BOOKING_PURGE_INTENTS)
		(void) booking_store_purge_position();
	next = booking_store_purge_next(retain->kind, retain->position);
	if (next == 0 && retain->kind == BOOKING_PURGE_INTENTS && !retain->wrapped)
	{
		retain->wrapped = true;
		retain->position = 0;
		booking_store_purge_position_put(0);
		next = booking_store_purge_next(retain->kind, 0);
	}
	if (next == 0 || (retain->wrapped && next > retain->start &&
					  retain->kind == BOOKING_PURGE_INTENTS))
	{
		retain->finished = true;
		return false;
	}
	window->after = next - 1;
	window->limit = (int32) retain->policy.batch;
	window->until = next + LOOK_AHEAD * window->limit;
	if (retain->wrapped && retain->kind == BOOKING_PURGE_INTENTS)
		window->until = Min(window->until, retain->start);
	window->before = retain->now - retain->policy.ages[retain->kind];
	return true;
}

/*
 * Purge intents of a window; returns how many, and how far it was gone through.
 */
static int64
purge_window(const BookingPurgeWindow *window, int64 *last)
{
	int			count;
	ArrayType  *picked = booking_store_purge_pick(window, &count, last);

	return count == 0 ? 0 :
		booking_store_purge_intents(picked, booking_purge_key());
}

/*
 * Leave out a part that somebody is in the way of; the next call finds it.
 */
static void
pass_over(BookingCall *call, void *arg)
{
	Retain	   *retain = arg;
	BookingPurgeWindow window;

	if (!look_further(retain, &window))
		return;
	retain->position = window.after + window.limit;
}

/*
 * Record that it was done, and by whom.
 */
static void
end(BookingCall *call, void *arg)
{
	booking_store_audit("retain", call->role, NULL, NULL, NULL,
						make_result(arg), NULL, call->now);
}

/*
 * Rows purged of each kind, and whether everything was gone through.
 */
static Jsonb *
make_result(const Retain *retain)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	for (int kind = 0; kind < BOOKING_PURGE_KINDS; kind++)
	{
		if (retain->policy.ages[kind] >= 0)
			booking_detail_integer(&detail, booking_retain_kind_name(kind),
								   retain->rows[kind]);
	}
	booking_detail_integer(&detail, "passed_over", retain->left);
	if (is_full(retain))
		booking_detail_flag(&detail, "more");
	return booking_detail_end(&detail);
}

/*
 * Has the call purged as much as it may?
 */
static bool
is_full(const Retain *retain)
{
	int64		rows = 0;

	for (int kind = 0; kind < BOOKING_PURGE_KINDS; kind++)
		rows += retain->rows[kind];
	return retain->policy.max_rows > 0 && rows >= retain->policy.max_rows;
}

/*
 * Tell how far it is.
 */
static void
report(const Retain *retain)
{
	char		progress[160];

	snprintf(progress, sizeof(progress), "booking_retain: %s, " INT64_FORMAT
			 " rows purged, behind number " INT64_FORMAT,
			 booking_retain_kind_name(retain->kind),
			 retain->rows[retain->kind], retain->position);
	booking_purge_report(progress);
}

/*
 * Leave processor and disk to others for as long as rows purged since an instant
 * should have taken.
 */
static void
keep_rate(int64 rate, int64 rows, TimestampTz began)
{
	TimestampTz until;
	long		wait;

	if (rate == 0)
		return;
	until = began + rows * USECS_PER_SEC / rate;
	while ((wait = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until)) > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 wait, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

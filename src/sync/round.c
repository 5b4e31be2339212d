/*-------------------------------------------------------------------------
 *
 * round.c
 *	  one reading of a calendar
 *
 * A round is many short transactions: its beginning, one for each part of what
 * the provider tells, its end.  All that happens in between can happen again,
 * so a worker that dies leaves a round that the next one goes on with.  Token
 * and watermark move at the end only.
 *
 * A round reads what changed since the token, or everything: when there is no
 * token, when the provider does not know it any more, when the window of
 * recurrences has to move, and now and then in any case, because servers lose
 * changes.  After everything was listed, what was not in the list is gone.
 *
 * IDENTIFICATION
 *	  booking/src/sync/round.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"

#include "guc.h"
#include "ledger/count.h"
#include "store/conflict.h"
#include "store/event.h"
#include "store/operation.h"
#include "sync/effects.h"
#include "sync/round.h"

#define BACKOFF_FIRST_SECS 5
#define BACKOFF_LAST_SECS 3600

/* where no time is set, the next round is due when it may be again */
#define UNSET_INTERVAL_SECS 300

/* objects that a listing may bring, and pages besides that bring nothing */
#define MAX_LISTED 1000000
#define SPARE_PAGES 1000

static const char *full_pass_reason(const BookingCursor *cursor,
									TimestampTz now);
static void move_window(BookingCursor *cursor, TimestampTz now);
static void disbelieve(const BookingRound *round, TimestampTz now);
static TimestampTz after_failure(const BookingRound *round,
								 const BookingPullResult *result,
								 TimestampTz now);
static bool is_endless(BookingRound *round, const char *page);
static double jitter(double part);

/*
 * Begin a round, or go on with the one that was in progress, and change the
 * lease's cursor to what it is then.  Room for suspects is for the caller to give.
 */
void
booking_round_begin(BookingCall *call, BookingCursorLease *lease,
					BookingRound *round)
{
	BookingCursor *cursor = &lease->cursor;
	TimestampTz now = booking_call_hold_clock();

	if (!cursor->started)
	{
		const char *reason = full_pass_reason(cursor, now);

		cursor->round++;
		cursor->page = NULL;
		cursor->full_pass = reason != NULL;
		if (reason != NULL)
		{
			booking_count(BOOKING_COUNT_FULL_SYNCS, reason, NULL);
			cursor->full_reason = pstrdup(reason);
			move_window(cursor, now);
		}
	}
	if (cursor->full_pass)
		cursor->token = NULL;
	booking_store_cursor_begin(cursor, now);

	memset(round, 0, sizeof(*round));
	round->calendar_id = cursor->calendar_id;
	round->round = cursor->round;
	round->provider = booking_provider_find(lease->provider);
	round->full = cursor->full_pass;
	round->from_page = cursor->page != NULL;
	round->has_token = cursor->token != NULL;
	round->failures = cursor->failures;
	round->from = cursor->from;
	round->until = cursor->until;
	strlcpy(round->zone, lease->time_zone, sizeof(round->zone));
}

/*
 * Why the next round must list everything; NULL if it need not.
 */
static const char *
full_pass_reason(const BookingCursor *cursor, TimestampTz now)
{
	TimestampTz from = now - booking_sync_past * USECS_PER_SEC;

	if (cursor->full_at == 0)
		return "first";
	if (cursor->full_pass || cursor->token == NULL)
		return cursor->full_reason != NULL ? cursor->full_reason : "no_token";
	if (cursor->full_at + booking_full_sync_interval * USECS_PER_SEC <= now)
		return "periodic";
	if (from - cursor->from > USECS_PER_DAY || from < cursor->from ||
		now + booking_sync_future * USECS_PER_SEC - cursor->until > USECS_PER_DAY)
		return "window";
	return NULL;
}

/*
 * Move the window in which series are expanded.  It moves by days, since every
 * series is fetched again then.
 */
static void
move_window(BookingCursor *cursor, TimestampTz now)
{
	TimestampTz from = now - booking_sync_past * USECS_PER_SEC;
	TimestampTz until = now + booking_sync_future * USECS_PER_SEC;

	if (cursor->full_at != 0 && from >= cursor->from &&
		from - cursor->from <= USECS_PER_DAY &&
		until - cursor->until <= USECS_PER_DAY && until >= cursor->until)
		return;
	cursor->from = from;
	cursor->until = until;
	booking_store_events_expire(cursor->calendar_id);
}

/*
 * Begin a transaction of a round; false if the round has ended meanwhile,
 * because its calendar was removed or is elsewhere now.
 */
bool
booking_round_enter(const BookingRound *round)
{
	return booking_store_cursor_lock(round->calendar_id, round->round);
}

/*
 * All that the listing brought so far is applied; it goes on at a page.  False, and
 * how the round fails, if it would go on for ever.
 */
bool
booking_round_page(BookingRound *round, const char *page,
				   BookingPullResult *failure)
{
	if (is_endless(round, page))
	{
		/* where it stands is of no use: all is listed again, from the start */
		memset(failure, 0, sizeof(*failure));
		failure->kind = BOOKING_PULL_EXPIRED;
		failure->retry_after = -1;
		failure->problem = "listing_endless";
		return false;
	}
	booking_store_cursor_page(round->calendar_id, page);
	round->from_page = true;
	return true;
}

/*
 * Does a listing never end?  Its pages may lead back to one another: every page is
 * compared with one that was read before, which becomes another one whenever the
 * number of pages has doubled, so that it is in the circle some time (Brent's
 * method).  Or there are ever new ones, with ever the same on them or nothing.
 */
static bool
is_endless(BookingRound *round, const char *page)
{
	uint64		mark = hash_bytes_extended((const unsigned char *) page,
										   strlen(page), 0);

	round->npages++;
	if ((round->npages > 1 && mark == round->page_mark) ||
		round->npages > SPARE_PAGES + round->nlisted ||
		round->nlisted > MAX_LISTED)
		return true;
	if ((round->npages & (round->npages - 1)) == 0)
		round->page_mark = mark;
	return false;
}

/*
 * All is applied: judge what became of our own events, a few at a time, and
 * then end the round.  Unless it has ended, call again in the next transaction,
 * if need be after the provider was asked.
 */
BookingRoundStep
booking_round_finish(BookingCall *call, BookingRound *round, const char *token)
{
	TimestampTz now = booking_call_hold_clock();
	int			interval = booking_sync_interval > 0 ? booking_sync_interval :
		UNSET_INTERVAL_SECS;
	BookingRoundStep step = booking_effects_settle(call, round);

	if (step != BOOKING_ROUND_OVER)
		return step;
	if (round->suspects->doubted)
	{
		disbelieve(round, now);
		return step;
	}
	/* what was left for the next round need not wait long, if any comes of it */
	if (round->suspects->capped && round->suspects->nabsent > 0)
		interval = 1;
	if (round->whole)
		booking_store_events_sweep(round->calendar_id, round->round,
								   round->provider->lists_window,
								   round->from, round->until);
	booking_store_overlaps_of_calendar(round->calendar_id, call->now);
	booking_store_overlaps_resolve(round->calendar_id, call->now);
	booking_store_operations_hasten(round->calendar_id, BOOKING_PROBLEM_UNREAD,
									now);
	booking_count(BOOKING_COUNT_ROUNDS, "finished", NULL);
	booking_store_cursor_finish(round->calendar_id, token, round->whole, now,
								now + (TimestampTz) (interval * jitter(0.1) *
													 USECS_PER_SEC));
	return step;
}

/*
 * What was listed is not to be believed: it left out most of what we have
 * written, and the provider, asked about each, does not bear it out.  Nothing
 * else that it says or leaves out counts either; all is listed again.
 */
static void
disbelieve(const BookingRound *round, TimestampTz now)
{
	BookingCursorFailure failure = {"listing_doubtful"};
	BookingPullResult result = {BOOKING_PULL_FAILED};

	failure.restart = true;
	failure.counts = true;
	booking_count(BOOKING_COUNT_ROUNDS, "failed", NULL);
	booking_store_cursor_fail(round->calendar_id, &failure, now,
							  after_failure(round, &result, now));
}

/*
 * A try of a round failed.  A token that is not known any more makes the round
 * list everything, at once; if even a listing of everything is answered so at
 * its start, only a person can help.
 */
void
booking_round_fail(BookingCall *call, const BookingRound *round,
				   const BookingPullResult *result)
{
	TimestampTz now = booking_call_hold_clock();
	BookingCursorFailure failure = {result->problem != NULL ? result->problem : "failed"};
	bool		expired = result->kind == BOOKING_PULL_EXPIRED;

	failure.restart = expired;
	failure.park = expired && !round->has_token && !round->from_page;
	failure.counts = !expired || !round->has_token;
	booking_count(BOOKING_COUNT_ROUNDS, "failed", NULL);
	booking_store_cursor_fail(round->calendar_id, &failure, now,
							  failure.counts ?
							  after_failure(round, result, now) : now);
}

/*
 * When to try again: exponentially later, not all at once, and not before the
 * provider asked for.
 */
static TimestampTz
after_failure(const BookingRound *round, const BookingPullResult *result,
			  TimestampTz now)
{
	double		seconds = BACKOFF_FIRST_SECS;

	for (int i = 0; i < round->failures && seconds < BACKOFF_LAST_SECS; i++)
		seconds *= 2;
	seconds = Min(seconds, BACKOFF_LAST_SECS) * jitter(0.25);
	if (result->retry_after > 0)
		seconds = Max(seconds, Min(result->retry_after, BACKOFF_LAST_SECS));
	return now + (TimestampTz) (seconds * USECS_PER_SEC);
}

/*
 * A factor near 1, so that what began together does not stay together.
 */
static double
jitter(double part)
{
	return 1 - part + 2 * part * pg_prng_double(&pg_global_prng_state);
}

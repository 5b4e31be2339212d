/*-------------------------------------------------------------------------
 *
 * outage.c
 *	  accounts whose server does not answer
 *
 * Each operation and each calendar waits longer from try to try.  But a server
 * that is away for an hour may be waited for by thousands of them, and all of
 * those together would ask it without a pause, and use up their tries.  So when
 * several in a row, with no answer between them, found no server, the whole
 * account is left alone for 1, 2, 4 ... 60 seconds, and then a few ask again.
 * Any answer ends that.
 *
 * One operation or calendar of which a server dies is no outage: it counts once
 * until another one fails as well.
 *
 * The pause itself is in booking.account, where people see it and a worker that
 * starts finds it; how long the next one is to be is in memory only.
 *
 * IDENTIFICATION
 *	  booking/src/controller/outage.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "controller/outage.h"
#include "store/account.h"

/* failures in a row before an account is left alone */
#define OUTAGE_FAILURES 5

#define PAUSE_FIRST_SECS 1
#define PAUSE_LAST_SECS 60

/* an account that has failed since it last answered */
typedef struct Outage
{
	dlist_node	node;
	char	   *account_key;	/* tenant, line feed, account */
	int			failures;
	int64		who;			/* the operation or calendar that failed last */
	double		pause;			/* seconds of the last one, 0 before the first */
	TimestampTz until;			/* its end */
} Outage;

static Outage *find_outage(const char *account_key);
static Outage *begin_outage(const char *account_key);
static void pause_account(const BookingCall *call, Outage *outage,
						  TimestampTz now);
static void block_account(const BookingCall *call, const char *account_key,
						  TimestampTz until, const char *problem);

static dlist_head outages = DLIST_STATIC_INIT(outages);

/*
 * A request got no answer from the server of an account, or one that says that
 * it is out of order.  who tells operations and calendars apart: the number of
 * an operation, or that of a calendar made negative.  Within a transaction.
 */
void
booking_outage_failed(const BookingCall *call, const char *account_key,
					  int64 who)
{
	Outage	   *outage = find_outage(account_key);
	TimestampTz now = booking_call_hold_clock();

	if (outage == NULL)
		outage = begin_outage(account_key);

	/* what was on its way when the pause began tells nothing new */
	if (now < outage->until || outage->who == who)
		return;
	outage->who = who;
	if (++outage->failures >= OUTAGE_FAILURES)
		pause_account(call, outage, now);
}

/*
 * A calendar could not be read.  If the server asked for some time it gets
 * that.
 */
void
booking_outage_unread(const BookingCall *call, const char *account_key,
					  int64 calendar_id, const BookingPullResult *result)
{
	if (result->retry_after > 0)
		booking_outage_block(call, account_key, result->retry_after,
							 result->problem != NULL ? result->problem : "failed");
	else if (result->kind == BOOKING_PULL_FAILED &&
			 (result->status == 0 || result->status >= 500))
		booking_outage_failed(call, account_key, -calendar_id);
}

/*
 * The server of an account asks to be left alone for so many seconds.
 */
void
booking_outage_block(const BookingCall *call, const char *account_key,
					 int64 seconds, const char *problem)
{
	block_account(call, account_key, booking_call_hold_clock() +
				  Min(seconds, SECS_PER_HOUR) * USECS_PER_SEC, problem);
}

/*
 * The server of an account answered.
 */
void
booking_outage_over(const char *account_key)
{
	Outage	   *outage = find_outage(account_key);

	if (outage == NULL)
		return;
	dlist_delete(&outage->node);
	pfree(outage->account_key);
	pfree(outage);
}

/*
 * Has the server of an account answered nobody for so long that the account is
 * left alone?
 */
bool
booking_outage_lasts(const char *account_key)
{
	Outage	   *outage = find_outage(account_key);

	return outage != NULL && outage->pause > 0;
}

/*
 * Leave an account alone for a while, longer each time, and not all accounts of
 * a server until the same moment.
 */
static void
pause_account(const BookingCall *call, Outage *outage, TimestampTz now)
{
	outage->pause = outage->pause == 0 ? PAUSE_FIRST_SECS :
		Min(outage->pause * 2, PAUSE_LAST_SECS);
	outage->until = now + (TimestampTz)
		(outage->pause * (0.75 + 0.5 * pg_prng_double(&pg_global_prng_state)) *
		 USECS_PER_SEC);
	block_account(call, outage->account_key, outage->until,
				  "the server does not answer");
}

/*
 * Leave an account alone until an instant.
 */
static void
block_account(const BookingCall *call, const char *account_key,
			  TimestampTz until, const char *problem)
{
	const char *account = strchr(account_key, '\n');

	booking_store_account_block(cstring_to_text_with_len(account_key,
														 account - account_key),
								cstring_to_text(account + 1), until,
								cstring_to_text(problem), call->now);
}

/*
 * What is known of an account, NULL if it has answered last.
 */
static Outage *
find_outage(const char *account_key)
{
	dlist_iter	iter;

	dlist_foreach(iter, &outages)
	{
		Outage	   *outage = dlist_container(Outage, node, iter.cur);

		if (strcmp(outage->account_key, account_key) == 0)
			return outage;
	}
	return NULL;
}

/*
 * An account fails for the first time.
 */
static Outage *
begin_outage(const char *account_key)
{
	Outage	   *outage = MemoryContextAllocZero(TopMemoryContext, sizeof(Outage));

	outage->account_key = MemoryContextStrdup(TopMemoryContext, account_key);
	dlist_push_tail(&outages, &outage->node);
	return outage;
}

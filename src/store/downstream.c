/*-------------------------------------------------------------------------
 *
 * downstream.c
 *	  what follows a change of an intent: the feed and the reminders
 *
 * Called by whoever writes booking.intent, after the row is written.  Most
 * tenants have neither consumers nor reminders, and for them this must cost
 * nothing: what a tenant has is remembered as resources and permissions are
 * (cache.c).
 *
 * That a change was not missed is certain for reminders, because whoever puts
 * the first one of a tenant holds the lock of its intent.  For the feed no call
 * takes a lock; instead this is asked after the row is written, when its
 * transaction holds the lock of a writer on booking.intent to its end, and a
 * consumer begins by waiting for such transactions (ledger/feed.c).
 *
 * IDENTIFICATION
 *	  booking/src/store/downstream.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/inval.h"

#include "compat.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/plan.h"
#include "store/task.h"

#define WANTS_FEED 1
#define WANTS_TASKS 2
#define WANTS_DELIVERY 4

static int	wanted(const text *tenant);

static bool delivery_wanted = false;

/*
 * An intent was written.  kind is one of those of booking.change.
 */
void
booking_store_downstream(int64 intent_id, text *tenant, const char *kind)
{
	int			wants = wanted(tenant);

	if ((wants & WANTS_FEED) != 0)
		booking_store_change_insert(intent_id, kind);
	if ((wants & WANTS_DELIVERY) != 0)
		delivery_wanted = true;

	/* an intent that is new has none yet */
	if ((wants & WANTS_TASKS) != 0 && strcmp(kind, "recorded") != 0)
		booking_store_task_follow(intent_id);
}

/*
 * So were the intents whose numbers and tenants the last statement returned.
 */
void
booking_store_downstream_rows(int count, const char *kind)
{
	int64	   *intents = palloc_array(int64, count + 1);
	text	  **tenants = palloc_array(text *, count + 1);

	for (int i = 0; i < count; i++)
	{
		intents[i] = DatumGetInt64(booking_plan_column(i, 1, NULL));
		tenants[i] = DatumGetTextPP(booking_plan_column(i, 2, NULL));
	}
	for (int i = 0; i < count; i++)
		booking_store_downstream(intents[i], tenants[i], kind);
}

/*
 * Has the tenant a consumer?
 */
bool
booking_store_feed_wanted(const text *tenant)
{
	return (wanted(tenant) & WANTS_FEED) != 0;
}

/*
 * Has the tenant a reminder?
 */
bool
booking_store_tasks_wanted(const text *tenant)
{
	return (wanted(tenant) & WANTS_TASKS) != 0;
}

/*
 * Was a change written since this was last asked that the worker is to deliver?
 * Cannot fail.
 */
bool
booking_store_delivery_wanted(void)
{
	bool		was_wanted = delivery_wanted;

	delivery_wanted = false;
	return was_wanted;
}

/*
 * What the tenant wants.  Messages of other backends are accepted here, since
 * the lock that this relies on may have been taken since they last were; the
 * cache itself stays as long as its users may have pointers into it.
 */
static int
wanted(const text *tenant)
{
	static BookingPlan plan = {
		"SELECT EXISTS (SELECT FROM booking.consumer c WHERE c.tenant = $1),"
		" EXISTS (SELECT FROM booking.task t WHERE t.tenant = $1),"
		" EXISTS (SELECT FROM booking.consumer c"
		"  WHERE c.tenant = $1 AND starts_with(c.name, E'\\n'))",
		{TEXTOID}
	};

	/* cached values; the addresses tell them apart */
	static char wants[WANTS_FEED + WANTS_TASKS + WANTS_DELIVERY + 1];
	BookingCacheKey key = {BOOKING_CACHE_DOWNSTREAM, {tenant}};
	void	   *known;
	Datum		values[1];
	int			found = 0;

	AcceptInvalidationMessages();
	if (booking_cache_find(&key, &known))
		return (int) ((char *) known - wants);

	values[0] = PointerGetDatum(tenant);
	booking_plan_run(&plan, values, NULL, 1);
	if (DatumGetBool(booking_plan_column(0, 1, NULL)))
		found |= WANTS_FEED;
	if (DatumGetBool(booking_plan_column(0, 2, NULL)))
		found |= WANTS_TASKS;
	if (DatumGetBool(booking_plan_column(0, 3, NULL)))
		found |= WANTS_DELIVERY;
	booking_cache_add(&key, &wants[found]);
	return found;
}

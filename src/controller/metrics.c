/*-------------------------------------------------------------------------
 *
 * metrics.c
 *	  booking_metrics, and keeping the counters
 *
 * Counters come from shared memory, gauges from indexes, and what is too much to
 * count from the planner's statistics; doc/metrics.md has the list.  Nothing here
 * names a tenant, a principal, a calendar or an account.
 *
 * IDENTIFICATION
 *	  booking/src/controller/metrics.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "controller/metrics.h"
#include "controller/session.h"
#include "controller/shared.h"
#include "guc.h"
#include "ledger/count.h"
#include "ledger/lock.h"
#include "ledger/site.h"
#include "store/counter.h"

PG_FUNCTION_INFO_V1(booking_metrics);

/* of each kind of thing that is open, so many are counted */
#define MOST_COUNTED 5000

/* sources and verdicts of deliveries that were refused */
#define MOST_REFUSED 2000

/* counters are stored again after so long, or the worker's own interval */
#define KEEP_SECS 10

/* counters that are being stored */
typedef struct Keeping
{
	MemoryContext context;		/* outlives the transaction */
	BookingStoredCount *counts;
	int			count;
} Keeping;

/* states in which intents stay; those in the others are counted */
static const char *const estimated_states[] = {"committed", "created", "failed",
"conflict", "needs_proposal", "canceled"};

static void emit(ReturnSetInfo *result, const char *name, double value,
				 const char *label, const char *word);
static void emit_labels(void *arg, const char *name, Jsonb *labels,
						double value);
static Jsonb *make_labels(const char *const *names, const char *const *values,
						  int count);
static void emit_intents(ReturnSetInfo *result);
static void emit_counters(ReturnSetInfo *result);
static void emit_refused(ReturnSetInfo *result);
static void emit_worker(ReturnSetInfo *result);
static BookingStoredCount *read_counters(int *count);
static void load_counters(void);
static void store_counters(BookingCall *call, void *arg);

/*
 * booking_metrics() returns table (name text, labels jsonb, value double
 * precision)
 */
Datum
booking_metrics(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	BookingCall call;

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, false);
	booking_store_gauges(booking_call_hold_clock(), MOST_COUNTED, emit_labels,
						 result);
	emit_intents(result);
	emit_counters(result);
	emit_refused(result);
	emit_worker(result);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * A sample with one label, or with none where that is NULL.
 */
static void
emit(ReturnSetInfo *result, const char *name, double value,
	 const char *label, const char *word)
{
	emit_labels(result, name, make_labels(&label, &word, label == NULL ? 0 : 1),
				value);
}

/*
 * A sample.
 */
static void
emit_labels(void *arg, const char *name, Jsonb *labels, double value)
{
	ReturnSetInfo *result = arg;
	Datum		values[3];
	bool		nulls[3] = {0};

	values[0] = CStringGetTextDatum(name);
	values[1] = JsonbPGetDatum(labels);
	values[2] = Float8GetDatum(value);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * An object of labels.
 */
static Jsonb *
make_labels(const char *const *names, const char *const *values, int count)
{
	JsonbParseState *state = NULL;
	JsonbValue	item;

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < count; i++)
	{
		item.type = jbvString;
		item.val.string.val = unconstify(char *, names[i]);
		item.val.string.len = strlen(names[i]);
		(void) pushJsonbValue(&state, WJB_KEY, &item);
		item.val.string.val = unconstify(char *, values[i]);
		item.val.string.len = strlen(values[i]);
		(void) pushJsonbValue(&state, WJB_VALUE, &item);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/*
 * Intents in the states in which they stay: there may be too many to count.
 */
static void
emit_intents(ReturnSetInfo *result)
{
	double		total;
	int			count;
	BookingStateEstimate *states = booking_store_intent_estimates(&total, &count);

	emit(result, "booking_intents_estimated", total, NULL, NULL);
	for (int i = 0; i < lengthof(estimated_states); i++)
	{
		double		intents = 0;

		for (int j = 0; j < count; j++)
		{
			if (strcmp(states[j].state, estimated_states[i]) == 0)
				intents = states[j].intents;
		}
		emit(result, "booking_intents", intents, "state", estimated_states[i]);
	}
}

/*
 * What was counted.
 */
static void
emit_counters(ReturnSetInfo *result)
{
	int			count;
	BookingStoredCount *counts = read_counters(&count);

	for (int i = 0; i < count; i++)
	{
		BookingCountLabel label;

		if (booking_count_describe(counts[i].key, &label))
			emit_labels(result, label.metric,
						make_labels(label.names, label.values,
									label.names[1] != NULL ? 2 : 1),
						counts[i].value);
	}
	emit(result, "booking_counters_complete", booking_count_shared() ? 1 : 0,
		 NULL, NULL);
}

/*
 * The counters of this database.  On a standby others store them and nothing
 * can be added to what they will store; where the sessions count each for itself
 * there is only what the worker stored.
 */
static BookingStoredCount *
read_counters(int *count)
{
	if (!booking_count_shared() || RecoveryInProgress())
		return booking_store_counters_read(count);
	load_counters();
	return booking_count_copy(count);
}

/*
 * Add what is stored to what was counted since the start, unless it was.
 */
static void
load_counters(void)
{
	BookingStoredCount *stored;
	int			count;

	if (booking_count_loaded(booking_store_counter_relation()))
		return;
	stored = booking_store_counters_read(&count);
	booking_count_load(stored, count);
}

/*
 * Deliveries that were refused, and creations that came after the cancel.
 */
static void
emit_refused(ReturnSetInfo *result)
{
	int			count;
	BookingRefusedCount *refused = booking_store_counters_refused(MOST_REFUSED,
																  &count);

	for (int i = 0; i < count; i++)
	{
		const char *names[2] = {"source", "verdict"};
		const char *values[2];
		char		source[BOOKING_COUNT_SOURCE_LEN];
		bool		late = strcmp(refused[i].verdict, "late_create") == 0;

		booking_count_source_name(booking_count_digest(refused[i].source), source);
		values[0] = source;
		values[1] = refused[i].verdict;
		emit_labels(result, late ? "booking_late_creations_total" :
					"booking_deliveries_total",
					make_labels(names, values, late ? 1 : 2),
					refused[i].deliveries);
	}
}

/*
 * How the worker is, and whether it may send.
 */
static void
emit_worker(ReturnSetInfo *result)
{
	TimestampTz now = GetCurrentTimestamp();
	BookingWorkerInfo info = {0};
	BookingCountBackoff backoff;
	bool		known = booking_shared_worker_info(MyDatabaseId, &info);
	bool		up = known ? info.state != BOOKING_WORKER_STARTING :
		!booking_shared_present() && booking_lock_worker_holder() != 0;

	emit(result, "booking_worker_up", up ? 1 : 0, NULL, NULL);
	emit(result, "booking_worker_paused",
		 known && info.state == BOOKING_WORKER_PAUSED ? 1 : 0, NULL, NULL);
	emit(result, "booking_worker_in_flight", info.in_flight, NULL, NULL);
	if (known && info.beat_at != 0)
		emit(result, "booking_worker_beat_age_seconds",
			 Max(now - info.beat_at, 0) / (double) USECS_PER_SEC, NULL, NULL);
	booking_count_starts(&backoff);
	emit(result, "booking_worker_start_failures", backoff.failures, NULL, NULL);
	emit(result, "booking_worker_backoff_seconds",
		 up || backoff.failures == 0 ? 0 :
		 Max(backoff.next_at - now, 0) / (double) USECS_PER_SEC, NULL, NULL);

	/* a database without any account is no copy that waits to be armed */
	if (booking_site_known())
		emit(result, "booking_armed", booking_site_disarmed() == NULL ? 1 : 0,
			 NULL, NULL);
}

/*
 * The worker's part: store what was counted since the last time, if that is a
 * while ago.  A failure costs nothing but the interval, and is told once.
 */
void
booking_metrics_keep(void)
{
	static TimestampTz kept_at = 0;
	static bool told = false;
	Keeping		keeping = {CurrentMemoryContext};
	BookingCall call;
	ErrorData  *error;

	if (!TimestampDifferenceExceeds(kept_at, GetCurrentTimestamp(),
									Min(KEEP_SECS, booking_poll_interval) * 1000))
		return;
	kept_at = GetCurrentTimestamp();
	(void) booking_count_unstored(&keeping.count);
	if (keeping.count == 0)
		return;

	booking_session_begin(&call, "storing counters");
	error = booking_session_item(&call, store_counters, &keeping);
	booking_session_commit(&call);
	if (error == NULL)
		booking_count_stored(keeping.counts, keeping.count);
	else if (!told)
		ereport(LOG,
				(errmsg("booking: could not store counters: %s", error->message)));
	told = error != NULL;
}

/*
 * Store what is not stored, in a transaction, after what is was added to it.
 */
static void
store_counters(BookingCall *call, void *arg)
{
	Keeping    *keeping = arg;
	MemoryContext old;

	load_counters();
	old = MemoryContextSwitchTo(keeping->context);
	keeping->counts = booking_count_unstored(&keeping->count);
	MemoryContextSwitchTo(old);
	booking_store_counters_write(keeping->counts, keeping->count);
}

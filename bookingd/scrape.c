/*-------------------------------------------------------------------------
 *
 * scrape.c
 *	  the metrics of the database
 *
 * Deliveries come first: however many ask, the database is asked once at a time,
 * by one connection, and what it says holds for some seconds; so does that it
 * fails.  Who asks meanwhile waits for the same answer, and not long.
 *
 * IDENTIFICATION
 *	  booking/bookingd/scrape.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "pqexpbuffer.h"

#include "bookingd/clock.h"
#include "bookingd/scrape.h"

/* who asks waits so long at most, which is less than Prometheus does */
#define LONGEST_WAIT (2 * CLOCK_SECOND)

struct Scraper
{
	Pool	   *pool;
	int64		age;			/* how long an answer holds */
	PoolJob		job;
	bool		running;
	int64		late_at;		/* when nobody waits for the job any more */
	int64		holds_until;
	bool		good;			/* the last answer had metrics */
	PQExpBufferData rows;
	dlist_head	waiting;		/* ScrapeWaiter */
};

static void job_done(PoolJob *job, PoolOutcome outcome, PGresult *result);
static void write_rows(PQExpBuffer out, const PGresult *result);
static void tell_all(Scraper *scraper, const char *rows);

/*
 * Of a pool, for answers that hold so many seconds.
 */
Scraper *
scrape_create(Pool *pool, int age)
{
	Scraper    *scraper = pg_malloc0(sizeof(Scraper));

	scraper->pool = pool;
	scraper->age = age * CLOCK_SECOND;
	initPQExpBuffer(&scraper->rows);
	dlist_init(&scraper->waiting);
	return scraper;
}

/*
 * Free it, after the pool has ended all jobs.
 */
void
scrape_free(Scraper *scraper)
{
	termPQExpBuffer(&scraper->rows);
	pg_free(scraper);
}

/*
 * Ask for the metrics.  False if that is answered now, by rows, which are NULL
 * where the database tells none.
 */
bool
scrape_ask(Scraper *scraper, ScrapeWaiter *waiter, const char **rows)
{
	int64		now = clock_now();

	*rows = NULL;
	if (!scraper->running && now < scraper->holds_until)
	{
		*rows = scraper->good ? scraper->rows.data : NULL;
		return false;
	}
	if (!scraper->running)
	{
		if (!pool_has_metrics(scraper->pool))
			return false;
		scraper->job.statement = POOL_METRICS;
		scraper->job.done = job_done;
		scraper->job.owner = scraper;
		if (!pool_submit(scraper->pool, &scraper->job))
			return false;
		scraper->running = true;
		scraper->late_at = now + LONGEST_WAIT;
	}
	else if (now >= scraper->late_at)
		return false;
	dlist_push_tail(&scraper->waiting, &waiter->node);
	return true;
}

/*
 * The database has answered, or will not.
 */
static void
job_done(PoolJob *job, PoolOutcome outcome, PGresult *result)
{
	Scraper    *scraper = job->owner;

	scraper->running = false;
	scraper->holds_until = clock_now() + scraper->age;
	resetPQExpBuffer(&scraper->rows);
	if (outcome == POOL_COMMITTED)
		write_rows(&scraper->rows, result);
	scraper->good = outcome == POOL_COMMITTED && !PQExpBufferBroken(&scraper->rows);
	tell_all(scraper, scraper->good ? scraper->rows.data : NULL);
}

/*
 * Let nobody wait too long, and return when to come again at the latest.
 */
int64
scrape_tick(Scraper *scraper, int64 now)
{
	if (dlist_is_empty(&scraper->waiting))
		return CLOCK_NEVER;
	if (now < scraper->late_at)
		return scraper->late_at;
	tell_all(scraper, NULL);
	return CLOCK_NEVER;
}

/*
 * Answer all who wait.
 */
static void
tell_all(Scraper *scraper, const char *rows)
{
	while (!dlist_is_empty(&scraper->waiting))
	{
		ScrapeWaiter *waiter = dlist_container(ScrapeWaiter, node,
											   dlist_pop_head_node(&scraper->waiting));

		waiter->done(waiter, rows);
	}
}

/*
 * Write the rows of booking_metrics(), which come in the order of names.
 * A name that ends in _total is a counter, any other a gauge.
 */
static void
write_rows(PQExpBuffer out, const PGresult *result)
{
	const char *previous = "";

	for (int row = 0; row < PQntuples(result); row++)
	{
		const char *name = PQgetvalue(result, row, 0);
		size_t		len = strlen(name);
		bool		counter = len > 6 && strcmp(name + len - 6, "_total") == 0;

		if (strcmp(name, previous) != 0)
			appendPQExpBuffer(out, "# TYPE %s %s\n", name, counter ? "counter" : "gauge");
		previous = name;
		appendPQExpBufferStr(out, name);
		if (PQgetlength(result, row, 1) > 0)
			appendPQExpBuffer(out, "{%s}", PQgetvalue(result, row, 1));
		appendPQExpBuffer(out, " %s\n",
						  PQgetisnull(result, row, 2) ? "NaN" : PQgetvalue(result, row, 2));
	}
}

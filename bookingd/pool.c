/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  connections to the database
 *
 * A few connections, each with one call at a time, and a queue for the calls that
 * find none free.  Calls that run at the same time share the server's flush of its
 * log, so several connections make more commits than one that is fast.
 *
 * The rule that all else serves: an outcome of POOL_COMMITTED means that the
 * server has said that the transaction is committed.  It sends the row and the end
 * of the statement before it commits, so a result alone means nothing yet; only
 * when the server is ready for the next query and no error came has it committed.
 * Whatever breaks before that is POOL_UNAVAILABLE, also where the transaction may
 * have been committed: the sender comes again, and the database knows deliveries
 * that it has seen.
 *
 * While no connection is up, jobs are refused at once, and one connection at a
 * time tries to come up, with growing pauses; the others follow when it has.
 *
 * IDENTIFICATION
 *	  booking/bookingd/pool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "bookingd/clock.h"
#include "bookingd/log.h"
#include "bookingd/pool_internal.h"

/* name of the prepared call, as in pool_connect.c */
#define RECEIVE "bookingd_receive"

static void conn_ready(LoopSource *source, uint32 events);
static void read_results(PoolConn *conn);
static void conn_finished(PoolConn *conn, PGresult *result, bool failed);
static void close_conn(PoolConn *conn);
static void fail_waiting(Pool *pool);
static void start_job(PoolConn *conn, PoolJob *job);
static void retry_some(Pool *pool, int64 now);
static int64 next_deadline(const Pool *pool);

/*
 * A pool of so many connections, none of which is made yet: the first
 * pool_tick() begins with it.
 */
Pool *
pool_create(Loop *loop, const char *dbname, const char *schema, int size,
			int queue, int answer_timeout)
{
	Pool	   *pool = pg_malloc0(offsetof(Pool, conns) + size * sizeof(PoolConn));

	pool->loop = loop;
	pool->dbname = dbname;
	pool->schema = schema;
	pool->size = size;
	pool->queue = queue;
	pool->answer_timeout = answer_timeout * CLOCK_SECOND;
	dlist_init(&pool->waiting);
	for (int i = 0; i < size; i++)
	{
		pool->conns[i].pool = pool;
		pool->conns[i].source.fd = -1;
		pool->conns[i].deadline = CLOCK_NEVER;
		pool->conns[i].source.ready = conn_ready;
		pool->conns[i].source.owner = &pool->conns[i];
	}
	return pool;
}

/*
 * Close all connections and free the pool.  No job may be left.
 */
void
pool_free(Pool *pool)
{
	for (int i = 0; i < pool->size; i++)
		close_conn(&pool->conns[i]);
	pg_free(pool->receive_sql);
	pg_free(pool->metrics_sql);
	pg_free(pool);
}

/*
 * Is there a connection that can take a job, now or after its present one?
 */
bool
pool_is_up(const Pool *pool)
{
	for (int i = 0; i < pool->size; i++)
	{
		if (pool->conns[i].state >= CONN_IDLE)
			return true;
	}
	return false;
}

/*
 * Does the database have booking_metrics()?
 */
bool
pool_has_metrics(const Pool *pool)
{
	return pool->metrics_sql != NULL && pool_is_up(pool);
}

/*
 * Give a job to the pool.  False if it cannot be done: no connection is up, or
 * too many jobs wait already.
 */
bool
pool_submit(Pool *pool, PoolJob *job)
{
	if (!pool_is_up(pool) || pool->nwaiting >= pool->queue)
		return false;
	job->result = NULL;
	job->failed = false;
	job->deadline = clock_now() + pool->answer_timeout;
	dlist_push_tail(&pool->waiting, &job->node);
	pool->nwaiting++;
	return true;
}

/*
 * Give waiting jobs to idle connections.  Called from the loop only, so that a
 * job cannot end while it is being submitted.
 */
void
pool_dispatch(Pool *pool)
{
	for (int i = 0; i < pool->size && !dlist_is_empty(&pool->waiting); i++)
	{
		if (pool->conns[i].state == CONN_IDLE)
		{
			dlist_node *node = dlist_pop_head_node(&pool->waiting);

			pool->nwaiting--;
			start_job(&pool->conns[i], dlist_container(PoolJob, node, node));
		}
	}
}

/*
 * Send a job's call.
 */
static void
start_job(PoolConn *conn, PoolJob *job)
{
	int			sent;

	conn->state = CONN_BUSY;
	conn->job = job;
	conn->deadline = job->deadline;
	if (job->statement == POOL_RECEIVE)
		sent = PQsendQueryPrepared(conn->conn, RECEIVE, POOL_PARAMS, job->values,
								   job->lengths, job->formats, 0);
	else
		sent = PQsendQuery(conn->conn, conn->pool->metrics_sql);
	if (!sent || !pool_flush(conn))
		pool_lost(conn, PQerrorMessage(conn->conn));
}

/*
 * End a job.
 */
void
pool_job_ends(PoolJob *job, PoolOutcome outcome, PGresult *result)
{
	PGresult   *kept = job->result;

	job->result = NULL;
	job->done(job, outcome, result);
	PQclear(kept);
}

/*
 * The loop has news of a connection.
 */
static void
conn_ready(LoopSource *source, uint32 events)
{
	PoolConn   *conn = source->owner;

	if (conn->state == CONN_CONNECTING)
	{
		pool_connect_ready(conn);
		return;
	}
	if ((events & EPOLLOUT) && !pool_flush(conn))
	{
		pool_lost(conn, PQerrorMessage(conn->conn));
		return;
	}
	if (events & ~EPOLLOUT)
	{
		/* what the server said before it went is still to be read */
		(void) PQconsumeInput(conn->conn);
		read_results(conn);
	}
}

/*
 * Read the results that have come.  The end of a query is where the server is
 * ready for the next one, which is after the commit.
 */
static void
read_results(PoolConn *conn)
{
	PGresult   *first = NULL;
	bool		failed = false;

	if (conn->job)
	{
		first = conn->job->result;
		failed = conn->job->failed;
	}
	while (conn->state != CONN_IDLE && !PQisBusy(conn->conn))
	{
		PGresult   *result = PQgetResult(conn->conn);

		if (!result)
		{
			if (PQstatus(conn->conn) == CONNECTION_BAD)
				break;
			if (conn->job)
				conn->job->result = NULL;
			conn_finished(conn, first, failed);
			PQclear(first);
			return;
		}
		if (PQresultStatus(result) != PGRES_TUPLES_OK &&
			PQresultStatus(result) != PGRES_COMMAND_OK)
			failed = true;

		/* the error is what counts, also where it comes with the commit */
		if (first && failed)
		{
			PQclear(first);
			first = NULL;
		}
		if (!first)
			first = result;
		else
			PQclear(result);
	}
	if (conn->job)
	{
		conn->job->result = first;
		conn->job->failed = failed;
	}
	else
		PQclear(first);
	if (PQstatus(conn->conn) == CONNECTION_BAD)
		pool_lost(conn, PQerrorMessage(conn->conn));
}

/*
 * A query has ended, and with it its transaction.
 *
 * Errors that say that the session or the server is no good, or that the
 * function is not what it was, end the connection; the next one looks it up.
 */
static void
conn_finished(PoolConn *conn, PGresult *result, bool failed)
{
	PoolJob    *job = conn->job;
	Pool	   *pool = conn->pool;

	if (conn->state != CONN_BUSY)
	{
		pool_setup_ready(conn, result);
		return;
	}
	conn->job = NULL;
	conn->state = CONN_IDLE;
	if (failed)
	{
		const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
		char		sqlstate[6];

		strlcpy(sqlstate, state ? state : "?????", sizeof(sqlstate));
		log_warning("a call in the database failed with SQLSTATE %s", sqlstate);
		if (strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "3F", 2) == 0 ||
			strncmp(sqlstate, "25", 2) == 0 || strncmp(sqlstate, "0A", 2) == 0)
			pool_lost(conn, "the function has changed, or the database is read-only");
	}
	else if (PQtransactionStatus(conn->conn) != PQTRANS_IDLE)
	{
		/* cannot be after a single statement; then nothing is certain */
		pool_lost(conn, "the transaction did not end");
		pool_job_ends(job, POOL_UNAVAILABLE, NULL);
		return;
	}
	pool_job_ends(job, failed ? POOL_FAILED : POOL_COMMITTED, result);
	pool_dispatch(pool);
}

/*
 * Close a connection.
 */
static void
close_conn(PoolConn *conn)
{
	loop_forget(conn->pool->loop, &conn->source);
	PQfinish(conn->conn);
	conn->conn = NULL;
	conn->state = CONN_DOWN;
	conn->deadline = CLOCK_NEVER;
}

/*
 * A connection was lost or not made.  Its job ends as unavailable, and those
 * that wait too when it was the last one.
 *
 * The reason may lie within the connection, so it is logged before the end of
 * that.
 */
void
pool_lost(PoolConn *conn, const char *why)
{
	Pool	   *pool = conn->pool;
	PoolJob    *job = conn->job;
	bool		was_up = conn->state >= CONN_IDLE;
	int64		pause = RETRY_FIRST;

	if (was_up)
		log_warning("connection to the database lost: %s", why);
	else
	{
		pool->stats.failures++;
		if (conn->failures < LOG_FIRST || conn->failures % LOG_EVERY == 0)
			log_warning("could not connect to the database: %s", why);
	}
	close_conn(conn);
	conn->job = NULL;

	/* the pause doubles, and varies by half, so that many do not come at once */
	for (int i = 0; i < conn->failures && pause < RETRY_MAX; i++)
		pause *= 2;
	pause = Min(pause, RETRY_MAX);
	pause -= random() % (pause / 2);
	conn->retry_at = clock_now() + (was_up ? 0 : pause);
	conn->failures += was_up ? 0 : 1;

	if (job)
		pool_job_ends(job, POOL_UNAVAILABLE, NULL);
	if (!pool_is_up(pool))
		fail_waiting(pool);
}

/*
 * End all jobs that wait for a connection.
 */
static void
fail_waiting(Pool *pool)
{
	if (!pool->said_down)
		log_error("the database is away; deliveries are answered with 503");
	pool->said_down = true;
	while (!dlist_is_empty(&pool->waiting))
	{
		dlist_node *node = dlist_pop_head_node(&pool->waiting);

		pool->nwaiting--;
		pool_job_ends(dlist_container(PoolJob, node, node), POOL_UNAVAILABLE, NULL);
	}
}

/*
 * A connection is ready for jobs.  The others are tried at once.
 */
void
pool_came_up(PoolConn *conn)
{
	Pool	   *pool = conn->pool;
	bool		first = !pool_is_up(pool);

	conn->state = CONN_IDLE;
	conn->deadline = CLOCK_NEVER;
	conn->failures = 0;
	pool->stats.connects++;
	pool->stats.reconnects += conn->was_up ? 1 : 0;
	conn->was_up = true;
	if (first)
	{
		log_info("connected to the database");
		pool->said_down = false;
		for (int i = 0; i < pool->size; i++)
			pool->conns[i].retry_at = 0;
	}
	pool_dispatch(pool);
}

/*
 * Try to connect where it is time.
 */
static void
retry_some(Pool *pool, int64 now)
{
	bool		alone = !pool_is_up(pool);

	for (int i = 0; alone && i < pool->size; i++)
	{
		if (pool->conns[i].state != CONN_DOWN)
			return;
	}
	for (int i = 0; i < pool->size; i++)
	{
		PoolConn   *conn = &pool->conns[i];

		/* the first one speaks for all that are down */
		if (conn->state == CONN_DOWN && conn->retry_at <= now)
			pool_connect(conn);
		if (alone)
			return;
	}
}

/*
 * Do what time demands, hand out the jobs that were submitted, and return when
 * to come again at the latest.
 */
int64
pool_tick(Pool *pool, int64 now)
{
	int64		next = CLOCK_NEVER;

	for (int i = 0; i < pool->size; i++)
	{
		PoolConn   *conn = &pool->conns[i];

		if (conn->state != CONN_DOWN && conn->state != CONN_IDLE && conn->deadline <= now)
			pool_lost(conn, "no answer in time");
	}
	while (!dlist_is_empty(&pool->waiting))
	{
		PoolJob    *job = dlist_head_element(PoolJob, node, &pool->waiting);

		if (job->deadline > now)
		{
			next = job->deadline;
			break;
		}
		dlist_delete(&job->node);
		pool->nwaiting--;
		pool_job_ends(job, POOL_UNAVAILABLE, NULL);
	}
	retry_some(pool, now);
	pool_dispatch(pool);

	return Min(next, next_deadline(pool));
}

/*
 * When a connection has waited long enough, for the server or to be made anew.
 */
static int64
next_deadline(const Pool *pool)
{
	int64		next = CLOCK_NEVER;
	int64		retry_at = CLOCK_NEVER;
	bool		busy = false;

	for (int i = pool->size - 1; i >= 0; i--)
	{
		const PoolConn *conn = &pool->conns[i];

		next = Min(next, conn->deadline);
		busy = busy || conn->state == CONN_CONNECTING ||
			conn->state == CONN_SETTING_UP || conn->state == CONN_PREPARING;
		if (conn->state == CONN_DOWN)
			retry_at = Min(retry_at, conn->retry_at);
	}
	if (pool_is_up(pool))
		return Min(next, retry_at);

	/* one at a time, and that is the first one */
	return busy ? next : pool->conns[0].retry_at;
}

/*
 * End all jobs now: those that wait, and those that run, with their
 * connections.
 */
void
pool_give_up(Pool *pool)
{
	for (int i = 0; i < pool->size; i++)
	{
		if (pool->conns[i].state == CONN_BUSY)
			pool_lost(&pool->conns[i], "the time to drain is over");
	}
	fail_waiting(pool);
}

/*
 * Figures for the metrics.
 */
void
pool_stats(const Pool *pool, PoolStats *stats)
{
	*stats = pool->stats;
	stats->size = pool->size;
	stats->waiting = pool->nwaiting;
	stats->idle = stats->busy = 0;
	for (int i = 0; i < pool->size; i++)
	{
		stats->idle += pool->conns[i].state == CONN_IDLE ? 1 : 0;
		stats->busy += pool->conns[i].state == CONN_BUSY ? 1 : 0;
	}
}

/*-------------------------------------------------------------------------
 *
 * pool_connect.c
 *	  making a connection to the database, without waiting for it
 *
 * A connection is usable when its settings are made, the function was found and
 * its call is prepared.  What fails on the way is tried again like a connection
 * that cannot be made: the extension may be created, or the standby promoted.
 *
 * IDENTIFICATION
 *	  booking/bookingd/pool_connect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "common/logging.h"

#include "bookingd/clock.h"
#include "bookingd/log.h"
#include "bookingd/pool_internal.h"

/* name of the prepared call */
#define RECEIVE "bookingd_receive"

/*
 * What a session begins with.  $1: milliseconds that a call may take, $2: the
 * schema that was asked for, or empty, $3: milliseconds to wait for a lock.
 *
 * A delivery about what somebody else holds is to be stored and applied later,
 * not to be given up with the call, so locks are waited for a shorter time.
 *
 * A commit must be on disk before it is answered for, so "off" is not accepted
 * of whoever set it; other values are someone's decision.  Nothing is found by
 * way of a search path; without a schema only a function that belongs to the
 * extension counts.
 */
static const char setup_sql[] =
"SELECT pg_catalog.set_config('search_path', '', false),"
" pg_catalog.set_config('statement_timeout', $1, false),"
" CASE pg_catalog.current_setting('lock_timeout') WHEN '0'"
" THEN pg_catalog.set_config('lock_timeout', $3, false) END,"
" CASE pg_catalog.current_setting('synchronous_commit') WHEN 'off'"
" THEN pg_catalog.set_config('synchronous_commit', 'on', false) END,"
" pg_catalog.current_setting('transaction_read_only'),"
" pg_catalog.max(f.call) FILTER (WHERE f.proname OPERATOR(pg_catalog.=) 'booking_webhook_receive'),"
" pg_catalog.max(f.call) FILTER (WHERE f.proname OPERATOR(pg_catalog.=) 'booking_metrics')"
" FROM (SELECT p.proname,"
"  pg_catalog.format('%I.%I', n.nspname, p.proname) AS call"
"  FROM pg_catalog.pg_proc p"
"  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace"
"  WHERE ((p.proname OPERATOR(pg_catalog.=) 'booking_webhook_receive'"
"    AND pg_catalog.oidvectortypes(p.proargtypes) OPERATOR(pg_catalog.=) 'text, jsonb, bytea, text')"
"   OR (p.proname OPERATOR(pg_catalog.=) 'booking_metrics' AND p.pronargs OPERATOR(pg_catalog.=) 0))"
"  AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')"
"  AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.<>) ''"
"   THEN n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.name"
"   ELSE EXISTS (SELECT FROM pg_catalog.pg_depend d"
"    JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid"
"    WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass"
"    AND d.objid OPERATOR(pg_catalog.=) p.oid"
"    AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass"
"    AND d.deptype OPERATOR(pg_catalog.=) 'e'"
"    AND e.extname OPERATOR(pg_catalog.=) 'booking') END) f";

enum
{
	SETUP_READ_ONLY = 4,
	SETUP_RECEIVE = 5,
	SETUP_METRICS = 6
};

static void start_setup(PoolConn *conn);
static void take_functions(Pool *pool, PGresult *result);

/*
 * libpq's notices end here: they may quote what was delivered.
 */
static void
ignore_notice(void *arg, const char *message)
{
	(void) arg;
	(void) message;
}

/*
 * Begin to connect.
 */
void
pool_connect(PoolConn *conn)
{
	Pool	   *pool = conn->pool;
	const char *keywords[] = {"dbname", "client_encoding", "fallback_application_name", NULL};
	const char *values[] = {pool->dbname, "UTF8", "bookingd", NULL};
	const char **first_keyword = keywords;
	const char **first_value = values;

	/* an empty name would hide PGDATABASE */
	if (!pool->dbname)
	{
		first_keyword++;
		first_value++;
	}
	conn->state = CONN_CONNECTING;
	conn->deadline = clock_now() + pool->answer_timeout;
	conn->conn = PQconnectStartParams(first_keyword, first_value, 1);
	if (!conn->conn)
	{
		pool_lost(conn, "out of memory");
		return;
	}
	PQsetNoticeProcessor(conn->conn, ignore_notice, NULL);
	if (PQstatus(conn->conn) == CONNECTION_BAD ||
		!loop_watch(pool->loop, &conn->source, PQsocket(conn->conn), EPOLLOUT))
		pool_lost(conn, PQerrorMessage(conn->conn));
}

/*
 * Go on with connecting.
 *
 * The socket may be another one each time, even under the same number, when
 * libpq tries one address after the other; so it is always entered anew.
 */
void
pool_connect_ready(PoolConn *conn)
{
	Loop	   *loop = conn->pool->loop;
	PostgresPollingStatusType status = PQconnectPoll(conn->conn);
	uint32		events;

	loop_forget(loop, &conn->source);
	if (status == PGRES_POLLING_FAILED)
	{
		pool_lost(conn, PQerrorMessage(conn->conn));
		return;
	}
	events = status == PGRES_POLLING_WRITING ? EPOLLOUT : EPOLLIN;
	if (!loop_watch(loop, &conn->source, PQsocket(conn->conn), events))
		pool_lost(conn, "the socket cannot be waited for");
	else if (status == PGRES_POLLING_OK)
		start_setup(conn);
}

/*
 * Send what is to be done first.
 */
static void
start_setup(PoolConn *conn)
{
	Pool	   *pool = conn->pool;
	char		timeout[32];
	char		lock_timeout[32];
	const char *values[3] = {timeout, pool->schema ? pool->schema : "", lock_timeout};

	snprintf(timeout, sizeof(timeout), "%lld", (long long) pool->answer_timeout / 1000);
	snprintf(lock_timeout, sizeof(lock_timeout), "%lld",
			 (long long) pool->answer_timeout / 2000);
	conn->state = CONN_SETTING_UP;
	if (PQsetnonblocking(conn->conn, 1) != 0 ||
		!PQsendQueryParams(conn->conn, setup_sql, 3, NULL, values, NULL, NULL, 0) ||
		!pool_flush(conn))
		pool_lost(conn, PQerrorMessage(conn->conn));
}

/*
 * A step of the set-up is done: the settings, or the preparation after them.
 */
void
pool_setup_ready(PoolConn *conn, PGresult *result)
{
	Pool	   *pool = conn->pool;

	if (conn->state == CONN_PREPARING)
	{
		if (PQresultStatus(result) != PGRES_COMMAND_OK)
			pool_lost(conn, PQresultErrorMessage(result));
		else
			pool_came_up(conn);
		return;
	}

	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
		pool_lost(conn, PQresultErrorMessage(result));
	else if (strcmp(PQgetvalue(result, 0, SETUP_READ_ONLY), "on") == 0)
		pool_lost(conn, "the database is read-only");
	else if (PQgetisnull(result, 0, SETUP_RECEIVE))
		pool_lost(conn, "the database has no booking_webhook_receive() that this role may call");
	else
	{
		take_functions(pool, result);
		conn->state = CONN_PREPARING;
		if (!PQsendPrepare(conn->conn, RECEIVE, pool->receive_sql, 0, NULL) ||
			!pool_flush(conn))
			pool_lost(conn, PQerrorMessage(conn->conn));
	}
}

/*
 * Remember the calls of the functions that were found.  Labels of metrics are
 * written by the database as Prometheus wants them, out of a jsonb object.
 */
static void
take_functions(Pool *pool, PGresult *result)
{
	pg_free(pool->receive_sql);
	pg_free(pool->metrics_sql);
	pool->receive_sql =
		psprintf("SELECT status, content_type, body, verdict"
				 " FROM %s($1::pg_catalog.text, $2::pg_catalog.jsonb,"
				 " $3::pg_catalog.bytea, $4::pg_catalog.text)",
				 PQgetvalue(result, 0, SETUP_RECEIVE));
	pool->metrics_sql = NULL;
	if (!PQgetisnull(result, 0, SETUP_METRICS))
		pool->metrics_sql =
			psprintf("SELECT name, (SELECT pg_catalog.string_agg(pg_catalog.format(E'%%s=\"%%s\"',"
					 " key, pg_catalog.replace(pg_catalog.replace(pg_catalog.replace("
					 "value, E'\\\\', E'\\\\\\\\'), E'\"', E'\\\\\"'), E'\\n', E'\\\\n')),"
					 " ',' ORDER BY key)"
					 " FROM pg_catalog.jsonb_each_text(labels)"
					 " WHERE key OPERATOR(pg_catalog.~) '^[a-zA-Z_][a-zA-Z0-9_]*$'), value"
					 " FROM %s()"
					 " WHERE name OPERATOR(pg_catalog.~) '^[a-zA-Z_:][a-zA-Z0-9_:]*$'"
					 " ORDER BY 1, 2",
					 PQgetvalue(result, 0, SETUP_METRICS));
}

/*
 * Send what libpq still holds, and wait for room as long as it holds some.
 */
bool
pool_flush(PoolConn *conn)
{
	int			rest = PQflush(conn->conn);

	if (rest < 0)
		return false;
	return loop_watch(conn->pool->loop, &conn->source, PQsocket(conn->conn),
					  rest > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

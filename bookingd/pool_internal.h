/*-------------------------------------------------------------------------
 *
 * pool_internal.h
 *	  what the parts of the pool share
 *
 * IDENTIFICATION
 *	  booking/bookingd/pool_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_POOL_INTERNAL_H
#define BOOKINGD_POOL_INTERNAL_H

#include "bookingd/pool.h"

/* first and longest pause between attempts to connect */
#define RETRY_FIRST (CLOCK_SECOND / 10)
#define RETRY_MAX CLOCK_SECOND

/* attempts that are logged: the first few, then one in so many */
#define LOG_FIRST 5
#define LOG_EVERY 60

typedef enum ConnState
{
	CONN_DOWN,					/* tried again at retry_at */
	CONN_CONNECTING,
	CONN_SETTING_UP,			/* settings, and the function's place */
	CONN_PREPARING,
	CONN_IDLE,
	CONN_BUSY
} ConnState;

typedef struct PoolConn
{
	Pool	   *pool;
	LoopSource	source;
	PGconn	   *conn;			/* NULL when down */
	ConnState	state;
	bool		was_up;			/* so that the next time is a reconnect */
	PoolJob    *job;			/* when busy */
	int64		deadline;		/* unless down or idle */
	int64		retry_at;
	int			failures;		/* since it was up */
} PoolConn;

struct Pool
{
	Loop	   *loop;
	const char *dbname;
	const char *schema;
	int64		answer_timeout;
	int			queue;
	bool		said_down;		/* logged that none is up */
	dlist_head	waiting;		/* PoolJob */
	int			nwaiting;
	char	   *receive_sql;	/* of the connection that is being set up */
	char	   *metrics_sql;	/* NULL: the database has no such function */
	PoolStats	stats;
	int			size;
	PoolConn	conns[FLEXIBLE_ARRAY_MEMBER];
};

/* pool.c */
extern void pool_job_ends(PoolJob *job, PoolOutcome outcome, PGresult *result);
extern void pool_lost(PoolConn *conn, const char *why);
extern void pool_came_up(PoolConn *conn);
extern void pool_dispatch(Pool *pool);

/* pool_connect.c */
extern void pool_connect(PoolConn *conn);
extern void pool_connect_ready(PoolConn *conn);
extern void pool_setup_ready(PoolConn *conn, PGresult *result);
extern bool pool_flush(PoolConn *conn);

#endif							/* BOOKINGD_POOL_INTERNAL_H */

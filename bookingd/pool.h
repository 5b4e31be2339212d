/*-------------------------------------------------------------------------
 *
 * pool.h
 *	  connections to the database
 *
 * IDENTIFICATION
 *	  booking/bookingd/pool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_POOL_H
#define BOOKINGD_POOL_H

#include "lib/ilist.h"
#include "libpq-fe.h"

#include "bookingd/loop.h"

typedef struct Pool Pool;
typedef struct PoolJob PoolJob;

/* what a job asks of the database */
typedef enum PoolStatement
{
	POOL_RECEIVE,				/* booking_webhook_receive() */
	POOL_METRICS				/* booking_metrics() */
} PoolStatement;

/* how a job ended */
typedef enum PoolOutcome
{
	POOL_COMMITTED,				/* the result holds, and is stored */
	POOL_FAILED,				/* the database refused */
	POOL_UNAVAILABLE			/* nobody knows, or it never got there */
} PoolOutcome;

#define POOL_PARAMS 4

/*
 * One call of a function in the database, in a transaction of its own.
 *
 * The members above the line are the caller's, and what they point to must stay
 * until "done" is called, once, from the loop: never from pool_submit() that
 * has returned false.  It may free the job.  The result is the pool's.
 */
struct PoolJob
{
	PoolStatement statement;
	const char *values[POOL_PARAMS];
	int			lengths[POOL_PARAMS];
	int			formats[POOL_PARAMS];	/* 1: binary */
	void		(*done) (PoolJob *job, PoolOutcome outcome, PGresult *result);
	void	   *owner;
	/*----*/
	dlist_node	node;
	int64		deadline;
	PGresult   *result;
	bool		failed;
};

typedef struct PoolStats
{
	int			size;
	int			idle;
	int			busy;
	int			waiting;		/* jobs without a connection */
	uint64		connects;		/* connections that were made */
	uint64		reconnects;		/* those that replaced a lost one */
	uint64		failures;		/* attempts that failed */
} PoolStats;

extern Pool *pool_create(Loop *loop, const char *dbname, const char *schema,
						 int size, int queue, int answer_timeout);
extern void pool_free(Pool *pool);
extern bool pool_submit(Pool *pool, PoolJob *job);
extern void pool_give_up(Pool *pool);
extern int64 pool_tick(Pool *pool, int64 now);
extern bool pool_is_up(const Pool *pool);
extern bool pool_has_metrics(const Pool *pool);
extern void pool_stats(const Pool *pool, PoolStats *stats);

#endif							/* BOOKINGD_POOL_H */

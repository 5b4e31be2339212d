/*-------------------------------------------------------------------------
 *
 * bookingd.h
 *	  what the parts of bookingd share
 *
 * IDENTIFICATION
 *	  booking/bookingd/bookingd.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_H
#define BOOKINGD_H

#include "bookingd/front.h"
#include "bookingd/metrics.h"
#include "bookingd/options.h"
#include "bookingd/pool.h"
#include "bookingd/rate.h"
#include "bookingd/scrape.h"

/* everything there is; owner of both listeners */
typedef struct Bookingd
{
	Options		options;
	Loop		loop;
	LoopSource	signals;
	Pool	   *pool;
	RateLimiter *rate;
	Metrics    *metrics;
	Scraper    *scraper;
	Front		webhooks;
	Front		admin;
	int64		drain_until;	/* CLOCK_NEVER: not draining */
	bool		hurry;			/* the second signal to end */
} Bookingd;

#endif							/* BOOKINGD_H */

/*-------------------------------------------------------------------------
 *
 * scrape.h
 *	  the metrics of the database
 *
 * IDENTIFICATION
 *	  booking/bookingd/scrape.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_SCRAPE_H
#define BOOKINGD_SCRAPE_H

#include "bookingd/pool.h"

typedef struct Scraper Scraper;
typedef struct ScrapeWaiter ScrapeWaiter;

/*
 * Somebody who waits for the metrics.  The members above the line are the
 * caller's, and it must stay until "done" is called, once, from the loop.
 */
struct ScrapeWaiter
{
	/* the metrics in the text format of Prometheus, NULL if there are none */
	void		(*done) (ScrapeWaiter *waiter, const char *rows);
	void	   *owner;
	/*----*/
	dlist_node	node;
};

extern Scraper *scrape_create(Pool *pool, int age);
extern void scrape_free(Scraper *scraper);
extern bool scrape_ask(Scraper *scraper, ScrapeWaiter *waiter, const char **rows);
extern int64 scrape_tick(Scraper *scraper, int64 now);

#endif							/* BOOKINGD_SCRAPE_H */

/*-------------------------------------------------------------------------
 *
 * metrics.h
 *	  what bookingd counts
 *
 * IDENTIFICATION
 *	  booking/bookingd/metrics.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_METRICS_H
#define BOOKINGD_METRICS_H

#include "pqexpbuffer.h"

#include "bookingd/pool.h"

typedef struct Metrics Metrics;

/* what is measured when it is asked for */
typedef struct MetricsGauges
{
	PoolStats	pool;
	int			connections;	/* of senders */
	int			in_flight;		/* requests */
	size_t		body_bytes;		/* in memory */
	bool		draining;
} MetricsGauges;

extern Metrics *metrics_create(void);
extern void metrics_free(Metrics *metrics);
extern void metrics_count(Metrics *metrics, int status, const char *verdict,
						  int64 duration);
extern void metrics_write(const Metrics *metrics, const MetricsGauges *gauges,
						  PQExpBuffer out);

#endif							/* BOOKINGD_METRICS_H */

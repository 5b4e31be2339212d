/*-------------------------------------------------------------------------
 *
 * counter.h
 *	  counters that outlive the server, and gauges
 *
 * IDENTIFICATION
 *	  booking/src/store/counter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_COUNTER_H
#define BOOKING_COUNTER_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/jsonb.h"

/* longest name of a counter, with its end */
#define BOOKING_COUNT_KEY_LEN 96

/* a row of booking.counter */
typedef struct BookingStoredCount
{
	char		key[BOOKING_COUNT_KEY_LEN];
	int64		value;
} BookingStoredCount;

/* deliveries that were refused, and creations that came too late */
typedef struct BookingRefusedCount
{
	text	   *source;
	const char *verdict;
	int64		deliveries;
} BookingRefusedCount;

/* an estimate of the intents in a state */
typedef struct BookingStateEstimate
{
	const char *state;
	double		intents;
} BookingStateEstimate;

typedef void (*BookingGaugeReport) (void *arg, const char *name, Jsonb *labels,
									double value);

/* counter.c */
extern Oid	booking_store_counter_relation(void);
extern BookingStoredCount *booking_store_counters_read(int *count);
extern void booking_store_counters_write(const BookingStoredCount *counts,
										 int count);
extern BookingRefusedCount *booking_store_counters_refused(int limit, int *count);

/* gauge.c */
extern void booking_store_gauges(TimestampTz now, int most,
								 BookingGaugeReport report, void *arg);

/* estimate.c */
extern BookingStateEstimate *booking_store_intent_estimates(double *total,
															int *count);

#endif							/* BOOKING_COUNTER_H */

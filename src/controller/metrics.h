/*-------------------------------------------------------------------------
 *
 * metrics.h
 *	  keeping the counters
 *
 * IDENTIFICATION
 *	  booking/src/controller/metrics.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_METRICS_H
#define BOOKING_METRICS_H

extern void booking_metrics_keep(void);

#endif							/* BOOKING_METRICS_H */

/*-------------------------------------------------------------------------
 *
 * clock.h
 *	  the one clock of bookingd
 *
 * Monotonic, because every use is a duration or a deadline.
 *
 * IDENTIFICATION
 *	  booking/bookingd/clock.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_CLOCK_H
#define BOOKINGD_CLOCK_H

#include <time.h>

#define CLOCK_SECOND INT64CONST(1000000)

/* no deadline: later than any */
#define CLOCK_NEVER PG_INT64_MAX

/*
 * Microseconds of a clock that nobody sets.
 */
static inline int64
clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * CLOCK_SECOND + now.tv_nsec / 1000;
}

#endif							/* BOOKINGD_CLOCK_H */

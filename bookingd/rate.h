/*-------------------------------------------------------------------------
 *
 * rate.h
 *	  how often a source may deliver
 *
 * IDENTIFICATION
 *	  booking/bookingd/rate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_RATE_H
#define BOOKINGD_RATE_H

/* longest name of a source that is let through to the database, in bytes */
#define RATE_NAME_MAX 200

typedef struct RateLimiter RateLimiter;

extern RateLimiter *rate_create(int per_second, int burst);
extern void rate_free(RateLimiter *limiter);
extern bool rate_allow(RateLimiter *limiter, const char *name, int64 now);

#endif							/* BOOKINGD_RATE_H */

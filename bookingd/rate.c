/*-------------------------------------------------------------------------
 *
 * rate.c
 *	  how often a source may deliver
 *
 * A bucket of tokens for each source.  Names come from anybody, so the table has
 * a fixed size.  A name has its place among a few neighbours; a bucket that is
 * full again says nothing that a new one would not, and gives its place away.
 * Where no place is free, names share a bucket: a flood of made-up names takes
 * from itself, and not from a source that is known here.
 *
 * IDENTIFICATION
 *	  booking/bookingd/rate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <sys/random.h>

#include "common/hashfn.h"

#include "bookingd/clock.h"
#include "bookingd/rate.h"

#define RATE_PLACES 4096
#define RATE_NEIGHBOURS 8

typedef struct Bucket
{
	char		name[RATE_NAME_MAX + 1];	/* empty: nobody's */
	double		tokens;
	int64		filled_at;
} Bucket;

struct RateLimiter
{
	int			per_second;		/* 0: no limit */
	int			burst;
	uint64		seed;			/* so that nobody can choose neighbours */
	Bucket		shared;
	Bucket		places[RATE_PLACES];
};

static bool take_token(RateLimiter *limiter, Bucket *bucket, int64 now);
static bool is_full(const RateLimiter *limiter, const Bucket *bucket, int64 now);

/*
 * A limiter of so many deliveries a second for each source, and so many at
 * once.
 */
RateLimiter *
rate_create(int per_second, int burst)
{
	RateLimiter *limiter = pg_malloc0(sizeof(RateLimiter));

	limiter->per_second = per_second;
	limiter->burst = burst;
	limiter->shared.tokens = burst;
	if (getrandom(&limiter->seed, sizeof(limiter->seed), GRND_NONBLOCK) != sizeof(limiter->seed))
		limiter->seed = (uint64) clock_now();
	return limiter;
}

/*
 * Free a limiter.
 */
void
rate_free(RateLimiter *limiter)
{
	pg_free(limiter);
}

/*
 * May this source deliver now?  If so, it has.
 */
bool
rate_allow(RateLimiter *limiter, const char *name, int64 now)
{
	uint64		hash;
	Bucket	   *free_place = NULL;

	if (limiter->per_second == 0)
		return true;
	hash = hash_bytes_extended((const unsigned char *) name, (int) strlen(name),
							   limiter->seed);
	for (int i = 0; i < RATE_NEIGHBOURS; i++)
	{
		Bucket	   *bucket = &limiter->places[(hash + i) % RATE_PLACES];

		if (strcmp(bucket->name, name) == 0)
			return take_token(limiter, bucket, now);
		if (!free_place && (bucket->name[0] == '\0' || is_full(limiter, bucket, now)))
			free_place = bucket;
	}
	if (!free_place)
		return take_token(limiter, &limiter->shared, now);

	strlcpy(free_place->name, name, sizeof(free_place->name));
	free_place->tokens = limiter->burst;
	free_place->filled_at = now;
	return take_token(limiter, free_place, now);
}

/*
 * Fill a bucket up to now and take one token out, if there is one.
 */
static bool
take_token(RateLimiter *limiter, Bucket *bucket, int64 now)
{
	double		fresh = (double) (now - bucket->filled_at) / CLOCK_SECOND * limiter->per_second;

	bucket->tokens = Min(bucket->tokens + fresh, limiter->burst);
	bucket->filled_at = now;
	if (bucket->tokens < 1)
		return false;
	bucket->tokens -= 1;
	return true;
}

/*
 * Would a bucket be full by now?
 */
static bool
is_full(const RateLimiter *limiter, const Bucket *bucket, int64 now)
{
	return bucket->tokens +
		(double) (now - bucket->filled_at) / CLOCK_SECOND * limiter->per_second >= limiter->burst;
}

/*-------------------------------------------------------------------------
 *
 * count.h
 *	  counting what happens, in shared memory
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_COUNT_H
#define BOOKING_COUNT_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "store/counter.h"

/* what is counted; each family has one counter for each pair of its words */
typedef enum BookingCountFamily
{
	BOOKING_COUNT_ANSWERS,		/* disposition, replayed */
	BOOKING_COUNT_STALE,		/* at */
	BOOKING_COUNT_SENDS,		/* kind, outcome */
	BOOKING_COUNT_LOOKUPS,		/* kind, outcome */
	BOOKING_COUNT_FULL_SYNCS,	/* reason */
	BOOKING_COUNT_ROUNDS,		/* result */
	BOOKING_COUNT_WORKERS		/* change */
} BookingCountFamily;

#define BOOKING_COUNT_FAMILIES (BOOKING_COUNT_WORKERS + 1)
#define BOOKING_COUNT_LABELS 2

/* counters of all families together; count_words.c asserts it */
#define BOOKING_COUNTERS 112

/* sources of deliveries that are counted by themselves, in all databases */
#define BOOKING_COUNT_SOURCES 256
#define BOOKING_COUNT_VERDICTS 4

/* room for how a source is shown */
#define BOOKING_COUNT_SOURCE_LEN 17

/* how a counter is shown: its metric, and the names and values of its labels */
typedef struct BookingCountLabel
{
	const char *metric;
	const char *names[BOOKING_COUNT_LABELS];	/* NULL: no more of them */
	const char *values[BOOKING_COUNT_LABELS];
	char		source[BOOKING_COUNT_SOURCE_LEN];	/* what a value may point to */
} BookingCountLabel;

/* what is known of the starts of a database's worker */
typedef struct BookingCountBackoff
{
	int			failures;		/* starts in a row that came to nothing */
	TimestampTz next_at;		/* no start before this */
} BookingCountBackoff;

extern void booking_count_init(void);

/* counting; cannot fail */
extern void booking_count(BookingCountFamily family, const char *first,
						  const char *second);
extern void booking_count_answer(const char *disposition, bool replayed);
extern void booking_count_delivery(uint64 source, const char *verdict);

/* the launcher's side */
extern void booking_count_worker_failed(Oid database);
extern void booking_count_backoff(Oid database, int failures,
								  TimestampTz next_at);
extern void booking_count_sweep_begin(void);
extern void booking_count_seen(Oid database);
extern void booking_count_sweep_end(void);

/* reading, and keeping */
extern bool booking_count_shared(void);
extern bool booking_count_loaded(Oid relation);
extern void booking_count_load(const BookingStoredCount *stored, int count);
extern BookingStoredCount *booking_count_copy(int *count);
extern BookingStoredCount *booking_count_unstored(int *count);
extern void booking_count_stored(const BookingStoredCount *stored, int count);
extern void booking_count_starts(BookingCountBackoff *backoff);

/* count_words.c */
extern bool booking_count_describe(const char *key, BookingCountLabel *label);
extern uint64 booking_count_digest(const text *source);
extern void booking_count_source_name(uint64 source, char *name);

#endif							/* BOOKING_COUNT_H */

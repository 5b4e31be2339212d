/*-------------------------------------------------------------------------
 *
 * count_internal.h
 *	  what the files that count share
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_COUNT_INTERNAL_H
#define BOOKING_COUNT_INTERNAL_H

#include "port/atomics.h"
#include "storage/spin.h"

#include "ledger/count.h"

/* databases that are counted at one time, as many as can have a worker */
#define BOOKING_COUNT_SLOTS 64

/* the counters of a database */
typedef struct BookingCountSlot
{
	Oid			database;		/* InvalidOid: free */
	Oid			relation;		/* where they are stored, once that is known */
	bool		loaded;			/* what is stored was added */
	bool		seen;			/* the database is there */
	BookingCountBackoff backoff;
	pg_atomic_uint64 counts[BOOKING_COUNTERS];
	uint64		stored[BOOKING_COUNTERS];	/* what is known to be stored */
} BookingCountSlot;

/* the counters of a source of deliveries */
typedef struct BookingCountSource
{
	Oid			database;		/* InvalidOid: free */
	uint64		source;			/* digest of its name; 0: all without a slot */
	pg_atomic_uint64 counts[BOOKING_COUNT_VERDICTS];
	uint64		stored[BOOKING_COUNT_VERDICTS];
} BookingCountSource;

typedef struct BookingCountShared
{
	slock_t		mutex;
	BookingCountSlot slots[BOOKING_COUNT_SLOTS];
	BookingCountSource sources[BOOKING_COUNT_SOURCES];
} BookingCountShared;

/* count.c */
extern BookingCountShared *booking_count_memory;
extern BookingCountSlot *booking_count_mine(void);
extern BookingCountSlot *booking_count_slot(Oid database);
extern BookingCountSource *booking_count_source(Oid database, uint64 source);
extern void booking_count_empty(BookingCountSlot *slot, Oid database);
extern void booking_count_lock(void);
extern void booking_count_unlock(void);

/* count_words.c */
extern int	booking_count_index(BookingCountFamily family, const char *first,
								const char *second);
extern void booking_count_key(int index, char *key);
extern int	booking_count_find(const char *key);
extern int	booking_count_verdict(const char *verdict);
extern void booking_count_source_key(uint64 source, int verdict, char *key);
extern bool booking_count_find_source(const char *key, uint64 *source,
									  int *verdict);

/* count_file.c */
extern void booking_count_file_read(void);
extern void booking_count_file_write(int code, Datum arg);

#endif							/* BOOKING_COUNT_INTERNAL_H */

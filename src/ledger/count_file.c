/*-------------------------------------------------------------------------
 *
 * count_file.c
 *	  counters from one life of the server to the next
 *
 * What the worker has not stored yet when the server ends in order is written to
 * a file, as pg_stat_statements does, and read at the next start.  The file has
 * only what is missing in the tables, so one that is older than it seems adds
 * little; and it is removed once it was read, so that nothing is added twice.
 * After a crash there is none.
 *
 * Both happen in the postmaster, where no error may be raised.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "pgstat.h"
#include "storage/fd.h"

#include "compat.h"
#include "ledger/count_internal.h"

#define COUNTS_FILE PGSTAT_STAT_PERMANENT_DIRECTORY "/booking.counts"
#define COUNTS_HEADER "booking counts 1\n"

static void take_line(Oid database, Oid relation, const char *key,
					  int64 value);
static bool write_counts(FILE *file);
static void complain(const char *what);

/*
 * Read what an earlier server left, and remove it.  What cannot be read is as
 * good as nothing.
 */
void
booking_count_file_read(void)
{
	FILE	   *file = AllocateFile(COUNTS_FILE, PG_BINARY_R);
	char		line[64 + BOOKING_COUNT_KEY_LEN];
	char		key[BOOKING_COUNT_KEY_LEN];
	Oid			database;
	Oid			relation;
	int64		value;

	if (file == NULL)
	{
		if (errno != ENOENT)
			complain("read");
		return;
	}
	if (fgets(line, sizeof(line), file) != NULL && strcmp(line, COUNTS_HEADER) == 0)
	{
		while (fgets(line, sizeof(line), file) != NULL &&
			   sscanf(line, "%u %u " INT64_FORMAT " %95s\n", &database, &relation,
					  &value, key) == 4)
			take_line(database, relation, key, value);
	}
	FreeFile(file);
	(void) unlink(COUNTS_FILE);
}

/*
 * Count what a line says.
 */
static void
take_line(Oid database, Oid relation, const char *key, int64 value)
{
	BookingCountSlot *slot = booking_count_slot(database);
	BookingCountSource *source;
	uint64		name;
	int			verdict;
	int			index = booking_count_find(key);

	if (!OidIsValid(database) || value <= 0)
		return;
	if (slot == NULL)
	{
		slot = booking_count_slot(InvalidOid);
		if (slot == NULL)
			return;
		booking_count_empty(slot, database);
		slot->relation = relation;
	}
	if (index >= 0)
		(void) pg_atomic_fetch_add_u64(&slot->counts[index], value);
	else if (booking_count_find_source(key, &name, &verdict) &&
			 (source = booking_count_source(database, name)) != NULL)
		(void) pg_atomic_fetch_add_u64(&source->counts[verdict], value);
}

/*
 * on_shmem_exit of the postmaster: write what is not stored, unless the server
 * ends by a crash.  No process of it is left.
 */
void
booking_count_file_write(int code, Datum arg)
{
	FILE	   *file;
	bool		ok;

	if (code != 0 || booking_count_memory == NULL)
		return;
	file = AllocateFile(COUNTS_FILE ".new", PG_BINARY_W);
	if (file == NULL)
	{
		complain("write");
		return;
	}
	ok = write_counts(file);
	ok &= FreeFile(file) == 0;
	if (!ok || rename(COUNTS_FILE ".new", COUNTS_FILE) != 0)
	{
		complain("write");
		(void) unlink(COUNTS_FILE ".new");
	}
}

/*
 * One line for each counter that has more than what is stored.
 */
static bool
write_counts(FILE *file)
{
	bool		ok = fputs(COUNTS_HEADER, file) >= 0;
	char		key[BOOKING_COUNT_KEY_LEN];

	for (int i = 0; i < BOOKING_COUNT_SLOTS; i++)
	{
		BookingCountSlot *slot = &booking_count_memory->slots[i];

		for (int j = 0; OidIsValid(slot->database) && j < BOOKING_COUNTERS; j++)
		{
			int64		more = pg_atomic_read_u64(&slot->counts[j]) - slot->stored[j];

			if (more <= 0)
				continue;
			booking_count_key(j, key);
			ok &= fprintf(file, "%u %u " INT64_FORMAT " %s\n", slot->database,
						  slot->relation, more, key) > 0;
		}
	}
	for (int i = 0; i < BOOKING_COUNT_SOURCES; i++)
	{
		BookingCountSource *source = &booking_count_memory->sources[i];
		BookingCountSlot *slot = booking_count_slot(source->database);

		for (int j = 0; OidIsValid(source->database) && slot != NULL &&
			 j < BOOKING_COUNT_VERDICTS; j++)
		{
			int64		more = pg_atomic_read_u64(&source->counts[j]) - source->stored[j];

			if (more <= 0)
				continue;
			booking_count_source_key(source->source, j, key);
			ok &= fprintf(file, "%u %u " INT64_FORMAT " %s\n", slot->database,
						  slot->relation, more, key) > 0;
		}
	}
	return ok;
}

/*
 * Say that the file is of no use.
 */
static void
complain(const char *what)
{
	ereport(LOG,
			(errcode_for_file_access(),
			 errmsg("booking: could not %s file \"%s\": %m", what, COUNTS_FILE)));
}

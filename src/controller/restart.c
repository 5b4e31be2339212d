/*-------------------------------------------------------------------------
 *
 * restart.c
 *	  when a worker may start again
 *
 * A worker that was terminated, that recorded something, or that lived for a
 * few seconds comes back at once, however often that happens.  Starts that come
 * to nothing are spaced by 1, 2, 4 ... 300 seconds: a worker that cannot
 * connect, or whose crash takes the server down with it, must not become a
 * loop.
 *
 * A crash clears shared memory and ends the launcher too, so what must outlive
 * it is in a file.  A start is counted there before it happens, and the count
 * is taken back once the worker has proved itself: nobody needs to be left to
 * notice the crash.  The file is in pg_stat_tmp, which a base backup leaves
 * out, for a copy of the server starts anew.  It is not flushed to disk; the
 * crash of a machine may lose it, and that costs nothing.
 *
 * IDENTIFICATION
 *	  booking/src/controller/restart.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "pgstat.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "controller/restart.h"

#define RESTARTS_FILE PG_STAT_TMP_DIR "/booking.starts"
#define RESTARTS_HEADER "booking starts 1\n"

/* the file is ours, but whoever can write there must not make us large */
#define MAX_RESTARTS 10000

#define SPACING_SECS 1
#define BACKOFF_LAST_SECS 300
#define VISIT_FIRST_SECS 5
#define VISIT_LAST_SECS 300

static TimestampTz backoff(const BookingRestart *restart, TimestampTz now);
static int	doubled(int first, int times, int last);
static bool write_restarts(FILE *file, const List *restarts);
static void complain(const char *what);

/*
 * A worker is about to be started.  Until it has proved itself this counts as
 * a start that came to nothing.
 */
void
booking_restart_begin(BookingRestart *restart, TimestampTz now)
{
	restart->failures++;
	restart->started_at = now;
	restart->next_at = backoff(restart, now);
}

/*
 * The worker works: whatever ends it later is no reason to wait.
 */
void
booking_restart_proved(BookingRestart *restart)
{
	restart->failures = 0;
	restart->visits = 0;
	restart->next_at = restart->started_at + SPACING_SECS * USECS_PER_SEC;
}

/*
 * The worker ended.
 */
void
booking_restart_ended(BookingRestart *restart, BookingWorkerEnd end,
					  TimestampTz now)
{
	switch (end)
	{
		case BOOKING_END_FAILED:
			/* counted when it began; the wait begins with the end */
			if (restart->failures > 0)
				restart->next_at = backoff(restart, now);
			break;
		case BOOKING_END_TERMINATED:
		case BOOKING_END_LEFT:
			booking_restart_proved(restart);
			break;
		case BOOKING_END_NOTHING:
			restart->failures = 0;
			restart->next_at = now + USECS_PER_SEC *
				doubled(VISIT_FIRST_SECS, restart->visits, VISIT_LAST_SECS);
			restart->visits++;
			break;
	}
}

/*
 * When to start again after so many failures, the last one now.
 */
static TimestampTz
backoff(const BookingRestart *restart, TimestampTz now)
{
	return now + USECS_PER_SEC *
		doubled(SPACING_SECS, restart->failures - 1, BACKOFF_LAST_SECS);
}

/*
 * A number of seconds, doubled so many times, up to a last one.
 */
static int
doubled(int first, int times, int last)
{
	return Min(first << Min(times, 10), last);
}

/*
 * What an earlier launcher left: a list of BookingRestart.  What cannot be read
 * is as good as nothing.
 */
List *
booking_restart_load(void)
{
	TimestampTz now = GetCurrentTimestamp();
	FILE	   *file = AllocateFile(RESTARTS_FILE, PG_BINARY_R);
	List	   *restarts = NIL;
	char		line[128];
	BookingRestart found = {0};

	if (file == NULL)
	{
		if (errno != ENOENT)
			complain("read");
		return NIL;
	}
	if (fgets(line, sizeof(line), file) != NULL &&
		strcmp(line, RESTARTS_HEADER) == 0)
	{
		while (list_length(restarts) < MAX_RESTARTS &&
			   fgets(line, sizeof(line), file) != NULL &&
			   sscanf(line, "%u %d " INT64_FORMAT, &found.database,
					  &found.failures, &found.next_at) == 3)
		{
			BookingRestart *restart;

			if (found.failures <= 0)
				continue;
			restart = palloc_object(BookingRestart);
			*restart = found;
			/* the clock may have been set back */
			restart->next_at = Min(found.next_at, backoff(restart, now));
			restarts = lappend(restarts, restart);
		}
	}
	FreeFile(file);
	return restarts;
}

/*
 * Save those starts that came to nothing so far, for the launcher after a
 * crash.  A failure is logged, and nothing else: the worker is worth more than
 * its back-off.
 */
void
booking_restart_save(const List *restarts)
{
	FILE	   *file = AllocateFile(RESTARTS_FILE ".new", PG_BINARY_W);
	bool		ok;

	if (file == NULL)
	{
		complain("write");
		return;
	}
	ok = write_restarts(file, restarts);
	ok &= FreeFile(file) == 0;
	if (!ok || rename(RESTARTS_FILE ".new", RESTARTS_FILE) != 0)
	{
		complain("write");
		(void) unlink(RESTARTS_FILE ".new");
	}
}

/*
 * One line for each of them.
 */
static bool
write_restarts(FILE *file, const List *restarts)
{
	bool		ok = fputs(RESTARTS_HEADER, file) >= 0;
	ListCell   *cell;

	foreach(cell, restarts)
	{
		const BookingRestart *restart = lfirst(cell);

		if (restart->failures > 0)
			ok &= fprintf(file, "%u %d " INT64_FORMAT "\n", restart->database,
						  restart->failures, restart->next_at) > 0;
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
			 errmsg("booking: could not %s file \"%s\": %m", what, RESTARTS_FILE)));
}

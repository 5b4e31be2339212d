/*-------------------------------------------------------------------------
 *
 * restart.h
 *	  when a worker may start again
 *
 * IDENTIFICATION
 *	  booking/src/controller/restart.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_RESTART_H
#define BOOKING_RESTART_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "controller/shared.h"

/* a worker lives at least so long, or does something, to have proved itself */
#define BOOKING_PROOF_SECS 5

/* what is known of the starts of the worker of a database */
typedef struct BookingRestart
{
	Oid			database;
	int			failures;		/* starts in a row that came to nothing */
	int			visits;			/* times in a row that there was nothing to do */
	TimestampTz started_at;		/* last start, 0 not known */
	TimestampTz next_at;		/* no start before this */
} BookingRestart;

extern void booking_restart_begin(BookingRestart *restart, TimestampTz now);
extern void booking_restart_proved(BookingRestart *restart);
extern void booking_restart_ended(BookingRestart *restart,
								  BookingWorkerEnd end, TimestampTz now);
extern List *booking_restart_load(void);
extern void booking_restart_save(const List *restarts);

#endif							/* BOOKING_RESTART_H */

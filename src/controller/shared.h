/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  what backends, launcher and workers know of each other
 *
 * IDENTIFICATION
 *	  booking/src/controller/shared.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SHARED_H
#define BOOKING_SHARED_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/latch.h"

/* databases that can have a worker at one time */
#define BOOKING_MAX_WORKERS 64

/* what a worker is at, for booking_worker_status() */
typedef enum BookingWorkerState
{
	BOOKING_WORKER_STARTING,
	BOOKING_WORKER_IDLE,
	BOOKING_WORKER_BUSY,
	BOOKING_WORKER_PAUSED
} BookingWorkerState;

/* how a worker ended, for the launcher */
typedef enum BookingWorkerEnd
{
	BOOKING_END_FAILED,			/* by an error, or without a word */
	BOOKING_END_TERMINATED,		/* told to by SIGTERM */
	BOOKING_END_LEFT,			/* made room for a command or another worker */
	BOOKING_END_NOTHING			/* there is no extension to work for */
} BookingWorkerEnd;

#define BOOKING_REASON_LEN 128

typedef struct BookingWorkerInfo
{
	pid_t		pid;
	BookingWorkerState state;
	int			in_flight;
	TimestampTz beat_at;		/* when it last said so; 0: it did not yet */
	bool		useful;			/* it has recorded something */
	char		reason[BOOKING_REASON_LEN]; /* why it does not send */
} BookingWorkerInfo;

extern void booking_shared_init(void);
extern bool booking_shared_present(void);

/* the worker's side */
extern int	booking_shared_worker_attach(Oid database);
extern void booking_shared_worker_detach(void);
extern void booking_shared_worker_report(BookingWorkerState state,
										 int in_flight, const char *reason);
extern void booking_shared_worker_useful(void);
extern void booking_shared_worker_ending(BookingWorkerEnd end);

/* the launcher's side */
extern void booking_shared_launcher_attach(void);
extern bool booking_shared_worker_known(Oid database);
extern bool booking_shared_take_end(Oid database, BookingWorkerEnd *end);
extern bool booking_shared_held(Oid database);
extern bool booking_shared_wanted(Oid database);
extern void booking_shared_starved(bool starved);

/* everybody's side */
extern const char *booking_shared_absence(void);
extern bool booking_shared_worker_info(Oid database, BookingWorkerInfo *info);
extern void booking_shared_wake(Oid database);
extern void booking_shared_wake_launcher(void);
extern void booking_shared_hold(Oid database);
extern void booking_shared_release(void);

#endif							/* BOOKING_SHARED_H */

/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  starting workers
 *
 * IDENTIFICATION
 *	  booking/src/controller/launcher.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LAUNCHER_H
#define BOOKING_LAUNCHER_H

#include "postgres.h"

#include "postmaster/bgworker.h"

extern void booking_launcher_init(void);
extern bool booking_launcher_start_worker(Oid database,
										  BackgroundWorkerHandle **handle);

#endif							/* BOOKING_LAUNCHER_H */

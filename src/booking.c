/*-------------------------------------------------------------------------
 *
 * booking.c
 *	  entry point of the library
 *
 * IDENTIFICATION
 *	  booking/src/booking.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "guc.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/*
 * Define the settings.  Runs in whatever process loads the library first, so
 * it must not touch the catalog.
 */
void
_PG_init(void)
{
	booking_guc_init();
}

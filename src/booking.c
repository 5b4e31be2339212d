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
#include "controller/capability.h"
#include "controller/launcher.h"
#include "controller/shared.h"
#include "guc.h"
#include "ledger/terms.h"
#include "ledger/wake.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/*
 * Define the settings and, when preloaded, register the launcher.  Runs in
 * whatever process loads the library first, so it must not touch the catalog.
 */
void
_PG_init(void)
{
	booking_guc_init();
	booking_wake_init(booking_shared_wake);
	booking_terms_init(booking_capability_always_notifies);
	booking_launcher_init();
}

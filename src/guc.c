/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  settings of the extension
 *
 * The library need not be preloaded for the ledger: a setting given before the
 * first call is a placeholder that takes effect when the library loads.
 *
 * IDENTIFICATION
 *	  booking/src/guc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "guc.h"

int			booking_max_terms = 64;
int			booking_max_hold = 86400;
int			booking_clock_offset = 0;

/*
 * Define the settings and reserve their prefix, so that a misspelt one is an
 * error and not a silent placeholder.  Called once, from _PG_init.
 */
void
booking_guc_init(void)
{
	DefineCustomIntVariable("booking.max_terms",
							"Largest size of the terms or evidence of a call.",
							"Measured on the stored form of the jsonb value.",
							&booking_max_terms,
							64,
							1,
							1024 * 1024,
							PGC_SUSET,
							GUC_UNIT_KB,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("booking.max_hold",
							"Longest time for which a proposal may hold units.",
							"A longer wish is cut to this.",
							&booking_max_hold,
							86400,
							1,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_S,
							NULL,
							NULL,
							NULL);

	/*
	 * The clock seam: tests let holds expire without waiting.  Superusers
	 * only, because it decides whose hold still counts.
	 */
	DefineCustomIntVariable("booking.clock_offset",
							"Shifts the clock that decides whether a hold has expired.",
							"For tests.",
							&booking_clock_offset,
							0,
							INT_MIN,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_S | GUC_NOT_IN_SAMPLE,
							NULL,
							NULL,
							NULL);

	MarkGUCPrefixReserved("booking");
}

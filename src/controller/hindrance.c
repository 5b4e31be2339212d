/*-------------------------------------------------------------------------
 *
 * hindrance.c
 *	  settings with which no work can be done
 *
 * A file that a setting names may be missing, or be of no use, for a while:
 * somebody exchanges it, or a folder is not mounted yet.  If each operation had
 * to find that out by itself, all of them would use up their tries for nothing
 * and end with an operator.  So the worker looks before it takes anything up,
 * and waits, and says for what.
 *
 * What concerns a single account is not among this: one credential that does
 * not open must not keep the others from their work.
 *
 * IDENTIFICATION
 *	  booking/src/controller/hindrance.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "controller/hindrance.h"
#include "guc.h"
#include "store/seal.h"

/*
 * Why nothing can be sent or read with the settings as they are, NULL if it
 * can.  The text lasts.  Raises no error.
 */
const char *
booking_hindrance(void)
{
	const char *reason = booking_seal_hindrance();

	if (reason != NULL)
		return reason;
	if (booking_ca_file != NULL && booking_ca_file[0] != '\0' &&
		access(booking_ca_file, R_OK) != 0)
		return "the file of booking.ca_file cannot be read";
	return NULL;
}

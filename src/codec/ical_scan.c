/*-------------------------------------------------------------------------
 *
 * ical_scan.c
 *	  recurrence rules as libical reads them
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_scan.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/ical_scan.h"

/*
 * Read a rule (RFC 5545 section 3.3.10).  One that is none has the frequency
 * ICAL_NO_RECURRENCE.
 */
struct icalrecurrencetype
booking_ical_scan(const char *rule)
{
	struct icalrecurrencetype recur;
	int			errors_are_fatal;

	/*
	 * The switch is one for the whole process, which may hold other users of
	 * libical, so it is put back.
	 */
	errors_are_fatal = icalerror_get_errors_are_fatal();
	icalerror_set_errors_are_fatal(0);
	recur = icalrecurrencetype_from_string(rule);
	icalerror_clear_errno();
	icalerror_set_errors_are_fatal(errors_are_fatal);
	return recur;
}

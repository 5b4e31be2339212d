/*-------------------------------------------------------------------------
 *
 * ical_scan.h
 *	  recurrence rules as libical reads them
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_SCAN_H
#define BOOKING_ICAL_SCAN_H

#include <libical/ical.h>

/* what ends a list of libical that is not full */
#define BOOKING_ICAL_SCAN_END ICAL_RECURRENCE_ARRAY_MAX

extern struct icalrecurrencetype booking_ical_scan(const char *rule);

#endif							/* BOOKING_ICAL_SCAN_H */

/*-------------------------------------------------------------------------
 *
 * zoneinfo.h
 *	  rules of the time zones of the IANA database
 *
 * IDENTIFICATION
 *	  booking/src/codec/zoneinfo.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ZONEINFO_H
#define BOOKING_ZONEINFO_H

#include "codec/arena.h"

/*
 * The offset in force in a zone at an instant, in seconds east of UTC; the
 * instant is in seconds from 1970-01-01 00:00 UTC.  Returns false if there is
 * no zone of that name.
 *
 * In the extension these are the server's rules, as everywhere else; whoever
 * builds the codec without the server brings others.
 */
extern bool booking_zoneinfo_offset(const char *name, int64 instant,
									int *offset);

#endif							/* BOOKING_ZONEINFO_H */

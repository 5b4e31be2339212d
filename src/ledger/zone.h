/*-------------------------------------------------------------------------
 *
 * zone.h
 *	  time zones by name
 *
 * IDENTIFICATION
 *	  booking/src/ledger/zone.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ZONE_H
#define BOOKING_ZONE_H

#include "postgres.h"

#include "pgtime.h"

extern pg_tz *booking_zone_lookup(const text *name, const char *argument);

#endif							/* BOOKING_ZONE_H */

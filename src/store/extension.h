/*-------------------------------------------------------------------------
 *
 * extension.h
 *	  which version the SQL objects in this database are of
 *
 * IDENTIFICATION
 *	  booking/src/store/extension.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EXTENSION_H
#define BOOKING_EXTENSION_H

#include "postgres.h"

/* the version whose relations and functions this library works on */
#define BOOKING_SQL_VERSION "0.6"

extern char *booking_store_extension_version(void);
extern bool booking_store_extension_newer(const char *version);
extern void booking_store_extension_demand(void);

#endif							/* BOOKING_EXTENSION_H */

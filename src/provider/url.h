/*-------------------------------------------------------------------------
 *
 * url.h
 *	  URLs that never leave the origin of an account
 *
 * IDENTIFICATION
 *	  booking/src/provider/url.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_URL_H
#define BOOKING_URL_H

#include "codec/arena.h"

typedef enum BookingUrlFault
{
	BOOKING_URL_OK,
	BOOKING_URL_MALFORMED,		/* not a URL that we would send a request to */
	BOOKING_URL_ORIGIN,			/* of another scheme, host or port */
	BOOKING_URL_MEMORY			/* the arena is exhausted */
} BookingUrlFault;

extern BookingUrlFault booking_url_join(const char *base,
										const char *reference,
										BookingArena *arena, char **url);
extern BookingUrlFault booking_url_resolve(const char *base,
										   const char *href,
										   BookingArena *arena, char **url);
extern BookingUrlFault booking_url_member(const char *collection,
										  const char *name,
										  const char *suffix,
										  BookingArena *arena, char **url);
extern const char *booking_url_path(const char *url);
extern bool booking_url_encrypted(const char *url);
extern bool booking_url_same_origin(const char *a, const char *b);
extern bool booking_url_within(const char *collection, const char *url);

#endif							/* BOOKING_URL_H */

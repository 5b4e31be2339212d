/*-------------------------------------------------------------------------
 *
 * cache.h
 *	  rows that every call reads and few change
 *
 * IDENTIFICATION
 *	  booking/src/store/cache.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CACHE_H
#define BOOKING_CACHE_H

#include "postgres.h"

typedef enum BookingCacheKind
{
	BOOKING_CACHE_RESOURCE = 'r',	/* tenant, resource */
	BOOKING_CACHE_PRINCIPAL = 'P',	/* tenant, principal */
	BOOKING_CACHE_PERMISSION = 'p', /* tenant, principal, resource */
	BOOKING_CACHE_FOUR_EYES = 'f',	/* tenant */
	BOOKING_CACHE_BINDING = 'b',	/* tenant */
	BOOKING_CACHE_DOWNSTREAM = 'd', /* tenant */
	BOOKING_CACHE_SHOWN = 's'	/* tenant */
} BookingCacheKind;

typedef struct BookingCacheKey
{
	BookingCacheKind kind;
	const text *parts[3];		/* NULL: none */
} BookingCacheKey;

extern uint64 booking_cache_accept(void);
extern bool booking_cache_find(const BookingCacheKey *key, void **value);
extern void booking_cache_add(const BookingCacheKey *key, void *value);
extern void *booking_cache_alloc(Size size);
extern text *booking_cache_text(const text *value);
extern void booking_cache_signal(void);

#endif							/* BOOKING_CACHE_H */

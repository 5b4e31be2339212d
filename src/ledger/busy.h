/*-------------------------------------------------------------------------
 *
 * busy.h
 *	  what is in calendars takes time of resources
 *
 * IDENTIFICATION
 *	  booking/src/ledger/busy.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_BUSY_H
#define BOOKING_BUSY_H

#include "ledger/capacity.h"
#include "ledger/lanes.h"

extern Jsonb *booking_busy_collision(const BookingWish *wish);
extern bool booking_busy_counts_units(const BookingResource *resource);
extern BookingSpan *booking_busy_join(const BookingWish *wish,
									  const BookingResource *resource,
									  BookingSpan *held, int nheld, int *count);
extern Jsonb *booking_busy_units_collision(const BookingWish *wish,
										   const BookingResource *resource,
										   const BookingSpan *span);
extern BookingSpan *booking_busy_blocked(text *tenant,
										 const BookingResource *resource,
										 const BookingSpan *within,
										 bool whole, int *count);

#endif							/* BOOKING_BUSY_H */

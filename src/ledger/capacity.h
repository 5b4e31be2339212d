/*-------------------------------------------------------------------------
 *
 * capacity.h
 *	  holding units of resources
 *
 * IDENTIFICATION
 *	  booking/src/ledger/capacity.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CAPACITY_H
#define BOOKING_CAPACITY_H

#include "postgres.h"

#include "storage/lockdefs.h"

#include "store/record.h"

/* what an intent wants to hold; the resource locks are held in that mode */
typedef struct BookingWish
{
	text	   *tenant;
	int64		intent_id;
	const BookingIdentity *identity;	/* NULL: its event is known by intent_id */
	int			nresources;
	const BookingResource **resources;
	TimestampTz start;
	TimestampTz end;
	int32		units;
	int			first_piece;	/* number of the first row */
	const TimestampTz *hold_until;	/* NULL: a booking and no hold */
	bool		override;		/* beyond the capacity on purpose */
	int64		replaces;		/* intent whose rows give way, 0 none */
	int64		predecessor;	/* intent whose event becomes this one's, 0 none */
	bool		widened;		/* start and end contain the buffers */
	bool		heedless;		/* whatever calendars say */
	LOCKMODE	mode;
} BookingWish;

/* an insert that is refused this often for no visible reason never succeeds */
#define BOOKING_MAX_REFUSALS 1000

extern LOCKMODE booking_capacity_lock_mode(const BookingResource **resources,
										   int nresources);
extern bool booking_capacity_reserve(const BookingWish *wish,
									 Jsonb **collision);
extern bool booking_capacity_reserve_beside(const BookingWish *wish,
											int64 beside, Jsonb **collision);
extern Jsonb *booking_capacity_overrun(const BookingWish *wish);
extern Jsonb *booking_capacity_exceeded(const BookingResource *resource,
										int32 units);
extern void booking_capacity_lower(const BookingResource *resource,
								   int32 capacity);
extern void booking_capacity_occupied(const BookingResource *resource,
									  TimestampTz start, TimestampTz end,
									  TimestampTz *occupied_start,
									  TimestampTz *occupied_end);
extern bool booking_reservation_expired(const BookingReservation *row,
										TimestampTz now);

#endif							/* BOOKING_CAPACITY_H */

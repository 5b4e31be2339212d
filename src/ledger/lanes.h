/*-------------------------------------------------------------------------
 *
 * lanes.h
 *	  counting and colouring intervals
 *
 * IDENTIFICATION
 *	  booking/src/ledger/lanes.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LANES_H
#define BOOKING_LANES_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* lanes from here up are used only between the two UPDATEs of a move */
#define BOOKING_LANE_LIMIT 32768

typedef struct BookingSpan
{
	TimestampTz start;
	TimestampTz end;
	int			count;			/* intervals at the start of the span */
} BookingSpan;

typedef struct BookingLaneItem
{
	TimestampTz start;
	TimestampTz end;
	int32		lane;			/* in: present lane, -1 none; out: the lane */
	void	   *row;			/* the caller's, NULL for a new one */
} BookingLaneItem;

extern BookingSpan *booking_lanes_above(const BookingSpan *intervals, int count,
										int limit, int *nspans);
extern bool booking_lanes_color(BookingLaneItem *items, int count,
								int32 first_lane, int32 lane_limit);

#endif							/* BOOKING_LANES_H */

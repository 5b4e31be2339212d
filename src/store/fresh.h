/*-------------------------------------------------------------------------
 *
 * fresh.h
 *	  readings of calendars that operations wait for
 *
 * IDENTIFICATION
 *	  booking/src/store/fresh.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_FRESH_STORE_H
#define BOOKING_FRESH_STORE_H

#include "store/record.h"

/* how a request for a reading stands */
typedef enum BookingReading
{
	BOOKING_READING_OPEN,		/* no reading has covered it yet */
	BOOKING_READING_DONE,
	BOOKING_READING_FAILED		/* and is not tried again at once */
} BookingReading;

typedef struct BookingReadingState
{
	int64		request_id;
	BookingReading reading;
	char	   *calendar;		/* that it failed for, else NULL */
	char	   *problem;		/* likewise */
} BookingReadingState;

/* what a decision about an operation needs to know besides its payload */
typedef struct BookingFreshFacts
{
	int64		predecessor_id; /* 0: none */
	bool		override;		/* made beyond the capacity on purpose */
	int64	   *known;			/* attendees' events that are no news */
	int			nknown;
} BookingFreshFacts;

extern BookingReadingState *booking_store_readings(const int64 *request_ids,
												   const int64 *calendar_ids,
												   const TimestampTz *asked_at,
												   int count, TimestampTz now,
												   int *found);
extern void booking_store_fresh_facts(int64 operation_id,
									  BookingFreshFacts *facts);

#endif							/* BOOKING_FRESH_STORE_H */

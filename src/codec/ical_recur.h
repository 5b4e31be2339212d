/*-------------------------------------------------------------------------
 *
 * ical_recur.h
 *	  recurrence rules of events, in the local time of their zone
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_recur.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_RECUR_H
#define BOOKING_ICAL_RECUR_H

#include "codec/arena.h"

typedef struct BookingIcalRecur BookingIcalRecur;

/* where a rule ends; COUNT is seen to by the rule itself */
typedef struct BookingIcalUntil
{
	bool		given;
	bool		is_utc;
	bool		is_date;
	int64		at;				/* seconds from 1970-01-01, UTC or local */
} BookingIcalUntil;

typedef enum BookingIcalRecurResult
{
	BOOKING_RECUR_DONE,
	BOOKING_RECUR_STOPPED,		/* by the receiver */
	BOOKING_RECUR_TOO_LONG		/* more steps than an object may have */
} BookingIcalRecurResult;

/* takes a local time, in seconds; false: no more are wanted */
typedef bool (*BookingIcalRecurReceiver) (void *context, int64 local);

extern BookingIcalRecur *booking_ical_recur_parse(const char *text,
												  int64 start, bool is_date,
												  BookingArena *arena);
extern const BookingIcalUntil *booking_ical_recur_until(const BookingIcalRecur *recur);
extern BookingIcalRecurResult booking_ical_recur_expand(const BookingIcalRecur *recur,
														int64 from, int64 to,
														int64 *steps_left,
														BookingIcalRecurReceiver receive,
														void *context);

#endif							/* BOOKING_ICAL_RECUR_H */

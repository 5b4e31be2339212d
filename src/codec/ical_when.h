/*-------------------------------------------------------------------------
 *
 * ical_when.h
 *	  times of an event, its length, and what they make together
 *
 * Local times and instants are seconds from 1970-01-01 00:00, except where an
 * occurrence is filled.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_when.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_WHEN_H
#define BOOKING_ICAL_WHEN_H

#include "codec/ical_part.h"
#include "codec/ical_zone.h"

/* by which clocks a time is told */
typedef struct BookingIcalClock
{
	const char *tzid;			/* NULL: UTC */
} BookingIcalClock;

/* what times of one object are understood by */
typedef struct BookingIcalTimes
{
	BookingIcalZones zones;
	BookingIcalClock calendar;	/* for dates and floating times */
} BookingIcalTimes;

/* a time; in an unknown zone the instant is as if in UTC */
typedef struct BookingIcalMoment
{
	BookingIcalClock clock;
	bool		is_date;
	bool		is_floating;
	bool		is_unknown;
	int64		local;
	int64		instant;
} BookingIcalMoment;

/* how far an occurrence reaches from its start */
typedef struct BookingIcalLength
{
	int64		days_before;	/* on the clocks of the start */
	int64		seconds_before; /* elapsed */
	int64		days;
	int64		seconds;
	bool		is_loose;		/* the end is in an unknown zone */
} BookingIcalLength;

extern bool booking_ical_moment(BookingIcalTimes *times, const char *word,
								const char *tzid,
								const BookingIcalClock *floating,
								BookingIcalMoment *moment);
extern int64 booking_ical_instant(BookingIcalTimes *times,
								  const BookingIcalClock *clock, int64 local,
								  bool *is_unknown);
extern int64 booking_ical_day(int64 local);
extern int64 booking_ical_local(BookingIcalTimes *times,
								const BookingIcalClock *clock, int64 instant);
extern const char *booking_ical_length(BookingIcalTimes *times,
									   const BookingIcalPart *part,
									   const BookingIcalMoment *start,
									   BookingIcalLength *length);
extern int64 booking_ical_reach(const BookingIcalLength *length, bool before);
extern bool booking_ical_span(BookingIcalTimes *times,
							  const BookingIcalMoment *start,
							  const BookingIcalLength *length,
							  BookingOccurrence *occurrence);

#endif							/* BOOKING_ICAL_WHEN_H */

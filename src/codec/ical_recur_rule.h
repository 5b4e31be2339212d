/*-------------------------------------------------------------------------
 *
 * ical_recur_rule.h
 *	  what a recurrence rule says, inside the codec
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_recur_rule.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_RECUR_RULE_H
#define BOOKING_ICAL_RECUR_RULE_H

#include "codec/ical_recur.h"

/* the most days of a period */
#define BOOKING_RECUR_YEAR 366

/* bits 1 to 366 */
#define BOOKING_RECUR_YEAR_WORDS 6

#define BOOKING_RECUR_MAX_POSITIONS 400

/* from the shortest to the longest */
typedef enum BookingRecurFrequency
{
	BOOKING_RECUR_SECONDLY,
	BOOKING_RECUR_MINUTELY,
	BOOKING_RECUR_HOURLY,
	BOOKING_RECUR_DAILY,
	BOOKING_RECUR_WEEKLY,
	BOOKING_RECUR_MONTHLY,
	BOOKING_RECUR_YEARLY
} BookingRecurFrequency;

/*
 * Lists are sets of bits, each at the number it stands for; an empty one allows
 * everything.  What counts from the end is in a set of its own.
 */
struct BookingIcalRecur
{
	BookingRecurFrequency frequency;
	int64		interval;
	int64		count;			/* 0: none */
	BookingIcalUntil until;
	int64		start;			/* local */
	int			week_start;		/* 0 is Sunday */

	uint32		months;
	uint64		weeks;
	uint64		weeks_from_end;
	bool		has_year_days;
	uint64		year_days[BOOKING_RECUR_YEAR_WORDS];
	uint64		year_days_from_end[BOOKING_RECUR_YEAR_WORDS];
	uint32		month_days;
	uint32		month_days_from_end;
	bool		has_weekdays;
	uint32		weekdays;		/* every one in the period */
	uint64		nth[7];			/* of a weekday in the month or year */
	uint64		nth_from_end[7];

	uint32		hours;
	uint64		minutes;
	uint64		seconds;
	int			ntimes;			/* in a day or part of a day, in their order */
	int32	   *times;

	int			npositions;		/* of BYSETPOS: 1 up, then -n up to -1 */
	int			npositions_from_end;
	int			positions[BOOKING_RECUR_MAX_POSITIONS];
	int			positions_from_end[BOOKING_RECUR_MAX_POSITIONS];
};

extern bool booking_ical_recur_has_day(const BookingIcalRecur *recur, int64 day);
extern bool booking_ical_recur_has_part(const BookingIcalRecur *recur, int64 local);
extern int	booking_ical_recur_part(BookingRecurFrequency frequency);

#endif							/* BOOKING_ICAL_RECUR_RULE_H */

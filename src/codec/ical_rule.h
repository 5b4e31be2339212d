/*-------------------------------------------------------------------------
 *
 * ical_rule.h
 *	  recurrence rules by which zones change their offset
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_rule.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_RULE_H
#define BOOKING_ICAL_RULE_H

#include "codec/arena.h"

/* once a year, in one month, at the time of day of the start */
typedef struct BookingIcalRule
{
	int			month;
	int			weekday;		/* 0 is Sunday, -1 any */
	int			nth;			/* of the month, from its end if negative; 0 any */
	int			position;		/* among the days that match; 0 any */
	uint32		days;			/* bit n: day n of the month; 0 any */
	uint32		days_from_end;	/* bit n: the n-th last day; 0 any */
	int			first_year;
	int			last_year;
	bool		has_until;
	bool		until_is_utc;
	bool		until_is_date;
	int64		until;			/* seconds from 1970-01-01, UTC or local */
} BookingIcalRule;

extern bool booking_ical_rule_parse(const char *text, int64 start,
									BookingIcalRule *rule);
extern bool booking_ical_rule_onset(const BookingIcalRule *rule, int64 start,
									int offset, int year, int64 *onset);

#endif							/* BOOKING_ICAL_RULE_H */

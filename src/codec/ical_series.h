/*-------------------------------------------------------------------------
 *
 * ical_series.h
 *	  an event of an object with all that belongs to it, inside the codec
 *
 * Times are seconds from 1970-01-01 00:00, local or UTC.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_series.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_SERIES_H
#define BOOKING_ICAL_SERIES_H

#include "codec/ical_output.h"
#include "codec/ical_recur.h"
#include "codec/ical_when.h"

#define BOOKING_PROBLEM_ZONE "the zone of a time is unknown"

/* an occurrence that was changed, or all from there on */
typedef struct BookingIcalChange
{
	BookingIcalPart *part;
	bool		has_original;	/* RECURRENCE-ID is understood */
	bool		has_time;		/* start and length are */
	int64		original;		/* instant */
	int64		original_local;
	BookingIcalMoment start;
	BookingIcalLength length;
	const char *problem;
} BookingIcalChange;

/* instants, or local days, that grow */
typedef struct BookingIcalInstants
{
	int			count;
	int			size;
	int64	   *at;
} BookingIcalInstants;

typedef struct BookingIcalSeries
{
	BookingArena *arena;
	BookingIcalTimes *times;
	BookingIcalOutput *output;
	int64	   *steps_left;		/* of all rules of the object */
	BookingIcalPart *master;	/* NULL: there are only changes */
	BookingIcalMoment start;
	BookingIcalLength length;
	const char *problem;		/* with all of its occurrences */

	int			nchanges;		/* in the order of original */
	BookingIcalChange *changes;
	int			nranges;		/* those of them for all from there on */
	BookingIcalChange **ranges;

	int64		reach_before;	/* how far outside the window an occurrence */
	int64		reach_after;	/* may start that is in it after all */
	BookingIcalInstants out;	/* by EXDATE and EXRULE */
	BookingIcalInstants out_days;
	const BookingIcalUntil *until;	/* of the rule that is being expanded */
	int64		last;			/* instant it has come to */
} BookingIcalSeries;

extern bool booking_ical_series_start(BookingIcalSeries *series);
extern void booking_ical_series_changes(BookingIcalSeries *series,
										BookingIcalPart **parts, int nparts);
extern bool booking_ical_series_original(BookingIcalSeries *series,
										 const BookingIcalMoment *moment,
										 int64 *instant, int64 *local);
extern void booking_ical_series_add_changes(BookingIcalSeries *series);
extern void booking_ical_series_expand(BookingIcalSeries *series);
extern const char *booking_ical_series_zone(BookingIcalTimes *times,
											const BookingIcalMoment *start);

#endif							/* BOOKING_ICAL_SERIES_H */

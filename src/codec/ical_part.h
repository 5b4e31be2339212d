/*-------------------------------------------------------------------------
 *
 * ical_part.h
 *	  a VEVENT as it stands in an object, inside the codec
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_part.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_PART_H
#define BOOKING_ICAL_PART_H

#include "codec/contentline.h"
#include "codec/ical_expand.h"

/* a property that is a time, as it stands there */
typedef struct BookingIcalStamp
{
	int			count;			/* times it was given; more than one is wrong */
	const char *word;
	const char *tzid;
} BookingIcalStamp;

/* lines of one property, in the order in which they came */
typedef struct BookingIcalLines
{
	struct BookingIcalLines *next;
	BookingContentLine line;
} BookingIcalLines;

/* the first and the last of them */
typedef struct BookingIcalLineList
{
	BookingIcalLines *first;
	BookingIcalLines *last;
} BookingIcalLineList;

typedef struct BookingIcalPart
{
	struct BookingIcalPart *next;
	int			place;			/* in the object, from 0 */
	BookingEventDetail detail;
	const char *problem;		/* with anything but its occurrences */
	bool		and_future;		/* RANGE=THISANDFUTURE */
	bool		has_status;
	bool		has_transparency;
	bool		has_busy_status;
	bool		says_opaque;	/* TRANSP */
	bool		says_transparent;
	bool		says_busy;		/* X-MICROSOFT-CDO-BUSYSTATUS */
	bool		says_free;
	bool		has_sequence;
	BookingIcalStamp start;
	BookingIcalStamp end;
	BookingIcalStamp duration;
	BookingIcalStamp original;	/* RECURRENCE-ID */
	BookingIcalLineList rules;
	BookingIcalLineList rules_out;	/* EXRULE */
	BookingIcalLineList dates;
	BookingIcalLineList dates_out;	/* EXDATE */
} BookingIcalPart;

extern void booking_ical_part_add(BookingIcalPart *part,
								  const BookingContentLine *line,
								  BookingArena *arena);
extern void booking_ical_part_end(BookingIcalPart *part);

#endif							/* BOOKING_ICAL_PART_H */

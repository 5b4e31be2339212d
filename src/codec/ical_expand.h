/*-------------------------------------------------------------------------
 *
 * ical_expand.h
 *	  one iCalendar object as the occurrences it has within a window
 *
 * Instants are microseconds from 1970-01-01 00:00 UTC.  Everything that comes
 * out hangs off the caller's arena; strings are valid UTF-8, capped, and end in
 * NUL, and NULL means absent.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_expand.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_EXPAND_H
#define BOOKING_ICAL_EXPAND_H

#include "codec/ical.h"

/* original of an event that has no recurrence: sorts before any instant */
#define BOOKING_OCCURRENCE_SINGLE PG_INT64_MIN

/* what is kept of an object, whatever its sender wrote */
#define BOOKING_EXPAND_OCCURRENCES 10000	/* unless the caller says otherwise */
#define BOOKING_EXPAND_ATTENDEES 500
#define BOOKING_EXPAND_TEXT 1000	/* bytes of a UID, an address, a name */

/*
 * Arena that is enough for an object of len bytes unless it is made to be
 * large; what does not fit is BOOKING_ICAL_TOO_LARGE.
 */
#define BOOKING_EXPAND_ARENA(len) ((size_t) (len) * 4 + 8 * 1024 * 1024)

/* what is asked for */
typedef struct BookingExpandRequest
{
	int64		from;			/* the window is [from, to) */
	int64		to;
	const char *zone;			/* the calendar's, of the IANA database */
	int			max_occurrences;	/* 0: BOOKING_EXPAND_OCCURRENCES */
} BookingExpandRequest;

typedef enum BookingEventStatus
{
	BOOKING_STATUS_CONFIRMED,	/* also if the event does not say */
	BOOKING_STATUS_TENTATIVE,
	BOOKING_STATUS_CANCELED,
	BOOKING_STATUS_UNKNOWN		/* a word that RFC 5545 does not know */
} BookingEventStatus;

typedef struct BookingParticipant
{
	const char *email;			/* never NULL */
	const char *partstat;		/* in lower case: accepted, needs-action, ... */
	bool		optional;		/* ROLE is OPT- or NON-PARTICIPANT */
} BookingParticipant;

/* what a VEVENT says besides its time; all its occurrences point to one */
typedef struct BookingEventDetail
{
	const char *uid;
	const char *marker;			/* BOOKING_ICAL_MARKER */
	const char *zone;			/* in which the start is written: see below */
	const char *organizer;		/* address */
	BookingEventStatus status;
	bool		transparent;	/* see below */
	int			sequence;
	int			nattendees;		/* that are kept */
	int			nattendees_given;	/* more than are kept if some were left out */
	BookingParticipant *attendees;
} BookingEventDetail;

/*
 * detail->zone is the name of the IANA database that the TZID means, "UTC" for
 * a time in UTC, the TZID as written if only the object or nobody knows it, and
 * NULL for a floating time or a date, which are in the calendar's zone.
 */

typedef struct BookingOccurrence
{
	int64		original;		/* unique in the object; see below */
	bool		has_time;		/* else start and end are 0 */
	int64		start;
	int64		end;			/* exclusive, not before start */
	bool		all_day;		/* midnight to midnight of the calendar's zone */
	bool		busy;			/* has a time, not canceled, not transparent */
	const BookingEventDetail *detail;
	const char *problem;		/* why time or detail may not be right */
} BookingOccurrence;

typedef struct BookingExpansion
{
	bool		recurring;		/* has a rule, dates or changed occurrences */
	int			noccurrences;
	BookingOccurrence *occurrences; /* in the order of original */
	const char *problem;		/* the first one there was; NULL if none */
} BookingExpansion;

/*
 * Read an object (RFC 5545, RFC 4791 section 4.1) and return those of its
 * occurrences whose time meets the window, changed and canceled ones included,
 * and those that have no time that can be understood.  An occurrence of no
 * length is in the window if its start is.  Dates taken out by EXDATE are not
 * there at all.
 *
 * original identifies an occurrence for as long as the series exists: the
 * instant at which it was to start before it was moved (RECURRENCE-ID), for an
 * all-day one the midnight in the calendar's zone, and for an event without
 * recurrence BOOKING_OCCURRENCE_SINGLE.  If an object holds events that would
 * share an original, which it must not, those behind the first get the next
 * free microsecond, which no time of iCalendar has.
 *
 * data need not be terminated and may be anything.  Faults say that nothing can
 * be known: it is no whole object, holds no event, or is too large for the
 * arena.  Whatever else is wrong is a problem: a short text for people, without
 * anything of the event in it.  Where a problem leaves open when the event is,
 * the occurrence spans the widest time that is plausible; it is never taken to
 * be in UTC.
 */
extern BookingIcalFault booking_ical_expand(const char *data, size_t len,
											const BookingExpandRequest *request,
											BookingArena *arena,
											BookingExpansion *expansion);

/* what a fault means, for people; never NULL */
extern const char *booking_ical_fault_text(BookingIcalFault fault);

#endif							/* BOOKING_ICAL_EXPAND_H */

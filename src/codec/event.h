/*-------------------------------------------------------------------------
 *
 * event.h
 *	  what a provider's event is to us
 *
 * The model that all adapters share.  Instants are microseconds from
 * 1970-01-01 00:00 UTC, so that it needs no server header.  Strings are UTF-8
 * and end in NUL; NULL means absent.  Everything hangs off one arena; see
 * codec/arena.h.
 *
 * IDENTIFICATION
 *	  booking/src/codec/event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EVENT_H
#define BOOKING_EVENT_H

#include "codec/arena.h"

typedef struct BookingAttendee
{
	const char *email;
	const char *name;
	bool		optional;
} BookingAttendee;

/* who is told of the event by the provider */
typedef enum BookingNotify
{
	BOOKING_NOTIFY_NONE,
	BOOKING_NOTIFY_EXTERNAL,
	BOOKING_NOTIFY_ALL
} BookingNotify;

typedef struct BookingEvent
{
	const char *uid;			/* our single-use event id */
	const char *marker;			/* the same id in a property of ours */
	int64		start;
	int64		end;
	bool		all_day;		/* start and end are local dates */
	bool		recurring;		/* has RRULE, RDATE or RECURRENCE-ID */
	bool		canceled;		/* STATUS:CANCELLED */
	bool		transparent;	/* does not block time */
	int			sequence;
	const char *summary;
	const char *description;
	const char *location;
	const char *organizer_email;
	const char *organizer_name;
	int			nattendees;
	BookingAttendee *attendees;
	BookingNotify notify;		/* only for writing */
	bool		conference;		/* only for writing */
} BookingEvent;

#endif							/* BOOKING_EVENT_H */

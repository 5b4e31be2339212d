/*-------------------------------------------------------------------------
 *
 * ical.h
 *	  events as iCalendar objects (RFC 5545) and back
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_H
#define BOOKING_ICAL_H

#include "codec/event.h"

/* property that carries our marker */
#define BOOKING_ICAL_MARKER "X-BOOKING-ID"

typedef enum BookingIcalFault
{
	BOOKING_ICAL_OK,
	BOOKING_ICAL_MALFORMED,		/* not an iCalendar object */
	BOOKING_ICAL_NO_EVENT,		/* no VEVENT without RECURRENCE-ID */
	BOOKING_ICAL_BAD_TIME,		/* a time that cannot be understood */
	BOOKING_ICAL_TOO_LARGE		/* over the limit of the arena */
} BookingIcalFault;

/*
 * Write one VCALENDAR with one VEVENT in UTC, without METHOD: CRLF, folded at
 * 75 octets between characters, all text escaped, control characters but tab
 * and line break left out.  stamp is DTSTAMP, microseconds from 1970.  Unless
 * notify is BOOKING_NOTIFY_ALL each ATTENDEE and ORGANIZER has
 * SCHEDULE-AGENT=NONE, so that no server mails (external is all for servers
 * that cannot tell).  The result is in the arena.
 */
extern BookingIcalFault booking_ical_write(const BookingEvent *event,
										   int64 stamp, BookingArena *arena,
										   char **data, size_t *len);

/*
 * Read an object from outside: at most one event, the master, is returned.
 * data need not be terminated and may be anything.
 */
extern BookingIcalFault booking_ical_read(const char *data, size_t len,
										  BookingArena *arena,
										  BookingEvent *event);

#endif							/* BOOKING_ICAL_H */

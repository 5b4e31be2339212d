/*-------------------------------------------------------------------------
 *
 * ical_write.c
 *	  events as iCalendar objects (RFC 5545), written
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_write.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/contentline.h"
#include "codec/ical.h"

#define PRODUCT "-//booking//booking for PostgreSQL//EN"

static bool time_can_be_written(int64 instant, bool all_day);
static void write_line(BookingContentWriter *writer, const char *line);
static void write_text(BookingContentWriter *writer, const char *name,
					   const char *text);
static void write_time(BookingContentWriter *writer, const char *name,
					   int64 instant, bool all_day);
static void write_number(BookingContentWriter *writer, int number, int width);
static void write_people(BookingContentWriter *writer,
						 const BookingEvent *event);
static void write_person(BookingContentWriter *writer, const char *email,
						 const char *name, const char *params);

/*
 * Write an event; see ical.h for what comes out.  Faults: a missing or blank
 * uid is MALFORMED; BAD_TIME is an event that does not end after it begins, or
 * whose times, or stamp, iCalendar cannot say: outside the years 1 to 9999,
 * with a fraction of a second, or, all-day, within a day.
 *
 * No participation is asked for in the name of attendees: without PARTSTAT and
 * RSVP an invitation awaits an answer and none is demanded.  recurring and
 * conference have no form here.
 */
BookingIcalFault
booking_ical_write(const BookingEvent *event, int64 stamp,
				   BookingArena *arena, char **data, size_t *len)
{
	BookingContentWriter writer;

	*data = NULL;
	*len = 0;
	if (booking_contentline_is_blank(event->uid))
		return BOOKING_ICAL_MALFORMED;
	stamp -= stamp % BOOKING_CIVIL_SECOND;
	if (event->end <= event->start ||
		!time_can_be_written(event->start, event->all_day) ||
		!time_can_be_written(event->end, event->all_day) ||
		!time_can_be_written(stamp, false))
		return BOOKING_ICAL_BAD_TIME;

	booking_buffer_init(&writer.out, arena);
	writer.column = 0;
	write_line(&writer, "BEGIN:VCALENDAR");
	write_line(&writer, "VERSION:2.0");
	write_line(&writer, "PRODID:" PRODUCT);
	write_line(&writer, "BEGIN:VEVENT");
	write_text(&writer, "UID:", event->uid);
	write_time(&writer, "DTSTAMP", stamp, false);
	write_time(&writer, "DTSTART", event->start, event->all_day);
	write_time(&writer, "DTEND", event->end, event->all_day);
	booking_contentline_put(&writer, "SEQUENCE:");
	write_number(&writer, Max(event->sequence, 0), 1);
	booking_contentline_end(&writer);
	write_line(&writer, event->canceled ? "STATUS:CANCELLED" : "STATUS:CONFIRMED");
	write_line(&writer, event->transparent ? "TRANSP:TRANSPARENT" : "TRANSP:OPAQUE");
	write_text(&writer, "SUMMARY:", event->summary);
	write_text(&writer, "DESCRIPTION:", event->description);
	write_text(&writer, "LOCATION:", event->location);
	write_people(&writer, event);
	write_text(&writer, BOOKING_ICAL_MARKER ":", event->marker);
	write_line(&writer, "END:VEVENT");
	write_line(&writer, "END:VCALENDAR");

	if (booking_arena_failed(arena))
		return BOOKING_ICAL_TOO_LARGE;
	*data = writer.out.data;
	*len = writer.out.len;
	return BOOKING_ICAL_OK;
}

/*
 * Can iCalendar say this time?
 */
static bool
time_can_be_written(int64 instant, bool all_day)
{
	BookingCivil civil;

	return instant % BOOKING_CIVIL_SECOND == 0 &&
		booking_civil_split(instant / BOOKING_CIVIL_SECOND, &civil) &&
		(!all_day ||
		 instant % (BOOKING_CIVIL_DAY * BOOKING_CIVIL_SECOND) == 0);
}

/*
 * Write a whole line of syntax.
 */
static void
write_line(BookingContentWriter *writer, const char *line)
{
	booking_contentline_put(writer, line);
	booking_contentline_end(writer);
}

/*
 * Write a property of type TEXT, unless nothing of it is left but blanks:
 * libical takes them away, and a property without a value for an error.
 */
static void
write_text(BookingContentWriter *writer, const char *name, const char *text)
{
	if (booking_contentline_is_blank(text))
		return;
	booking_contentline_put(writer, name);
	booking_contentline_put_text(writer, text);
	booking_contentline_end(writer);
}

/*
 * Write a time in UTC, or a date.
 */
static void
write_time(BookingContentWriter *writer, const char *name, int64 instant,
		   bool all_day)
{
	BookingCivil civil = {0};

	(void) booking_civil_split(instant / BOOKING_CIVIL_SECOND, &civil);
	booking_contentline_put(writer, name);
	booking_contentline_put(writer, all_day ? ";VALUE=DATE:" : ":");
	write_number(writer, civil.year, 4);
	write_number(writer, civil.month, 2);
	write_number(writer, civil.day, 2);
	if (!all_day)
	{
		booking_contentline_put(writer, "T");
		write_number(writer, civil.hour, 2);
		write_number(writer, civil.minute, 2);
		write_number(writer, civil.second, 2);
		booking_contentline_put(writer, "Z");
	}
	booking_contentline_end(writer);
}

/*
 * Write a number that is not negative, with zeros up to a width.
 */
static void
write_number(BookingContentWriter *writer, int number, int width)
{
	char		digits[16];
	int			at = lengthof(digits) - 1;

	digits[at] = '\0';
	do
	{
		digits[--at] = (char) ('0' + number % 10);
		number /= 10;
	} while (number > 0 || at > (int) lengthof(digits) - 1 - width);
	booking_contentline_put(writer, digits + at);
}

/*
 * Write ORGANIZER and ATTENDEE.  SCHEDULE-AGENT=NONE keeps the server from
 * telling anyone (RFC 6638 section 7.1).
 */
static void
write_people(BookingContentWriter *writer, const BookingEvent *event)
{
	const char *agent = event->notify == BOOKING_NOTIFY_NONE ?
		";SCHEDULE-AGENT=NONE" : "";

	if (event->organizer_email != NULL)
	{
		booking_contentline_put(writer, "ORGANIZER");
		write_person(writer, event->organizer_email, event->organizer_name,
					 agent);
	}
	for (int i = 0; i < event->nattendees; i++)
	{
		const BookingAttendee *attendee = &event->attendees[i];

		booking_contentline_put(writer, "ATTENDEE;ROLE=");
		booking_contentline_put(writer, attendee->optional ?
								"OPT-PARTICIPANT" : "REQ-PARTICIPANT");
		write_person(writer, attendee->email == NULL ? "" : attendee->email,
					 attendee->name, agent);
	}
}

/*
 * Write name and address behind the name of a property.
 */
static void
write_person(BookingContentWriter *writer, const char *email,
			 const char *name, const char *params)
{
	if (!booking_contentline_is_blank(name))
	{
		booking_contentline_put(writer, ";CN=");
		booking_contentline_put_quoted(writer, name);
	}
	booking_contentline_put(writer, params);
	booking_contentline_put(writer, ":mailto:");
	booking_contentline_put_uri(writer, email);
	booking_contentline_end(writer);
}

/*-------------------------------------------------------------------------
 *
 * ical.c
 *	  events as iCalendar objects (RFC 5545), read
 *
 * One pass over the content lines keeps what the event model has room for.
 * Lines that are not understood are passed over, since one odd line of some
 * program must not hide a busy time; but what identifies the event or says when
 * it is must be right.
 *
 * Times are made into instants when all lines have come, because a VTIMEZONE
 * may stand behind the event.  A time without a zone is refused like one in an
 * unknown zone: which one is meant only the calendar's owner knows.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical.h"
#include "codec/ical_value.h"
#include "codec/ical_walk.h"

/* far more than any calendar needs, and little enough to be read at once */
#define MAX_LINES 50000
#define MAX_ATTENDEES 5000

/* DTSTART, DTEND or DURATION as it stands there */
typedef struct TimeValue
{
	int			count;			/* times it was given; more than one is wrong */
	const char *word;
	const char *tzid;
} TimeValue;

/* a VEVENT being read */
typedef struct Draft
{
	BookingEvent event;
	int			nuids;
	bool		is_override;	/* has RECURRENCE-ID */
	bool		has_status;
	bool		has_transparency;
	bool		has_sequence;
	TimeValue	start;
	TimeValue	end;
	TimeValue	duration;
	int			attendees_size;
} Draft;

typedef struct Reader
{
	BookingArena *arena;
	BookingIcalZones zones;
	int			nmasters;
	int			noverrides;
	Draft		draft;
	Draft		master;
} Reader;

static BookingIcalFault end_event(Reader *reader);
static BookingIcalFault read_event_line(Reader *reader,
										const BookingContentLine *line);
static bool read_time_line(Reader *reader, const BookingContentLine *line);
static bool read_flag_line(Reader *reader, const BookingContentLine *line);
static BookingIcalFault read_attendee(Reader *reader,
									  const BookingContentLine *line);
static bool resolve_times(Reader *reader, Draft *draft);
static bool resolve_time(Reader *reader, const TimeValue *value,
						 int64 days_later, int64 *instant, bool *is_date);

/*
 * Read an object from outside.  data need not be terminated and may be
 * anything.  The event and all it points to are in the arena.  What is not in
 * the object is NULL, 0 or false.
 *
 * uid, marker, names and texts are as the sender meant them, which may include
 * control characters but NUL.  An attendee's address that is no mailto: is the
 * EMAIL parameter (RFC 7986) or else the whole URI.  recurring is also true when
 * there are only changed instances beside the master.
 *
 * After a fault nothing in event may be used.
 */
BookingIcalFault
booking_ical_read(const char *data, size_t len, BookingArena *arena,
				  BookingEvent *event)
{
	Reader	   *reader = booking_arena_alloc(arena, sizeof(Reader));
	BookingIcalWalk walk;
	BookingIcalStep step;
	BookingContentLine line;
	char	   *text;
	bool		has_nul;
	BookingIcalFault fault = BOOKING_ICAL_OK;

	memset(event, 0, sizeof(BookingEvent));
	text = booking_contentline_unfold(data, len, arena, &has_nul);
	if (has_nul)
		return BOOKING_ICAL_MALFORMED;
	if (reader == NULL || text == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	reader->arena = arena;

	booking_ical_walk_start(&walk, text, MAX_LINES, arena, &reader->zones);
	while (fault == BOOKING_ICAL_OK &&
		   (step = booking_ical_walk_next(&walk, &line)) != BOOKING_ICAL_STOPPED)
	{
		if (step == BOOKING_ICAL_EVENT_BEGINS)
			memset(&reader->draft, 0, sizeof(Draft));
		else if (step == BOOKING_ICAL_EVENT_LINE)
			fault = read_event_line(reader, &line);
		else
			fault = end_event(reader);
	}
	if (booking_arena_failed(arena))
		return BOOKING_ICAL_TOO_LARGE;
	if (fault == BOOKING_ICAL_OK)
		fault = walk.fault;
	if (fault != BOOKING_ICAL_OK)
		return fault;
	if (reader->nmasters == 0)
		return BOOKING_ICAL_NO_EVENT;

	if (!resolve_times(reader, &reader->master))
		fault = BOOKING_ICAL_BAD_TIME;
	if (booking_arena_failed(arena))
		return BOOKING_ICAL_TOO_LARGE;
	if (reader->noverrides > 0)
		reader->master.event.recurring = true;
	*event = reader->master.event;
	return fault;
}

/*
 * The event that ends is the master unless it has a RECURRENCE-ID.  Two
 * masters, or two UIDs in one, leave open which event it is.
 */
static BookingIcalFault
end_event(Reader *reader)
{
	if (reader->draft.is_override)
	{
		reader->noverrides++;
		return BOOKING_ICAL_OK;
	}
	if (reader->draft.nuids > 1 || reader->nmasters++ > 0)
		return BOOKING_ICAL_MALFORMED;
	reader->master = reader->draft;
	return BOOKING_ICAL_OK;
}

/*
 * A property of an event.  Of one that is given twice the first counts, unless
 * it matters too much.
 */
static BookingIcalFault
read_event_line(Reader *reader, const BookingContentLine *line)
{
	BookingEvent *event = &reader->draft.event;
	const char **text = NULL;

	if (booking_contentline_is(line, "ATTENDEE"))
		return read_attendee(reader, line);
	if (read_time_line(reader, line) || read_flag_line(reader, line))
		return BOOKING_ICAL_OK;

	if (booking_contentline_is(line, "UID"))
	{
		text = &event->uid;
		reader->draft.nuids++;
	}
	else if (booking_contentline_is(line, BOOKING_ICAL_MARKER))
		text = &event->marker;
	else if (booking_contentline_is(line, "SUMMARY"))
		text = &event->summary;
	else if (booking_contentline_is(line, "DESCRIPTION"))
		text = &event->description;
	else if (booking_contentline_is(line, "LOCATION"))
		text = &event->location;
	else if (booking_contentline_is(line, "ORGANIZER") &&
			 event->organizer_email == NULL)
	{
		event->organizer_email = booking_ical_address(line, reader->arena);
		event->organizer_name = booking_contentline_param(line, "CN",
														  reader->arena);
	}
	if (text != NULL && *text == NULL)
		*text = booking_contentline_text(line, reader->arena);
	return BOOKING_ICAL_OK;
}

/*
 * A property that says when the event is; false if it is none.
 */
static bool
read_time_line(Reader *reader, const BookingContentLine *line)
{
	TimeValue  *value;

	if (booking_contentline_is(line, "DTSTART"))
		value = &reader->draft.start;
	else if (booking_contentline_is(line, "DTEND"))
		value = &reader->draft.end;
	else if (booking_contentline_is(line, "DURATION"))
		value = &reader->draft.duration;
	else
		return false;

	if (value->count++ == 0)
	{
		value->word = booking_contentline_word(line, reader->arena);
		value->tzid = booking_contentline_param(line, "TZID", reader->arena);
	}
	return true;
}

/*
 * A property that is a word or a number; false if it is none.
 */
static bool
read_flag_line(Reader *reader, const BookingContentLine *line)
{
	Draft	   *draft = &reader->draft;
	char	   *word;

	if (booking_contentline_is(line, "RRULE") ||
		booking_contentline_is(line, "RDATE"))
	{
		draft->event.recurring = true;
		return true;
	}
	if (booking_contentline_is(line, "RECURRENCE-ID"))
	{
		draft->is_override = true;
		return true;
	}
	if (!booking_contentline_is(line, "STATUS") &&
		!booking_contentline_is(line, "TRANSP") &&
		!booking_contentline_is(line, "SEQUENCE"))
		return false;

	word = booking_contentline_word(line, reader->arena);
	if (word == NULL)
		return true;
	if (booking_contentline_is(line, "STATUS") && !draft->has_status)
	{
		draft->has_status = true;
		draft->event.canceled = pg_strcasecmp(word, "CANCELLED") == 0;
	}
	else if (booking_contentline_is(line, "TRANSP") && !draft->has_transparency)
	{
		draft->has_transparency = true;
		draft->event.transparent = pg_strcasecmp(word, "TRANSPARENT") == 0;
	}
	else if (booking_contentline_is(line, "SEQUENCE") && !draft->has_sequence)
	{
		draft->has_sequence = true;
		draft->event.sequence = booking_ical_sequence(word);
	}
	return true;
}

/*
 * ATTENDEE: one more.
 */
static BookingIcalFault
read_attendee(Reader *reader, const BookingContentLine *line)
{
	Draft	   *draft = &reader->draft;
	BookingEvent *event = &draft->event;
	BookingAttendee *attendee;
	char	   *role;

	if (event->nattendees == MAX_ATTENDEES)
		return BOOKING_ICAL_TOO_LARGE;
	if (event->nattendees == draft->attendees_size)
	{
		int			size = Max(draft->attendees_size * 2, 8);
		BookingAttendee *grown;

		grown = booking_arena_alloc(reader->arena,
									size * sizeof(BookingAttendee));
		if (grown == NULL)
			return BOOKING_ICAL_TOO_LARGE;
		if (event->nattendees > 0)
			memcpy(grown, event->attendees,
				   event->nattendees * sizeof(BookingAttendee));
		event->attendees = grown;
		draft->attendees_size = size;
	}

	attendee = &event->attendees[event->nattendees];
	attendee->email = booking_ical_address(line, reader->arena);
	if (attendee->email == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	attendee->name = booking_contentline_param(line, "CN", reader->arena);
	role = booking_contentline_param(line, "ROLE", reader->arena);
	attendee->optional = role != NULL &&
		pg_strcasecmp(role, "OPT-PARTICIPANT") == 0;
	event->nattendees++;
	return BOOKING_ICAL_OK;
}

/*
 * Work out when the event is (RFC 5545 section 3.6.1): it ends at DTEND, or
 * DURATION after its start, or with the day if it is all-day, or at once.
 * Returns false if that cannot be told.
 */
static bool
resolve_times(Reader *reader, Draft *draft)
{
	BookingEvent *event = &draft->event;
	int64		day = BOOKING_CIVIL_DAY * BOOKING_CIVIL_SECOND;
	BookingIcalDuration duration;
	bool		end_is_date;

	if (draft->start.count != 1 || draft->end.count + draft->duration.count > 1 ||
		!resolve_time(reader, &draft->start, 0, &event->start, &event->all_day))
		return false;

	if (draft->end.count == 1)
	{
		if (!resolve_time(reader, &draft->end, 0, &event->end, &end_is_date) ||
			end_is_date != event->all_day || event->end < event->start)
			return false;

		/* some programs name the last day; the day itself is meant at least */
		if (event->all_day && event->end == event->start)
			event->end += day;
		return true;
	}
	if (draft->duration.count == 0)
	{
		event->end = event->start + (event->all_day ? day : 0);
		return true;
	}

	/* days are days of the calendar, hours are elapsed (section 3.3.6) */
	if (!booking_ical_duration(draft->duration.word, &duration) ||
		duration.negative ||
		(event->all_day && duration.seconds % BOOKING_CIVIL_DAY != 0) ||
		!resolve_time(reader, &draft->start, duration.days, &event->end,
					  &end_is_date))
		return false;
	event->end += duration.seconds * BOOKING_CIVIL_SECOND;
	if (event->all_day && event->end == event->start)
		event->end += day;
	return true;
}

/*
 * The instant of a time, some days later on the clocks of its zone, in
 * microseconds.  For a date: its beginning as if in UTC.
 */
static bool
resolve_time(Reader *reader, const TimeValue *value, int64 days_later,
			 int64 *instant, bool *is_date)
{
	int64		local;
	bool		is_utc;

	if (value->word == NULL ||
		!booking_ical_local_time(value->word, &local, is_date, &is_utc))
		return false;
	local += days_later * BOOKING_CIVIL_DAY;
	if (!*is_date && !is_utc &&
		(value->tzid == NULL ||
		 !booking_ical_zone_instant(&reader->zones, value->tzid, local, &local)))
		return false;
	*instant = local * BOOKING_CIVIL_SECOND;
	return true;
}

/*-------------------------------------------------------------------------
 *
 * ical.c
 *	  events as iCalendar objects (RFC 5545), read
 *
 * One pass over the content lines keeps what the event model has room for.  An
 * object must be whole: components nest and end as they began, for an answer
 * that was cut must not pass for an event.  Within it, lines that are not
 * understood are passed over, since one odd line of some program must not hide
 * a busy time; but what identifies the event or says when it is must be right.
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
#include "codec/ical_zone.h"
#include "codec/utf8.h"

/* far more than any calendar needs, and little enough to be read at once */
#define MAX_LINES 50000
#define MAX_DEPTH 8
#define MAX_ATTENDEES 5000

#define MAX_DURATION_DIGITS 7

typedef enum ComponentKind
{
	COMPONENT_NONE,
	COMPONENT_CALENDAR,
	COMPONENT_EVENT,
	COMPONENT_ZONE,
	COMPONENT_OBSERVANCE,
	COMPONENT_OTHER
} ComponentKind;

typedef struct Component
{
	ComponentKind kind;
	const char *name;
} Component;

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
	Component	stack[MAX_DEPTH];
	int			depth;
	int			ncalendars;
	int			nmasters;
	int			noverrides;
	Draft		draft;
	Draft		master;
} Reader;

static BookingIcalFault read_line(Reader *reader, const BookingContentLine *line);
static BookingIcalFault begin_component(Reader *reader,
										const BookingContentLine *line);
static BookingIcalFault end_component(Reader *reader,
									  const BookingContentLine *line);
static BookingIcalFault read_event_line(Reader *reader,
										const BookingContentLine *line);
static bool read_time_line(Reader *reader, const BookingContentLine *line);
static bool read_flag_line(Reader *reader, const BookingContentLine *line);
static BookingIcalFault read_attendee(Reader *reader,
									  const BookingContentLine *line);
static const char *read_address(Reader *reader, const BookingContentLine *line);
static const char *decode_mailto(const char *address, BookingArena *arena);
static int	read_sequence(const char *word);
static bool resolve_times(Reader *reader, Draft *draft);
static bool resolve_time(Reader *reader, const TimeValue *value,
						 int64 days_later, int64 *instant, bool *is_date);
static bool read_duration(const char *word, int64 *days, int64 *seconds);

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
	char	   *cursor;
	BookingContentLine line;
	bool		has_nul;
	BookingIcalFault fault = BOOKING_ICAL_OK;
	int			nlines = 0;

	memset(event, 0, sizeof(BookingEvent));
	cursor = booking_contentline_unfold(data, len, arena, &has_nul);
	if (has_nul)
		return BOOKING_ICAL_MALFORMED;
	if (reader == NULL || cursor == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	reader->arena = arena;
	booking_ical_zones_init(&reader->zones, arena);

	while (fault == BOOKING_ICAL_OK && booking_contentline_next(&cursor, &line))
	{
		fault = ++nlines > MAX_LINES ? BOOKING_ICAL_TOO_LARGE :
			read_line(reader, &line);
	}
	if (booking_arena_failed(arena))
		return BOOKING_ICAL_TOO_LARGE;
	if (fault != BOOKING_ICAL_OK)
		return fault;
	if (reader->ncalendars == 0 || reader->depth > 0)
		return BOOKING_ICAL_MALFORMED;
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
 * Take one line where it belongs.
 */
static BookingIcalFault
read_line(Reader *reader, const BookingContentLine *line)
{
	ComponentKind kind = reader->depth == 0 ? COMPONENT_NONE :
		reader->stack[reader->depth - 1].kind;

	if (booking_contentline_is(line, "BEGIN"))
		return begin_component(reader, line);
	if (booking_contentline_is(line, "END"))
		return end_component(reader, line);
	switch (kind)
	{
		case COMPONENT_NONE:
			/* neither before the object nor behind it is there anything */
			return BOOKING_ICAL_MALFORMED;
		case COMPONENT_EVENT:
			return read_event_line(reader, line);
		case COMPONENT_ZONE:
			booking_ical_zone_add(&reader->zones, line, false);
			break;
		case COMPONENT_OBSERVANCE:
			booking_ical_zone_add(&reader->zones, line, true);
			break;
		case COMPONENT_CALENDAR:
		case COMPONENT_OTHER:
			break;
	}
	return BOOKING_ICAL_OK;
}

/*
 * BEGIN: a component counts for what it is only where it may stand.
 */
static BookingIcalFault
begin_component(Reader *reader, const BookingContentLine *line)
{
	Component  *component;
	ComponentKind outer = reader->depth == 0 ? COMPONENT_NONE :
		reader->stack[reader->depth - 1].kind;

	if (reader->depth == MAX_DEPTH)
		return BOOKING_ICAL_MALFORMED;
	component = &reader->stack[reader->depth++];
	component->kind = COMPONENT_OTHER;
	component->name = booking_contentline_word(line, reader->arena);
	if (component->name == NULL)
		return BOOKING_ICAL_TOO_LARGE;

	if (outer == COMPONENT_NONE)
	{
		if (pg_strcasecmp(component->name, "VCALENDAR") != 0 ||
			reader->ncalendars++ > 0)
			return BOOKING_ICAL_MALFORMED;
		component->kind = COMPONENT_CALENDAR;
	}
	else if (outer == COMPONENT_CALENDAR &&
			 pg_strcasecmp(component->name, "VEVENT") == 0)
	{
		component->kind = COMPONENT_EVENT;
		memset(&reader->draft, 0, sizeof(Draft));
	}
	else if (outer == COMPONENT_CALENDAR &&
			 pg_strcasecmp(component->name, "VTIMEZONE") == 0)
	{
		component->kind = COMPONENT_ZONE;
		booking_ical_zone_begin(&reader->zones);
	}
	else if (outer == COMPONENT_ZONE)
	{
		component->kind = COMPONENT_OBSERVANCE;
		booking_ical_zone_begin_observance(&reader->zones);
	}
	return BOOKING_ICAL_OK;
}

/*
 * END: the event is the master unless it has a RECURRENCE-ID.  Two masters, or
 * two UIDs in one, leave open which event it is.
 */
static BookingIcalFault
end_component(Reader *reader, const BookingContentLine *line)
{
	const Component *component;
	const char *name = booking_contentline_word(line, reader->arena);

	if (name == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	if (reader->depth == 0)
		return BOOKING_ICAL_MALFORMED;
	component = &reader->stack[--reader->depth];
	if (pg_strcasecmp(component->name, name) != 0)
		return BOOKING_ICAL_MALFORMED;
	if (component->kind != COMPONENT_EVENT)
		return BOOKING_ICAL_OK;

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
		event->organizer_email = read_address(reader, line);
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
		draft->event.sequence = read_sequence(word);
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
	attendee->email = read_address(reader, line);
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
 * The address of CAL-ADDRESS (RFC 5545 section 3.3.3); NULL when the arena has
 * failed.
 */
static const char *
read_address(Reader *reader, const BookingContentLine *line)
{
	const char *uri = booking_contentline_word(line, reader->arena);
	const char *email;

	if (uri == NULL)
		return NULL;
	if (pg_strncasecmp(uri, "mailto:", 7) == 0)
		return decode_mailto(uri + 7, reader->arena);
	email = booking_contentline_param(line, "EMAIL", reader->arena);
	if (email != NULL && *email != '\0')
		return pg_strncasecmp(email, "mailto:", 7) == 0 ? email + 7 : email;
	return uri;
}

/*
 * Decode the percent-encoding of an address.  If what comes out is not UTF-8,
 * or holds a control character, the address is left as it stands there.
 */
static const char *
decode_mailto(const char *address, BookingArena *arena)
{
	size_t		len = strlen(address);
	char	   *decoded = booking_arena_alloc(arena, len + 1);
	char	   *out = decoded;
	char	   *end;

	if (decoded == NULL)
		return NULL;
	for (const char *p = address; *p != '\0'; p++)
	{
		static const char digits[] = "0123456789abcdef";
		const char *high = NULL;
		const char *low = NULL;

		if (*p == '%' && p[1] != '\0' && p[2] != '\0')
		{
			high = strchr(digits, pg_ascii_tolower(p[1]));
			low = strchr(digits, pg_ascii_tolower(p[2]));
		}
		if (high == NULL || low == NULL)
			*out++ = *p;
		else
		{
			*out++ = (char) ((high - digits) << 4 | (low - digits));
			p += 2;
		}
	}
	end = out;
	for (out = decoded; out < end;)
	{
		int			length = booking_utf8_length(out, end - out);

		if (length == 0 || (unsigned char) *out < 0x20 || *out == 0x7f)
			return address;
		out += length;
	}
	*end = '\0';
	return decoded;
}

/*
 * SEQUENCE is 0 unless it is a number (RFC 5545 section 3.8.7.4).
 */
static int
read_sequence(const char *word)
{
	int64		sequence = 0;

	if (*word == '\0' || word[strspn(word, "0123456789")] != '\0')
		return 0;
	for (; *word != '\0' && sequence <= PG_INT32_MAX; word++)
		sequence = sequence * 10 + (*word - '0');
	return (int) Min(sequence, PG_INT32_MAX);
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
	int64		days = 0;
	int64		seconds = 0;
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
	if (!read_duration(draft->duration.word, &days, &seconds) ||
		(event->all_day && seconds % BOOKING_CIVIL_DAY != 0) ||
		!resolve_time(reader, &draft->start, days, &event->end, &end_is_date))
		return false;
	event->end += seconds * BOOKING_CIVIL_SECOND;
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

/*
 * Read DURATION (RFC 5545 section 3.3.6), which must not be negative here.
 */
static bool
read_duration(const char *word, int64 *days, int64 *seconds)
{
	static const char units[] = "WDHMS";
	static const int64 lengths[] = {7, 1, 3600, 60, 1};
	int			next = 0;		/* units come in this order */
	bool		in_time = false;
	bool		any = false;

	if (word == NULL)
		return false;
	word += *word == '+' ? 1 : 0;
	if (*word++ != 'P')
		return false;
	while (*word != '\0')
	{
		int64		number = 0;
		size_t		ndigits;
		const char *unit;

		if (*word == 'T' && !in_time)
		{
			in_time = true;
			word++;
		}
		ndigits = strspn(word, "0123456789");
		if (ndigits == 0 || ndigits > MAX_DURATION_DIGITS)
			return false;
		for (; ndigits > 0; ndigits--, word++)
			number = number * 10 + (*word - '0');
		unit = *word == '\0' ? NULL : strchr(units, *word++);
		if (unit == NULL || unit - units < next || (unit - units >= 2) != in_time)
			return false;
		next = unit - units + 1;
		*(in_time ? seconds : days) += number * lengths[unit - units];
		any = true;
	}
	return any;
}

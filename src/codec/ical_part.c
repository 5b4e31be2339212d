/*-------------------------------------------------------------------------
 *
 * ical_part.c
 *	  a VEVENT as it stands in an object, inside the codec
 *
 * Times, rules and dates are kept as they were written, and understood when all
 * lines of the object have come, because a VTIMEZONE may stand behind the
 * event.  Lines of which there may be many are not copied.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_part.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/ical_part.h"
#include "codec/ical_value.h"

static bool add_time(BookingIcalPart *part, const BookingContentLine *line,
					 BookingArena *arena);
static bool add_recurrence(BookingIcalPart *part, const BookingContentLine *line,
						   BookingArena *arena);
static bool add_word(BookingIcalPart *part, const BookingContentLine *line,
					 BookingArena *arena);
static void add_text(BookingIcalPart *part, const BookingContentLine *line,
					 BookingArena *arena);
static void add_attendee(BookingIcalPart *part, const BookingContentLine *line,
						 BookingArena *arena);
static BookingEventStatus read_status(const char *word);
static char *cut(char *text);

/*
 * Take one line of the event.  Of a property that is given twice the first
 * counts.  A failed arena shows in the end.
 */
void
booking_ical_part_add(BookingIcalPart *part, const BookingContentLine *line,
					  BookingArena *arena)
{
	if (booking_contentline_is(line, "ATTENDEE"))
		add_attendee(part, line, arena);
	else if (!add_time(part, line, arena) && !add_recurrence(part, line, arena) &&
			 !add_word(part, line, arena))
		add_text(part, line, arena);
}

/*
 * All lines have come.
 *
 * Does it block time?  TRANSP says so (RFC 5545 section 3.8.2.7), and so does
 * X-MICROSOFT-CDO-BUSYSTATUS, which Exchange and Outlook obey alone.  A program
 * that knows but one of the two leaves the other as it was, so an event is
 * transparent only if one says so and the other does not say that it is busy.
 * FREE is what is transparent; of WORKINGELSEWHERE, and of words that nobody
 * knows, TRANSP decides.
 */
void
booking_ical_part_end(BookingIcalPart *part)
{
	part->detail.transparent = !part->says_busy &&
		(part->says_transparent || (part->says_free && !part->says_opaque));
	if (part->detail.uid == NULL)
		part->problem = "the event has no UID";
}

/*
 * A property that is a time; false if it is none.
 */
static bool
add_time(BookingIcalPart *part, const BookingContentLine *line,
		 BookingArena *arena)
{
	BookingIcalStamp *stamp;

	if (booking_contentline_is(line, "DTSTART"))
		stamp = &part->start;
	else if (booking_contentline_is(line, "DTEND"))
		stamp = &part->end;
	else if (booking_contentline_is(line, "DURATION"))
		stamp = &part->duration;
	else if (booking_contentline_is(line, "RECURRENCE-ID"))
		stamp = &part->original;
	else
		return false;

	if (stamp->count++ > 0)
		return true;
	stamp->word = booking_contentline_word(line, arena);
	stamp->tzid = cut(booking_contentline_param(line, "TZID", arena));
	if (stamp == &part->original)
	{
		const char *range = booking_contentline_param(line, "RANGE", arena);

		part->and_future = range != NULL && pg_strcasecmp(range, "THISANDFUTURE") == 0;
		if (range != NULL && !part->and_future)
			part->problem = "a change is for occurrences that are not understood";
	}
	return true;
}

/*
 * A property that says how the event recurs; false if it is none.
 */
static bool
add_recurrence(BookingIcalPart *part, const BookingContentLine *line,
			   BookingArena *arena)
{
	BookingIcalLineList *list;
	BookingIcalLines *added;

	if (booking_contentline_is(line, "RRULE"))
		list = &part->rules;
	else if (booking_contentline_is(line, "EXRULE"))
		list = &part->rules_out;
	else if (booking_contentline_is(line, "RDATE"))
		list = &part->dates;
	else if (booking_contentline_is(line, "EXDATE"))
		list = &part->dates_out;
	else
		return false;

	added = booking_arena_alloc(arena, sizeof(BookingIcalLines));
	if (added == NULL)
		return true;
	added->line = *line;
	if (list->last == NULL)
		list->first = added;
	else
		list->last->next = added;
	list->last = added;
	return true;
}

/*
 * A property that is a word or a number; false if it is none.
 */
static bool
add_word(BookingIcalPart *part, const BookingContentLine *line,
		 BookingArena *arena)
{
	bool	   *had;
	char	   *word;

	if (booking_contentline_is(line, "STATUS"))
		had = &part->has_status;
	else if (booking_contentline_is(line, "TRANSP"))
		had = &part->has_transparency;
	else if (booking_contentline_is(line, "X-MICROSOFT-CDO-BUSYSTATUS"))
		had = &part->has_busy_status;
	else if (booking_contentline_is(line, "SEQUENCE"))
		had = &part->has_sequence;
	else
		return false;

	if (*had || (word = booking_contentline_word(line, arena)) == NULL)
		return true;
	*had = true;
	if (had == &part->has_status)
		part->detail.status = read_status(word);
	else if (had == &part->has_sequence)
		part->detail.sequence = booking_ical_sequence(word);
	else if (had == &part->has_transparency)
	{
		part->says_transparent = pg_strcasecmp(word, "TRANSPARENT") == 0;
		part->says_opaque = !part->says_transparent;
	}
	else
	{
		part->says_free = pg_strcasecmp(word, "FREE") == 0;
		part->says_busy = pg_strcasecmp(word, "BUSY") == 0 ||
			pg_strcasecmp(word, "TENTATIVE") == 0 || pg_strcasecmp(word, "OOF") == 0;
	}
	return true;
}

/*
 * A property that is a text, if it is one that is kept.
 */
static void
add_text(BookingIcalPart *part, const BookingContentLine *line,
		 BookingArena *arena)
{
	BookingEventDetail *detail = &part->detail;

	if (booking_contentline_is(line, "UID"))
	{
		if (detail->uid == NULL)
			detail->uid = cut(booking_contentline_text(line, arena));
		else
			part->problem = "the event has two UIDs";
	}
	else if (booking_contentline_is(line, BOOKING_ICAL_MARKER) && detail->marker == NULL)
		detail->marker = cut(booking_contentline_text(line, arena));
	else if (booking_contentline_is(line, "ORGANIZER") && detail->organizer == NULL)
		detail->organizer = cut(unconstify(char *, booking_ical_address(line, arena)));
}

/*
 * ATTENDEE: one more, unless there are too many.
 */
static void
add_attendee(BookingIcalPart *part, const BookingContentLine *line,
			 BookingArena *arena)
{
	BookingEventDetail *detail = &part->detail;
	BookingParticipant *attendee;
	char	   *role;
	char	   *partstat;

	if (detail->nattendees_given < PG_INT32_MAX)
		detail->nattendees_given++;
	if (detail->nattendees == BOOKING_EXPAND_ATTENDEES)
		return;

	/* there is room for 8, 16, 32, ... */
	if (detail->nattendees == 0 ||
		(detail->nattendees >= 8 && (detail->nattendees & (detail->nattendees - 1)) == 0))
	{
		int			size = Max(detail->nattendees * 2, 8);
		BookingParticipant *grown = booking_arena_alloc(arena, size * sizeof(BookingParticipant));

		if (grown == NULL)
			return;
		if (detail->nattendees > 0)
			memcpy(grown, detail->attendees, detail->nattendees * sizeof(BookingParticipant));
		detail->attendees = grown;
	}

	attendee = &detail->attendees[detail->nattendees];
	attendee->email = cut(unconstify(char *, booking_ical_address(line, arena)));
	if (attendee->email == NULL)
		return;
	partstat = cut(booking_contentline_param(line, "PARTSTAT", arena));
	for (char *p = partstat; p != NULL && *p != '\0'; p++)
		*p = pg_ascii_tolower((unsigned char) *p);
	attendee->partstat = partstat;
	role = booking_contentline_param(line, "ROLE", arena);
	attendee->optional = role != NULL && (pg_strcasecmp(role, "OPT-PARTICIPANT") == 0 ||
										  pg_strcasecmp(role, "NON-PARTICIPANT") == 0);
	detail->nattendees++;
}

/*
 * STATUS of an event (RFC 5545 section 3.8.1.11).
 */
static BookingEventStatus
read_status(const char *word)
{
	if (pg_strcasecmp(word, "CONFIRMED") == 0)
		return BOOKING_STATUS_CONFIRMED;
	if (pg_strcasecmp(word, "TENTATIVE") == 0)
		return BOOKING_STATUS_TENTATIVE;
	if (pg_strcasecmp(word, "CANCELLED") == 0)
		return BOOKING_STATUS_CANCELED;
	return BOOKING_STATUS_UNKNOWN;
}

/*
 * Cut a text, if there is one, to what is kept of it, between characters.
 */
static char *
cut(char *text)
{
	size_t		len = text == NULL ? 0 : strlen(text);

	if (len > BOOKING_EXPAND_TEXT)
	{
		len = BOOKING_EXPAND_TEXT;
		while (len > 0 && ((unsigned char) text[len] & 0xc0) == 0x80)
			len--;
		text[len] = '\0';
	}
	return text;
}

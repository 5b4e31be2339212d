/*
 * test/unit/ical_write.c
 *
 * Whatever texts an event has, what is written is one VCALENDAR with one VEVENT
 * and the given people, and means the same to us and to libical, which serves
 * here as the reader that we did not write (R56).  Lines are folded at 75
 * octets between characters, and all is valid UTF-8 (R55).
 */
#include "tap.h"

#include <libical/ical.h>

#include "codec/ical.h"
#include "codec/utf8.h"

#define NINE (tap_utc(2030, 1, 7, 9, 0, 0))
#define HOUR INT64CONST(3600000000)

static BookingArena *arena;
static BookingEvent event;
static BookingEvent back;
static char *data;
static size_t data_len;

static BookingIcalFault write_event(void);
static bool is_well_formed(void);
static int	count_lines(const char *begin);
static icalcomponent *parse_by_libical(icalcomponent **vevent);
static void test_plain(void);
static void test_texts(void);
static void test_controls(void);
static void test_injection(void);
static void test_people(void);
static void test_folding(void);
static void test_times(void);
static void test_faults(void);

int
main(void)
{
	test_plain();
	test_texts();
	test_controls();
	test_injection();
	test_people();
	test_folding();
	test_times();
	test_faults();
	booking_arena_free(arena);
	return tap_done();
}

/*
 * An event with a UID and a time, and nothing else.
 */
static void
begin_event(void)
{
	memset(&event, 0, sizeof(event));
	event.uid = "0123456789abcdefghijklmnopqrstuv";
	event.start = NINE;
	event.end = NINE + HOUR;
}

/*
 * Write the event, and read it again into back.
 */
static BookingIcalFault
write_event(void)
{
	BookingIcalFault fault;

	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
	memset(&back, 0, sizeof(back));
	fault = booking_ical_write(&event, tap_utc(2029, 12, 31, 12, 0, 0) + 999999, arena,
							   &data, &data_len);
	if (fault == BOOKING_ICAL_OK &&
		booking_ical_read(data, data_len, arena, &back) != BOOKING_ICAL_OK)
		memset(&back, 0, sizeof(back));
	return fault;
}

/*
 * Are all lines ended by CR LF, at most 75 octets long, whole characters, and
 * free of control characters?
 */
static bool
is_well_formed(void)
{
	const char *p = data;
	const char *end = data + data_len;

	if (strlen(data) != data_len)
		return false;
	while (p < end)
	{
		const char *line_end = strstr(p, "\r\n");

		if (line_end == NULL || line_end - p > 75)
			return false;
		while (p < line_end)
		{
			int			len = booking_utf8_length(p, line_end - p);

			if (len == 0 || ((unsigned char) *p < 0x20 && *p != '\t') || *p == 0x7f)
				return false;
			p += len;
		}
		p += 2;
	}
	return true;
}

/*
 * Lines of what was written that begin so, unfolded.
 */
static int
count_lines(const char *begin)
{
	int			count = 0;
	const char *p = data;

	while (p != NULL && *p != '\0')
	{
		if (strncmp(p, begin, strlen(begin)) == 0)
			count++;
		p = strstr(p, "\r\n");
		if (p != NULL)
			p += 2;
	}
	return count;
}

/*
 * What libical makes of it: the object, to be freed, and its only event; NULL
 * if there is anything that libical did not like.
 */
static icalcomponent *
parse_by_libical(icalcomponent **vevent)
{
	icalcomponent *object = icalparser_parse_string(data);
	icalrestriction_check(object);

	*vevent = NULL;
	if (object == NULL || icalcomponent_isa(object) != ICAL_VCALENDAR_COMPONENT ||
		icalcomponent_count_errors(object) != 0 ||
		icalcomponent_count_components(object, ICAL_ANY_COMPONENT) != 1 ||
		icalcomponent_count_components(object, ICAL_VEVENT_COMPONENT) != 1)
	{
		if (object != NULL)
			icalcomponent_free(object);
		return NULL;
	}
	*vevent = icalcomponent_get_first_component(object, ICAL_VEVENT_COMPONENT);
	return object;
}

/*
 * The very bytes of a simple event: they are stored, and resent as they are.
 */
static void
test_plain(void)
{
	BookingAttendee attendee = {"guest@example.org", "Guest", true};

	begin_event();
	event.marker = event.uid;
	event.sequence = 3;
	event.summary = "Haircut";
	event.description = "Bring a hat";
	event.location = "Room 1";
	event.transparent = true;
	event.organizer_email = "shop@example.org";
	event.attendees = &attendee;
	event.nattendees = 1;
	tap_is_int(write_event(), BOOKING_ICAL_OK, "plain: is written");
	tap_is_text(data,
				"BEGIN:VCALENDAR\r\n"
				"VERSION:2.0\r\n"
				"PRODID:-//booking//booking for PostgreSQL//EN\r\n"
				"BEGIN:VEVENT\r\n"
				"UID:0123456789abcdefghijklmnopqrstuv\r\n"
				"DTSTAMP:20291231T120000Z\r\n"
				"DTSTART:20300107T090000Z\r\n"
				"DTEND:20300107T100000Z\r\n"
				"SEQUENCE:3\r\n"
				"STATUS:CONFIRMED\r\n"
				"TRANSP:TRANSPARENT\r\n"
				"SUMMARY:Haircut\r\n"
				"DESCRIPTION:Bring a hat\r\n"
				"LOCATION:Room 1\r\n"
				"ORGANIZER;SCHEDULE-AGENT=NONE:mailto:shop@example.org\r\n"
				"ATTENDEE;ROLE=OPT-PARTICIPANT;CN=\"Guest\";SCHEDULE-AGENT=NONE:mailto:guest@e\r\n"
				" xample.org\r\n"
				"X-BOOKING-ID:0123456789abcdefghijklmnopqrstuv\r\n"
				"END:VEVENT\r\n"
				"END:VCALENDAR\r\n", "plain: byte for byte");
	tap_ok(back.start == event.start && back.end == event.end && back.sequence == 3 &&
		   back.transparent && !back.canceled && !back.all_day && !back.recurring,
		   "plain: times and flags come back");
	tap_ok(back.nattendees == 1 && back.attendees[0].optional, "plain: so does the attendee");
	tap_is_text(back.uid, event.uid, "plain: and the UID");
	tap_is_text(back.marker, event.marker, "plain: and the marker");
	tap_is_text(back.organizer_email, "shop@example.org", "plain: and the organizer");

	event.canceled = true;
	event.transparent = false;
	event.sequence = PG_INT32_MAX;
	write_event();
	tap_ok(back.canceled && !back.transparent && back.sequence == PG_INT32_MAX,
		   "plain: canceled, opaque, the last sequence");
	event.sequence = -5;
	write_event();
	tap_is_int(back.sequence, 0, "plain: no sequence is negative");
}

/*
 * Texts come back as they were, by our reader and by libical's, which takes
 * blanks at the edges away.
 */
static void
test_texts(void)
{
	static const char *const texts[] = {
		"plain", "a\\b", "a;b", "a,b", "a:b", "a\nb", "a\tb", "\\n", "\\\\n", "\\,",
		"\\", "\\\\", "a\\", ";", ",", "\"", "\"quoted\"", "^", "^n", "a=b", "BEGIN:VALARM",
		"a\n\nb", "\\;,\n\\;,\n", "caf\xc3\xa9", "\xe2\x82\xac 5", "\xf0\x9f\x98\x80",
		"\xd7\x90\xd7\x91", "e\xcc\x81", "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf",
		"mailto:a@example.org", "http://a.example/?b=c&d;e,f", "'; DROP TABLE", "%0d%0a",
		"a\\\nb", "x  y", "\xc2\xa0", "0"
	};
	char		name[200];

	for (int i = 0; i < (int) lengthof(texts); i++)
	{
		icalcomponent *vevent;
		icalcomponent *object;

		begin_event();
		event.summary = event.description = event.location = event.marker = texts[i];
		write_event();
		snprintf(name, sizeof(name), "texts: number %d, lines", i);
		tap_ok(is_well_formed(), name);
		snprintf(name, sizeof(name), "texts: number %d, read by us", i);
		tap_ok(back.summary != NULL && strcmp(back.summary, texts[i]) == 0 &&
			   strcmp(back.description, texts[i]) == 0 &&
			   strcmp(back.location, texts[i]) == 0 &&
			   strcmp(back.marker, texts[i]) == 0, name);

		object = parse_by_libical(&vevent);
		snprintf(name, sizeof(name), "texts: number %d, read by libical", i);
		if (vevent == NULL)
			tap_ok(false, name);
		else
		{
			size_t		len = strlen(texts[i]);
			const char *got = icalcomponent_get_summary(vevent);

			while (len > 0 && strchr(" \t\n", texts[i][len - 1]) != NULL)
				len--;
			tap_ok(got != NULL && strncmp(got, texts[i], len) == 0 &&
				   strspn(got + len, "\n") == strlen(got + len), name);
			icalcomponent_free(object);
		}
	}

	begin_event();
	event.summary = "  edges ";
	write_event();
	tap_is_text(back.summary, "  edges ", "texts: blanks at the edges");
	event.summary = "";
	event.location = " \t";
	event.description = "\x01\x02";
	write_event();
	tap_ok(back.summary == NULL && back.location == NULL && back.description == NULL &&
		   count_lines("SUMMARY") + count_lines("LOCATION") + count_lines("DESCRIPTION") == 0,
		   "texts: what leaves nothing but blanks is left out");
	event.summary = "a\xff" "b\xc3";
	write_event();
	tap_is_text(back.summary, "a\xef\xbf\xbd" "b\xef\xbf\xbd", "texts: no UTF-8 is replaced");
	event.uid = "u;\\,\n\x01:";
	write_event();
	tap_is_text(back.uid, "u;\\,\n:", "texts: a UID is one too");
}

/*
 * Every control character of C0 and C1, alone, in every kind of place.
 */
static void
test_controls(void)
{
	for (int c = 1; c < 0xa0; c = c == 0x1f ? 0x7f : c + 1)
	{
		BookingAttendee attendee = {0};
		char		text[8];
		char		expected[8];
		char		name[100];
		const char *kept = "";
		icalcomponent *vevent;
		icalcomponent *object;

		if (c < 0x80)
			snprintf(text, sizeof(text), "a%cb", c);
		else
			snprintf(text, sizeof(text), "a\xc2%cb", c);
		if (c == '\t')
			kept = "\t";
		else if (c == '\n' || c == '\r')
			kept = "\n";
		snprintf(expected, sizeof(expected), "a%sb", kept);

		begin_event();
		event.summary = text;
		event.organizer_email = attendee.email = text;
		event.organizer_name = attendee.name = text;
		event.attendees = &attendee;
		event.nattendees = 1;
		write_event();
		object = parse_by_libical(&vevent);
		snprintf(name, sizeof(name), "controls: U+%04X", c);
		tap_ok(is_well_formed() && back.summary != NULL &&
			   strcmp(back.summary, expected) == 0 &&
			   strcmp(back.organizer_name, expected) == 0 &&
			   strcmp(back.attendees[0].name, expected) == 0 &&
			   strcmp(back.organizer_email, "ab") == 0 &&
			   strcmp(back.attendees[0].email, "ab") == 0 && vevent != NULL, name);
		if (object != NULL)
			icalcomponent_free(object);
	}

	begin_event();
	event.summary = "a\r\nb\rc\n\rd";
	write_event();
	tap_is_text(back.summary, "a\nb\nc\n\nd", "controls: line breaks of all kinds");
	event.summary = "a\xe2\x80\xa8" "b\xe2\x80\xa9" "c";
	write_event();
	tap_is_text(back.summary, "a\nb\nc", "controls: Unicode's separators are line breaks");
}

/*
 * Nothing that is given as a value becomes a line, a component or a parameter.
 */
static void
test_injection(void)
{
	static const char *const attacks[] = {
		"x\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:evil\r\nEND:VEVENT",
		"x\nATTENDEE:mailto:evil@example.org", "x\rATTENDEE:mailto:evil@example.org",
		"x\r\n ATTENDEE:mailto:evil@example.org", "x\r\nBEGIN:VALARM\r\nEND:VALARM",
		"\";ROLE=CHAIR;X=\"", "x:mailto:evil@example.org\r\nX:", "^n^'^^", "\\",
		"\\\";ROLE=CHAIR:mailto:evil@example.org", "x;CN=evil:mailto:e@example.org",
		"x,mailto:evil@example.org", "%0D%0AATTENDEE:mailto:evil@example.org",
		"\x0b\x0c\x1c\x1d\x1e" "ATTENDEE:mailto:evil@example.org",
		"x\xe2\x80\xa8" "ATTENDEE:mailto:evil@example.org",
		"x\xc2\x85" "ATTENDEE:mailto:evil@example.org"
	};

	for (int i = 0; i < (int) lengthof(attacks); i++)
	{
		BookingAttendee attendees[2] = {
			{attacks[i], attacks[i], false}, {"second@example.org", "Second", false}
		};
		icalcomponent *vevent;
		icalcomponent *object;
		char		name[200];
		bool		good;

		begin_event();
		event.uid = event.marker = event.summary = event.description = attacks[i];
		event.location = event.organizer_email = event.organizer_name = attacks[i];
		event.attendees = attendees;
		event.nattendees = 2;
		write_event();
		good = is_well_formed() && count_lines("BEGIN:") == 2 && count_lines("END:") == 2 &&
			count_lines("ATTENDEE") == 2 && count_lines("ORGANIZER") == 1 &&
			count_lines("UID:") == 1 && back.nattendees == 2 &&
			strcmp(back.attendees[1].email, "second@example.org") == 0 &&
			strcmp(back.attendees[1].name, "Second") == 0;
		snprintf(name, sizeof(name), "injection: number %d, read by us", i);
		tap_ok(good, name);

		object = parse_by_libical(&vevent);
		snprintf(name, sizeof(name), "injection: number %d, read by libical", i);
		tap_ok(vevent != NULL &&
			   icalcomponent_count_properties(vevent, ICAL_ATTENDEE_PROPERTY) == 2 &&
			   icalcomponent_count_properties(vevent, ICAL_UID_PROPERTY) == 1 &&
			   icalcomponent_count_properties(vevent, ICAL_ORGANIZER_PROPERTY) == 1, name);
		if (object != NULL)
			icalcomponent_free(object);
	}
}

/*
 * Names and addresses come back; who is told is said for each.
 */
static void
test_people(void)
{
	static const char *const names[] = {
		"Ann Other", "Other, Ann", "a;b", "a:b", "\"Ann\"", "'Ann'", "a\\b", "a\\", "a\\ ",
		"a\\\\", "^", "^n", "^^", "^'", "a\nb", "\xc3\xa9t\xc3\xa9", "=", "a\tb", " a ", "%41"
	};
	static const char *const emails[] = {
		"a@example.org", "a+b@example.org", "o'brien@example.org", "a%b@example.org",
		"a&b=c@example.org", "\"a b\"@example.org", "a,b@example.org", "a;b@example.org",
		"a?b#c@example.org", "a@[192.0.2.1]", "\xc3\xbc@example.org", "a^`{|}~@example.org",
		"a@\xe4\xbe\x8b\xe3\x81\x88.example", "not an address", "%41%zz%"
	};
	int			wrong = 0;

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		for (int j = 0; j < (int) lengthof(emails); j++)
		{
			BookingAttendee attendee = {emails[j], names[i], false};
			icalcomponent *vevent;
			icalcomponent *object;

			begin_event();
			event.organizer_email = emails[j];
			event.organizer_name = names[i];
			event.attendees = &attendee;
			event.nattendees = 1;
			write_event();
			object = parse_by_libical(&vevent);
			if (!is_well_formed() || vevent == NULL || back.nattendees != 1 ||
				strcmp(back.attendees[0].email, emails[j]) != 0 ||
				strcmp(back.attendees[0].name, names[i]) != 0 ||
				strcmp(back.organizer_email, emails[j]) != 0 ||
				strcmp(back.organizer_name, names[i]) != 0)
			{
				wrong++;
				tap_note("name %d, address %d", i, j);
			}
			if (object != NULL)
				icalcomponent_free(object);
		}
	}
	tap_is_int(wrong, 0, "people: all names with all addresses come back");

	for (BookingNotify notify = BOOKING_NOTIFY_NONE; notify <= BOOKING_NOTIFY_ALL; notify++)
	{
		BookingAttendee attendees[2] = {{"a@example.org", NULL, false}, {NULL, NULL, false}};
		int			agents = 0;
		char		name[100];

		begin_event();
		event.notify = notify;
		event.organizer_email = "o@example.org";
		event.attendees = attendees;
		event.nattendees = 2;
		write_event();
		for (const char *p = data; (p = strstr(p, ";SCHEDULE-AGENT=NONE")) != NULL; p++)
			agents++;
		snprintf(name, sizeof(name), "people: who is told, %d", notify);
		tap_is_int(agents, notify == BOOKING_NOTIFY_NONE ? 3 : 0, name);
		tap_ok(back.nattendees == 2 && back.attendees[0].name == NULL &&
			   strcmp(back.attendees[1].email, "") == 0, "people: without name or address");
	}
}

/*
 * Lines of every length around the fold, in characters of every width.
 */
static void
test_folding(void)
{
	static const char *const units[] = {
		"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", ",", "\n"
	};
	int			wrong = 0;
	char		text[1000];

	for (int i = 0; i < (int) lengthof(units); i++)
	{
		for (int shift = 0; shift < 8; shift++)
		{
			for (int count = 10; count < 90; count++)
			{
				char	   *out = text + shift;

				memset(text, 'a', shift);
				for (int j = 0; j < count; j++)
					out = tap_put(out, text + sizeof(text), "%s", units[i]);
				tap_put(out, text + sizeof(text), "z");
				begin_event();
				event.summary = text;
				write_event();
				if (!is_well_formed() || back.summary == NULL ||
					strcmp(back.summary, text) != 0)
					wrong++;
			}
		}
	}
	tap_is_int(wrong, 0, "folding: all lengths and widths");

	begin_event();
	event.summary = "1234567890123456789012345678901234567890123456789012345678901234567";
	write_event();
	tap_is_int(count_lines(" "), 0, "folding: 75 octets stay one line");
	event.summary = "12345678901234567890123456789012345678901234567890123456789012345678";
	write_event();
	tap_is_int(count_lines(" "), 1, "folding: 76 do not");
}

/*
 * Times by libical's reckoning too.
 */
static void
test_times(void)
{
	static const int years[] = {1, 1582, 1600, 1969, 1970, 2000, 2030, 2100, 9999};
	int			wrong = 0;
	icalcomponent *vevent;
	icalcomponent *object;

	for (int i = 0; i < (int) lengthof(years); i++)
	{
		for (int month = 1; month <= 12; month++)
		{
			begin_event();
			event.start = tap_utc(years[i], month, 28, 23, 59, 58);
			event.end = event.start + INT64CONST(1000000);
			if (write_event() != BOOKING_ICAL_OK || back.start != event.start ||
				back.end != event.end)
				wrong++;
			object = parse_by_libical(&vevent);
			if (vevent == NULL ||
				(years[i] > 1600 && icaltime_as_timet(icalcomponent_get_dtstart(vevent)) !=
				 event.start / 1000000))
				wrong++;
			if (object != NULL)
				icalcomponent_free(object);
		}
	}
	tap_is_int(wrong, 0, "times: of all the years there are");

	begin_event();
	event.all_day = true;
	event.start = tap_utc(2028, 2, 29, 0, 0, 0);
	event.end = tap_utc(2028, 3, 2, 0, 0, 0);
	write_event();
	tap_ok(strstr(data, "DTSTART;VALUE=DATE:20280229\r\nDTEND;VALUE=DATE:20280302\r\n") != NULL &&
		   back.all_day && back.start == event.start && back.end == event.end,
		   "times: two days");
}

/*
 * What cannot be said is refused, not rounded.
 */
static void
test_faults(void)
{
	BookingArena *small = booking_arena_create(500);

	begin_event();
	event.uid = NULL;
	tap_is_int(write_event(), BOOKING_ICAL_MALFORMED, "faults: no UID");
	event.uid = "";
	tap_is_int(write_event(), BOOKING_ICAL_MALFORMED, "faults: an empty UID");
	begin_event();
	event.start++;
	tap_is_int(write_event(), BOOKING_ICAL_BAD_TIME, "faults: a fraction of a second");
	begin_event();
	event.end = event.start;
	tap_is_int(write_event(), BOOKING_ICAL_BAD_TIME, "faults: no time at all");
	begin_event();
	event.end = tap_utc(10000, 1, 1, 0, 0, 0);
	tap_is_int(write_event(), BOOKING_ICAL_BAD_TIME, "faults: the year 10000");
	event.start = PG_INT64_MIN;
	event.end = PG_INT64_MAX;
	tap_is_int(write_event(), BOOKING_ICAL_BAD_TIME, "faults: no year at all");
	begin_event();
	event.all_day = true;
	tap_is_int(write_event(), BOOKING_ICAL_BAD_TIME, "faults: a date with hours");
	begin_event();
	tap_is_int(booking_ical_write(&event, 0, small, &data, &data_len), BOOKING_ICAL_TOO_LARGE,
			   "faults: no room");
	tap_ok(data == NULL && data_len == 0, "faults: and nothing comes out");
	booking_arena_free(small);
}

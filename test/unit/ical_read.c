/*
 * test/unit/ical_read.c
 *
 * An object from outside is an event of which every value is known, or it is
 * refused: bytes are unfolded before they are decoded (R55), texts and
 * parameters mean what their writer meant (R56), one odd line does not hide a
 * busy time (R50), changed instances are not the master (R51), all-day events
 * are dates (R54), and a time that cannot be understood is never taken for UTC.
 */
#include "tap.h"

#include "codec/ical.h"

#define UTC_START "DTSTART:20300107T090000Z\n"
#define UTC_TIMES UTC_START "DTEND:20300107T100000Z\n"

/* what an object is and what of it must come out */
typedef struct Case
{
	const char *name;
	const char *lines;			/* of the event, LF; NULL: object is whole */
	const char *object;			/* whole, LF */
	BookingIcalFault fault;
} Case;

static BookingArena *arena;
static BookingEvent event;

static void renew(void);
static char *crlf(const char *text);
static BookingIcalFault read_object(const char *object);
static BookingIcalFault read_lines(const char *lines);
static void is_text(const char *lines, const char *got_from, const char *expected,
					const char *name);
static void is_times(const char *lines, int64 start, int64 end, const char *name);
static void test_faults(void);
static void test_texts(void);
static void test_folding(void);
static void test_people(void);
static void test_flags(void);
static void test_times(void);
static void test_several(void);
static void test_limits(void);

int
main(void)
{
	test_faults();
	test_texts();
	test_folding();
	test_people();
	test_flags();
	test_times();
	test_several();
	test_limits();
	booking_arena_free(arena);
	return tap_done();
}

/*
 * An arena with nothing in it.
 */
static void
renew(void)
{
	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
}

/*
 * The text with CR LF for LF.
 */
static char *
crlf(const char *text)
{
	char	   *copy = booking_arena_alloc(arena, strlen(text) * 2 + 1);
	char	   *out = copy;

	for (; *text != '\0'; text++)
	{
		if (*text == '\n')
			*out++ = '\r';
		*out++ = *text;
	}
	return copy;
}

/*
 * Read a whole object, into event.
 */
static BookingIcalFault
read_object(const char *object)
{
	char	   *data;
	char	   *exact;
	size_t		len;
	BookingIcalFault fault;

	renew();
	data = crlf(object);
	len = strlen(data);

	/* of its very size, so that a look beyond its end is found out */
	exact = malloc(Max(len, 1));
	memcpy(exact, data, len);
	fault = booking_ical_read(exact, len, arena, &event);
	free(exact);
	return fault;
}

/*
 * Read an object whose event has these lines, which need not be terminated.
 */
static BookingIcalFault
read_lines(const char *lines)
{
	char		object[8192];

	snprintf(object, sizeof(object),
			 "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\nBEGIN:VEVENT\nUID:u\n"
			 "%s\nEND:VEVENT\nEND:VCALENDAR\n", lines);
	return read_object(object);
}

/*
 * One text of the event with these lines.
 */
static void
is_text(const char *lines, const char *got_from, const char *expected,
		const char *name)
{
	char		all[4096];
	const char *got = NULL;

	snprintf(all, sizeof(all), UTC_TIMES "%s", lines);
	if (read_lines(all) == BOOKING_ICAL_OK)
		got = strcmp(got_from, "summary") == 0 ? event.summary :
			strcmp(got_from, "location") == 0 ? event.location :
			strcmp(got_from, "description") == 0 ? event.description :
			strcmp(got_from, "marker") == 0 ? event.marker :
			strcmp(got_from, "organizer") == 0 ? event.organizer_email :
			strcmp(got_from, "organizer's name") == 0 ? event.organizer_name :
			event.nattendees != 1 ? "not one attendee" :
			strcmp(got_from, "attendee") == 0 ? event.attendees[0].email :
			event.attendees[0].name;
	tap_is_text(got, expected, name);
}

/*
 * When the event with these lines is.
 */
static void
is_times(const char *lines, int64 start, int64 end, const char *name)
{
	BookingIcalFault fault = read_lines(lines);
	bool		good = fault == BOOKING_ICAL_OK && event.start == start &&
		event.end == end;

	if (!tap_ok(good, name))
		tap_note("fault %d, " INT64_FORMAT " to " INT64_FORMAT ", expected "
				 INT64_FORMAT " to " INT64_FORMAT, fault, event.start, event.end,
				 start, end);
}

/*
 * What is refused.
 */
static const Case faults[] = {
	{"nothing", NULL, "", BOOKING_ICAL_MALFORMED},
	{"blank lines", NULL, "\n\n\n", BOOKING_ICAL_MALFORMED},
	{"a page of HTML", NULL, "<html><body>BEGIN:VCALENDAR</body></html>\n",
	BOOKING_ICAL_MALFORMED},
	{"a calendar without events", NULL, "BEGIN:VCALENDAR\nEND:VCALENDAR\n",
	BOOKING_ICAL_NO_EVENT},
	{"a to-do", NULL, "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:u\nEND:VTODO\nEND:VCALENDAR\n",
	BOOKING_ICAL_NO_EVENT},
	{"an event within a to-do", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VTODO\nBEGIN:VEVENT\nUID:u\n" UTC_TIMES
	"END:VEVENT\nEND:VTODO\nEND:VCALENDAR\n", BOOKING_ICAL_NO_EVENT},
	{"an event without a calendar", NULL,
	"BEGIN:VEVENT\nUID:u\n" UTC_TIMES "END:VEVENT\n", BOOKING_ICAL_MALFORMED},
	{"an object cut behind the event", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n" UTC_TIMES "END:VEVENT\n",
	BOOKING_ICAL_MALFORMED},
	{"an object cut within the event", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n" UTC_START, BOOKING_ICAL_MALFORMED},
	{"an object cut within its last line", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n" UTC_TIMES "END:VEVENT\nEND:VCALEN",
	BOOKING_ICAL_MALFORMED},
	{"components that overlap", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n" UTC_TIMES "END:VCALENDAR\nEND:VEVENT\n",
	BOOKING_ICAL_MALFORMED},
	{"an end without a beginning", NULL, "END:VCALENDAR\n", BOOKING_ICAL_MALFORMED},
	{"two objects", NULL,
	"BEGIN:VCALENDAR\nEND:VCALENDAR\nBEGIN:VCALENDAR\nEND:VCALENDAR\n",
	BOOKING_ICAL_MALFORMED},
	{"something behind the object", NULL,
	"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n" UTC_TIMES
	"END:VEVENT\nEND:VCALENDAR\nX:1\n", BOOKING_ICAL_MALFORMED},
	{"components nine deep", NULL,
	"BEGIN:VCALENDAR\nBEGIN:A\nBEGIN:A\nBEGIN:A\nBEGIN:A\nBEGIN:A\nBEGIN:A\n"
	"BEGIN:A\nBEGIN:A\n", BOOKING_ICAL_MALFORMED},
	{"two UIDs", "UID:v\n" UTC_TIMES, NULL, BOOKING_ICAL_MALFORMED},
	{"no start", "DTEND:20300107T100000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"two starts", UTC_START UTC_START, NULL, BOOKING_ICAL_BAD_TIME},
	{"two ends", UTC_TIMES "DTEND:20300107T110000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"an end and a duration", UTC_TIMES "DURATION:PT1H", NULL, BOOKING_ICAL_BAD_TIME},
	{"an end before the start", UTC_START "DTEND:20300107T085959Z", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"a day before the start", "DTSTART:20300107\nDTEND:20300106", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"a time without a zone", "DTSTART:20300107T090000\nDTEND:20300107T100000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"an end without a zone", UTC_START "DTEND:20300107T100000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"an unknown zone", "DTSTART;TZID=Nowhere/Atall:20300107T090000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"an empty zone", "DTSTART;TZID=:20300107T090000", NULL, BOOKING_ICAL_BAD_TIME},
	{"a zone that is a path",
	"DTSTART;TZID=../../usr/share/zoneinfo/Europe/Berlin:20300107T090000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"a zone that is a rule of POSIX", "DTSTART;TZID=Foo/Bar-3:20300107T090000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"the machine's zone", "DTSTART;TZID=localtime:20300107T090000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"a name like those of Windows without a VTIMEZONE",
	"DTSTART;TZID=Middle-earth Standard Time:20300107T090000", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"a date with a time", "DTSTART:20300107\nDTEND:20300108T000000Z", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"the 30th of February", "DTSTART:20300230T090000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"the 29th of February of a common year", "DTSTART:20300229", NULL,
	BOOKING_ICAL_BAD_TIME},
	{"hour 24", "DTSTART:20300107T240000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"month 0", "DTSTART:20300007T090000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"year 0", "DTSTART:00000107T090000Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"a time with an offset", "DTSTART:20300107T090000+0100", NULL, BOOKING_ICAL_BAD_TIME},
	{"a time of ISO 8601", "DTSTART:2030-01-07T09:00:00Z", NULL, BOOKING_ICAL_BAD_TIME},
	{"a lower-case z", "DTSTART:20300107T090000z", NULL, BOOKING_ICAL_BAD_TIME},
	{"no time at all", "DTSTART:", NULL, BOOKING_ICAL_BAD_TIME},
	{"a negative duration", UTC_START "DURATION:-PT1H", NULL, BOOKING_ICAL_BAD_TIME},
	{"a duration of nothing", UTC_START "DURATION:P", NULL, BOOKING_ICAL_BAD_TIME},
	{"a duration that stops short", UTC_START "DURATION:PT", NULL, BOOKING_ICAL_BAD_TIME},
	{"hours outside the time", UTC_START "DURATION:P1H", NULL, BOOKING_ICAL_BAD_TIME},
	{"days within the time", UTC_START "DURATION:PT1D", NULL, BOOKING_ICAL_BAD_TIME},
	{"a duration out of order", UTC_START "DURATION:PT1M1H", NULL, BOOKING_ICAL_BAD_TIME},
	{"a duration too long", UTC_START "DURATION:P99999999W", NULL, BOOKING_ICAL_BAD_TIME},
	{"a number without a unit", UTC_START "DURATION:PT15", NULL, BOOKING_ICAL_BAD_TIME},
	{"hours from a date", "DTSTART:20300107\nDURATION:PT5H", NULL, BOOKING_ICAL_BAD_TIME},
	{"an instance without its master", "RECURRENCE-ID:20300107T090000Z\n" UTC_TIMES,
	NULL, BOOKING_ICAL_NO_EVENT}
};

/*
 * What is refused, and why.
 */
static void
test_faults(void)
{
	for (int i = 0; i < (int) lengthof(faults); i++)
	{
		BookingIcalFault fault = faults[i].lines != NULL ?
			read_lines(faults[i].lines) : read_object(faults[i].object);
		char		name[200];

		snprintf(name, sizeof(name), "refused: %s", faults[i].name);
		tap_is_int(fault, faults[i].fault, name);
	}

	renew();
	tap_is_int(booking_ical_read("BEGIN:VCALENDAR\r\n\0", 18, arena, &event),
			   BOOKING_ICAL_MALFORMED, "refused: a NUL");
}

/*
 * TEXT is unescaped, and nothing else happens to it.
 */
static void
test_texts(void)
{
	is_text("SUMMARY:a\\\\b\\;c\\,d\\ne\\Nf", "summary", "a\\b;c,d\ne\nf",
			"text: escapes");
	is_text("SUMMARY:a\\\\nb", "summary", "a\\nb",
			"text: an escaped backslash is no line break");
	is_text("SUMMARY:a,b;c:d\"e", "summary", "a,b;c:d\"e",
			"text: what should have been escaped is kept");
	is_text("SUMMARY:\\\"x\\:", "summary", "\"x:", "text: needless escapes");
	is_text("SUMMARY:end\\", "summary", "end\\", "text: a lonely backslash");
	is_text("SUMMARY:  a  ", "summary", "  a  ", "text: blanks at the edges");
	is_text("SUMMARY:", "summary", "", "text: empty");
	is_text("X:1", "summary", NULL, "text: absent");
	is_text("summary:a", "summary", "a", "text: names know no case");
	is_text("SUMMARY;LANGUAGE=en;X=\"a:b;c\":d", "summary", "d",
			"text: parameters may hold colons in quotation marks");
	is_text("SUMMARY:a\nSUMMARY:b", "summary", "a", "text: the first of two counts");
	is_text("SUMMARY:a\tb\x01\x1b\x7f", "summary", "a\tb\x01\x1b\x7f",
			"text: control characters are kept");
	is_text("DESCRIPTION:x\nLOCATION:y\nX-BOOKING-ID:z", "marker", "z", "text: the marker");
	is_text("LOCATION:y", "location", "y", "text: the location");
	is_text("DESCRIPTION:http://a.example/?b=c", "description", "http://a.example/?b=c",
			"text: colons in the value");
	is_text("SUMMARY:a\nno colon here\n:no name\n-:odd\nX-FOO;BAR\nLOCATION:y", "location", "y",
			"text: odd lines are passed over");
	is_text("BEGIN:VALARM\nSUMMARY:alarm\nDESCRIPTION:alarm\nEND:VALARM\nSUMMARY:a",
			"summary", "a", "text: that of an alarm is not the event's");
}

/*
 * Folding is undone on bytes, and only then are they characters.
 */
static void
test_folding(void)
{
	is_text("SUMMARY:ab\n cd\n\tef", "summary", "abcdef", "fold: by blank and by tab");
	is_text("SUMMARY:ab\n  cd", "summary", "ab cd", "fold: one blank is the fold's");
	is_text("SUM\n MARY:ab", "summary", "ab", "fold: within the name");
	is_text("SUMMARY:a\\\n nb", "summary", "a\nb", "fold: within an escape");
	is_text("SUMMARY:a\n \n b", "summary", "ab", "fold: with nothing between");
	is_text("SUMMARY:\xc3\n \xa9t\xc3\xa9", "summary", "\xc3\xa9t\xc3\xa9",
			"fold: within a character of two bytes");
	is_text("SUMMARY:\xf0\n \x9f\n \x98\n \x80", "summary", "\xf0\x9f\x98\x80",
			"fold: thrice within a character of four");
	is_text("SUMMARY:caf\xe9!", "summary", "caf\xef\xbf\xbd!",
			"fold: what is no UTF-8 is replaced");
	is_text("SUMMARY:\xe2\x82", "summary", "\xef\xbf\xbd\xef\xbf\xbd",
			"fold: a character cut at the end too");
	is_text("SUMMARY:\xed\xa0\x80", "summary", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
			"fold: surrogates too");
	tap_is_int(read_object("\xef\xbb\xbf" "BEGIN:VCALENDAR\nBEGIN:VEVENT\n" UTC_TIMES
						   "END:VEVENT\nEND:VCALENDAR\n"), BOOKING_ICAL_OK,
			   "fold: a byte order mark is skipped");
	tap_is_text(event.uid, NULL, "fold: and an event without UID has none");

	renew();
	{
		static const char bare[] = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\n b\n"
			UTC_TIMES "END:VEVENT\nEND:VCALENDAR";

		tap_is_int(booking_ical_read(bare, strlen(bare), arena, &event), BOOKING_ICAL_OK,
				   "fold: LF alone, and no end of the last line");
		tap_is_text(event.uid, "ab", "fold: LF alone folds too");
	}
}

/*
 * Attendees and the organizer: parameters by RFC 5545 and 6868, addresses by
 * RFC 6068.
 */
static void
test_people(void)
{
	is_text("ATTENDEE:mailto:a@example.org", "attendee", "a@example.org", "people: mailto");
	is_text("ATTENDEE:MAILTO:a@example.org", "attendee", "a@example.org", "people: MAILTO");
	is_text("ATTENDEE:mailto:a%2Bb%40c@example.org", "attendee", "a+b@c@example.org",
			"people: percent-encoding");
	is_text("ATTENDEE:mailto:100%@example.org", "attendee", "100%@example.org",
			"people: a percent sign that encodes nothing");
	is_text("ATTENDEE:mailto:%c3%bc@example.org", "attendee", "\xc3\xbc@example.org",
			"people: encoded UTF-8");
	is_text("ATTENDEE:mailto:%ff@example.org", "attendee", "%ff@example.org",
			"people: encoded bytes that are none stay encoded");
	is_text("ATTENDEE:mailto:a%0d%0ab@example.org", "attendee", "a%0d%0ab@example.org",
			"people: so do control characters");
	is_text("ATTENDEE:mailto:%00@example.org", "attendee", "%00@example.org",
			"people: and NUL");
	is_text("ATTENDEE;EMAIL=a@example.org:urn:uuid:1", "attendee", "a@example.org",
			"people: EMAIL when the address is another URI");
	is_text("ATTENDEE:urn:uuid:1", "attendee", "urn:uuid:1", "people: else the URI");
	is_text("ATTENDEE:", "attendee", "", "people: an attendee without address counts");
	is_text("ATTENDEE;CN=Ann Other:mailto:a@example.org", "name", "Ann Other", "people: name");
	is_text("ATTENDEE;cn=\"Other, Ann; Dr: x\":mailto:a@example.org", "name",
			"Other, Ann; Dr: x", "people: name in quotation marks");
	is_text("ATTENDEE;CN=\"a\\\";ROLE=CHAIR:mailto:a@example.org", "name", "a\\",
			"people: a backslash escapes no quotation mark");
	is_text("ATTENDEE;CN=\"a\\\";ROLE=CHAIR:mailto:a@example.org", "attendee",
			"a@example.org", "people: nor does it hide the address");
	is_text("ATTENDEE;CN=\"^'Ann^' ^^ ^n ^x^\":mailto:a@example.org", "name",
			"\"Ann\" ^ \n ^x^", "people: carets");
	is_text("ATTENDEE;CN=\"a\\ \":mailto:a@example.org", "name", "a\\",
			"people: the blank behind a last backslash is not the name's");
	is_text("ATTENDEE;CN=:mailto:a@example.org", "name", "", "people: empty name");
	is_text("ATTENDEE;XCN=x;CNX=y:mailto:a@example.org", "name", NULL,
			"people: other parameters are not the name");
	is_text("ORGANIZER;CN=Boss:mailto:b@example.org\nORGANIZER:mailto:c@example.org",
			"organizer", "b@example.org", "people: organizer");
	is_text("ORGANIZER;CN=Boss:mailto:b@example.org", "organizer's name", "Boss",
			"people: organizer's name");

	read_lines(UTC_TIMES "ATTENDEE;ROLE=OPT-PARTICIPANT:mailto:a@x\n"
			   "ATTENDEE;ROLE=opt-participant:mailto:b@x\nATTENDEE;ROLE=CHAIR:mailto:c@x\n"
			   "ATTENDEE:mailto:d@x\nATTENDEE;ROLE=NON-PARTICIPANT:mailto:e@x\n"
			   "ATTENDEE:mailto:f@x\nATTENDEE:mailto:g@x\nATTENDEE:mailto:h@x\n"
			   "ATTENDEE:mailto:i@x\nATTENDEE:mailto:j@x");
	tap_is_int(event.nattendees, 10, "people: ten");
	tap_ok(event.attendees[0].optional && event.attendees[1].optional &&
		   !event.attendees[2].optional && !event.attendees[3].optional &&
		   !event.attendees[4].optional, "people: who is optional");
	tap_is_text(event.attendees[9].email, "j@x", "people: in order");
}

/*
 * Words and numbers.
 */
static void
test_flags(void)
{
	static const struct
	{
		const char *line;
		int			expected;
	}			sequences[] = {
		{"SEQUENCE:0", 0}, {"SEQUENCE:7", 7}, {"SEQUENCE: 8 ", 8}, {"SEQUENCE:-1", 0},
		{"SEQUENCE:x", 0}, {"SEQUENCE:", 0}, {"SEQUENCE:2147483647", PG_INT32_MAX},
		{"SEQUENCE:99999999999999999999", PG_INT32_MAX}, {"SEQUENCE:3\nSEQUENCE:4", 3}
	};

	for (int i = 0; i < (int) lengthof(sequences); i++)
	{
		char		lines[200];

		snprintf(lines, sizeof(lines), UTC_TIMES "%s", sequences[i].line);
		read_lines(lines);
		tap_is_int(event.sequence, sequences[i].expected, "flags: sequence");
	}

	read_lines(UTC_TIMES);
	tap_ok(!event.canceled && !event.transparent && !event.recurring && !event.all_day &&
		   event.sequence == 0 && event.nattendees == 0 && event.organizer_email == NULL &&
		   event.marker == NULL, "flags: nothing said");
	read_lines(UTC_TIMES "STATUS:CANCELLED\nTRANSP:TRANSPARENT");
	tap_ok(event.canceled && event.transparent, "flags: canceled and transparent");
	read_lines(UTC_TIMES "STATUS:cancelled \nTRANSP:transparent");
	tap_ok(event.canceled && event.transparent, "flags: words know no case");
	read_lines(UTC_TIMES "STATUS:TENTATIVE\nTRANSP:OPAQUE");
	tap_ok(!event.canceled && !event.transparent, "flags: tentative and opaque");
	read_lines(UTC_TIMES "STATUS:CONFIRMED\nSTATUS:CANCELLED");
	tap_ok(!event.canceled, "flags: the first status counts");
	read_lines(UTC_TIMES "RRULE:FREQ=DAILY;COUNT=3");
	tap_ok(event.recurring, "flags: RRULE recurs");
	read_lines(UTC_TIMES "RDATE:20300108T090000Z");
	tap_ok(event.recurring, "flags: RDATE alone recurs");
	read_lines(UTC_TIMES "RRULE:nonsense");
	tap_ok(event.recurring, "flags: a rule that is none still recurs");
	read_lines(UTC_TIMES "EXDATE:20300107T090000Z");
	tap_ok(!event.recurring, "flags: EXDATE alone does not");
}

/*
 * UTC, dates, durations, and what holds when an end is missing.
 */
static void
test_times(void)
{
	int64		nine = tap_utc(2030, 1, 7, 9, 0, 0);
	int64		hour = INT64CONST(3600000000);
	int64		day = 24 * hour;
	int64		date = tap_utc(2030, 1, 7, 0, 0, 0);

	is_times(UTC_TIMES, nine, nine + hour, "times: UTC");
	is_times("DTSTART;TZID=Europe/Berlin:20300107T090000Z\nDTEND:20300107T100000Z", nine,
			 nine + hour, "times: Z wins over a zone");
	is_times("DTSTART;VALUE=DATE-TIME:20300107T090000Z \nDTEND:20300107T100000Z", nine,
			 nine + hour, "times: VALUE and a blank");
	is_times(UTC_START, nine, nine, "times: without end it ends at once");
	is_times(UTC_START "DTEND:20300107T090000Z", nine, nine, "times: an end at the start");
	is_times(UTC_START "DURATION:PT1H", nine, nine + hour, "times: duration");
	is_times(UTC_START "DURATION:+P1DT2H3M4S", nine,
			 nine + day + 2 * hour + 3 * 60 * INT64CONST(1000000) + 4 * INT64CONST(1000000),
			 "times: duration of all units");
	is_times(UTC_START "DURATION:P2W", nine, nine + 14 * day, "times: duration of weeks");
	is_times(UTC_START "DURATION:PT0S", nine, nine, "times: duration of no seconds");
	is_times("DTSTART:20301231T235960Z\nDTEND:20310101T010000Z", tap_utc(2031, 1, 1, 0, 0, 0),
			 tap_utc(2031, 1, 1, 1, 0, 0), "times: a leap second is the next one");
	is_times("DTSTART:00010101T000000Z\nDTEND:99991231T235959Z", tap_utc(1, 1, 1, 0, 0, 0),
			 tap_utc(9999, 12, 31, 23, 59, 59), "times: all the years there are");

	is_times("DTSTART;VALUE=DATE:20300107\nDTEND;VALUE=DATE:20300109", date, date + 2 * day,
			 "dates: two days");
	tap_ok(event.all_day, "dates: are all-day");
	is_times("DTSTART:20300107\nDTEND:20300109", date, date + 2 * day, "dates: without VALUE");
	is_times("DTSTART;VALUE=DATE:20300107", date, date + day, "dates: without end one day");
	is_times("DTSTART;VALUE=DATE:20300107\nDTEND;VALUE=DATE:20300107", date, date + day,
			 "dates: an end on the first day is the day");
	is_times("DTSTART;VALUE=DATE:20300107\nDURATION:P1W", date, date + 7 * day,
			 "dates: duration of a week");
	is_times("DTSTART;VALUE=DATE:20300107\nDURATION:PT48H", date, date + 2 * day,
			 "dates: duration of whole days in hours");
	is_times("DTSTART;VALUE=DATE;TZID=America/New_York:20300107", date, date + day,
			 "dates: have no zone");
	is_times("DTSTART;VALUE=DATE:20280229", tap_utc(2028, 2, 29, 0, 0, 0),
			 tap_utc(2028, 3, 1, 0, 0, 0), "dates: the 29th of February");
}

/*
 * Several events in one object.
 */
static void
test_several(void)
{
#define MASTER "BEGIN:VEVENT\nUID:u\nSUMMARY:master\n" UTC_TIMES "END:VEVENT\n"
#define CHANGED "BEGIN:VEVENT\nUID:u\nRECURRENCE-ID:20300107T090000Z\nSUMMARY:changed\n" \
	"DTSTART:20300107T110000Z\nEND:VEVENT\n"

	tap_is_int(read_object("BEGIN:VCALENDAR\n" CHANGED MASTER CHANGED "END:VCALENDAR\n"),
			   BOOKING_ICAL_OK, "several: master between changed instances");
	tap_is_text(event.summary, "master", "several: the master comes out");
	tap_ok(event.recurring, "several: and recurs");
	tap_is_int(read_object("BEGIN:VCALENDAR\n" MASTER MASTER "END:VCALENDAR\n"),
			   BOOKING_ICAL_MALFORMED, "several: two masters leave open which");
	tap_is_int(read_object("BEGIN:VCALENDAR\n" CHANGED "END:VCALENDAR\n"),
			   BOOKING_ICAL_NO_EVENT, "several: an instance alone is no master");
}

/*
 * Nothing from outside takes more memory or time than it is given.
 */
static void
test_limits(void)
{
	size_t		size = 4 * 1024 * 1024;
	char	   *big = malloc(size);
	char	   *end = big + size;
	char	   *out = big;
	BookingArena *small = booking_arena_create(64 * 1024);

	out = tap_put(out, end, "BEGIN:VCALENDAR\nBEGIN:VEVENT\n" UTC_TIMES "SUMMARY:");
	memset(out, 'x', 100000);
	out += 100000;
	out = tap_put(out, end, "\nEND:VEVENT\nEND:VCALENDAR\n");
	tap_is_int(booking_ical_read(big, out - big, small, &event), BOOKING_ICAL_TOO_LARGE,
			   "limits: a text beyond the arena");
	booking_arena_free(small);

	out = tap_put(big, end, "BEGIN:VCALENDAR\nBEGIN:VEVENT\n" UTC_TIMES);
	for (int i = 0; i < 5001; i++)
		out = tap_put(out, end, "ATTENDEE:mailto:a%d@x\n", i);
	out = tap_put(out, end, "END:VEVENT\nEND:VCALENDAR\n");
	renew();
	tap_is_int(booking_ical_read(big, out - big, arena, &event), BOOKING_ICAL_TOO_LARGE,
			   "limits: too many attendees");

	out = tap_put(big, end, "BEGIN:VCALENDAR\n");
	for (int i = 0; i < 50001; i++)
		out = tap_put(out, end, "X:1\n");
	renew();
	tap_is_int(booking_ical_read(big, out - big, arena, &event), BOOKING_ICAL_TOO_LARGE,
			   "limits: too many lines");
	free(big);
}

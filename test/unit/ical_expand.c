/*
 * test/unit/ical_expand.c
 *
 * An object has the occurrences that RFC 5545 says, each at the instant at
 * which clocks in its zone show its time (R53), whichever way its rule, its
 * dates and its changes are written: EXDATE removes exactly what it means
 * (R52), a moved occurrence is where it went and not where it was (R51),
 * all-day ones are days of the calendar (R54), and what cannot be understood
 * blocks too much rather than too little and says so.
 *
 * The series are in two tables beside this file with what they must come to.
 * Where a row says so, libical's icalcomponent_foreach_recurrence() is asked
 * here and must agree.  Whatever is large or hostile is held by a cap, and what
 * the cap leaves out is blocked as a whole.
 */
#include "tap.h"

#include <libical/ical.h>
#include <time.h>

#include "codec/civil.h"
#include "codec/ical_expand.h"
#include "codec/zoneinfo.h"

#define SECOND BOOKING_CIVIL_SECOND

/* enough for every row */
#define MAX_TEXT 8192

/* where an expected value comes from */
#define BY_HAND 1				/* reckoned from RFC 5545 and the zone's changes */
#define BY_PYTHON 2				/* python3-recurring-ical-events 2.0.1 gave these starts */
#define BY_LIBICAL 4			/* libical is asked in this test */

typedef struct Row
{
	const char *name;
	int			source;
	const char *zone;			/* of the calendar */
	const char *from;			/* window, UTC */
	const char *to;
	const char *lines;			/* between BEGIN and END of VCALENDAR */
	const char *expected;		/* see render() */
} Row;

#include "ical_expand_rules.h"
#include "ical_expand_changes.h"

static BookingArena *arena;
static BookingExpansion expansion;

static int64 read_utc(const char *word);
static BookingIcalFault expand(const char *lines, const char *zone, const char *from,
							   const char *to, int max);
static char *render_time(char *out, char *end, int64 at);
static char *render(void);
static void test_table(const Row *rows, int nrows);
static bool ask_libical(const Row *row);
static void is_rendered(const char *lines, const char *expected, const char *name);
static void test_details(void);
static void test_blocking(void);
static void test_times(void);
static void test_objects(void);
static void test_bytes(void);
static char *many(const char *before, const char *format, int count, const char *behind);
static void test_sizes(void);
static void test_density(void);

int
main(void)
{
	test_table(rule_rows, lengthof(rule_rows));
	test_table(change_rows, lengthof(change_rows));
	test_details();
	test_blocking();
	test_times();
	test_objects();
	test_bytes();
	test_sizes();
	test_density();
	booking_arena_free(arena);
	return tap_done();
}

/*
 * Seconds from 1970 to YYYYMMDD or YYYYMMDDTHHMMSSZ in UTC.
 */
static int64
read_utc(const char *word)
{
	int			year;
	int			month;
	int			day;
	int			hour = 0;
	int			minute = 0;
	int			second = 0;

	sscanf(word, "%4d%2d%2dT%2d%2d%2d", &year, &month, &day, &hour, &minute, &second);
	return tap_utc(year, month, day, hour, minute, second) / SECOND;
}

/*
 * Expand an object of these lines, in a buffer of its very size.
 */
static BookingIcalFault
expand(const char *lines, const char *zone, const char *from, const char *to, int max)
{
	BookingExpandRequest request = {0};
	size_t		len = strlen(lines) + 64;
	char	   *object = malloc(len);
	char	   *exact;
	BookingIcalFault fault;

	len = snprintf(object, len, "BEGIN:VCALENDAR\n%sEND:VCALENDAR\n", lines);
	exact = malloc(len);
	memcpy(exact, object, len);
	booking_arena_free(arena);
	arena = booking_arena_create(BOOKING_EXPAND_ARENA(len));
	request.from = read_utc(from) * SECOND;
	request.to = read_utc(to) * SECOND;
	request.zone = zone;
	request.max_occurrences = max;
	fault = booking_ical_expand(exact, len, &request, arena, &expansion);
	free(exact);
	free(object);
	return fault;
}

/*
 * Add an instant as YYYYMMDDTHHMMSSZ.
 */
static char *
render_time(char *out, char *end, int64 at)
{
	BookingCivil civil;

	booking_civil_split(at / SECOND, &civil);
	return tap_put(out, end, "%04d%02d%02dT%02d%02d%02dZ", civil.year, civil.month,
			civil.day, civil.hour, civil.minute, civil.second);
}

/*
 * What came out: start/end of each occurrence, behind original= if that is
 * elsewhere; then d for all-day, c for canceled, f for free and ! for a problem.
 */
static char *
render(void)
{
	static char text[MAX_TEXT];
	char	   *end = text + sizeof(text);
	char	   *out = text;

	text[0] = '\0';
	for (int i = 0; i < expansion.noccurrences && out - text < MAX_TEXT - 100; i++)
	{
		const BookingOccurrence *o = &expansion.occurrences[i];

		out = tap_put(out, end, "%s", i > 0 ? " " : "");
		if (o->original != BOOKING_OCCURRENCE_SINGLE && o->original != o->start)
		{
			out = render_time(out, end, o->original);
			out = tap_put(out, end, "=");
		}
		out = render_time(out, end, o->start);
		out = tap_put(out, end, "/");
		out = render_time(out, end, o->end);
		out = tap_put(out, end, "%s%s%s%s", o->all_day ? "d" : "",
					  o->detail->status == BOOKING_STATUS_CANCELED ? "c" : "",
					  o->busy ? "" : "f", o->problem != NULL ? "!" : "");
	}
	return text;
}

/*
 * Every row comes to what it must.
 */
static void
test_table(const Row *rows, int nrows)
{
	for (int i = 0; i < nrows; i++)
	{
		const Row  *row = &rows[i];
		char		name[300];

		snprintf(name, sizeof(name), "table: %s", row->name);
		if (expand(row->lines, row->zone, row->from, row->to, 0) != BOOKING_ICAL_OK)
			tap_ok(false, name);
		else if (tap_is_text(render(), row->expected, name) &&
				 (row->source & BY_LIBICAL) != 0)
		{
			snprintf(name, sizeof(name), "table: %s: libical agrees", row->name);
			tap_ok(ask_libical(row), name);
		}
	}
}

/* what libical has found */
typedef struct Witness
{
	const Row  *row;
	int			count;
	int			nmissing;		/* that we have not */
} Witness;

/*
 * One occurrence that libical has found, on the clocks of the series.
 */
static void
hear_libical(icalcomponent *event, struct icaltime_span *span, void *data)
{
	Witness    *witness = data;
	bool		found = false;

	for (int i = 0; i < expansion.noccurrences && !found; i++)
	{
		const BookingOccurrence *o = &expansion.occurrences[i];
		const char *zone = o->detail->zone != NULL ? o->detail->zone : witness->row->zone;
		int			offset = 0;

		booking_zoneinfo_offset(zone, o->start / SECOND, &offset);
		found = span->start == o->start / SECOND + offset &&
			(o->all_day || span->end - span->start == (o->end - o->start) / SECOND);
	}
	if (!found)
		tap_note("libical: %lld to %lld", (long long) span->start, (long long) span->end);
	witness->count++;
	witness->nmissing += found ? 0 : 1;
}

/*
 * Does libical find as many occurrences, and at the same local times?  It is
 * not told the zone, since it takes the offset of the first occurrence for all.
 */
static bool
ask_libical(const Row *row)
{
	size_t		size = strlen(row->lines) + 64;
	char	   *object = malloc(size);
	char	   *zone;
	icalcomponent *calendar;
	icalcomponent *event;
	Witness		witness = {0};

	tap_put(object, object + size, "BEGIN:VCALENDAR\n%sEND:VCALENDAR\n", row->lines);
	while ((zone = strstr(object, ";TZID=")) != NULL)
		memmove(zone, strchr(zone, ':'), strlen(strchr(zone, ':')) + 1);
	witness.row = row;
	calendar = icalparser_parse_string(object);
	event = icalcomponent_get_first_component(calendar, ICAL_VEVENT_COMPONENT);
	icalcomponent_foreach_recurrence(event,
									 icaltime_from_timet_with_zone(read_utc(row->from), 0, NULL),
									 icaltime_from_timet_with_zone(read_utc(row->to), 0, NULL),
									 hear_libical, &witness);
	icalcomponent_free(calendar);
	free(object);
	if (witness.count != expansion.noccurrences)
		tap_note("libical finds %d, not %d", witness.count, expansion.noccurrences);
	return witness.nmissing == 0 && witness.count == expansion.noccurrences;
}

/*
 * An event, or two, of these lines, in the year 2024 and the calendar of
 * Europe/Berlin.
 */
static void
is_rendered(const char *lines, const char *expected, const char *name)
{
	BookingIcalFault fault = expand(lines, "Europe/Berlin", "20240101", "20250101", 0);

	if (fault != BOOKING_ICAL_OK)
		tap_is_text(booking_ical_fault_text(fault), expected, name);
	else
		tap_is_text(render(), expected, name);
}

#define EVENT(lines) "BEGIN:VEVENT\nUID:u\n" lines "END:VEVENT\n"
#define AT_NINE "DTSTART:20240901T090000Z\nDTEND:20240901T100000Z\n"
#define NINE_TO_TEN "20240901T090000Z/20240901T100000Z"

/*
 * What an event says besides its time is there, and shared by its occurrences.
 */
static void
test_details(void)
{
	const BookingEventDetail *detail;

	expand(EVENT("DTSTART;TZID=W. Europe Standard Time:20240901T090000\nSEQUENCE:7\n"
				 "RRULE:FREQ=DAILY;COUNT=2\nSTATUS:TENTATIVE\nX-BOOKING-ID:m\n"
				 "ORGANIZER;CN=O:MAILTO:o%2Bx@example.org\n"
				 "ATTENDEE;PARTSTAT=Accepted:mailto:a@example.org\n"
				 "ATTENDEE;ROLE=OPT-PARTICIPANT;PARTSTAT=NEEDS-ACTION:mailto:b@example.org\n"
				 "ATTENDEE;ROLE=NON-PARTICIPANT;EMAIL=c@example.org:urn:uuid:1\n"),
		   "UTC", "20240101", "20250101", 0);
	if (!tap_is_int(expansion.noccurrences, 2, "details: two occurrences"))
		return;
	detail = expansion.occurrences[0].detail;
	tap_ok(detail == expansion.occurrences[1].detail, "details: which share them");
	tap_ok(expansion.recurring && expansion.problem == NULL, "details: of a series");
	tap_is_text(detail->uid, "u", "details: UID");
	tap_is_text(detail->marker, "m", "details: our marker");
	tap_is_text(detail->zone, "Europe/Berlin", "details: the zone by its name in the database");
	tap_is_text(detail->organizer, "o+x@example.org", "details: the organizer's address");
	tap_is_int(detail->sequence, 7, "details: SEQUENCE");
	tap_is_int(detail->status, BOOKING_STATUS_TENTATIVE, "details: STATUS");
	tap_is_int(detail->nattendees, 3, "details: attendees");
	tap_is_int(detail->nattendees_given, 3, "details: none left out");
	tap_is_text(detail->attendees[0].email, "a@example.org", "details: an attendee's address");
	tap_is_text(detail->attendees[0].partstat, "accepted", "details: and answer");
	tap_ok(!detail->attendees[0].optional && detail->attendees[1].optional &&
		   detail->attendees[2].optional, "details: who may stay away");
	tap_is_text(detail->attendees[2].email, "c@example.org", "details: an address beside a URI");

	expand(EVENT("DTSTART;TZID=Nowhere:20240901T090000\n"), "UTC", "20240101", "20250101", 0);
	tap_is_text(expansion.occurrences[0].detail->zone, "Nowhere", "details: an unknown zone");
	expand(EVENT("DTSTART:20240901T090000\n"), "UTC", "20240101", "20250101", 0);
	tap_is_text(expansion.occurrences[0].detail->zone, NULL, "details: no zone");
	expand(EVENT(AT_NINE), "UTC", "20240101", "20250101", 0);
	tap_is_text(expansion.occurrences[0].detail->zone, "UTC", "details: UTC");
	tap_ok(!expansion.recurring &&
		   expansion.occurrences[0].original == BOOKING_OCCURRENCE_SINGLE,
		   "details: an event without recurrence");
}

/*
 * What blocks: all but what is canceled or surely transparent.
 */
static void
test_blocking(void)
{
	is_rendered(EVENT(AT_NINE "STATUS:CANCELLED\n"), NINE_TO_TEN "cf", "blocking: canceled");
	is_rendered(EVENT(AT_NINE "STATUS:TENTATIVE\n"), NINE_TO_TEN, "blocking: tentative");
	is_rendered(EVENT(AT_NINE "STATUS:MAYBE\n"), NINE_TO_TEN, "blocking: an unknown status");
	is_rendered(EVENT(AT_NINE "TRANSP:TRANSPARENT\n"), NINE_TO_TEN "f", "blocking: transparent");
	is_rendered(EVENT(AT_NINE "TRANSP:X-ODD\n"), NINE_TO_TEN,
				"blocking: an unknown transparency");
	is_rendered(EVENT(AT_NINE "X-MICROSOFT-CDO-BUSYSTATUS:FREE\n"), NINE_TO_TEN "f",
				"blocking: free as Exchange says it");
	is_rendered(EVENT(AT_NINE "X-MICROSOFT-CDO-BUSYSTATUS:FREE\nTRANSP:OPAQUE\n"), NINE_TO_TEN,
				"blocking: free there and opaque here");
	is_rendered(EVENT(AT_NINE "X-MICROSOFT-CDO-BUSYSTATUS:OOF\nTRANSP:TRANSPARENT\n"),
				NINE_TO_TEN, "blocking: busy there and transparent here");
	is_rendered(EVENT(AT_NINE "X-MICROSOFT-CDO-BUSYSTATUS:FREE\nTRANSP:TRANSPARENT\n"),
				NINE_TO_TEN "f", "blocking: both say free");
	is_rendered(EVENT(AT_NINE "X-MICROSOFT-CDO-BUSYSTATUS:WORKINGELSEWHERE\n"
					  "TRANSP:TRANSPARENT\n"), NINE_TO_TEN "f",
				"blocking: working elsewhere leaves it to TRANSP");
}

/*
 * Times that do not fit together are as wide as is plausible.
 */
static void
test_times(void)
{
	is_rendered(EVENT("DTSTART:20240901T090000Z\n"), "20240901T090000Z/20240901T090000Z",
				"times: a moment");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDTEND:someday\n"),
				"20240901T090000Z/20240902T090000Z!", "times: an end that is none");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDURATION:-PT2H\n"),
				"20240901T070000Z/20240901T090000Z!", "times: a negative duration");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDURATION:P1H\n"),
				"20240901T090000Z/20240902T090000Z!", "times: a duration that is none");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDTEND:20240901T100000Z\nDURATION:PT3H\n"),
				"20240901T090000Z/20240901T120000Z!", "times: two ends: the later");
	is_rendered(EVENT("DTSTART;VALUE=DATE:20240901\nDTEND:20240902T060000Z\n"),
				"20240831T220000Z/20240902T220000Zd!", "times: a date and a time");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDTEND;VALUE=DATE:20240902\n"),
				"20240901T090000Z/20240902T220000Z!", "times: a time and a date");
	is_rendered(EVENT("DTSTART;VALUE=DATE:20240903\nDTEND;VALUE=DATE:20240901\n"),
				"20240831T220000Z/20240903T220000Zd!", "times: dates the wrong way round");
	is_rendered(EVENT("DTSTART;VALUE=DATE:20240901\nDURATION:PT36H\n"),
				"20240831T220000Z/20240902T220000Zd!", "times: a date and hours");
	is_rendered(EVENT("DTSTART;TZID=Europe/Berlin:20240901T090000\n"
					  "DTEND;TZID=Nowhere:20240901T100000\n"),
				"20240901T070000Z/20240901T220000Z!", "times: an end in an unknown zone");
	is_rendered(EVENT("DTSTART:20240901T090000Z\nDURATION:P9999999W\n"),
				"20240901T090000Z/99991231T235959Z", "times: for ever");
	is_rendered(EVENT(AT_NINE "RRULE:FREQ=DAILY;COUNT=2\nEXDATE:nonsense\n"),
				NINE_TO_TEN "! 20240902T090000Z/20240902T100000Z!",
				"times: EXDATE that is none removes nothing");
	is_rendered(EVENT(AT_NINE "RDATE:nonsense,20240903T090000Z\n"),
				NINE_TO_TEN " 20240903T090000Z/20240903T100000Z",
				"times: RDATE that is none is passed over");
	tap_ok(expansion.problem != NULL, "times: and said of the object");
	is_rendered(EVENT(AT_NINE "RRULE:FREQ=DAILY;COUNT=2\n")
				EVENT("RECURRENCE-ID:nonsense\nDTSTART:20240905T090000Z\n"),
				NINE_TO_TEN " 20240902T090000Z/20240902T100000Z "
				"20240905T090000Z=20240905T090000Z/20240905T100000Z!",
				"times: a change of who knows what is beside the series");
}

/*
 * Objects that are not one event.
 */
static void
test_objects(void)
{
	is_rendered("", "the object holds no event", "objects: nothing");
	is_rendered("BEGIN:VEVENT\nUID:u\n", "the object is not a whole iCalendar object",
				"objects: cut");
	is_rendered("BEGIN:VEVENT\nUID:u\nEND:VEVENT\n", "19700101T000000Z/19700101T000000Zf!",
				"objects: an event without a time");
	tap_ok(!expansion.occurrences[0].has_time &&
		   expansion.occurrences[0].original == BOOKING_OCCURRENCE_SINGLE,
		   "objects: has none");
	is_rendered(EVENT(AT_NINE) "BEGIN:VEVENT\nUID:v\n" AT_NINE "END:VEVENT\n",
				NINE_TO_TEN " " NINE_TO_TEN "!", "objects: two events");
	is_rendered("BEGIN:VEVENT\nUID:v\n" AT_NINE "END:VEVENT\n" EVENT(AT_NINE)
				"BEGIN:VEVENT\nUID:w\n" AT_NINE "END:VEVENT\n",
				NINE_TO_TEN " " NINE_TO_TEN "! 20240901T090000Z=" NINE_TO_TEN "!",
				"objects: three at the same time keep an identity each");
	tap_is_text(expansion.occurrences[0].detail->uid, "v", "objects: the first is the object");
	is_rendered(EVENT("SEQUENCE:1\n" AT_NINE)
				EVENT("SEQUENCE:2\nDTSTART:20240902T090000Z\nDTEND:20240902T100000Z\n"),
				"20240901T090000Z/20240901T100000Z! 20240902T090000Z/20240902T100000Z",
				"objects: one event twice blocks both times");
	is_rendered("BEGIN:VEVENT\n" AT_NINE "END:VEVENT\n", NINE_TO_TEN "!",
				"objects: an event without a UID");
	is_rendered("BEGIN:A\nBEGIN:B\nBEGIN:C\nBEGIN:D\nBEGIN:E\nBEGIN:F\nBEGIN:G\nBEGIN:H\n",
				"the object is not a whole iCalendar object", "objects: too deep");
}

/*
 * Bytes that are no text do not hide a time.
 */
static void
test_bytes(void)
{
	static const char object[] = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:\xc3\r\n \xbc\r\n"
		"SUMMARY:a\0b\r\nDESCRIPTION:\xfe\xff\r\nORGANIZER:mailto:\xe9@example.org\r\n"
		"DTSTART:202409\r\n 01T090000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
	BookingExpandRequest request = {0};

	booking_arena_free(arena);
	arena = booking_arena_create(BOOKING_EXPAND_ARENA(sizeof(object)));
	request.to = read_utc("20250101") * SECOND;
	request.zone = "UTC";
	tap_is_int(booking_ical_expand(object, sizeof(object) - 1, &request, arena, &expansion),
			   BOOKING_ICAL_OK, "bytes: NUL, Latin-1 and folds within a character");
	tap_is_text(render(), "20240901T090000Z/20240901T090000Z", "bytes: hide no time");
	tap_is_text(expansion.occurrences[0].detail->uid, "\xc3\xbc", "bytes: unfold first");
	tap_is_text(expansion.occurrences[0].detail->organizer, "\xef\xbf\xbd@example.org",
				"bytes: what is no character is replaced");
	request.zone = "Nowhere";
	booking_ical_expand(object, sizeof(object) - 1, &request, arena, &expansion);
	tap_is_text(render(), "20240901T090000Z/20240901T090000Z",
				"bytes: a calendar's zone that is unknown does not matter in UTC");
}

/*
 * The same line many times between others, from malloc.
 */
static char *
many(const char *before, const char *format, int count, const char *behind)
{
	size_t		size = strlen(before) + strlen(behind) + 1 + count * (strlen(format) + 40);
	char	   *text = malloc(size);
	char	   *end = text + size;
	char	   *out = tap_put(text, end, "%s", before);

	for (int i = 0; i < count; i++)
	{
		int			day = i % 28 + 1;
		int			minute = i / 28 % 1440;
		int			month = i / (28 * 1440) % 12 + 1;

		out = tap_put(out, end, format, month, day, minute / 60, minute % 60);
	}
	tap_put(out, end, "%s", behind);
	return text;
}

/*
 * Many of a thing: the arena of the documented size is enough, and the caps
 * hold.
 */
static void
test_sizes(void)
{
	char	   *text;

	text = many("BEGIN:VEVENT\nUID:u\n" AT_NINE,
				"ATTENDEE;PARTSTAT=DECLINED;X-A=%d-%d-%d-%d:mailto:a@example.org\n", 10000,
				"END:VEVENT\n");
	is_rendered(text, NINE_TO_TEN, "sizes: 10000 attendees");
	tap_is_int(expansion.occurrences[0].detail->nattendees, BOOKING_EXPAND_ATTENDEES,
			   "sizes: of whom so many are kept");
	tap_is_int(expansion.occurrences[0].detail->nattendees_given, 10000, "sizes: and all counted");
	free(text);

	text = many("BEGIN:VEVENT\nUID:u\n" AT_NINE, "RDATE:2024%02d%02dT%02d%02d00Z\n", 100000,
				"END:VEVENT\n");
	tap_is_int(expand(text, "UTC", "20240101", "20250101", 0), BOOKING_ICAL_OK,
			   "sizes: 100000 lines of RDATE");
	tap_is_int(expansion.noccurrences, BOOKING_EXPAND_OCCURRENCES, "sizes: as many as are allowed");
	tap_ok(expansion.problem != NULL, "sizes: which is a problem");
	tap_is_int(expand(text, "UTC", "20240215", "20240216", 0), BOOKING_ICAL_OK,
			   "sizes: one day of them");
	tap_is_int(expansion.noccurrences, 1440 + 59, "sizes: is as dense as it was written");
	tap_ok(expansion.problem == NULL, "sizes: and no problem");
	free(text);

	text = many("BEGIN:VEVENT\nUID:u\n" AT_NINE "RDATE:20240903T090000Z",
				",2024%02d%02dT%02d%02d00Z", 100000, "\nEND:VEVENT\n");
	tap_is_int(expand(text, "UTC", "20240215", "20240216", 100), BOOKING_ICAL_OK,
			   "sizes: 100000 values in one line");
	tap_is_int(expansion.noccurrences, 100, "sizes: no more than the caller allows");
	free(text);

	text = many("BEGIN:VEVENT\nUID:u\n" AT_NINE "RRULE:FREQ=DAILY;COUNT=3\n"
				"EXDATE:20240902T090000Z\n", "EXDATE:2025%02d%02dT%02d%02d00Z\n", 100000,
				"END:VEVENT\n");
	is_rendered(text, NINE_TO_TEN " 20240903T090000Z/20240903T100000Z",
				"sizes: 100000 lines of EXDATE");
	free(text);

	text = many("BEGIN:VEVENT\nUID:u\nDESCRIPTION:", "x%d%d%d%d", 250000,
				"\n" AT_NINE "END:VEVENT\n");
	is_rendered(text, NINE_TO_TEN, "sizes: a line of a megabyte and more");
	free(text);

	text = many("", "BEGIN:VEVENT\nUID:%d-%d-%d-%d\n" AT_NINE "END:VEVENT\n", 20000, "");
	tap_is_int(expand(text, "UTC", "20240101", "20250101", 0), BOOKING_ICAL_OK,
			   "sizes: 20000 events in one object");
	tap_is_int(expansion.noccurrences, BOOKING_EXPAND_OCCURRENCES, "sizes: are held too");
	free(text);
}

/*
 * Rules that never end or never strike cost so many steps and no more, and
 * block what they may mean.
 */
static void
test_density(void)
{
	const BookingOccurrence *last;
	char	   *text;

	expand(EVENT("DTSTART:20240901T090000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY\n"), "UTC",
		   "20240101", "20250101", 0);
	tap_is_int(expansion.noccurrences, BOOKING_EXPAND_OCCURRENCES, "density: every second");
	last = &expansion.occurrences[expansion.noccurrences - 1];
	tap_ok(last->busy && last->problem != NULL && last->start < last->end &&
		   last->end == read_utc("20250101") * SECOND, "density: the rest is one time");

	expand(EVENT("DTSTART:19700101T000000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY\n"), "UTC",
		   "20240101", "20240101T000100", 0);
	tap_is_int(expansion.noccurrences, 60, "density: a window far behind the start");
	tap_ok(expansion.problem == NULL, "density: is reached at once");

	is_rendered(EVENT("DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY;COUNT=999999999\n"),
				"20200101T000000Z=20240101T000000Z/20250101T000000Z!",
				"density: counted from far before the window");
	is_rendered(EVENT(AT_NINE "RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30\n"), NINE_TO_TEN,
				"density: a rule that is never met");
	is_rendered(EVENT(AT_NINE "RRULE:FREQ=DAILY;COUNT=4\nEXRULE:FREQ=SECONDLY\n"),
				NINE_TO_TEN "! 20240904T090000Z/20240904T100000Z!",
				"density: what is left out every second");
	text = many("BEGIN:VTIMEZONE\nTZID:X\n",
				"BEGIN:STANDARD\nDTSTART:2012%02d%02dT%02d%02d00\nTZOFFSETFROM:+0100\n"
				"TZOFFSETTO:+0200\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29\nEND:STANDARD\n",
				100, "END:VTIMEZONE\n"
				EVENT("DTSTART;TZID=X:20240102T090000\nDURATION:PT1H\nRRULE:FREQ=HOURLY\n"));
	tap_is_int(expand(text, "UTC", "20240101", "20260101", 0), BOOKING_ICAL_OK,
			   "density: a zone that is hard to reckon with");
	last = &expansion.occurrences[expansion.noccurrences - 1];
	tap_ok(last->busy && last->problem != NULL, "density: is given up and blocks");
	free(text);
	is_rendered(EVENT("DTSTART:00010101T000000Z\nDURATION:PT1H\nRRULE:FREQ=YEARLY\n"),
				"20240101T000000Z/20240101T010000Z", "density: since the year 1");
	is_rendered(EVENT(AT_NINE "RRULE:FREQ=YEARLY;INTERVAL=999999999999999999999\n"), NINE_TO_TEN,
				"density: a giant interval");
}

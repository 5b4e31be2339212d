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
 * Where a row says so, libical's icalcomponent_foreach_recurrence() is asked here and
 * must agree.
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
static void render_time(char *out, int64 at);
static char *render(void);
static void test_table(const Row *rows, int nrows);
static bool ask_libical(const Row *row);

int
main(void)
{
	test_table(rule_rows, lengthof(rule_rows));
	test_table(change_rows, lengthof(change_rows));
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
static void
render_time(char *out, int64 at)
{
	BookingCivil civil;

	booking_civil_split(at / SECOND, &civil);
	sprintf(out + strlen(out), "%04d%02d%02dT%02d%02d%02dZ", civil.year, civil.month,
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

	text[0] = '\0';
	for (int i = 0; i < expansion.noccurrences && strlen(text) < MAX_TEXT - 100; i++)
	{
		const BookingOccurrence *o = &expansion.occurrences[i];

		if (i > 0)
			strcat(text, " ");
		if (o->original != BOOKING_OCCURRENCE_SINGLE && o->original != o->start)
		{
			render_time(text, o->original);
			strcat(text, "=");
		}
		render_time(text, o->start);
		strcat(text, "/");
		render_time(text, o->end);
		if (o->all_day)
			strcat(text, "d");
		if (o->detail->status == BOOKING_STATUS_CANCELED)
			strcat(text, "c");
		if (!o->busy)
			strcat(text, "f");
		if (o->problem != NULL)
			strcat(text, "!");
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
	char	   *object = malloc(strlen(row->lines) + 64);
	char	   *zone;
	icalcomponent *calendar;
	icalcomponent *event;
	Witness		witness = {0};

	sprintf(object, "BEGIN:VCALENDAR\n%sEND:VCALENDAR\n", row->lines);
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

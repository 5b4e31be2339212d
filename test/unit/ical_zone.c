/*
 * test/unit/ical_zone.c
 *
 * A wall time is the instant at which clocks in its zone show it: in a gap the
 * one that the offset before it gives, in a fold the first (R53, RFC 5545
 * section 3.3.5).  Zones are those of the IANA database or the ones that the
 * object brings, in any of the forms in which programs write them; one that
 * cannot be reckoned with is unknown, and never UTC (R54).
 */
#include "tap.h"

#include "codec/ical.h"
#include "codec/ical_rule.h"

#define HOUR INT64CONST(3600000000)

/* a zone as embedded, between its BEGIN and END */
#define BERLIN_RULES \
	"BEGIN:STANDARD\nDTSTART:19701025T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\n" \
	"RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\nTZNAME:CET\nEND:STANDARD\n" \
	"BEGIN:DAYLIGHT\nDTSTART:19700329T020000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n" \
	"RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\nTZNAME:CEST\nEND:DAYLIGHT\n"
#define NEW_YORK_RULES \
	"BEGIN:DAYLIGHT\nDTSTART:20070311T020000\nTZOFFSETFROM:-0500\nTZOFFSETTO:-0400\n" \
	"RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\nEND:DAYLIGHT\n" \
	"BEGIN:STANDARD\nDTSTART:20071104T020000\nTZOFFSETFROM:-0400\nTZOFFSETTO:-0500\n" \
	"RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\nEND:STANDARD\n"
#define STANDARD(lines) \
	"BEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETFROM:+0000\nTZOFFSETTO:+0300\n" \
	lines "END:STANDARD\n"

static BookingArena *arena;
static BookingEvent event;

static BookingIcalFault read_at(const char *tzid, const char *rules, const char *times);
static void is_at(const char *tzid, const char *rules, const char *local, int64 instant,
				  const char *name);
static void is_unknown(const char *tzid, const char *rules, const char *name);
static void test_database(void);
static void test_embedded(void);
static void test_precedence(void);
static void test_forms(void);
static void test_refused(void);
static void test_rules(void);
static void test_durations(void);

int
main(void)
{
	test_database();
	test_embedded();
	test_precedence();
	test_forms();
	test_refused();
	test_rules();
	test_durations();
	booking_arena_free(arena);
	return tap_done();
}

/*
 * Read an event with these times, and a zone if there are rules for one.  The
 * zone stands behind the event, which is where it is least convenient.
 */
static BookingIcalFault
read_at(const char *tzid, const char *rules, const char *times)
{
	char		object[16384];
	int			len;

	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
	len = snprintf(object, sizeof(object), "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:u\n%s"
				   "END:VEVENT\n", times);
	if (rules != NULL)
		len += snprintf(object + len, sizeof(object) - len,
						"BEGIN:VTIMEZONE\nTZID:%s\n%sEND:VTIMEZONE\n", tzid, rules);
	len += snprintf(object + len, sizeof(object) - len, "END:VCALENDAR\n");
	return booking_ical_read(object, len, arena, &event);
}

/*
 * Clocks show local, YYYYMMDDTHHMMSS, at this instant.
 */
static void
is_at(const char *tzid, const char *rules, const char *local, int64 instant,
	  const char *name)
{
	char		times[400];
	BookingIcalFault fault;

	snprintf(times, sizeof(times), "DTSTART;TZID=\"%s\":%s\n", tzid, local);
	fault = read_at(tzid, rules, times);
	if (!tap_ok(fault == BOOKING_ICAL_OK && event.start == instant, name))
		tap_note("fault %d, " INT64_FORMAT ", expected " INT64_FORMAT, fault,
				 event.start, instant);
}

/*
 * The zone is unknown.
 */
static void
is_unknown(const char *tzid, const char *rules, const char *name)
{
	char		times[400];

	snprintf(times, sizeof(times), "DTSTART;TZID=\"%s\":20300701T090000\n", tzid);
	tap_is_int(read_at(tzid, rules, times), BOOKING_ICAL_BAD_TIME, name);
}

/*
 * Zones by name, around their changes.
 */
static void
test_database(void)
{
	is_at("Europe/Berlin", NULL, "20300115T090000", tap_utc(2030, 1, 15, 8, 0, 0),
		  "database: winter");
	is_at("Europe/Berlin", NULL, "20300715T090000", tap_utc(2030, 7, 15, 7, 0, 0),
		  "database: summer");
	is_at("Europe/Berlin", NULL, "20300331T015959", tap_utc(2030, 3, 31, 0, 59, 59),
		  "database: the second before a gap");
	is_at("Europe/Berlin", NULL, "20300331T020000", tap_utc(2030, 3, 31, 1, 0, 0),
		  "database: the first second of a gap");
	is_at("Europe/Berlin", NULL, "20300331T023000", tap_utc(2030, 3, 31, 1, 30, 0),
		  "database: within a gap the offset before it holds");
	is_at("Europe/Berlin", NULL, "20300331T030000", tap_utc(2030, 3, 31, 1, 0, 0),
		  "database: the second after a gap");
	is_at("Europe/Berlin", NULL, "20301027T015959", tap_utc(2030, 10, 26, 23, 59, 59),
		  "database: the second before a fold");
	is_at("Europe/Berlin", NULL, "20301027T023000", tap_utc(2030, 10, 27, 0, 30, 0),
		  "database: within a fold the first occurrence counts");
	is_at("Europe/Berlin", NULL, "20301027T030000", tap_utc(2030, 10, 27, 2, 0, 0),
		  "database: the second after a fold");
	is_at("America/New_York", NULL, "20300310T023000", tap_utc(2030, 3, 10, 7, 30, 0),
		  "database: a gap west of UTC");
	is_at("America/New_York", NULL, "20301103T013000", tap_utc(2030, 11, 3, 5, 30, 0),
		  "database: a fold west of UTC");
	is_at("Asia/Kathmandu", NULL, "20300101T000000", tap_utc(2029, 12, 31, 18, 15, 0),
		  "database: quarters of an hour");
	is_at("Australia/Lord_Howe", NULL, "20301006T021500", tap_utc(2030, 10, 5, 15, 45, 0),
		  "database: a gap of half an hour");
	is_at("Australia/Lord_Howe", NULL, "20300407T014500", tap_utc(2030, 4, 6, 14, 45, 0),
		  "database: a fold of half an hour");
	is_at("Australia/Lord_Howe", NULL, "20501002T030000", tap_utc(2050, 10, 1, 16, 0, 0),
		  "database: rules hold beyond 2037");
	is_at("Pacific/Apia", NULL, "20111230T120000", tap_utc(2011, 12, 30, 22, 0, 0),
		  "database: a day that was left out");
	is_at("America/Argentina/Buenos_Aires", NULL, "20300101T000000",
		  tap_utc(2030, 1, 1, 3, 0, 0), "database: a name of three parts");
	is_at("America/Port-au-Prince", NULL, "20300101T000000", tap_utc(2030, 1, 1, 5, 0, 0),
		  "database: a name with hyphens");
	is_at("Etc/GMT+5", NULL, "20300101T000000", tap_utc(2030, 1, 1, 5, 0, 0),
		  "database: Etc/GMT+5 is west of UTC");
	is_at("UTC", NULL, "20300101T090000", tap_utc(2030, 1, 1, 9, 0, 0), "database: UTC");
	is_at("Etc/UTC", NULL, "20300101T090000", tap_utc(2030, 1, 1, 9, 0, 0),
		  "database: Etc/UTC");
	is_at("Etc/GMT0", NULL, "20300701T090000", tap_utc(2030, 7, 1, 9, 0, 0),
		  "database: a name that ends in a digit");
}

/*
 * Zones by the rules that the object brings.
 */
static void
test_embedded(void)
{
	is_at("Office", BERLIN_RULES, "20300115T090000", tap_utc(2030, 1, 15, 8, 0, 0),
		  "embedded: winter");
	is_at("Office", BERLIN_RULES, "20300715T090000", tap_utc(2030, 7, 15, 7, 0, 0),
		  "embedded: summer");
	is_at("Office", BERLIN_RULES, "20300331T023000", tap_utc(2030, 3, 31, 1, 30, 0),
		  "embedded: gap");
	is_at("Office", BERLIN_RULES, "20301027T023000", tap_utc(2030, 10, 27, 0, 30, 0),
		  "embedded: fold");
	is_at("Office", BERLIN_RULES, "20301027T030000", tap_utc(2030, 10, 27, 2, 0, 0),
		  "embedded: after the fold");
	is_at("Office", BERLIN_RULES, "90001231T090000", tap_utc(9000, 12, 31, 8, 0, 0),
		  "embedded: rules without an end hold in the year 9000");
	is_at("Office", BERLIN_RULES, "19600701T090000", tap_utc(1960, 7, 1, 8, 0, 0),
		  "embedded: before the first change the offset before it holds");
	is_at("W. Europe Standard Time", BERLIN_RULES, "20300715T090000",
		  tap_utc(2030, 7, 15, 7, 0, 0), "embedded: a Windows name");
	is_at("(UTC+01:00) Amsterdam, Berlin", BERLIN_RULES, "20300715T090000",
		  tap_utc(2030, 7, 15, 7, 0, 0), "embedded: a name with colon and comma");
	is_at("Office", NEW_YORK_RULES, "20300310T013000", tap_utc(2030, 3, 10, 6, 30, 0),
		  "embedded: before the second Sunday of March");
	is_at("Office", NEW_YORK_RULES, "20300310T033000", tap_utc(2030, 3, 10, 7, 30, 0),
		  "embedded: after it");
	is_at("Fixed", STANDARD(""), "20300701T090000", tap_utc(2030, 7, 1, 6, 0, 0),
		  "embedded: one offset for ever");
	is_at("Fixed", STANDARD("RDATE:20300601T000000,20310601T000000\n")
		  "BEGIN:DAYLIGHT\nDTSTART:20010101T000000\nTZOFFSETFROM:+0300\n"
		  "TZOFFSETTO:-0730\nEND:DAYLIGHT\n", "20300701T090000",
		  tap_utc(2030, 7, 1, 6, 0, 0), "embedded: RDATE");
	is_at("Fixed", STANDARD("RDATE:20300801T000000\n")
		  "BEGIN:DAYLIGHT\nDTSTART:20010101T000000\nTZOFFSETFROM:+0300\n"
		  "TZOFFSETTO:-073015\nEND:DAYLIGHT\n", "20300701T090000",
		  tap_utc(2030, 7, 1, 16, 30, 15), "embedded: an offset with seconds");
}

/*
 * Which of several meanings of a TZID counts.
 */
static void
test_precedence(void)
{
	is_at("Europe/Berlin", NEW_YORK_RULES, "20300715T090000", tap_utc(2030, 7, 15, 7, 0, 0),
		  "precedence: a name with a slash is the database's");
	is_at("GMT", NEW_YORK_RULES, "20300715T090000", tap_utc(2030, 7, 15, 13, 0, 0),
		  "precedence: an abbreviation is what the object says");
	is_at("UTC", STANDARD(""), "20300715T090000", tap_utc(2030, 7, 15, 6, 0, 0),
		  "precedence: even UTC");
	is_at("GMT", NULL, "20300715T090000", tap_utc(2030, 7, 15, 9, 0, 0),
		  "precedence: or else the database's");
	is_at("/example.org/Europe/Berlin", NEW_YORK_RULES, "20300715T090000",
		  tap_utc(2030, 7, 15, 13, 0, 0), "precedence: a global name is what the object says");
	is_at("/example.org/20300101_1/Europe/Berlin", NULL, "20300715T090000",
		  tap_utc(2030, 7, 15, 7, 0, 0), "precedence: or else ends in one of the database");
	is_at("/example.org/America/Argentina/Buenos_Aires", NULL, "20300715T090000",
		  tap_utc(2030, 7, 15, 12, 0, 0), "precedence: which may have three parts");
	is_at("Nowhere/Atall", BERLIN_RULES, "20300715T090000", tap_utc(2030, 7, 15, 7, 0, 0),
		  "precedence: an unknown name with a slash is what the object says");
}

/*
 * Rules in the forms that are found in the wild.  Each is that of Berlin.
 */
static void
test_forms(void)
{
	static const char *const forms[][2] = {
		{"FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "parts in another order"},
		{"FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10;WKST=SU", "INTERVAL and WKST"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=SU;BYMONTHDAY=25,26,27,28,29,30,31",
		"a week of days"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=SU;BYSETPOS=-1", "BYSETPOS"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=SU;BYMONTHDAY=-1,-2,-3,-4,-5,-6,-7",
		"a week of days from the end"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=4SU", "the fourth, which is the last in 2030"},
		{"FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=27", "a day of the month"},
		{"FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=-5", "a day from the end"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20301027T010000Z", "UNTIL that very instant"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20301027T030000", "UNTIL in local time"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20301027", "UNTIL that day"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;COUNT=61", "COUNT that suffices"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;", "a semicolon at the end"}
	};

	for (int i = 0; i < (int) lengthof(forms); i++)
	{
		char		rules[600];
		char		name[200];

		snprintf(rules, sizeof(rules),
				 "BEGIN:DAYLIGHT\nDTSTART:20300331T020000\nTZOFFSETFROM:+0100\n"
				 "TZOFFSETTO:+0200\nEND:DAYLIGHT\n"
				 "BEGIN:STANDARD\nDTSTART:19701025T030000\nTZOFFSETFROM:+0200\n"
				 "TZOFFSETTO:+0100\nRRULE:%s\nEND:STANDARD\n", forms[i][0]);
		snprintf(name, sizeof(name), "forms: %s, the hour before", forms[i][1]);
		is_at("Office", rules, "20301027T015959", tap_utc(2030, 10, 26, 23, 59, 59), name);
		snprintf(name, sizeof(name), "forms: %s, the hour after", forms[i][1]);
		is_at("Office", rules, "20301027T030000", tap_utc(2030, 10, 27, 2, 0, 0), name);
	}

	is_at("Office", STANDARD("RRULE:FREQ=YEARLY;UNTIL=20301027T005959Z;BYMONTH=10;BYDAY=-1SU\n")
		  "BEGIN:DAYLIGHT\nDTSTART:20300331T020000\nTZOFFSETFROM:+0300\nTZOFFSETTO:+0400\n"
		  "END:DAYLIGHT\n", "20301101T090000", tap_utc(2030, 11, 1, 6, 0, 0),
		  "forms: UNTIL after the onset");
	is_at("Office", STANDARD("RRULE:FREQ=YEARLY;UNTIL=20301026T235959Z;BYMONTH=10;BYDAY=-1SU\n")
		  "BEGIN:DAYLIGHT\nDTSTART:20300331T020000\nTZOFFSETFROM:+0300\nTZOFFSETTO:+0400\n"
		  "END:DAYLIGHT\n", "20301101T090000", tap_utc(2030, 11, 1, 5, 0, 0),
		  "forms: UNTIL before the onset");
}

/*
 * What cannot be reckoned with is unknown.
 */
static void
test_refused(void)
{
	static const char *const rules[][2] = {
		{"FREQ=SECONDLY", "every second"},
		{"FREQ=MONTHLY;BYDAY=-1SU", "every month"},
		{"FREQ=YEARLY;INTERVAL=2;BYMONTH=10;BYDAY=-1SU", "every other year"},
		{"FREQ=YEARLY;BYDAY=-1SU", "a Sunday of the year"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=SU", "every Sunday of a month"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU,1MO", "two days"},
		{"FREQ=YEARLY;BYMONTH=4,10;BYDAY=-1SU", "two months"},
		{"FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=1,2", "two days of the month"},
		{"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;BYHOUR=3", "an hour of its own"},
		{"FREQ=YEARLY;BYYEARDAY=100", "a day of the year"},
		{"FREQ=YEARLY;BYWEEKNO=20", "a week of the year"},
		{"FREQ=YEARLY;BYMONTH=13;BYMONTHDAY=1", "month 13"},
		{"FREQ=YEARLY;BYMONTH=0;BYMONTHDAY=1", "month 0"},
		{"RSCALE=HEBREW;FREQ=YEARLY;BYMONTH=5L", "another calendar"},
		{"FREQ=YEARLY;UNTIL=never", "an end that is none"},
		{"BYMONTH=10", "no frequency"},
		{"", "nothing"},
		{"nonsense", "nonsense"}
	};
	char		lines[600];

	for (int i = 0; i < (int) lengthof(rules); i++)
	{
		char		name[200];

		snprintf(lines, sizeof(lines),
				 "BEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETFROM:+0000\n"
				 "TZOFFSETTO:+0300\nRRULE:%s\nEND:STANDARD\n", rules[i][0]);
		snprintf(name, sizeof(name), "refused: a rule with %s", rules[i][1]);
		is_unknown("Office", lines, name);
	}

	is_unknown("Office", "", "refused: no observance");
	is_unknown("Office", STANDARD("TZOFFSETTO:+0400\n"), "refused: two offsets");
	is_unknown("Office", STANDARD("EXDATE:20300101T000000\n"), "refused: EXDATE");
	is_unknown("Office", STANDARD("RDATE:20300101T000000Z\n"), "refused: RDATE in UTC");
	is_unknown("Office", STANDARD("RDATE:20300101T000000/PT1H\n"), "refused: RDATE with a period");
	is_unknown("Office", "BEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETTO:+0300\n"
			   "END:STANDARD\n", "refused: no offset before");
	is_unknown("Office", "BEGIN:STANDARD\nTZOFFSETFROM:+0000\nTZOFFSETTO:+0300\n"
			   "END:STANDARD\n", "refused: no start");
	is_unknown("Office", "BEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETFROM:0000\n"
			   "TZOFFSETTO:+0300\nEND:STANDARD\n", "refused: an offset without a sign");
	is_unknown("Office", "BEGIN:STANDARD\nDTSTART:20000101T000000\nTZOFFSETFROM:+0000\n"
			   "TZOFFSETTO:+2400\nEND:STANDARD\n", "refused: an offset of a day");
	is_unknown("Office", "TZID:Other\n" STANDARD(""), "refused: two names");
	is_unknown("Asia/", NULL, "refused: a folder of the database");
	is_unknown("Asia", NULL, "refused: the same without a slash");
	is_unknown("zone.tab", NULL, "refused: a file that is no zone");
	is_unknown("right/Europe/Berlin", NULL, "refused: leap seconds");
	is_unknown("Etc/GMT+15", NULL, "refused: an offset that no zone has");
	is_unknown("GMT+3", NULL, "refused: a rule of POSIX");
}

/*
 * Rules against days counted by hand.
 */
static void
test_rules(void)
{
	BookingIcalRule rule;
	int64		start = tap_utc(2000, 2, 29, 2, 0, 0) / 1000000;
	int64		onset;

	tap_ok(booking_ical_rule_parse("FREQ=YEARLY", start, &rule), "rules: by the start alone");
	tap_ok(!booking_ical_rule_onset(&rule, start, 0, 2001, &onset),
		   "rules: no 29th of February in a common year");
	tap_ok(booking_ical_rule_onset(&rule, start, 3600, 2004, &onset) &&
		   onset == tap_utc(2004, 2, 29, 1, 0, 0) / 1000000, "rules: one in a leap year");
	tap_ok(!booking_ical_rule_onset(&rule, start, 0, 1996, &onset),
		   "rules: nothing before the start");
	tap_ok(booking_ical_rule_parse("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=31", start, &rule) &&
		   !booking_ical_rule_onset(&rule, start, 0, 2000, &onset) &&
		   booking_ical_rule_onset(&rule, start, 0, 2001, &onset),
		   "rules: nor earlier in the year of the start");
	tap_ok(booking_ical_rule_parse("FREQ=YEARLY;BYMONTH=1;BYDAY=5MO", start, &rule) &&
		   !booking_ical_rule_onset(&rule, start, 0, 2030, &onset) &&
		   booking_ical_rule_onset(&rule, start, 0, 2029, &onset) &&
		   onset == tap_utc(2029, 1, 29, 2, 0, 0) / 1000000, "rules: a fifth Monday");
	tap_ok(booking_ical_rule_parse("FREQ=YEARLY;BYMONTH=3;BYDAY=FR;BYMONTHDAY=23,24,25,26,27,28,29",
								   start, &rule) &&
		   booking_ical_rule_onset(&rule, start, 0, 2030, &onset) &&
		   onset == tap_utc(2030, 3, 29, 2, 0, 0) / 1000000,
		   "rules: the Friday before the last Sunday");
	tap_ok(booking_ical_rule_parse("FREQ=YEARLY;COUNT=2", start, &rule) &&
		   rule.last_year == 2001, "rules: COUNT includes the start");
}

/*
 * A day is one of the calendar, an hour is elapsed time (RFC 5545 section
 * 3.3.6).
 */
static void
test_durations(void)
{
	read_at("x", NULL, "DTSTART;TZID=Europe/Berlin:20300330T120000\nDURATION:P1D\n");
	tap_is_int(event.end - event.start, 23 * HOUR, "durations: a day over a gap has 23 hours");
	read_at("x", NULL, "DTSTART;TZID=Europe/Berlin:20300330T120000\nDURATION:PT24H\n");
	tap_is_int(event.end - event.start, 24 * HOUR, "durations: 24 hours have 24");
	read_at("x", NULL, "DTSTART;TZID=Europe/Berlin:20301026T120000\nDURATION:P1W\n");
	tap_is_int(event.end - event.start, 169 * HOUR, "durations: a week over a fold has 169 hours");
	read_at("x", NULL, "DTSTART;TZID=Europe/Berlin:20301026T120000\nDURATION:P1DT1H\n");
	tap_is_int(event.end - event.start, 26 * HOUR, "durations: days first, then hours");
	read_at("x", NULL, "DTSTART;TZID=Europe/Berlin:20300101T090000\n"
			"DTEND;TZID=America/New_York:20300101T090000\n");
	tap_is_int(event.end - event.start, 6 * HOUR, "durations: two zones");
}

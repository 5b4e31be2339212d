/*
 * reports.c
 *
 * What adapters say.  What must hold: nothing long, nothing that is not
 * printable and no words of a server reach a table or a log as they came, and
 * a code is always one word that can be compared.
 */
#include "harness.h"

#include "provider/report.h"

static const struct
{
	const char *words;
	const char *code;
}			codes[] = {
	{"valid-calendar-data", "valid_calendar_data"},
	{"Could not resolve host", "could_not_resolve_host"},
	{"  (spaces)  ", "spaces"},
	{"a -- b", "a_b"},
	{"rateLimitExceeded", "rate_limit_exceeded"},
	{"RATE_LIMIT", "rate_limit"},
	{"iCalUID", "i_cal_uid"},
	{"x'); DROP TABLE y; --\r\n", "x_drop_table_y"},
	{"0123456789012345678901234567890123456789cut", "0123456789012345678901234567890123456789"},
	{"012345678901234567890123456789012345678 cut", "012345678901234567890123456789012345678"},
	{"\xc3\xbc", "otherwise"},
	{"---", "otherwise"},
	{"", "otherwise"},
	{NULL, "otherwise"},
};

/*
 * Test all of provider/report.h.
 */
void
test_reports(void)
{
	BookingArena *arena = booking_arena_create(100000);
	BookingTask task;
	char		longest[1000];
	const char *text;

	for (int i = 0; i < (int) lengthof(codes); i++)
		tap_is_text(booking_report_code(arena, codes[i].words, "otherwise"),
					codes[i].code, "report: a code of words");

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	text = booking_report_text(arena, "%s", longest);
	ok(strlen(text) == BOOKING_MAX_MESSAGE, "report: a message is cut");
	tap_is_text(booking_report_text(arena, "a %s b", "\r\n\x1b[1m\xc3\xbc\x7f"),
				"a ???[1m??? b", "report: a message is printable");

	memset(&task, 0, sizeof(task));
	task.arena = arena;
	booking_report_find(&task, "subject", true, NULL);
	tap_is_int(task.nfindings, 0, "report: a finding without words is left out");
	for (int i = 0; i < BOOKING_MAX_FINDINGS + 5; i++)
		booking_report_find(&task, "subject", true, "text");
	tap_is_int(task.nfindings, BOOKING_MAX_FINDINGS,
			   "report: there is room for so many findings");
	booking_arena_free(arena);

	arena = booking_arena_create(0);
	ok(booking_report_text(arena, "text") == NULL,
	   "report: without memory there is no message");
	tap_is_text(booking_report_code(arena, "words", "otherwise"), "otherwise",
				"report: without memory there is a code");
	booking_arena_free(arena);
}

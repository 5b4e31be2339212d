/*
 * caldav_cancel.c
 *
 * CANCEL on a CalDAV server: a DELETE that demands the version we know.  One
 * row each of the decision table.  What must hold: "deleted" is said only when
 * the event is in no corner of a calendar that is there, an event that others
 * moved or that is not ours stays, and what else they changed keeps no event
 * alive that was called off (R39).
 */
#include "harness.h"

#define CANCEL(row) .name = row, .kind = BOOKING_JOB_CANCEL
#define KNOWN .etag = "\"e1\""
#define HREF "href=" PATH ID ".ics"
#define RENAMED PATH "renamed.ics"
#define RENAMED_URL "https://cal.example.org" RENAMED

const Scenario caldav_cancel[] = {
	{CANCEL("200 with a body, as Radicale answers"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "200\n\n<multistatus xmlns=\"DAV:\"/>"}},
	.outcome = "DONE status=200"},
	{CANCEL("204"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "204\n\n"}},
	.outcome = "DONE status=204"},
	{CANCEL("202 is no success"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "202\n\n"}},
	.outcome = "UNKNOWN unexpected_answer status=202"},
	{CANCEL("where the event really is"), KNOWN, .href = RENAMED,
		.turns = {{DELETE_OVER_AT(RENAMED_URL, "\"e1\""), "204\n\n"}},
	.outcome = "DONE status=204"},

	/* 207: parse inner status */
	{CANCEL("207 with an inner 204"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), MULTISTATUS(STATUS(PATH ID ".ics", "204 No Content"))}},
	.outcome = "DONE status=204"},
	{CANCEL("207 with an inner 423"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), MULTISTATUS(STATUS(PATH ID ".ics", "423 Locked"))}},
	.outcome = "NOT_EXECUTED locked status=423"},
	{CANCEL("207 with an inner 403"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), MULTISTATUS(STATUS(PATH ID ".ics", "403 Forbidden"))}},
	.outcome = "REJECTED forbidden status=403"},
	{CANCEL("207 that is cut"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "207\n\n<multi"}},
	.outcome = "UNKNOWN answer_unreadable status=207"},

	/* 404 */
	{CANCEL("404, the collection still answers"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), NOT_THERE}, {QUERY, NO_MATCH}, {COLLECTION, ALIVE}},
	.outcome = "DONE"},
	{CANCEL("404, but the event has another name: deleted there"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), NOT_THERE},
			{QUERY, MULTISTATUS(MATCH(RENAMED, "\"e5\"", AS_BEFORE))},
		{DELETE_OVER_AT(RENAMED_URL, "\"e5\""), "204\n\n"}},
	.outcome = "DONE status=204"},
	{CANCEL("404, the calendar is gone"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), NOT_THERE}, {QUERY, NOT_THERE}, {COLLECTION, NOT_THERE}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{CANCEL("404, and the calendar cannot be asked"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), NOT_THERE}, {QUERY, "503\nRetry-After: 6\n\n"}},
	.outcome = "UNKNOWN unavailable retry=6 status=503"},

	/* 412: GET */
	{CANCEL("412, not there, as sabre says of an event that is gone"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, NOT_THERE}, {QUERY, NO_MATCH},
		{COLLECTION, ALIVE}},
	.outcome = "DONE"},
	{CANCEL("412, something else changed: deleted"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"},
			{GET, FOUND("\"e4\"", ICAL(ID, ID, "10", "ATTENDEE:mailto:eve@example.org\r\n"))},
		{DELETE_OVER("\"e4\""), "204\n\n"}},
	.outcome = "DONE status=204"},
	{CANCEL("412, as an update that nobody confirmed: deleted"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, FOUND("\"e4\"", AS_WANTED)},
		{DELETE_OVER("\"e4\""), "204\n\n"}},
	.outcome = "DONE status=204"},
	{CANCEL("412, deleted, 412: no loop"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, FOUND("\"e4\"", AS_BEFORE)},
		{DELETE_OVER("\"e4\""), "412\n\n"}},
	.outcome = "UNKNOWN precondition_failed status=412"},
	{CANCEL("412, deleted, 404"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, FOUND("\"e4\"", AS_BEFORE)},
		{DELETE_OVER("\"e4\""), NOT_THERE}, {QUERY, NO_MATCH}, {COLLECTION, ALIVE}},
	.outcome = "DONE"},
	{CANCEL("412, moved by others: stays"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, FOUND("\"e4\"", MOVED)}},
	.outcome = "DIFFERENT event_moved " HREF " etag=\"e4\" status=200"},
	{CANCEL("412, made to repeat by others: stays"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"},
		{GET, FOUND("\"e4\"", ICAL(ID, ID, "10", PEOPLE "RRULE:FREQ=DAILY;COUNT=3\r\n"))}},
	.outcome = "DIFFERENT event_moved " HREF " etag=\"e4\" status=200"},
	{CANCEL("412, another event: stays"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, FOUND("\"e4\"", FOREIGN)}},
	.outcome = "FOREIGN foreign_event " HREF " status=200"},
	{CANCEL("412, and reading fails"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "412\n\n"}, {GET, "lost time-out"}},
	.outcome = "UNKNOWN time_out"},

	/* the ETag is not known */
	{CANCEL("no ETag: read, as we left it, deleted"),
		.turns = {{GET, FOUND("\"e5\"", AS_BEFORE)}, {DELETE_OVER("\"e5\""), "204\n\n"}},
	.outcome = "DONE status=204"},
	{CANCEL("no ETag: moved by others: stays"),
		.turns = {{GET, FOUND("\"e5\"", MOVED)}},
	.outcome = "DIFFERENT event_moved " HREF " etag=\"e5\" status=200"},
	{CANCEL("no ETag: not there"),
		.turns = {{GET, NOT_THERE}, {QUERY, NO_MATCH}, {COLLECTION, ALIVE}},
	.outcome = "DONE"},
	{CANCEL("no ETag: the calendar is gone"),
		.turns = {{GET, NOT_THERE}, {QUERY, NOT_THERE}, {COLLECTION, NOT_THERE}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{CANCEL("no ETag: reading fails, so nothing was deleted"),
		.turns = {{GET, "503\nRetry-After: 2\n\n"}},
	.outcome = "NOT_EXECUTED unavailable retry=2 status=503"},

	/* 401, 429, 423, 403, 3xx */
	{CANCEL("401"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "401\n\n"}},
		.outcome = "AUTH auth_refused status=401",
	.message = "the server answered 401 to DELETE: auth_refused"},
	{CANCEL("429"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "429\nRetry-After: 2\n\n"}},
	.outcome = "NOT_EXECUTED rate_limited retry=2 status=429"},
	{CANCEL("423"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "423\n\n"}},
	.outcome = "NOT_EXECUTED locked status=423"},
	{CANCEL("403"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "403\n\n"}},
	.outcome = "REJECTED forbidden status=403"},
	{CANCEL("403 need-privileges"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), DAV_ERROR("403", "<need-privileges/>")}},
	.outcome = "REJECTED need_privileges status=403"},
	{CANCEL("307"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "307\nLocation: https://evil.example.net/\n\n"}},
	.outcome = "REJECTED redirected status=307"},

	/* 5xx, lost */
	{CANCEL("503"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "503\nRetry-After: 2\n\n"}},
	.outcome = "UNKNOWN unavailable retry=2 status=503"},
	{CANCEL("500"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "500\n\n"}},
	.outcome = "UNKNOWN server_error status=500"},
	{CANCEL("lost"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "lost connection reset"}},
	.outcome = "UNKNOWN connection_reset"},
	{CANCEL("not sent"), KNOWN,
		.turns = {{DELETE_OVER("\"e1\""), "not sent connection refused"}},
	.outcome = "NOT_EXECUTED connection_refused"},
	LAST
};

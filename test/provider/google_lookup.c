/*
 * google_lookup.c
 *
 * What became of an uncertain write on Google Calendar, and checks of accounts.
 * What must hold: absence is said only after the id and the marker were looked
 * for and the calendar was seen; a deleted event is no event; what cannot be
 * read is not known.
 */
#include "google.h"

#define LOOKUP(row, of) .name = row, .kind = BOOKING_JOB_LOOKUP, .looked_up = of
#define OF_CREATE(row) LOOKUP(row, BOOKING_JOB_CREATE)
#define OF_UPDATE(row) LOOKUP(row, BOOKING_JOB_UPDATE)
#define OF_CANCEL(row) LOOKUP(row, BOOKING_JOB_CANCEL)

const Scenario google_lookup[] = {
	{OF_CREATE("get 200: ours, and no other has our marker"),
		.turns = {{GGET, JSON("200", G_WANTED("e1"))}, {SEARCH, ITEMS(MARKED(ID, "confirmed"))}},
	.outcome = "EQUAL href=" ID " etag=\"e1\" status=200"},
	{OF_CREATE("get 200, and the list does not have it yet"),
		.turns = {{GGET, JSON("200", G_WANTED("e1"))}, {SEARCH, NO_ITEMS}},
	.outcome = "EQUAL href=" ID " etag=\"e1\" status=200"},
	{OF_CREATE("get 200, and a second event has our marker"),
		.turns = {{GGET, JSON("200", G_WANTED("e1"))},
		{SEARCH, ITEMS(MARKED(ID, "confirmed") "," MARKED("second", "confirmed"))}},
	.outcome = "DIFFERENT several_events status=200"},
	{OF_CREATE("get 200, and the second one was deleted"),
		.turns = {{GGET, JSON("200", G_WANTED("e1"))},
		{SEARCH, ITEMS(MARKED(ID, "confirmed") "," MARKED("second", "cancelled"))}},
	.outcome = "EQUAL href=" ID " etag=\"e1\" status=200"},
	{OF_CREATE("get 200, and the search is refused: not known"),
		.turns = {{GGET, JSON("200", G_WANTED("e1"))}, {SEARCH, "503\n\n"}},
	.outcome = "FAILED unavailable status=503"},
	{OF_CREATE("get 404, and the list is empty"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, NO_ITEMS}},
	.outcome = "ABSENT"},
	{OF_CREATE("get 404, an empty page with a next one, and the list ends"),
		.turns = {{GGET, G_NOT_FOUND},
			{SEARCH, JSON("200", "{\"nextPageToken\":\"p 1\",\"items\":[]}")},
		{SEARCH_FROM("&pageToken=p%201"), NO_ITEMS}},
	.outcome = "ABSENT"},
	{OF_CREATE("get 404, and the list has it: one of the two is late"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, ITEMS(MARKED(ID, "confirmed"))}},
	.outcome = "FAILED answer_incomplete status=200"},
	{OF_CREATE("get 404, and an event with another id has our marker"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, ITEMS(MARKED("second", "confirmed"))}},
	.outcome = "DIFFERENT other_event status=200"},
	{OF_CREATE("get 404, and the calendar is gone"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, G_NOT_FOUND}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{OF_CREATE("get 404, and the list is not to be read"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, "200\n\nrubbish"}},
	.outcome = "FAILED answer_unreadable status=200"},
	{OF_CREATE("get 200, cancelled: the id is burnt"),
		.turns = {{GGET, JSON("200", G_DELETED)}},
	.outcome = "REJECTED deleted_at_provider href=" ID " status=200"},
	{OF_CREATE("get 200, changed"),
		.turns = {{GGET, JSON("200", G_MOVED("e1"))}},
	.outcome = "DIFFERENT event_changed href=" ID " status=200"},
	{OF_CREATE("get 200, no marker"),
		.turns = {{GGET, JSON("200", G_FOREIGN)}},
	.outcome = "FOREIGN foreign_event href=" ID " status=200"},
	{OF_CREATE("get 200 about another event"),
		.turns = {{GGET, JSON("200", GITEM("another", "e1", "confirmed", "11", ID, "0", ""))}},
	.outcome = "FAILED event_unreadable status=200"},
	{OF_CREATE("get 200 with a time that is none"),
		.turns = {{GGET, JSON("200", "{\"id\":\"" ID "\",\"start\":{\"dateTime\":\"soon\"},"
			"" OURS_PRIVATE "}")}},
	.outcome = "FAILED event_unreadable status=200"},
	{OF_CREATE("401"),
		.turns = {{GGET, GERROR("401", "authError")}},
	.outcome = "AUTH auth_refused status=401"},
	{OF_CREATE("quota"),
		.turns = {{GGET, GERROR("403", "quotaExceeded")}},
	.outcome = "FAILED forbidden retry=1800 status=403"},
	{OF_CREATE("lost"), .turns = {{GGET, "lost reset"}},
	.outcome = "FAILED reset"},
	{OF_UPDATE("get, compare wanted fields: equal"),
		.turns = {{GGET, JSON("200", G_WANTED("e2"))}},
	.outcome = "EQUAL href=" ID " etag=\"e2\" status=200"},
	{OF_UPDATE("only the title changes, and it has our revision"), .same_time = true,
		.turns = {{GGET, JSON("200", "{\"id\":\"" ID "\",\"etag\":\"\\\"e2\\\"\","
			"\"summary\":\"After\","
				"\"start\":{\"dateTime\":\"2030-01-05T10:00:00Z\"},\"end\":{\"dateTime\":\"2030-01-05T10:30:00Z\"},"
				"\"attendees\":[{\"email\":\"ann@example.org\"},{\"email\":\"bo@example.org\"}]," OURS_PRIVATE "}")}},
	.outcome = "EQUAL href=" ID " etag=\"e2\" status=200"},
	{OF_UPDATE("as it was before"),
		.turns = {{GGET, JSON("200", G_BEFORE("e2"))}},
	.outcome = "ABSENT not_updated href=" ID " etag=\"e2\" status=200"},
	{OF_UPDATE("neither"),
		.turns = {{GGET, JSON("200", G_MOVED("e2"))}},
	.outcome = "DIFFERENT event_changed href=" ID " status=200"},
	{OF_UPDATE("deleted"),
		.turns = {{GGET, JSON("200", G_DELETED)}},
	.outcome = "ABSENT deleted_at_provider href=" ID " status=200"},
	{OF_CANCEL("get: cancelled"),
		.turns = {{GGET, JSON("200", G_DELETED)}},
	.outcome = "ABSENT href=" ID " status=200"},
	{OF_CANCEL("get: 404"),
		.turns = {{GGET, G_NOT_FOUND}, {SEARCH, NO_ITEMS}},
	.outcome = "ABSENT"},
	{OF_CANCEL("else send again"),
		.turns = {{GGET, JSON("200", G_BEFORE("e2"))}},
	.outcome = "DIFFERENT still_present href=" ID " status=200"},
	LAST
};

#define CHECK(row) .name = row, .kind = BOOKING_JOB_CHECK
#define CHECK_CALENDAR "GET " GEVENTS "?fields=accessRole&maxResults=1 read\n\n"
#define CHECK_LIST \
	"GET " GOOGLE "/users/me/calendarList?fields=items(id,accessRole)&maxResults=250 read\n\n"

const Scenario google_check[] = {
	{CHECK("all is well"),
		.turns = {{CHECK_CALENDAR, JSON("200", "{\"accessRole\":\"owner\"}")}},
		.outcome = "DONE status=200",
	.finding = "connection: Google answers.\ncalendar: The calendar is there.\n"
	"write access: The account may write."},
	{CHECK("it may only be read"),
		.turns = {{CHECK_CALENDAR, JSON("200", "{\"accessRole\":\"reader\"}")}},
		.outcome = "REJECTED need_privileges status=200",
		.finding = "write access! The account may only read the calendar. "
	"Have it shared with the right to make changes to events."},
	{CHECK("it is not there: which are is said"),
		.turns = {{CHECK_CALENDAR, G_NOT_FOUND},
		{CHECK_LIST, JSON("200", "{\"items\":[{\"id\":\"me@example.org\"},{\"id\":\"b\"}]}")}},
		.outcome = "CALENDAR_GONE calendar_gone status=404",
	.finding = "calendars: Calendars of the account (2): me@example.org b"},
	{CHECK("an account without a calendar"), .collection = "",
		.turns = {{CHECK_LIST, JSON("200", "{\"items\":[]}")}},
		.outcome = "DONE status=200",
	.finding = "calendars! The list of this account is empty."},
	{CHECK("a credential that is refused"),
		.turns = {{CHECK_CALENDAR, GERROR("401", "authError")}},
		.outcome = "AUTH auth_refused status=401",
	.finding = "credential! Google refuses the credential. "
	"Put it anew with booking_credential_put."},
	{CHECK("a credential without the scope"),
		.turns = {{CHECK_CALENDAR, GERROR("403", "insufficientPermissions")}},
		.outcome = "REJECTED insufficient_permissions status=403",
		.finding = "access! Google does not allow it: insufficient_permissions. "
	"The credential needs the scope of calendars, and the project the Calendar API."},
	{CHECK("Google is down"),
		.turns = {{CHECK_CALENDAR, "503\n\n"}},
	.outcome = "FAILED unavailable status=503"},
	{CHECK("there is no way to it"),
		.turns = {{CHECK_CALENDAR, "not sent could not resolve host"}},
	.outcome = "FAILED could_not_resolve_host"},
	{CHECK("another service"),
		.turns = {{CHECK_CALENDAR, "200\n\n<html></html>"}},
	.outcome = "FAILED answer_unreadable status=200"},
	LAST
};

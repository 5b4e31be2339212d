/*
 * graph_lookup.c
 *
 * What became of an uncertain write on Microsoft Graph, and checks of accounts.
 * What must hold: absence is said only after the marker and the calendar were
 * looked at; what the calendar does not show is not there, wherever else it is;
 * values that differ in case are not ours; and links lead nowhere else.
 */
#include "graph.h"

#define LOOKUP(row, of) .name = row, .kind = BOOKING_JOB_LOOKUP, .looked_up = of
#define OF_CREATE(row) LOOKUP(row, BOOKING_JOB_CREATE)
#define OF_UPDATE(row) LOOKUP(row, BOOKING_JOB_UPDATE)
#define OF_CANCEL(row) LOOKUP(row, BOOKING_JOB_CANCEL)
#define CHECK(row) .name = row, .kind = BOOKING_JOB_CHECK
#define PAGE_OF(items, link) JSON("200", "{\"value\":[" items "],\"@odata.nextLink\":\"" link "\"}")

const Scenario graph_lookup[] = {
	{OF_CREATE("found, and on the calendar"),
		.turns = {{FIND, VALUE(M_WANTED("e1"))}, {VIEW("11"), VALUE(M_WANTED("e1"))}},
	.outcome = "EQUAL href=" EV1 " etag=W/\"e1\" status=200"},
	{OF_CREATE("not found, and not on the calendar"),
		.turns = {{FIND, NO_VALUE}, {VIEW("11"), NO_VALUE}},
	.outcome = "ABSENT"},
	{OF_CREATE("the filter is late, and the calendar has it"),
		.turns = {{FIND, NO_VALUE}, {VIEW("11"), VALUE(M_WANTED("e1"))}},
	.outcome = "EQUAL href=" EV1 " etag=W/\"e1\" status=200"},
	{OF_CREATE("others are on the calendar at the time"),
		.turns = {{FIND, NO_VALUE}, {VIEW("11"), VALUE(MITEM("x", "e1", "11", "", "", "", "") ","
			M_FOREIGN)}},
	.outcome = "ABSENT"},
	{OF_CREATE("the value differs in case: not ours"),
		.turns = {{FIND, VALUE(MITEM("x", "e1", "11", "", MARKED_WITH("K9V2M8R0", "0"), "", ""))},
			{VIEW("11"), NO_VALUE}},
	.outcome = "ABSENT"},
	{OF_CREATE("an empty page with a next one, and the list ends"),
		.turns = {{FIND, PAGE_OF("", GRAPH "/x?$skip=50")}, {MGETS(GRAPH "/x?$skip=50"),
			VALUE(M_WANTED("e1"))},
		{VIEW("11"), VALUE(M_WANTED("e1"))}},
	.outcome = "EQUAL href=" EV1 " etag=W/\"e1\" status=200"},
	{OF_CREATE("a next link to another host is not followed"),
		.turns = {{FIND, PAGE_OF("", "https://evil.example.net/v1.0/x")}},
	.outcome = "FAILED origin_mismatch"},
	{OF_CREATE("nor to another service of the host"),
		.turns = {{FIND, PAGE_OF("", "https://graph.microsoft.com/beta/x")}},
	.outcome = "FAILED origin_mismatch"},
	{OF_CREATE("found in Deleted Items only: done, and undone by somebody"),
		.turns = {{FIND, VALUE(M_WANTED("e1"))}, {VIEW("11"), NO_VALUE}},
	.outcome = "REJECTED deleted_at_provider href=" EV1 " status=200"},
	{OF_CREATE("called off by its organizer"),
		.turns = {{FIND, VALUE("{\"id\":\"" EV1 "\"," TRANSACTION(ID) "\"isCancelled\":true}")}},
	.outcome = "REJECTED deleted_at_provider href=" EV1 " status=200"},
	{OF_CREATE("moved"),
		.turns = {{FIND, VALUE(M_MOVED("e1"))}, {VIEW("15"), VALUE(M_MOVED("e1"))}},
	.outcome = "DIFFERENT event_changed href=" EV1 " status=200"},
	{OF_CREATE("an event without transactionId has our marker, and no other: one reading of "
		"the documents"),
		.turns = {{FIND, VALUE(M_COPY)}, {VIEW("11"), VALUE(M_COPY)}},
	.outcome = "EQUAL href=AAMkCopy= etag=W/\"c1\" status=200"},
	{OF_CREATE("two such events"),
		.turns = {{FIND, VALUE(M_COPY "," M_COPY)}},
	.outcome = "DIFFERENT several_events status=200"},
	{OF_CREATE("404, and the calendar is gone"),
		.turns = {{FIND, M_NOT_FOUND}, {LOOK_AT_CALENDAR, M_NOT_FOUND}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{OF_CREATE("404, and the calendar is there: one of the two is wrong"),
		.turns = {{FIND, M_NOT_FOUND}, {LOOK_AT_CALENDAR, JSON("200", "{\"id\":\"x\"}")}},
	.outcome = "FAILED answer_incomplete status=200"},
	{OF_CREATE("the search cannot be read"), .turns = {{FIND, "200\n\nrubbish"}},
	.outcome = "FAILED answer_unreadable status=200"},
	{OF_CREATE("a success without a list"), .turns = {{FIND, JSON("200", "{}")}},
	.outcome = "FAILED answer_unreadable status=200"},
	{OF_CREATE("the view is throttled"), .turns = {{FIND, NO_VALUE}, {VIEW("11"),
		"429\nRetry-After: 5\n\n"}},
	.outcome = "FAILED rate_limited retry=5 status=429"},
	{OF_CREATE("401"), .turns = {{FIND, "401\n\n"}}, .outcome = "AUTH auth_refused status=401"},
	{OF_UPDATE("done"), .href = EV1,
		.turns = {{MGET, JSON("200", M_WANTED("e1"))}, {VIEW("11"), VALUE(M_WANTED("e1"))}},
	.outcome = "EQUAL href=" EV1 " etag=W/\"e1\" status=200"},
	{OF_UPDATE("not done"), .href = EV1,
		.turns = {{MGET, JSON("200", M_BEFORE("e1"))}, {VIEW("10"), VALUE(M_BEFORE("e1"))}},
	.outcome = "ABSENT not_updated href=" EV1 " etag=W/\"e1\" status=200"},
	{OF_UPDATE("gone"), .href = EV1, .turns = {{MGET, M_NOT_FOUND}, {FIND, NO_VALUE}},
	.outcome = "ABSENT deleted_at_provider"},
	{OF_CANCEL("done"), .href = EV1, .turns = {{MGET, M_NOT_FOUND}, {FIND, NO_VALUE}},
	.outcome = "ABSENT"},
	{OF_CANCEL("done: it is in Deleted Items"), .href = EV1,
		.turns = {{MGET, JSON("200", M_BEFORE("e1"))}, {VIEW("10"), NO_VALUE}},
	.outcome = "ABSENT href=" EV1 " status=200"},
	{OF_CANCEL("not done"), .href = EV1,
		.turns = {{MGET, JSON("200", M_BEFORE("e1"))}, {VIEW("10"), VALUE(M_BEFORE("e1"))}},
	.outcome = "DIFFERENT still_present href=" EV1 " status=200"},
	LAST
};

const Scenario graph_check[] = {
	{CHECK("the calendar may be written"),
		.turns = {{LOOK_AT_CALENDAR, JSON("200", "{\"id\":\"AQMkCal=\",\"canEdit\":true}")}},
		.outcome = "DONE status=200",
	.finding =
		"connection: Microsoft Graph answers.\ncalendar: The calendar is there.\nwrite access: "
		"The account may write."},
	{CHECK("the calendar may only be read"),
		.turns = {{LOOK_AT_CALENDAR, JSON("200", "{\"id\":\"AQMkCal=\",\"canEdit\":false}")}},
		.outcome = "REJECTED need_privileges status=200",
	.finding =
		"write access! The account may only read the calendar. Have it shared with the right "
		"to edit."},
	{CHECK("no such calendar"),
		.turns = {{LOOK_AT_CALENDAR, M_NOT_FOUND},
		{MGETS(MAILBOX "/calendars?$select=id,name&$top=100"),
			VALUE("{\"id\":\"a\",\"name\":\"Calendar\"},{\"id\":\"b\",\"name\":\"Rooms\"}")}},
		.outcome = "CALENDAR_GONE calendar_gone status=404",
	.finding = "calendars: Calendars of the account (2): Calendar, Rooms"},
	{CHECK("no calendar is named"), .collection = "",
		.turns = {{MGETS(GRAPH "/me/calendars?$select=id,name&$top=100"), NO_VALUE}},
		.outcome = "DONE status=200",
	.finding = "calendars! The list of this account is empty."},
	{CHECK("credential refused"),
		.turns = {{LOOK_AT_CALENDAR, MERROR("401", "InvalidAuthenticationToken")}},
		.outcome = "AUTH auth_refused status=401",
	.finding =
		"credential! Microsoft Graph refuses the credential. Put it anew with "
		"booking_credential_put."},
	{CHECK("a permission is missing"),
		.turns = {{LOOK_AT_CALENDAR, MERROR("403", "ErrorAccessDenied")}},
		.outcome = "REJECTED error_access_denied status=403",
	.finding =
		"access! Microsoft Graph does not allow it: error_access_denied. The app needs the "
		"permission Calendars.ReadWrite, and for it an administrator's consent."},
	{CHECK("another service answers"), .turns = {{LOOK_AT_CALENDAR, "200\n\n<html/>"}},
		.outcome = "FAILED answer_unreadable status=200",
	.finding = "calendar! The answer cannot be read. base_url may be another service."},
	{CHECK("not reached"), .turns = {{LOOK_AT_CALENDAR, "not sent could not resolve host"}},
		.outcome = "FAILED could_not_resolve_host",
	.finding = "connection! Microsoft Graph could not be reached: could not resolve host."},
	{CHECK("not allowed"), .turns = {{LOOK_AT_CALENDAR, "refused address not allowed"}},
		.outcome = "REJECTED address_not_allowed",
	.finding =
		"connection! The request was not sent: address not allowed. See booking.insecure_hosts "
		"and booking.allowed_networks."},
	{CHECK("base_url is malformed"), .base_url = "graph.microsoft.com",
		.outcome = "REJECTED bad_url",
	.finding = "connection! base_url is malformed. Leave it out for Microsoft's own."},
	{CHECK("remote_id is malformed"), .collection = "desk@example.org/",
		.outcome = "REJECTED incomplete_job",
	.finding = "calendar! remote_id is the id of a calendar, or user/id."},
	LAST
};

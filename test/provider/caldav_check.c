/*
 * caldav_check.c
 *
 * CHECK of an account and a calendar on a CalDAV server.  What must hold: every
 * mistake that can be made in configuring one is named in a sentence that says
 * what to change, a wrong password stops the check at once (it must not lock
 * the account), and nothing is asked of another host.
 */
#include "harness.h"

#define CHECK(row) .name = row, .kind = BOOKING_JOB_CHECK
#define ACCOUNT .collection = ""
#define HOST "https://cal.example.org"
#define ME "<current-user-principal><href>/dav/joe/</href></current-user-principal>"
#define MY_HOME "<C:calendar-home-set><href>/dav/joe/</href></C:calendar-home-set>"
#define IS_CALENDAR "<resourcetype><collection/><C:calendar/></resourcetype>"
#define IS_FOLDER "<resourcetype><collection/></resourcetype>"
#define RIGHTS(what) \
	"<current-user-privilege-set><privilege><" what "/></privilege>" \
	"</current-user-privilege-set>"
#define TAKES(what) \
	"<C:supported-calendar-component-set><C:comp name=\"" what "\"/>" \
	"</C:supported-calendar-component-set>"
#define NEW_SERVER "301\nLocation: https://new.example.org/dav/\n\n"
#define LOGIN "302\nLocation: https://new.example.org/login?token=secret\n\n"
#define WELL_KNOWN HOST "/.well-known/caldav"
#define GOOD MULTISTATUS(PROPSTAT(PATH, IS_CALENDAR ME RIGHTS("write") TAKES("VEVENT")))
#define PRINCIPAL MULTISTATUS(PROPSTAT("/dav/joe/", IS_FOLDER ME MY_HOME))
#define CALENDARS MULTISTATUS(PROPSTAT("/dav/joe/", IS_FOLDER) \
	PROPSTAT("/dav/joe/home/", IS_CALENDAR TAKES("VEVENT")) \
	PROPSTAT("/dav/joe/tasks/", IS_CALENDAR TAKES("VTODO")) \
	PROPSTAT("/dav/joe/work/", IS_CALENDAR))
#define CALDAV "200\nDAV: 1, 3, calendar-access, addressbook\n\n"

const Scenario caldav_check[] = {
	{CHECK("all is well"),
		.turns = {{DISCOVER(CALENDAR), GOOD}, {DISCOVER(HOST "/dav/joe/"), PRINCIPAL},
		{OPTIONS(CALENDAR), CALDAV}},
		.outcome = "DONE href=" PATH,
		.finding = "connection: The server answers.\n"
		"encryption: The connection is encrypted.\n"
		"sign-in: The server accepts the credential.\n"
		"calendar: The path leads to a calendar.\n"
		"events: The calendar takes events.\n"
		"write access: The account may write to the calendar.\n"
		"account: Signed in as /dav/joe/.\n"
		"server: The server announces CalDAV.\n"
	"invitations: The server does not invite attendees. It stores them."},
	{CHECK("a server that invites"),
		.turns = {{DISCOVER(CALENDAR), GOOD}, {DISCOVER(HOST "/dav/joe/"), PRINCIPAL},
		{OPTIONS(CALENDAR), "200\nDAV: 1, calendar-access,calendar-auto-schedule\n\n"}},
		.outcome = "DONE href=" PATH,
	.finding = "invitations: The server can invite attendees, and does for bookings with notify."},
	{CHECK("a capability that is only spelt alike"),
		.turns = {{DISCOVER(CALENDAR), GOOD}, {DISCOVER(HOST "/dav/joe/"), PRINCIPAL},
		{OPTIONS(CALENDAR), "200\nDAV: 1, calendar-access, calendar-auto-scheduling\n\n"}},
		.outcome = "DONE href=" PATH,
	.finding = "invitations: The server does not invite attendees. It stores them."},
	{CHECK("a server without TLS"), .base_url = "http://cal.example.org/",
		.collection = "rooms",
		.turns = {{DISCOVER("http://cal.example.org/rooms/"),
			MULTISTATUS(PROPSTAT("/rooms/", IS_CALENDAR))},
		{OPTIONS("http://cal.example.org/rooms/"), "500\nDAV: calendar-access\n\n"}},
		.outcome = "DONE href=/rooms/",
		.finding = "encryption: The connection is not encrypted, as its host is in "
	"booking.insecure_hosts.\nserver: The server does not say what it can do."},
	{CHECK("a server that says nothing of the user"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(PROPSTAT(PATH, IS_CALENDAR))},
		{OPTIONS(CALENDAR), "200\n\n"}},
		.outcome = "DONE href=" PATH,
	.finding = "server: The server does not say what it can do."},
	{CHECK("the calendar has another path after a redirect"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(PROPSTAT("/new/work/", IS_CALENDAR))},
		{OPTIONS(CALENDAR), CALDAV}},
	.outcome = "DONE href=/new/work/"},

	{CHECK("resolve, connect or TLS fails"),
		.turns = {{DISCOVER(CALENDAR), "not sent could not resolve host"}},
		.outcome = "FAILED could_not_resolve_host",
	.finding = "connection! The server could not be reached: could not resolve host. "
	"See base_url."},
	{CHECK("our own rules forbid it"),
		.turns = {{DISCOVER(CALENDAR), "refused address not allowed"}},
		.outcome = "REJECTED address_not_allowed",
		.finding = "connection! The request was not sent: address not allowed. See "
	"booking.insecure_hosts and booking.allowed_networks."},
	{CHECK("no answer"),
		.turns = {{DISCOVER(CALENDAR), "lost time-out"}},
		.outcome = "FAILED time_out",
	.finding = "connection! The server gave no complete answer: time-out."},
	{CHECK("a wrong password: asked once only"),
		.turns = {{DISCOVER(CALENDAR), "401\n\n"}},
		.outcome = "AUTH auth_refused status=401",
		.finding = "sign-in! The server refuses the credential of the account. Store another one "
	"with booking_credential_put."},
	{CHECK("a page instead of an answer"),
		.turns = {{DISCOVER(CALENDAR), "207\n\n<html>"}, {DISCOVER(BASE), "207\n\n<html>"},
			{DISCOVER(WELL_KNOWN), "207\n\n<html>"},
		{OPTIONS(BASE), "200\n\n"}},
		.outcome = "FAILED answer_unreadable status=207",
	.finding = "calendar! The answer of the server cannot be read. It may be no CalDAV server."},
	{CHECK("no CalDAV server at all"),
		.turns = {{DISCOVER(CALENDAR), "405\n\n"}, {DISCOVER(BASE), "405\n\n"},
			{DISCOVER(WELL_KNOWN), NOT_THERE},
		{OPTIONS(BASE), "200\n\n"}},
		.outcome = "FAILED method_not_allowed status=405",
		.finding = "calendar! The server answers 405 to PROPFIND. It may be no CalDAV server, or "
	"not work at present."},
	{CHECK("the server says that it is no CalDAV server"), ACCOUNT,
		.turns = {{DISCOVER(BASE), "405\n\n"}, {DISCOVER(WELL_KNOWN), NOT_THERE},
		{OPTIONS(BASE), "200\nDAV: 1, 2\n\n"}},
		.outcome = "FAILED no_principal",
	.finding = "server! The server does not announce CalDAV for this path."},

	{CHECK("a calendar that is not there: which are is said"),
		.turns = {{DISCOVER(CALENDAR), NOT_THERE},
			{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME))},
			{DISCOVER(HOST "/dav/joe/"), PRINCIPAL},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(BASE), CALDAV}},
		.outcome = "CALENDAR_GONE calendar_gone status=404",
	.finding = "calendars: Calendars of the account (2): /dav/joe/home/ /dav/joe/work/"},
	{CHECK("a calendar that is not there, told within a multistatus"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(STATUS(PATH, "404 Not Found"))},
			{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME MY_HOME))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), MULTISTATUS("")}, {OPTIONS(BASE), CALDAV}},
		.outcome = "CALENDAR_GONE calendar_gone status=207",
		.finding = "calendar! There is nothing at this path. The calendar was removed, or is "
	"hidden from this account."},
	{CHECK("a calendar that is not there any more"),
		.turns = {{DISCOVER(CALENDAR), "410\n\n"},
			{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME MY_HOME))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), "500\n\n"}, {OPTIONS(BASE), CALDAV}},
	.outcome = "CALENDAR_GONE calendar_gone status=410"},
	{CHECK("a folder instead of a calendar"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(PROPSTAT(PATH, IS_FOLDER ME MY_HOME))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(CALENDAR), CALDAV}},
		.outcome = "REJECTED not_a_calendar status=207",
	.finding = "calendar! There is something at this path, but it is no calendar."},
	{CHECK("a calendar that may only be read"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(PROPSTAT(PATH,
			IS_CALENDAR ME MY_HOME RIGHTS("read")))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(CALENDAR), CALDAV}},
		.outcome = "REJECTED need_privileges href=" PATH " status=207",
		.finding = "write access! The account may only read the calendar. Have it shared with the "
	"right to write."},
	{CHECK("a list of tasks"),
		.turns = {{DISCOVER(CALENDAR), MULTISTATUS(PROPSTAT(PATH,
			IS_CALENDAR ME MY_HOME TAKES("VTODO")))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(CALENDAR), CALDAV}},
		.outcome = "REJECTED no_events href=" PATH " status=207",
	.finding = "events! The calendar does not take events. It may be a list of tasks."},
	{CHECK("somebody else's calendar"),
		.turns = {{DISCOVER(CALENDAR), "403\n\n"},
			{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME MY_HOME))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), MULTISTATUS("")}, {OPTIONS(BASE), CALDAV}},
		.outcome = "REJECTED forbidden status=403",
	.finding = "calendars! The account has no calendar that takes events."},
	{CHECK("a server that moved to another host"),
		.turns = {{DISCOVER(CALENDAR), NEW_SERVER},
			{DISCOVER(BASE), NEW_SERVER},
			{DISCOVER(WELL_KNOWN), NEW_SERVER},
		{OPTIONS(BASE), "301\n\n"}},
		.outcome = "REJECTED redirected status=301",
		.finding = "calendar! The server redirects to another one. If that is right, make this the "
	"base_url: https://new.example.org/dav/"},
	{CHECK("where a redirect leads is not shown if it holds more than a path"),
		.turns = {{DISCOVER(CALENDAR), LOGIN},
			{DISCOVER(BASE), "302\n\n"}, {DISCOVER(WELL_KNOWN), "302\n\n"},
		{OPTIONS(BASE), "302\n\n"}},
		.outcome = "REJECTED redirected status=302",
	.finding = "calendar! The server redirects to another place. See base_url."},

	{CHECK("an account without a calendar"), ACCOUNT,
		.turns = {{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME))},
			{DISCOVER(HOST "/dav/joe/"), PRINCIPAL},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(BASE), CALDAV}},
		.outcome = "DONE",
	.finding = "account: Signed in as /dav/joe/."},
	{CHECK("an account that is found by the well-known path"), ACCOUNT, .base_url = HOST,
		.turns = {{DISCOVER(HOST "/"), "405\n\n"},
			{DISCOVER(WELL_KNOWN), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER ME MY_HOME))},
		{DISCOVER_BELOW(HOST "/dav/joe/"), CALENDARS}, {OPTIONS(HOST "/"), CALDAV}},
	.outcome = "DONE"},
	{CHECK("a server that does not tell who is signed in"), ACCOUNT,
		.turns = {{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", IS_FOLDER))},
		{DISCOVER(WELL_KNOWN), NOT_THERE}, {OPTIONS(BASE), CALDAV}},
		.outcome = "FAILED no_principal",
		.finding = "account! The server does not tell who is signed in. Give base_url the path of "
	"the CalDAV service."},
	{CHECK("a principal on another host is not asked"), ACCOUNT,
		.turns = {{DISCOVER(BASE), MULTISTATUS(PROPSTAT("/dav/", "<current-user-principal>"
			"<href>https://evil.example.net/</href></current-user-principal>"))},
		{DISCOVER(WELL_KNOWN), NOT_THERE}, {OPTIONS(BASE), CALDAV}},
	.outcome = "FAILED no_principal"},
	{CHECK("a calendar on another host"), .collection = "https://evil.example.net/work/",
		.outcome = "REJECTED origin_mismatch",
		.finding = "calendar! The calendar is on another server than base_url. Add an account for "
	"that server."},
	{CHECK("a base_url that is none"), .base_url = "cal.example.org",
		.outcome = "REJECTED bad_url",
		.finding = "connection! base_url or the path of the calendar is malformed. Give http "
	"or https URLs without user, query and fragment."},
	{CHECK("a base_url with a password"), .base_url = "https://joe:secret@cal.example.org/",
	.outcome = "REJECTED bad_url"},
	LAST
};

/*
 * reading.c
 *
 * What senders of deliveries are asked, and tell.  What must hold: requests stay
 * at the URL that was configured, whatever comes from outside is in them; a page
 * gives the bodies that the sender would have delivered, and a place to go on
 * that leads to the next; an appointment is the one that was asked for, with a
 * time, or none; and what cannot be understood is a problem, never a booking.
 */
#include "tap.h"

#include "codec/webhook_reading.h"

#define CHANGED INT64CONST(1893456000000000)	/* 2030-01-01 */

#define CALCOM(updated) \
	"{\"uid\":\"u\",\"status\":\"accepted\",\"start\":\"2030-01-02T09:00:00.000Z\"," \
	"\"end\":\"2030-01-02T10:00:00.000Z\",\"eventTypeId\":1,\"eventType\":{\"id\":42,\"slug\":\"talk\"}," \
	"\"hosts\":[{\"email\":\"eve@example.org\"}],\"rescheduledFromUid\":\"old\"," \
	"\"updatedAt\":\"" updated "\"}"

#define CALCOM_PAGE(items, more) \
	"{\"status\":\"success\",\"data\":[" items "],\"pagination\":{\"hasNextPage\":" more "}}"

#define EVENT(id, status, updated) \
	"{\"uri\":\"https://api.calendly.com/scheduled_events/" id "\",\"status\":\"" status "\"," \
	"\"start_time\":\"2030-01-02T09:00:00.000000Z\",\"end_time\":\"2030-01-02T10:00:00.000000Z\"," \
	"\"event_type\":\"type\",\"updated_at\":\"" updated "\",\"event_memberships\":[{\"user\":\"eve\"}]}"

static BookingArena *arena;

/*
 * The URL of a request, a word if there is none.
 */
static const char *
url_of(const BookingReading *reading)
{
	BookingHttpRequest request;

	if (!booking_reading_request(reading, arena, &request))
		return "none";
	tap_ok(strcmp(request.method, "GET") == 0 && request.read && request.body == NULL &&
		   !request.follow, "a request that reads");
	return request.url;
}

/*
 * The position behind a page, a problem if there is one.
 */
static const char *
read_page(const BookingReading *reading, const char *page,
		  BookingReadingAnswer *answer)
{
	booking_reading_page(reading, page, strlen(page), arena, answer);
	tap_ok(answer->problem == NULL || (answer->count == 0 && answer->position == NULL),
		   "a problem is all there is");
	return answer->problem != NULL ? answer->problem :
		answer->position != NULL ? answer->position : "end";
}

static void
test_senders(void)
{
	tap_is_int(booking_reading_sender("standard"), BOOKING_READING_NOBODY, "standard");
	tap_is_int(booking_reading_sender("acuity"), BOOKING_READING_ACUITY, "acuity");
	tap_is_text(booking_reading_base_url(booking_reading_sender("calcom")),
				"https://api.cal.com/v2", "Cal.com");
	tap_ok(booking_reading_base_url(BOOKING_READING_NOBODY) == NULL, "nobody");
}

static void
test_appointments(void)
{
	static const struct
	{
		const char *body;
		const char *problem;	/* or what it says */
	}			bodies[] = {
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T11:30:00+0230\",\"duration\":\"60\",\"appointmentTypeID\":4,\"calendarID\":\"9\"}", "live"},
		{
			"{\"id\":\"7\",\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":60}", "live"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T02:00:00-07:00\",\"duration\":60}", "live"},
		{"{\"id\":7,\"canceled\":true}", "ended"},
		{
			"{\"id\":8,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":60}", "malformed"},
		{"{\"id\":7,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":60}", "malformed"},
		{"{\"id\":7,\"canceled\":\"false\"}", "malformed"},
		{"[]", "malformed"}, {"", "malformed"}, {"x", "malformed"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00\",\"duration\":60}", "no_time"},
		{"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01\",\"duration\":60}", "no_time"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":\"60 min\"}", "no_time"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":0}", "no_time"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":-60}", "no_time"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"2030-01-01T09:00:00Z\",\"duration\":9999999999999999999999}", "no_time"},
		{
			"{\"id\":7,\"canceled\":false,\"datetime\":\"9999-12-31T23:59:00Z\",\"duration\":60}", "no_time"},
		{"{\"id\":7,\"canceled\":false,\"duration\":60}", "no_time"}
	};
	static const char gone[] = "{\"status_code\":404,\"message\":\"x\",\"error\":\"not_found\"}";
	BookingReading reading = {BOOKING_READING_ACUITY, "https://a.example.org/api/v1/", "7"};
	BookingWebhookEvent event;

	tap_is_text(url_of(&reading),
		"https://a.example.org/api/v1/appointments/7", "where it is asked for");
	for (int i = 0; i < (int) lengthof(bodies); i++)
	{
		booking_reading_appointment(&reading, bodies[i].body, strlen(bodies[i].body), arena,
									&event);
		tap_is_text(event.problem != NULL ? event.problem :
					event.meaning == BOOKING_WEBHOOK_LIVE ? "live" : "ended",
					bodies[i].problem, bodies[i].body);
		if (event.meaning == BOOKING_WEBHOOK_LIVE)
		{
			tap_is_int(event.start, tap_utc(2030, 1, 1, 9, 0, 0), "its start");
			tap_is_int(event.end, tap_utc(2030, 1, 1, 10, 0, 0), "and its end");
		}
	}
	booking_reading_appointment(&reading, bodies[0].body, strlen(bodies[0].body), arena, &event);
	tap_is_text(event.booking, "7", "its id");
	tap_is_int(event.nkeys, 2, "two keys");
	tap_is_text(event.keys[0], "4", "the type first");
	tap_is_text(event.keys[1], "9", "then the calendar");
	reading.booking = "../7?x#y%2F";
	tap_is_text(url_of(&reading), "https://a.example.org/api/v1/appointments/..%2F7%3Fx%23y%252F",
				"an id stays within its segment");
	tap_ok(booking_reading_gone(gone, strlen(gone), arena), "Acuity has no such appointment");
	tap_ok(!booking_reading_gone("<html>", 6, arena) && !booking_reading_gone("{}", 2, arena) &&
		   !booking_reading_gone("", 0, arena), "somebody else has none");
}

static void
test_calcom(void)
{
	BookingReading reading = {BOOKING_READING_CALCOM, "https://c.example.org/v2"};
	BookingReadingAnswer answer;
	BookingWebhookEvent event;

	reading.since = CHANGED;
	tap_is_text(url_of(&reading), "https://c.example.org/v2/bookings?sortUpdatedAt=asc"
				"&afterUpdatedAt=2030-01-01T00%3A00%3A00Z&take=50", "the first page");
	tap_is_text(read_page(&reading, CALCOM_PAGE(CALCOM(
		"2030-01-01T01:00:00.000Z"), "false"), &answer),
				"end", "one page");
	tap_is_int(answer.count, 1, "one booking");
	booking_webhook_read_calcom(answer.bodies[0], strlen(answer.bodies[0]), arena, &event);
	tap_is_int(event.meaning, BOOKING_WEBHOOK_LIVE, "which is booked");
	tap_is_text(event.type, "BOOKING_CREATED", "as it is delivered");
	tap_is_text(event.booking, "u", "its id");
	tap_is_text(event.old_booking, "old", "the one before");
	tap_is_int(event.version, tap_utc(2030, 1, 1, 1, 0, 0), "its version");
	tap_is_int(event.start, tap_utc(2030, 1, 2, 9, 0, 0), "its start");
	tap_is_int(event.nkeys, 3, "three keys");
	tap_is_text(event.keys[0], "42", "its type");
	tap_is_text(event.keys[1], "talk", "the name of that");
	tap_is_text(event.keys[2], "eve@example.org", "its host");

	/* on from the last one's time, and beyond what was seen of that */
	reading.position = read_page(&reading, CALCOM_PAGE(CALCOM("2030-01-01T01:00:00.000Z") ","
													   CALCOM(
														"2030-01-01T02:00:00.000Z"), "true"), &answer);
	tap_is_text(reading.position, "2030-01-01T02:00:00.000Z 0", "the next page");
	tap_is_text(url_of(&reading), "https://c.example.org/v2/bookings?sortUpdatedAt=asc"
				"&afterUpdatedAt=2030-01-01T02%3A00%3A00.000Z&take=50", "is asked for");
	reading.position = read_page(&reading, CALCOM_PAGE(CALCOM(
		"2030-01-01T02:00:00.000Z"), "true"), &answer);
	tap_is_text(reading.position, "2030-01-01T02:00:00.000Z 1", "a page of one time");
	tap_is_text(url_of(&reading), "https://c.example.org/v2/bookings?sortUpdatedAt=asc"
				"&afterUpdatedAt=2030-01-01T02%3A00%3A00.000Z&take=50&skip=1", "is passed over");
	tap_is_text(read_page(&reading, CALCOM_PAGE(CALCOM(
		"2030-01-01T02:00:00.000Z"), "true"), &answer),
				"2030-01-01T02:00:00.000Z 2", "and another one");
	tap_is_text(read_page(&reading, CALCOM_PAGE(CALCOM(
		"2030-01-01T03:00:00.000Z"), "true"), &answer),
				"2030-01-01T03:00:00.000Z 0", "until that is over");
	tap_is_text(read_page(&reading, CALCOM_PAGE(
		"", "true"), &answer), "end", "an empty page is the last");

	/* what is no page */
	tap_is_text(read_page(&reading, "{}", &answer), "malformed", "nothing");
	tap_is_text(read_page(&reading, "[", &answer), "malformed", "no JSON");
	tap_is_text(read_page(&reading,
		"{\"status\":\"error\",\"data\":[]}", &answer), "malformed", "an error");
	tap_is_text(read_page(&reading,
		"{\"status\":\"success\",\"data\":{}}", &answer), "malformed", "no list");
	tap_is_text(read_page(&reading, CALCOM_PAGE(
		"{}", "true"), &answer), "malformed", "no place to go on");
	tap_is_text(read_page(&reading, CALCOM_PAGE(
		"5,null,[],{\"status\":\"pending\"},{\"status\":7}", "false"), &answer),
				"end", "what says nothing");
	tap_is_int(answer.count, 0, "is no booking");
	reading.position = "elsewhere";
	tap_is_text(url_of(&reading), "none", "a position that is not ours");
}

static void
test_calendly(void)
{
	BookingReading reading = {BOOKING_READING_CALENDLY, "https://y.example.org"};
	BookingReadingAnswer answer;
	BookingWebhookEvent event;
	static const char self[] =
		"{\"resource\":{\"uri\":\"https://api/users/U\",\"current_organization\":\"https://api/organizations/O\"}}";
	static const char events[] =
		"{\"collection\":[" EVENT("E1", "active", "2030-01-01T00:00:00Z") ","
		EVENT(
			"E2", "active", "2029-12-31T00:00:00Z") "," EVENT("E3", "canceled", "2030-01-01T00:00:00Z") ",{},7],"
		"\"pagination\":{\"next_page_token\":\"a/b+c=\"}}";
	static const char invitees[] =
		"{\"collection\":[{\"uri\":\"i\",\"status\":\"active\",\"updated_at\":\"2030-01-01T00:00:00.5Z\",\"old_invitee\":\"h\"}],"
		"\"pagination\":{\"next_page_token\":null}}";
	static const char more[] = "{\"collection\":[],\"pagination\":{\"next_page_token\":\"t\"}}";

	reading.since = CHANGED;
	tap_is_text(url_of(&reading), "https://y.example.org/users/me", "who it is");
	reading.organization = true;
	tap_is_text(read_page(&reading, self, &answer),
		"{\"who\":\"https://api/organizations/O\"}", "an organization");
	reading.organization = false;
	reading.position = read_page(&reading, self, &answer);
	tap_is_text(reading.position, "{\"who\":\"https://api/users/U\"}", "a user");
	tap_is_text(url_of(&reading), "https://y.example.org/scheduled_events?sort=start_time%3Aasc"
				"&user=https%3A%2F%2Fapi%2Fusers%2FU&min_start_time=2030-01-01T00%3A00%3A00Z&count=50", "its events");
	reading.position = read_page(&reading, events, &answer);
	tap_is_int(answer.count, 0, "which are no bookings");
	tap_is_text(url_of(&reading),
		"https://y.example.org/scheduled_events/E1/invitees?sort=created_at%3Aasc&count=100",
				"the invitees of the first");
	reading.position = read_page(&reading, more, &answer);
	tap_is_text(url_of(&reading),
		"https://y.example.org/scheduled_events/E1/invitees?sort=created_at%3Aasc&count=100&page_token=t",
				"more of them");
	reading.position = read_page(&reading, invitees, &answer);
	tap_is_int(answer.count, 1, "a booking");
	booking_webhook_read_calendly(answer.bodies[0], strlen(answer.bodies[0]), arena, &event);
	tap_is_int(event.meaning, BOOKING_WEBHOOK_LIVE, "which is booked");
	tap_is_text(event.type, "invitee.created", "as it is delivered");
	tap_is_text(event.old_booking, "h", "the one before");
	tap_is_int(event.version, tap_utc(2030, 1, 1, 0, 0, 0) + 500000, "its version");
	tap_is_int(event.start, tap_utc(2030, 1, 2, 9, 0, 0), "its start");
	tap_is_text(event.keys[1], "eve", "its host");
	tap_is_text(url_of(&reading),
		"https://y.example.org/scheduled_events/E3/invitees?sort=created_at%3Aasc&count=100",
				"those that did not change are passed over");
	reading.position = read_page(&reading, invitees, &answer);
	booking_webhook_read_calendly(answer.bodies[0], strlen(answer.bodies[0]), arena, &event);
	tap_is_int(event.meaning, BOOKING_WEBHOOK_ENDED, "of an event that is canceled");
	tap_is_text(url_of(&reading), "https://y.example.org/scheduled_events?sort=start_time%3Aasc"
				"&user=https%3A%2F%2Fapi%2Fusers%2FU&min_start_time=2030-01-01T00%3A00%3A00Z&count=50&page_token=a%2Fb%2Bc%3D",
				"the next page");
	tap_is_text(read_page(&reading, "{\"collection\":[]}", &answer), "end", "is the last");
	tap_is_text(read_page(&reading, "{}", &answer), "malformed", "no page");
	reading.position = NULL;
	tap_is_text(read_page(&reading, "{}", &answer), "malformed", "nobody");
	reading.position = "{\"who\":\"u\",\"events\":[{\"uri\":\"https://evil.example.org/..\"}]}";
	tap_is_text(url_of(&reading), "none", "an event that is a way up");
	reading.position = "{\"events\":[]}";
	tap_is_text(url_of(&reading), "none", "a position that is not ours");
}

static void
test_peek(void)
{
	static const struct
	{
		const char *body;
		const char *state;
	}			bodies[] = {
		{"{\"value\":[{\"clientState\":\"x\"},{\"clientState\":\"y\"}]}", "x"},
		{"{\"clientState\" : \t\"x\"", "x"},
		{"{\"clientState\":7,\"clientState\":\"x\"}", ""},
		{"{\"a\":\"clientState\",\"clientState\":\"x\"}", "x"},
		{"{\"clientState\":\"x", "none"}, {"{\"clientState\"", "none"}, {"{\"clientState\":", ""},
		{"", "none"}, {"\"", "none"}, {"clientState:\"x\"", "none"}
	};

	for (int i = 0; i < (int) lengthof(bodies); i++)
	{
		size_t		len;
		const char *state = booking_webhook_peek_graph(bodies[i].body, strlen(bodies[i].body),
													   &len);

		tap_is_text(state == NULL ? "none" : booking_arena_copy(arena, state, len),
					bodies[i].state, bodies[i].body);
	}
}

int
main(void)
{
	arena = booking_arena_create(TAP_ARENA);
	test_senders();
	test_appointments();
	test_calcom();
	test_calendly();
	test_peek();
	booking_arena_free(arena);
	return tap_done();
}

/*
 * google_more.c
 *
 * What the Google Calendar adapter does besides writing events: bodies, free
 * and busy times, and listings.  What must hold: an event that is written is
 * read back as it was, an error inside a success is never "free", a listing
 * goes on until its last page and restarts when its token is dead (R41, R43,
 * R47), and deleted events, series and exceptions each become what they are.
 */
#include "google.h"

#include "provider/match.h"

#define FIELDS \
	"?fields=nextPageToken,nextSyncToken,items(" \
	"id,etag,status,start,end,transparency,sequence,iCalUID,eventType," \
	"recurringEventId,originalStartTime,recurrence," \
	"organizer%2Femail,attendees(email,responseStatus,optional,self)," \
	"extendedProperties%2Fprivate)&maxResults=250&singleEvents=false"
#define LIST_FROM(more) "GET " GEVENTS FIELDS more " read\n\n"
#define LIST LIST_FROM("")
#define INSTANCES_FIELDS \
	"?fields=nextPageToken,items(" \
	"id,etag,status,start,end,transparency,sequence,iCalUID,eventType," \
	"recurringEventId,originalStartTime," \
	"organizer%2Femail,attendees(email,responseStatus,optional,self)," \
	"extendedProperties%2Fprivate)&maxResults=250"
#define WINDOW "&timeMin=2030-01-05T00%3A00%3A00Z&timeMax=2030-01-15T00%3A00%3A00Z"
#define INSTANCES(id, more) \
	"GET " GEVENTS "/" id "/instances" INSTANCES_FIELDS WINDOW more " read\n\n"
#define ALL_INSTANCES \
	"GET " GEVENTS INSTANCES_FIELDS "&singleEvents=true" WINDOW " read\n\n"

#define SINGLE(id) \
	"{\"id\":\"" id "\",\"etag\":\"\\\"e" id "\\\"\",\"status\":\"confirmed\"," \
	"\"start\":{\"dateTime\":\"2030-01-05T10:00:00Z\"},\"end\":{\"dateTime\":\"2030-01-05T11:00:00Z\"}}"
#define MASTER(id) \
	"{\"id\":\"" id "\",\"etag\":\"\\\"e" id "\\\"\",\"recurrence\":[\"RRULE:FREQ=DAILY\"]}"
#define EXCEPTION(id, master, status) \
	"{\"id\":\"" id "\",\"etag\":\"\\\"x\\\"\",\"status\":\"" status "\",\"recurringEventId\":\"" master "\"," \
	"\"originalStartTime\":{\"dateTime\":\"2030-01-06T10:00:00Z\"}}"
#define REMOVED(id) "{\"id\":\"" id "\",\"status\":\"cancelled\"}"
#define PAGE(items, end) JSON("200", "{\"items\":[" items "]," end "}")
#define TOKEN "\"nextSyncToken\":\"t/1\""

/* one exchange of a listing, and what it comes to */
typedef struct Listing
{
	const char *name;
	const char *token;
	const char *page;
	const char *objects[3];		/* to be fetched; none: to be listed */
	Turn		turns[5];
	const char *result;			/* see render_result() */
	const char *items;			/* object, etag and state of each, by lines */
} Listing;

static const Listing listings[] = {
	{"all, on one page", .turns = {{LIST, PAGE(SINGLE("a") "," REMOVED("b"), TOKEN)}},
		.result = "LISTED token=events1:t/1 whole",
	.items = "a \"ea\" data\nb - removed\n"},
	{"the first page of several has no token", .turns = {{LIST, PAGE(SINGLE("a"),
		"\"nextPageToken\":\"p=1\"")}},
		.result = "LISTED page=p=1 whole",
	.items = "a \"ea\" data\n"},
	{"an empty page goes on", .turns = {{LIST, PAGE("", "\"nextPageToken\":\"p1\"")}},
		.result = "LISTED page=p1 whole",
	.items = ""},
	{"a page is asked for with the same token", .token = "events1:t/0", .page = "p1",
		.turns = {{LIST_FROM("&syncToken=t%2F0&pageToken=p1"), PAGE("", TOKEN)}},
		.result = "LISTED token=events1:t/1",
	.items = ""},
	{"since a token", .token = "events1:t/0",
		.turns = {{LIST_FROM("&syncToken=t%2F0"), PAGE(REMOVED("b"), TOKEN)}},
		.result = "LISTED token=events1:t/1",
	.items = "b - removed\n"},
	{"a series is named once, with its version if no exception is there",
		.turns = {{LIST, PAGE(MASTER("m") "," MASTER("n") "," EXCEPTION("n_1", "n", "confirmed") ","
				EXCEPTION("n_2", "n", "cancelled") "," EXCEPTION("o_1", "o", "confirmed"), TOKEN)}},
		.result = "LISTED token=events1:t/1 whole",
	.items = "m \"em\" named\no - named\nn - named\n"},
	{"a series that was deleted, with an exception of it",
		.turns = {{LIST, PAGE(REMOVED("n") "," EXCEPTION("n_1", "n", "cancelled"), TOKEN)}},
		.result = "LISTED token=events1:t/1 whole",
	.items = "n - removed\nn - named\n"},
	{"neither a page nor a token: cut", .turns = {{LIST, PAGE(SINGLE("a"), "\"x\":1")}},
	.result = "FAILED answer_incomplete status=200"},
	{"the same page again and again", .page = "p1",
		.turns = {{LIST_FROM("&pageToken=p1"), PAGE("", "\"nextPageToken\":\"p1\"")}},
	.result = "FAILED no_progress status=200"},
	{"a body that is cut", .turns = {{LIST, "200\n\n{\"items\":[{\"id\""}},
	.result = "FAILED answer_unreadable status=200"},
	{"items that are no list", .turns = {{LIST, JSON("200", "{\"items\":\"x\"," TOKEN "}")}},
	.result = "FAILED answer_unreadable status=200"},
	{"no items are none", .turns = {{LIST, JSON("200", "{" TOKEN "}")}},
		.result = "LISTED token=events1:t/1 whole",
	.items = ""},
	{"an empty body", .turns = {{LIST, "200\n\n"}},
	.result = "FAILED answer_unreadable status=200"},
	{"410 fullSyncRequired", .token = "events1:t/0",
		.turns = {{LIST_FROM("&syncToken=t%2F0"), GERROR("410", "fullSyncRequired")}},
	.result = "EXPIRED token_expired status=410"},
	{"410 updatedMinTooLongAgo", .token = "events1:t/0",
		.turns = {{LIST_FROM("&syncToken=t%2F0"), GERROR("410", "updatedMinTooLongAgo")}},
	.result = "EXPIRED token_expired status=410"},
	{"410 deleted", .token = "events1:t/0",
		.turns = {{LIST_FROM("&syncToken=t%2F0"), GERROR("410", "deleted")}},
	.result = "FAILED calendar_gone status=410"},
	{"400 with a token drops it", .token = "events1:t/0",
		.turns = {{LIST_FROM("&syncToken=t%2F0"), GERROR("400", "invalid")}},
	.result = "EXPIRED token_expired status=400"},
	{"400 at a page drops it", .page = "p1",
		.turns = {{LIST_FROM("&pageToken=p1"), GERROR("400", "invalid")}},
	.result = "EXPIRED token_expired status=400"},
	{"400 without a token", .turns = {{LIST, GERROR("400", "invalid")}},
	.result = "FAILED bad_request status=400"},
	{"a token of another kind is dead without a question", .token = "sync:t/0",
	.result = "EXPIRED token_expired"},
	{"401", .turns = {{LIST, GERROR("401", "authError")}},
	.result = "AUTH auth_refused status=401"},
	{"403 limits", .turns = {{LIST, GERROR("403", "rateLimitExceeded")}},
	.result = "FAILED rate_limit_exceeded status=403"},
	{"403 quota", .turns = {{LIST, GERROR("403", "quotaExceeded")}},
	.result = "FAILED quota_exceeded retry=1800 status=403"},
	{"403 other", .turns = {{LIST, GERROR("403", "forbidden")}},
	.result = "FAILED forbidden status=403"},
	{"404", .turns = {{LIST, G_NOT_FOUND}},
	.result = "FAILED calendar_gone status=404"},
	{"429", .turns = {{LIST, "429\nRetry-After: 9\n\n"}},
	.result = "FAILED rate_limited retry=9 status=429"},
	{"5xx", .turns = {{LIST, "503\n\n"}}, .result = "FAILED unavailable status=503"},
	{"lost", .turns = {{LIST, "lost reset"}}, .result = "FAILED reset"},

	{"fetch: the instances of two series, the first on two pages", .objects = {"m", "n"},
		.turns = {{INSTANCES("m", ""), JSON("200", "{\"nextPageToken\":\"p\","
			"\"items\":[{\"id\":\"m_1\"}]}")},
			{INSTANCES("m", "&pageToken=p"), JSON("200",
				"{\"items\":[{\"id\":\"m_2\"},{\"id\":\"m_3\",\"status\":\"cancelled\"}]}")},
		{INSTANCES("n", ""), NO_ITEMS}},
		.result = "FETCHED",
	.items = "m - [{\"id\":\"m_1\"},{\"id\":\"m_2\"}]\nn - []\n"},
	{"fetch: a series that is gone, and one that is not ours to see", .objects = {"m", "n"},
		.turns = {{INSTANCES("m", ""), G_NOT_FOUND}, {INSTANCES("n", ""), G_NOT_FOUND},
			{ALL_INSTANCES, JSON("200", "{\"items\":[{\"id\":\"n_1\",\"recurringEventId\":\"n\"},"
		"{\"id\":\"z\"}]}")}},
		.result = "FETCHED",
	.items = "m - removed\nn - [{\"id\":\"n_1\",\"recurringEventId\":\"n\"}]\n"},
	{"fetch: an event that does not repeat any more", .objects = {"m"},
		.turns = {{INSTANCES("m", ""), GERROR("400", "invalid")}},
		.result = "FETCHED",
	.items = "m - not_delivered\n"},
	{"fetch: lost half-way, nothing is taken", .objects = {"m", "n"},
		.turns = {{INSTANCES("m", ""), NO_ITEMS}, {INSTANCES("n", ""), "lost reset"}},
	.result = "FAILED reset"},
	{"fetch: 401", .objects = {"m"}, .turns = {{INSTANCES("m", ""), GERROR("401", "authError")}},
	.result = "AUTH auth_refused status=401"},
	{"fetch: too large together", .objects = {"m", "n"}, .turns = {{INSTANCES("m", ""),
		"too large"}},
	.result = "TOO_LARGE object_too_large"},
	{"fetch: too large alone", .objects = {"m"}, .turns = {{INSTANCES("m", ""), "too large"}},
		.result = "FETCHED object_too_large",
	.items = "m - object_too_large\n"},
};

/*
 * Write a result as text: KIND problem page=... token=... whole retry=...
 * status=..., with what is not set left out.
 */
static void
render_result(const BookingPullResult *result, char *text, size_t size)
{
	static const char *const pulls[] = {
		[BOOKING_PULL_LISTED] = "LISTED",
		[BOOKING_PULL_FETCHED] = "FETCHED",
		[BOOKING_PULL_TOO_LARGE] = "TOO_LARGE",
		[BOOKING_PULL_EXPIRED] = "EXPIRED",
		[BOOKING_PULL_AUTH] = "AUTH",
		[BOOKING_PULL_FAILED] = "FAILED"
	};
	size_t		len;

	snprintf(text, size, "%s%s%s%s%s%s%s%s", pulls[result->kind],
			 result->problem ? " " : "", result->problem ? result->problem : "",
			 result->page ? " page=" : "", result->page ? result->page : "",
			 result->token ? " token=" : "", result->token ? result->token : "",
			 result->whole ? " whole" : "");
	len = strlen(text);
	if (result->retry_after >= 0)
		snprintf(text + len, size - len, " retry=%lld", (long long) result->retry_after);
	len = strlen(text);
	if (result->status != 0)
		snprintf(text + len, size - len, " status=%d", result->status);
}

/*
 * Write items as text; data of a listing is only said to be there.
 */
static void
render_items(const BookingPullChunk *chunk, bool fetched, char *text, size_t size)
{
	text[0] = '\0';
	for (; chunk != NULL; chunk = chunk->next)
	{
		for (int i = 0; i < chunk->nitems; i++)
		{
			const BookingPullItem *item = &chunk->items[i];
			size_t		len = strlen(text);

			snprintf(text + len, size - len, "%s %s %s\n", item->object,
					 item->etag ? item->etag : "-",
					 item->removed ? "removed" : item->problem ? item->problem :
					 item->data == NULL ? "named" : fetched ? item->data : "data");
		}
	}
}

/*
 * Play one listing.
 */
static bool
play_listing(const Listing *listing)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT * 4);
	BookingPullJob job = {
		.base_url = google_fixture.base, .collection = google_fixture.collection,
		.token = listing->token, .page = listing->page,
		.from = DAY, .until = DAY + 240 * HOUR
	};
	BookingPull pull;
	BookingHttpRequest request;
	BookingHttpResponse response;
	const Turn *turn = listing->turns;
	char		text[4096];
	int			count = 0;
	bool		more;
	bool		good = true;

	memset(&pull, 0x5a, sizeof(pull));
	pull.job = &job;
	pull.arena = arena;
	while (count < 3 && listing->objects[count] != NULL)
		count++;
	if (count > 0)
		booking_provider_google.pull_fetch(&pull, listing->objects, count, &request);
	else
		booking_provider_google.pull_list(&pull, &request);
	more = request.method != NULL;
	for (; more && good; turn++)
	{
		snprintf(text, sizeof(text), "%s %s%s\n\n", request.method, request.url,
				 request.read ? " read" : "");
		good = turn->request != NULL && strcmp(text, turn->request) == 0;
		if (!good)
		{
			note("request", text);
			note("expected", turn->request ? turn->request : "(none)");
			break;
		}
		parse_answer(turn->answer, arena, &response);
		more = booking_provider_google.pull_next(&pull, &response, &request);
	}
	if (good && turn->request != NULL)
		good = false;
	render_result(&pull.result, text, sizeof(text));
	if (good && strcmp(text, listing->result) != 0)
	{
		note("result", text);
		good = false;
	}
	render_items(pull.result.items, count > 0, text, sizeof(text));
	if (good && listing->items != NULL && strcmp(text, listing->items) != 0)
	{
		note("items", text);
		good = false;
	}
	booking_provider_google.pull_abandon(&pull);
	booking_arena_free(arena);
	return good;
}

/*
 * Memory that is short at some point makes a pull fail, or ask for less, and
 * nothing else.
 */
static bool
survives_without_memory(void)
{
	for (int i = 0; i < (int) lengthof(listings); i++)
	{
		for (size_t limit = 0; limit < 64 * 1024; limit += 256)
		{
			BookingArena *arena = booking_arena_create(limit);
			BookingArena *answers = booking_arena_create(ARENA_LIMIT);
			BookingPullJob job = {
				.base_url = google_fixture.base, .collection = google_fixture.collection,
				.token = listings[i].token, .page = listings[i].page,
				.from = DAY, .until = DAY + 240 * HOUR
			};
			BookingPull pull;
			BookingHttpRequest request;
			BookingHttpResponse response;
			const Turn *turn = listings[i].turns;
			char		text[4096];
			int			count = listings[i].objects[0] == NULL ? 0 :
				listings[i].objects[1] == NULL ? 1 : 2;
			bool		good;

			memset(&pull, 0, sizeof(pull));
			pull.job = &job;
			pull.arena = arena;
			if (count > 0)
				booking_provider_google.pull_fetch(&pull, listings[i].objects, count, &request);
			else
				booking_provider_google.pull_list(&pull, &request);
			for (bool more = request.method != NULL; more && turn->request; turn++)
			{
				parse_answer(turn->answer, answers, &response);
				more = booking_provider_google.pull_next(&pull, &response, &request);
			}
			render_result(&pull.result, text, sizeof(text));
			good = pull.result.kind >= BOOKING_PULL_TOO_LARGE ||
				strcmp(text, listings[i].result) == 0 ||
				(pull.result.kind == BOOKING_PULL_FETCHED && count == 1 &&
				 pull.result.items->items[0].problem != NULL);
			booking_arena_free(answers);
			booking_arena_free(arena);
			if (!good)
			{
				note(listings[i].name, text);
				return false;
			}
		}
	}
	return true;
}

/*
 * Listings and fetches.
 */
void
test_google_pull(void)
{
	for (int i = 0; i < (int) lengthof(listings); i++)
		ok(play_listing(&listings[i]), "google, pull: %s", listings[i].name);
	ok(survives_without_memory(), "google, pull: the truth even without memory");
}

/*
 * Free and busy times.
 */
static void
test_busy(void)
{
	static const char *const calendars[] = {"a@x", "b@x", "c@x", "d@x"};
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingBusyJob job = {google_fixture.base, calendars, 4, DAY, DAY + HOUR};
	BookingBusy busy = {&job, arena};
	BookingHttpRequest request;
	BookingHttpResponse response;

	booking_provider_google.busy_start(&busy, &request);
	ok(strcmp(request.url, GOOGLE "/freeBusy") == 0 && request.read &&
	   strcmp(request.method, "POST") == 0 &&
	   strcmp(request.body, "{\"timeMin\":\"2030-01-05T00:00:00Z\","
		"\"timeMax\":\"2030-01-05T01:00:00Z\","
			  "\"items\":[{\"id\":\"a@x\"},{\"id\":\"b@x\"},{\"id\":\"c@x\"},{\"id\":\"d@x\"}]}") == 0,
	   "google, busy: the question");
	parse_answer(JSON("200", "{\"calendars\":{"
					  "\"a@x\":{\"busy\":[{\"start\":\"2030-01-05T00:10:00Z\",\"end\":\"2030-01-05T00:20:00Z\"}]},"
					  "\"b@x\":{\"errors\":[{\"domain\":\"global\",\"reason\":\"notFound\"}],\"busy\":[]},"
					  "\"c@x\":{\"busy\":[{\"start\":\"rubbish\"}]}}}"), arena, &response);
	ok(!booking_provider_google.busy_next(&busy, &response, &request) &&
	   busy.kind == BOOKING_BUSY_TOLD && busy.calendars[0].known &&
	   busy.calendars[0].nspans == 1 &&
	   busy.calendars[0].spans[0].start == DAY + HOUR / 6, "google, busy: known");
	ok(!busy.calendars[1].known && strcmp(busy.calendars[1].problem, "not_found") == 0,
	   "google, busy: an error inside a 200 is unknown, not free");
	ok(!busy.calendars[2].known, "google, busy: what cannot be read is unknown");
	ok(!busy.calendars[3].known, "google, busy: what is left out is unknown");
	parse_answer("503\n\n", arena, &response);
	(void) booking_provider_google.busy_next(&busy, &response, &request);
	ok(busy.kind == BOOKING_BUSY_FAILED, "google, busy: 503");
	parse_answer("401\n\n", arena, &response);
	(void) booking_provider_google.busy_next(&busy, &response, &request);
	ok(busy.kind == BOOKING_BUSY_AUTH, "google, busy: 401");
	booking_provider_caldav.busy_start(&busy, &request);
	ok(request.method == NULL && busy.kind == BOOKING_BUSY_NOT_TOLD &&
	   !booking_provider_caldav.tells_busy && booking_provider_google.tells_busy,
	   "busy: CalDAV has no such question, and says so");
	booking_arena_free(arena);
}

/*
 * Bodies, as play_bodies() does for CalDAV; and what only Google's have.
 */
void
test_google(void)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingEvent event = event_at(11, 7, "After \"\\\x01");
	BookingEvent back;
	char	   *body;
	char	   *again;
	size_t		len;

	event.conference = true;
	event.transparent = true;
	ok(booking_provider_google.write_body(&event, DAY, arena, &body, &len) &&
	   booking_provider_google.read_body(body, len, arena, &back) &&
	   booking_match_ours(&back, ID) && back.sequence == 7 && back.conference &&
	   back.transparent && strcmp(back.summary, event.summary) == 0 &&
	   back.organizer_email == NULL && back.nattendees == 2 &&
	   back.start == event.start && back.end == event.end,
	   "google, bodies: written and read");
	ok(booking_provider_google.write_body(&event, DAY + 1, arena, &again, &len) &&
	   strcmp(body, again) == 0, "google, bodies: the same again");
	ok(strcmp(body, "{\"id\":\"" ID "\",\"summary\":\"After \\\"\\\\\\u0001\","
			  "\"start\":{\"dateTime\":\"2030-01-05T11:00:00Z\"},"
			  "\"end\":{\"dateTime\":\"2030-01-05T11:30:00Z\"},\"transparency\":\"transparent\","
			  "\"attendees\":[{\"email\":\"Bo@example.org\",\"displayName\":\"Bo\"},"
			  "{\"email\":\"ann@example.org\"}],"
			  "\"extendedProperties\":{\"private\":{\"bookingId\":\"" ID "\",\"bookingSequence\":\"7\"}},"
			  "\"conferenceData\":{\"createRequest\":{\"requestId\":\"" ID "-meet-7\","
			  "\"conferenceSolutionKey\":{\"type\":\"hangoutsMeet\"}}}}") == 0,
	   "google, bodies: byte for byte");
	ok(!booking_provider_google.read_body("{\"id\":\"x\"}", 10, arena, &back) &&
	   !booking_provider_google.read_body("rubbish", 7, arena, &back) &&
	   !booking_provider_google.read_body("", 0, arena, &back),
	   "google, bodies: another program's is not ours");
	event.end = event.start - HOUR;
	ok(!booking_provider_google.write_body(&event, DAY, arena, &body, &len),
	   "google, bodies: an end before the start cannot be written");
	booking_arena_free(arena);
	test_busy();
}

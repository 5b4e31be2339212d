/*
 * graph_more.c
 *
 * What the Microsoft Graph adapter does besides writing events: bodies, free and
 * busy times, and listings.  What must hold: an event that is written is read
 * back as it was; an error inside a success is never "free"; links are followed
 * as they are and nowhere else (R43); a sparse occurrence is completed from its
 * master, and goes with it (R45); a removal is looked at, and of what is known
 * only (R44); of an event that comes twice the newer version counts (R46).
 */
#include "graph.h"

#include "provider/match.h"

#define DELTA_URL \
	MCALENDAR "/calendarView/delta?startDateTime=2030-01-05T00%3A00%3A00Z" \
	"&endDateTime=2030-01-15T00%3A00%3A00Z"
#define PREFER_PAGE(size) \
	"Prefer: IdType=\"ImmutableId\", odata.maxpagesize=" size \
	", outlook.body-content-type=\"text\"\n"
#define LIST_AT(url) "GET " url " read\n" PREFER_PAGE("100") "\n"
#define LIST LIST_AT(DELTA_URL)
#define MASTER(id) MGETS(MEVENT_AT(id) "?" MFIELDS)
#define AT_TEN \
	"\"start\":{\"dateTime\":\"2030-01-05T10:00:00.0000000\",\"timeZone\":\"UTC\"}," \
	"\"end\":{\"dateTime\":\"2030-01-05T11:00:00.0000000\",\"timeZone\":\"UTC\"}"
#define SINGLE(id, more) \
	"{\"@odata.etag\":\"W/\\\"e" id "\\\"\",\"id\":\"" id "\",\"type\":\"singleInstance\"," \
	"\"subject\":\"private words\",\"body\":{\"content\":\"private words\"},\"showAs\":\"busy\"," \
	AT_TEN more "}"
#define OCCURRENCE(id, master) \
	"{\"@odata.etag\":\"W/\\\"o\\\"\",\"id\":\"" id \
	"\",\"type\":\"occurrence\",\"seriesMasterId\":\"" master "\"," AT_TEN "}"
#define MASTER_OF(id, show) \
	"{\"@odata.etag\":\"W/\\\"m\\\"\",\"id\":\"" id "\",\"type\":\"seriesMaster\",\"showAs\":\"" \
	show "\"," AT_TEN "}"
#define REMOVED(id) "{\"id\":\"" id "\",\"@removed\":{\"reason\":\"deleted\"}}"
#define NEXT GRAPH "/me/calendarView/delta?$skiptoken=s%3D1"
#define DELTA GRAPH "/me/calendarView/delta?$deltatoken=d%3D1"
#define PAGE(items, end) JSON("200", "{\"value\":[" items "]," end "}")
#define TO_NEXT "\"@odata.nextLink\":\"" NEXT "\""
#define TO_END "\"@odata.deltaLink\":\"" DELTA "\""
#define SHOWN(from, to) \
	MGETS(MCALENDAR "/calendarView?startDateTime=" from "Z&endDateTime=" to \
		"Z&$select=id,seriesMasterId&$top=100")
#define SHOWN_AT_TEN SHOWN("2030-01-05T10%3A00%3A00", "2030-01-05T11%3A00%3A01")

/* one exchange of a listing, and what it comes to */
typedef struct Listing
{
	const char *name;
	const char *token;
	const char *page;
	int			failures;
	const char *objects[3];		/* to be fetched; none: to be listed */
	Turn		turns[6];
	const char *result;			/* see render_result() */
	const char *items;			/* object, etag and state of each, by lines */
} Listing;

static const Listing listings[] = {
	{"all, on one page", .turns = {{LIST, PAGE(SINGLE("a", "") "," REMOVED("b"), TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = "a W/\"ea\" data\nb - doubted\n"},
	{"the first page of several has no token", .turns = {{LIST, PAGE(SINGLE("a", ""), TO_NEXT)}},
		.result = "LISTED page=" NEXT " whole",
	.items = "a W/\"ea\" data\n"},
	{"an empty page goes on", .turns = {{LIST, PAGE("", TO_NEXT)}},
		.result = "LISTED page=" NEXT " whole",
	.items = ""},
	{"a page is asked for by its link, as it is", .page = NEXT,
		.turns = {{LIST_AT(NEXT), PAGE("", TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = ""},
	{"since a token, by its link", .token = "view1:" DELTA,
		.turns = {{LIST_AT(DELTA), PAGE(REMOVED("b"), TO_END)}},
		.result = "LISTED token=view1:" DELTA,
	.items = "b - doubted\n"},
	{"after failures pages are smaller", .failures = 3,
		.turns = {{"GET " DELTA_URL " read\n" PREFER_PAGE("12") "\n", PAGE("", TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = ""},
	{"occurrences, with their master on the page",
		.turns = {{LIST, PAGE(OCCURRENCE("o1", "m") "," MASTER_OF("m", "busy") "," OCCURRENCE("o2",
			"m"), TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = "o1 W/\"o\" W/\"m\" data\no2 W/\"o\" W/\"m\" data\n"},
	{"occurrences of two series, whose masters are fetched once each",
		.turns = {{LIST, PAGE(OCCURRENCE("o1", "m") "," OCCURRENCE("p1", "n") "," OCCURRENCE("o2",
			"m"), TO_NEXT)},
		{MASTER("n"), JSON("200", MASTER_OF("n", "free"))}, {MASTER("m"), JSON("200",
			MASTER_OF("m", "busy"))}},
		.result = "LISTED page=" NEXT " whole",
	.items = "o1 W/\"o\" W/\"m\" data\np1 W/\"o\" W/\"m\" data\no2 W/\"o\" W/\"m\" data\n"},
	{"a master that is gone takes its series along",
		.turns = {{LIST, PAGE(OCCURRENCE("o1", "m") "," SINGLE("a", ""), TO_END)}, {MASTER("m"),
			M_NOT_FOUND}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = "o1 - removed\na W/\"ea\" data\n"},
	{"a master that cannot be had: nothing is taken",
		.turns = {{LIST, PAGE(OCCURRENCE("o1", "m"), TO_END)}, {MASTER("m"),
			"503\nRetry-After: 4\n\n"}},
	.result = "FAILED unavailable retry=4 status=503"},
	{"another event instead of the master",
		.turns = {{LIST, PAGE(OCCURRENCE("o1", "m"), TO_END)}, {MASTER("m"), JSON("200",
			MASTER_OF("n", "busy"))}},
	.result = "FAILED answer_unreadable status=200"},
	{"the same event twice: the newer one",
		.turns = {{LIST, PAGE(SINGLE("a",
			",\"lastModifiedDateTime\":\"2030-01-02T00:00:00Z\",\"@odata.etag\":\"W/\\\"new\\\"\"")
			","
			SINGLE("a", ",\"lastModifiedDateTime\":\"2030-01-01T00:00:00Z\"") "," SINGLE("b", "")
				"," SINGLE("b", ""), TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = "a W/\"new\" data\na W/\"ea\" data\nb W/\"eb\" data\n"},
	{"there and gone on one page: looked at",
		.turns = {{LIST, PAGE(SINGLE("a", "") "," REMOVED("a"), TO_END)}},
		.result = "LISTED token=view1:" DELTA " whole",
	.items = "a - named\na - doubted\n"},
	{"neither a next nor a delta link: cut", .turns = {{LIST, PAGE(SINGLE("a", ""), "\"x\":1")}},
	.result = "FAILED answer_incomplete status=200"},
	{"a success without a list", .turns = {{LIST, JSON("200", "{" TO_END "}")}},
	.result = "FAILED answer_incomplete status=200"},
	{"the same page again and again", .page = NEXT, .turns = {{LIST_AT(NEXT), PAGE("", TO_NEXT)}},
	.result = "FAILED no_progress status=200"},
	{"a next link to another host", .turns = {{LIST, PAGE("",
		"\"@odata.nextLink\":\"https://evil.example.net/v1.0/x\"")}},
	.result = "FAILED origin_mismatch status=200"},
	{"a delta link that only looks like the host", .turns = {{LIST, PAGE("",
		"\"@odata.deltaLink\":\"https://graph.microsoft.com.evil.example.net/v1.0/x\"")}},
	.result = "FAILED origin_mismatch status=200"},
	{"a link with a user in it", .turns = {{LIST, PAGE("",
		"\"@odata.deltaLink\":\"https://graph.microsoft.com@evil.example.net/v1.0/x\"")}},
	.result = "FAILED origin_mismatch status=200"},
	{"a link with the end of a line", .turns = {{LIST, PAGE("", "\"@odata.deltaLink\":\"" DELTA
		"\\r\\nX: 1\"")}},
	.result = "FAILED origin_mismatch status=200"},
	{"a token of another origin is dead", .token = "view1:https://elsewhere.example.org/v1.0/x",
	.result = "EXPIRED token_expired"},
	{"a token of another kind is dead", .token = "sync:" DELTA, .result = "EXPIRED token_expired"},
	{"a body that is cut", .turns = {{LIST, "200\n\n{\"value\":[{\"id\""}}, .result =
		"FAILED answer_unreadable status=200"},
	{"410 SyncStateNotFound", .token = "view1:" DELTA, .turns = {{LIST_AT(DELTA), MERROR("410",
		"SyncStateNotFound")}},
	.result = "EXPIRED token_expired status=410"},
	{"410 resyncRequired, with a Location that is not trusted", .token = "view1:" DELTA,
		.turns = {{LIST_AT(DELTA),
			"410\nLocation: https://evil.example.net/\n\n{\"error\":{\"code\":\"resyncRequired\"}}"}},
	.result = "EXPIRED token_expired status=410"},
	{"410 on the first page", .turns = {{LIST, MERROR("410", "syncStateNotFound")}},
	.result = "EXPIRED token_expired status=410"},
	{"404 whose code is a sync-state code", .token = "view1:" DELTA,
		.turns = {{LIST_AT(DELTA), JSON("404",
			"{\"error\":{\"code\":\"x\",\"innererror\":{\"code\":\"SYNCSTATENOTFOUND\"}}}")}},
	.result = "EXPIRED token_expired status=404"},
	{"400 with a link drops it", .page = NEXT, .turns = {{LIST_AT(NEXT), MERROR("400",
		"ErrorInvalidRequest")}},
	.result = "EXPIRED token_expired status=400"},
	{"400 without a link", .turns = {{LIST, MERROR("400", "ErrorInvalidRequest")}}, .result =
		"FAILED bad_request status=400"},
	{"404 other", .turns = {{LIST, M_NOT_FOUND}}, .result = "FAILED calendar_gone status=404"},
	{"401", .turns = {{LIST, "401\n\n"}}, .result = "AUTH auth_refused status=401"},
	{"403", .turns = {{LIST, MERROR("403", "ErrorAccessDenied")}}, .result =
		"FAILED error_access_denied status=403"},
	{"429", .turns = {{LIST, "429\nRetry-After: 9\n\n"}}, .result =
		"FAILED rate_limited retry=9 status=429"},
	{"5xx", .turns = {{LIST, "503\nRetry-After: 4\n\n"}}, .result =
	"FAILED unavailable retry=4 status=503"},
	{"too large", .turns = {{LIST, "too large"}}, .result = "FAILED answer_too_large"},
	{"lost", .turns = {{LIST, "lost reset"}}, .result = "FAILED reset"},

	{"fetch: one that is gone, one that is elsewhere, one that only moved", .objects = {"a", "b",
		"c"},
		.turns = {{MASTER("a"), M_NOT_FOUND}, {MASTER("b"), JSON("200", SINGLE("b", ""))},
			{SHOWN_AT_TEN, VALUE("{\"id\":\"x\"}")},
			{MASTER("c"), JSON("200", SINGLE("c", ""))}, {SHOWN_AT_TEN, VALUE("{\"id\":\"c\"}")}},
		.result = "FETCHED",
		.items =
			"a - removed\nb - removed\nc W/\"ec\" {\"@odata.etag\":\"W/\\\"ec\\\"\","
			"\"id\":\"c\",\"type\":\"singleInstance\","
	AT_TEN ",\"showAs\":\"busy\"}\n"},
	{"fetch: the calendar shows it on its second page", .objects = {"a"},
		.turns = {{MASTER("a"), JSON("200", SINGLE("a", ""))}, {SHOWN_AT_TEN, JSON("200",
			"{\"value\":[],\"@odata.nextLink\":\"" NEXT "\"}")},
		{MGETS(NEXT), VALUE("{\"id\":\"a\"}")}},
		.result = "FETCHED",
	.items =
		"a W/\"ea\" {\"@odata.etag\":\"W/\\\"ea\\\"\",\"id\":\"a\",\"type\":\"singleInstance\","
		AT_TEN ",\"showAs\":\"busy\"}\n"},
	{"fetch: the calendar does not say", .objects = {"a"},
		.turns = {{MASTER("a"), JSON("200", SINGLE("a", ""))}, {SHOWN_AT_TEN, "503\n\n"}},
	.result = "FAILED unavailable status=503"},
	{"fetch: an event without a time that can be understood", .objects = {"a"},
		.turns = {{MASTER("a"), JSON("200", "{\"id\":\"a\"}")}},
		.result = "FETCHED",
	.items = "a - {\"id\":\"a\"}\n"},
	{"fetch: too large", .objects = {"a"}, .turns = {{MASTER("a"), "too large"}},
		.result = "FETCHED",
	.items = "a - object_too_large\n"},
	{"fetch: 401", .objects = {"a"}, .turns = {{MASTER("a"), "401\n\n"}}, .result =
		"AUTH auth_refused status=401"},
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
					 item->removed ? "removed" : item->doubted ? "doubted" :
					 item->problem ? item->problem :
					 item->data == NULL ? "named" : fetched ? item->data : "data");
		}
	}
}

/*
 * Begin the pull of a listing; returns how many objects it fetches.
 */
static int
begin_pull(const Listing *listing, BookingPullJob *job, BookingPull *pull,
		   BookingArena *arena, BookingHttpRequest *request)
{
	int			count = 0;

	memset(job, 0, sizeof(*job));
	job->base_url = graph_fixture.base;
	job->collection = graph_fixture.collection;
	job->token = listing->token;
	job->page = listing->page;
	job->failures = listing->failures;
	job->from = DAY;
	job->until = DAY + 240 * HOUR;
	memset(pull, 0x5a, sizeof(*pull));
	pull->job = job;
	pull->arena = arena;
	while (count < 3 && listing->objects[count] != NULL)
		count++;
	if (count > 0)
		booking_provider_graph.pull_fetch(pull, listing->objects, count, request);
	else
		booking_provider_graph.pull_list(pull, request);
	return count;
}

/*
 * Play one listing.
 */
static bool
play_listing(const Listing *listing)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT * 4);
	BookingPullJob job;
	BookingPull pull;
	BookingHttpRequest request;
	BookingHttpResponse response;
	const Turn *turn = listing->turns;
	char		text[8192];
	int			count = begin_pull(listing, &job, &pull, arena, &request);
	bool		more = request.method != NULL;
	bool		good = true;

	for (; more && good; turn++)
	{
		snprintf(text, sizeof(text), "%s %s%s\n%s: %s\n\n", request.method, request.url,
				 request.read ? " read" : "", request.headers[0].name, request.headers[0].value);
		good = turn->request != NULL && request.nheaders == 1 &&
			strcmp(text, turn->request) == 0;
		if (!good)
		{
			note("request", text);
			note("expected", turn->request ? turn->request : "(none)");
			break;
		}
		parse_answer(turn->answer, arena, &response);
		more = booking_provider_graph.pull_next(&pull, &response, &request);
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
	for (const BookingPullChunk *chunk = pull.result.items; good && chunk != NULL;
		 chunk = chunk->next)
	{
		for (int i = 0; i < chunk->nitems; i++)
			good = good && (chunk->items[i].data == NULL ||
							strstr(chunk->items[i].data, "private words") == NULL);
	}
	booking_provider_graph.pull_abandon(&pull);
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
			BookingPullJob job;
			BookingPull pull;
			BookingHttpRequest request;
			BookingHttpResponse response;
			const Turn *turn = listings[i].turns;
			char		text[8192];
			int			count = begin_pull(&listings[i], &job, &pull, arena, &request);
			bool		good;

			for (bool more = request.method != NULL; more && turn->request; turn++)
			{
				parse_answer(turn->answer, answers, &response);
				more = booking_provider_graph.pull_next(&pull, &response, &request);
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
test_graph_pull(void)
{
	for (int i = 0; i < (int) lengthof(listings); i++)
		ok(play_listing(&listings[i]), "graph, pull: %s", listings[i].name);
	ok(survives_without_memory(), "graph, pull: the truth even without memory");
}

/*
 * Free and busy times.
 */
static void
test_busy(void)
{
	static const char *const people[] = {"a@x", "B@x", "c@x", "d@x", "e@x"};
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingBusyJob job = {graph_fixture.base, people, 5, DAY, DAY + HOUR,
		"desk@example.org/primary"};
	BookingBusy busy = {&job, arena};
	BookingHttpRequest request;
	BookingHttpResponse response;

	booking_provider_graph.busy_start(&busy, &request);
	ok(strcmp(request.url, MAILBOX "/calendar/getSchedule") == 0 && request.read &&
	   strcmp(request.method, "POST") == 0 &&
	   strcmp(request.body, "{\"schedules\":[\"a@x\",\"B@x\",\"c@x\",\"d@x\",\"e@x\"],"
			  "\"startTime\":{\"dateTime\":\"2030-01-05T00:00:00\",\"timeZone\":\"UTC\"},"
			  "\"endTime\":{\"dateTime\":\"2030-01-05T01:00:00\",\"timeZone\":\"UTC\"}}") == 0,
	   "graph, busy: the question, in the name of the calendar's owner");
	parse_answer(JSON("200", "{\"value\":["
					  "{\"scheduleId\":\"b@x\",\"availabilityView\":\"0\","
					"\"error\":{\"message\":\"secret words\","
					"\"responseCode\":\"ErrorMailRecipientNotFound\"}},"
					  "{\"scheduleId\":\"a@x\",\"scheduleItems\":["
					  "{\"status\":\"Busy\",\"start\":{\"dateTime\":\"2030-01-05T00:10:00.0000000\",\"timeZone\":\"UTC\"},\"end\":{\"dateTime\":\"2030-01-05T00:20:00.0000000\",\"timeZone\":\"UTC\"}},"
					  "{\"status\":\"free\",\"start\":{\"dateTime\":\"2030-01-05T00:20:00\","
					"\"timeZone\":\"UTC\"},\"end\":{\"dateTime\":\"2030-01-05T00:30:00\","
					"\"timeZone\":\"UTC\"}},"
					  "{\"status\":\"unknown\",\"start\":{\"dateTime\":\"2030-01-05T01:40:00\","
					"\"timeZone\":\"W. Europe Standard Time\"},"
					"\"end\":{\"dateTime\":\"2030-01-05T01:50:00\",\"timeZone\":\"W. Europe "
					"Standard Time\"}}]},"
					  "{\"scheduleId\":\"c@x\",\"scheduleItems\":[{\"status\":\"busy\","
					"\"start\":{\"dateTime\":\"rubbish\"}}]},"
					  "{\"scheduleId\":\"d@x\",\"availabilityView\":\"000\"}]}"), arena, &response);
	ok(!booking_provider_graph.busy_next(&busy, &response, &request) &&
	   busy.kind == BOOKING_BUSY_TOLD && busy.calendars[0].known && busy.calendars[0].nspans == 2 &&
	   busy.calendars[0].spans[0].start == DAY + HOUR / 6 &&
	   busy.calendars[0].spans[1].start == DAY + HOUR / 60 * 40,
	   "graph, busy: known, free items aside, in zones of Windows");
	ok(!busy.calendars[1].known && strcmp(busy.calendars[1].problem,
		"error_mail_recipient_not_found") == 0,
	   "graph, busy: an error inside a 200 is unknown, not free");
	ok(!busy.calendars[2].known, "graph, busy: what cannot be read is unknown");
	ok(!busy.calendars[3].known, "graph, busy: without items nothing is known");
	ok(!busy.calendars[4].known, "graph, busy: what is left out is unknown");
	parse_answer("503\nRetry-After: 3\n\n", arena, &response);
	(void) booking_provider_graph.busy_next(&busy, &response, &request);
	ok(busy.kind == BOOKING_BUSY_FAILED && busy.retry_after == 3, "graph, busy: 503");
	parse_answer("401\n\n", arena, &response);
	(void) booking_provider_graph.busy_next(&busy, &response, &request);
	ok(busy.kind == BOOKING_BUSY_AUTH, "graph, busy: 401");
	booking_arena_free(arena);
}

/*
 * Bodies, and which can be written.
 */
void
test_graph(void)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingEvent event = event_at(11, 7, "After \"\\\x01");
	BookingEvent back;
	char	   *body;
	char	   *again;
	size_t		len;

	event.conference = true;
	event.transparent = true;
	event.description = "Text";
	event.location = "Room";
	ok(booking_provider_graph.write_body(&event, DAY, arena, &body, &len) &&
	   booking_provider_graph.read_body(body, len, arena, &back) &&
	   booking_match_ours(&back, ID) && back.sequence == 7 && back.conference &&
	   back.transparent && strcmp(back.summary, event.summary) == 0 &&
	   strcmp(back.description, "Text") == 0 && strcmp(back.location, "Room") == 0 &&
	   back.organizer_email == NULL && back.nattendees == 2 &&
	   back.start == event.start && back.end == event.end,
	   "graph, bodies: written and read");
	ok(booking_provider_graph.write_body(&event, DAY + 1, arena, &again, &len) &&
	   strcmp(body, again) == 0, "graph, bodies: the same again");
	ok(strcmp(body, "{\"transactionId\":\"" ID "\",\"subject\":\"After \\\"\\\\\\u0001\","
			  "\"body\":{\"contentType\":\"text\",\"content\":\"Text\"},"
			"\"location\":{\"displayName\":\"Room\"},"
			  "\"start\":{\"dateTime\":\"2030-01-05T11:00:00\",\"timeZone\":\"UTC\"},"
			  "\"end\":{\"dateTime\":\"2030-01-05T11:30:00\",\"timeZone\":\"UTC\"},"
			"\"isAllDay\":false,\"showAs\":\"free\","
			  "\"attendees\":[{\"emailAddress\":{\"address\":\"Bo@example.org\","
			"\"name\":\"Bo\"},\"type\":\"required\"},"
			  "{\"emailAddress\":{\"address\":\"ann@example.org\"},\"type\":\"required\"}],"
			  "\"isOnlineMeeting\":true,\"onlineMeetingProvider\":\"teamsForBusiness\","
			PROPERTIES("7") "}") == 0,
	   "graph, bodies: byte for byte");
	ok(!booking_provider_graph.read_body("{\"transactionId\":\"x\"}", 21, arena, &back) &&
	   !booking_provider_graph.read_body("rubbish", 7, arena, &back) &&
	   !booking_provider_graph.read_body("", 0, arena, &back),
	   "graph, bodies: another program's is not ours");
	event.end = event.start - HOUR;
	ok(!booking_provider_graph.write_body(&event, DAY, arena, &body, &len),
	   "graph, bodies: an end before the start cannot be written");
	event.end = event.start;
	event.all_day = true;
	ok(!booking_provider_graph.write_body(&event, DAY, arena, &body, &len),
	   "graph, bodies: nor can a day that does not begin at midnight");
	ok(booking_provider_graph.always_notifies && booking_provider_graph.lists_window &&
	   booking_provider_graph.max_in_flight == 4 && !booking_provider_google.always_notifies &&
	   !booking_provider_caldav.always_notifies,
		"graph: who is mailed, what is listed, and how much at a time");
	booking_arena_free(arena);
	test_busy();
}

/*
 * caldav_pull.c
 *
 * Listing and fetching what a CalDAV calendar holds.  What must hold: a listing
 * comes in by pieces of any size, only a whole one is believed, a token that is
 * not known any more is told from a server that knows none, and one object that
 * cannot be had takes no other with it (R41 to R43, R46, R50).
 *
 * A request is rendered as "METHOD depth body", where the body is {sync TOKEN},
 * {tag}, {members} or {get PATH...}; a result as its kind, "whole", what follows
 * and its items.
 */
#include "postgres_fe.h"

#include "codec/dav.h"
#include "harness.h"

#define MAX_OBJECTS 3

typedef struct PullScenario
{
	const char *name;
	const char *token;
	const char *page;
	int			failures;
	const char *collection;		/* NULL: "joe/work/" */
	const char *objects[MAX_OBJECTS];	/* fetched, if there is one */
	Turn		turns[3];
	const char *result;
} PullScenario;

#define MEMBER(name, etag) PROPSTAT(PATH name, "<getetag>" etag "</getetag><resourcetype/>")
#define GONE(name) STATUS(PATH name, "404 Not Found")
#define ITSELF PROPSTAT(PATH, \
		"<getetag>\"c\"</getetag><resourcetype><collection/><C:calendar/></resourcetype>")
#define TOKEN(token) "<sync-token>" token "</sync-token>"
#define TAG(tag) MULTISTATUS(PROPSTAT(PATH, \
		"<x:getctag xmlns:x=\"http://calendarserver.org/ns/\">" tag "</x:getctag>"))
#define OBJECT(name, etag, data) MATCH(PATH name, etag, data)
#define SYNC(token) "REPORT 0 {sync " token "}"
#define ASK_TAG "PROPFIND 0 {tag}"
#define ASK_MEMBERS "PROPFIND 1 {members}"
#define FETCH(...) .objects = {__VA_ARGS__}

static const PullScenario scenarios[] = {
	{"everything",
		.turns = {{SYNC(""), MULTISTATUS(ITSELF MEMBER("a.ics", "\"1\"") MEMBER("b.ics",
		"\"2\"") TOKEN("t1"))}},
	.result = "LISTED whole token=sync:t1 a.ics=\"1\" b.ics=\"2\""},
	{"an empty calendar",
		.turns = {{SYNC(""), MULTISTATUS(TOKEN("t1"))}},
	.result = "LISTED whole token=sync:t1"},
	{"what changed", .token = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(MEMBER("a.ics", "\"3\"") GONE("b.ics")
		GONE("never.ics") TOKEN("t2"))}},
	.result = "LISTED token=sync:t2 a.ics=\"3\" b.ics- never.ics-"},
	{"nothing changed", .token = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(TOKEN("t1"))}},
	.result = "LISTED token=sync:t1"},
	{"a status that is neither there nor gone must be looked at", .token = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(STATUS(PATH "a.ics", "418 I'm a teapot")
		TOKEN("t2"))}},
	.result = "LISTED token=sync:t2 a.ics"},
	{"what is elsewhere or below is not ours", .token = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(MEMBER("sub/", "\"1\"")
		STATUS("https://evil.example.net/dav/joe/work/x.ics", "404 Gone")
		STATUS("/dav/joe/other/x.ics", "404 Gone") MEMBER("a%20b.ics", "\"2\"")
		STATUS("/dav/joe/work", "200 OK") TOKEN("t2"))}},
	.result = "LISTED token=sync:t2 a%20b.ics=\"2\""},
	{"a token with characters of XML", .token = "sync:<&>",
		.turns = {{SYNC("&lt;&amp;&gt;"), MULTISTATUS(TOKEN("&quot;"))}},
	.result = "LISTED token=sync:\""},
	{"cut by the server (RFC 6578, 3.6)",
		.turns = {{SYNC(""), MULTISTATUS(MEMBER("a.ics", "\"1\"") STATUS(PATH,
		"507 Insufficient Storage") TOKEN("t1"))}},
	.result = "LISTED whole page=sync:t1 a.ics=\"1\""},
	{"it goes on at the page", .page = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(MEMBER("b.ics", "\"2\"") TOKEN("t2"))}},
	.result = "LISTED whole token=sync:t2 b.ics=\"2\""},
	{"it goes on at the page, of changes", .token = "sync:t0", .page = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(STATUS(PATH, "507 x") TOKEN("t2"))}},
	.result = "LISTED page=sync:t2"},
	{"cut, but it gets no further", .page = "sync:t1",
		.turns = {{SYNC("t1"), MULTISTATUS(STATUS(PATH, "507 x") TOKEN("t1"))}},
	.result = "FAILED no_progress status=207"},

	{"a dead token, 403", .token = "sync:t1",
		.turns = {{SYNC("t1"), DAV_ERROR("403", "<valid-sync-token/>")}},
	.result = "EXPIRED token_expired status=403"},
	{"a dead token, 409", .token = "sync:t1",
		.turns = {{SYNC("t1"), DAV_ERROR("409", "<valid-sync-token/>")}},
	.result = "EXPIRED token_expired status=409"},
	{"a dead token, 412", .token = "sync:t1",
		.turns = {{SYNC("t1"), DAV_ERROR("412", "<valid-sync-token/>")}},
	.result = "EXPIRED token_expired status=412"},
	{"a dead token, 410", .token = "sync:t1",
		.turns = {{SYNC("t1"), "410\n\n"}},
	.result = "EXPIRED token_expired status=410"},
	{"a dead page", .page = "sync:t1",
		.turns = {{SYNC("t1"), DAV_ERROR("403", "<valid-sync-token/>")}},
	.result = "EXPIRED token_expired status=403"},
	{"dead without a token", .turns = {{SYNC(""), DAV_ERROR("403", "<valid-sync-token/>")}},
	.result = "EXPIRED token_expired status=403"},
	{"a breakdown may be only that", .token = "sync:t1",
		.turns = {{SYNC("t1"), "500\n\n"}},
	.result = "FAILED server_error status=500"},
	{"a second one is a dead token", .token = "sync:t1", .failures = 1,
		.turns = {{SYNC("t1"), "500\n\n"}},
	.result = "EXPIRED token_expired status=500"},
	{"but not without a token", .failures = 1, .turns = {{SYNC(""), "500\n\n"}},
	.result = "FAILED server_error status=500"},

	{"no such report, 501: by the tag",
		.turns = {{SYNC(""), "501\n\n"}, {ASK_TAG, TAG("g1")}, {ASK_MEMBERS, MULTISTATUS(ITSELF
		MEMBER("a.ics", "\"1\""))}},
	.result = "LISTED whole token=ctag:g1 a.ics=\"1\""},
	{"no such report, 403: by the tag",
		.turns = {{SYNC(""), DAV_ERROR("403", "<supported-report/>")}, {ASK_TAG, TAG("g1")},
		{ASK_MEMBERS, MULTISTATUS(ITSELF)}},
	.result = "LISTED whole token=ctag:g1"},
	{"all at once is too much for it: by the tag",
		.turns = {{SYNC(""), "507\n\n"}, {ASK_TAG, TAG("g1")}, {ASK_MEMBERS,
		MULTISTATUS(ITSELF)}},
	.result = "LISTED whole token=ctag:g1"},
	{"a report without a token is none",
		.turns = {{SYNC(""), MULTISTATUS(MEMBER("a.ics", "\"1\""))}, {ASK_TAG, TAG("g1")},
		{ASK_MEMBERS, MULTISTATUS(ITSELF)}},
	.result = "LISTED whole token=ctag:g1"},
	{"the same tag", .token = "ctag:g1", .turns = {{ASK_TAG, TAG("g1")}},
	.result = "LISTED token=ctag:g1"},
	{"another tag", .token = "ctag:g1",
		.turns = {{ASK_TAG, TAG("g2")}, {ASK_MEMBERS, MULTISTATUS(ITSELF MEMBER("a.ics",
		"\"1\""))}},
	.result = "LISTED whole token=ctag:g2 a.ics=\"1\""},
	{"no tag at all", .token = "ctag:",
		.turns = {{ASK_TAG, MULTISTATUS(PROPSTAT(PATH, ""))}, {ASK_MEMBERS, MULTISTATUS(ITSELF)}},
	.result = "LISTED whole token=ctag:"},
	{"what is no calendar has no members", .token = "ctag:g1",
		.turns = {{ASK_TAG, TAG("g2")}, {ASK_MEMBERS, MULTISTATUS(PROPSTAT(PATH,
		"<resourcetype><collection/></resourcetype>"))}},
	.result = "FAILED not_a_calendar status=207"},

	{"the calendar is gone", .token = "sync:t1", .turns = {{SYNC("t1"), NOT_THERE}},
	.result = "FAILED calendar_gone status=404"},
	{"a password that is refused", .turns = {{SYNC(""), "401\n\n"}},
	.result = "AUTH auth_refused status=401"},
	{"no right to read", .turns = {{SYNC(""), DAV_ERROR("403", "<need-privileges/>")}},
	.result = "FAILED need_privileges status=403"},
	{"too many requests", .turns = {{SYNC(""), "429\nRetry-After: 9\n\n"}},
	.result = "FAILED rate_limited retry=9 status=429"},
	{"lost", .turns = {{SYNC(""), "lost connection lost"}},
	.result = "FAILED connection_lost"},
	{"not sent", .turns = {{SYNC(""), "not sent connection failed"}},
	.result = "FAILED connection_failed"},
	{"half a listing is none", .token = "sync:t1",
		.turns = {{SYNC("t1"), "207\n\n<multistatus xmlns=\"DAV:\"><response><href>" PATH
		"a.ics</href>"}},
	.result = "FAILED answer_unreadable status=207"},
	{"a page of a proxy is none", .turns = {{SYNC(""), "200\n\n<html>Sign in</html>"}},
	.result = "FAILED unexpected_answer status=200"},
	{"a calendar on another host", .collection = "https://evil.example.net/work/",
	.result = "FAILED origin_mismatch"},

	{"objects", FETCH(PATH "a.ics", PATH "b.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics " PATH "b.ics}", MULTISTATUS(OBJECT("b.ics",
		"\"2\"", "B") OBJECT("a.ics", "\"1\"", "A"))}},
	.result = "FETCHED a.ics=\"1\":A b.ics=\"2\":B"},
	{"one is gone, one left out, one refused", FETCH(PATH "a.ics", PATH "b.ics", PATH "c.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics " PATH "b.ics " PATH "c.ics}",
		MULTISTATUS(GONE("a.ics") STATUS(PATH "c.ics", "403 x"))}},
	.result = "FETCHED a.ics- b.ics!not_delivered c.ics!not_delivered"},
	{"one more than was asked for", FETCH(PATH "a.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics}", MULTISTATUS(OBJECT("z.ics", "\"9\"", "Z")
		OBJECT("a.ics", "\"1\"", "A"))}},
	.result = "FETCHED a.ics=\"1\":A"},
	{"too large together", FETCH(PATH "a.ics", PATH "b.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics " PATH "b.ics}", "too large"}},
	.result = "TOO_LARGE object_too_large"},
	{"too large alone", FETCH(PATH "a.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics}", "too large"}},
	.result = "FETCHED object_too_large a.ics!object_too_large"},
	{"unreadable together", FETCH(PATH "a.ics", PATH "b.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics " PATH "b.ics}",
		"207\n\n<multistatus xmlns=\"DAV:\">\x01"}},
	.result = "TOO_LARGE answer_unreadable status=207"},
	{"unreadable alone", FETCH(PATH "a.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics}", "207\n\n<multistatus xmlns=\"DAV:\">\x01"}},
	.result = "FETCHED answer_unreadable status=207 a.ics!answer_unreadable"},
	{"fetching is lost", FETCH(PATH "a.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics}", "lost time-out"}},
	.result = "FAILED time_out"},
	{"fetching is refused a password", FETCH(PATH "a.ics"),
		.turns = {{"REPORT 1 {get " PATH "a.ics}", "401\n\n"}},
	.result = "AUTH auth_refused status=401"},
	{.name = NULL}
};

/* a pull under way */
typedef struct PullPlay
{
	BookingPullJob job;
	BookingPull pull;
	BookingHttpRequest request;
	bool		more;
	int			nobjects;
} PullPlay;

/*
 * Add to a text that ends in NUL.
 */
static void
add(char *text, size_t size, const char *format,...)
{
	size_t		len = strlen(text);
	va_list		args;

	va_start(args, format);
	vsnprintf(text + len, size - len, format, args);
	va_end(args);
}

/*
 * Write a request as text.
 */
static void
render_pull(const PullScenario *scenario, const PullPlay *play,
			   char *text, size_t size)
{
	const BookingHttpRequest *request = &play->request;
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	const char *token = strstr(request->body, "<sync-token>");

	snprintf(text, size, "%s %s ", request->method, request->headers[0].value);
	if (!request->read || strcmp(request->url, CALENDAR) != 0 ||
		request->body_len != strlen(request->body))
		add(text, size, "(not to be sent like this) ");
	if (token != NULL)
		add(text, size, "{sync %.*s}", (int) strcspn(token + 12, "<"), token + 12);
	else if (strcmp(request->body, booking_dav_propfind_ctag(arena)) == 0)
		add(text, size, "{tag}");
	else if (strcmp(request->body, booking_dav_propfind_members(arena)) == 0)
		add(text, size, "{members}");
	else if (strcmp(request->body, booking_dav_multiget(arena, scenario->objects,
		play->nobjects)) == 0)
	{
		add(text, size, "{get");
		for (int i = 0; i < play->nobjects; i++)
			add(text, size, " %s", scenario->objects[i]);
		add(text, size, "}");
	}
	booking_arena_free(arena);
}

/*
 * Write a result as text.
 */
static void
render_result(const BookingPullResult *result, char *text, size_t size)
{
	static const char *const pull_kinds[] = {
		[BOOKING_PULL_LISTED] = "LISTED",
		[BOOKING_PULL_FETCHED] = "FETCHED",
		[BOOKING_PULL_TOO_LARGE] = "TOO_LARGE",
		[BOOKING_PULL_EXPIRED] = "EXPIRED",
		[BOOKING_PULL_AUTH] = "AUTH",
		[BOOKING_PULL_FAILED] = "FAILED",
	};

	snprintf(text, size, "%s", pull_kinds[result->kind]);
	if (result->problem != NULL)
		add(text, size, " %s", result->problem);
	if (result->retry_after > 0)
		add(text, size, " retry=%lld", (long long) result->retry_after);
	if (result->status != 0)
		add(text, size, " status=%d", result->status);
	if (result->whole)
		add(text, size, " whole");
	if (result->page != NULL)
		add(text, size, " page=%s", result->page);
	if (result->token != NULL)
		add(text, size, " token=%s", result->token);
	for (const BookingPullChunk *chunk = result->items; chunk != NULL; chunk = chunk->next)
	{
		for (int i = 0; i < chunk->nitems; i++)
		{
			const BookingPullItem *item = &chunk->items[i];

			add(text, size, " %s", item->object + strlen(PATH));
			if (item->etag != NULL)
				add(text, size, "=%s", item->etag);
			if (item->data != NULL)
				add(text, size, ":%.*s", (int) item->data_len, item->data);
			if (item->removed)
				add(text, size, "-");
			if (item->problem != NULL)
				add(text, size, "!%s", item->problem);
		}
	}
}

/*
 * Begin a scenario.
 */
static void
begin_pull(PullPlay *play, const PullScenario *scenario, BookingArena *arena)
{
	memset(play, 0, sizeof(*play));
	play->job.base_url = BASE;
	play->job.collection = scenario->collection ? scenario->collection : "joe/work/";
	play->job.token = scenario->token;
	play->job.page = scenario->page;
	play->job.failures = scenario->failures;
	/* nothing may depend on what was in these before */
	memset(&play->pull, 0x5a, sizeof(play->pull));
	memset(&play->request, 0x5a, sizeof(play->request));
	play->pull.job = &play->job;
	play->pull.arena = arena;
	while (play->nobjects < MAX_OBJECTS && scenario->objects[play->nobjects] != NULL)
		play->nobjects++;
	if (play->nobjects > 0)
		booking_provider_caldav.pull_fetch(&play->pull, scenario->objects,
										   play->nobjects, &play->request);
	else
		booking_provider_caldav.pull_list(&play->pull, &play->request);
	play->more = play->request.method != NULL;
}

/*
 * Answer the request as the engine would: what a sink takes comes in pieces,
 * and is not in the answer.
 */
static void
answer_pull(PullPlay *play, const char *text, int piece, BookingArena *arena)
{
	BookingHttpResponse response;
	BookingHttpRequest request = play->request;

	parse_answer(text, arena, &response);
	if (request.sink != NULL && response.status / 100 == 2)
	{
		const char *at = response.body;
		size_t		left = response.body_len;

		while (left > 0 && request.sink(request.sink_arg, at, Min(piece, left)))
		{
			at += Min(piece, left);
			left -= Min(piece, left);
		}
		if (left > 0)
		{
			/* the engine ends the transfer */
			response.transport = BOOKING_TRANSPORT_LOST;
			response.problem = "answer_malformed";
		}
		response.body = "";
		response.body_len = 0;
	}
	memset(&play->request, 0x5a, sizeof(play->request));
	play->more = booking_provider_caldav.pull_next(&play->pull, &response, &play->request);
	if (play->more != (play->request.method != NULL))
		abort();				/* says one thing and does another */
}

/*
 * Play a scenario to its end with pieces of a size.
 */
static void
play_pull(const PullScenario *scenario, int piece)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingArena *answers = booking_arena_create(ARENA_LIMIT);
	PullPlay	play;
	char		text[2000] = "";
	bool		passed = true;
	int			turn = 0;

	begin_pull(&play, scenario, arena);
	for (; play.more && passed && turn < 3 && scenario->turns[turn].request; turn++)
	{
		render_pull(scenario, &play, text, sizeof(text));
		passed = strcmp(text, scenario->turns[turn].request) == 0;
		if (passed)
			answer_pull(&play, scenario->turns[turn].answer, piece, answers);
		else
			note("request", text);
	}
	if (passed)
	{
		render_result(&play.pull.result, text, sizeof(text));
		passed = !play.more && strcmp(text, scenario->result) == 0 &&
			(turn == 3 || scenario->turns[turn].request == NULL);
		if (!passed)
			note("result", text);
	}
	ok(passed, "pull: %s (pieces of %d)", scenario->name, piece);
	if (play.more)
		booking_provider_caldav.pull_abandon(&play.pull);
	booking_arena_free(arena);
	booking_arena_free(answers);
}

/*
 * With less memory than it takes a scenario ends, somehow, and leaves nothing
 * behind; also when it is given up after each step.
 */
static void
play_short(const PullScenario *scenario)
{
	bool		passed = true;

	for (size_t limit = 0; limit < 64 * 1024; limit += limit < 4096 ? 97 : 1531)
	{
		for (int turns = 0; turns <= 3; turns++)
		{
			BookingArena *arena = booking_arena_create(limit);
			BookingArena *answers = booking_arena_create(ARENA_LIMIT);
			PullPlay	play;
			char		text[2000];

			begin_pull(&play, scenario, arena);
			for (int turn = 0; play.more && turn < turns && scenario->turns[turn].request; turn++)
				answer_pull(&play, scenario->turns[turn].answer, 7, answers);
			if (play.more)
				booking_provider_caldav.pull_abandon(&play.pull);
			else
			{
				render_result(&play.pull.result, text, sizeof(text));
				passed &= strcmp(text, scenario->result) == 0 ||
					play.pull.result.kind == BOOKING_PULL_FAILED ||
					play.pull.result.kind == BOOKING_PULL_TOO_LARGE ||
					play.pull.result.kind == BOOKING_PULL_FETCHED;
			}
			booking_arena_free(arena);
			booking_arena_free(answers);
		}
	}
	ok(passed, "pull: %s (with little memory)", scenario->name);
}

/*
 * A listing of very many members takes memory for their names only.
 */
static void
play_many(void)
{
	BookingArena *arena = booking_arena_create(32 * 1024 * 1024);
	BookingHttpResponse response = {.transport = BOOKING_TRANSPORT_COMPLETE, .status = 207,
		.retry_after = -1,
	.body = ""};
	static const PullScenario everything = {"many"};
	const char *end = "<sync-token>t1</sync-token></multistatus>";
	PullPlay	play;
	char		member[600];
	int			count = 0;

	begin_pull(&play, &everything, arena);
	snprintf(member, sizeof(member), "<multistatus xmlns=\"DAV:\">");
	for (int i = 0; i <= 100000; i++)
	{
		if (!play.request.sink(play.request.sink_arg, member, strlen(member)))
			break;
		snprintf(member, sizeof(member), PROPSTAT(PATH
		"%d-0123456789012345678901234567890123456789.ics",

		"<getetag>\"0123456789012345678901234567890123456789\"</getetag><resourcetype/>"), i);
	}
	play.request.sink(play.request.sink_arg, end, strlen(end));
	play.more = booking_provider_caldav.pull_next(&play.pull, &response, &play.request);
	for (const BookingPullChunk *chunk = play.pull.result.items; chunk != NULL; chunk =
		chunk->next)
		count += chunk->nitems;
	ok(!play.more && play.pull.result.kind == BOOKING_PULL_LISTED && count == 100000,
	   "pull: a hundred thousand members in 32 MB");
	booking_arena_free(arena);
}

/*
 * All about pulling.
 */
void
test_pulls(void)
{
	for (const PullScenario *scenario = scenarios; scenario->name != NULL; scenario++)
	{
		play_pull(scenario, 1);
		play_pull(scenario, 100000);
		play_short(scenario);
	}
	play_many();
}

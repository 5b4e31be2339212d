/*
 * channels.c
 *
 * Channels by which providers tell of changes: one set of scenarios for every
 * adapter, as in conformance.c.  A row says what is wished of a channel and what
 * happens to the request; an adapter's world says it in its own protocol.  Requests
 * are whole.  What must hold: a channel counts as open only by the answer that is
 * about it (R49), one that cannot be renewed any more is known to be gone, a refusal
 * is told from a limit, and whatever else happens is tried later.
 */
#include "google.h"
#include "graph.h"

#define NAME "0123456789abcdef"
#define SECRET "fedcba9876543210"
#define PUSH "https://push.example.org/hook/" NAME

typedef enum ChannelFate
{
	OPENED,						/* or renewed, or closed */
	ENDLESS,					/* likewise, without an end */
	BAD_END,					/* with one that is none */
	OTHERS,						/* about another channel */
	UNNAMED,					/* without what it is closed by */
	CUT,
	EMPTY,
	BAD,						/* 400 */
	FORBIDDEN,					/* 403 */
	LIMITED,					/* too much, too often */
	THROTTLED,					/* 429, for seven seconds */
	UNAUTHORIZED,
	NO_SUCH,					/* 404 */
	GONE,						/* 410 */
	BROKEN,						/* 503, for nine seconds */
	GATEWAY,					/* 403 by something in between */
	LOST,
	NOT_SENT
} ChannelFate;

typedef struct ChannelRow
{
	const char *name;
	BookingChannelWish wish;
	ChannelFate fate;
	BookingChannelKind kind;
	const char *problem;		/* NULL: any, or none */
} ChannelRow;

#define OPEN BOOKING_CHANNEL_OPEN
#define RENEW BOOKING_CHANNEL_RENEW
#define CLOSE BOOKING_CHANNEL_CLOSE

static const ChannelRow rows[] = {
	{"open", OPEN, OPENED, BOOKING_CHANNEL_MADE},
	{"open: no end is told", OPEN, ENDLESS, BOOKING_CHANNEL_MADE},
	{"open: an end that is none", OPEN, BAD_END, BOOKING_CHANNEL_MADE},
	{"open: without what it is closed by", OPEN, UNNAMED, BOOKING_CHANNEL_LATER,
	"answer_unreadable"},
	{"open: a cut body", OPEN, CUT, BOOKING_CHANNEL_LATER, "answer_unreadable"},
	{"open: an empty body", OPEN, EMPTY, BOOKING_CHANNEL_LATER, "answer_unreadable"},
	{"open: bad request", OPEN, BAD, BOOKING_CHANNEL_REFUSED},
	{"open: forbidden", OPEN, FORBIDDEN, BOOKING_CHANNEL_REFUSED},
	{"open: a limit is no refusal", OPEN, LIMITED, BOOKING_CHANNEL_LATER},
	{"open: throttled", OPEN, THROTTLED, BOOKING_CHANNEL_LATER},
	{"open: unauthorized", OPEN, UNAUTHORIZED, BOOKING_CHANNEL_AUTH},
	{"open: no such calendar", OPEN, NO_SUCH, BOOKING_CHANNEL_LATER},
	{"open: broken", OPEN, BROKEN, BOOKING_CHANNEL_LATER},
	{"open: a gateway's refusal is none", OPEN, GATEWAY, BOOKING_CHANNEL_LATER},
	{"open: lost answer", OPEN, LOST, BOOKING_CHANNEL_LATER, "reset"},
	{"open: not sent", OPEN, NOT_SENT, BOOKING_CHANNEL_LATER, "could_not_connect"},

	{"renew", RENEW, OPENED, BOOKING_CHANNEL_MADE},
	{"renew: no end is told", RENEW, ENDLESS, BOOKING_CHANNEL_MADE},
	{"renew: another one's answer", RENEW, OTHERS, BOOKING_CHANNEL_LATER, "answer_unreadable"},
	{"renew: a cut body", RENEW, CUT, BOOKING_CHANNEL_LATER, "answer_unreadable"},
	{"renew: it is gone", RENEW, NO_SUCH, BOOKING_CHANNEL_GONE},
	{"renew: it is gone for good", RENEW, GONE, BOOKING_CHANNEL_GONE},
	{"renew: throttled", RENEW, THROTTLED, BOOKING_CHANNEL_LATER},
	{"renew: unauthorized", RENEW, UNAUTHORIZED, BOOKING_CHANNEL_AUTH},
	{"renew: broken", RENEW, BROKEN, BOOKING_CHANNEL_LATER},
	{"renew: lost answer", RENEW, LOST, BOOKING_CHANNEL_LATER, "reset"},

	{"close", CLOSE, OPENED, BOOKING_CHANNEL_GONE},
	{"close: already gone", CLOSE, NO_SUCH, BOOKING_CHANNEL_GONE},
	{"close: gone for good", CLOSE, GONE, BOOKING_CHANNEL_GONE},
	{"close: throttled", CLOSE, THROTTLED, BOOKING_CHANNEL_LATER},
	{"close: unauthorized", CLOSE, UNAUTHORIZED, BOOKING_CHANNEL_AUTH},
	{"close: broken", CLOSE, BROKEN, BOOKING_CHANNEL_LATER},
	{"close: lost answer", CLOSE, LOST, BOOKING_CHANNEL_LATER, "reset"},
};

/*
 * Answers that look alike everywhere; NULL for the others.
 */
static const char *
common(ChannelFate fate)
{
	switch (fate)
	{
		case EMPTY:
			return "200\n\n";
		case THROTTLED:
			return "429\nRetry-After: 7\n\n";
		case BROKEN:
			return "503\nRetry-After: 9\n\n";
		case GATEWAY:
			return "403\nContent-Type: text/html\n\n<html>secret words</html>";
		case LOST:
			return "lost reset";
		case NOT_SENT:
			return "not sent could not connect";
		default:
			return NULL;
	}
}

/*
 * Google: a channel is named by us, and closed by the name of its resource.
 */
static const char *
google_channel(const BookingHttpRequest *request, ChannelFate fate)
{
#define G_CHANNEL(id, more) \
	JSON("200", "{\"kind\":\"api#channel\",\"id\":\"" id "\",\"token\":\"" SECRET "\"" more "}")
	switch (fate)
	{
		case OPENED:
			return strstr(request->url, "/stop") != NULL ? "204\n\n" :
				G_CHANNEL(NAME, ",\"resourceId\":\"r1\",\"expiration\":\"1893801600000\"");
		case ENDLESS:
			return G_CHANNEL(NAME, ",\"resourceId\":\"r1\"");
		case BAD_END:
			return G_CHANNEL(NAME, ",\"resourceId\":\"r1\",\"expiration\":\"-9e99 soon\"");
		case OTHERS:
			return G_CHANNEL("other", ",\"resourceId\":\"r1\"");
		case UNNAMED:
			return G_CHANNEL(NAME, "");
		case CUT:
			return "200\n\n{\"kind\":\"api#channel\",\"id\":\"" NAME "\",\"reso";
		case BAD:
			return GERROR("400", "push.webhookUrlNotHttps");
		case FORBIDDEN:
			return GERROR("403", "forbidden");
		case LIMITED:
			return GERROR("403", "rateLimitExceeded");
		case UNAUTHORIZED:
			return GERROR("401", "authError");
		case NO_SUCH:
			return G_NOT_FOUND;
		case GONE:
			return G_GONE;
		default:
			return common(fate);
	}
}

/*
 * Microsoft: a subscription is named by the provider.
 */
static const char *
graph_channel(const BookingHttpRequest *request, ChannelFate fate)
{
#define M_CHANNEL(more) JSON("200", "{\"resource\":\"x\",\"clientState\":\"" SECRET "\"" more "}")
	switch (fate)
	{
		case OPENED:
			return strcmp(request->method, "DELETE") == 0 ? "204\n\n" :
				M_CHANNEL(",\"id\":\"r1\",\"expirationDateTime\":\"2030-01-05T00:00:00.0000000Z\"");
		case ENDLESS:
			return M_CHANNEL(",\"id\":\"r1\"");
		case BAD_END:
			return M_CHANNEL(",\"id\":\"r1\",\"expirationDateTime\":\"soon\"");
		case OTHERS:
			return M_CHANNEL(",\"id\":\"other\"");
		case UNNAMED:
			return M_CHANNEL("");
		case CUT:
			return "201\n\n{\"id\":\"r1\",\"expira";
		case BAD:
			return MERROR("400", "InvalidRequest");
		case FORBIDDEN:
			return MERROR("403", "ErrorAccessDenied");
		case LIMITED:
			return MERROR("403", "ApplicationThrottled");
		case UNAUTHORIZED:
			return MERROR("401", "InvalidAuthenticationToken");
		case NO_SUCH:
			return MERROR("404", "ResourceNotFound");
		case GONE:
			return MERROR("410", "ResourceNotFound");
		default:
			return common(fate);
	}
}

/* the adapters that have channels, and their requests by wish; NULL: there is none */
static const struct
{
	const Fixture *fixture;
	const char *(*world) (const BookingHttpRequest *request, ChannelFate fate);
	const char *requests[3];
}			adapters[] = {
	{&google_fixture, google_channel, {
		[OPEN] = "POST " GEVENTS "/watch\n" GJSON "\n"
		"{\"id\":\"" NAME "\",\"type\":\"web_hook\",\"address\":\"" PUSH "\","
		"\"token\":\"" SECRET "\",\"expiration\":\"1893801600000\"}",
		[CLOSE] = "POST " GOOGLE "/channels/stop\n" GJSON "\n"
		"{\"id\":\"" NAME "\",\"resourceId\":\"r1\"}"
	}},
	{&graph_fixture, graph_channel, {
		[OPEN] = "POST " GRAPH "/subscriptions\n" PREFER MJSON "\n"
		"{\"changeType\":\"created,updated,deleted\",\"notificationUrl\":\"" PUSH "\","
		"\"lifecycleNotificationUrl\":\"" PUSH "\",\"resource\":\"/users/desk%40example.org/events\","
		"\"clientState\":\"" SECRET "\",\"expirationDateTime\":\"2030-01-05T00:00:00Z\"}",
		[RENEW] = "PATCH " GRAPH "/subscriptions/r1\n" PREFER MJSON "\n"
		"{\"expirationDateTime\":\"2030-01-05T00:00:00Z\"}",
		[CLOSE] = "DELETE " GRAPH "/subscriptions/r1\n" PREFER "\n"
	}},
};

/*
 * Begin with a wish; returns whether there is a request.
 */
static bool
begin_channel(BookingChannelTask *task, BookingChannelJob *job, BookingArena *arena,
			  BookingHttpRequest *request)
{
	job->base_url = fixture->base;
	job->collection = fixture->collection;
	job->push_url = PUSH;
	job->channel = NAME;
	job->secret = SECRET;
	job->remote = job->wish == OPEN ? NULL : "r1";
	job->until = DAY;
	memset(task, 0x5a, sizeof(*task));
	memset(request, 0x5a, sizeof(*request));
	task->job = job;
	task->arena = arena;
	task->remote = NULL;
	task->until = 0;
	fixture->provider->channel_start(task, request);
	return request->method != NULL;
}

/*
 * Is what came of it what the row says?
 */
static bool
is_told(const ChannelRow *row, const BookingChannelTask *task)
{
	if (task->kind != row->kind ||
		(row->problem != NULL && (task->problem == NULL ||
								  strcmp(task->problem, row->problem) != 0)) ||
		!is_harmless(task->problem))
		return false;
	if (row->fate == THROTTLED || row->fate == BROKEN)
		return task->retry_after == (row->fate == THROTTLED ? 7 : 9);
	if (task->kind != BOOKING_CHANNEL_MADE)
		return true;
	return strcmp(task->remote, "r1") == 0 && task->problem == NULL &&
		task->until == (row->fate == OPENED ? DAY : 0);
}

/*
 * Play a row with the adapter that is tested.  A wish that it does not have is
 * refused without a request.
 */
static bool
play_channel(const ChannelRow *row, int adapter)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingChannelJob job = {row->wish};
	BookingChannelTask task;
	BookingHttpRequest request;
	BookingHttpResponse response;
	const char *wanted = adapters[adapter].requests[row->wish];
	char		text[2000];
	bool		more = begin_channel(&task, &job, arena, &request);
	bool		good = more == (wanted != NULL);

	if (more)
	{
		render_request(&request, arena, text, sizeof(text));
		if (good && strcmp(text, wanted) != 0)
		{
			note("request", text);
			good = false;
		}
		parse_answer(adapters[adapter].world(&request, row->fate), arena, &response);
		fixture->provider->channel_judge(&task, &response);
		if (good && !is_told(row, &task))
		{
			tap_note("kind %d, problem %s, until %lld", task.kind,
					 task.problem ? task.problem : "(none)", (long long) task.until);
			good = false;
		}
	}
	else
		good = good && task.kind == BOOKING_CHANNEL_REFUSED && task.problem != NULL;
	booking_arena_free(arena);
	return good;
}

/*
 * Without memory a channel is not made, and nothing else than what is so is said.
 */
static bool
survives_without_memory(int adapter)
{
	for (size_t limit = 0; limit < 16 * 1024; limit += 128)
	{
		BookingArena *arena = booking_arena_create(limit);
		BookingArena *answers = booking_arena_create(ARENA_LIMIT);
		BookingChannelJob job = {OPEN};
		BookingChannelTask task;
		BookingHttpRequest request;
		BookingHttpResponse response;
		bool		good = true;

		if (begin_channel(&task, &job, arena, &request))
		{
			parse_answer(adapters[adapter].world(&request, OPENED), answers, &response);
			fixture->provider->channel_judge(&task, &response);
			good = task.kind == BOOKING_CHANNEL_LATER || is_told(&rows[0], &task);
		}
		else
			good = task.kind != BOOKING_CHANNEL_MADE;
		booking_arena_free(answers);
		booking_arena_free(arena);
		if (!good)
			return false;
	}
	return true;
}

/*
 * Every row with every adapter; CalDAV has no channels, and says so.
 */
void
test_channels(void)
{
	BookingChannelJob job = {OPEN};
	BookingChannelTask task;
	BookingHttpRequest request;

	fixture = &caldav_fixture;
	ok(!begin_channel(&task, &job, NULL, &request) &&
	   task.kind == BOOKING_CHANNEL_REFUSED && !fixture->provider->pushes,
	   "channels, caldav: there are none");
	for (int i = 0; i < (int) lengthof(adapters); i++)
	{
		fixture = adapters[i].fixture;
		ok(fixture->provider->pushes &&
		   fixture->provider->renews_channels == (adapters[i].requests[RENEW] != NULL),
		   "channels, %s: what it says of itself", fixture->provider->name);
		for (int j = 0; j < (int) lengthof(rows); j++)
			ok(play_channel(&rows[j], i), "channels, %s: %s",
			   fixture->provider->name, rows[j].name);
		ok(survives_without_memory(i), "channels, %s: the truth even without memory",
		   fixture->provider->name);
	}
}

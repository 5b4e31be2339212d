/*
 * conformance.c
 *
 * One set of scenarios for every adapter.  A row says what a job is, what
 * happens to its write, and what is in the calendar when somebody looks; an
 * adapter's world says it in its own protocol.  The outcome must be the same
 * for all.  Listings have rows of their own.  To add a provider, add its two
 * worlds below.
 */
#include "google.h"
#include "graph.h"

/* what is in the calendar */
typedef enum State
{
	NOTHING,
	AS_WANTED_NOW,				/* our event, as it is wanted */
	AS_IT_WAS,					/* our event, as an update found it */
	ELSEWHEN,					/* our event, moved by somebody */
	ANOTHERS,					/* somebody else's event under our id */
	NO_CALENDAR,
	LOST_READ,					/* nobody can tell: whoever reads gets no answer */
	DENIED_READ,				/* or is refused a password */
	BROKEN_READ
} State;

/* what happens to the write */
typedef enum Fate
{
	WELL,						/* it succeeds, as its provider says that */
	TAKEN,						/* our id is there */
	CHANGED,					/* the version is another one */
	VANISHED,					/* the event, or the calendar, is not there */
	BAD,						/* 400 */
	UNAUTHORIZED,
	FORBIDDEN,
	THROTTLED,
	BROKEN,						/* 500 */
	UNAVAILABLE,				/* 503 with Retry-After */
	GATEWAY,					/* 504 */
	LOST_ANSWER,
	HUGE_ANSWER,
	OTHERS_ANSWER,				/* a success that tells of another event */
	EMPTY_ANSWER,				/* a success with nothing in it */
	CUT_ANSWER,					/* a success that is cut */
	NOT_SENT,
	NOT_ALLOWED,				/* by our own rules */
	NEVER						/* there is no write */
} Fate;

typedef struct Row
{
	const char *name;
	BookingJobKind kind;
	BookingJobKind looked_up;
	bool		has_etag;
	Fate		fate;
	State		state;
	BookingOutcomeKind outcome;
} Row;

#define CREATE BOOKING_JOB_CREATE, 0, false
#define UPDATE BOOKING_JOB_UPDATE, 0, true
#define UPDATE_BLIND BOOKING_JOB_UPDATE, 0, false
#define CANCEL BOOKING_JOB_CANCEL, 0, true
#define CANCEL_BLIND BOOKING_JOB_CANCEL, 0, false
#define LOOKUP(of) BOOKING_JOB_LOOKUP, BOOKING_JOB_ ## of, false

static const Row rows[] = {
	{"create", CREATE, WELL, AS_WANTED_NOW, BOOKING_OUTCOME_DONE},
	{"repeat: an earlier copy arrived", CREATE, TAKEN, AS_WANTED_NOW, BOOKING_OUTCOME_DONE},
	{"create: our id, moved since", CREATE, TAKEN, ELSEWHEN, BOOKING_OUTCOME_DIFFERENT},
	{"create: foreign object under our id", CREATE, TAKEN, ANOTHERS, BOOKING_OUTCOME_FOREIGN},
	{"create: taken, and nothing is to be seen", CREATE, TAKEN, NOTHING, BOOKING_OUTCOME_UNKNOWN},
	{"create: the calendar is gone", CREATE, VANISHED, NO_CALENDAR, BOOKING_OUTCOME_CALENDAR_GONE},
	{"create: bad request", CREATE, BAD, NOTHING, BOOKING_OUTCOME_REJECTED},
	{"create: unauthorized", CREATE, UNAUTHORIZED, NOTHING, BOOKING_OUTCOME_AUTH},
	{"create: forbidden", CREATE, FORBIDDEN, NOTHING, BOOKING_OUTCOME_REJECTED},
	{"create: throttled", CREATE, THROTTLED, NOTHING, BOOKING_OUTCOME_NOT_EXECUTED},
	{"create: broken before or after the commit", CREATE, BROKEN, NOTHING, BOOKING_OUTCOME_UNKNOWN},
	{"create: unavailable", CREATE, UNAVAILABLE, AS_WANTED_NOW, BOOKING_OUTCOME_UNKNOWN},
	{"create: a gateway gives up", CREATE, GATEWAY, NOTHING, BOOKING_OUTCOME_UNKNOWN},
	{"create: lost answer", CREATE, LOST_ANSWER, AS_WANTED_NOW, BOOKING_OUTCOME_UNKNOWN},
	{"create: an answer over the cap", CREATE, HUGE_ANSWER, AS_WANTED_NOW, BOOKING_OUTCOME_UNKNOWN},
	{"create: a success with another id", CREATE, OTHERS_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"create: a success with an empty body", CREATE, EMPTY_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"create: a success with a cut body", CREATE, CUT_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"create: taken, and the read is lost", CREATE, TAKEN, LOST_READ, BOOKING_OUTCOME_UNKNOWN},
	{"create: taken, and the read is denied", CREATE, TAKEN, DENIED_READ,
		BOOKING_OUTCOME_UNKNOWN},
	{"create: taken, and the read is broken", CREATE, TAKEN, BROKEN_READ,
		BOOKING_OUTCOME_UNKNOWN},
	{"create: not sent", CREATE, NOT_SENT, NOTHING, BOOKING_OUTCOME_NOT_EXECUTED},
	{"create: not allowed by our rules", CREATE, NOT_ALLOWED, NOTHING, BOOKING_OUTCOME_REJECTED},

	{"update", UPDATE, WELL, AS_WANTED_NOW, BOOKING_OUTCOME_DONE},
	{"update without a version", UPDATE_BLIND, WELL, AS_IT_WAS, BOOKING_OUTCOME_DONE},
	{"update: our own lost copy arrived", UPDATE, CHANGED, AS_WANTED_NOW, BOOKING_OUTCOME_DONE},
	{"update: moved by somebody", UPDATE, CHANGED, ELSEWHEN, BOOKING_OUTCOME_DIFFERENT},
	{"update: changed twice meanwhile", UPDATE, CHANGED, AS_IT_WAS, BOOKING_OUTCOME_UNKNOWN},
	{"update: deleted by somebody", UPDATE, VANISHED, NOTHING, BOOKING_OUTCOME_ABSENT},
	{"update: the calendar is gone", UPDATE, VANISHED, NO_CALENDAR, BOOKING_OUTCOME_CALENDAR_GONE},
	{"update: unauthorized", UPDATE, UNAUTHORIZED, AS_IT_WAS, BOOKING_OUTCOME_AUTH},
	{"update: throttled", UPDATE, THROTTLED, AS_IT_WAS, BOOKING_OUTCOME_NOT_EXECUTED},
	{"update: broken", UPDATE, BROKEN, AS_IT_WAS, BOOKING_OUTCOME_UNKNOWN},
	{"update: lost answer", UPDATE, LOST_ANSWER, AS_WANTED_NOW, BOOKING_OUTCOME_UNKNOWN},
	{"update: a success with another id", UPDATE, OTHERS_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"update: a success with an empty body", UPDATE, EMPTY_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"update: a success with a cut body", UPDATE, CUT_ANSWER, AS_WANTED_NOW,
		BOOKING_OUTCOME_UNKNOWN},
	{"update: changed, and the read is lost", UPDATE, CHANGED, LOST_READ,
		BOOKING_OUTCOME_UNKNOWN},
	{"update without a version: the read is lost", UPDATE_BLIND, NEVER, LOST_READ,
		BOOKING_OUTCOME_NOT_EXECUTED},
	{"update without a version: the read is denied", UPDATE_BLIND, NEVER, DENIED_READ,
		BOOKING_OUTCOME_AUTH},
	{"update: not sent", UPDATE, NOT_SENT, AS_IT_WAS, BOOKING_OUTCOME_NOT_EXECUTED},

	{"cancel", CANCEL, WELL, NOTHING, BOOKING_OUTCOME_DONE},
	{"cancel without a version", CANCEL_BLIND, WELL, AS_IT_WAS, BOOKING_OUTCOME_DONE},
	{"cancel: already gone", CANCEL, VANISHED, NOTHING, BOOKING_OUTCOME_DONE},
	{"cancel without a version: already gone", CANCEL_BLIND, NEVER, NOTHING, BOOKING_OUTCOME_DONE},
	{"cancel: the calendar is gone", CANCEL_BLIND, NEVER, NO_CALENDAR,
		BOOKING_OUTCOME_CALENDAR_GONE},
	{"cancel: moved by somebody", CANCEL, CHANGED, ELSEWHEN, BOOKING_OUTCOME_DIFFERENT},
	{"cancel: somebody else's event", CANCEL_BLIND, NEVER, ANOTHERS, BOOKING_OUTCOME_FOREIGN},
	{"cancel: unauthorized", CANCEL, UNAUTHORIZED, AS_IT_WAS, BOOKING_OUTCOME_AUTH},
	{"cancel: throttled", CANCEL, THROTTLED, AS_IT_WAS, BOOKING_OUTCOME_NOT_EXECUTED},
	{"cancel: broken", CANCEL, BROKEN, AS_IT_WAS, BOOKING_OUTCOME_UNKNOWN},
	{"cancel: changed, and the read is lost", CANCEL, CHANGED, LOST_READ,
		BOOKING_OUTCOME_UNKNOWN},
	{"cancel without a version: the read is lost", CANCEL_BLIND, NEVER, LOST_READ,
		BOOKING_OUTCOME_NOT_EXECUTED},
	{"cancel without a version: the read is broken", CANCEL_BLIND, NEVER, BROKEN_READ,
		BOOKING_OUTCOME_NOT_EXECUTED},
	{"cancel: lost answer", CANCEL, LOST_ANSWER, NOTHING, BOOKING_OUTCOME_UNKNOWN},

	{"lookup of a create: it is there", LOOKUP(CREATE), NEVER, AS_WANTED_NOW,
		BOOKING_OUTCOME_EQUAL},
	{"lookup of a create: it is not", LOOKUP(CREATE), NEVER, NOTHING, BOOKING_OUTCOME_ABSENT},
	{"lookup of a create: moved", LOOKUP(CREATE), NEVER, ELSEWHEN, BOOKING_OUTCOME_DIFFERENT},
	{"lookup of a create: foreign", LOOKUP(CREATE), NEVER, ANOTHERS, BOOKING_OUTCOME_FOREIGN},
	{"lookup of a create: no calendar", LOOKUP(CREATE), NEVER, NO_CALENDAR,
		BOOKING_OUTCOME_CALENDAR_GONE},
	{"lookup of an update: done", LOOKUP(UPDATE), NEVER, AS_WANTED_NOW, BOOKING_OUTCOME_EQUAL},
	{"lookup of an update: not done", LOOKUP(UPDATE), NEVER, AS_IT_WAS, BOOKING_OUTCOME_ABSENT},
	{"lookup of an update: moved", LOOKUP(UPDATE), NEVER, ELSEWHEN, BOOKING_OUTCOME_DIFFERENT},
	{"lookup of a cancel: done", LOOKUP(CANCEL), NEVER, NOTHING, BOOKING_OUTCOME_ABSENT},
	{"lookup of a cancel: not done", LOOKUP(CANCEL), NEVER, AS_IT_WAS, BOOKING_OUTCOME_DIFFERENT},
	{"lookup of a create: lost", LOOKUP(CREATE), NEVER, LOST_READ, BOOKING_OUTCOME_FAILED},
	{"lookup of a create: denied", LOOKUP(CREATE), NEVER, DENIED_READ, BOOKING_OUTCOME_AUTH},
	{"lookup of an update: broken", LOOKUP(UPDATE), NEVER, BROKEN_READ, BOOKING_OUTCOME_FAILED},
	{"lookup of a cancel: lost", LOOKUP(CANCEL), NEVER, LOST_READ, BOOKING_OUTCOME_FAILED},
};

/*
 * A world: the answer to a request of an adapter, given what happens to its
 * writes and what is in the calendar.
 */
typedef const char *(*World) (const BookingHttpRequest *request, Fate fate,
							  State state);

/*
 * Answers that look alike everywhere; NULL for the others.
 */
static const char *
common(Fate fate)
{
	switch (fate)
	{
		case BROKEN:
			return "500\n\n";
		case UNAVAILABLE:
			return "503\nRetry-After: 9\n\n";
		case GATEWAY:
			return "504\n\n<html>gateway</html>";
		case LOST_ANSWER:
			return "lost time-out";
		case HUGE_ANSWER:
			return "too large";
		case NOT_SENT:
			return "not sent could not connect";
		case NOT_ALLOWED:
			return "refused address not allowed";
		default:
			return NULL;
	}
}

/*
 * Answers to whoever reads that look alike everywhere; NULL for the others.
 */
static const char *
common_read(State state)
{
	return state == LOST_READ ? "lost reset" : state == DENIED_READ ? "401\n\n" :
		state == BROKEN_READ ? "503\n\n" : NULL;
}

/*
 * CalDAV (RFC 4791), where a success says nothing but what the URL says.
 */
static const char *
caldav_world(const BookingHttpRequest *request, Fate fate, State state)
{
	if (!request->read)
	{
		switch (fate)
		{
			case WELL:
			case OTHERS_ANSWER:
			case EMPTY_ANSWER:
				return strcmp(request->method, "DELETE") == 0 ? "204\n\n" :
					"201\nETag: \"e9\"\n\n";
			case CUT_ANSWER:
				return "207\n\n<multistatus xmlns=\"DAV:\"><response><href>" PATH ID;
			case TAKEN:
			case CHANGED:
				return "412\n\n";
			case VANISHED:
				return NOT_THERE;
			case BAD:
				return "400\n\n";
			case UNAUTHORIZED:
				return "401\n\n";
			case FORBIDDEN:
				return "403\n\n";
			case THROTTLED:
				return "429\n\n";
			default:
				return common(fate);
		}
	}
	if (common_read(state) != NULL)
		return common_read(state);
	if (strcmp(request->method, "PROPFIND") == 0)
		return state == NO_CALENDAR ? NOT_THERE : ALIVE;
	if (strcmp(request->method, "REPORT") == 0)
		return state == NO_CALENDAR ? NOT_THERE : NO_MATCH;
	switch (state)
	{
		case AS_WANTED_NOW:
			return FOUND("\"e5\"", AS_WANTED);
		case AS_IT_WAS:
			return FOUND("\"e5\"", AS_BEFORE);
		case ELSEWHEN:
			return FOUND("\"e5\"", MOVED);
		case ANOTHERS:
			return FOUND("\"e5\"", FOREIGN);
		default:
			break;
	}
	return NOT_THERE;
}

/*
 * Google Calendar (API v3).
 */
static const char *
google_world(const BookingHttpRequest *request, Fate fate, State state)
{
	if (!request->read)
	{
		switch (fate)
		{
			case WELL:
				return strcmp(request->method, "DELETE") == 0 ? "204\n\n" :
					JSON("200", G_WANTED("e9"));
			case OTHERS_ANSWER:
				return JSON("200", GITEM("another", "e9", "confirmed", "11", ID, "1", ""));
			case EMPTY_ANSWER:
				return "200\n\n";
			case CUT_ANSWER:
				return "200\n\n{\"kind\":\"calendar#event\",\"id\":\"" ID "\",\"sta";
			case TAKEN:
				return G_TAKEN;
			case CHANGED:
				return G_CHANGED;
			case VANISHED:
				return G_NOT_FOUND;
			case BAD:
				return GERROR("400", "invalid");
			case UNAUTHORIZED:
				return GERROR("401", "authError");
			case FORBIDDEN:
				return GERROR("403", "forbidden");
			case THROTTLED:
				return GERROR("403", "rateLimitExceeded");
			default:
				return common(fate);
		}
	}
	if (common_read(state) != NULL)
		return common_read(state);
	if (state == NO_CALENDAR)
		return G_NOT_FOUND;
	if (strstr(request->url, "privateExtendedProperty=") != NULL)
		return state == AS_WANTED_NOW ? ITEMS(MARKED(ID, "confirmed")) : NO_ITEMS;
	if (strstr(request->url, "/events") == NULL)
		return JSON("200", "{\"id\":\"room\"}");
	switch (state)
	{
		case AS_WANTED_NOW:
			return JSON("200", G_WANTED("e5"));
		case AS_IT_WAS:
			return JSON("200", G_BEFORE("e5"));
		case ELSEWHEN:
			return JSON("200", G_MOVED("e5"));
		case ANOTHERS:
			return JSON("200", G_FOREIGN);
		default:
			break;
	}
	return G_NOT_FOUND;
}

/*
 * Microsoft Graph (v1.0).
 */
static const char *
graph_world(const BookingHttpRequest *request, Fate fate, State state)
{
	if (!request->read)
	{
		switch (fate)
		{
			case WELL:
				return strcmp(request->method, "DELETE") == 0 ? "204\n\n" :
					strcmp(request->method, "POST") == 0 ?
					JSON("201", M_WANTED("e9")) : JSON("200", M_WANTED("e9"));
			case OTHERS_ANSWER:
				return JSON("200", MITEM("another", "e9", "11", TRANSACTION("other"), "", "", ""));
			case EMPTY_ANSWER:
				return "200\n\n";
			case CUT_ANSWER:
				return "200\n\n{\"id\":\"" EV1 "\",\"transac";
			case TAKEN:
				return M_TAKEN;
			case CHANGED:
				return M_CHANGED;
			case VANISHED:
				return M_NOT_FOUND;
			case BAD:
				return MERROR("400", "ErrorInvalidRequest");
			case UNAUTHORIZED:
				return MERROR("401", "InvalidAuthenticationToken");
			case FORBIDDEN:
				return MERROR("403", "ErrorAccessDenied");
			case THROTTLED:
				return MERROR("429", "ApplicationThrottled");
			default:
				return common(fate);
		}
	}
	if (common_read(state) != NULL)
		return common_read(state);
	if (state == NO_CALENDAR)
		return M_NOT_FOUND;
	if (strstr(request->url, "?$select=id,canEdit") != NULL)
		return JSON("200", "{\"id\":\"AQMkCal=\"}");
	if (strstr(request->url, "/events/") != NULL)
	{
		switch (state)
		{
			case AS_WANTED_NOW:
				return JSON("200", M_WANTED("e5"));
			case AS_IT_WAS:
				return JSON("200", M_BEFORE("e5"));
			case ELSEWHEN:
				return JSON("200", M_MOVED("e5"));
			default:
				return M_NOT_FOUND;
		}
	}
	switch (state)
	{
		case AS_WANTED_NOW:
			return VALUE(M_WANTED("e5"));
		case AS_IT_WAS:
			return VALUE(M_BEFORE("e5"));
		case ELSEWHEN:
			return VALUE(M_MOVED("e5"));
		case ANOTHERS:
			return VALUE(M_FOREIGN);
		default:
			break;
	}
	return NO_VALUE;
}

/* what happens to a listing */
typedef enum ListingFate
{
	LIST_WHOLE,					/* one page: "a" is there and "b" is gone */
	LIST_PAGE,					/* the first page of several, with "a" */
	LIST_EXPIRED,				/* the token is not known any more */
	LIST_UNAUTHORIZED,
	LIST_THROTTLED,				/* for seven seconds */
	LIST_BROKEN,
	LIST_LOST,
	LIST_CUT,
	LIST_EMPTY,					/* a success without a body */
	LIST_NO_CALENDAR
} ListingFate;

typedef struct ListingRow
{
	const char *name;
	bool		since;			/* since a token, else everything */
	ListingFate fate;
	BookingPullKind kind;
	const char *problem;		/* NULL: any, or none */
} ListingRow;

static const ListingRow listing_rows[] = {
	{"list everything", false, LIST_WHOLE, BOOKING_PULL_LISTED},
	{"list what changed", true, LIST_WHOLE, BOOKING_PULL_LISTED},
	{"list everything: a page of several", false, LIST_PAGE, BOOKING_PULL_LISTED},
	{"list what changed: a page of several", true, LIST_PAGE, BOOKING_PULL_LISTED},
	{"list: the cursor has expired", true, LIST_EXPIRED, BOOKING_PULL_EXPIRED, "token_expired"},
	{"list: unauthorized", true, LIST_UNAUTHORIZED, BOOKING_PULL_AUTH},
	{"list: throttled", true, LIST_THROTTLED, BOOKING_PULL_FAILED},
	{"list: broken", false, LIST_BROKEN, BOOKING_PULL_FAILED},
	{"list: lost", true, LIST_LOST, BOOKING_PULL_FAILED},
	{"list: cut", true, LIST_CUT, BOOKING_PULL_FAILED, "answer_unreadable"},
	{"list: a success without a body", true, LIST_EMPTY, BOOKING_PULL_FAILED, "answer_unreadable"},
	{"list: the calendar is gone", true, LIST_NO_CALENDAR, BOOKING_PULL_FAILED, "calendar_gone"},
};

#define DAV_LISTING(more) \
	MULTISTATUS(PROPSTAT(PATH "a", "<getetag>\"e1\"</getetag><resourcetype/>") \
				STATUS(PATH "b", "404 Not Found") more "<sync-token>t2</sync-token>")

/* a world of listings: the answer to one */
typedef const char *(*ListingWorld) (ListingFate fate);

/*
 * Listings of CalDAV (RFC 6578).
 */
static const char *
caldav_listing(ListingFate fate)
{
	switch (fate)
	{
		case LIST_WHOLE:
			return DAV_LISTING("");
		case LIST_PAGE:
			return DAV_LISTING(STATUS(PATH, "507 Insufficient Storage"));
		case LIST_EXPIRED:
			return DAV_ERROR("403", "<valid-sync-token/>");
		case LIST_UNAUTHORIZED:
			return "401\n\n";
		case LIST_THROTTLED:
			return "429\nRetry-After: 7\n\n";
		case LIST_BROKEN:
			return "503\n\n";
		case LIST_LOST:
			return "lost reset";
		case LIST_CUT:
			return "207\n\n<multistatus xmlns=\"DAV:\"><response><href>" PATH "a";
		case LIST_EMPTY:
			return "207\n\n";
		case LIST_NO_CALENDAR:
			break;
	}
	return NOT_THERE;
}

/*
 * Listings of Google Calendar (API v3).
 */
static const char *
google_listing(ListingFate fate)
{
#define G_LISTING(end) \
	JSON("200", "{\"items\":[{\"id\":\"a\",\"etag\":\"\\\"e1\\\"\",\"status\":\"confirmed\"}," \
		 "{\"id\":\"b\",\"status\":\"cancelled\"}]," end "}")
	switch (fate)
	{
		case LIST_WHOLE:
			return G_LISTING("\"nextSyncToken\":\"t2\"");
		case LIST_PAGE:
			return G_LISTING("\"nextPageToken\":\"t2\"");
		case LIST_EXPIRED:
			return GERROR("410", "fullSyncRequired");
		case LIST_UNAUTHORIZED:
			return GERROR("401", "authError");
		case LIST_THROTTLED:
			return "429\nRetry-After: 7\n\n";
		case LIST_BROKEN:
			return "503\n\n";
		case LIST_LOST:
			return "lost reset";
		case LIST_CUT:
			return "200\n\n{\"items\":[{\"id\":\"a";
		case LIST_EMPTY:
			return "200\n\n";
		case LIST_NO_CALENDAR:
			break;
	}
	return G_NOT_FOUND;
}

/*
 * Listings of Microsoft Graph (v1.0).
 */
static const char *
graph_listing(ListingFate fate)
{
#define M_LISTING(end) \
	JSON("200", \
		"{\"value\":[{\"id\":\"a\",\"@odata.etag\":\"\\\"e1\\\"\",\"type\":\"singleInstance\"}," \
		 "{\"id\":\"b\",\"@removed\":{\"reason\":\"deleted\"}}]," end "}")
	switch (fate)
	{
		case LIST_WHOLE:
			return M_LISTING("\"@odata.deltaLink\":\"" GRAPH "/x?$deltatoken=2\"");
		case LIST_PAGE:
			return M_LISTING("\"@odata.nextLink\":\"" GRAPH "/x?$skiptoken=2\"");
		case LIST_EXPIRED:
			return MERROR("410", "SyncStateNotFound");
		case LIST_UNAUTHORIZED:
			return MERROR("401", "InvalidAuthenticationToken");
		case LIST_THROTTLED:
			return "429\nRetry-After: 7\n\n";
		case LIST_BROKEN:
			return "503\n\n";
		case LIST_LOST:
			return "lost reset";
		case LIST_CUT:
			return "200\n\n{\"value\":[{\"id\":\"a";
		case LIST_EMPTY:
			return "200\n\n";
		case LIST_NO_CALENDAR:
			break;
	}
	return M_NOT_FOUND;
}

/* the adapters, and a token as each of them keeps it */
static const struct
{
	const Fixture *fixture;
	World		world;
	ListingWorld listing;
	const char *token;
}			adapters[] = {
	{&caldav_fixture, caldav_world, caldav_listing, "sync:t1"},
	{&google_fixture, google_world, google_listing, "events1:t1"},
	{&graph_fixture, graph_world, graph_listing, "view1:" GRAPH "/x?$deltatoken=1"},
};

/*
 * Answer a request of a pull as the engine does, which gives the body of a
 * success to the sink, if there is one.
 */
static bool
answer_pull(BookingPull *pull, const char *text, BookingHttpRequest *request)
{
	BookingHttpResponse response;
	BookingHttpRequest sent = *request;

	parse_answer(text, pull->arena, &response);
	if (sent.sink != NULL && response.transport == BOOKING_TRANSPORT_COMPLETE &&
		response.status / 100 == 2)
	{
		(void) sent.sink(sent.sink_arg, response.body, response.body_len);
		response.body = "";
		response.body_len = 0;
	}
	return fixture->provider->pull_next(pull, &response, request);
}

/*
 * Is a finished listing what its row says?  A token comes with the last page
 * only, and what it is whole of is known only if everything was asked for.
 */
static bool
is_listed(const ListingRow *row, const BookingPullResult *result)
{
	const BookingPullItem *items = result->items == NULL ? NULL : result->items->items;

	if (result->kind != row->kind ||
		(row->problem != NULL && (result->problem == NULL ||
								  strcmp(result->problem, row->problem) != 0)))
		return false;
	if (row->fate == LIST_THROTTLED)
		return result->retry_after == 7;
	if (result->kind != BOOKING_PULL_LISTED)
		return result->token == NULL && result->page == NULL;
	return items != NULL && result->items->nitems == 2 && !items[0].removed &&
		strcmp(items[0].etag, "\"e1\"") == 0 &&
		(items[1].removed || items[1].doubted) &&
		result->whole == !row->since &&
		(result->token != NULL) == (row->fate == LIST_WHOLE) &&
		(result->page != NULL) == (row->fate == LIST_PAGE);
}

/*
 * Play a listing with the adapter that is tested.
 */
static bool
play_listing_row(const ListingRow *row, ListingWorld world, const char *token)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT * 4);
	BookingPullJob job = {
		.base_url = fixture->base, .collection = fixture->collection,
		.token = row->since ? token : NULL, .from = DAY, .until = DAY + 24 * HOUR
	};
	BookingPull pull;
	BookingHttpRequest request;
	bool		good = true;
	bool		more;

	memset(&pull, 0x5a, sizeof(pull));
	pull.job = &job;
	pull.arena = arena;
	fixture->provider->pull_list(&pull, &request);
	more = request.method != NULL;
	for (int i = 0; more && good; i++)
	{
		good = i < BOOKING_MAX_STEPS && request.read &&
			strncmp(request.url, fixture->origin, strlen(fixture->origin)) == 0;
		more = answer_pull(&pull, world(row->fate), &request);
	}
	good = good && is_listed(row, &pull.result);
	if (!good)
		tap_note("kind %d, problem %s", pull.result.kind,
				 pull.result.problem ? pull.result.problem : "(none)");
	fixture->provider->pull_abandon(&pull);
	booking_arena_free(arena);
	return good;
}

/*
 * Play a row with the adapter that is tested.  Whatever comes of it, writes are
 * at most two, the second one under a condition, and all goes to the adapter's
 * own origin.  A success without its event is none where one is told.
 */
static bool
play_row(const Row *row, World world)
{
	bool		is_told = fixture->wants_body ||
		(row->fate != EMPTY_ANSWER && row->fate != OTHERS_ANSWER);
	BookingOutcomeKind expected = is_told ? row->outcome : BOOKING_OUTCOME_DONE;
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	Scenario	scenario = {
		.name = row->name, .kind = row->kind, .looked_up = row->looked_up,
		.etag = row->has_etag ? "\"e1\"" : NULL
	};
	Play		play;
	bool		good = true;
	char		text[400];

	begin(&play, &scenario, arena);
	while (play.more && good)
	{
		bool		conditional = false;

		for (int i = 0; i < play.request.nheaders; i++)
			conditional |= strcmp(play.request.headers[i].name, "If-Match") == 0;
		good = strncmp(play.request.url, fixture->origin, strlen(fixture->origin)) == 0 &&
			(play.request.read || row->fate != NEVER) &&
			(play.request.read || play.nwrites == 0 || conditional) &&
			play.nwrites < 2;
		answer(&play, world(&play.request, row->fate, row->state), arena);
	}
	render_outcome(&play.task.outcome, text, sizeof(text));
	if (play.task.outcome.kind != expected)
		note("outcome", text);
	good = good && play.task.outcome.kind == expected &&
		is_harmless(play.task.outcome.message) &&
		(row->fate != UNAVAILABLE || play.task.outcome.retry_after == 9);
	booking_arena_free(arena);
	return good;
}

/*
 * Play every row with every adapter.
 */
void
test_conformance(void)
{
	for (int i = 0; i < (int) lengthof(adapters); i++)
	{
		const BookingProvider *provider = adapters[i].fixture->provider;

		fixture = adapters[i].fixture;
		ok(provider->write_body != NULL && provider->read_body != NULL &&
		   provider->start != NULL && provider->next != NULL &&
		   provider->pull_list != NULL && provider->pull_fetch != NULL &&
		   provider->pull_next != NULL && provider->pull_abandon != NULL &&
		   provider->read_object != NULL && provider->busy_start != NULL &&
		   provider->busy_next != NULL && provider->base_url != NULL &&
		   provider->max_in_flight > 0 &&
		   booking_provider_find(provider->name) == provider &&
		   strstr(booking_provider_names(), provider->name) != NULL,
		   "conformance, %s: no member is missing", provider->name);
		for (int j = 0; j < (int) lengthof(rows); j++)
			ok(play_row(&rows[j], adapters[i].world), "conformance, %s: %s",
			   provider->name, rows[j].name);
		for (int j = 0; j < (int) lengthof(listing_rows); j++)
			ok(play_listing_row(&listing_rows[j], adapters[i].listing, adapters[i].token),
			   "conformance, %s: %s", provider->name, listing_rows[j].name);
	}
}

/*-------------------------------------------------------------------------
 *
 * graph_pull.c
 *	  lists what changed in a calendar of Microsoft 365
 *
 * A listing is calendarView/delta of the window (learn.microsoft.com/graph/
 * delta-query-events, api/event-delta).  Its links are opaque, hold the window and
 * all else, and are followed as they are, if they stay at the account's API.  The
 * last one is the token; it is kept with a word in front that stands for how we
 * read it, so that one of another version of ours is not used.
 *
 * - Series come expanded.  An occurrence has little more than its id and its time
 *   (microsoft-graph-docs#7632, ridafkih/keeper.sh#409), so its master, unless it
 *   is on the same page, is fetched, once a page; without a master the series was
 *   deleted.  The master itself blocks nothing and is not kept.
 * - The version of an occurrence is its own and its master's, since what it has
 *   from the master changes with that.
 * - "@removed" is also told of events outside the window that were only changed
 *   (api/event-delta), so it is a reason to look, at events that are known: see
 *   graph_fetch.c.
 * - An event may come several times.  Of those on one page the newest counts; a
 *   later page was read later.
 * - $select is not supported, so all of an event comes.  What people wrote in it is
 *   not kept, and pages are small: smaller after each failure, because one over
 *   the limit for answers would come again.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_pull.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "provider/graph.h"
#include "provider/report.h"

#define TOKEN_KIND "view1:"

/* longer ones are no link of Graph, and servers refuse them */
#define MAX_LINK (BOOKING_PULL_PAGE - 1)

/* events of a page */
#define PAGE_SIZE 100
#define PAGE_SIZE_LEAST 5

typedef enum PullStep
{
	STEP_NONE,					/* no request could be made */
	STEP_LIST,
	STEP_MASTER,				/* of occurrences on the page */
	STEP_FETCH
} PullStep;

/* a series that a page has occurrences of */
typedef struct Master
{
	struct Master *next;
	const char *id;
	const BookingJson *json;	/* NULL: to be fetched, or gone */
} Master;

/* kept in BookingPull.state */
typedef struct PageState
{
	BookingGraphPlace place;
	const char *prefer;
	const BookingJson *page;
	Master	   *masters;
	Master	   *asked;			/* the one that is being fetched */
	BookingPullChunk *last;
} PageState;

static PageState *begin(BookingPull *pull);
static const char *make_prefer(BookingPull *pull);
static void ask_link(BookingPull *pull, const char *link,
					 BookingHttpRequest *request);
static bool listed(BookingPull *pull, const BookingHttpResponse *response,
				   BookingHttpRequest *request);
static bool not_listed(BookingPull *pull, const BookingHttpResponse *response);
static bool take_links(BookingPull *pull, const BookingHttpResponse *response);
static bool note_masters(BookingPull *pull);
static Master *find_master(const PageState *state, const char *id);
static bool ask_masters(BookingPull *pull, BookingHttpRequest *request);
static bool mastered(BookingPull *pull, const BookingHttpResponse *response,
					 BookingHttpRequest *request);
static bool take_page(BookingPull *pull);
static bool take_item(BookingPull *pull, const BookingJson *json);
static bool complete_item(BookingPull *pull, const BookingJson *json,
						  const BookingJson *master, BookingPullItem *item);
static bool is_superseded(const BookingJson *json, bool *contradicted);
static bool is_removed(const BookingJson *json);
static const char *make_version(BookingPull *pull, const BookingJson *json,
								const BookingJson *master);

/*
 * Begin a listing, or go on with it at a page.
 */
void
booking_graph_pull_list(BookingPull *pull, BookingHttpRequest *request)
{
	const BookingPullJob *job = pull->job;
	PageState  *state = begin(pull);
	const char *url;

	memset(request, 0, sizeof(*request));
	if (state == NULL)
		return;
	if (job->page != NULL)
	{
		ask_link(pull, job->page, request);
		return;
	}
	if (job->token != NULL)
	{
		if (strncmp(job->token, TOKEN_KIND, strlen(TOKEN_KIND)) == 0)
			ask_link(pull, job->token + strlen(TOKEN_KIND), request);
		else
		{
			(void) booking_graph_pull_fail(pull, NULL, "token_expired");
			pull->result.kind = BOOKING_PULL_EXPIRED;
		}
		return;
	}
	if (job->from >= job->until)
	{
		(void) booking_graph_pull_fail(pull, NULL, "no_window");
		return;
	}
	url = booking_graph_view_url(pull->arena, &state->place, job->from,
								 job->until, "");
	if (url != NULL)
		url = booking_graph_join(pull->arena, state->place.calendar,
								 "/calendarView/delta", strchr(url, '?'));
	if (url == NULL)
	{
		(void) booking_graph_pull_fail(pull, NULL, "out_of_memory");
		return;
	}
	if (booking_graph_pull_ask(pull, url, state->prefer, request))
		pull->step = STEP_LIST;
}

/*
 * Begin to look at events that a listing says are gone.
 */
void
booking_graph_pull_fetch(BookingPull *pull, const char *const *objects,
						 int count, BookingHttpRequest *request)
{
	PageState  *state = begin(pull);

	memset(request, 0, sizeof(*request));
	if (state == NULL)
		return;
	pull->step = STEP_FETCH;
	booking_graph_fetch_begin(pull, &state->place, objects, count, request);
	if (request->method == NULL)
		pull->step = STEP_NONE;
}

/*
 * Judge an answer by the step it belongs to.
 */
bool
booking_graph_pull_next(BookingPull *pull, const BookingHttpResponse *response,
						BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	switch ((PullStep) pull->step)
	{
		case STEP_NONE:
			return false;
		case STEP_LIST:
			return listed(pull, response, request);
		case STEP_MASTER:
			return mastered(pull, response, request);
		case STEP_FETCH:
			return booking_graph_fetch_next(pull, response, request);
	}
	return false;
}

/*
 * Everything is in the arena.
 */
void
booking_graph_pull_abandon(BookingPull *pull)
{
	pull->step = STEP_NONE;
}

/*
 * Begin with nothing; NULL, and the pull has failed, if the calendar is nowhere
 * or memory is short.
 */
static PageState *
begin(BookingPull *pull)
{
	const char *problem = "out_of_memory";
	PageState  *state;

	memset(&pull->result, 0, sizeof(pull->result));
	pull->step = STEP_NONE;
	pull->nsteps = 0;
	pull->state = state = booking_arena_alloc(pull->arena, sizeof(*state));
	if (state != NULL &&
		(pull->job->collection == NULL ||
		 !booking_graph_place(pull->arena, pull->job->base_url,
							  pull->job->collection, &state->place, &problem)))
	{
		if (pull->job->collection == NULL)
			problem = "incomplete_job";
		state = NULL;
	}
	if (state != NULL)
		state->prefer = make_prefer(pull);
	if (state == NULL || state->prefer == NULL)
	{
		(void) booking_graph_pull_fail(pull, NULL, problem);
		return NULL;
	}
	return state;
}

/*
 * The header that says how a listing is wished.  Bodies come as text, which is
 * shorter than HTML.
 */
static const char *
make_prefer(BookingPull *pull)
{
	int			size = PAGE_SIZE >> Min(pull->job->failures, 8);

	return booking_report_text(pull->arena, "%s, odata.maxpagesize=%d, %s",
							   BOOKING_GRAPH_PREFER, Max(size, PAGE_SIZE_LEAST),
							   "outlook.body-content-type=\"text\"");
}

/*
 * Follow a link that an earlier answer brought.
 */
static void
ask_link(BookingPull *pull, const char *link, BookingHttpRequest *request)
{
	PageState  *state = pull->state;
	char	   *copy;

	/* the account may be elsewhere now; the link is not to be followed there */
	if (!booking_graph_is_pinned(pull->arena, state->place.base, link))
	{
		(void) booking_graph_pull_fail(pull, NULL, "token_expired");
		pull->result.kind = BOOKING_PULL_EXPIRED;
		return;
	}
	copy = booking_arena_copy(pull->arena, link, strlen(link));
	if (copy == NULL)
		(void) booking_graph_pull_fail(pull, NULL, "out_of_memory");
	else if (booking_graph_pull_ask(pull, copy, state->prefer, request))
		pull->step = STEP_LIST;
}

/*
 * Build a request for reading.
 */
bool
booking_graph_pull_ask(BookingPull *pull, const char *url, const char *prefer,
					   BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	if (url == NULL)
		return booking_graph_pull_fail(pull, NULL, "out_of_memory");
	request->method = "GET";
	request->url = url;
	request->read = true;
	booking_rest_header(request, "Prefer", prefer);
	return true;
}

/*
 * The answer to a listing.
 */
static bool
listed(BookingPull *pull, const BookingHttpResponse *response,
	   BookingHttpRequest *request)
{
	PageState  *state = pull->state;
	const BookingJson *value;

	if (!booking_rest_answered(response, 200))
		return not_listed(pull, response);
	if (booking_json_read(response->body, response->body_len, pull->arena,
						  &state->page) != BOOKING_JSON_OK)
		return booking_graph_pull_fail(pull, response, "answer_unreadable");
	value = booking_json_member(state->page, "value");
	if (value == NULL || value->kind != BOOKING_JSON_ARRAY)
		return booking_graph_pull_fail(pull, response, "answer_incomplete");
	if (!take_links(pull, response))
		return false;
	if (!note_masters(pull))
		return booking_graph_pull_fail(pull, response, "listing_too_large");
	return ask_masters(pull, request);
}

/*
 * A listing was refused.  410, and a 400 or 404 whose code is about the state
 * of synchronization, say that the link is dead (delta-query-overview,
 * microsoft-graph-docs#2350); where it then points to is not followed.
 */
static bool
not_listed(BookingPull *pull, const BookingHttpResponse *response)
{
	bool		ours = pull->job->token != NULL || pull->job->page != NULL;
	const char *problem;
	bool		dead = booking_rest_answered(response, 410);

	if (booking_rest_answered(response, 400) ||
		booking_rest_answered(response, 404))
		dead = booking_graph_refusal(pull->arena, response, &problem,
									 NULL) == BOOKING_GRAPH_SYNC_STATE ||
			(ours && response->status == 400);
	if (!dead)
		return booking_graph_pull_fail(pull, response, NULL);
	(void) booking_graph_pull_fail(pull, response, "token_expired");
	pull->result.kind = BOOKING_PULL_EXPIRED;
	return false;
}

/*
 * The pull failed; response is NULL if no answer is to blame.
 */
bool
booking_graph_pull_fail(BookingPull *pull, const BookingHttpResponse *response,
						const char *problem)
{
	BookingPullResult *result = &pull->result;

	memset(result, 0, sizeof(*result));
	result->kind = BOOKING_PULL_FAILED;
	result->retry_after = response == NULL ? -1 : response->retry_after;
	result->status = response == NULL ? 0 : response->status;
	result->problem = problem;
	if (response == NULL || problem != NULL)
		return false;
	result->problem = booking_report_problem(pull->arena, response);
	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
		return false;
	if (response->status == 401)
		result->kind = BOOKING_PULL_AUTH;
	else if (response->status == 404)
		result->problem = "calendar_gone";
	else if (response->status == 403)
		(void) booking_graph_refusal(pull->arena, response, &result->problem,
									 NULL);
	return false;
}

/*
 * Where the listing goes on, or the token of its end: one or the other; without
 * both the listing was cut somewhere.
 */
static bool
take_links(BookingPull *pull, const BookingHttpResponse *response)
{
	PageState  *state = pull->state;
	const char *next = booking_json_text(state->page, "@odata.nextLink");
	const char *delta = booking_json_text(state->page, "@odata.deltaLink");
	const char *link = next != NULL ? next : delta;

	if ((next == NULL) == (delta == NULL) || strlen(link) > MAX_LINK)
		return booking_graph_pull_fail(pull, response, "answer_incomplete");
	if (!booking_graph_is_pinned(pull->arena, state->place.base, link))
		return booking_graph_pull_fail(pull, response, "origin_mismatch");
	if (next != NULL && pull->job->page != NULL &&
		strcmp(next, pull->job->page) == 0)
		return booking_graph_pull_fail(pull, response, "no_progress");
	pull->result.kind = BOOKING_PULL_LISTED;
	pull->result.retry_after = -1;
	pull->result.page = next;
	pull->result.whole = pull->job->token == NULL;
	if (delta != NULL)
		pull->result.token = booking_graph_join(pull->arena, TOKEN_KIND, delta,
												"");
	return true;
}

/*
 * Note the series whose occurrences are on the page, with their masters if
 * these are there too; false when memory is short.
 */
static bool
note_masters(BookingPull *pull)
{
	PageState  *state = pull->state;
	const BookingJson *items = booking_json_elements(state->page, "value");

	for (const BookingJson *at = items; at != NULL; at = at->next)
	{
		const char *id = booking_json_text(at, "seriesMasterId");
		Master	   *master;

		if (id == NULL || is_removed(at) || booking_graph_is_whole(at) ||
			find_master(state, id) != NULL)
			continue;
		master = booking_arena_alloc(pull->arena, sizeof(*master));
		if (master == NULL)
			return false;
		master->id = id;
		master->next = state->masters;
		state->masters = master;
	}
	for (const BookingJson *at = items; at != NULL; at = at->next)
	{
		const char *id = booking_json_text(at, "id");
		Master	   *master = id == NULL ? NULL : find_master(state, id);

		if (master != NULL && !is_removed(at) &&
			booking_json_text(at, "showAs") != NULL)
			master->json = at;
	}
	state->asked = NULL;
	return true;
}

/*
 * A master by its id; NULL if it is not noted.
 */
static Master *
find_master(const PageState *state, const char *id)
{
	for (Master *at = state->masters; at != NULL; at = at->next)
	{
		if (strcmp(at->id, id) == 0)
			return at;
	}
	return NULL;
}

/*
 * Ask for the next master that is not there; when there is none, the page can
 * be taken in.
 */
static bool
ask_masters(BookingPull *pull, BookingHttpRequest *request)
{
	PageState  *state = pull->state;
	Master	   *at = state->asked == NULL ? state->masters : state->asked->next;
	const char *url;

	while (at != NULL && at->json != NULL)
		at = at->next;
	if (at == NULL)
		return take_page(pull);
	state->asked = at;
	pull->step = STEP_MASTER;
	url = booking_graph_event_url(pull->arena, &state->place, at->id);
	if (url != NULL)
		url = booking_graph_join(pull->arena, url, "?", BOOKING_GRAPH_FIELDS);
	return booking_graph_pull_ask(pull, url, BOOKING_GRAPH_PREFER, request);
}

/*
 * A master has come, or is gone, and its series with it.
 */
static bool
mastered(BookingPull *pull, const BookingHttpResponse *response,
		 BookingHttpRequest *request)
{
	PageState  *state = pull->state;
	const BookingJson *json;
	const char *id;

	if (booking_rest_answered(response, 404) ||
		booking_rest_answered(response, 410))
		return ask_masters(pull, request);
	if (!booking_rest_answered(response, 200))
		return booking_graph_pull_fail(pull, response, NULL);
	if (booking_json_read(response->body, response->body_len, pull->arena,
						  &json) != BOOKING_JSON_OK ||
		(id = booking_json_text(json, "id")) == NULL ||
		strcmp(id, state->asked->id) != 0)
		return booking_graph_pull_fail(pull, response, "answer_unreadable");
	state->asked->json = json;
	return ask_masters(pull, request);
}

/*
 * Take in the page, whose masters are known.
 */
static bool
take_page(BookingPull *pull)
{
	PageState  *state = pull->state;

	for (const BookingJson *at = booking_json_elements(state->page, "value");
		 at != NULL; at = at->next)
	{
		if (!take_item(pull, at))
			return booking_graph_pull_fail(pull, NULL, "listing_too_large");
	}
	if (booking_arena_failed(pull->arena))
		return booking_graph_pull_fail(pull, NULL, "listing_too_large");
	return false;
}

/*
 * Take in one event; false when it does not fit.
 */
static bool
take_item(BookingPull *pull, const BookingJson *json)
{
	PageState  *state = pull->state;
	const char *id = booking_json_text(json, "id");
	const char *type = booking_json_text(json, "type");
	const char *series = booking_json_text(json, "seriesMasterId");
	const Master *master = series == NULL ? NULL : find_master(state, series);
	bool		contradicted = false;
	BookingPullItem *item;

	if (id == NULL || strlen(id) > BOOKING_GRAPH_MAX_ID ||
		(type != NULL && strcmp(type, "seriesMaster") == 0) ||
		is_superseded(json, &contradicted))
		return true;
	item = booking_graph_item(pull->arena, &pull->result.items, &state->last);
	if (item == NULL)
		return false;
	item->object = id;

	/* both there and gone: whatever it is, it must be looked at */
	if (contradicted)
		return true;
	if (is_removed(json))
		item->doubted = true;
	else if (master != NULL && master->json == NULL)
		item->removed = true;
	else
		return complete_item(pull, json, master == NULL ? NULL : master->json,
							 item);
	return true;
}

/*
 * Fill in what an event is; false when memory is short.
 */
static bool
complete_item(BookingPull *pull, const BookingJson *json,
			  const BookingJson *master, BookingPullItem *item)
{
	item->etag = make_version(pull, json, master);
	item->data = booking_graph_object_write(json, master, pull->arena,
											&item->data_len);
	return item->data != NULL;
}

/*
 * Does the page tell of the same event once more, further on and not older?
 * contradicted says whether one of the two is a removal and the other is not.
 */
static bool
is_superseded(const BookingJson *json, bool *contradicted)
{
	const char *id = booking_json_text(json, "id");
	const char *changed = booking_json_text(json, "lastModifiedDateTime");

	for (const BookingJson *at = json->next; at != NULL; at = at->next)
	{
		const char *other = booking_json_text(at, "id");
		const char *later = booking_json_text(at, "lastModifiedDateTime");

		if (other == NULL || strcmp(other, id) != 0)
			continue;
		if (is_removed(at) != is_removed(json))
			*contradicted = true;
		else if (changed == NULL || later == NULL ||
				 strcmp(later, changed) >= 0)
			return true;
	}
	return false;
}

/*
 * Is an event said to be gone?
 */
static bool
is_removed(const BookingJson *json)
{
	return booking_json_member(json, "@removed") != NULL;
}

/*
 * The version of an event; NULL if it cannot be known.
 */
static const char *
make_version(BookingPull *pull, const BookingJson *json,
			 const BookingJson *master)
{
	const char *own = booking_rest_etag(booking_json_text(json, "@odata.etag"));
	const char *shared;

	if (own == NULL || master == NULL)
		return own;
	shared = booking_rest_etag(booking_json_text(master, "@odata.etag"));
	return shared == NULL ? NULL :
		booking_graph_join(pull->arena, own, " ", shared);
}

/*
 * Room for one more item; NULL when memory is short.
 */
BookingPullItem *
booking_graph_item(BookingArena *arena, BookingPullChunk **first,
				   BookingPullChunk **last)
{
	BookingPullChunk *chunk = *last;

	if (chunk == NULL || chunk->nitems == BOOKING_PULL_CHUNK)
	{
		BookingPullChunk *more = booking_arena_alloc(arena, sizeof(*more));

		if (more == NULL)
			return NULL;
		if (chunk == NULL)
			*first = more;
		else
			chunk->next = more;
		*last = chunk = more;
	}
	return &chunk->items[chunk->nitems++];
}

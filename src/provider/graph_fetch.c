/*-------------------------------------------------------------------------
 *
 * graph_fetch.c
 *	  looks at events that a listing says are gone
 *
 * "@removed" means that an event is not in the window, not that it is not there
 * (learn.microsoft.com/graph/api/event-delta).  So each is read by its id; and
 * since one in Deleted Items may still be read, the calendar must show it at its
 * time.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_fetch.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "provider/graph.h"

/* all-day events are known by their dates: no zone is further from UTC */
#define WIDEST (INT64CONST(14) * 3600 * BOOKING_CIVIL_SECOND)

#define VIEW_QUERY "&$select=id,seriesMasterId&$top=100"

/* pages of one view */
#define MAX_PAGES 50

/* a chunk with room for one item */
#define BAD_SIZE (offsetof(BookingPullChunk, items) + sizeof(BookingPullItem))

/* kept in BookingPull.state */
typedef struct FetchState
{
	BookingGraphPlace place;
	const char *const *objects;
	int			nobjects;
	int			at;				/* the one that is looked at */
	const BookingJson *json;	/* of it, while the calendar is asked */
	int			npages;
	BookingPullChunk *items;
	BookingPullChunk *last;
	BookingPullChunk *bad;		/* room to say that one cannot be had */
} FetchState;

static bool ask(BookingPull *pull, BookingHttpRequest *request);
static bool came(BookingPull *pull, const BookingHttpResponse *response,
				 BookingHttpRequest *request);
static bool shown(BookingPull *pull, const BookingHttpResponse *response,
				  BookingHttpRequest *request);
static bool bring(BookingPull *pull, bool removed, const char *problem,
				  BookingHttpRequest *request);
static bool has_id(const BookingJson *json, const char *id);
static bool fetch_less(BookingPull *pull, const BookingHttpResponse *response);

/*
 * Begin to look at some events.
 */
void
booking_graph_fetch_begin(BookingPull *pull, const BookingGraphPlace *place,
						  const char *const *objects, int count,
						  BookingHttpRequest *request)
{
	FetchState *state = booking_arena_alloc(pull->arena, sizeof(*state));

	pull->state = state;
	if (state != NULL)
	{
		state->place = *place;
		state->bad = booking_arena_alloc(pull->arena, BAD_SIZE);
	}
	if (state == NULL || state->bad == NULL)
	{
		(void) booking_graph_pull_fail(pull, NULL, "out_of_memory");
		return;
	}
	state->objects = objects;
	state->nobjects = count;
	(void) ask(pull, request);
}

/*
 * Judge an answer: the event, or what the calendar shows.
 */
bool
booking_graph_fetch_next(BookingPull *pull,
						 const BookingHttpResponse *response,
						 BookingHttpRequest *request)
{
	FetchState *state = pull->state;

	if (response->transport == BOOKING_TRANSPORT_TOO_LARGE)
		return bring(pull, false, "object_too_large", request);
	return state->json == NULL ? came(pull, response, request) :
		shown(pull, response, request);
}

/*
 * Ask for the next event; when there is none, all have come.
 */
static bool
ask(BookingPull *pull, BookingHttpRequest *request)
{
	FetchState *state = pull->state;
	const char *url;

	state->json = NULL;
	state->npages = 0;
	if (state->at == state->nobjects)
	{
		memset(&pull->result, 0, sizeof(pull->result));
		pull->result.kind = BOOKING_PULL_FETCHED;
		pull->result.retry_after = -1;
		pull->result.items = state->items;
		return false;
	}
	url = booking_graph_event_url(pull->arena, &state->place,
								  state->objects[state->at]);
	if (url != NULL)
		url = booking_graph_join(pull->arena, url, "?", BOOKING_GRAPH_FIELDS);
	if (url == NULL)
		return fetch_less(pull, NULL);
	return booking_graph_pull_ask(pull, url, BOOKING_GRAPH_PREFER, request);
}

/*
 * An event has come, or is not there.
 */
static bool
came(BookingPull *pull, const BookingHttpResponse *response,
	 BookingHttpRequest *request)
{
	FetchState *state = pull->state;
	const BookingJson *json;
	BookingGraphEvent event;
	int64		margin;
	const char *url;

	if (booking_rest_answered(response, 404) ||
		booking_rest_answered(response, 410))
		return bring(pull, true, NULL, request);
	if (!booking_rest_answered(response, 200))
		return booking_graph_pull_fail(pull, response, NULL);
	if (booking_json_read(response->body, response->body_len, pull->arena,
						  &json) != BOOKING_JSON_OK ||
		!has_id(json, state->objects[state->at]))
		return booking_graph_pull_fail(pull, response, "answer_unreadable");
	booking_graph_event_read(json, pull->arena, &event);
	if (booking_arena_failed(pull->arena))
		return fetch_less(pull, response);
	state->json = json;
	if (!event.has_time)
		return bring(pull, false, NULL, request);
	margin = event.event.all_day ? WIDEST : 0;
	url = booking_graph_view_url(pull->arena, &state->place,
								 event.event.start - margin,
								 event.event.end + margin + BOOKING_CIVIL_SECOND,
								 VIEW_QUERY);
	if (url == NULL)
		return bring(pull, false, "not_delivered", request);
	return booking_graph_pull_ask(pull, url, BOOKING_GRAPH_PREFER, request);
}

/*
 * The calendar shows what it has at the time of the event.
 */
static bool
shown(BookingPull *pull, const BookingHttpResponse *response,
	  BookingHttpRequest *request)
{
	FetchState *state = pull->state;
	const BookingJson *json;
	const char *page;

	if (!booking_rest_answered(response, 200))
		return booking_graph_pull_fail(pull, response, NULL);
	if (booking_json_read(response->body, response->body_len, pull->arena,
						  &json) != BOOKING_JSON_OK ||
		booking_json_member(json, "value") == NULL)
		return booking_graph_pull_fail(pull, response, "answer_unreadable");
	for (const BookingJson *at = booking_json_elements(json, "value");
		 at != NULL; at = at->next)
	{
		if (has_id(at, state->objects[state->at]))
			return bring(pull, false, NULL, request);
	}
	page = booking_json_text(json, "@odata.nextLink");
	if (page == NULL)
		return bring(pull, true, NULL, request);
	if (++state->npages >= MAX_PAGES)
		return bring(pull, false, "not_delivered", request);
	if (!booking_graph_is_pinned(pull->arena, state->place.base, page))
		return booking_graph_pull_fail(pull, response, "origin_mismatch");
	return booking_graph_pull_ask(pull, page, BOOKING_GRAPH_PREFER, request);
}

/*
 * What became of an event is known: note it, and go on with the next one.
 */
static bool
bring(BookingPull *pull, bool removed, const char *problem,
	  BookingHttpRequest *request)
{
	FetchState *state = pull->state;
	BookingPullItem *item = booking_graph_item(pull->arena, &state->items,
											   &state->last);

	if (item == NULL)
		return fetch_less(pull, NULL);
	item->object = state->objects[state->at];
	item->removed = removed;
	item->problem = problem;
	if (!removed && problem == NULL)
	{
		item->etag =
			booking_rest_etag(booking_json_text(state->json, "@odata.etag"));
		item->data = booking_graph_object_write(state->json, NULL, pull->arena,
												&item->data_len);
		if (item->data == NULL)
			return fetch_less(pull, NULL);
	}
	state->at++;
	return ask(pull, request);
}

/*
 * Is it the event with this id?
 */
static bool
has_id(const BookingJson *json, const char *id)
{
	const char *found = booking_json_text(json, "id");

	return found != NULL && strcmp(found, id) == 0;
}

/*
 * The events cannot be had together; if it is one alone, it is bad.
 */
static bool
fetch_less(BookingPull *pull, const BookingHttpResponse *response)
{
	FetchState *state = pull->state;

	(void) booking_graph_pull_fail(pull, response, "object_too_large");
	pull->result.kind = BOOKING_PULL_TOO_LARGE;
	if (state->nobjects > 1)
		return false;

	/* the arena may have failed, so room was made before */
	state->bad->nitems = 1;
	state->bad->items[0].object = state->objects[0];
	state->bad->items[0].problem = "object_too_large";
	pull->result.kind = BOOKING_PULL_FETCHED;
	pull->result.items = state->bad;
	return false;
}

/*-------------------------------------------------------------------------
 *
 * google_series.c
 *	  fetches the instances of series of a calendar of Google
 *
 * Google expands a recurring event itself, with exceptions and all
 * (events.instances), so its rules are not ours to know.  Asked for are the
 * instances that meet the window; deleted ones are left out by default (G-REF,
 * showDeleted).
 *
 * Who was invited to one instance of a series sees that instance but not the
 * series, which is then answered 404.  Such instances are found in a list of
 * all events of the window, expanded, which serves all that are missing.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_series.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "codec/rfc3339.h"
#include "provider/google.h"
#include "provider/report.h"
#include "provider/url.h"

#define INSTANCE_QUERY \
	"?fields=nextPageToken,items(" \
	"id,etag,status,start,end,transparency,sequence,iCalUID,eventType," \
	"recurringEventId,originalStartTime," \
	"organizer%2Femail,attendees(email,responseStatus,optional,self)," \
	"extendedProperties%2Fprivate)&maxResults=250"

/* pages of one series, or of all events of the window */
#define MAX_PAGES 80

/* a chunk with room for one item */
#define BAD_SIZE (offsetof(BookingPullChunk, items) + sizeof(BookingPullItem))

/* one series that is fetched */
typedef struct Wanted
{
	const char *id;
	BookingJsonWriter writer;	/* of its instances, as an array */
	bool		missing;		/* looked for among all events */
	bool		unreadable;
	int			count;
} Wanted;

/* kept in BookingPull.state */
typedef struct SeriesState
{
	const char *events;			/* URL */
	const char *window;			/* end of the query */
	Wanted	   *wanted;
	int			nwanted;
	int			at;				/* the one that is asked for; nwanted: the list */
	int			npages;
	int			nmissing;
	BookingPullChunk *bad;		/* room to say that one cannot be had */
} SeriesState;

static const char *make_window(const BookingPullJob *job, BookingArena *arena);
static bool ask(BookingPull *pull, const char *page,
				BookingHttpRequest *request);
static bool judge(BookingPull *pull, const BookingHttpResponse *response,
				  BookingHttpRequest *request);
static void take(SeriesState *state, const BookingJson *json);
static void add(Wanted *wanted, const BookingJson *json);
static bool go_on(BookingPull *pull, BookingHttpRequest *request);
static bool bring(BookingPull *pull);
static bool fetch_less(BookingPull *pull, const BookingHttpResponse *response,
					   const char *problem);

/*
 * Begin to fetch some series.
 */
void
booking_google_series_begin(BookingPull *pull, const char *events,
							const char *const *objects, int count,
							BookingHttpRequest *request)
{
	SeriesState *state = booking_arena_alloc(pull->arena, sizeof(*state));

	pull->state = state;
	if (state != NULL)
	{
		state->events = events;
		state->window = make_window(pull->job, pull->arena);
		state->bad = booking_arena_alloc(pull->arena, BAD_SIZE);
		state->wanted = booking_arena_alloc(pull->arena,
											count * sizeof(Wanted));
	}
	if (booking_arena_failed(pull->arena) || state == NULL)
	{
		(void) booking_google_pull_fail(pull, NULL, "out_of_memory");
		return;
	}
	if (state->window == NULL)
	{
		(void) booking_google_pull_fail(pull, NULL, "no_window");
		return;
	}
	state->nwanted = count;
	for (int i = 0; i < count; i++)
	{
		state->wanted[i].id = objects[i];
		booking_json_begin(&state->wanted[i].writer, pull->arena);
		booking_json_open(&state->wanted[i].writer, NULL, '[');
	}
	(void) ask(pull, NULL, request);
}

/*
 * Judge an answer with instances.
 */
bool
booking_google_series_next(BookingPull *pull,
						   const BookingHttpResponse *response,
						   BookingHttpRequest *request)
{
	if (response->transport == BOOKING_TRANSPORT_TOO_LARGE)
		return fetch_less(pull, response, "object_too_large");
	return judge(pull, response, request);
}

/*
 * The part of a query that says the window: an event is in it if it ends after
 * timeMin and begins before timeMax (G-REF).  NULL if there is none.
 */
static const char *
make_window(const BookingPullJob *job, BookingArena *arena)
{
	char		from[BOOKING_RFC3339_SIZE];
	char		until[BOOKING_RFC3339_SIZE];

	if (job->from >= job->until || !booking_rfc3339_write(job->from, from) ||
		!booking_rfc3339_write(job->until, until))
		return NULL;
	return booking_report_text(arena, "&timeMin=%s&timeMax=%s",
							   booking_rest_segment(arena, from),
							   booking_rest_segment(arena, until));
}

/*
 * Ask for a page of instances, NULL being the first.
 */
static bool
ask(BookingPull *pull, const char *page, BookingHttpRequest *request)
{
	SeriesState *state = pull->state;
	BookingBuffer url;
	const char *segment;

	booking_buffer_init(&url, pull->arena);
	(void) booking_buffer_add_text(&url, state->events);
	if (state->at < state->nwanted)
	{
		segment = booking_rest_segment(pull->arena,
									   state->wanted[state->at].id);
		(void) booking_buffer_add_text(&url, "/");
		(void) booking_buffer_add_text(&url, segment == NULL ? "" : segment);
		(void) booking_buffer_add_text(&url, "/instances" INSTANCE_QUERY);
	}
	else
		(void) booking_buffer_add_text(&url, INSTANCE_QUERY
									   "&singleEvents=true");
	(void) booking_buffer_add_text(&url, state->window);
	if (page != NULL)
	{
		segment = booking_rest_segment(pull->arena, page);
		(void) booking_buffer_add_text(&url, "&pageToken=");
		(void) booking_buffer_add_text(&url, segment == NULL ? "" : segment);
	}
	if (booking_arena_failed(pull->arena))
		return fetch_less(pull, NULL, "object_too_large");
	memset(request, 0, sizeof(*request));
	request->method = "GET";
	request->url = url.data;
	request->read = true;
	return true;
}

/*
 * A page has come, or the series is not there.  400 is said of an event that
 * does not repeat any more, whose new state a listing brings.
 */
static bool
judge(BookingPull *pull, const BookingHttpResponse *response,
	  BookingHttpRequest *request)
{
	SeriesState *state = pull->state;
	bool		one = state->at < state->nwanted;
	const BookingJson *json;
	const char *page;

	if (one && (booking_rest_answered(response, 404) ||
				booking_rest_answered(response, 410)))
	{
		state->wanted[state->at].missing = true;
		state->nmissing++;
		return go_on(pull, request);
	}
	if (one && booking_rest_answered(response, 400))
	{
		state->wanted[state->at].unreadable = true;
		return go_on(pull, request);
	}
	if (!booking_rest_answered(response, 200))
		return booking_google_pull_fail(pull, response, NULL);
	switch (booking_json_read(response->body, response->body_len, pull->arena,
							  &json))
	{
		case BOOKING_JSON_OK:
			break;
		case BOOKING_JSON_MALFORMED:
			return booking_google_pull_fail(pull, response, "answer_unreadable");
		case BOOKING_JSON_TOO_LARGE:
			return fetch_less(pull, response, "object_too_large");
	}
	for (const BookingJson *at = booking_json_elements(json, "items");
		 at != NULL; at = at->next)
		take(state, at);
	page = booking_json_text(json, "nextPageToken");
	if (page == NULL)
		return go_on(pull, request);
	if (++state->npages >= MAX_PAGES)
		return fetch_less(pull, response, "object_too_large");
	return ask(pull, page, request);
}

/*
 * Take in an instance: of the series that is asked for, or, from the list, of
 * one that is missing.
 */
static void
take(SeriesState *state, const BookingJson *json)
{
	const char *series = booking_json_text(json, "recurringEventId");

	if (state->at < state->nwanted)
	{
		add(&state->wanted[state->at], json);
		return;
	}
	for (int i = 0; series != NULL && i < state->nwanted; i++)
	{
		if (state->wanted[i].missing && strcmp(state->wanted[i].id, series) == 0)
			add(&state->wanted[i], json);
	}
}

/*
 * Add an instance to the object of its series.
 */
static void
add(Wanted *wanted, const BookingJson *json)
{
	const char *status = booking_json_text(json, "status");

	if (status != NULL && strcmp(status, "cancelled") == 0)
		return;
	booking_json_put_value(&wanted->writer, NULL, json);
	wanted->count++;
}

/*
 * Go on with the next series, with the list if some are missing, or end.
 */
static bool
go_on(BookingPull *pull, BookingHttpRequest *request)
{
	SeriesState *state = pull->state;

	state->npages = 0;
	state->at++;
	if (state->at < state->nwanted ||
		(state->at == state->nwanted && state->nmissing > 0))
		return ask(pull, NULL, request);
	return bring(pull);
}

/*
 * The series that have come, one item for each that was asked for.  A missing
 * one that has no instance either is gone.
 */
static bool
bring(BookingPull *pull)
{
	SeriesState *state = pull->state;
	BookingPullChunk *last = NULL;

	memset(&pull->result, 0, sizeof(pull->result));
	for (int i = 0; i < state->nwanted; i++)
	{
		Wanted	   *wanted = &state->wanted[i];
		BookingPullItem *item = booking_google_item(pull->arena,
													&pull->result.items, &last);

		if (item == NULL)
			return fetch_less(pull, NULL, "object_too_large");
		item->object = wanted->id;
		if (wanted->unreadable)
			item->problem = "not_delivered";
		else if (wanted->missing && wanted->count == 0)
			item->removed = true;
		else
		{
			booking_json_close(&wanted->writer, ']');
			item->data = booking_json_end(&wanted->writer, &item->data_len);
		}
	}
	if (booking_arena_failed(pull->arena))
		return fetch_less(pull, NULL, "object_too_large");
	pull->result.kind = BOOKING_PULL_FETCHED;
	pull->result.retry_after = -1;
	return false;
}

/*
 * The series cannot be had together; if it is one alone, it is bad.
 */
static bool
fetch_less(BookingPull *pull, const BookingHttpResponse *response,
		   const char *problem)
{
	SeriesState *state = pull->state;

	(void) booking_google_pull_fail(pull, response, problem);
	pull->result.kind = BOOKING_PULL_TOO_LARGE;
	if (state->nwanted > 1)
		return false;

	/* the arena may have failed, so room was made before */
	state->bad->nitems = 1;
	state->bad->items[0].object = state->wanted[0].id;
	state->bad->items[0].problem = problem;
	pull->result.kind = BOOKING_PULL_FETCHED;
	pull->result.items = state->bad;
	return false;
}

/*-------------------------------------------------------------------------
 *
 * graph_locate.c
 *	  finds the event, and sees that it is on the calendar
 *
 * The event is read by its id where that is known, else searched by the marker.
 * Either finds what lies in Deleted Items or in another calendar too, so the
 * calendar is asked what it shows at the time of what was found.  For a create the
 * calendar is also asked what it shows at the time that was wanted, where an event
 * of ours may be that was cut off before it had its property
 * (microsoftgraph/msgraph-sdk-ruby#38).
 *
 * "Not there" is said only after the search, and never because a read failed.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_locate.c
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

static bool confirm(BookingTask *task, const BookingHttpResponse *response,
					BookingHttpRequest *request);
static void weigh(BookingTask *task, const BookingJson *json);
static bool none(BookingTask *task, BookingHttpRequest *request);
static bool not_shown(BookingTask *task, const BookingHttpResponse *response,
					  BookingHttpRequest *request);
static bool is_shown(const BookingGraphState *state, const BookingJson *item,
					 const char *event_id);
static bool is_ours(const BookingJson *json, const char *event_id);
static bool gone(const BookingHttpResponse *response);
static bool missing(BookingTask *task, BookingHttpRequest *request);
static bool read_list(BookingTask *task, const BookingHttpResponse *response,
					  const BookingJson **json);
static bool seeks_create(const BookingJob *job);

/*
 * Begin to look for the event.
 */
bool
booking_graph_locate(BookingTask *task, BookingHttpRequest *request)
{
	if (booking_graph_state(task)->id != NULL)
		return booking_graph_get(task, BOOKING_GRAPH_GET, request);
	return booking_graph_search(task, request);
}

/*
 * The answer to a GET of an event.
 */
bool
booking_graph_got(BookingTask *task, const BookingHttpResponse *response,
				  BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const BookingJson *json;
	const char *id;

	if (gone(response))
		return state->searched ? booking_rest_finish(task, &state->rest.absent) :
			booking_graph_search(task, request);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "event_unreadable");

	/* an answer about something else is none */
	id = booking_json_text(json, "id");
	if (id == NULL || strcmp(id, state->id) != 0)
		return booking_rest_fail(task, response, "event_unreadable");
	state->best = json;
	return confirm(task, response, request);
}

/*
 * The answer to the question for events that carry our marker.
 */
bool
booking_graph_searched(BookingTask *task, const BookingHttpResponse *response,
					   BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	BookingRestFound nowhere = {.response = response};
	const BookingJson *json;
	const char *page;

	if (gone(response))
		return missing(task, request);
	if (!read_list(task, response, &json))
		return false;
	for (const BookingJson *at = booking_json_elements(json, "value");
		 at != NULL; at = at->next)
		weigh(task, at);
	page = booking_json_text(json, "@odata.nextLink");
	if (page != NULL)
		return booking_graph_follow(task, page, request);
	state->searched = true;
	if (state->nours > 1 || (state->nours == 0 && state->ncopies > 1))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "several_events", &nowhere);
	if (state->best == NULL)
		return none(task, request);
	return confirm(task, response, request);
}

/*
 * Weigh an event that was found by the marker: one that has our transactionId
 * before one that has none, and that before one that has another's.  The filter
 * compares without case, so it may bring what is not ours at all.
 */
static void
weigh(BookingTask *task, const BookingJson *json)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *wanted = task->job->event_id;
	BookingGraphEvent event;

	booking_graph_event_read(json, task->arena, &event);
	if (event.id == NULL || strlen(event.id) > BOOKING_GRAPH_MAX_ID)
		return;
	if (event.event.uid != NULL && strcmp(event.event.uid, wanted) == 0)
	{
		state->nours++;
		state->best = json;
	}
	else if (event.event.marker == NULL ||
			 strcmp(event.event.marker, wanted) != 0)
		return;
	else if (event.event.uid == NULL)
	{
		state->ncopies++;
		if (state->nours == 0)
			state->best = json;
	}
	else if (state->best == NULL)
		state->best = json;
}

/*
 * Something was found: ask the calendar whether it shows it at its time.
 */
static bool
confirm(BookingTask *task, const BookingHttpResponse *response,
		BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	BookingGraphEvent event;
	int64		margin;

	booking_graph_event_read(state->best, task->arena, &event);
	if (booking_arena_failed(task->arena))
		return booking_rest_fail(task, response, "out_of_memory");
	if (event.event.canceled && is_ours(state->best, task->job->event_id))
		return booking_graph_deleted(task, response);
	if (!event.has_time)
		return booking_rest_fail(task, response, "event_unreadable");
	margin = event.event.all_day ? WIDEST : 0;
	state->at_wanted = false;
	return booking_graph_view(task, event.event.start - margin,
							  event.event.end + margin + BOOKING_CIVIL_SECOND,
							  request);
}

/*
 * No event carries our marker.  For a create see what is on the calendar at the
 * time that was wanted.
 */
static bool
none(BookingTask *task, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	int64		margin = state->wanted.all_day ? WIDEST : 0;

	state->best = NULL;
	if (!seeks_create(task->job))
		return booking_rest_finish(task, &state->rest.absent);
	state->at_wanted = true;
	return booking_graph_view(task, state->wanted.start - margin,
							  state->wanted.end + margin + BOOKING_CIVIL_SECOND,
							  request);
}

/*
 * The answer to the question what is on the calendar.
 */
bool
booking_graph_viewed(BookingTask *task, const BookingHttpResponse *response,
					 BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const BookingJson *json;
	const char *page;

	if (gone(response))
		return missing(task, request);
	if (!read_list(task, response, &json))
		return false;
	for (const BookingJson *at = booking_json_elements(json, "value");
		 at != NULL; at = at->next)
	{
		if (!is_shown(state, at, task->job->event_id))
			continue;

		/* of a series the master counts, which was found before */
		if (state->at_wanted ||
			booking_json_text(at, "seriesMasterId") == NULL)
			state->best = at;
		return booking_graph_decide(task, response, request);
	}
	page = booking_json_text(json, "@odata.nextLink");
	if (page != NULL)
		return booking_graph_follow(task, page, request);
	return not_shown(task, response, request);
}

/*
 * The calendar does not show what was looked for.
 */
static bool
not_shown(BookingTask *task, const BookingHttpResponse *response,
		  BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	/* ours, and elsewhere: somebody deleted it, or moved it away */
	if (!state->at_wanted && is_ours(state->best, task->job->event_id))
		return booking_graph_deleted(task, response);
	if (!state->at_wanted && !state->searched)
		return booking_graph_search(task, request);
	if (!state->at_wanted && state->hint == NULL)
		return none(task, request);
	if (state->hint == NULL)
		return booking_rest_finish(task, &state->rest.absent);

	/* what Graph says is in the way; asked for once */
	state->id = state->hint;
	state->hint = NULL;
	return booking_graph_get(task, BOOKING_GRAPH_GET, request);
}

/*
 * Is this what was looked for: the event that was found, or an occurrence of
 * it; or, where nothing was found, one that has our transactionId?
 */
static bool
is_shown(const BookingGraphState *state, const BookingJson *item,
		 const char *event_id)
{
	const char *ids[2];
	const char *wanted;

	if (state->at_wanted)
		return is_ours(item, event_id);
	wanted = booking_json_text(state->best, "id");
	ids[0] = booking_json_text(item, "id");
	ids[1] = booking_json_text(item, "seriesMasterId");
	return (ids[0] != NULL && strcmp(ids[0], wanted) == 0) ||
		(ids[1] != NULL && strcmp(ids[1], wanted) == 0);
}

/*
 * Does an event have our transactionId?
 */
static bool
is_ours(const BookingJson *json, const char *event_id)
{
	const char *uid = booking_json_text(json, "transactionId");

	return uid != NULL && strcmp(uid, event_id) == 0;
}

/*
 * The answer to the question whether the calendar is there.
 */
bool
booking_graph_looked(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGraphState *state = booking_graph_state(task);
	BookingRestFound nowhere = {.response = response};

	if (gone(response))
		return booking_rest_settle(task, BOOKING_OUTCOME_CALENDAR_GONE,
								   "calendar_gone", &nowhere);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);

	/* it is, but a moment ago its events were not */
	if (state->nmissing > 0)
		return booking_rest_fail(task, response, "answer_incomplete");
	return booking_rest_finish(task, &state->rest.absent);
}

/*
 * Does an answer say that there is nothing?
 */
static bool
gone(const BookingHttpResponse *response)
{
	return booking_rest_answered(response, 404) ||
		booking_rest_answered(response, 410);
}

/*
 * The events of the calendar are not there: ask for the calendar before it
 * counts.
 */
static bool
missing(BookingTask *task, BookingHttpRequest *request)
{
	booking_graph_state(task)->nmissing++;
	return booking_graph_ask_calendar(task, BOOKING_GRAPH_CALENDAR, request);
}

/*
 * Read a list of events; false if it is none, and the task has ended.
 */
static bool
read_list(BookingTask *task, const BookingHttpResponse *response,
		  const BookingJson **json)
{
	const BookingJson *value;

	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	if (booking_json_read(response->body, response->body_len, task->arena,
						  json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "answer_unreadable");
	value = booking_json_member(*json, "value");
	if (value == NULL || value->kind != BOOKING_JSON_ARRAY)
		return booking_rest_fail(task, response, "answer_unreadable");
	return true;
}

/*
 * Is it the event of a create that is sought?
 */
static bool
seeks_create(const BookingJob *job)
{
	return job->kind == BOOKING_JOB_CREATE ||
		(job->kind == BOOKING_JOB_LOOKUP &&
		 job->looked_up == BOOKING_JOB_CREATE);
}

/*-------------------------------------------------------------------------
 *
 * graph_request.c
 *	  the requests of the Microsoft Graph adapter
 *
 * Each function builds one request, notes which step its answer belongs to, and
 * returns true; or it ends the task, as the state's doubt says, and returns
 * false.  Credentials are added by the engine.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_request.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/rfc3339.h"
#include "provider/graph.h"

/* events that carry our marker (api/singlevaluelegacyextendedproperty-get) */
#define SEARCH_FILTER \
	"&$filter=singleValueExtendedProperties%2FAny(ep%3A%20ep%2Fid%20eq%20%27" \
	BOOKING_GRAPH_MARKER_CODED "%27%20and%20ep%2Fvalue%20eq%20%27"

static bool begin(BookingTask *task, BookingGraphStep step, const char *method,
				  const char *url, BookingHttpRequest *request);
static bool ask(BookingTask *task, BookingGraphStep step, const char *url,
				BookingHttpRequest *request);
static void add_json(BookingHttpRequest *request, const char *body, size_t len);

/*
 * Create the event of the job's body, which has our id.
 */
bool
booking_graph_create(BookingTask *task, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *url = booking_graph_join(task->arena, state->place.calendar,
										 "/events", "");

	if (!begin(task, BOOKING_GRAPH_CREATE, "POST", url, request))
		return false;
	add_json(request, task->job->body, task->job->body_len);
	state->rest.nwrites++;
	return true;
}

/*
 * Change the version of the event that has the ETag, and in it only what is to
 * differ.
 */
bool
booking_graph_update(BookingTask *task, const char *etag,
					 BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *url = booking_graph_event_url(task->arena, &state->place,
											  state->id);
	char	   *body;
	size_t		len;

	if (!booking_graph_patch_write(task->job->wanted, task->job->previous,
								   task->arena, &body, &len))
	{
		memset(request, 0, sizeof(*request));
		return booking_rest_fail(task, NULL, "out_of_memory");
	}
	if (!begin(task, BOOKING_GRAPH_UPDATE, "PATCH", url, request) ||
		!booking_rest_condition(task, etag, request))
		return false;
	add_json(request, body, len);
	state->rest.nwrites++;
	return true;
}

/*
 * Delete the version of the event that has the ETag.
 */
bool
booking_graph_delete(BookingTask *task, const char *etag,
					 BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *url = booking_graph_event_url(task->arena, &state->place,
											  state->id);

	if (!begin(task, BOOKING_GRAPH_DELETE, "DELETE", url, request) ||
		!booking_rest_condition(task, etag, request))
		return false;
	state->rest.nwrites++;
	return true;
}

/*
 * Read the event by its id.
 */
bool
booking_graph_get(BookingTask *task, BookingGraphStep step,
				  BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *url = booking_graph_event_url(task->arena, &state->place,
											  state->id);

	if (url != NULL)
		url = booking_graph_join(task->arena, url, "?", BOOKING_GRAPH_FIELDS);
	return ask(task, step, url, request);
}

/*
 * Look for events that carry our marker.
 */
bool
booking_graph_search(BookingTask *task, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *marker = booking_rest_segment(task->arena, task->job->event_id);
	const char *url = NULL;

	if (marker != NULL)
		url = booking_graph_join(task->arena, state->place.calendar,
								 "/events?" BOOKING_GRAPH_FIELDS "&$top=50"
								 SEARCH_FILTER, marker);
	if (url != NULL)
		url = booking_graph_join(task->arena, url, "%27)", "");
	state->nours = state->ncopies = 0;
	state->best = NULL;
	return ask(task, BOOKING_GRAPH_SEARCH, url, request);
}

/*
 * Ask what is on the calendar at a time.
 */
bool
booking_graph_view(BookingTask *task, int64 from, int64 until,
				   BookingHttpRequest *request)
{
	return ask(task, BOOKING_GRAPH_VIEW,
			   booking_graph_view_url(task->arena,
									  &booking_graph_state(task)->place, from,
									  until, "&" BOOKING_GRAPH_FIELDS
									  "&$top=100"), request);
}

/*
 * Go on at the next page of a search or a view.
 */
bool
booking_graph_follow(BookingTask *task, const char *link,
					 BookingHttpRequest *request)
{
	if (!booking_graph_is_pinned(task->arena,
								 booking_graph_state(task)->place.base, link))
		return booking_rest_fail(task, NULL, "origin_mismatch");
	return ask(task, (BookingGraphStep) task->step, link, request);
}

/*
 * Ask whether the calendar is still there.
 */
bool
booking_graph_ask_calendar(BookingTask *task, BookingGraphStep step,
						   BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	return ask(task, step,
			   booking_graph_join(task->arena, state->place.calendar,
								  "?$select=id,canEdit", ""), request);
}

/*
 * Ask which calendars the user has.
 */
bool
booking_graph_ask_list(BookingTask *task, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	return ask(task, BOOKING_GRAPH_CHECK_LIST,
			   booking_graph_join(task->arena, state->place.mailbox,
								  "/calendars?$select=id,name&$top=100", ""),
			   request);
}

/*
 * URL of what is on a calendar in a time, series being expanded; NULL when
 * memory is short or the time has no four digits for its year.
 */
const char *
booking_graph_view_url(BookingArena *arena, const BookingGraphPlace *place,
					   int64 from, int64 until, const char *query)
{
	char		start[BOOKING_RFC3339_SIZE];
	char		end[BOOKING_RFC3339_SIZE];
	const char *url;
	const char *times[2];

	if (!booking_rfc3339_write(from, start) || !booking_rfc3339_write(until, end))
		return NULL;
	times[0] = booking_rest_segment(arena, start);
	times[1] = booking_rest_segment(arena, end);
	if (times[0] == NULL || times[1] == NULL)
		return NULL;
	url = booking_graph_join(arena, place->calendar,
							 "/calendarView?startDateTime=", times[0]);
	if (url != NULL)
		url = booking_graph_join(arena, url, "&endDateTime=", times[1]);
	return url == NULL ? NULL : booking_graph_join(arena, url, query, "");
}

/*
 * Begin a request with what every one has.
 */
static bool
begin(BookingTask *task, BookingGraphStep step, const char *method,
	  const char *url, BookingHttpRequest *request)
{
	if (!booking_rest_begin(task, step, method, url, request))
		return false;
	booking_rest_header(request, "Prefer", BOOKING_GRAPH_PREFER);
	return true;
}

/*
 * A request that changes nothing.
 */
static bool
ask(BookingTask *task, BookingGraphStep step, const char *url,
	BookingHttpRequest *request)
{
	if (!begin(task, step, "GET", url, request))
		return false;
	request->read = true;
	return true;
}

/*
 * Give a request a body of JSON.
 */
static void
add_json(BookingHttpRequest *request, const char *body, size_t len)
{
	booking_rest_header(request, "Content-Type", BOOKING_GRAPH_JSON);
	request->body = body;
	request->body_len = len;
}

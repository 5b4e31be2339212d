/*-------------------------------------------------------------------------
 *
 * graph.c
 *	  calendars of Microsoft 365, by Microsoft Graph v1.0
 *
 * One booking is one event.  Its id is Graph's, so what makes it ours is our id in
 * transactionId, by which Graph knows a create that it has seen, and in an
 * extended property, by which it is found.  What is relied on, by source (pages of
 * learn.microsoft.com/graph, unless said otherwise):
 *
 * - A create with a transactionId that was used is not done again: the same
 *   content is answered with the event, another one with
 *   ErrorDuplicateTransactionId under 400 or 409 (M-TYPES, transactionId; public
 *   clients).  How long Graph remembers is not documented, so whoever sends again
 *   has looked before, in two ways: by the property, and on the calendar.
 * - The property is not in the answer to a create (api/singlevaluelegacyextended
 *   property-post-singlevalueextendedproperties), transactionId is.
 * - A filter by the property searches the whole mailbox (...-get), and an event
 *   that was deleted may still be found by its id, in Deleted Items.  So what was
 *   found counts only if the calendar shows it at its time (api/calendar-list-
 *   calendarview).
 * - A create, and a delete by the organizer, is mailed to all attendees, and
 *   nothing can prevent it (api/user-post-events, api/event-delete).
 * - Ids stay the same if every request asks for that (outlook-immutable-id).
 * - DELETE comes before POST .../cancel, which has no token by which a repeat
 *   would be recognized (api/event-cancel).
 * - Refusals are told apart by "code", never by "message" (errors).
 *
 * The organizer of an event is the owner of its calendar, whoever was wanted, and
 * Exchange writes its text anew, so neither is compared.  Whether an update that
 * changes texts only has arrived is told by our revision, which comes with it.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph.c
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
#include "provider/url.h"

static bool write_body(const BookingEvent *event, int64 stamp,
					   BookingArena *arena, char **body, size_t *len);
static bool read_body(const char *body, size_t len, BookingArena *arena,
					  BookingEvent *event);
static void start(BookingTask *task, BookingHttpRequest *request);
static bool next(BookingTask *task, const BookingHttpResponse *response,
				 BookingHttpRequest *request);
static bool judge(BookingTask *task, const BookingHttpResponse *response,
				  BookingHttpRequest *request);
static bool prepare(BookingTask *task);
static void first_request(BookingTask *task, BookingHttpRequest *request);
static BookingEvent comparable(const BookingEvent *event);

const BookingProvider booking_provider_graph = {
	.name = "graph",
	.base_url = "https://graph.microsoft.com/v1.0",
	/* the tenant is part of the URL, so there is none for all */
	.token_url = "",
	.scope = "https://graph.microsoft.com/.default",
	.names_events = false,
	.tells_busy = true,
	.always_notifies = true,
	.lists_window = true,
	.create_is_idempotent = true,
	.absence_is_proof = true,
	.writes_in_series = false,
	/* four at a time for an app and a mailbox (throttling-limits) */
	.max_in_flight = 4,
	.write_body = write_body,
	.read_body = read_body,
	.start = start,
	.next = next,
	.pull_list = booking_graph_pull_list,
	.pull_fetch = booking_graph_pull_fetch,
	.pull_next = booking_graph_pull_next,
	.pull_abandon = booking_graph_pull_abandon,
	.read_object = booking_graph_object_read,
	.busy_start = booking_graph_busy_start,
	.busy_next = booking_graph_busy_next,
	.pushes = true,
	.renews_channels = true,
	.channel_start = booking_graph_channel_start,
	.channel_judge = booking_graph_channel_judge
};

/*
 * Body of a create; false when the event cannot be expressed.
 */
static bool
write_body(const BookingEvent *event, int64 stamp, BookingArena *arena,
		   char **body, size_t *len)
{
	return booking_graph_event_write(event, arena, body, len);
}

/*
 * Event of a stored body; false when it is none that we wrote.
 */
static bool
read_body(const char *body, size_t len, BookingArena *arena,
		  BookingEvent *event)
{
	const BookingJson *json;
	BookingGraphEvent found;

	if (booking_json_read(body, len, arena, &json) != BOOKING_JSON_OK)
		return false;
	booking_graph_event_read(json, arena, &found);
	*event = found.event;
	return event->uid != NULL && event->marker != NULL && found.has_time &&
		!booking_arena_failed(arena);
}

/*
 * Build the first request.  If there is none, because the job cannot be done,
 * the request has no method and the outcome is set.
 */
static void
start(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingGraphState *state;

	memset(request, 0, sizeof(*request));
	memset(&task->outcome, 0, sizeof(task->outcome));
	task->step = BOOKING_GRAPH_NONE;
	task->nsteps = 0;
	task->nfindings = 0;
	state = booking_arena_alloc(task->arena, sizeof(*state));
	task->state = state;
	if (state == NULL)
	{
		booking_report_end(task, booking_rest_is_write(job) ?
						   BOOKING_OUTCOME_NOT_EXECUTED :
						   BOOKING_OUTCOME_FAILED, "out_of_memory",
						   NULL, NULL);
		return;
	}
	booking_rest_expect(task);
	if (job->kind == BOOKING_JOB_CHECK)
		(void) booking_graph_check(task, request);
	else if (prepare(task))
		first_request(task, request);
}

/*
 * Which request a job begins with.
 */
static void
first_request(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingGraphState *state = booking_graph_state(task);
	const char *etag = state->id == NULL ? NULL : booking_rest_etag(job->etag);

	if (job->kind == BOOKING_JOB_CREATE)
		(void) booking_graph_create(task, request);
	else if (job->kind == BOOKING_JOB_UPDATE && etag != NULL &&
			 state->has_previous)
		(void) booking_graph_update(task, etag, request);
	else if (job->kind == BOOKING_JOB_CANCEL && etag != NULL)
		(void) booking_graph_delete(task, etag, request);
	else if (job->kind == BOOKING_JOB_CONFERENCE && state->id != NULL)
		(void) booking_graph_get(task, BOOKING_GRAPH_CONFERENCE, request);
	else
		(void) booking_graph_locate(task, request);
}

/*
 * Judge an answer; when the task has ended say what became of a conference.
 */
static bool
next(BookingTask *task, const BookingHttpResponse *response,
	 BookingHttpRequest *request)
{
	bool		more = judge(task, response, request);

	if (!more)
		booking_rest_tell_conference(task);
	return more;
}

/*
 * Judge an answer by the step it belongs to.
 */
static bool
judge(BookingTask *task, const BookingHttpResponse *response,
	  BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	switch ((BookingGraphStep) task->step)
	{
		case BOOKING_GRAPH_NONE:
			return false;
		case BOOKING_GRAPH_CREATE:
		case BOOKING_GRAPH_UPDATE:
		case BOOKING_GRAPH_DELETE:
			return booking_graph_wrote(task, response, request);
		case BOOKING_GRAPH_POLL:
			return booking_graph_polled(task, response);
		case BOOKING_GRAPH_GET:
			return booking_graph_got(task, response, request);
		case BOOKING_GRAPH_SEARCH:
			return booking_graph_searched(task, response, request);
		case BOOKING_GRAPH_VIEW:
			return booking_graph_viewed(task, response, request);
		case BOOKING_GRAPH_CALENDAR:
			return booking_graph_looked(task, response);
		case BOOKING_GRAPH_CHECK_CALENDAR:
		case BOOKING_GRAPH_CHECK_LIST:
			return booking_graph_checked(task, response, request);
		case BOOKING_GRAPH_CONFERENCE:
			return booking_graph_conference_got(task, response);
	}
	return false;
}

/*
 * Find the URLs of mailbox and calendar, and the events as they can be
 * compared; false if the job cannot be done.
 */
static bool
prepare(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingGraphState *state = booking_graph_state(task);
	BookingOutcomeKind kind = booking_rest_is_write(job) ?
		BOOKING_OUTCOME_REJECTED : BOOKING_OUTCOME_FAILED;
	const char *problem = "incomplete_job";

	if (!booking_rest_is_complete(job) ||
		!booking_graph_place(task->arena, job->base_url, job->collection,
							 &state->place, &problem))
	{
		if (strcmp(problem, "out_of_memory") == 0)
			return booking_rest_fail(task, NULL, problem);
		booking_rest_pend(task, &task->outcome, kind, problem, NULL);
		return false;
	}
	state->id = job->href;
	state->has_wanted = job->wanted != NULL;
	if (state->has_wanted)
		state->wanted = comparable(job->wanted);
	state->has_previous = job->previous != NULL;
	if (state->has_previous)
		state->previous = comparable(job->previous);
	return true;
}

/*
 * An event without what comes back as something else.
 */
static BookingEvent
comparable(const BookingEvent *event)
{
	BookingEvent result = *event;

	result.organizer_email = result.organizer_name = NULL;
	result.description = NULL;
	return result;
}

/*
 * Find where a calendar is; false, and what is wrong, if it is nowhere that we
 * would send a request to.
 */
bool
booking_graph_place(BookingArena *arena, const char *base_url,
					const char *collection, BookingGraphPlace *place,
					const char **problem)
{
	const char *calendar;
	char	   *url;

	*problem = "bad_url";
	place->base = booking_graph_base(arena, base_url, problem);
	if (place->base == NULL)
		return false;
	*problem = "out_of_memory";
	place->mailbox = booking_graph_mailbox(arena, place->base, collection,
										   &calendar);
	if (place->mailbox == NULL)
		return false;
	if (calendar[0] == '\0')
	{
		*problem = "incomplete_job";
		return false;
	}
	if (strcmp(calendar, "primary") == 0)
		place->calendar = booking_graph_join(arena, place->mailbox,
											 "/calendar", "");
	else if (booking_url_member(place->mailbox, "calendars", "/", arena,
								&url) != BOOKING_URL_OK ||
			 booking_url_member(url, calendar, "", arena,
								&url) != BOOKING_URL_OK)
		return false;
	else
		place->calendar = url;
	return place->calendar != NULL;
}

/*
 * URL of the mailbox that a calendar is in: "user/id", or "id" of whoever signed
 * in.  Ids of Graph hold no slash.  NULL when memory is short.
 */
const char *
booking_graph_mailbox(BookingArena *arena, const char *base,
					  const char *collection, const char **calendar)
{
	const char *slash = collection == NULL ? NULL : strchr(collection, '/');
	char	   *user;
	char	   *url;

	*calendar = collection;
	if (slash == NULL)
		return booking_graph_join(arena, base, "/me", "");
	*calendar = slash + 1;
	user = booking_arena_copy(arena, collection, slash - collection);
	if (user == NULL ||
		booking_url_member(base, "users", "/", arena, &url) != BOOKING_URL_OK ||
		booking_url_member(url, user, "", arena, &url) != BOOKING_URL_OK)
		return NULL;
	return url;
}

/*
 * URL of the API, without a slash at its end; NULL, and what is wrong, if the
 * account's is none that we would send a request to.
 */
const char *
booking_graph_base(BookingArena *arena, const char *base_url,
				   const char **problem)
{
	char	   *url = NULL;
	size_t		len;

	switch (base_url == NULL ? BOOKING_URL_MALFORMED :
			booking_url_join(base_url, "", arena, &url))
	{
		case BOOKING_URL_OK:
			break;
		case BOOKING_URL_MEMORY:
			*problem = "out_of_memory";
			return NULL;
		case BOOKING_URL_MALFORMED:
		case BOOKING_URL_ORIGIN:
			*problem = "bad_url";
			return NULL;
	}
	len = strlen(url);
	while (len > 0 && url[len - 1] == '/')
		url[--len] = '\0';
	return url;
}

/*
 * URL of an event by its id; NULL when memory is short.
 */
const char *
booking_graph_event_url(BookingArena *arena, const BookingGraphPlace *place,
						const char *id)
{
	char	   *url;

	if (booking_url_member(place->mailbox, "events", "/", arena,
						   &url) != BOOKING_URL_OK ||
		booking_url_member(url, id, "", arena, &url) != BOOKING_URL_OK)
		return NULL;
	return url;
}

/*
 * Does a link of Graph lead where the account is?  Links are opaque and come
 * with their whole query (delta-query-overview); whoever follows one sends the
 * token along, so it must stay at the API that was configured.
 */
bool
booking_graph_is_pinned(BookingArena *arena, const char *base,
						const char *link)
{
	const char *folder = booking_graph_join(arena, base, "/", "");
	char	   *path = booking_arena_copy(arena, link, strcspn(link, "?"));
	char	   *url;

	for (const char *p = link; *p != '\0'; p++)
	{
		if ((unsigned char) *p <= ' ' || (unsigned char) *p >= 0x7f || *p == '#')
			return false;
	}
	return folder != NULL && path != NULL && strstr(path, "://") != NULL &&
		booking_url_join(base, path, arena, &url) == BOOKING_URL_OK &&
		booking_url_within(folder, url);
}

/*
 * Three texts in one; NULL when memory is short.
 */
const char *
booking_graph_join(BookingArena *arena, const char *first, const char *second,
				   const char *third)
{
	BookingBuffer buffer;

	booking_buffer_init(&buffer, arena);
	(void) booking_buffer_add_text(&buffer, first);
	(void) booking_buffer_add_text(&buffer, second);
	(void) booking_buffer_add_text(&buffer, third);
	return booking_arena_failed(arena) ? NULL : buffer.data;
}

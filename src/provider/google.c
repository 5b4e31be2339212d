/*-------------------------------------------------------------------------
 *
 * google.c
 *	  calendars of Google, by the Google Calendar API v3
 *
 * One booking is one event whose id is ours.  What is relied on, by source:
 *
 * G-REF	the reference of Calendar API v3, as the types of the npm package
 *			@googleapis/calendar 16.0.0 have it
 * G-ERR	https://developers.google.com/workspace/calendar/api/guides/errors
 * G-SYNC	https://developers.google.com/calendar/v3/sync
 * G-VER	https://developers.google.com/calendar/api/guides/version-resources
 * G-QUOTA	https://developers.google.com/workspace/calendar/api/guides/quota
 *
 * - An id is used once: a deleted event keeps it, and an insert with it is
 *	 answered 409 for ever (googleapis/google-api-ruby-client#1811,
 *	 google-api-python-client#210).
 * - A duplicate id need not be noticed at once, because the backend is
 *	 distributed (G-REF, Event.id).  So after an answer that was lost the event
 *	 is looked for before anything is sent again, and when it is there, others
 *	 with our marker are looked for too.
 * - A deleted event answers 200 with the status "cancelled" (G-REF, status).
 * - There is no conditional insert; a patch and a delete demand the ETag
 *	 (G-VER).  An answer of a guest changes it as well, so 412 is no sign of a
 *	 person: the event is read and judged by what it means.
 * - Refusals are told apart by "reason", not by the number (G-ERR).
 *
 * The organizer of an event is the owner of its calendar, whoever was wanted
 * (G-REF, organizer: read-only but for imports), so that it is not compared.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "provider/google.h"
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

const BookingProvider booking_provider_google = {
	.name = "google",
	.base_url = "https://www.googleapis.com/calendar/v3",
	.token_url = "https://oauth2.googleapis.com/token",
	.scope = "https://www.googleapis.com/auth/calendar",
	.names_events = true,
	.tells_busy = true,
	/* not promised, see above: whoever sends again has looked before */
	.create_is_idempotent = false,
	.absence_is_proof = true,
	/* quick writes to one calendar may be limited at any time (G-QUOTA) */
	.writes_in_series = true,
	.max_in_flight = 4,
	.write_body = write_body,
	.read_body = read_body,
	.start = start,
	.next = next,
	.pull_list = booking_google_pull_list,
	.pull_fetch = booking_google_pull_fetch,
	.pull_next = booking_google_pull_next,
	.pull_abandon = booking_google_pull_abandon,
	.read_object = booking_google_object_read,
	.busy_start = booking_google_busy_start,
	.busy_next = booking_google_busy_next,
	.pushes = true,
	.channel_start = booking_google_channel_start,
	.channel_judge = booking_google_channel_judge
};

/* reasons that ask to wait (G-ERR; the last two: G-QUOTA and public clients) */
static const struct
{
	const char *reason;
	BookingGoogleRefusal refusal;
}			reasons[] = {
	{"rateLimitExceeded", BOOKING_GOOGLE_RATE},
	{"userRateLimitExceeded", BOOKING_GOOGLE_RATE},
	{"RATE_LIMIT_EXCEEDED", BOOKING_GOOGLE_RATE},
	{"RESOURCE_EXHAUSTED", BOOKING_GOOGLE_RATE},
	{"quotaExceeded", BOOKING_GOOGLE_QUOTA},
	{"dailyLimitExceeded", BOOKING_GOOGLE_QUOTA},
	{"variableTermLimitExceeded", BOOKING_GOOGLE_QUOTA},
};

/*
 * Body of an insert; false when the event cannot be expressed.
 */
static bool
write_body(const BookingEvent *event, int64 stamp, BookingArena *arena,
		   char **body, size_t *len)
{
	return booking_google_event_write(event, arena, body, len);
}

/*
 * Event of a stored body; false when it is none that we wrote.
 */
static bool
read_body(const char *body, size_t len, BookingArena *arena,
		  BookingEvent *event)
{
	const BookingJson *json;
	BookingGoogleEvent found;

	if (booking_json_read(body, len, arena, &json) != BOOKING_JSON_OK)
		return false;
	booking_google_event_read(json, arena, &found);
	*event = found.event;
	return found.id != NULL && event->marker != NULL && found.has_time &&
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
	BookingGoogleState *state;

	memset(request, 0, sizeof(*request));
	memset(&task->outcome, 0, sizeof(task->outcome));
	task->step = BOOKING_GOOGLE_NONE;
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
		(void) booking_google_check(task, request);
	else if (prepare(task))
		first_request(task, request);
}

/*
 * Which request a job begins with.  A patch that changes who is invited must
 * know what the others have answered, so it reads first.
 */
static void
first_request(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingGoogleState *state = booking_google_state(task);
	const char *etag = booking_rest_etag(job->etag);

	if (job->kind == BOOKING_JOB_CREATE)
		(void) booking_google_insert(task, request);
	else if (job->kind == BOOKING_JOB_UPDATE && etag != NULL &&
			 state->has_previous &&
			 booking_google_same_attendees(&state->wanted, &state->previous))
		(void) booking_google_patch(task, etag, NULL, request);
	else if (job->kind == BOOKING_JOB_CANCEL && etag != NULL)
		(void) booking_google_delete(task, etag, request);
	else
		(void) booking_google_get(task, job->kind == BOOKING_JOB_CONFERENCE ?
								  BOOKING_GOOGLE_CONFERENCE :
								  BOOKING_GOOGLE_GET, request);
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
	switch ((BookingGoogleStep) task->step)
	{
		case BOOKING_GOOGLE_NONE:
			return false;
		case BOOKING_GOOGLE_INSERT:
		case BOOKING_GOOGLE_PATCH:
		case BOOKING_GOOGLE_DELETE:
			return booking_google_wrote(task, response, request);
		case BOOKING_GOOGLE_POLL:
			return booking_google_polled(task, response);
		case BOOKING_GOOGLE_GET:
			return booking_google_got(task, response, request);
		case BOOKING_GOOGLE_SEARCH:
			return booking_google_searched(task, response, request);
		case BOOKING_GOOGLE_CALENDAR:
			return booking_google_looked(task, response);
		case BOOKING_GOOGLE_CHECK_CALENDAR:
		case BOOKING_GOOGLE_CHECK_LIST:
			return booking_google_checked(task, response, request);
		case BOOKING_GOOGLE_CONFERENCE:
			return booking_google_conference_got(task, response);
	}
	return false;
}

/*
 * Find the URLs of calendar and event, and the events as Google can hold them;
 * false if the job cannot be done.
 */
static bool
prepare(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingGoogleState *state = booking_google_state(task);
	BookingOutcomeKind kind = booking_rest_is_write(job) ?
		BOOKING_OUTCOME_REJECTED : BOOKING_OUTCOME_FAILED;
	const char *problem = "incomplete_job";
	char	   *url;

	if (booking_rest_is_complete(job))
		state->base = booking_google_base(task->arena, job->base_url, &problem);
	if (state->base == NULL)
	{
		if (strcmp(problem, "out_of_memory") == 0)
			return booking_rest_fail(task, NULL, problem);
		booking_rest_pend(task, &task->outcome, kind, problem, NULL);
		return false;
	}
	state->calendar = booking_google_calendar(task->arena, state->base,
											  job->collection);
	if (state->calendar == NULL ||
		booking_url_member(state->calendar, "events", "/", task->arena,
						   &url) != BOOKING_URL_OK ||
		booking_url_member(url, job->event_id, "", task->arena,
						   &url) != BOOKING_URL_OK)
		return booking_rest_fail(task, NULL, "out_of_memory");
	state->event = url;

	state->has_wanted = job->wanted != NULL;
	if (state->has_wanted)
		state->wanted = *job->wanted;
	state->has_previous = job->previous != NULL;
	if (state->has_previous)
		state->previous = *job->previous;
	state->wanted.organizer_email = state->wanted.organizer_name = NULL;
	state->previous.organizer_email = state->previous.organizer_name = NULL;
	return true;
}

/*
 * URL of the API, without a slash at its end; NULL, and what is wrong, if the
 * account's is none that we would send a request to.
 */
const char *
booking_google_base(BookingArena *arena, const char *base_url,
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
 * URL of a calendar by its id; NULL when memory is short.
 */
const char *
booking_google_calendar(BookingArena *arena, const char *base,
						const char *calendar)
{
	char	   *url;

	if (booking_url_member(base, "calendars", "/", arena, &url) != BOOKING_URL_OK ||
		booking_url_member(url, calendar, "", arena, &url) != BOOKING_URL_OK)
		return NULL;
	return url;
}

/*
 * Why a request was refused, by the reason in the body, and a code for it.
 * Bodies that are not the API's own come from something in between.
 */
BookingGoogleRefusal
booking_google_refusal(BookingArena *arena, const BookingHttpResponse *response,
					   const char **problem)
{
	const char *reason = booking_google_reason(response->body,
											   response->body_len, arena);
	const char *code = booking_report_problem(arena, response);

	*problem = code;
	if (reason == NULL)
		return BOOKING_GOOGLE_UNCLEAR;
	*problem = booking_report_code(arena, reason, code);
	for (int i = 0; i < (int) lengthof(reasons); i++)
	{
		if (strcmp(reason, reasons[i].reason) == 0)
			return reasons[i].refusal;
	}
	return BOOKING_GOOGLE_REFUSED;
}

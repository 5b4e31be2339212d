/*-------------------------------------------------------------------------
 *
 * caldav.c
 *	  calendars on CalDAV servers (RFC 4791)
 *
 * One booking is one resource whose name and UID are our event id.  Creating
 * demands that nothing has the name yet, changing and deleting that the event
 * still has the ETag we know, so a request that arrives twice does nothing the
 * second time.  Whenever an answer leaves open what happened, or says that
 * somebody else was there, the event is read and judged by what it means; then
 * at most one further conditional write follows.
 *
 * Two outcomes in waiting carry this: "doubt" is what the task ends with when
 * a read fails, "absent" when there turns out to be a calendar but no event in
 * it.  Whoever sends a request sets them first.
 *
 * The order of reads is always the same: the event's own URL, then a query for
 * its UID, because people and programs rename resources, then the calendar
 * itself, because "not found" may mean that.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "codec/ical.h"
#include "provider/caldav.h"
#include "provider/report.h"
#include "provider/url.h"

/* longer ones are no use: servers limit the length of headers */
#define MAX_ETAG 1000

static bool write_body(const BookingEvent *event, int64 stamp,
					   BookingArena *arena, char **body, size_t *len);
static bool read_body(const char *body, size_t len, BookingArena *arena,
					  BookingEvent *event);
static const char *read_object(const char *data, size_t len,
							   const BookingExpandRequest *request,
							   BookingArena *arena,
							   BookingExpansion *expansion);
static void start(BookingTask *task, BookingHttpRequest *request);
static bool next(BookingTask *task, const BookingHttpResponse *response,
				 BookingHttpRequest *request);
static bool is_write(const BookingJob *job);
static bool is_complete(const BookingJob *job);
static bool resolve(BookingTask *task);
static BookingUrlFault resolve_collection(BookingTask *task);
static bool told_etag(BookingTask *task, const BookingHttpResponse *response);

const BookingProvider booking_provider_caldav = {
	.name = "caldav",
	.base_url = "",
	.token_url = "",
	.scope = "",
	.names_events = true,
	.tells_busy = false,
	.create_is_idempotent = true,
	.absence_is_proof = true,
	.writes_in_series = false,
	.max_in_flight = 16,
	.write_body = write_body,
	.read_body = read_body,
	.start = start,
	.next = next,
	.pull_list = booking_caldav_pull_list,
	.pull_fetch = booking_caldav_pull_fetch,
	.pull_next = booking_caldav_pull_next,
	.pull_abandon = booking_caldav_pull_abandon,
	.read_object = read_object,
	.busy_start = booking_report_busy_start,
	.busy_next = booking_report_busy_next,
	.channel_start = booking_report_channel_start,
	.channel_judge = booking_report_channel_judge
};

/*
 * Body to store, as an iCalendar object; false when the event cannot be
 * expressed as one.
 */
static bool
write_body(const BookingEvent *event, int64 stamp, BookingArena *arena,
		   char **body, size_t *len)
{
	return booking_ical_write(event, stamp, arena, body, len) == BOOKING_ICAL_OK;
}

/*
 * Event of a stored body; false when it is none that we wrote.
 */
static bool
read_body(const char *body, size_t len, BookingArena *arena,
		  BookingEvent *event)
{
	return booking_ical_read(body, len, arena, event) == BOOKING_ICAL_OK &&
		event->marker != NULL;
}

/*
 * Occurrences of an iCalendar object.
 */
static const char *
read_object(const char *data, size_t len, const BookingExpandRequest *request,
			BookingArena *arena, BookingExpansion *expansion)
{
	BookingIcalFault fault = booking_ical_expand(data, len, request, arena,
												 expansion);

	/* a task or a journal is no trouble, and has no occurrence */
	if (fault == BOOKING_ICAL_NO_EVENT)
	{
		memset(expansion, 0, sizeof(*expansion));
		return NULL;
	}
	return fault == BOOKING_ICAL_OK ? NULL : booking_ical_fault_text(fault);
}

/*
 * Build the first request.  If there is none, because the job cannot be done,
 * the request has no method and the outcome is set.  An engine refuses such a
 * request; told so, the adapter stands by its outcome.
 */
static void
start(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	const char *etag = booking_caldav_strong(job->etag);
	BookingCaldavState *state;

	memset(request, 0, sizeof(*request));
	memset(&task->outcome, 0, sizeof(task->outcome));
	task->step = BOOKING_CALDAV_NONE;
	task->nsteps = 0;
	task->nfindings = 0;
	state = booking_arena_alloc(task->arena, sizeof(*state));
	task->state = state;
	if (state == NULL)
	{
		booking_report_end(task, is_write(job) ?
						   BOOKING_OUTCOME_NOT_EXECUTED :
						   BOOKING_OUTCOME_FAILED, "out_of_memory",
						   NULL, NULL);
		return;
	}
	memset(state, 0, sizeof(*state));
	booking_caldav_expect(task);

	if (job->kind == BOOKING_JOB_CHECK)
		(void) booking_caldav_check(task, request);
	else if (!resolve(task))
		return;
	else if (job->kind == BOOKING_JOB_CREATE)
		(void) booking_caldav_put(task, NULL, request);
	else if (job->kind == BOOKING_JOB_UPDATE && etag != NULL)
		(void) booking_caldav_put(task, etag, request);
	else if (job->kind == BOOKING_JOB_CANCEL && etag != NULL)
		(void) booking_caldav_delete(task, etag, request);
	else
		(void) booking_caldav_get(task, request);
}

/*
 * Judge an answer by the step it belongs to.
 */
static bool
next(BookingTask *task, const BookingHttpResponse *response,
	 BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	switch ((BookingCaldavStep) task->step)
	{
		case BOOKING_CALDAV_NONE:
			return false;
		case BOOKING_CALDAV_PUT:
		case BOOKING_CALDAV_DELETE:
			return booking_caldav_wrote(task, response, request);
		case BOOKING_CALDAV_ETAG:
			return told_etag(task, response);
		case BOOKING_CALDAV_GET:
			return booking_caldav_got(task, response, request);
		case BOOKING_CALDAV_QUERY:
			return booking_caldav_queried(task, response, request);
		case BOOKING_CALDAV_COLLECTION:
			return booking_caldav_looked(task, response, request);
		case BOOKING_CALDAV_CHECK_CALENDAR:
		case BOOKING_CALDAV_CHECK_ACCOUNT:
		case BOOKING_CALDAV_CHECK_PRINCIPAL:
		case BOOKING_CALDAV_CHECK_HOME:
		case BOOKING_CALDAV_CHECK_OPTIONS:
			return booking_caldav_checked(task, response, request);
	}
	return false;
}

/*
 * Set the outcomes in waiting as they are while no write took effect: a failed
 * read leaves the write undone, and an event that is not there was deleted by
 * somebody, which is all that a cancel wants.
 */
void
booking_caldav_expect(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingCaldavState *state = booking_caldav_state(task);
	bool		deleted = job->kind == BOOKING_JOB_UPDATE ||
		(job->kind == BOOKING_JOB_LOOKUP &&
		 job->looked_up == BOOKING_JOB_UPDATE);

	booking_caldav_pend(task, &state->doubt, is_write(job) ?
						BOOKING_OUTCOME_NOT_EXECUTED : BOOKING_OUTCOME_FAILED,
						NULL, NULL);
	booking_caldav_pend(task, &state->absent,
						job->kind == BOOKING_JOB_CANCEL ?
						BOOKING_OUTCOME_DONE : BOOKING_OUTCOME_ABSENT,
						deleted ? "deleted_at_provider" : NULL, NULL);
}

/*
 * Does the job change anything at the provider?
 */
static bool
is_write(const BookingJob *job)
{
	return job->kind == BOOKING_JOB_CREATE || job->kind == BOOKING_JOB_UPDATE ||
		job->kind == BOOKING_JOB_CANCEL;
}

/*
 * Does the job say all that its kind needs?
 */
static bool
is_complete(const BookingJob *job)
{
	BookingJobKind kind = job->kind == BOOKING_JOB_LOOKUP ? job->looked_up :
		job->kind;

	if (job->base_url == NULL || job->collection == NULL ||
		job->event_id == NULL || job->event_id[0] == '\0')
		return false;
	if (kind != BOOKING_JOB_CANCEL && job->wanted == NULL)
		return false;
	return job->body != NULL || (job->kind != BOOKING_JOB_CREATE &&
								 job->kind != BOOKING_JOB_UPDATE);
}

/*
 * Find the URLs of calendar and event, on the account's own origin.  A new
 * event is always where its id says.
 */
static bool
resolve(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingCaldavState *state = booking_caldav_state(task);
	BookingOutcomeKind kind = is_write(job) ? BOOKING_OUTCOME_REJECTED :
		BOOKING_OUTCOME_FAILED;
	BookingUrlFault fault;
	char	   *url;

	if (!is_complete(job))
		return booking_caldav_settle(task, kind, "incomplete_job", NULL, NULL);
	fault = resolve_collection(task);
	if (fault == BOOKING_URL_OK)
	{
		if (job->href == NULL || job->kind == BOOKING_JOB_CREATE)
			fault = booking_url_member(state->collection, job->event_id,
									   ".ics", task->arena, &url);
		else
			fault = booking_url_join(job->base_url, job->href, task->arena,
									 &url);
	}

	switch (fault)
	{
		case BOOKING_URL_OK:
			state->url = url;
			return true;
		case BOOKING_URL_ORIGIN:
			return booking_caldav_settle(task, kind, "origin_mismatch", NULL,
										 NULL);
		case BOOKING_URL_MALFORMED:
			return booking_caldav_settle(task, kind, "bad_url", NULL, NULL);
		case BOOKING_URL_MEMORY:
			break;
	}
	return booking_caldav_fail(task, NULL, "out_of_memory");
}

/*
 * Find the URL of the calendar, and see that it ends in a slash.
 */
static BookingUrlFault
resolve_collection(BookingTask *task)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingUrlFault fault;
	char	   *url;

	fault = booking_url_join(task->job->base_url, task->job->collection,
							 task->arena, &url);
	if (fault == BOOKING_URL_OK)
		fault = booking_url_member(url, "", "", task->arena, &url);
	if (fault == BOOKING_URL_OK)
		state->collection = url;
	return fault;
}

/*
 * A PUT took effect.  If the server did not tell the ETag, ask for it; without
 * an answer the outcome is the same, and the next write reads first.
 */
bool
booking_caldav_stored(BookingTask *task, const BookingHttpResponse *response,
					  BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingCaldavFound found = {
		.url = state->url,
		.etag = booking_caldav_strong(response->etag)
	};

	booking_caldav_settle(task, BOOKING_OUTCOME_DONE, NULL, response, &found);
	if (found.etag != NULL)
		return false;
	state->doubt = task->outcome;
	return booking_caldav_etag(task, request);
}

/*
 * The answer to the question for an ETag.
 */
static bool
told_etag(BookingTask *task, const BookingHttpResponse *response)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingDavMultistatus multistatus;

	if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status == 207 &&
		booking_dav_read_multistatus(response->body, response->body_len,
									 task->arena,
									 &multistatus) == BOOKING_DAV_OK &&
		multistatus.nresources == 1)
		state->doubt.etag =
			booking_caldav_strong(multistatus.resources[0].etag);
	return booking_caldav_finish(task, &state->doubt);
}

/*
 * An ETag that can be demanded, else NULL.  Weak ones never match in If-Match
 * (RFC 9110, 13.1.1); proxies that compress make them of strong ones.  It may
 * come from XML, where it could hold the end of a header.
 */
const char *
booking_caldav_strong(const char *etag)
{
	if (etag == NULL || etag[0] == '\0' || strlen(etag) > MAX_ETAG ||
		pg_strncasecmp(etag, "W/", 2) == 0)
		return NULL;
	for (const char *p = etag; *p != '\0'; p++)
	{
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			return NULL;
	}
	return etag;
}

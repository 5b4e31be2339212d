/*-------------------------------------------------------------------------
 *
 * rest.c
 *	  what adapters for web services with JSON share
 *
 * IDENTIFICATION
 *	  booking/src/provider/rest.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/report.h"
#include "provider/rest.h"
#include "provider/url.h"

/* longer ones are no use: servers limit the length of headers */
#define MAX_ETAG 1000

/* longer links to conferences are none */
#define MAX_LINK 2000

static void say_conference(BookingTask *task);

/*
 * Set the outcomes in waiting as they are while no write took effect: a failed
 * read leaves the write undone, and an event that is not there was deleted by
 * somebody, which is all that a cancel wants.
 */
void
booking_rest_expect(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingRestState *state = task->state;
	bool		deleted = job->kind == BOOKING_JOB_UPDATE ||
		(job->kind == BOOKING_JOB_LOOKUP &&
		 job->looked_up == BOOKING_JOB_UPDATE);

	booking_rest_pend(task, &state->doubt, booking_rest_is_write(job) ?
					  BOOKING_OUTCOME_NOT_EXECUTED : BOOKING_OUTCOME_FAILED,
					  NULL, NULL);
	booking_rest_pend(task, &state->absent, job->kind == BOOKING_JOB_CANCEL ?
					  BOOKING_OUTCOME_DONE : BOOKING_OUTCOME_ABSENT,
					  deleted ? "deleted_at_provider" : NULL, NULL);
}

/*
 * Does the job change anything at the provider?
 */
bool
booking_rest_is_write(const BookingJob *job)
{
	return job->kind == BOOKING_JOB_CREATE || job->kind == BOOKING_JOB_UPDATE ||
		job->kind == BOOKING_JOB_CANCEL;
}

/*
 * Does the job say all that its kind needs?
 */
bool
booking_rest_is_complete(const BookingJob *job)
{
	BookingJobKind kind = job->kind == BOOKING_JOB_LOOKUP ? job->looked_up :
		job->kind;

	if (job->base_url == NULL || job->collection == NULL ||
		job->collection[0] == '\0' || job->event_id == NULL ||
		job->event_id[0] == '\0')
		return false;
	if (kind != BOOKING_JOB_CANCEL && kind != BOOKING_JOB_CONFERENCE &&
		job->wanted == NULL)
		return false;
	return job->body != NULL || (job->kind != BOOKING_JOB_CREATE &&
								 job->kind != BOOKING_JOB_UPDATE);
}

/*
 * Begin a request, unless the task has made all that it may: what a server
 * answers must not keep us busy for ever.
 */
bool
booking_rest_begin(BookingTask *task, int step, const char *method,
				   const char *url, BookingHttpRequest *request)
{
	BookingRestState *state = task->state;

	memset(request, 0, sizeof(*request));
	if (url == NULL)
		return booking_rest_fail(task, NULL, "out_of_memory");
	if (task->nsteps >= BOOKING_MAX_STEPS)
		return booking_rest_fail(task, NULL, "too_many_steps");
	task->nsteps++;
	task->step = step;
	state->method = method;
	request->method = method;
	request->url = url;
	return true;
}

/*
 * Add a header; there is room for all that we ever add.
 */
void
booking_rest_header(BookingHttpRequest *request, const char *name,
					const char *value)
{
	Assert(request->nheaders < BOOKING_MAX_HEADERS);
	request->headers[request->nheaders].name = name;
	request->headers[request->nheaders].value = value;
	request->nheaders++;
}

/*
 * Demand that the event still has the ETag, which is sent exactly as it was
 * received.
 */
bool
booking_rest_condition(BookingTask *task, const char *etag,
					   BookingHttpRequest *request)
{
	char	   *copy = booking_arena_copy(task->arena, etag, strlen(etag));

	if (copy == NULL)
	{
		memset(request, 0, sizeof(*request));
		return booking_rest_fail(task, NULL, "out_of_memory");
	}
	booking_rest_header(request, "If-Match", copy);
	return true;
}

/*
 * An ETag that can be sent, else NULL.  It may come from a body, where it could
 * hold the end of a header.
 */
const char *
booking_rest_etag(const char *etag)
{
	if (etag == NULL || etag[0] == '\0' || strlen(etag) > MAX_ETAG)
		return NULL;
	for (const char *p = etag; *p != '\0'; p++)
	{
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			return NULL;
	}
	return etag;
}

/*
 * Fill in an outcome for later.  Without a problem it is named after the
 * answer, if there is one.
 */
void
booking_rest_pend(BookingTask *task, BookingOutcome *outcome,
				  BookingOutcomeKind kind, const char *problem,
				  const BookingHttpResponse *response)
{
	BookingRestState *state = task->state;

	memset(outcome, 0, sizeof(*outcome));
	outcome->kind = kind;
	outcome->retry_after = response == NULL ? -1 : response->retry_after;
	outcome->status = response == NULL ? 0 : response->status;
	outcome->unreached = response != NULL &&
		response->transport == BOOKING_TRANSPORT_NOT_SENT;
	if (problem == NULL && response != NULL)
		problem = booking_report_problem(task->arena, response);
	outcome->problem = problem;
	if (problem != NULL)
		outcome->message = booking_report_explain(task->arena, response,
												  state == NULL ||
												  state->method == NULL ?
												  "the request" : state->method,
												  problem);
}

/*
 * End the task because a request failed or could not be made: as the doubt
 * says, and why.  response is NULL if no answer is to blame, problem if the
 * answer says enough.  Where nothing hangs on it refused credentials are
 * reported as such, and so are requests that our own rules forbid.
 */
bool
booking_rest_fail(BookingTask *task, const BookingHttpResponse *response,
				  const char *problem)
{
	BookingRestState *state = task->state;
	BookingOutcomeKind kind = state->doubt.kind;

	if (kind == BOOKING_OUTCOME_DONE)
		return booking_rest_finish(task, &state->doubt);
	if (response != NULL && kind != BOOKING_OUTCOME_UNKNOWN)
	{
		if (booking_rest_answered(response, 401))
			kind = BOOKING_OUTCOME_AUTH;
		else if (response->transport == BOOKING_TRANSPORT_REFUSED &&
				 kind == BOOKING_OUTCOME_NOT_EXECUTED && state->nwrites == 0)
			kind = BOOKING_OUTCOME_REJECTED;
	}
	booking_rest_pend(task, &task->outcome, kind, problem, response);
	return false;
}

/*
 * End the task with an outcome that was in waiting.
 */
bool
booking_rest_finish(BookingTask *task, const BookingOutcome *outcome)
{
	task->outcome = *outcome;
	return false;
}

/*
 * End the task with what was found.  problem is NULL if there is none.  The
 * ETag is told only of a version that is as we left it or want it, because a
 * later write may demand it without reading first; of one that a cancel left
 * alone it is told too, because only a person's word lets the cancel be sent
 * again.
 */
bool
booking_rest_settle(BookingTask *task, BookingOutcomeKind kind,
					const char *problem, const BookingRestFound *found)
{
	BookingOutcome *outcome = &task->outcome;

	booking_rest_pend(task, outcome, kind, problem, found->response);
	if (problem == NULL)
		outcome->problem = outcome->message = NULL;
	outcome->href = found->href;
	if (found->etag != NULL &&
		(kind == BOOKING_OUTCOME_DONE || kind == BOOKING_OUTCOME_EQUAL ||
		 kind == BOOKING_OUTCOME_ABSENT ||
		 (kind == BOOKING_OUTCOME_DIFFERENT &&
		  task->job->kind == BOOKING_JOB_CANCEL)))
		outcome->etag = booking_arena_copy(task->arena, found->etag,
										   strlen(found->etag));
	return false;
}

/*
 * Keep what an event says of its conference.
 */
void
booking_rest_note_conference(BookingTask *task, const char *link, bool failed)
{
	BookingRestState *state = task->state;

	state->link = link;
	state->no_conference = failed;
}

/*
 * Tell it with the outcome of a write, or of the lookup of one.
 */
void
booking_rest_tell_conference(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingJobKind kind = job->kind == BOOKING_JOB_LOOKUP ? job->looked_up :
		job->kind;

	if (task->state != NULL && job->wanted != NULL && job->wanted->conference &&
		(kind == BOOKING_JOB_CREATE || kind == BOOKING_JOB_UPDATE))
		say_conference(task);
}

/*
 * Say with an outcome what is known of the conference of an event that is there
 * as it is wanted.
 */
static void
say_conference(BookingTask *task)
{
	const BookingRestState *state = task->state;
	BookingOutcome *outcome = &task->outcome;

	if (outcome->kind != BOOKING_OUTCOME_DONE &&
		outcome->kind != BOOKING_OUTCOME_EQUAL)
		return;
	if (state->link != NULL && strlen(state->link) <= MAX_LINK)
	{
		outcome->conference = state->link;
		outcome->problem = outcome->message = NULL;
		return;
	}
	outcome->problem = state->no_conference ? "conference_failed" :
		"conference_pending";
	outcome->message = booking_report_explain(task->arena, NULL, NULL,
											  outcome->problem);
}

/*
 * The answer to the question whether the conference of an event is made by now.
 */
bool
booking_rest_conference_got(BookingTask *task,
							const BookingHttpResponse *response,
							const char *event, BookingRestReadConference read)
{
	const BookingJson *json;
	BookingRestConference conference = {0};
	BookingRestFound found = {.response = response};

	if (booking_rest_answered(response, 404) || booking_rest_answered(response, 410))
		return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT, NULL, &found);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "event_unreadable");
	read(json, task->arena, &conference);
	if (booking_arena_failed(task->arena) || conference.event == NULL ||
		strcmp(conference.event, event) != 0)
		return booking_rest_fail(task, response, "event_unreadable");
	if (conference.canceled)
		return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT, NULL, &found);
	(void) booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	booking_rest_note_conference(task, conference.link, conference.none);
	say_conference(task);
	return false;
}

/*
 * Judge the answer to a request about a channel.
 */
void
booking_rest_channel_judge(BookingChannelTask *task,
						   const BookingHttpResponse *response,
						   BookingRestRefuses refuses,
						   BookingRestReadChannel read)
{
	BookingChannelWish wish = task->job->wish;
	BookingChannelKind kind = BOOKING_CHANNEL_LATER;
	const char *problem = NULL;
	const BookingJson *json;

	if (booking_rest_answered(response, 401))
		kind = BOOKING_CHANNEL_AUTH;
	else if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
			 response->status >= 200 && response->status < 300)
	{
		if (wish == BOOKING_CHANNEL_CLOSE)
			kind = BOOKING_CHANNEL_GONE;
		else if (booking_json_read(response->body, response->body_len,
								   task->arena, &json) == BOOKING_JSON_OK &&
				 read(task, json))
			kind = BOOKING_CHANNEL_MADE;
		else
			problem = "answer_unreadable";
	}
	else if (wish != BOOKING_CHANNEL_OPEN &&
			 (booking_rest_answered(response, 404) ||
			  booking_rest_answered(response, 410)))
		kind = BOOKING_CHANNEL_GONE;
	else if ((booking_rest_answered(response, 400) ||
			  booking_rest_answered(response, 403)) &&
			 refuses(task->arena, response, &problem))
		kind = BOOKING_CHANNEL_REFUSED;
	booking_report_channel_end(task, kind, problem, response);
}

/*
 * Is it a whole answer with this status?
 */
bool
booking_rest_answered(const BookingHttpResponse *response, int status)
{
	return response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status == status;
}

/*
 * A text as one segment of a path or one value of a query, every character
 * that could mean something there being encoded; NULL when memory is short.
 */
char *
booking_rest_segment(BookingArena *arena, const char *text)
{
	char	   *url;

	return booking_url_member("/", text, "", arena, &url) == BOOKING_URL_OK ?
		url + 1 : NULL;
}

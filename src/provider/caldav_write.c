/*-------------------------------------------------------------------------
 *
 * caldav_write.c
 *	  judges answers to PUT and DELETE
 *
 * Only 200, 201 and 204 say that a write took effect.  A 4xx comes from the
 * server itself and proves that it did not; 408, 499 and every 5xx may come
 * from something in between and prove nothing.  A multistatus is as good as
 * the worst status in it: Xandikos reports failed preconditions that way.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_write.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "provider/caldav.h"
#include "provider/report.h"
#include "provider/url.h"

/* what an answer says once it is unwrapped */
typedef struct Answer
{
	BookingHttpResponse response;	/* with the status that counts */
	bool		uid_conflict;
	bool		trashed;		/* by an event that was deleted */
	bool		precondition;	/* some other condition of DAV or CalDAV */
	const char *condition;		/* its name, NULL if not told */
	const char *href;			/* who has the UID, NULL if not told */
} Answer;

static bool unwrap(BookingTask *task, const BookingHttpResponse *response,
				   Answer *answer);
static bool unwrap_multistatus(BookingTask *task, Answer *answer);
static int	weight(int status);
static bool unwrap_error(BookingTask *task, Answer *answer);
static bool says(const BookingHttpResponse *response, const char *words);
static bool judge(BookingTask *task, const Answer *answer,
				  BookingHttpRequest *request);
static bool refused(BookingTask *task, const Answer *answer,
					BookingHttpRequest *request);
static bool taken(BookingTask *task, const Answer *answer,
				  BookingHttpRequest *request);
static bool conflicting(BookingTask *task, const Answer *answer,
						BookingHttpRequest *request);
static bool missing(BookingTask *task, const Answer *answer,
					BookingHttpRequest *request);
static bool doubtful_calendar(BookingTask *task, const Answer *answer,
							  BookingHttpRequest *request);
static bool end(BookingTask *task, const Answer *answer,
				BookingOutcomeKind kind, const char *problem);

/*
 * Judge the answer to a write.
 */
bool
booking_caldav_wrote(BookingTask *task, const BookingHttpResponse *response,
					 BookingHttpRequest *request)
{
	Answer		answer;

	memset(&answer, 0, sizeof(answer));
	answer.response = *response;
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
			return end(task, &answer, BOOKING_OUTCOME_NOT_EXECUTED, NULL);
		case BOOKING_TRANSPORT_REFUSED:
			return end(task, &answer, BOOKING_OUTCOME_REJECTED, NULL);
		case BOOKING_TRANSPORT_LOST:
		case BOOKING_TRANSPORT_TOO_LARGE:
			return end(task, &answer, BOOKING_OUTCOME_UNKNOWN, NULL);
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	if (!unwrap(task, response, &answer))
		return end(task, &answer, BOOKING_OUTCOME_UNKNOWN,
				   "answer_unreadable");
	return judge(task, &answer, request);
}

/*
 * Find the status that counts and the conditions that were not met.  False if
 * the answer cannot be understood.
 */
static bool
unwrap(BookingTask *task, const BookingHttpResponse *response, Answer *answer)
{
	if (response->status == 207)
		return unwrap_multistatus(task, answer);
	if (response->status >= 400 && response->status < 500 &&
		response->body_len > 0)
		return unwrap_error(task, answer);
	return true;
}

/*
 * The worst of a multistatus.  One that names no status for a resource says
 * nothing about what was written.
 */
static bool
unwrap_multistatus(BookingTask *task, Answer *answer)
{
	BookingDavMultistatus multistatus;
	int			worst = 0;

	if (booking_dav_read_multistatus(answer->response.body,
									 answer->response.body_len, task->arena,
									 &multistatus) != BOOKING_DAV_OK ||
		multistatus.nresources == 0)
		return false;

	for (int i = 0; i < multistatus.nresources; i++)
	{
		const BookingDavResource *resource = &multistatus.resources[i];
		int			status = resource->error_status != 0 ?
			resource->error_status : resource->status;

		if (status == 0)
			return false;
		if (weight(status) <= weight(worst))
			continue;
		worst = status;
		answer->uid_conflict = resource->condition_uid_conflict;
		answer->precondition = resource->condition_any &&
			!resource->condition_uid_conflict;
	}
	answer->response.status = worst;
	return true;
}

/*
 * How much a status counts beside others.  424 only says that something else
 * failed (RFC 4918, 11.4), so any other failure counts more.
 */
static int
weight(int status)
{
	return status == 424 ? 399 : status;
}

/*
 * The conditions in the body of an error (RFC 4918, 16; RFC 4791, 1.3); most
 * bodies have none.  The codec knows the words in which Nextcloud says that a
 * UID is taken.  Which of two sentences it was is told here: a deleted event
 * that is still in its trash bin has the UID for good.
 */
static bool
unwrap_error(BookingTask *task, Answer *answer)
{
	BookingDavError error;

	switch (booking_dav_read_error(answer->response.body,
								   answer->response.body_len, task->arena,
								   &error))
	{
		case BOOKING_DAV_OK:
			break;
		case BOOKING_DAV_MALFORMED:
			return true;
		case BOOKING_DAV_TOO_LARGE:
			return false;
	}
	answer->uid_conflict = error.uid_conflict;
	answer->precondition = error.condition != NULL && !error.uid_conflict;
	answer->condition = error.condition;
	answer->href = error.href;
	answer->trashed = error.uid_conflict &&
		says(&answer->response, "deleted calendar object with uid");
	return true;
}

/*
 * Does a body contain some words, in whatever case?
 */
static bool
says(const BookingHttpResponse *response, const char *words)
{
	size_t		len = strlen(words);

	for (size_t i = 0; i + len <= response->body_len; i++)
	{
		if (pg_strncasecmp(response->body + i, words, len) == 0)
			return true;
	}
	return false;
}

/*
 * Judge an answer by its status.
 */
static bool
judge(BookingTask *task, const Answer *answer, BookingHttpRequest *request)
{
	switch (answer->response.status)
	{
		case 200:
		case 201:
		case 204:
			if (task->step == BOOKING_CALDAV_PUT)
				return booking_caldav_stored(task, &answer->response, request);
			return end(task, answer, BOOKING_OUTCOME_DONE, NULL);

			/* do it elsewhere; 303 may mean that it was done */
		case 301:
		case 302:
		case 307:
		case 308:
			return end(task, answer, BOOKING_OUTCOME_REJECTED, NULL);

		case 401:
			return end(task, answer, BOOKING_OUTCOME_AUTH, NULL);
		case 408:				/* made by proxies, as is 499 */
		case 499:
			return end(task, answer, BOOKING_OUTCOME_UNKNOWN, NULL);
		case 421:				/* the server would not look at it */
		case 423:
		case 424:
		case 425:
		case 429:
			return end(task, answer, BOOKING_OUTCOME_NOT_EXECUTED, NULL);
		case 507:
			return end(task, answer, BOOKING_OUTCOME_REJECTED, NULL);
	}
	if (answer->response.status >= 400 && answer->response.status < 500)
		return refused(task, answer, request);
	return end(task, answer, BOOKING_OUTCOME_UNKNOWN, NULL);
}

/*
 * The server would not do it.  Find out why, where that may mean that it was
 * done before, or that it can be done otherwise.
 */
static bool
refused(BookingTask *task, const Answer *answer, BookingHttpRequest *request)
{
	int			status = answer->response.status;

	if (answer->uid_conflict)
		return conflicting(task, answer, request);
	if (answer->precondition)
		return end(task, answer, BOOKING_OUTCOME_REJECTED,
				   booking_report_code(task->arena, answer->condition,
										"precondition"));
	if (status == 412)
		return taken(task, answer, request);
	if (task->job->kind != BOOKING_JOB_CREATE &&
		(status == 404 || status == 410))
		return missing(task, answer, request);
	if (task->step == BOOKING_CALDAV_PUT &&
		(status == 403 || status == 404 || status == 405 || status == 409 ||
		 status == 410))
		return doubtful_calendar(task, answer, request);
	return end(task, answer, BOOKING_OUTCOME_REJECTED, NULL);
}

/*
 * Our condition did not hold.  It may be an earlier copy of this very request
 * that made it so: look what is there.  Not a second time, or two who change
 * an event by turns would never end.
 */
static bool
taken(BookingTask *task, const Answer *answer, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (state->nwrites > 1)
		return end(task, answer, BOOKING_OUTCOME_UNKNOWN,
				   "precondition_failed");
	booking_caldav_pend(task, &state->doubt, BOOKING_OUTCOME_UNKNOWN,
						"precondition_failed", &answer->response);
	if (task->job->kind == BOOKING_JOB_CREATE)
		state->absent = state->doubt;
	return booking_caldav_get(task, request);
}

/*
 * The UID is in use, perhaps by ourselves under another name.  Look where the
 * server says, or where we would be.  If no such event is to be seen our id is
 * burnt: by an event that was deleted, or by one elsewhere.
 */
static bool
conflicting(BookingTask *task, const Answer *answer,
			BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);
	char	   *url;

	if (state->nwrites > 1)
		return end(task, answer, BOOKING_OUTCOME_REJECTED, "uid_conflict");
	booking_caldav_pend(task, &state->doubt, BOOKING_OUTCOME_UNKNOWN,
						"uid_conflict", &answer->response);
	if (answer->trashed)
		booking_caldav_pend(task, &state->absent, BOOKING_OUTCOME_ABSENT,
							"deleted_at_provider", &answer->response);
	else
		booking_caldav_pend(task, &state->absent, BOOKING_OUTCOME_FOREIGN,
							"uid_conflict", &answer->response);
	if (answer->href != NULL &&
		booking_url_resolve(task->job->base_url, answer->href, task->arena,
							&url) == BOOKING_URL_OK)
		state->url = url;
	return booking_caldav_get(task, request);
}

/*
 * There is nothing where the event was.  Look whether it has another name
 * before it counts as gone.
 */
static bool
missing(BookingTask *task, const Answer *answer, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (task->step == BOOKING_CALDAV_DELETE)
		booking_caldav_pend(task, &state->doubt, BOOKING_OUTCOME_UNKNOWN,
							NULL, &answer->response);
	return booking_caldav_query(task, request);
}

/*
 * An answer that servers also give when the calendar is gone: DAViCal 405,
 * Cyrus 403, Radicale and sabre 409, others 404.
 */
static bool
doubtful_calendar(BookingTask *task, const Answer *answer,
				  BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	booking_caldav_pend(task, &state->absent, BOOKING_OUTCOME_REJECTED, NULL,
						&answer->response);
	return booking_caldav_collection(task, request);
}

/*
 * End the task by an answer; without a problem it is named after the answer.
 */
static bool
end(BookingTask *task, const Answer *answer, BookingOutcomeKind kind,
	const char *problem)
{
	if (kind == BOOKING_OUTCOME_DONE)
		return booking_caldav_settle(task, kind, NULL, &answer->response, NULL);
	booking_caldav_pend(task, &task->outcome, kind, problem,
						&answer->response);
	return false;
}

/*-------------------------------------------------------------------------
 *
 * caldav_end.c
 *	  how tasks of the CalDAV adapter end, and what is said of it
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_end.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/caldav.h"
#include "provider/report.h"
#include "provider/url.h"

static const char *describe(BookingTask *task,
							const BookingHttpResponse *response,
							const char *problem);
static const char *method_of(const BookingTask *task);

/* what people are told of problems that no single answer explains */
static const struct
{
	const char *problem;
	const char *text;
}			explanations[] = {
	{"answer_incomplete", "the server left a part out of its answer to a query"},
	{"answer_unreadable", "the answer of the server cannot be read"},
	{"bad_url", "the URL of the calendar or event is malformed"},
	{"calendar_gone", "there is no calendar at this path any more"},
	{"deleted_at_provider", "the event was deleted at the provider"},
	{"event_changed", "the event was changed by others"},
	{"event_moved", "the event was moved by others"},
	{"event_unreadable", "the event at the server cannot be read"},
	{"foreign_event", "an event that is not ours is stored under our id"},
	{"incomplete_job", "the job does not say which calendar or event it is about"},
	{"need_privileges", "the account may not write to the calendar"},
	{"no_etag", "the server tells no strong ETag, so nothing can be written safely"},
	{"not_a_calendar", "what is at the path of the calendar is no calendar"},
	{"not_updated", "the event is as it was before the update"},
	{"origin_mismatch", "the calendar or event is not on the server of base_url"},
	{"other_calendar", "our event is in another calendar of the account"},
	{"out_of_memory", "the limit of memory for one task is exhausted"},
	{"precondition_failed", "the event changed again while it was written"},
	{"several_events", "several events in the calendar carry our id"},
	{"still_present", "the event is still there"},
	{"too_many_steps", "the limit of requests for one task is exhausted"},
	{"uid_conflict", "the server says that our id is taken, but shows no such event"},
};

/* codes of statuses that have a meaning of their own */
static const struct
{
	int			status;
	const char *problem;
}			statuses[] = {
	{400, "bad_request"},
	{401, "auth_refused"},
	{403, "forbidden"},
	{404, "not_found"},
	{405, "method_not_allowed"},
	{408, "server_timeout"},
	{409, "conflict"},
	{410, "not_found"},
	{412, "precondition_failed"},
	{413, "too_large"},
	{415, "unsupported_media_type"},
	{423, "locked"},
	{429, "rate_limited"},
	{503, "unavailable"},
	{507, "insufficient_storage"},
};

/*
 * End the task because a request failed or could not be made: as the doubt
 * says, and why.  response is NULL if no answer is to blame, problem if the
 * answer says enough.  Where nothing hangs on it a refused password is
 * reported as such, and so are requests that our own rules forbid.
 */
bool
booking_caldav_fail(BookingTask *task, const BookingHttpResponse *response,
					const char *problem)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingOutcomeKind kind = state->doubt.kind;

	if (kind == BOOKING_OUTCOME_DONE)
		return booking_caldav_finish(task, &state->doubt);

	if (response != NULL && kind != BOOKING_OUTCOME_UNKNOWN)
	{
		if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
			response->status == 401)
			kind = BOOKING_OUTCOME_AUTH;
		else if (response->transport == BOOKING_TRANSPORT_REFUSED &&
				 kind == BOOKING_OUTCOME_NOT_EXECUTED && state->nwrites == 0)
			kind = BOOKING_OUTCOME_REJECTED;
	}
	booking_caldav_pend(task, &task->outcome, kind, problem, response);
	return false;
}

/*
 * End the task with an outcome that was in waiting.
 */
bool
booking_caldav_finish(BookingTask *task, const BookingOutcome *outcome)
{
	task->outcome = *outcome;
	return false;
}

/*
 * End the task with what was found, and where; found is NULL if nothing was.
 * problem is NULL if there is none, and then nothing is said.  The ETag is told
 * only of a version that is as we left it or want it: a later write may demand
 * it without reading first.  Of one that a cancel left alone it is told too,
 * because only a person's word lets the cancel be sent again.
 */
bool
booking_caldav_settle(BookingTask *task, BookingOutcomeKind kind,
					  const char *problem, const BookingHttpResponse *response,
					  const BookingCaldavFound *found)
{
	booking_report_end(task, kind, problem, response,
					   problem == NULL ? NULL :
					   describe(task, response, problem));
	if (found == NULL)
		return false;
	task->outcome.href = booking_url_path(found->url);
	if (found->etag != NULL &&
		(kind == BOOKING_OUTCOME_DONE || kind == BOOKING_OUTCOME_EQUAL ||
		 kind == BOOKING_OUTCOME_ABSENT ||
		 (kind == BOOKING_OUTCOME_DIFFERENT &&
		  task->job->kind == BOOKING_JOB_CANCEL)))
		task->outcome.etag = booking_arena_copy(task->arena, found->etag,
												strlen(found->etag));
	return false;
}

/*
 * Fill in an outcome for later.  Without a problem it is named after the
 * answer, if there is one.
 */
void
booking_caldav_pend(BookingTask *task, BookingOutcome *outcome,
					BookingOutcomeKind kind, const char *problem,
					const BookingHttpResponse *response)
{
	memset(outcome, 0, sizeof(*outcome));
	outcome->kind = kind;
	outcome->retry_after = response == NULL ? -1 : response->retry_after;
	outcome->status = response == NULL ? 0 : response->status;
	if (problem == NULL && response != NULL)
		problem = booking_caldav_problem(task->arena, response);
	outcome->problem = problem;
	if (problem != NULL)
		outcome->message = describe(task, response, problem);
}

/*
 * Code for an answer that is not what was hoped for.
 */
const char *
booking_caldav_problem(BookingArena *arena, const BookingHttpResponse *response)
{
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
			return booking_report_code(arena, response->problem,
									   "not_sent");
		case BOOKING_TRANSPORT_REFUSED:
			return booking_report_code(arena, response->problem,
									   "refused");
		case BOOKING_TRANSPORT_LOST:
			return booking_report_code(arena, response->problem,
									   "lost");
		case BOOKING_TRANSPORT_TOO_LARGE:
			return "answer_too_large";
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	for (int i = 0; i < (int) lengthof(statuses); i++)
	{
		if (statuses[i].status == response->status)
			return statuses[i].problem;
	}
	if (response->status >= 500)
		return "server_error";
	if (response->status >= 400)
		return "refused_by_server";
	if (response->status >= 300)
		return "redirected";
	return "unexpected_answer";
}

/*
 * What people are told of a problem; response may be NULL.
 */
static const char *
describe(BookingTask *task, const BookingHttpResponse *response,
		 const char *problem)
{
	const char *words;

	for (int i = 0; i < (int) lengthof(explanations); i++)
	{
		if (strcmp(explanations[i].problem, problem) == 0)
			return explanations[i].text;
	}
	if (response == NULL)
		return NULL;

	words = response->problem == NULL ? "no reason known" : response->problem;
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
		case BOOKING_TRANSPORT_REFUSED:
			return booking_report_text(task->arena, "%s was not sent: %s",
									   method_of(task), words);
		case BOOKING_TRANSPORT_LOST:
			return booking_report_text(task->arena,
									   "no complete answer to %s: %s",
									   method_of(task), words);
		case BOOKING_TRANSPORT_TOO_LARGE:
			return booking_report_text(task->arena,
									   "the answer to %s is too large",
									   method_of(task));
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	return booking_report_text(task->arena, "the server answered %d to %s: %s",
							   response->status, method_of(task), problem);
}

/*
 * Method of the request that was answered.
 */
static const char *
method_of(const BookingTask *task)
{
	switch ((BookingCaldavStep) task->step)
	{
		case BOOKING_CALDAV_PUT:
			return "PUT";
		case BOOKING_CALDAV_DELETE:
			return "DELETE";
		case BOOKING_CALDAV_GET:
			return "GET";
		case BOOKING_CALDAV_QUERY:
			return "REPORT";
		case BOOKING_CALDAV_CHECK_OPTIONS:
			return "OPTIONS";
		case BOOKING_CALDAV_NONE:
		case BOOKING_CALDAV_ETAG:
		case BOOKING_CALDAV_COLLECTION:
		case BOOKING_CALDAV_CHECK_CALENDAR:
		case BOOKING_CALDAV_CHECK_ACCOUNT:
		case BOOKING_CALDAV_CHECK_PRINCIPAL:
		case BOOKING_CALDAV_CHECK_HOME:
			break;
	}
	return "PROPFIND";
}

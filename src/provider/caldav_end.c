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

static const char *method_of(const BookingTask *task);

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
					   booking_report_explain(task->arena, response,
												 method_of(task), problem));
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
	outcome->unreached = response != NULL &&
		response->transport == BOOKING_TRANSPORT_NOT_SENT;
	if (problem == NULL && response != NULL)
		problem = booking_report_problem(task->arena, response);
	outcome->problem = problem;
	if (problem != NULL)
		outcome->message = booking_report_explain(task->arena, response,
												 method_of(task), problem);
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

/*-------------------------------------------------------------------------
 *
 * google_check.c
 *	  examines account and calendar, and says in words what is wrong
 *
 * Any list of events says what the user may do to the calendar (G-REF,
 * Events.accessRole): writing needs "writer" or "owner".  The list of calendars
 * would not do, since a calendar that is shared with a service account is not
 * in its list until somebody puts it there.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_check.c
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

/* bytes of the names listed in one finding */
#define LIST_BYTES 150

static bool find(BookingTask *task, const char *subject, bool ok,
				 const char *text);
static bool stop(BookingTask *task, BookingOutcomeKind kind,
				 const char *problem, const BookingHttpResponse *response);
static bool reached(BookingTask *task, const BookingHttpResponse *response);
static bool refused(BookingTask *task, const BookingHttpResponse *response);
static bool listed_calendar(BookingTask *task,
							const BookingHttpResponse *response);
static bool listed_all(BookingTask *task, const BookingHttpResponse *response);

/*
 * Build the first request of a check.
 */
bool
booking_google_check(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingGoogleState *state = booking_google_state(task);
	const char *problem = "bad_url";
	bool		calendar = job->collection != NULL && job->collection[0] != '\0';

	state->base = booking_google_base(task->arena, job->base_url, &problem);
	if (state->base == NULL)
	{
		(void) find(task, "connection", false,
					"base_url is malformed. Leave it out for Google's own.");
		return stop(task, strcmp(problem, "bad_url") == 0 ?
					BOOKING_OUTCOME_REJECTED : BOOKING_OUTCOME_FAILED,
					problem, NULL);
	}
	if (!calendar)
		return booking_google_ask_list(task, request);
	state->calendar = booking_google_calendar(task->arena, state->base,
											  job->collection);
	if (state->calendar == NULL)
		return stop(task, BOOKING_OUTCOME_FAILED, "out_of_memory", NULL);
	return booking_google_ask_calendar(task, BOOKING_GOOGLE_CHECK_CALENDAR,
									   request);
}

/*
 * Judge an answer during a check.
 */
bool
booking_google_checked(BookingTask *task, const BookingHttpResponse *response,
					   BookingHttpRequest *request)
{
	if (task->nsteps == 1 && !reached(task, response))
		return false;
	if (task->step == BOOKING_GOOGLE_CHECK_LIST)
		return listed_all(task, response);
	if (booking_rest_answered(response, 404))
	{
		(void) find(task, "calendar", false,
					"There is no such calendar for this account. Check its id, and share it with the account, with the right to make changes to events.");
		booking_rest_pend(task, &booking_google_state(task)->rest.doubt,
						  BOOKING_OUTCOME_CALENDAR_GONE, "calendar_gone",
						  response);
		return booking_google_ask_list(task, request);
	}
	if (!booking_rest_answered(response, 200))
		return refused(task, response);
	return listed_calendar(task, response);
}

/*
 * Did the first request reach Google, and does it let us in?
 */
static bool
reached(BookingTask *task, const BookingHttpResponse *response)
{
	const char *words = response->problem == NULL ? "no reason known" :
		response->problem;

	switch (response->transport)
	{
		case BOOKING_TRANSPORT_COMPLETE:
			break;
		case BOOKING_TRANSPORT_REFUSED:
			(void) find(task, "connection", false,
						booking_report_text(task->arena,
											"The request was not sent: %s. See booking.insecure_hosts and booking.allowed_networks.",
											words));
			return stop(task, BOOKING_OUTCOME_REJECTED, NULL, response);
		case BOOKING_TRANSPORT_NOT_SENT:
			(void) find(task, "connection", false,
						booking_report_text(task->arena,
											"Google could not be reached: %s.",
											words));
			return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
		case BOOKING_TRANSPORT_LOST:
		case BOOKING_TRANSPORT_TOO_LARGE:
			(void) find(task, "connection", false,
						booking_report_text(task->arena,
											"There was no complete answer: %s.",
											words));
			return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
	}
	if (response->status != 401)
		return true;
	(void) find(task, "credential", false,
				"Google refuses the credential. Put it anew with booking_credential_put.");
	return stop(task, BOOKING_OUTCOME_AUTH, NULL, response);
}

/*
 * Google answers, but not what was asked for.
 */
static bool
refused(BookingTask *task, const BookingHttpResponse *response)
{
	const char *problem;

	if (booking_rest_answered(response, 403) &&
		booking_google_refusal(task->arena, response,
							   &problem) == BOOKING_GOOGLE_REFUSED)
	{
		(void) find(task, "access", false,
					booking_report_text(task->arena,
										"Google does not allow it: %s. The credential needs the scope of calendars, and the project the Calendar API.",
										problem));
		return stop(task, BOOKING_OUTCOME_REJECTED, problem, response);
	}
	(void) find(task, "calendar", false,
				booking_report_text(task->arena,
									"Google answers %d. It may not work at present.",
									response->status));
	return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
}

/*
 * The calendar is in the list.
 */
static bool
listed_calendar(BookingTask *task, const BookingHttpResponse *response)
{
	const BookingJson *json;
	const char *role;
	BookingRestFound found = {.response = response};

	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK ||
		(role = booking_json_text(json, "accessRole")) == NULL)
	{
		(void) find(task, "calendar", false,
					"The answer cannot be read. base_url may be another service.");
		return stop(task, BOOKING_OUTCOME_FAILED, "answer_unreadable", response);
	}
	(void) find(task, "connection", true, "Google answers.");
	(void) find(task, "calendar", true, "The calendar is there.");
	if (strcmp(role, "owner") != 0 && strcmp(role, "writer") != 0)
	{
		(void) find(task, "write access", false,
					"The account may only read the calendar. Have it shared with the right to make changes to events.");
		return stop(task, BOOKING_OUTCOME_REJECTED, "need_privileges", response);
	}
	(void) find(task, "write access", true, "The account may write.");
	return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
}

/*
 * Which calendars there are: all that was asked for, or what helps whoever
 * asked for one that is not there.
 */
static bool
listed_all(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGoogleState *state = booking_google_state(task);
	bool		asked = state->calendar == NULL;
	const BookingJson *json;
	BookingBuffer names;
	int			count = 0;
	BookingRestFound found = {.response = response};

	if (!booking_rest_answered(response, 200) ||
		booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return asked ? refused(task, response) :
			booking_rest_finish(task, &state->rest.doubt);
	booking_buffer_init(&names, task->arena);
	for (const BookingJson *at = booking_json_elements(json, "items");
		 at != NULL; at = at->next)
	{
		const char *id = booking_json_text(at, "id");

		if (id == NULL)
			continue;
		count++;
		if (names.len + strlen(id) + 1 > LIST_BYTES)
			continue;
		(void) booking_buffer_add_text(&names, " ");
		(void) booking_buffer_add_text(&names, id);
	}
	(void) find(task, "calendars", count > 0,
				booking_report_text(task->arena, count == 0 ?
									"The list of this account is empty." :
									"Calendars of the account (%d):%s", count,
									names.data));
	if (!asked)
		return booking_rest_finish(task, &state->rest.doubt);
	return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
}

/*
 * Add a finding.
 */
static bool
find(BookingTask *task, const char *subject, bool ok, const char *text)
{
	booking_report_find(task, subject, ok, text);
	return ok;
}

/*
 * End the check.
 */
static bool
stop(BookingTask *task, BookingOutcomeKind kind, const char *problem,
	 const BookingHttpResponse *response)
{
	booking_rest_pend(task, &task->outcome, kind, problem, response);
	return false;
}

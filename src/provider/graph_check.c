/*-------------------------------------------------------------------------
 *
 * graph_check.c
 *	  examines account and calendar, and says in words what is wrong
 *
 * A calendar says itself whether it may be written (M-TYPES, Calendar.canEdit).
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_check.c
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

/* bytes of the names listed in one finding */
#define LIST_BYTES 150

static bool find(BookingTask *task, const char *subject, bool ok,
				 const char *text);
static bool stop(BookingTask *task, BookingOutcomeKind kind,
				 const char *problem, const BookingHttpResponse *response);
static bool reached(BookingTask *task, const BookingHttpResponse *response);
static bool refused(BookingTask *task, const BookingHttpResponse *response);
static bool saw_calendar(BookingTask *task,
						 const BookingHttpResponse *response);
static bool listed_all(BookingTask *task, const BookingHttpResponse *response);

/*
 * Build the first request of a check.
 */
bool
booking_graph_check(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingGraphState *state = booking_graph_state(task);
	BookingGraphPlace *place = &state->place;
	const char *problem = "bad_url";
	const char *calendar;
	bool		named = job->collection != NULL && job->collection[0] != '\0';

	if (named)
		(void) booking_graph_place(task->arena, job->base_url, job->collection,
								   place, &problem);
	else
	{
		place->base = booking_graph_base(task->arena, job->base_url, &problem);
		if (place->base != NULL)
			place->mailbox = booking_graph_mailbox(task->arena, place->base,
												   NULL, &calendar);
	}
	if (place->base == NULL)
	{
		(void) find(task, "connection", false,
					"base_url is malformed. Leave it out for Microsoft's own.");
		return stop(task, strcmp(problem, "bad_url") == 0 ?
					BOOKING_OUTCOME_REJECTED : BOOKING_OUTCOME_FAILED,
					problem, NULL);
	}
	if (place->mailbox == NULL || (named && place->calendar == NULL))
	{
		if (strcmp(problem, "incomplete_job") != 0)
			return stop(task, BOOKING_OUTCOME_FAILED, "out_of_memory", NULL);
		(void) find(task, "calendar", false,
					"remote_id is the id of a calendar, or user/id.");
		return stop(task, BOOKING_OUTCOME_REJECTED, problem, NULL);
	}
	if (!named)
		return booking_graph_ask_list(task, request);
	return booking_graph_ask_calendar(task, BOOKING_GRAPH_CHECK_CALENDAR,
									  request);
}

/*
 * Judge an answer during a check.
 */
bool
booking_graph_checked(BookingTask *task, const BookingHttpResponse *response,
					  BookingHttpRequest *request)
{
	if (task->nsteps == 1 && !reached(task, response))
		return false;
	if (task->step == BOOKING_GRAPH_CHECK_LIST)
		return listed_all(task, response);
	if (booking_rest_answered(response, 404))
	{
		(void) find(task, "calendar", false,
					"There is no such calendar for this account. Check its id, and for application permissions put the user before it: user/id.");
		booking_rest_pend(task, &booking_graph_state(task)->rest.doubt,
						  BOOKING_OUTCOME_CALENDAR_GONE, "calendar_gone",
						  response);
		return booking_graph_ask_list(task, request);
	}
	if (!booking_rest_answered(response, 200))
		return refused(task, response);
	return saw_calendar(task, response);
}

/*
 * Did the first request reach Graph, and does it let us in?
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
											"Microsoft Graph could not be reached: %s.",
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
				"Microsoft Graph refuses the credential. Put it anew with booking_credential_put.");
	return stop(task, BOOKING_OUTCOME_AUTH, NULL, response);
}

/*
 * Graph answers, but not what was asked for.
 */
static bool
refused(BookingTask *task, const BookingHttpResponse *response)
{
	const char *problem;

	if (booking_rest_answered(response, 403) &&
		booking_graph_refusal(task->arena, response, &problem,
							  NULL) == BOOKING_GRAPH_REFUSED)
	{
		(void) find(task, "access", false,
					booking_report_text(task->arena,
										"Microsoft Graph does not allow it: %s. The app needs the permission Calendars.ReadWrite, and for it an administrator's consent.",
										problem));
		return stop(task, BOOKING_OUTCOME_REJECTED, problem, response);
	}
	(void) find(task, "calendar", false,
				booking_report_text(task->arena,
									"Microsoft Graph answers %d. It may not work at present.",
									response->status));
	return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
}

/*
 * The calendar has answered.
 */
static bool
saw_calendar(BookingTask *task, const BookingHttpResponse *response)
{
	const BookingJson *json;
	BookingRestFound found = {.response = response};

	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK ||
		booking_json_text(json, "id") == NULL)
	{
		(void) find(task, "calendar", false,
					"The answer cannot be read. base_url may be another service.");
		return stop(task, BOOKING_OUTCOME_FAILED, "answer_unreadable", response);
	}
	(void) find(task, "connection", true, "Microsoft Graph answers.");
	(void) find(task, "calendar", true, "The calendar is there.");
	if (!booking_json_true(json, "canEdit"))
	{
		(void) find(task, "write access", false,
					"The account may only read the calendar. Have it shared with the right to edit.");
		return stop(task, BOOKING_OUTCOME_REJECTED, "need_privileges", response);
	}
	(void) find(task, "write access", true, "The account may write.");
	return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
}

/*
 * Which calendars there are: all that was asked for, or what helps whoever
 * asked for one that is not there.  Ids are too long for a finding; names are
 * what people look for.
 */
static bool
listed_all(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGraphState *state = booking_graph_state(task);
	bool		asked = state->place.calendar == NULL;
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
	for (const BookingJson *at = booking_json_elements(json, "value");
		 at != NULL; at = at->next)
	{
		const char *name = booking_json_text(at, "name");

		count++;
		if (name == NULL || names.len + strlen(name) + 2 > LIST_BYTES)
			continue;
		(void) booking_buffer_add_text(&names, names.len > 0 ? ", " : " ");
		(void) booking_buffer_add_text(&names, name);
	}
	(void) find(task, "calendars", count > 0,
				booking_report_text(task->arena, count == 0 ?
									"The list of this account is empty." :
									"Calendars of the account (%d):%s", count,
									names.len > 0 ? names.data : ""));
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

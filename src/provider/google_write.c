/*-------------------------------------------------------------------------
 *
 * google_write.c
 *	  judges answers to insert, patch and delete
 *
 * Only 200 with the event that we meant, and for a delete an empty 2xx, says
 * that a write took effect.  A 200 with another id, an empty or a cut body may
 * have (adicu/adi-website#109), so that is unknown.  A 4xx with a body of the
 * API's own proves that it did not; 408, 499, every 5xx, and what something in
 * between may have made, prove nothing (RFC 9110, 15; G-ERR).
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_write.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/google.h"
#include "provider/match.h"
#include "provider/report.h"

static bool stored(BookingTask *task, const BookingHttpResponse *response,
				   BookingHttpRequest *request);
static bool refused(BookingTask *task, const BookingHttpResponse *response,
					BookingHttpRequest *request);
static bool forbidden(BookingTask *task, const BookingHttpResponse *response);
static bool taken(BookingTask *task, const BookingHttpResponse *response,
				  BookingHttpRequest *request);
static bool missing(BookingTask *task, const BookingHttpResponse *response,
					BookingHttpRequest *request);
static bool end(BookingTask *task, const BookingHttpResponse *response,
				BookingOutcomeKind kind, const char *problem);

/*
 * Judge the answer to a write.
 */
bool
booking_google_wrote(BookingTask *task, const BookingHttpResponse *response,
					 BookingHttpRequest *request)
{
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
			return end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, NULL);
		case BOOKING_TRANSPORT_REFUSED:
			return end(task, response, BOOKING_OUTCOME_REJECTED, NULL);
		case BOOKING_TRANSPORT_LOST:
		case BOOKING_TRANSPORT_TOO_LARGE:
			return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	switch (response->status)
	{
		case 200:
		case 204:
			/* a delete is answered with an empty 2xx (G-REF, events.delete) */
			if (task->step == BOOKING_GOOGLE_DELETE)
				return end(task, response, BOOKING_OUTCOME_DONE, NULL);
			return stored(task, response, request);

			/* do it elsewhere; 303 may mean that it was done */
		case 301:
		case 302:
		case 307:
		case 308:
			return end(task, response, BOOKING_OUTCOME_REJECTED, NULL);

		case 401:				/* authError: the token (G-ERR) */
			return end(task, response, BOOKING_OUTCOME_AUTH, NULL);
		case 408:				/* made by proxies, as is 499 */
		case 499:
			return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
		case 421:				/* the server would not look at it */
		case 423:
		case 424:
		case 425:
		case 429:				/* rateLimitExceeded (G-ERR, G-QUOTA) */
			return end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, NULL);
	}
	if (response->status >= 400 && response->status < 500)
		return refused(task, response, request);
	return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
}

/*
 * An insert or a patch was answered with success: see that the event is the one
 * that was meant.  A conference is made after that, which is not waited for,
 * but asked once (G-REF, createRequest.status).
 */
static bool
stored(BookingTask *task, const BookingHttpResponse *response,
	   BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const BookingJson *json;
	BookingGoogleEvent event;
	BookingRestFound found = {.response = response};

	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "answer_unreadable");
	booking_google_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "out_of_memory");
	if (!booking_match_ours(&event.event, task->job->event_id) ||
		!event.has_time ||
		!booking_match_material(&state->wanted, &event.event))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "body_not_read");

	found.href = event.id;
	found.etag = booking_rest_etag(event.etag);
	(void) booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	booking_rest_note_conference(task, event.link, event.conference ==
								 BOOKING_GOOGLE_CONFERENCE_FAILED);
	if (!state->wanted.conference ||
		event.conference == BOOKING_GOOGLE_CONFERENCE_MADE)
		return false;
	state->rest.doubt = task->outcome;
	state->rest.doubt.problem =
		event.conference == BOOKING_GOOGLE_CONFERENCE_FAILED ?
		"conference_failed" : "conference_pending";
	state->rest.doubt.message = booking_report_explain(task->arena, NULL, NULL,
													   state->rest.doubt.problem);
	if (event.conference == BOOKING_GOOGLE_CONFERENCE_FAILED)
		return booking_rest_finish(task, &state->rest.doubt);
	return booking_google_get(task, BOOKING_GOOGLE_POLL, request);
}

/*
 * The event that was just stored, for its conference.  Whatever it says, the
 * event exists; a newer version of it is known by its ETag only if it is still
 * the one that is wanted.
 */
bool
booking_google_polled(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGoogleState *state = booking_google_state(task);
	BookingOutcome *outcome = &state->rest.doubt;
	const BookingJson *json;
	BookingGoogleEvent event;

	if (!booking_rest_answered(response, 200) ||
		booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_finish(task, outcome);
	booking_google_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena) || !event.has_time ||
		!booking_match_ours(&event.event, task->job->event_id) ||
		!booking_match_material(&state->wanted, &event.event))
		return booking_rest_finish(task, outcome);
	outcome->etag = booking_rest_etag(event.etag);
	booking_rest_note_conference(task, event.link, event.conference ==
								 BOOKING_GOOGLE_CONFERENCE_FAILED);
	if (event.conference == BOOKING_GOOGLE_CONFERENCE_MADE)
		outcome->problem = outcome->message = NULL;
	else if (event.conference == BOOKING_GOOGLE_CONFERENCE_FAILED)
	{
		outcome->problem = "conference_failed";
		outcome->message = booking_report_explain(task->arena, NULL, NULL,
												  outcome->problem);
	}
	return booking_rest_finish(task, outcome);
}

/*
 * Google would not do it.  Find out why, where that may mean that it was done
 * before, or that it can be done otherwise.
 */
static bool
refused(BookingTask *task, const BookingHttpResponse *response,
		BookingHttpRequest *request)
{
	bool		insert = task->step == BOOKING_GOOGLE_INSERT;
	const char *problem;

	switch (response->status)
	{
		case 403:
			return forbidden(task, response);

		case 404:
			return missing(task, response, request);

		case 409:
			/* our id is there, perhaps by an earlier copy of this request */
			if (insert)
				return taken(task, response, request);
			return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);

		case 410:
			/* "deleted": what a delete wants (G-ERR) */
			if (task->step == BOOKING_GOOGLE_DELETE)
				return end(task, response, BOOKING_OUTCOME_DONE, NULL);
			return missing(task, response, request);

		case 412:
			/* there is no conditional insert (G-VER) */
			if (!insert)
				return taken(task, response, request);
			break;
	}
	(void) booking_google_refusal(task->arena, response, &problem);
	return end(task, response, BOOKING_OUTCOME_REJECTED, problem);
}

/*
 * 403 means too fast, too much, or not allowed (G-ERR): the reason says which.
 * Without one it is not Google's.
 */
static bool
forbidden(BookingTask *task, const BookingHttpResponse *response)
{
	const char *problem;

	switch (booking_google_refusal(task->arena, response, &problem))
	{
		case BOOKING_GOOGLE_RATE:
			return end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, problem);
		case BOOKING_GOOGLE_QUOTA:
			(void) end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, problem);
			task->outcome.retry_after = Max(task->outcome.retry_after,
											BOOKING_GOOGLE_QUOTA_PAUSE);
			return false;
		case BOOKING_GOOGLE_REFUSED:
			return end(task, response, BOOKING_OUTCOME_REJECTED, problem);
		case BOOKING_GOOGLE_UNCLEAR:
			break;
	}
	return end(task, response, BOOKING_OUTCOME_UNKNOWN, problem);
}

/*
 * Our id is taken, or the ETag is another one.  It may be an earlier copy of
 * this very request that made it so: look what is there.  Not a second time, or
 * two who change an event by turns would never end.
 */
static bool
taken(BookingTask *task, const BookingHttpResponse *response,
	  BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *problem = task->step == BOOKING_GOOGLE_INSERT ? "uid_conflict" :
		"precondition_failed";

	if (state->rest.nwrites > 1)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, problem);
	booking_rest_pend(task, &state->rest.doubt, BOOKING_OUTCOME_UNKNOWN,
					  problem, response);

	/* an id that is taken and cannot be seen is not free either */
	if (task->job->kind == BOOKING_JOB_CREATE)
		state->rest.absent = state->rest.doubt;
	return booking_google_get(task, BOOKING_GOOGLE_GET, request);
}

/*
 * There is no such event, or no such calendar, and the two are answered alike
 * (G-ERR): ask again in another way before it counts.
 */
static bool
missing(BookingTask *task, const BookingHttpResponse *response,
		BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);

	if (task->step == BOOKING_GOOGLE_INSERT)
	{
		/* a 404 alone proves nothing: the guide says to wait and try again */
		booking_rest_pend(task, &state->rest.absent,
						  BOOKING_OUTCOME_NOT_EXECUTED, NULL, response);
		return booking_google_ask_calendar(task, BOOKING_GOOGLE_CALENDAR,
										   request);
	}
	if (task->step == BOOKING_GOOGLE_DELETE)
		booking_rest_pend(task, &state->rest.doubt, BOOKING_OUTCOME_UNKNOWN,
						  NULL, response);
	return booking_google_search(task, NULL, request);
}

/*
 * End the task by an answer; without a problem it is named after the answer.
 */
static bool
end(BookingTask *task, const BookingHttpResponse *response,
	BookingOutcomeKind kind, const char *problem)
{
	booking_rest_pend(task, &task->outcome, kind, problem, response);
	if (kind == BOOKING_OUTCOME_DONE)
		task->outcome.problem = task->outcome.message = NULL;
	return false;
}

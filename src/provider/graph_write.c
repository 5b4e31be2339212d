/*-------------------------------------------------------------------------
 *
 * graph_write.c
 *	  judges answers to create, update and delete
 *
 * Only a success with the event that we meant, and for a delete any empty one,
 * says that a write took effect; without an answer, with another event, or with a
 * body that is empty or cut it may have.  429 and 401 prove that it did not, and
 * so does a 4xx of the API's own, but for 409, which has been seen though the
 * event was made, as has 503 (microsoftgraph/msgraph-sdk-ruby#38).
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_write.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/graph.h"
#include "provider/match.h"
#include "provider/report.h"

static bool succeeded(BookingTask *task, const BookingHttpResponse *response,
					  BookingHttpRequest *request);
static bool stored(BookingTask *task, const BookingHttpResponse *response,
				   BookingHttpRequest *request);
static bool is_meant(BookingTask *task, const BookingGraphEvent *event);
static bool refused(BookingTask *task, const BookingHttpResponse *response,
					BookingHttpRequest *request);
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
booking_graph_wrote(BookingTask *task, const BookingHttpResponse *response,
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
		case 201:
		case 202:
		case 204:
			return succeeded(task, response, request);

			/* do it elsewhere; 303 may mean that it was done */
		case 301:
		case 302:
		case 307:
		case 308:
			return end(task, response, BOOKING_OUTCOME_REJECTED, NULL);

		case 401:
			return end(task, response, BOOKING_OUTCOME_AUTH, NULL);
		case 408:				/* made by proxies, as is 499 */
		case 499:
			return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
		case 421:				/* the server would not look at it */
		case 423:
		case 424:
		case 425:
		case 429:				/* throttling */
			return end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, NULL);
	}
	if (response->status >= 400 && response->status < 500)
		return refused(task, response, request);
	return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
}

/*
 * A write was answered with a success: of a kind that it can have?
 */
static bool
succeeded(BookingTask *task, const BookingHttpResponse *response,
		  BookingHttpRequest *request)
{
	int			status = response->status;

	if (task->step == BOOKING_GRAPH_DELETE)
		return end(task, response, status == 200 || status == 204 ?
				   BOOKING_OUTCOME_DONE : BOOKING_OUTCOME_UNKNOWN, NULL);
	if (status == 202 || (status == 201 && task->step != BOOKING_GRAPH_CREATE))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, NULL);
	return stored(task, response, request);
}

/*
 * A create or an update was done: see that the event is the one that was meant.
 * An online meeting that is not in it yet is asked for once, and not waited for.
 */
static bool
stored(BookingTask *task, const BookingHttpResponse *response,
	   BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const BookingJson *json;
	BookingGraphEvent event;
	BookingRestFound found = {.response = response};

	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "answer_unreadable");
	booking_graph_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "out_of_memory");
	if (!is_meant(task, &event))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "body_not_read");

	state->id = found.href = event.id;
	found.etag = booking_rest_etag(event.etag);
	(void) booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	booking_rest_note_conference(task, event.link, !event.event.conference);
	if (!state->wanted.conference || event.link != NULL)
		return false;
	state->rest.doubt = task->outcome;
	state->rest.doubt.problem = event.event.conference ? "conference_pending" :
		"conference_failed";
	state->rest.doubt.message = booking_report_explain(task->arena, NULL, NULL,
													   state->rest.doubt.problem);
	if (!event.event.conference)
		return booking_rest_finish(task, &state->rest.doubt);
	return booking_graph_get(task, BOOKING_GRAPH_POLL, request);
}

/*
 * Is it the event that the write was about, as it is wanted?  A create is known
 * by transactionId, since our property is not in the answer; an update by the
 * id, and it must not have another transactionId.
 */
static bool
is_meant(BookingTask *task, const BookingGraphEvent *event)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *uid = event->event.uid;

	if (event->id == NULL || strlen(event->id) > BOOKING_GRAPH_MAX_ID ||
		!event->has_time)
		return false;
	if (uid == NULL ? task->step == BOOKING_GRAPH_CREATE :
		strcmp(uid, task->job->event_id) != 0)
		return false;
	if (task->step == BOOKING_GRAPH_UPDATE && strcmp(event->id, state->id) != 0)
		return false;
	return booking_match_material(&state->wanted, &event->event);
}

/*
 * The event that was just stored, for its online meeting.  Whatever it says, the
 * event exists; a newer version of it is known by its ETag only if it is still
 * the one that is wanted.
 */
bool
booking_graph_polled(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGraphState *state = booking_graph_state(task);
	BookingOutcome *outcome = &state->rest.doubt;
	const BookingJson *json;
	BookingGraphEvent event;

	if (!booking_rest_answered(response, 200) ||
		booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_finish(task, outcome);
	booking_graph_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena) || event.id == NULL ||
		strcmp(event.id, state->id) != 0 || !event.has_time ||
		!booking_match_material(&state->wanted, &event.event))
		return booking_rest_finish(task, outcome);
	outcome->etag = booking_rest_etag(event.etag);
	booking_rest_note_conference(task, event.link, !event.event.conference);
	if (event.link != NULL)
		outcome->problem = outcome->message = NULL;
	return booking_rest_finish(task, outcome);
}

/*
 * A write was answered with a 4xx that needs a look at its code.
 */
static bool
refused(BookingTask *task, const BookingHttpResponse *response,
		BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	bool		create = task->step == BOOKING_GRAPH_CREATE;
	const char *problem;
	const char *existing;
	BookingGraphRefusal refusal = booking_graph_refusal(task->arena, response,
														&problem, &existing);

	/* what could not be read may have said that the event is there */
	if (booking_arena_failed(task->arena))
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, "out_of_memory");
	if (refusal == BOOKING_GRAPH_RATE)
		return end(task, response, BOOKING_OUTCOME_NOT_EXECUTED, problem);
	if (refusal == BOOKING_GRAPH_DUPLICATE && create)
	{
		if (existing != NULL && strlen(existing) <= BOOKING_GRAPH_MAX_ID)
			state->hint = existing;
		return taken(task, response, request);
	}
	if (!create && (refusal == BOOKING_GRAPH_CHANGED || response->status == 412))
		return taken(task, response, request);
	if (response->status == 404 || response->status == 410)
		return missing(task, response, request);

	/* seen though the write was done, and for a create there is no condition */
	if (response->status == 409 || response->status == 412)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, problem);

	/* without a code it is not Graph's */
	if (response->status == 403 && refusal == BOOKING_GRAPH_UNCLEAR)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, problem);
	return end(task, response, BOOKING_OUTCOME_REJECTED, problem);
}

/*
 * Our transactionId is taken, or the version is another one.  It may be an
 * earlier copy of this very request that made it so: look what is there.  Not a
 * second time, or two who change an event by turns would never end.
 */
static bool
taken(BookingTask *task, const BookingHttpResponse *response,
	  BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	bool		create = task->step == BOOKING_GRAPH_CREATE;
	const char *problem = create ? "uid_conflict" : "precondition_failed";

	if (state->rest.nwrites > 1)
		return end(task, response, BOOKING_OUTCOME_UNKNOWN, problem);
	booking_rest_pend(task, &state->rest.doubt, BOOKING_OUTCOME_UNKNOWN,
					  problem, response);
	if (!create)
		return booking_graph_get(task, BOOKING_GRAPH_GET, request);

	/* an id that is taken and cannot be seen is not free either */
	state->rest.absent = state->rest.doubt;
	return booking_graph_search(task, request);
}

/*
 * There is no such event, or no such calendar or mailbox: ask again in another
 * way before it counts.
 */
static bool
missing(BookingTask *task, const BookingHttpResponse *response,
		BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	if (task->step == BOOKING_GRAPH_CREATE)
	{
		booking_rest_pend(task, &state->rest.absent,
						  BOOKING_OUTCOME_NOT_EXECUTED, NULL, response);
		return booking_graph_ask_calendar(task, BOOKING_GRAPH_CALENDAR,
										  request);
	}
	if (task->step == BOOKING_GRAPH_DELETE)
		booking_rest_pend(task, &state->rest.doubt, BOOKING_OUTCOME_UNKNOWN,
						  NULL, response);
	return booking_graph_search(task, request);
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

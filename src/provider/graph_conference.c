/*-------------------------------------------------------------------------
 *
 * graph_conference.c
 *	  where to take part in an online meeting of Microsoft
 *
 * The link is in the answer to the create, as a rule; it may come later
 * (resources/event, onlineMeeting).
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_conference.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/graph.h"

/*
 * Keep what an event says of its online meeting.
 */
void
booking_graph_note_conference(BookingTask *task, const BookingGraphEvent *event)
{
	BookingGraphState *state = booking_graph_state(task);

	state->link = event->link;
	state->no_conference = !event->event.conference;
}

/*
 * Tell it with the outcome of a write, or of the lookup of one.
 */
void
booking_graph_tell_conference(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingGraphState *state = booking_graph_state(task);
	BookingJobKind kind = job->kind == BOOKING_JOB_LOOKUP ? job->looked_up :
		job->kind;

	if (state != NULL && state->has_wanted &&
		(kind == BOOKING_JOB_CREATE || kind == BOOKING_JOB_UPDATE))
		booking_rest_tell_conference(task, state->wanted.conference,
									 state->link, state->no_conference);
}

/*
 * The answer to the question whether it is made by now.
 */
bool
booking_graph_conference_got(BookingTask *task,
							 const BookingHttpResponse *response)
{
	const BookingJson *json;
	BookingGraphEvent event;
	BookingRestFound found = {.response = response};

	if (booking_rest_answered(response, 404) || booking_rest_answered(response, 410))
		return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT, NULL, &found);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "event_unreadable");
	booking_graph_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena) || event.id == NULL ||
		strcmp(event.id, booking_graph_state(task)->id) != 0)
		return booking_rest_fail(task, response, "event_unreadable");
	(void) booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	booking_rest_tell_conference(task, true, event.link,
								 !event.event.conference);
	return false;
}

/*-------------------------------------------------------------------------
 *
 * google_conference.c
 *	  where to take part in a conference of Google
 *
 * A conference is made after the event that asks for it (G-REF,
 * createRequest.status), so that its link comes with a later reading.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_conference.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/google.h"

/*
 * Keep what an event says of its conference.
 */
void
booking_google_note_conference(BookingTask *task,
							   const BookingGoogleEvent *event)
{
	BookingGoogleState *state = booking_google_state(task);

	state->link = event->link;
	state->no_conference = event->conference == BOOKING_GOOGLE_CONFERENCE_FAILED;
}

/*
 * Tell it with the outcome of a write, or of the lookup of one.
 */
void
booking_google_tell_conference(BookingTask *task)
{
	const BookingJob *job = task->job;
	BookingGoogleState *state = booking_google_state(task);
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
booking_google_conference_got(BookingTask *task,
							  const BookingHttpResponse *response)
{
	const BookingJson *json;
	BookingGoogleEvent event;
	BookingRestFound found = {.response = response};

	if (booking_rest_answered(response, 404) || booking_rest_answered(response, 410))
		return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT, NULL, &found);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "event_unreadable");
	booking_google_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena) || event.id == NULL ||
		strcmp(event.id, task->job->event_id) != 0)
		return booking_rest_fail(task, response, "event_unreadable");
	if (event.event.canceled)
		return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT, NULL, &found);
	(void) booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	booking_rest_tell_conference(task, true, event.link,
								 event.conference == BOOKING_GOOGLE_CONFERENCE_FAILED ||
								 event.conference == BOOKING_GOOGLE_CONFERENCE_NONE);
	return false;
}

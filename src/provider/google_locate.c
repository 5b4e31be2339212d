/*-------------------------------------------------------------------------
 *
 * google_locate.c
 *	  finds the event, and decides by what is there
 *
 * Two reads: the event by its id, and, if there is none, events that carry our
 * marker, a list that shows at the same time whether the calendar is there.
 * "Not there" is said only after both, and never because a read failed.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_locate.c
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

static bool decide(BookingTask *task, const BookingGoogleEvent *event,
				   const BookingJson *json, const BookingRestFound *found,
				   BookingHttpRequest *request);
static bool deleted(BookingTask *task, const BookingRestFound *found);
static bool decide_create(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found);
static bool decide_update(BookingTask *task, const BookingEvent *event,
						  const BookingJson *json,
						  const BookingRestFound *found,
						  BookingHttpRequest *request);
static bool decide_cancel(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found,
						  BookingHttpRequest *request);
static bool decide_lookup(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found,
						  BookingHttpRequest *request);
static bool may_write(BookingTask *task, const BookingRestFound *found);
static bool is_gone(const BookingHttpResponse *response);
static void note_quota(BookingTask *task, const BookingHttpResponse *response);

/*
 * The answer to a GET of the event.
 */
bool
booking_google_got(BookingTask *task, const BookingHttpResponse *response,
				   BookingHttpRequest *request)
{
	const BookingJson *json;
	BookingGoogleEvent event;
	BookingRestFound found = {.response = response};

	if (is_gone(response))
		return booking_google_search(task, NULL, request);
	if (!booking_rest_answered(response, 200))
	{
		(void) booking_rest_fail(task, response, NULL);
		note_quota(task, response);
		return false;
	}
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK)
		return booking_rest_fail(task, response, "event_unreadable");
	booking_google_event_read(json, task->arena, &event);
	if (booking_arena_failed(task->arena))
		return booking_rest_fail(task, response, "out_of_memory");

	/* an answer about something else is none */
	if (event.id == NULL || strcmp(event.id, task->job->event_id) != 0)
		return booking_rest_fail(task, response, "event_unreadable");
	found.href = event.id;
	found.etag = booking_rest_etag(event.etag);

	/* of a deleted event nothing but its id is sure to be there */
	if (event.event.canceled)
		return deleted(task, &found);
	if (!event.has_time)
		return booking_rest_fail(task, response, "event_unreadable");
	booking_rest_note_conference(task, event.link, event.conference ==
								 BOOKING_GOOGLE_CONFERENCE_FAILED);
	return decide(task, &event, json, &found, request);
}

/*
 * The answer to the question for events that carry our marker.
 */
bool
booking_google_searched(BookingTask *task, const BookingHttpResponse *response,
						BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	BookingRestFound nowhere = {.response = response};
	const BookingJson *json;
	const char *page;

	/* the second 404: the calendar is not there, or not for us */
	if (is_gone(response) && !state->doubles)
		return booking_rest_settle(task, BOOKING_OUTCOME_CALENDAR_GONE,
								   "calendar_gone", &nowhere);
	if (!booking_rest_answered(response, 200))
	{
		(void) booking_rest_fail(task, response, NULL);
		note_quota(task, response);
		return false;
	}
	if (booking_json_read(response->body, response->body_len, task->arena,
						  &json) != BOOKING_JSON_OK ||
		json->kind != BOOKING_JSON_OBJECT)
		return booking_rest_fail(task, response, "answer_unreadable");

	for (const BookingJson *at = booking_json_elements(json, "items");
		 at != NULL; at = at->next)
	{
		BookingGoogleEvent event;

		booking_google_event_read(at, task->arena, &event);
		if (event.event.canceled || event.event.marker == NULL ||
			strcmp(event.event.marker, task->job->event_id) != 0)
			continue;
		if (event.id == NULL || strcmp(event.id, task->job->event_id) != 0)
			state->nothers++;
		else if (!state->doubles)
			/* it is there, and was not a moment ago */
			return booking_rest_fail(task, response, "answer_incomplete");
	}
	page = booking_json_text(json, "nextPageToken");
	if (page != NULL)
		return booking_google_search(task, page, request);
	if (state->nothers > 0)
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   state->doubles ? "several_events" :
								   "other_event", &nowhere);
	if (state->doubles)
		return booking_rest_settle(task, BOOKING_OUTCOME_EQUAL, NULL,
								   &state->found);
	return booking_rest_finish(task, &state->rest.absent);
}

/*
 * The answer to the question whether the calendar is there.
 */
bool
booking_google_looked(BookingTask *task, const BookingHttpResponse *response)
{
	BookingGoogleState *state = booking_google_state(task);
	BookingRestFound nowhere = {.response = response};

	if (is_gone(response))
		return booking_rest_settle(task, BOOKING_OUTCOME_CALENDAR_GONE,
								   "calendar_gone", &nowhere);
	if (!booking_rest_answered(response, 200))
		return booking_rest_fail(task, response, NULL);
	return booking_rest_finish(task, &state->rest.absent);
}

/*
 * Something has our id: decide what that means for the job.
 */
static bool
decide(BookingTask *task, const BookingGoogleEvent *event,
	   const BookingJson *json, const BookingRestFound *found,
	   BookingHttpRequest *request)
{
	if (!booking_match_ours(&event->event, task->job->event_id))
		return booking_rest_settle(task, BOOKING_OUTCOME_FOREIGN,
								   "foreign_event", found);
	switch (task->job->kind)
	{
		case BOOKING_JOB_CREATE:
			return decide_create(task, &event->event, found);
		case BOOKING_JOB_UPDATE:
			return decide_update(task, &event->event, json, found, request);
		case BOOKING_JOB_CANCEL:
			return decide_cancel(task, &event->event, found, request);
		case BOOKING_JOB_LOOKUP:
		case BOOKING_JOB_CHECK:
		case BOOKING_JOB_CONFERENCE:
			break;
	}
	return decide_lookup(task, &event->event, found, request);
}

/*
 * The event was deleted, and its id is burnt: an insert with it is refused for
 * ever.  So a create can neither be done nor be tried again, which a lookup
 * says too; all else is as if there were no event.
 */
static bool
deleted(BookingTask *task, const BookingRestFound *found)
{
	const BookingJob *job = task->job;

	if (job->kind == BOOKING_JOB_CANCEL)
		return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, found);
	if (job->kind == BOOKING_JOB_LOOKUP &&
		job->looked_up == BOOKING_JOB_CREATE)
		return booking_rest_settle(task, BOOKING_OUTCOME_REJECTED,
								   "deleted_at_provider", found);
	return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT,
							   job->kind == BOOKING_JOB_LOOKUP &&
							   job->looked_up == BOOKING_JOB_CANCEL ? NULL :
							   "deleted_at_provider", found);
}

/*
 * Our event was there before this create: an earlier copy of it arrived.
 */
static bool
decide_create(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found)
{
	if (!booking_match_material(&booking_google_state(task)->wanted, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_changed", found);
	return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, found);
}

/*
 * Update what is there if it still is what we left, else leave it alone.
 */
static bool
decide_update(BookingTask *task, const BookingEvent *event,
			  const BookingJson *json, const BookingRestFound *found,
			  BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);

	if (booking_match_update(&state->wanted, state->has_previous ?
							 &state->previous : NULL, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, found);
	if (!state->has_previous ||
		!booking_match_material(&state->previous, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_changed", found);
	return may_write(task, found) &&
		booking_google_patch(task, found->etag,
							 booking_json_member(json, "attendees"), request);
}

/*
 * Delete what is there unless somebody gave it another time; whatever else
 * was changed is no reason to keep an event that was called off.
 */
static bool
decide_cancel(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found, BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);

	if ((!state->has_previous ||
		 !booking_match_interval(&state->previous, event)) &&
		(!state->has_wanted || !booking_match_interval(&state->wanted, event)))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_moved", found);
	return may_write(task, found) &&
		booking_google_delete(task, found->etag, request);
}

/*
 * Tell what became of an uncertain write.  That a create made no second event
 * is not promised (G-REF, Event.id), so others are looked for.
 */
static bool
decide_lookup(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found, BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const BookingEvent *previous = state->has_previous ? &state->previous : NULL;

	switch (task->job->looked_up)
	{
		case BOOKING_JOB_CANCEL:
			return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
									   "still_present", found);
		case BOOKING_JOB_UPDATE:
			if (booking_match_update(&state->wanted, previous, event))
				return booking_rest_settle(task, BOOKING_OUTCOME_EQUAL, NULL,
										   found);
			if (previous != NULL && booking_match_material(previous, event))
				return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT,
										   "not_updated", found);
			break;
		case BOOKING_JOB_CREATE:
		case BOOKING_JOB_LOOKUP:
		case BOOKING_JOB_CHECK:
		case BOOKING_JOB_CONFERENCE:
			if (!booking_match_material(&state->wanted, event))
				break;
			state->doubles = true;
			state->found = *found;
			return booking_google_search(task, NULL, request);
	}
	return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
							   "event_changed", found);
}

/*
 * May the version that was found be written?  It is known to be ours and as we
 * left it, so no write of this task took effect so far.
 */
static bool
may_write(BookingTask *task, const BookingRestFound *found)
{
	BookingGoogleState *state = booking_google_state(task);

	if (state->rest.nwrites > 1)
		return booking_rest_settle(task, BOOKING_OUTCOME_UNKNOWN,
								   "precondition_failed", found);
	booking_rest_expect(task);
	if (found->etag == NULL)
		return booking_rest_settle(task, BOOKING_OUTCOME_REJECTED, "no_etag",
								   found);
	return true;
}

/*
 * Does an answer say that there is nothing?
 */
static bool
is_gone(const BookingHttpResponse *response)
{
	return booking_rest_answered(response, 404) ||
		booking_rest_answered(response, 410);
}

/*
 * A read that the quota refused is put off for as long as a write.
 */
static void
note_quota(BookingTask *task, const BookingHttpResponse *response)
{
	const char *problem;

	if (booking_rest_answered(response, 403) &&
		booking_google_refusal(task->arena, response,
							   &problem) == BOOKING_GOOGLE_QUOTA)
		task->outcome.retry_after = Max(task->outcome.retry_after,
										BOOKING_GOOGLE_QUOTA_PAUSE);
}

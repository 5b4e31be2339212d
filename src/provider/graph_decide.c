/*-------------------------------------------------------------------------
 *
 * graph_decide.c
 *	  decides by what was found on the calendar
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_decide.c
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

static bool decide_create(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found);
static bool decide_update(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found,
						  BookingHttpRequest *request);
static bool decide_cancel(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found,
						  BookingHttpRequest *request);
static bool decide_lookup(BookingTask *task, const BookingEvent *event,
						  const BookingRestFound *found);
static bool may_write(BookingTask *task, const BookingRestFound *found);

/*
 * Something is on the calendar that has our id: decide what that means for the
 * job.
 */
bool
booking_graph_decide(BookingTask *task, const BookingHttpResponse *response,
					 BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);
	const char *id = task->job->event_id;
	BookingRestFound found = {.response = response};
	BookingGraphEvent event;

	booking_graph_event_read(state->best, task->arena, &event);
	if (booking_arena_failed(task->arena))
		return booking_rest_fail(task, response, "out_of_memory");
	if (event.id == NULL || !event.has_time)
		return booking_rest_fail(task, response, "event_unreadable");
	state->id = found.href = event.id;
	found.etag = booking_rest_etag(event.etag);
	if (event.event.uid != NULL ? strcmp(event.event.uid, id) != 0 :
		event.event.marker == NULL || strcmp(event.event.marker, id) != 0)
		return booking_rest_settle(task, BOOKING_OUTCOME_FOREIGN,
								   "foreign_event", &found);
	if (event.event.canceled)
		return booking_graph_deleted(task, response);
	event.event.description = NULL;
	booking_rest_note_conference(task, event.link, !event.event.conference);
	switch (task->job->kind)
	{
		case BOOKING_JOB_CREATE:
			return decide_create(task, &event.event, &found);
		case BOOKING_JOB_UPDATE:
			return decide_update(task, &event.event, &found, request);
		case BOOKING_JOB_CANCEL:
			return decide_cancel(task, &event.event, &found, request);
		case BOOKING_JOB_LOOKUP:
		case BOOKING_JOB_CHECK:
		case BOOKING_JOB_CONFERENCE:
			break;
	}
	return decide_lookup(task, &event.event, &found);
}

/*
 * Our event was deleted, or is on another calendar.  So a create was done and
 * undone, and doing it again would overrule that; all else is as if there were
 * no event.
 */
bool
booking_graph_deleted(BookingTask *task, const BookingHttpResponse *response)
{
	const BookingJob *job = task->job;
	BookingRestFound found = {.response = response};

	found.href = booking_json_text(booking_graph_state(task)->best, "id");
	if (job->kind == BOOKING_JOB_CANCEL)
		return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, &found);
	if (job->kind == BOOKING_JOB_LOOKUP &&
		job->looked_up == BOOKING_JOB_CREATE)
		return booking_rest_settle(task, BOOKING_OUTCOME_REJECTED,
								   "deleted_at_provider", &found);
	return booking_rest_settle(task, BOOKING_OUTCOME_ABSENT,
							   job->kind == BOOKING_JOB_LOOKUP &&
							   job->looked_up == BOOKING_JOB_CANCEL ? NULL :
							   "deleted_at_provider", &found);
}

/*
 * Our event was there before this create: an earlier copy of it arrived.
 */
static bool
decide_create(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found)
{
	if (!booking_match_material(&booking_graph_state(task)->wanted, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_changed", found);
	return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, found);
}

/*
 * Update what is there if it still is what we left, else leave it alone.
 */
static bool
decide_update(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	if (booking_match_update(&state->wanted, state->has_previous ?
							 &state->previous : NULL, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DONE, NULL, found);
	if (!state->has_previous ||
		!booking_match_material(&state->previous, event))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_changed", found);
	return may_write(task, found) &&
		booking_graph_update(task, found->etag, request);
}

/*
 * Delete what is there unless somebody gave it another time; whatever else
 * was changed is no reason to keep an event that was called off.
 */
static bool
decide_cancel(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found, BookingHttpRequest *request)
{
	BookingGraphState *state = booking_graph_state(task);

	if ((!state->has_previous ||
		 !booking_match_interval(&state->previous, event)) &&
		(!state->has_wanted || !booking_match_interval(&state->wanted, event)))
		return booking_rest_settle(task, BOOKING_OUTCOME_DIFFERENT,
								   "event_moved", found);
	return may_write(task, found) &&
		booking_graph_delete(task, found->etag, request);
}

/*
 * Tell what became of an uncertain write.
 */
static bool
decide_lookup(BookingTask *task, const BookingEvent *event,
			  const BookingRestFound *found)
{
	BookingGraphState *state = booking_graph_state(task);
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
			if (booking_match_material(&state->wanted, event))
				return booking_rest_settle(task, BOOKING_OUTCOME_EQUAL, NULL,
										   found);
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
	BookingGraphState *state = booking_graph_state(task);

	if (state->rest.nwrites > 1)
		return booking_rest_settle(task, BOOKING_OUTCOME_UNKNOWN,
								   "precondition_failed", found);
	booking_rest_expect(task);
	if (found->etag == NULL)
		return booking_rest_settle(task, BOOKING_OUTCOME_REJECTED, "no_etag",
								   found);
	return true;
}

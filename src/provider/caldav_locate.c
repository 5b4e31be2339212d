/*-------------------------------------------------------------------------
 *
 * caldav_locate.c
 *	  finds the event, and decides by what is there
 *
 * Three reads, each only if the one before found nothing: the URL of the
 * event, the calendar by UID, the calendar itself.  "Not there" is said only
 * after all three, and never because a read failed.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_locate.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "codec/ical.h"
#include "provider/caldav.h"
#include "provider/match.h"
#include "provider/url.h"

/* what a query brought */
typedef struct Harvest
{
	int			nours;
	int			nothers;		/* our UID, but not our marker */
	bool		incomplete;		/* the server left something out */
	bool		unreadable;		/* something may be ours, but cannot be read */
	const char *bare;			/* URL of a match without its data */
	BookingCaldavFound found;	/* ours if there is one, else another's */
} Harvest;

static bool answered(const BookingHttpResponse *response, int status);
static bool is_gone(int status);
static void gather(BookingTask *task, const BookingDavResource *resource,
				   Harvest *harvest);
static bool gone(BookingTask *task, const BookingHttpResponse *response,
				 const char *problem);
static bool decide(BookingTask *task, const BookingCaldavFound *found,
				   BookingHttpRequest *request);
static bool decide_create(BookingTask *task, const BookingCaldavFound *found);
static bool decide_update(BookingTask *task, const BookingCaldavFound *found,
						  BookingHttpRequest *request);
static bool decide_cancel(BookingTask *task, const BookingCaldavFound *found,
						  BookingHttpRequest *request);
static bool decide_lookup(BookingTask *task, const BookingCaldavFound *found);
static bool write_over(BookingTask *task, const BookingCaldavFound *found,
					   BookingHttpRequest *request);

/*
 * The answer to a GET of the event.
 */
bool
booking_caldav_got(BookingTask *task, const BookingHttpResponse *response,
				   BookingHttpRequest *request)
{
	BookingCaldavFound found;

	if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
		is_gone(response->status))
		return booking_caldav_query(task, request);
	if (!answered(response, 200))
		return booking_caldav_fail(task, response, NULL);

	memset(&found, 0, sizeof(found));
	found.url = booking_caldav_state(task)->url;
	found.etag = booking_caldav_strong(response->etag);
	found.response = response;
	switch (booking_ical_read(response->body, response->body_len, task->arena,
							  &found.event))
	{
		case BOOKING_ICAL_OK:
			found.readable = true;
			return decide(task, &found, request);
		case BOOKING_ICAL_NO_EVENT:
			return decide(task, &found, request);
		case BOOKING_ICAL_MALFORMED:
		case BOOKING_ICAL_BAD_TIME:
		case BOOKING_ICAL_TOO_LARGE:
			break;
	}
	return booking_caldav_fail(task, response, "event_unreadable");
}

/*
 * The answer to a query for our UID.
 */
bool
booking_caldav_queried(BookingTask *task, const BookingHttpResponse *response,
					   BookingHttpRequest *request)
{
	BookingDavMultistatus multistatus;
	Harvest		harvest;

	if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
		is_gone(response->status))
		return booking_caldav_collection(task, request);
	if (!answered(response, 207))
		return booking_caldav_fail(task, response, NULL);
	if (booking_dav_read_multistatus(response->body, response->body_len,
									 task->arena,
									 &multistatus) != BOOKING_DAV_OK)
		return booking_caldav_fail(task, response, "answer_unreadable");

	memset(&harvest, 0, sizeof(harvest));
	harvest.found.response = response;
	for (int i = 0; i < multistatus.nresources; i++)
		gather(task, &multistatus.resources[i], &harvest);

	if (booking_arena_failed(task->arena))
		return booking_caldav_fail(task, response, "out_of_memory");
	/* what cannot be read has our UID, and may be ours */
	if (harvest.unreadable)
		return booking_caldav_fail(task, response, "event_unreadable");
	if (harvest.nours > 1)
		return booking_caldav_settle(task, BOOKING_OUTCOME_DIFFERENT,
									 "several_events", response,
									 &harvest.found);
	if (harvest.nours == 1)
		return decide(task, &harvest.found, request);
	if (harvest.bare != NULL)
	{
		booking_caldav_state(task)->url = harvest.bare;
		return booking_caldav_get(task, request);
	}
	if (harvest.incomplete)
		return booking_caldav_fail(task, response, "answer_incomplete");
	if (harvest.nothers > 0)
		return decide(task, &harvest.found, request);
	return booking_caldav_collection(task, request);
}

/*
 * The answer to the question whether the calendar is there.  A server that
 * forbids us to read it leaves a refused write refused.
 */
bool
booking_caldav_looked(BookingTask *task, const BookingHttpResponse *response,
					  BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingDavMultistatus multistatus;
	const BookingDavResource *resource;

	if (response->transport == BOOKING_TRANSPORT_COMPLETE)
	{
		if (is_gone(response->status))
			return gone(task, response, "calendar_gone");
		if (response->status == 403 &&
			state->absent.kind == BOOKING_OUTCOME_REJECTED)
			return booking_caldav_finish(task, &state->absent);
	}
	if (!answered(response, 207))
		return booking_caldav_fail(task, response, NULL);
	if (booking_dav_read_multistatus(response->body, response->body_len,
									 task->arena,
									 &multistatus) != BOOKING_DAV_OK ||
		multistatus.nresources == 0)
		return booking_caldav_fail(task, response, "answer_unreadable");

	resource = &multistatus.resources[0];
	if (is_gone(resource->status))
		return gone(task, response, "calendar_gone");
	if (resource->status >= 300)
		return booking_caldav_fail(task, response, "answer_incomplete");
	if (!resource->is_calendar)
	{
		if (resource->error_status != 0)
			return booking_caldav_fail(task, response, "answer_incomplete");
		return gone(task, response, "not_a_calendar");
	}
	if (state->absent.kind == BOOKING_OUTCOME_REJECTED && !resource->may_write)
		booking_caldav_pend(task, &state->absent, BOOKING_OUTCOME_REJECTED,
							"need_privileges", NULL);
	return booking_caldav_finish(task, &state->absent);
}

/*
 * Is it a whole answer with this status?
 */
static bool
answered(const BookingHttpResponse *response, int status)
{
	return response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status == status;
}

/*
 * Does a status say that there is nothing?
 */
static bool
is_gone(int status)
{
	return status == 404 || status == 410;
}

/*
 * Sort in one member of a query's answer.  Servers match substrings and may
 * match without case, so the UID is compared here.
 */
static void
gather(BookingTask *task, const BookingDavResource *resource, Harvest *harvest)
{
	BookingEvent event;
	char	   *url;
	bool		ours;

	if (is_gone(resource->status))
		return;
	if (resource->status >= 300 || resource->error_status != 0 ||
		resource->href == NULL ||
		booking_url_resolve(task->job->base_url, resource->href, task->arena,
							&url) != BOOKING_URL_OK)
	{
		harvest->incomplete = true;
		return;
	}
	if (resource->calendar_data == NULL)
	{
		/* some list the collection itself */
		if (strcmp(url, booking_caldav_state(task)->collection) != 0)
			harvest->bare = url;
		return;
	}
	switch (booking_ical_read(resource->calendar_data,
							  strlen(resource->calendar_data), task->arena,
							  &event))
	{
		case BOOKING_ICAL_OK:
			break;
		case BOOKING_ICAL_NO_EVENT:
			return;
		case BOOKING_ICAL_MALFORMED:
		case BOOKING_ICAL_BAD_TIME:
		case BOOKING_ICAL_TOO_LARGE:
			harvest->unreadable = true;
			return;
	}
	if (event.uid == NULL || strcmp(event.uid, task->job->event_id) != 0)
		return;

	ours = booking_match_ours(&event, task->job->event_id);
	if (ours)
		harvest->nours++;
	else
		harvest->nothers++;
	if (ours ? harvest->nours == 1 : harvest->nours + harvest->nothers == 1)
	{
		harvest->found.url = url;
		harvest->found.etag = booking_caldav_strong(resource->etag);
		harvest->found.readable = true;
		harvest->found.queried = true;
		harvest->found.event = event;
	}
}

/*
 * There is no calendar any more.
 */
static bool
gone(BookingTask *task, const BookingHttpResponse *response,
	 const char *problem)
{
	return booking_caldav_settle(task, BOOKING_OUTCOME_CALENDAR_GONE, problem,
								 response, NULL);
}

/*
 * Something has our id: decide what that means for the job.
 */
static bool
decide(BookingTask *task, const BookingCaldavFound *found,
	   BookingHttpRequest *request)
{
	if (!found->readable ||
		!booking_match_ours(&found->event, task->job->event_id))
		return booking_caldav_settle(task, BOOKING_OUTCOME_FOREIGN,
									 "foreign_event", found->response, found);

	switch (task->job->kind)
	{
		case BOOKING_JOB_CREATE:
			return decide_create(task, found);
		case BOOKING_JOB_UPDATE:
			return decide_update(task, found, request);
		case BOOKING_JOB_CANCEL:
			return decide_cancel(task, found, request);
		case BOOKING_JOB_LOOKUP:
		case BOOKING_JOB_CHECK:
		case BOOKING_JOB_CONFERENCE:
			break;
	}
	return decide_lookup(task, found);
}

/*
 * Our event was there before this create: an earlier copy of it arrived.  If
 * it is in another calendar, which servers that keep UIDs unique for a user
 * may tell us, somebody moved it.
 */
static bool
decide_create(BookingTask *task, const BookingCaldavFound *found)
{
	const char *collection = booking_caldav_state(task)->collection;

	if (!booking_url_within(collection, found->url))
		return booking_caldav_settle(task, BOOKING_OUTCOME_DIFFERENT,
									 "other_calendar", found->response, found);
	if (!booking_match_material(task->job->wanted, &found->event))
		return booking_caldav_settle(task, BOOKING_OUTCOME_DIFFERENT,
									 "event_changed", found->response, found);
	return booking_caldav_settle(task, BOOKING_OUTCOME_DONE, NULL,
								 found->response, found);
}

/*
 * Update what is there if it still is what we left, else leave it alone.
 */
static bool
decide_update(BookingTask *task, const BookingCaldavFound *found,
			  BookingHttpRequest *request)
{
	const BookingJob *job = task->job;

	if (booking_match_update(job->wanted, job->previous, &found->event))
		return booking_caldav_settle(task, BOOKING_OUTCOME_DONE, NULL,
									 found->response, found);
	if (job->previous == NULL ||
		!booking_match_material(job->previous, &found->event))
		return booking_caldav_settle(task, BOOKING_OUTCOME_DIFFERENT,
									 "event_changed", found->response, found);
	return write_over(task, found, request);
}

/*
 * Delete what is there unless somebody gave it another time; whatever else
 * was changed is no reason to keep an event that was called off.
 */
static bool
decide_cancel(BookingTask *task, const BookingCaldavFound *found,
			  BookingHttpRequest *request)
{
	const BookingJob *job = task->job;

	if ((job->previous == NULL ||
		 !booking_match_interval(job->previous, &found->event)) &&
		(job->wanted == NULL ||
		 !booking_match_interval(job->wanted, &found->event)))
		return booking_caldav_settle(task, BOOKING_OUTCOME_DIFFERENT,
									 "event_moved", found->response, found);
	return write_over(task, found, request);
}

/*
 * Tell what became of an uncertain write.
 */
static bool
decide_lookup(BookingTask *task, const BookingCaldavFound *found)
{
	const BookingJob *job = task->job;
	const BookingEvent *event = &found->event;
	BookingOutcomeKind kind = BOOKING_OUTCOME_DIFFERENT;
	const char *problem = "event_changed";

	switch (job->looked_up)
	{
		case BOOKING_JOB_CANCEL:
			problem = "still_present";
			break;
		case BOOKING_JOB_UPDATE:
			if (booking_match_update(job->wanted, job->previous, event))
				kind = BOOKING_OUTCOME_EQUAL;
			else if (job->previous != NULL &&
					 booking_match_material(job->previous, event))
			{
				kind = BOOKING_OUTCOME_ABSENT;
				problem = "not_updated";
			}
			break;
		case BOOKING_JOB_CREATE:
		case BOOKING_JOB_LOOKUP:
		case BOOKING_JOB_CHECK:
		case BOOKING_JOB_CONFERENCE:
			if (booking_match_material(job->wanted, event))
				kind = BOOKING_OUTCOME_EQUAL;
			break;
	}
	return booking_caldav_settle(task, kind, kind == BOOKING_OUTCOME_EQUAL ?
								 NULL : problem, found->response, found);
}

/*
 * Write the version that was found, which is known to be ours and as we left
 * it, so no write of this task took effect so far.  Without a strong ETag in
 * the headers a query is asked for data and ETag together: an ETag read later
 * could belong to a version that nobody judged.
 */
static bool
write_over(BookingTask *task, const BookingCaldavFound *found,
		   BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (state->nwrites > 1)
		return booking_caldav_settle(task, BOOKING_OUTCOME_UNKNOWN,
									 "precondition_failed", found->response,
									 found);
	booking_caldav_expect(task);
	if (found->etag == NULL)
	{
		if (found->queried)
			return booking_caldav_settle(task, BOOKING_OUTCOME_REJECTED,
										 "no_etag", found->response, found);
		booking_caldav_pend(task, &state->absent, BOOKING_OUTCOME_REJECTED,
							"no_etag", found->response);
		return booking_caldav_query(task, request);
	}
	state->url = found->url;
	if (task->job->kind == BOOKING_JOB_UPDATE)
		return booking_caldav_put(task, found->etag, request);
	return booking_caldav_delete(task, found->etag, request);
}

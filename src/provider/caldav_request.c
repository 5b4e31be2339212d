/*-------------------------------------------------------------------------
 *
 * caldav_request.c
 *	  the requests of the CalDAV adapter
 *
 * Each function builds one request for the state's URL, notes which step its
 * answer belongs to, and returns true; or it ends the task, as the state's
 * doubt says, and returns false.  Credentials are added by the engine.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_request.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "provider/caldav.h"

#define XML_TYPE "application/xml; charset=utf-8"
#define CALENDAR_TYPE "text/calendar; charset=utf-8"

static bool begin(BookingTask *task, BookingCaldavStep step,
				  const char *method, const char *url,
				  BookingHttpRequest *request);
static void add_header(BookingHttpRequest *request, const char *name,
					   const char *value);
static bool add_condition(BookingTask *task, const char *etag,
						  BookingHttpRequest *request);
static bool add_body(BookingTask *task, const char *depth, char *body,
					 BookingHttpRequest *request);

/*
 * Store the job's body: over the version that has the ETag, or, if that is
 * NULL, only where there is nothing yet (RFC 4791, 5.3.2).  Both conditions
 * make a request that was sent twice harmless.
 */
bool
booking_caldav_put(BookingTask *task, const char *etag,
				   BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_PUT, "PUT", state->url, request))
		return false;
	add_header(request, "Content-Type", CALENDAR_TYPE);
	if (etag == NULL)
		add_header(request, "If-None-Match", "*");
	else if (!add_condition(task, etag, request))
		return false;
	request->body = task->job->body;
	request->body_len = task->job->body_len;
	state->nwrites++;
	return true;
}

/*
 * Delete the version of the event that has the ETag.
 */
bool
booking_caldav_delete(BookingTask *task, const char *etag,
					  BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_DELETE, "DELETE", state->url, request) ||
		!add_condition(task, etag, request))
		return false;
	state->nwrites++;
	return true;
}

/*
 * Read the event.  Redirects are not followed: the answer must be about the
 * URL that we write to.
 */
bool
booking_caldav_get(BookingTask *task, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_GET, "GET", state->url, request))
		return false;
	add_header(request, "Accept", "text/calendar");
	request->read = true;
	return true;
}

/*
 * Look for the event anywhere in the calendar, by the whole of its UID
 * (RFC 4791, 7.8).  A server matches substrings, so the answer may hold more.
 */
bool
booking_caldav_query(BookingTask *task, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_QUERY, "REPORT", state->collection,
			   request))
		return false;
	request->read = true;
	return add_body(task, "1",
					booking_dav_query_uid(task->arena, task->job->event_id),
					request);
}

/*
 * Ask for the ETag of what was just stored, which a server leaves out of its
 * answer to PUT when it stored something else than it got (RFC 4791, 5.3.4).
 */
bool
booking_caldav_etag(BookingTask *task, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_ETAG, "PROPFIND", state->url, request))
		return false;
	request->read = true;
	return add_body(task, "0", booking_dav_propfind_etag(task->arena), request);
}

/*
 * Ask whether the calendar is still there.
 */
bool
booking_caldav_collection(BookingTask *task, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (!begin(task, BOOKING_CALDAV_COLLECTION, "PROPFIND", state->collection,
			   request))
		return false;
	request->read = true;
	return add_body(task, "0", booking_dav_propfind_discovery(task->arena),
					request);
}

/*
 * Ask what there is at a URL, and with depth 1 below it (RFC 6764, 6).
 * Discovery is where servers redirect, so redirects are followed.
 */
bool
booking_caldav_discover(BookingTask *task, BookingCaldavStep step,
						const char *url, const char *depth,
						BookingHttpRequest *request)
{
	if (!begin(task, step, "PROPFIND", url, request))
		return false;
	request->read = true;
	request->follow = true;
	return add_body(task, depth, booking_dav_propfind_discovery(task->arena),
					request);
}

/*
 * Ask what the server can do at a URL (RFC 4791, 5.1).
 */
bool
booking_caldav_options(BookingTask *task, const char *url,
					   BookingHttpRequest *request)
{
	if (!begin(task, BOOKING_CALDAV_CHECK_OPTIONS, "OPTIONS", url, request))
		return false;
	request->read = true;
	request->follow = true;
	return true;
}

/*
 * Begin a request, unless the task has made all that it may: what a server
 * answers must not keep us busy for ever.
 */
static bool
begin(BookingTask *task, BookingCaldavStep step, const char *method,
	  const char *url, BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	if (task->nsteps >= BOOKING_MAX_STEPS)
		return booking_caldav_fail(task, NULL, "too_many_steps");
	task->nsteps++;
	task->step = step;
	request->method = method;
	request->url = url;
	return true;
}

/*
 * Add a header; there is room for all that we ever add.
 */
static void
add_header(BookingHttpRequest *request, const char *name, const char *value)
{
	Assert(request->nheaders < BOOKING_MAX_HEADERS);
	request->headers[request->nheaders].name = name;
	request->headers[request->nheaders].value = value;
	request->nheaders++;
}

/*
 * Demand that the event still has the ETag, which is sent exactly as it was
 * received: Radicale knows no other spelling, no lists and no "*".
 */
static bool
add_condition(BookingTask *task, const char *etag, BookingHttpRequest *request)
{
	char	   *copy = booking_arena_copy(task->arena, etag, strlen(etag));

	if (copy == NULL)
	{
		memset(request, 0, sizeof(*request));
		return booking_caldav_fail(task, NULL, "out_of_memory");
	}
	add_header(request, "If-Match", copy);
	return true;
}

/*
 * Give a request its depth and an XML body.
 */
static bool
add_body(BookingTask *task, const char *depth, char *body,
		 BookingHttpRequest *request)
{
	if (body == NULL)
	{
		memset(request, 0, sizeof(*request));
		return booking_caldav_fail(task, NULL, "out_of_memory");
	}
	add_header(request, "Depth", depth);
	add_header(request, "Content-Type", XML_TYPE);
	request->body = body;
	request->body_len = strlen(body);
	return true;
}

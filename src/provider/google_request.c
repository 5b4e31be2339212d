/*-------------------------------------------------------------------------
 *
 * google_request.c
 *	  the requests of the Google Calendar adapter
 *
 * Each function builds one request, notes which step its answer belongs to, and
 * returns true; or it ends the task, as the state's doubt says, and returns
 * false.  Credentials are added by the engine.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_request.c
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

#define JSON_TYPE "application/json; charset=utf-8"

/* what is looked at in a search (partial response: the parameter "fields") */
#define SEARCH_FIELDS "nextPageToken,items(id,status,extendedProperties%2Fprivate)"

static const char *notify_word(BookingNotify notify);
static const char *join(BookingTask *task, const char *first,
						const char *second, const char *third);
static void add_json(BookingHttpRequest *request, const char *body, size_t len);

/*
 * Insert the job's body, which has our id.  Who is mailed is always said
 * (G-REF, sendUpdates); the part about a conference is read only if the version
 * says so (G-REF, conferenceDataVersion).
 */
bool
booking_google_insert(BookingTask *task, BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *url = join(task, state->calendar, state->wanted.conference ?
						   "/events?conferenceDataVersion=1&sendUpdates=" :
						   "/events?sendUpdates=",
						   notify_word(state->wanted.notify));

	if (!booking_rest_begin(task, BOOKING_GOOGLE_INSERT, "POST", url, request))
		return false;
	add_json(request, task->job->body, task->job->body_len);
	state->rest.nwrites++;
	return true;
}

/*
 * Change the version of the event that has the ETag, and in it only what is to
 * differ.  attendees are those of that version, NULL if nobody's invitation
 * changes.
 */
bool
booking_google_patch(BookingTask *task, const char *etag,
					 const BookingJson *attendees, BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	bool		conference = state->wanted.conference &&
		!state->previous.conference;
	const char *url = join(task, state->event, conference ?
						   "?conferenceDataVersion=1&sendUpdates=" :
						   "?sendUpdates=", notify_word(state->wanted.notify));
	char	   *body;
	size_t		len;

	if (!booking_google_patch_write(&state->wanted, &state->previous,
									attendees, task->arena, &body, &len))
	{
		memset(request, 0, sizeof(*request));
		return booking_rest_fail(task, NULL, "out_of_memory");
	}
	if (!booking_rest_begin(task, BOOKING_GOOGLE_PATCH, "PATCH", url, request) ||
		!booking_rest_condition(task, etag, request))
		return false;
	add_json(request, body, len);
	state->rest.nwrites++;
	return true;
}

/*
 * Delete the version of the event that has the ETag.  Who was invited to it is
 * told of that as of the invitation.
 */
bool
booking_google_delete(BookingTask *task, const char *etag,
					  BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *url = join(task, state->event, "?sendUpdates=",
						   notify_word(state->wanted.notify));

	if (!booking_rest_begin(task, BOOKING_GOOGLE_DELETE, "DELETE", url, request) ||
		!booking_rest_condition(task, etag, request))
		return false;
	state->rest.nwrites++;
	return true;
}

/*
 * Read the event by its id.
 */
bool
booking_google_get(BookingTask *task, BookingGoogleStep step,
				   BookingHttpRequest *request)
{
	if (!booking_rest_begin(task, step, "GET",
							booking_google_state(task)->event, request))
		return false;
	request->read = true;
	return true;
}

/*
 * Look for events that carry our marker (G-REF, privateExtendedProperty), from
 * a page on, NULL for the first one.  A page may be empty and have a next one.
 */
bool
booking_google_search(BookingTask *task, const char *page,
					  BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *marker = booking_rest_segment(task->arena, task->job->event_id);
	const char *at = page == NULL ? "" : booking_rest_segment(task->arena, page);
	const char *url = NULL;

	if (marker != NULL && at != NULL)
	{
		url = join(task, state->calendar,
				   "/events?fields=" SEARCH_FIELDS "&maxResults=10"
				   "&privateExtendedProperty=" BOOKING_GOOGLE_MARKER "%3D",
				   marker);
		if (url != NULL && page != NULL)
			url = join(task, url, "&pageToken=", at);
	}
	if (!booking_rest_begin(task, BOOKING_GOOGLE_SEARCH, "GET", url, request))
		return false;
	request->read = true;
	return true;
}

/*
 * Ask whether the calendar is still there.
 */
bool
booking_google_ask_calendar(BookingTask *task, BookingGoogleStep step,
							BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *url = state->calendar;

	/* any list of events says what the user may do to the calendar */
	if (step == BOOKING_GOOGLE_CHECK_CALENDAR)
		url = join(task, state->calendar, "/events",
				   "?fields=accessRole&maxResults=1");
	if (!booking_rest_begin(task, step, "GET", url, request))
		return false;
	request->read = true;
	return true;
}

/*
 * Ask which calendars the user has.
 */
bool
booking_google_ask_list(BookingTask *task, BookingHttpRequest *request)
{
	BookingGoogleState *state = booking_google_state(task);
	const char *url = join(task, state->base, "/users/me/calendarList",
						   "?fields=items(id,accessRole)&maxResults=250");

	if (!booking_rest_begin(task, BOOKING_GOOGLE_CHECK_LIST, "GET", url,
							request))
		return false;
	request->read = true;
	return true;
}

/*
 * The word for who is mailed (G-REF, sendUpdates).
 */
static const char *
notify_word(BookingNotify notify)
{
	switch (notify)
	{
		case BOOKING_NOTIFY_ALL:
			return "all";
		case BOOKING_NOTIFY_EXTERNAL:
			return "externalOnly";
		case BOOKING_NOTIFY_NONE:
			break;
	}
	return "none";
}

/*
 * Three texts in one; NULL when memory is short.
 */
static const char *
join(BookingTask *task, const char *first, const char *second,
	 const char *third)
{
	BookingBuffer buffer;

	booking_buffer_init(&buffer, task->arena);
	(void) booking_buffer_add_text(&buffer, first);
	(void) booking_buffer_add_text(&buffer, second);
	(void) booking_buffer_add_text(&buffer, third);
	return booking_arena_failed(task->arena) ? NULL : buffer.data;
}

/*
 * Give a request a body of JSON.
 */
static void
add_json(BookingHttpRequest *request, const char *body, size_t len)
{
	booking_rest_header(request, "Content-Type", JSON_TYPE);
	request->body = body;
	request->body_len = len;
}

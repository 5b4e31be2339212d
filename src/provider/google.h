/*-------------------------------------------------------------------------
 *
 * google.h
 *	  what the parts of the Google Calendar adapter share
 *
 * google.c			start and dispatch
 * google_request.c	the requests
 * google_write.c	judges answers to insert, patch and delete
 * google_locate.c	finds the event, and decides by what is there
 * google_conference.c	tells where to take part in a conference
 * google_check.c	examines account and calendar
 * google_pull.c	lists what changed in a calendar
 * google_series.c	fetches the instances of series
 * google_channel.c	is told at once of changes
 * google_busy.c	asks when calendars are busy
 *
 * IDENTIFICATION
 *	  booking/src/provider/google.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GOOGLE_H
#define BOOKING_GOOGLE_H

#include "codec/google_event.h"
#include "provider/rest.h"

/* which request an answer belongs to; kept in BookingTask.step */
typedef enum BookingGoogleStep
{
	BOOKING_GOOGLE_NONE,		/* the job could not even begin */
	BOOKING_GOOGLE_INSERT,
	BOOKING_GOOGLE_PATCH,
	BOOKING_GOOGLE_DELETE,
	BOOKING_GOOGLE_POLL,		/* the conference of what was just stored */
	BOOKING_GOOGLE_GET,			/* the event by its id */
	BOOKING_GOOGLE_SEARCH,		/* events that carry our marker */
	BOOKING_GOOGLE_CALENDAR,	/* is the calendar still there? */
	BOOKING_GOOGLE_CHECK_CALENDAR,
	BOOKING_GOOGLE_CHECK_LIST,
	BOOKING_GOOGLE_CONFERENCE		/* has it been made by now? */
} BookingGoogleStep;

/* kept in BookingTask.state; see rest.h */
typedef struct BookingGoogleState
{
	BookingRestState rest;
	const char *base;			/* URL of the API, without a slash at its end */
	const char *calendar;		/* URL of the calendar */
	const char *event;			/* URL of the event */
	BookingEvent wanted;		/* as Google can hold them: see google.c */
	BookingEvent previous;
	bool		has_wanted;
	bool		has_previous;
	BookingRestFound found;		/* by a lookup, if doubles are looked for */
	bool		doubles;		/* the search only looks for others */
	int			nothers;		/* events with our marker and another id */
} BookingGoogleState;

/*
 * The state of a task.
 */
static inline BookingGoogleState *
booking_google_state(const BookingTask *task)
{
	return (BookingGoogleState *) task->state;
}

/* what the body of a failed request says, by its reason */
typedef enum BookingGoogleRefusal
{
	BOOKING_GOOGLE_REFUSED,		/* for good */
	BOOKING_GOOGLE_RATE,		/* too fast: a little later */
	BOOKING_GOOGLE_QUOTA,		/* too much: much later */
	BOOKING_GOOGLE_UNCLEAR		/* no body of the API's own */
} BookingGoogleRefusal;

/* how long to leave an account alone whose quota is used up, in seconds */
#define BOOKING_GOOGLE_QUOTA_PAUSE 1800

/* google.c */
extern const char *booking_google_base(BookingArena *arena,
									   const char *base_url,
									   const char **problem);
extern const char *booking_google_calendar(BookingArena *arena,
										   const char *base,
										   const char *calendar);
extern BookingGoogleRefusal booking_google_refusal(BookingArena *arena,
												   const BookingHttpResponse *response,
												   const char **problem);

/* google_request.c */
extern bool booking_google_insert(BookingTask *task,
								  BookingHttpRequest *request);
extern bool booking_google_patch(BookingTask *task, const char *etag,
								 const BookingJson *attendees,
								 BookingHttpRequest *request);
extern bool booking_google_delete(BookingTask *task, const char *etag,
								  BookingHttpRequest *request);
extern bool booking_google_get(BookingTask *task, BookingGoogleStep step,
							   BookingHttpRequest *request);
extern bool booking_google_search(BookingTask *task, const char *page,
								  BookingHttpRequest *request);
extern bool booking_google_ask_calendar(BookingTask *task,
										BookingGoogleStep step,
										BookingHttpRequest *request);
extern bool booking_google_ask_list(BookingTask *task,
									BookingHttpRequest *request);

/* google_write.c */
extern bool booking_google_wrote(BookingTask *task,
								 const BookingHttpResponse *response,
								 BookingHttpRequest *request);
extern bool booking_google_polled(BookingTask *task,
								  const BookingHttpResponse *response);

/* google_locate.c */
extern bool booking_google_got(BookingTask *task,
							   const BookingHttpResponse *response,
							   BookingHttpRequest *request);
extern bool booking_google_searched(BookingTask *task,
									const BookingHttpResponse *response,
									BookingHttpRequest *request);
extern bool booking_google_looked(BookingTask *task,
								  const BookingHttpResponse *response);

/* google_conference.c */
extern bool booking_google_conference_got(BookingTask *task,
										const BookingHttpResponse *response);

/* google_check.c */
extern bool booking_google_check(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_google_checked(BookingTask *task,
								   const BookingHttpResponse *response,
								   BookingHttpRequest *request);

/* google_pull.c */
extern void booking_google_pull_list(BookingPull *pull,
									 BookingHttpRequest *request);
extern void booking_google_pull_fetch(BookingPull *pull,
									  const char *const *objects, int count,
									  BookingHttpRequest *request);
extern bool booking_google_pull_next(BookingPull *pull,
									 const BookingHttpResponse *response,
									 BookingHttpRequest *request);
extern void booking_google_pull_abandon(BookingPull *pull);
extern bool booking_google_pull_fail(BookingPull *pull,
									 const BookingHttpResponse *response,
									 const char *problem);
extern BookingPullItem *booking_google_item(BookingArena *arena,
											BookingPullChunk **first,
											BookingPullChunk **last);

/* google_series.c */
extern void booking_google_series_begin(BookingPull *pull, const char *events,
										const char *const *objects, int count,
										BookingHttpRequest *request);
extern bool booking_google_series_next(BookingPull *pull,
									   const BookingHttpResponse *response,
									   BookingHttpRequest *request);

/* google_busy.c */
extern void booking_google_busy_start(BookingBusy *busy,
									  BookingHttpRequest *request);
extern bool booking_google_busy_next(BookingBusy *busy,
									 const BookingHttpResponse *response,
									 BookingHttpRequest *request);

/* google_channel.c */
extern void booking_google_channel_start(BookingChannelTask *task,
									   BookingHttpRequest *request);
extern void booking_google_channel_judge(BookingChannelTask *task,
									   const BookingHttpResponse *response);

#endif							/* BOOKING_GOOGLE_H */

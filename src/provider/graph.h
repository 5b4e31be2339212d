/*-------------------------------------------------------------------------
 *
 * graph.h
 *	  what the parts of the Microsoft Graph adapter share
 *
 * graph.c			start and dispatch
 * graph_request.c	the requests
 * graph_error.c	what refusals mean
 * graph_write.c	judges answers to create, update and delete
 * graph_locate.c	finds the event, and sees that it is on the calendar
 * graph_decide.c	decides by what was found
 * graph_conference.c	tells where to take part in a conference
 * graph_check.c	examines account and calendar
 * graph_pull.c		lists what changed in a calendar
 * graph_fetch.c	looks at events that a listing says are gone
 * graph_channel.c	is told at once of changes
 * graph_busy.c		asks when people are busy
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GRAPH_H
#define BOOKING_GRAPH_H

#include "codec/graph_event.h"
#include "provider/rest.h"

/* which request an answer belongs to; kept in BookingTask.step */
typedef enum BookingGraphStep
{
	BOOKING_GRAPH_NONE,			/* the job could not even begin */
	BOOKING_GRAPH_CREATE,
	BOOKING_GRAPH_UPDATE,
	BOOKING_GRAPH_DELETE,
	BOOKING_GRAPH_POLL,			/* the online meeting of what was just stored */
	BOOKING_GRAPH_GET,			/* the event by its id */
	BOOKING_GRAPH_SEARCH,		/* events that carry our marker */
	BOOKING_GRAPH_VIEW,			/* what is on the calendar at a time */
	BOOKING_GRAPH_CALENDAR,		/* is the calendar still there? */
	BOOKING_GRAPH_CHECK_CALENDAR,
	BOOKING_GRAPH_CHECK_LIST,
	BOOKING_GRAPH_CONFERENCE		/* has it been made by now? */
} BookingGraphStep;

/* where a calendar is */
typedef struct BookingGraphPlace
{
	const char *base;			/* URL of the API, without a slash at its end */
	const char *mailbox;		/* URL of the user */
	const char *calendar;		/* URL of the calendar */
} BookingGraphPlace;

/* kept in BookingTask.state; see rest.h */
typedef struct BookingGraphState
{
	BookingRestState rest;
	BookingGraphPlace place;
	const char *id;				/* Graph's, of the event; NULL: not known */
	BookingEvent wanted;		/* what can be compared: see graph.c */
	BookingEvent previous;
	bool		has_wanted;
	bool		has_previous;
	const char *hint;			/* id of what is said to be in the way */

	/* of a search */
	bool		searched;
	int			nours;			/* events with our transactionId */
	int			ncopies;		/* with our marker, and none */
	int			nmissing;		/* answers that there is no such thing */
	const BookingJson *best;	/* what is looked at; NULL: nothing */
	bool		at_wanted;		/* the view is of the time that was wanted */
} BookingGraphState;

/*
 * The state of a task.
 */
static inline BookingGraphState *
booking_graph_state(const BookingTask *task)
{
	return (BookingGraphState *) task->state;
}

/* what the body of a failed request says, by its code */
typedef enum BookingGraphRefusal
{
	BOOKING_GRAPH_REFUSED,		/* for good */
	BOOKING_GRAPH_RATE,			/* too fast: a little later */
	BOOKING_GRAPH_DUPLICATE,	/* our transactionId was used before */
	BOOKING_GRAPH_CHANGED,		/* the version is another one */
	BOOKING_GRAPH_SYNC_STATE,	/* a link of a listing is dead */
	BOOKING_GRAPH_UNCLEAR		/* no body of the API's own */
} BookingGraphRefusal;

/* longer ids do not fit into an index; Graph's have some 200 bytes */
#define BOOKING_GRAPH_MAX_ID 1024

/* ids stay the same when an event moves (graph/outlook-immutable-id) */
#define BOOKING_GRAPH_PREFER "IdType=\"ImmutableId\""

#define BOOKING_GRAPH_JSON "application/json; charset=utf-8"

/* what is asked of an event, and of it what helps to know it as ours */
#define BOOKING_GRAPH_FIELDS \
	"$select=id,transactionId,subject,location,start,end,isAllDay,showAs," \
	"isCancelled,type,seriesMasterId,originalStart,originalStartTimeZone," \
	"originalEndTimeZone,organizer,attendees,responseStatus,isOnlineMeeting," \
	"onlineMeeting,iCalUId" \
	"&$expand=singleValueExtendedProperties($filter=" \
	"id%20eq%20%27" BOOKING_GRAPH_MARKER_CODED "%27%20or%20" \
	"id%20eq%20%27" BOOKING_GRAPH_REVISION_CODED "%27)"

/* our properties as they are written in a query */
#define BOOKING_GRAPH_MARKER_CODED \
	"String%20%7Bd0cab8b5-48e5-43ca-8591-90d542674ed2%7D%20Name%20bookingId"
#define BOOKING_GRAPH_REVISION_CODED \
	"String%20%7Bd0cab8b5-48e5-43ca-8591-90d542674ed2%7D%20Name%20bookingSequence"

/* graph.c */
extern bool booking_graph_place(BookingArena *arena, const char *base_url,
								const char *collection,
								BookingGraphPlace *place,
								const char **problem);
extern const char *booking_graph_mailbox(BookingArena *arena, const char *base,
										 const char *collection,
										 const char **calendar);
extern const char *booking_graph_base(BookingArena *arena,
									  const char *base_url,
									  const char **problem);
extern const char *booking_graph_event_url(BookingArena *arena,
										   const BookingGraphPlace *place,
										   const char *id);
extern bool booking_graph_is_pinned(BookingArena *arena, const char *base,
									const char *link);
extern const char *booking_graph_join(BookingArena *arena, const char *first,
									  const char *second, const char *third);

/* graph_error.c */
extern BookingGraphRefusal booking_graph_refusal(BookingArena *arena,
												 const BookingHttpResponse *response,
												 const char **problem,
												 const char **existing);

/* graph_request.c */
extern bool booking_graph_create(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_graph_update(BookingTask *task, const char *etag,
								 BookingHttpRequest *request);
extern bool booking_graph_delete(BookingTask *task, const char *etag,
								 BookingHttpRequest *request);
extern bool booking_graph_get(BookingTask *task, BookingGraphStep step,
							  BookingHttpRequest *request);
extern bool booking_graph_search(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_graph_view(BookingTask *task, int64 from, int64 until,
							   BookingHttpRequest *request);
extern bool booking_graph_follow(BookingTask *task, const char *link,
								 BookingHttpRequest *request);
extern bool booking_graph_ask_calendar(BookingTask *task,
									   BookingGraphStep step,
									   BookingHttpRequest *request);
extern bool booking_graph_ask_list(BookingTask *task,
								   BookingHttpRequest *request);
extern const char *booking_graph_view_url(BookingArena *arena,
										  const BookingGraphPlace *place,
										  int64 from, int64 until,
										  const char *query);

/* graph_write.c */
extern bool booking_graph_wrote(BookingTask *task,
								const BookingHttpResponse *response,
								BookingHttpRequest *request);
extern bool booking_graph_polled(BookingTask *task,
								 const BookingHttpResponse *response);

/* graph_locate.c */
extern bool booking_graph_locate(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_graph_got(BookingTask *task,
							  const BookingHttpResponse *response,
							  BookingHttpRequest *request);
extern bool booking_graph_searched(BookingTask *task,
								   const BookingHttpResponse *response,
								   BookingHttpRequest *request);
extern bool booking_graph_viewed(BookingTask *task,
								 const BookingHttpResponse *response,
								 BookingHttpRequest *request);
extern bool booking_graph_looked(BookingTask *task,
								 const BookingHttpResponse *response);

/* graph_decide.c */
extern bool booking_graph_decide(BookingTask *task,
								 const BookingHttpResponse *response,
								 BookingHttpRequest *request);
extern bool booking_graph_deleted(BookingTask *task,
								  const BookingHttpResponse *response);

/* graph_conference.c */
extern bool booking_graph_conference_got(BookingTask *task,
										const BookingHttpResponse *response);

/* graph_check.c */
extern bool booking_graph_check(BookingTask *task,
								BookingHttpRequest *request);
extern bool booking_graph_checked(BookingTask *task,
								  const BookingHttpResponse *response,
								  BookingHttpRequest *request);

/* graph_pull.c */
extern void booking_graph_pull_list(BookingPull *pull,
									BookingHttpRequest *request);
extern void booking_graph_pull_fetch(BookingPull *pull,
									 const char *const *objects, int count,
									 BookingHttpRequest *request);
extern bool booking_graph_pull_next(BookingPull *pull,
									const BookingHttpResponse *response,
									BookingHttpRequest *request);
extern void booking_graph_pull_abandon(BookingPull *pull);
extern bool booking_graph_pull_fail(BookingPull *pull,
									const BookingHttpResponse *response,
									const char *problem);
extern bool booking_graph_pull_ask(BookingPull *pull, const char *url,
								   const char *prefer,
								   BookingHttpRequest *request);
extern BookingPullItem *booking_graph_item(BookingArena *arena,
										   BookingPullChunk **first,
										   BookingPullChunk **last);

/* graph_fetch.c */
extern void booking_graph_fetch_begin(BookingPull *pull,
									  const BookingGraphPlace *place,
									  const char *const *objects, int count,
									  BookingHttpRequest *request);
extern bool booking_graph_fetch_next(BookingPull *pull,
									 const BookingHttpResponse *response,
									 BookingHttpRequest *request);

/* graph_busy.c */
extern void booking_graph_busy_start(BookingBusy *busy,
									 BookingHttpRequest *request);
extern bool booking_graph_busy_next(BookingBusy *busy,
									const BookingHttpResponse *response,
									BookingHttpRequest *request);

/* graph_channel.c */
extern void booking_graph_channel_start(BookingChannelTask *task,
									   BookingHttpRequest *request);
extern void booking_graph_channel_judge(BookingChannelTask *task,
									   const BookingHttpResponse *response);

#endif							/* BOOKING_GRAPH_H */

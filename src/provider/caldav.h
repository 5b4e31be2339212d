/*-------------------------------------------------------------------------
 *
 * caldav.h
 *	  what the parts of the CalDAV adapter share
 *
 * caldav.c			start and dispatch
 * caldav_end.c		how tasks end, and what is said of it
 * caldav_request.c	the requests
 * caldav_write.c	judges answers to PUT and DELETE
 * caldav_locate.c	finds the event, and decides by what is there
 * caldav_check.c	examines account and calendar
 * caldav_pull.c	lists what changed in a calendar, and fetches it
 * caldav_list.c	takes in listings
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CALDAV_H
#define BOOKING_CALDAV_H

#include "codec/dav.h"
#include "provider/provider.h"

/* which request an answer belongs to; kept in BookingTask.step */
typedef enum BookingCaldavStep
{
	BOOKING_CALDAV_NONE,		/* the job could not even begin */
	BOOKING_CALDAV_PUT,
	BOOKING_CALDAV_DELETE,
	BOOKING_CALDAV_ETAG,		/* ETag of what was just stored */
	BOOKING_CALDAV_GET,			/* the event, where it should be */
	BOOKING_CALDAV_QUERY,		/* the event, wherever it is */
	BOOKING_CALDAV_COLLECTION,	/* is the calendar still there? */
	BOOKING_CALDAV_CHECK_CALENDAR,
	BOOKING_CALDAV_CHECK_ACCOUNT,
	BOOKING_CALDAV_CHECK_PRINCIPAL,
	BOOKING_CALDAV_CHECK_HOME,
	BOOKING_CALDAV_CHECK_OPTIONS
} BookingCaldavStep;

/*
 * Kept in BookingTask.state.  doubt and absent are outcomes in waiting; before
 * each request they say what becomes of the task if nothing more is learnt.
 */
typedef struct BookingCaldavState
{
	const char *collection;		/* URL, ends in a slash; NULL in a check */
	const char *url;			/* where the event is looked for and written */
	BookingOutcome doubt;		/* if the request fails */
	BookingOutcome absent;		/* if there is no event, but a calendar */
	int			nwrites;
	/* of a check: */
	const char *target;			/* URL that is examined */
	const char *principal;		/* URL of the user, NULL if not told */
	const char *home;			/* URL of the user's calendars, likewise */
	bool		well_known;		/* the well-known path was asked */
	bool		usable;			/* the calendar can be written to */
	BookingOutcome verdict;		/* the first thing that is wrong */
} BookingCaldavState;

/* a listing that comes in */
typedef struct BookingCaldavListing
{
	BookingArena *arena;
	BookingArena *scratch;		/* for one member at a time */
	const char *base_url;
	const char *collection;		/* URL, ends in a slash */
	BookingDavStream *stream;	/* NULL: ended */
	BookingPullChunk *first;
	BookingPullChunk *last;
	bool		refused;		/* reading on is no use */
	bool		truncated;		/* there is more, at the token */
	bool		seen_calendar;	/* the collection said that it is one */
} BookingCaldavListing;

/* what was found at a URL */
typedef struct BookingCaldavFound
{
	const char *url;
	const char *etag;			/* strong, or NULL */
	bool		readable;		/* an event, not a task or a journal */
	bool		queried;		/* by a query, so that the ETag is all there is */
	BookingEvent event;
	const BookingHttpResponse *response;
} BookingCaldavFound;

/*
 * The state of a task.
 */
static inline BookingCaldavState *
booking_caldav_state(const BookingTask *task)
{
	return (BookingCaldavState *) task->state;
}

/* caldav.c */
extern void booking_caldav_expect(BookingTask *task);
extern bool booking_caldav_stored(BookingTask *task,
								  const BookingHttpResponse *response,
								  BookingHttpRequest *request);
extern const char *booking_caldav_strong(const char *etag);

/* caldav_end.c */
extern bool booking_caldav_fail(BookingTask *task,
								const BookingHttpResponse *response,
								const char *problem);
extern bool booking_caldav_finish(BookingTask *task,
								  const BookingOutcome *outcome);
extern bool booking_caldav_settle(BookingTask *task, BookingOutcomeKind kind,
								  const char *problem,
								  const BookingHttpResponse *response,
								  const BookingCaldavFound *found);
extern void booking_caldav_pend(BookingTask *task, BookingOutcome *outcome,
								BookingOutcomeKind kind, const char *problem,
								const BookingHttpResponse *response);

/* caldav_request.c */
extern bool booking_caldav_put(BookingTask *task, const char *etag,
							   BookingHttpRequest *request);
extern bool booking_caldav_delete(BookingTask *task, const char *etag,
								  BookingHttpRequest *request);
extern bool booking_caldav_get(BookingTask *task, BookingHttpRequest *request);
extern bool booking_caldav_query(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_caldav_etag(BookingTask *task, BookingHttpRequest *request);
extern bool booking_caldav_collection(BookingTask *task,
									  BookingHttpRequest *request);
extern bool booking_caldav_discover(BookingTask *task, BookingCaldavStep step,
									const char *url, const char *depth,
									BookingHttpRequest *request);
extern bool booking_caldav_options(BookingTask *task, const char *url,
								   BookingHttpRequest *request);

/* caldav_write.c */
extern bool booking_caldav_wrote(BookingTask *task,
								 const BookingHttpResponse *response,
								 BookingHttpRequest *request);

/* caldav_locate.c */
extern bool booking_caldav_got(BookingTask *task,
							   const BookingHttpResponse *response,
							   BookingHttpRequest *request);
extern bool booking_caldav_queried(BookingTask *task,
								   const BookingHttpResponse *response,
								   BookingHttpRequest *request);
extern bool booking_caldav_looked(BookingTask *task,
								  const BookingHttpResponse *response,
								  BookingHttpRequest *request);

/* caldav_check.c */
extern bool booking_caldav_check(BookingTask *task,
								 BookingHttpRequest *request);
extern bool booking_caldav_checked(BookingTask *task,
								   const BookingHttpResponse *response,
								   BookingHttpRequest *request);

/* caldav_pull.c */
extern void booking_caldav_pull_list(BookingPull *pull,
									 BookingHttpRequest *request);
extern void booking_caldav_pull_fetch(BookingPull *pull,
									  const char *const *objects, int count,
									  BookingHttpRequest *request);
extern bool booking_caldav_pull_next(BookingPull *pull,
									 const BookingHttpResponse *response,
									 BookingHttpRequest *request);
extern void booking_caldav_pull_abandon(BookingPull *pull);

/* caldav_list.c */
extern BookingCaldavListing *booking_caldav_listing_begin(BookingArena *arena,
														  const char *base_url,
														  const char *collection);
extern bool booking_caldav_listing_sink(void *arg, const char *data,
										size_t len);
extern BookingDavFault booking_caldav_listing_end(BookingCaldavListing *listing,
												  const char **token);
extern BookingPullItem *booking_caldav_item_add(BookingArena *arena,
												BookingPullChunk **first,
												BookingPullChunk **last);
extern const char *booking_caldav_object(BookingArena *arena,
										 const char *base_url,
										 const char *collection,
										 const char *href);

#endif							/* BOOKING_CALDAV_H */

/*-------------------------------------------------------------------------
 *
 * rest.h
 *	  what adapters for web services with JSON share
 *
 * A task of such an adapter has a state that begins with BookingRestState.  Its
 * outcomes in waiting are those of the CalDAV adapter: "doubt" is what the task
 * ends with when a read fails, "absent" when there is a calendar but no event
 * of ours in it.  Whoever sends a request sets them first.
 *
 * IDENTIFICATION
 *	  booking/src/provider/rest.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_REST_H
#define BOOKING_REST_H

#include "codec/json_read.h"
#include "provider/provider.h"

typedef struct BookingRestState
{
	BookingOutcome doubt;		/* if the request fails */
	BookingOutcome absent;		/* if there is no event, but a calendar */
	const char *method;			/* of the last request */
	int			nwrites;
	const char *link;			/* of the conference, NULL: not known */
	bool		no_conference;	/* it could not be made */
} BookingRestState;

/* what an event says of its conference */
typedef struct BookingRestConference
{
	const char *event;			/* whose it is; NULL: it cannot be read */
	bool		canceled;		/* the event */
	const char *link;			/* NULL: not known */
	bool		none;			/* nor will it be */
} BookingRestConference;

typedef void (*BookingRestReadConference) (const BookingJson *json,
										   BookingArena *arena,
										   BookingRestConference *conference);

/* does an answer refuse a channel for long?  problem is the code, if it has one */
typedef bool (*BookingRestRefuses) (BookingArena *arena,
									const BookingHttpResponse *response,
									const char **problem);

/*
 * What an answer says of the channel that was asked for: fill in remote and until;
 * false if it says nothing of it.
 */
typedef bool (*BookingRestReadChannel) (BookingChannelTask *task,
										const BookingJson *json);

/* where something was found */
typedef struct BookingRestFound
{
	const char *href;
	const char *etag;			/* NULL: not known */
	const BookingHttpResponse *response;
} BookingRestFound;

extern void booking_rest_expect(BookingTask *task);
extern bool booking_rest_is_write(const BookingJob *job);
extern bool booking_rest_is_complete(const BookingJob *job);
extern bool booking_rest_begin(BookingTask *task, int step, const char *method,
							   const char *url, BookingHttpRequest *request);
extern void booking_rest_header(BookingHttpRequest *request, const char *name,
								const char *value);
extern bool booking_rest_condition(BookingTask *task, const char *etag,
								   BookingHttpRequest *request);
extern const char *booking_rest_etag(const char *etag);
extern void booking_rest_pend(BookingTask *task, BookingOutcome *outcome,
							  BookingOutcomeKind kind, const char *problem,
							  const BookingHttpResponse *response);
extern bool booking_rest_fail(BookingTask *task,
							  const BookingHttpResponse *response,
							  const char *problem);
extern bool booking_rest_finish(BookingTask *task,
								const BookingOutcome *outcome);
extern bool booking_rest_settle(BookingTask *task, BookingOutcomeKind kind,
								const char *problem,
								const BookingRestFound *found);
extern void booking_rest_note_conference(BookingTask *task, const char *link,
										 bool failed);
extern void booking_rest_tell_conference(BookingTask *task);
extern bool booking_rest_conference_got(BookingTask *task,
										const BookingHttpResponse *response,
										const char *event,
										BookingRestReadConference read);
extern void booking_rest_channel_judge(BookingChannelTask *task,
									   const BookingHttpResponse *response,
									   BookingRestRefuses refuses,
									   BookingRestReadChannel read);
extern bool booking_rest_answered(const BookingHttpResponse *response,
								  int status);
extern char *booking_rest_segment(BookingArena *arena, const char *text);

#endif							/* BOOKING_REST_H */

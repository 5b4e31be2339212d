/*-------------------------------------------------------------------------
 *
 * google_event.h
 *	  events of the Google Calendar API as JSON, and back
 *
 * The shapes are those of the reference of the resource "Events" of Calendar
 * API v3, called G-REF below: the types of the npm package
 * @googleapis/calendar 16.0.0, build/v3.d.ts.
 *
 * IDENTIFICATION
 *	  booking/src/codec/google_event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GOOGLE_EVENT_H
#define BOOKING_GOOGLE_EVENT_H

#include "codec/event.h"
#include "codec/ical_expand.h"
#include "codec/json_read.h"

/*
 * Private extended properties of ours: seen on this calendar's copy only, and
 * a list can ask for them (G-REF, extendedProperties.private).  The number of
 * our revision is among them, because "sequence" is Google's: it grows by
 * itself, and not for every change.
 */
#define BOOKING_GOOGLE_MARKER "bookingId"
#define BOOKING_GOOGLE_REVISION "bookingSequence"

/* what became of a request for a conference (G-REF, createRequest.status) */
typedef enum BookingGoogleConference
{
	BOOKING_GOOGLE_CONFERENCE_NONE,
	BOOKING_GOOGLE_CONFERENCE_PENDING,
	BOOKING_GOOGLE_CONFERENCE_MADE,
	BOOKING_GOOGLE_CONFERENCE_FAILED
} BookingGoogleConference;

typedef struct BookingGoogleEvent
{
	BookingEvent event;
	bool		has_time;		/* start and end can be understood */
	const char *id;				/* NULL: the value is no event */
	const char *etag;
	const char *series;			/* id of the recurring event, if an instance */
	bool		repeats;		/* is a recurring event itself */
	BookingGoogleConference conference;
	const char *link;			/* to take part in it; NULL: not known */
} BookingGoogleEvent;

/*
 * The body of an insert; false when the event cannot be expressed.  It has no
 * organizer, which only Google sets (G-REF, organizer: read-only).
 */
extern bool booking_google_event_write(const BookingEvent *event,
									   BookingArena *arena, char **body,
									   size_t *len);

/*
 * The body of a patch that makes previous what is wanted: only what differs,
 * and our properties.  attendees, unless NULL, are those of the event as it is:
 * a list is replaced as a whole, so what people answered must be repeated.
 */
extern bool booking_google_patch_write(const BookingEvent *wanted,
									   const BookingEvent *previous,
									   const BookingJson *attendees,
									   BookingArena *arena, char **body,
									   size_t *len);

/* do two events invite the same people, in the same way? */
extern bool booking_google_same_attendees(const BookingEvent *a,
										  const BookingEvent *b);

/* an event that was read; found->id is NULL if it is none */
extern void booking_google_event_read(const BookingJson *json,
									  BookingArena *arena,
									  BookingGoogleEvent *found);

/*
 * The reason in the body of an error, NULL if it has none: of the first error
 * of the list, else of the details, else the status.  Ours are
 * {"error":{"errors":[{"reason":...}],"details":[{"reason":...}],"status":...}}.
 */
extern const char *booking_google_reason(const char *body, size_t len,
										 BookingArena *arena);

/*
 * Occurrences of an object as the adapter stores it: an event, or an array of
 * the instances of one that repeats.  Returns what is wrong, for people, or
 * NULL.
 */
extern const char *booking_google_object_read(const char *data, size_t len,
											  const BookingExpandRequest *request,
											  BookingArena *arena,
											  BookingExpansion *expansion);

#endif							/* BOOKING_GOOGLE_EVENT_H */

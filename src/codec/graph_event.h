/*-------------------------------------------------------------------------
 *
 * graph_event.h
 *	  events of Microsoft Graph as JSON, and back
 *
 * The shapes are those of the resource "event" of Microsoft Graph v1.0, called
 * M-EVENT below (learn.microsoft.com/graph/api/resources/event), and of its
 * types in the npm package @microsoft/microsoft-graph-types 2.43.1 (M-TYPES).
 *
 * IDENTIFICATION
 *	  booking/src/codec/graph_event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GRAPH_EVENT_H
#define BOOKING_GRAPH_EVENT_H

#include "codec/event.h"
#include "codec/ical_expand.h"
#include "codec/json_read.h"

/*
 * Extended properties of ours, in a namespace of our own and always written in
 * the same form (graph/api/resources/extended-properties-overview).  A filter
 * finds events by them; it compares values without case, so what is to be told
 * apart must differ in more than that: our ids are in base32hex.
 */
#define BOOKING_GRAPH_NAMESPACE "{d0cab8b5-48e5-43ca-8591-90d542674ed2}"
#define BOOKING_GRAPH_MARKER "String " BOOKING_GRAPH_NAMESPACE " Name bookingId"
#define BOOKING_GRAPH_REVISION \
	"String " BOOKING_GRAPH_NAMESPACE " Name bookingSequence"

typedef struct BookingGraphEvent
{
	BookingEvent event;			/* its uid is transactionId: NULL if not set */
	bool		has_time;		/* start and end can be understood */
	const char *id;				/* NULL: the value is no event */
	const char *etag;
	const char *series;			/* id of the master of an occurrence */
	bool		is_master;
	const char *link;			/* of its online meeting, NULL: not made */
} BookingGraphEvent;

/* what an error says (graph/errors) */
typedef struct BookingGraphError
{
	const char *code;			/* NULL: the body is not the API's own */
	const char *inner;			/* the innermost code, NULL if there is none */
	const char *existing;		/* id of the event that is in the way, a hint */
} BookingGraphError;

/*
 * The body of a create; false when the event cannot be expressed.  It has no
 * organizer, who is the owner of the calendar.
 */
extern bool booking_graph_event_write(const BookingEvent *event,
									  BookingArena *arena, char **body,
									  size_t *len);

/*
 * The body of an update that makes previous what is wanted: only what differs,
 * and our properties.
 */
extern bool booking_graph_patch_write(const BookingEvent *wanted,
									  const BookingEvent *previous,
									  BookingArena *arena, char **body,
									  size_t *len);

/* an event that was read; found->id is NULL if it is none */
extern void booking_graph_event_read(const BookingJson *json,
									 BookingArena *arena,
									 BookingGraphEvent *found);

/*
 * An event as it is kept for booking_graph_object_read(): what occurrences are
 * made of, and nothing that people wrote.  An occurrence of a listing has no
 * more than its id and its time; master, unless NULL, completes it.
 */
extern char *booking_graph_object_write(const BookingJson *json,
										const BookingJson *master,
										BookingArena *arena, size_t *len);

/* does a listing say all of an event that an object needs? */
extern bool booking_graph_is_whole(const BookingJson *json);

/* an instant with its zone (graph/api/resources/datetimetimezone) */
extern bool booking_graph_instant(const BookingJson *json, int64 *instant);

/* what the body of an error says; all NULL if it says nothing */
extern void booking_graph_error_read(const char *body, size_t len,
									 BookingArena *arena,
									 BookingGraphError *error);

/*
 * Occurrences of an object as the adapter stores it: one event or occurrence.
 * Returns what is wrong, for people, or NULL.
 */
extern const char *booking_graph_object_read(const char *data, size_t len,
											 const BookingExpandRequest *request,
											 BookingArena *arena,
											 BookingExpansion *expansion);

#endif							/* BOOKING_GRAPH_EVENT_H */

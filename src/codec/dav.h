/*-------------------------------------------------------------------------
 *
 * dav.h
 *	  WebDAV and CalDAV bodies (RFC 4918, 4791)
 *
 * IDENTIFICATION
 *	  booking/src/codec/dav.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DAV_H
#define BOOKING_DAV_H

#include "codec/arena.h"

/* what of a resource we ask for; absent properties are NULL or false */
typedef struct BookingDavResource
{
	const char *href;			/* as received, percent-encoding kept */
	int			status;			/* of the response itself, 0 if it has none */
	int			error_status;	/* worst propstat status that is not 2xx or 404 */
	const char *etag;			/* as received, quotes included */
	const char *ctag;			/* of a collection: changes with its members */
	const char *calendar_data;
	const char *displayname;
	const char *current_user_principal; /* href */
	const char *calendar_home;	/* first href */
	bool		is_calendar;
	bool		is_collection;
	bool		supports_events;	/* true also when nothing is said */
	bool		may_write;		/* true also when nothing is said */
	bool		condition_uid_conflict; /* error element of this response */
	bool		condition_any;
} BookingDavResource;

typedef struct BookingDavMultistatus
{
	int			nresources;
	BookingDavResource *resources;
	const char *sync_token;
} BookingDavMultistatus;

/* precondition codes of a DAV:error body */
typedef struct BookingDavError
{
	bool		present;		/* there is a DAV:error element */
	bool		uid_conflict;	/* no-uid-conflict, unique-scheduling-object-resource */
	bool		need_privileges;
	bool		valid_sync_token;
	const char *condition;		/* local name of the first element */
	const char *href;			/* of the conflicting resource */
} BookingDavError;

typedef enum BookingDavFault
{
	BOOKING_DAV_OK,
	BOOKING_DAV_MALFORMED,
	BOOKING_DAV_TOO_LARGE		/* over the arena's limit, or too many members */
} BookingDavFault;

/*
 * Read a multistatus body: streaming, no network, no entities, no DTD, bounded
 * in depth and members; names are judged by namespace, never by prefix.
 */
extern BookingDavFault booking_dav_read_multistatus(const char *data, size_t len,
													BookingArena *arena,
													BookingDavMultistatus *result);
extern BookingDavFault booking_dav_read_error(const char *data, size_t len,
											  BookingArena *arena,
											  BookingDavError *error);

/*
 * The same for a body that comes in pieces and may be larger than memory: each
 * resource is given to take as soon as its response is complete, and lives as
 * long as that call.  take returns false to end the reading, which the caller
 * then has to know by itself; the fault is BOOKING_DAV_OK.  The arena holds no
 * more than the longest text.
 */
typedef struct BookingDavStream BookingDavStream;
typedef bool (*BookingDavTake) (void *arg, const BookingDavResource *resource);

extern BookingDavStream *booking_dav_stream_begin(BookingArena *arena,
												  BookingDavTake take,
												  void *arg);
extern bool booking_dav_stream_feed(BookingDavStream *stream, const char *data,
									size_t len);
extern BookingDavFault booking_dav_stream_end(BookingDavStream *stream,
											  const char **sync_token);

/* bodies we send; in the arena, terminated */
extern char *booking_dav_propfind_discovery(BookingArena *arena);
extern char *booking_dav_propfind_etag(BookingArena *arena);
extern char *booking_dav_query_uid(BookingArena *arena, const char *uid);
extern char *booking_dav_propfind_members(BookingArena *arena);
extern char *booking_dav_propfind_ctag(BookingArena *arena);
extern char *booking_dav_sync(BookingArena *arena, const char *token);
extern char *booking_dav_multiget(BookingArena *arena, const char *const *hrefs,
								  int count);

#endif							/* BOOKING_DAV_H */

/*-------------------------------------------------------------------------
 *
 * caldav_list.c
 *	  takes in listings of a CalDAV calendar
 *
 * A listing of a hundred thousand members is thirty megabytes of XML, so it is
 * read as it comes, and only the name and ETag of each member are kept.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_list.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/caldav.h"
#include "provider/url.h"

/* for the name of one member in its spellings */
#define MAX_SCRATCH (1024 * 1024)

/* longer names do not fit into an index, and nobody makes them */
#define MAX_OBJECT 1000

#define MAX_ETAG 1000

static bool take(void *arg, const BookingDavResource *resource);
static bool is_removed(const BookingDavResource *resource);

/*
 * Make ready for a listing; NULL when memory is short.
 */
BookingCaldavListing *
booking_caldav_listing_begin(BookingArena *arena, const char *base_url,
							 const char *collection)
{
	BookingCaldavListing *listing = booking_arena_alloc(arena, sizeof(*listing));

	if (listing == NULL)
		return NULL;
	listing->arena = arena;
	listing->base_url = base_url;
	listing->collection = collection;
	listing->scratch = booking_arena_create(MAX_SCRATCH);
	if (listing->scratch == NULL)
		return NULL;
	listing->stream = booking_dav_stream_begin(arena, take, listing);
	if (listing->stream != NULL)
		return listing;
	booking_arena_free(listing->scratch);
	return NULL;
}

/*
 * Take in a piece of the body.
 */
bool
booking_caldav_listing_sink(void *arg, const char *data, size_t len)
{
	BookingCaldavListing *listing = arg;

	listing->refused = !booking_dav_stream_feed(listing->stream, data, len);
	return !listing->refused;
}

/*
 * End a listing, also early.
 */
BookingDavFault
booking_caldav_listing_end(BookingCaldavListing *listing, const char **token)
{
	BookingDavFault fault = booking_dav_stream_end(listing->stream, token);
	bool		failed = booking_arena_failed(listing->scratch) ||
		booking_arena_failed(listing->arena);

	listing->stream = NULL;
	booking_arena_free(listing->scratch);
	listing->scratch = NULL;
	return failed ? BOOKING_DAV_TOO_LARGE : fault;
}

/*
 * A member of the listing.  What is no object of the calendar is passed over.
 */
static bool
take(void *arg, const BookingDavResource *resource)
{
	BookingCaldavListing *listing = arg;
	BookingPullItem *item;
	const char *object;

	if (resource->is_calendar)
		listing->seen_calendar = true;
	booking_arena_reset(listing->scratch);
	object = booking_caldav_object(listing->scratch, listing->base_url,
								   listing->collection, resource->href);
	if (object == NULL || resource->is_collection)
	{
		/* RFC 6578, 3.6: there is more than this answer has */
		if (resource->status == 507)
			listing->truncated = true;
		return !booking_arena_failed(listing->scratch);
	}

	item = booking_caldav_item_add(listing->arena, &listing->first,
								   &listing->last);
	if (item == NULL)
		return false;
	item->object = booking_arena_copy(listing->arena, object, strlen(object));
	item->removed = is_removed(resource);
	if (!item->removed && resource->status == 0 && resource->etag != NULL &&
		strlen(resource->etag) <= MAX_ETAG)
		item->etag = booking_arena_copy(listing->arena, resource->etag,
										strlen(resource->etag));
	return !booking_arena_failed(listing->arena);
}

/*
 * Is a member gone?  Any other status without properties only means that it
 * must be looked at: Nextcloud once said 418 of what was deleted.
 */
static bool
is_removed(const BookingDavResource *resource)
{
	return resource->status == 404 || resource->status == 410;
}

/*
 * Room for one more item; NULL when memory is short.
 */
BookingPullItem *
booking_caldav_item_add(BookingArena *arena, BookingPullChunk **first,
						BookingPullChunk **last)
{
	BookingPullChunk *chunk = *last;

	if (chunk == NULL || chunk->nitems == BOOKING_PULL_CHUNK)
	{
		BookingPullChunk *more = booking_arena_alloc(arena, sizeof(*more));

		if (more == NULL)
			return NULL;
		if (chunk == NULL)
			*first = more;
		else
			chunk->next = more;
		*last = chunk = more;
	}
	return &chunk->items[chunk->nitems++];
}

/*
 * Identity of a member by the href that a server sent: its path, which is what
 * operations know of an event too.  NULL for what is not in the collection, is
 * the collection itself or another one, or has a name that is of no use.
 */
const char *
booking_caldav_object(BookingArena *arena, const char *base_url,
					  const char *collection, const char *href)
{
	const char *path;
	char	   *url;
	size_t		len;

	if (href == NULL || strlen(href) > MAX_OBJECT * 3 ||
		booking_url_resolve(base_url, href, arena, &url) != BOOKING_URL_OK ||
		!booking_url_within(collection, url))
		return NULL;
	path = booking_url_path(url);
	len = strlen(path);

	/* within each other: the collection, spelled without its slash */
	if (len > MAX_OBJECT || path[len - 1] == '/' ||
		booking_url_within(url, collection))
		return NULL;
	return path;
}

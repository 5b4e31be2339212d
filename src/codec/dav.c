/*-------------------------------------------------------------------------
 *
 * dav.c
 *	  WebDAV and CalDAV bodies (RFC 4918, 4791), read
 *
 * Every body we ask for is the same small tree, so one table says which
 * element counts where.  Properties stand before the status that says whether
 * they are true; they are kept apart until it has come.
 *
 * IDENTIFICATION
 *	  booking/src/codec/dav.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "codec/xml.h"

#define DAV "DAV:"
#define CALDAV "urn:ietf:params:xml:ns:caldav"
#define SABRE "http://sabredav.org/ns"
#define CALENDARSERVER "http://calendarserver.org/ns/"

#define MAX_MEMBERS 10000

/* bytes of a text of a stream: what is longer is no name, ETag or token */
#define MAX_STREAM_TEXT (16 * 1024)

/* bytes of one response of a stream */
#define MAX_RESPONSE (16 * 1024 * 1024)

typedef enum DavElement
{
	ELEMENT_MULTISTATUS = 1,
	ELEMENT_SYNC_TOKEN,
	ELEMENT_RESPONSE,
	ELEMENT_HREF,
	ELEMENT_STATUS,
	ELEMENT_PROPSTAT,
	ELEMENT_PROPSTAT_STATUS,
	ELEMENT_PROP,
	ELEMENT_ETAG,
	ELEMENT_CTAG,
	ELEMENT_DISPLAYNAME,
	ELEMENT_CALENDAR_DATA,
	ELEMENT_TYPE,
	ELEMENT_TYPE_COLLECTION,
	ELEMENT_TYPE_CALENDAR,
	ELEMENT_PRINCIPAL,
	ELEMENT_PRINCIPAL_HREF,
	ELEMENT_HOME,
	ELEMENT_HOME_HREF,
	ELEMENT_COMPONENTS,
	ELEMENT_COMPONENT,
	ELEMENT_PRIVILEGES,
	ELEMENT_PRIVILEGE,
	ELEMENT_PRIVILEGE_NAME,
	ELEMENT_ERROR,
	ELEMENT_CONDITION,
	ELEMENT_CONDITION_HREF,
	ELEMENT_MESSAGE,
	ELEMENT_REMARK
} DavElement;

static const BookingXmlRule multistatus_rules[] = {
	{BOOKING_XML_TOP, DAV, "multistatus", ELEMENT_MULTISTATUS, false},
	{ELEMENT_MULTISTATUS, DAV, "response", ELEMENT_RESPONSE, false},
	{ELEMENT_MULTISTATUS, DAV, "sync-token", ELEMENT_SYNC_TOKEN, true},
	{ELEMENT_RESPONSE, DAV, "href", ELEMENT_HREF, true},
	{ELEMENT_RESPONSE, DAV, "status", ELEMENT_STATUS, true},
	{ELEMENT_RESPONSE, DAV, "propstat", ELEMENT_PROPSTAT, false},
	{ELEMENT_RESPONSE, DAV, "error", ELEMENT_ERROR, false},
	{ELEMENT_PROPSTAT, DAV, "status", ELEMENT_PROPSTAT_STATUS, true},
	{ELEMENT_PROPSTAT, DAV, "prop", ELEMENT_PROP, false},
	{ELEMENT_PROPSTAT, DAV, "error", ELEMENT_ERROR, false},
	{ELEMENT_ERROR, NULL, NULL, ELEMENT_CONDITION, false},
	{ELEMENT_PROP, DAV, "getetag", ELEMENT_ETAG, true},
	{ELEMENT_PROP, CALENDARSERVER, "getctag", ELEMENT_CTAG, true},
	{ELEMENT_PROP, DAV, "displayname", ELEMENT_DISPLAYNAME, true},
	{ELEMENT_PROP, CALDAV, "calendar-data", ELEMENT_CALENDAR_DATA, true},
	{ELEMENT_PROP, DAV, "resourcetype", ELEMENT_TYPE, false},
	{ELEMENT_TYPE, DAV, "collection", ELEMENT_TYPE_COLLECTION, false},
	{ELEMENT_TYPE, CALDAV, "calendar", ELEMENT_TYPE_CALENDAR, false},
	{ELEMENT_PROP, DAV, "current-user-principal", ELEMENT_PRINCIPAL, false},
	{ELEMENT_PRINCIPAL, DAV, "href", ELEMENT_PRINCIPAL_HREF, true},
	{ELEMENT_PROP, CALDAV, "calendar-home-set", ELEMENT_HOME, false},
	{ELEMENT_HOME, DAV, "href", ELEMENT_HOME_HREF, true},
	{ELEMENT_PROP, CALDAV, "supported-calendar-component-set", ELEMENT_COMPONENTS, false},
	{ELEMENT_COMPONENTS, CALDAV, "comp", ELEMENT_COMPONENT, false},
	{ELEMENT_PROP, DAV, "current-user-privilege-set", ELEMENT_PRIVILEGES, false},
	{ELEMENT_PRIVILEGES, DAV, "privilege", ELEMENT_PRIVILEGE, false},
	{ELEMENT_PRIVILEGE, DAV, NULL, ELEMENT_PRIVILEGE_NAME, false}
};

static const BookingXmlRule error_rules[] = {
	{BOOKING_XML_TOP, DAV, "error", ELEMENT_ERROR, false},
	{ELEMENT_ERROR, SABRE, "message", ELEMENT_MESSAGE, true},
	{ELEMENT_ERROR, SABRE, NULL, ELEMENT_REMARK, false},
	{ELEMENT_ERROR, NULL, NULL, ELEMENT_CONDITION, false},
	{ELEMENT_CONDITION, DAV, "href", ELEMENT_CONDITION_HREF, true}
};

/* what one propstat says, valid once its status is known */
typedef struct Properties
{
	BookingDavResource resource;
	int			status;			/* 0: none yet */
	bool		has_components;
	bool		has_events;
	bool		has_privileges;
	bool		may_do_all;		/* all or write */
	bool		may_bind;
	bool		may_write_content;
} Properties;

typedef struct MultistatusReader
{
	BookingArena *arena;
	BookingDavTake take;		/* gets each resource */
	void	   *take_arg;
	const char *sync_token;
	BookingArena *lasting;		/* where what outlives a response is */
	bool		scratch;		/* arena is taken back after each response */
	BookingDavResource resource;	/* of this response */
	int			nhrefs;
	const char **hrefs;
	int			hrefs_size;
	bool		has_multistatus;
	Properties	properties;
	BookingDavFault fault;
} MultistatusReader;

typedef struct ErrorReader
{
	BookingArena *arena;
	BookingDavError *error;
	bool		in_uid_conflict;
} ErrorReader;

/* a whole multistatus, gathered */
typedef struct Gathering
{
	BookingArena *arena;
	BookingDavMultistatus *result;
	int			size;			/* of result->resources */
} Gathering;

struct BookingDavStream
{
	MultistatusReader reader;
	BookingXmlReader callbacks;
	BookingXmlStream *xml;
};

static void init_multistatus(MultistatusReader *reader, BookingXmlReader *xml,
							 BookingArena *arena, BookingDavTake take,
							 void *arg);
static BookingDavFault conclude_multistatus(const MultistatusReader *reader,
											BookingXmlFault fault);
static bool begin_multistatus(void *arg, int element, const BookingXmlTag *tag);
static bool end_multistatus(void *arg, int element, const char *text, size_t len);
static void read_privilege(Properties *properties, const char *name);
static bool refuse(MultistatusReader *reader, BookingDavFault fault);
static bool end_response(MultistatusReader *reader);
static bool end_propstat(MultistatusReader *reader);
static bool add_href(MultistatusReader *reader, const char *href);
static bool add_resource(void *arg, const BookingDavResource *resource);
static void *grow(BookingArena *arena, const void *old, int *size, size_t each);
static int	read_status(const char *text, size_t len);
static bool is_uid_conflict(const BookingXmlTag *tag);
static bool begin_error(void *arg, int element, const BookingXmlTag *tag);
static bool end_error(void *arg, int element, const char *text, size_t len);
static bool contains(const char *text, size_t len, const char *word);

/*
 * Read a multistatus body (RFC 4918 section 13).  A response that names several
 * resources becomes as many.  Properties whose propstat is not 2xx stay absent.
 * All strings are in the arena, without blanks at their edges.
 *
 * A body whose root is another element, a response without href, and a status
 * that cannot be read are MALFORMED.  After a fault nothing in result may be
 * used.
 */
BookingDavFault
booking_dav_read_multistatus(const char *data, size_t len, BookingArena *arena,
							 BookingDavMultistatus *result)
{
	MultistatusReader reader;
	Gathering	gathering = {arena, result, 0};
	BookingXmlReader xml;
	BookingDavFault fault;

	memset(result, 0, sizeof(BookingDavMultistatus));
	init_multistatus(&reader, &xml, arena, add_resource, &gathering);
	fault = conclude_multistatus(&reader,
								 booking_xml_read(data, len, arena, &xml));
	result->sync_token = reader.sync_token;
	return fault;
}

/*
 * Begin to read a multistatus that comes in pieces.  NULL when memory is short.
 * What is made of one response is taken back with it, so texts are kept apart
 * from the buffer that they are read into.  A stream is for listings: texts are
 * cut off where no name, ETag or token is so long, and calendar data with them.
 */
BookingDavStream *
booking_dav_stream_begin(BookingArena *arena, BookingDavTake take, void *arg)
{
	BookingDavStream *stream = booking_arena_alloc(arena, sizeof(*stream));
	BookingArena *scratch;

	if (stream == NULL)
		return NULL;
	scratch = booking_arena_create(MAX_RESPONSE);
	if (scratch == NULL)
		return NULL;
	init_multistatus(&stream->reader, &stream->callbacks, scratch, take, arg);
	stream->reader.lasting = arena;
	stream->reader.scratch = true;
	stream->callbacks.max_text = MAX_STREAM_TEXT;
	stream->xml = booking_xml_stream_begin(arena, &stream->callbacks);
	if (stream->xml != NULL)
		return stream;
	booking_arena_free(scratch);
	return NULL;
}

/*
 * Read a piece; false when it is no use to send more.
 */
bool
booking_dav_stream_feed(BookingDavStream *stream, const char *data, size_t len)
{
	return booking_xml_stream_feed(stream->xml, data, len);
}

/*
 * End the reading, also early, and free what is not in the arena.  The token,
 * NULL if there was none, is in the arena.
 */
BookingDavFault
booking_dav_stream_end(BookingDavStream *stream, const char **sync_token)
{
	BookingXmlFault fault = booking_xml_stream_end(stream->xml);
	BookingDavFault result = conclude_multistatus(&stream->reader, fault);

	*sync_token = stream->reader.sync_token;
	booking_arena_free(stream->reader.arena);
	return booking_arena_failed(stream->reader.lasting) ?
		BOOKING_DAV_TOO_LARGE : result;
}

/*
 * Make ready to read a multistatus.
 */
static void
init_multistatus(MultistatusReader *reader, BookingXmlReader *xml,
				 BookingArena *arena, BookingDavTake take, void *arg)
{
	memset(reader, 0, sizeof(*reader));
	reader->arena = arena;
	reader->lasting = arena;
	reader->take = take;
	reader->take_arg = arg;

	memset(xml, 0, sizeof(*xml));
	xml->rules = multistatus_rules;
	xml->nrules = lengthof(multistatus_rules);
	xml->begin = begin_multistatus;
	xml->end = end_multistatus;
	xml->arg = reader;
}

/*
 * How the reading of a multistatus went.
 */
static BookingDavFault
conclude_multistatus(const MultistatusReader *reader, BookingXmlFault fault)
{
	if (booking_arena_failed(reader->arena) || fault == BOOKING_XML_TOO_LARGE)
		return BOOKING_DAV_TOO_LARGE;
	if (fault == BOOKING_XML_ENDED)
		return reader->fault;
	return fault == BOOKING_XML_OK && reader->has_multistatus ?
		BOOKING_DAV_OK : BOOKING_DAV_MALFORMED;
}

/*
 * An element of a multistatus begins.
 */
static bool
begin_multistatus(void *arg, int element, const BookingXmlTag *tag)
{
	MultistatusReader *reader = arg;
	Properties *properties = &reader->properties;

	switch (element)
	{
		case ELEMENT_MULTISTATUS:
			reader->has_multistatus = true;
			break;
		case ELEMENT_RESPONSE:
			memset(&reader->resource, 0, sizeof(BookingDavResource));
			reader->resource.supports_events = true;
			reader->resource.may_write = true;
			reader->nhrefs = 0;
			break;
		case ELEMENT_PROPSTAT:
			memset(properties, 0, sizeof(Properties));
			break;
		case ELEMENT_TYPE_COLLECTION:
			properties->resource.is_collection = true;
			break;
		case ELEMENT_TYPE_CALENDAR:
			properties->resource.is_calendar = true;
			break;
		case ELEMENT_COMPONENT:
			properties->has_components = true;
			if (tag->attribute != NULL &&
				pg_strcasecmp(tag->attribute, "VEVENT") == 0)
				properties->has_events = true;
			break;
		case ELEMENT_PRIVILEGES:
			properties->has_privileges = true;
			break;
		case ELEMENT_PRIVILEGE_NAME:
			read_privilege(properties, tag->name);
			break;
		case ELEMENT_CONDITION:
			reader->resource.condition_any = true;
			if (is_uid_conflict(tag))
				reader->resource.condition_uid_conflict = true;
			break;
		default:
			break;
	}
	return true;
}

/*
 * A privilege that the user has (RFC 3744 section 3).
 */
static void
read_privilege(Properties *properties, const char *name)
{
	if (strcmp(name, "all") == 0 || strcmp(name, "write") == 0)
		properties->may_do_all = true;
	else if (strcmp(name, "bind") == 0)
		properties->may_bind = true;
	else if (strcmp(name, "write-content") == 0)
		properties->may_write_content = true;
}

/*
 * An element of a multistatus ends.
 */
static bool
end_multistatus(void *arg, int element, const char *text, size_t len)
{
	MultistatusReader *reader = arg;
	BookingDavResource *found = &reader->properties.resource;
	const char **place = NULL;
	int			status;

	switch (element)
	{
		case ELEMENT_RESPONSE:
			return end_response(reader);
		case ELEMENT_PROPSTAT:
			return end_propstat(reader);
		case ELEMENT_STATUS:
		case ELEMENT_PROPSTAT_STATUS:
			status = read_status(text, len);
			if (element == ELEMENT_STATUS)
				reader->resource.status = status;
			else
				reader->properties.status = status;
			return status != 0 || refuse(reader, BOOKING_DAV_MALFORMED);
		case ELEMENT_HREF:
			if (len == 0)
				return refuse(reader, BOOKING_DAV_MALFORMED);
			return add_href(reader, booking_arena_copy(reader->arena, text, len));
		case ELEMENT_SYNC_TOKEN:
			if (reader->sync_token == NULL)
				reader->sync_token = booking_arena_copy(reader->lasting, text, len);
			return true;
		case ELEMENT_ETAG:
			place = &found->etag;
			break;
		case ELEMENT_CTAG:
			place = &found->ctag;
			break;
		case ELEMENT_DISPLAYNAME:
			place = &found->displayname;
			break;
		case ELEMENT_CALENDAR_DATA:
			place = &found->calendar_data;
			break;
		case ELEMENT_PRINCIPAL_HREF:
			place = &found->current_user_principal;
			break;
		case ELEMENT_HOME_HREF:
			place = &found->calendar_home;
			break;
		default:
			break;
	}
	if (place != NULL && *place == NULL)
		*place = booking_arena_copy(reader->arena, text, len);
	return true;
}

/*
 * Read no further, for this reason.
 */
static bool
refuse(MultistatusReader *reader, BookingDavFault fault)
{
	reader->fault = fault;
	return false;
}

/*
 * A propstat ends: now it is known whether what it says is true.
 */
static bool
end_propstat(MultistatusReader *reader)
{
	const Properties *properties = &reader->properties;
	const BookingDavResource *found = &properties->resource;
	BookingDavResource *resource = &reader->resource;

	if (properties->status == 0)
		return refuse(reader, BOOKING_DAV_MALFORMED);
	if (properties->status / 100 != 2)
	{
		if (properties->status != 404)
			resource->error_status = Max(resource->error_status,
										 properties->status);
		return true;
	}

	if (found->etag != NULL)
		resource->etag = found->etag;
	if (found->ctag != NULL)
		resource->ctag = found->ctag;
	if (found->displayname != NULL)
		resource->displayname = found->displayname;
	if (found->calendar_data != NULL)
		resource->calendar_data = found->calendar_data;
	if (found->current_user_principal != NULL)
		resource->current_user_principal = found->current_user_principal;
	if (found->calendar_home != NULL)
		resource->calendar_home = found->calendar_home;
	if (found->is_collection)
		resource->is_collection = true;
	if (found->is_calendar)
		resource->is_calendar = true;
	if (properties->has_components)
		resource->supports_events = properties->has_events;
	if (properties->has_privileges)
		resource->may_write = properties->may_do_all ||
			(properties->may_bind && properties->may_write_content);
	return true;
}

/*
 * A response ends: one resource for each href.
 */
static bool
end_response(MultistatusReader *reader)
{
	if (reader->nhrefs == 0)
		return refuse(reader, BOOKING_DAV_MALFORMED);
	for (int i = 0; i < reader->nhrefs; i++)
	{
		reader->resource.href = reader->hrefs[i];
		if (!reader->take(reader->take_arg, &reader->resource))
			return refuse(reader, booking_arena_failed(reader->arena) ?
						  BOOKING_DAV_TOO_LARGE : BOOKING_DAV_OK);
	}
	if (reader->scratch)
	{
		booking_arena_reset(reader->arena);
		reader->hrefs = NULL;
		reader->hrefs_size = 0;
	}
	return true;
}

/*
 * Remember an href of the response.
 */
static bool
add_href(MultistatusReader *reader, const char *href)
{
	if (href == NULL || reader->nhrefs == MAX_MEMBERS)
		return refuse(reader, BOOKING_DAV_TOO_LARGE);
	if (reader->nhrefs == reader->hrefs_size)
	{
		const char **grown = grow(reader->arena, reader->hrefs,
								  &reader->hrefs_size, sizeof(char *));

		if (grown == NULL)
			return refuse(reader, BOOKING_DAV_TOO_LARGE);
		reader->hrefs = grown;
	}
	reader->hrefs[reader->nhrefs++] = href;
	return true;
}

/*
 * Add a resource to those of a whole multistatus.  One too many is one that the
 * arena could not hold.
 */
static bool
add_resource(void *arg, const BookingDavResource *resource)
{
	Gathering  *gathering = arg;
	BookingDavMultistatus *result = gathering->result;

	if (result->nresources == MAX_MEMBERS)
	{
		(void) booking_arena_alloc(gathering->arena, SIZE_MAX);
		return false;
	}
	if (result->nresources == gathering->size)
	{
		BookingDavResource *grown = grow(gathering->arena, result->resources,
										 &gathering->size,
										 sizeof(BookingDavResource));

		if (grown == NULL)
			return false;
		result->resources = grown;
	}
	result->resources[result->nresources++] = *resource;
	return true;
}

/*
 * An array with room for twice as many, or the first few.
 */
static void *
grow(BookingArena *arena, const void *old, int *size, size_t each)
{
	int			more = Max(*size * 2, 4);
	void	   *grown = booking_arena_alloc(arena, more * each);

	if (grown != NULL && *size > 0)
		memcpy(grown, old, *size * each);
	if (grown != NULL)
		*size = more;
	return grown;
}

/*
 * The number in "HTTP/1.1 200 OK" (RFC 4918 section 14.28), 0 if it is none.
 */
static int
read_status(const char *text, size_t len)
{
	const char *space = len > 0 ? memchr(text, ' ', len) : NULL;
	size_t		left;
	int			status = 0;

	if (space == NULL || len < 5 || memcmp(text, "HTTP/", 5) != 0)
		return 0;
	left = text + len - space - 1;
	if (left < 3 || (left > 3 && space[4] != ' '))
		return 0;
	for (int i = 1; i <= 3; i++)
	{
		if (space[i] < '0' || space[i] > '9')
			return 0;
		status = status * 10 + (space[i] - '0');
	}
	return status >= 100 && status < 600 ? status : 0;
}

/*
 * Does an element of DAV:error say that the UID is in use: in this calendar
 * (RFC 4791 section 5.3.2.1), or in another one of the user's (RFC 6638 section
 * 3.2.4.1)?
 */
static bool
is_uid_conflict(const BookingXmlTag *tag)
{
	return strcmp(tag->uri, CALDAV) == 0 &&
		(strcmp(tag->name, "no-uid-conflict") == 0 ||
		 strcmp(tag->name, "unique-scheduling-object-resource") == 0);
}

/*
 * Read the body of a refusal (RFC 4918 section 16).  Well-formed XML that is no
 * DAV:error is OK and not present; anything else, such as a page of a proxy, is
 * MALFORMED and not present.
 *
 * Elements of sabre's own namespace stand before the condition and are none;
 * of them the message counts by which Nextcloud says, without a condition, that
 * a UID is in use.
 */
BookingDavFault
booking_dav_read_error(const char *data, size_t len, BookingArena *arena,
					   BookingDavError *error)
{
	BookingDavError found;
	ErrorReader reader;
	BookingXmlReader xml;
	BookingXmlFault fault;

	memset(error, 0, sizeof(BookingDavError));
	memset(&found, 0, sizeof(found));
	memset(&reader, 0, sizeof(reader));
	reader.arena = arena;
	reader.error = &found;

	memset(&xml, 0, sizeof(xml));
	xml.rules = error_rules;
	xml.nrules = lengthof(error_rules);
	xml.begin = begin_error;
	xml.end = end_error;
	xml.arg = &reader;

	fault = booking_xml_read(data, len, arena, &xml);
	if (booking_arena_failed(arena) || fault == BOOKING_XML_TOO_LARGE)
		return BOOKING_DAV_TOO_LARGE;
	if (fault != BOOKING_XML_OK)
		return BOOKING_DAV_MALFORMED;
	*error = found;
	return BOOKING_DAV_OK;
}

/*
 * An element of DAV:error begins.
 */
static bool
begin_error(void *arg, int element, const BookingXmlTag *tag)
{
	ErrorReader *reader = arg;
	BookingDavError *error = reader->error;

	if (element == ELEMENT_ERROR)
		error->present = true;
	if (element != ELEMENT_CONDITION)
		return true;

	if (error->condition == NULL)
		error->condition = booking_arena_copy(reader->arena, tag->name,
											  strlen(tag->name));
	reader->in_uid_conflict = is_uid_conflict(tag);
	if (reader->in_uid_conflict)
		error->uid_conflict = true;
	if (strcmp(tag->uri, DAV) == 0)
	{
		if (strcmp(tag->name, "need-privileges") == 0)
			error->need_privileges = true;
		else if (strcmp(tag->name, "valid-sync-token") == 0)
			error->valid_sync_token = true;
	}
	return true;
}

/*
 * An element of DAV:error ends.
 */
static bool
end_error(void *arg, int element, const char *text, size_t len)
{
	ErrorReader *reader = arg;
	BookingDavError *error = reader->error;

	if (element == ELEMENT_CONDITION_HREF && reader->in_uid_conflict &&
		error->href == NULL && len > 0)
		error->href = booking_arena_copy(reader->arena, text, len);
	else if (element == ELEMENT_MESSAGE &&
			 contains(text, len, "alendar object with uid already exists"))
		error->uid_conflict = true;
	return true;
}

/*
 * Is a word in a text that is not terminated?
 */
static bool
contains(const char *text, size_t len, const char *word)
{
	size_t		word_len = strlen(word);

	for (size_t at = 0; at + word_len <= len; at++)
	{
		if (memcmp(text + at, word, word_len) == 0)
			return true;
	}
	return false;
}

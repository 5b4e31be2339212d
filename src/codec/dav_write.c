/*-------------------------------------------------------------------------
 *
 * dav_write.c
 *	  WebDAV and CalDAV bodies (RFC 4918, 4791), written
 *
 * There is no white space between elements: a server that was tried takes it
 * for content.
 *
 * IDENTIFICATION
 *	  booking/src/codec/dav_write.c
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

#define DECLARATION "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
#define NAMESPACES " xmlns=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\""

/*
 * PROPFIND for all that discovery and the check of a calendar ask for; NULL
 * when the arena has failed.
 */
char *
booking_dav_propfind_discovery(BookingArena *arena)
{
	static const char body[] =
		DECLARATION "<propfind" NAMESPACES "><prop>"
		"<current-user-principal/><c:calendar-home-set/><resourcetype/>"
		"<displayname/><c:supported-calendar-component-set/>"
		"<current-user-privilege-set/></prop></propfind>";

	return booking_arena_copy(arena, body, strlen(body));
}

/*
 * PROPFIND for the etag; NULL when the arena has failed.
 */
char *
booking_dav_propfind_etag(BookingArena *arena)
{
	static const char body[] =
		DECLARATION "<propfind" NAMESPACES "><prop><getetag/></prop></propfind>";

	return booking_arena_copy(arena, body, strlen(body));
}

/*
 * REPORT calendar-query (RFC 4791 section 7.8) for events with a UID, with
 * etag and data.  Servers may take the UID for a part of one, or disregard
 * case, so the answers must be compared.  NULL when the arena has failed, or
 * the UID has characters that XML cannot hold.
 */
char *
booking_dav_query_uid(BookingArena *arena, const char *uid)
{
	BookingBuffer body;

	booking_buffer_init(&body, arena);
	if (!booking_buffer_add_text(&body,
								 DECLARATION "<c:calendar-query" NAMESPACES "><prop>"
								 "<getetag/><c:calendar-data/></prop><c:filter>"
								 "<c:comp-filter name=\"VCALENDAR\">"
								 "<c:comp-filter name=\"VEVENT\">"
								 "<c:prop-filter name=\"UID\">"
								 "<c:text-match collation=\"i;octet\">") ||
		!booking_xml_escape(&body, uid) ||
		!booking_buffer_add_text(&body,
								 "</c:text-match></c:prop-filter></c:comp-filter>"
								 "</c:comp-filter></c:filter></c:calendar-query>"))
		return NULL;
	return body.data;
}

/*
 * PROPFIND for what the members of a calendar are, and their etags; NULL when
 * the arena has failed.
 */
char *
booking_dav_propfind_members(BookingArena *arena)
{
	static const char body[] =
		DECLARATION "<propfind" NAMESPACES "><prop><getetag/><resourcetype/>"
		"</prop></propfind>";

	return booking_arena_copy(arena, body, strlen(body));
}

/*
 * PROPFIND for the tag of a calendar that changes with its members, which many
 * servers have that know no sync-collection; NULL when the arena has failed.
 */
char *
booking_dav_propfind_ctag(BookingArena *arena)
{
	static const char body[] =
		DECLARATION "<propfind" NAMESPACES " xmlns:s=\"http://calendarserver.org/ns/\">"
		"<prop><s:getctag/><resourcetype/></prop></propfind>";

	return booking_arena_copy(arena, body, strlen(body));
}

/*
 * REPORT sync-collection (RFC 6578 section 3.2) since a token, "" for all.  No
 * limit is asked for: servers ignore it, or refuse it.  NULL when the arena has
 * failed, or the token has characters that XML cannot hold.
 */
char *
booking_dav_sync(BookingArena *arena, const char *token)
{
	BookingBuffer body;

	booking_buffer_init(&body, arena);
	if (!booking_buffer_add_text(&body,
								 DECLARATION "<sync-collection xmlns=\"DAV:\"><sync-token>") ||
		!booking_xml_escape(&body, token) ||
		!booking_buffer_add_text(&body,
								 "</sync-token><sync-level>1</sync-level><prop><getetag/>"
								 "<resourcetype/></prop></sync-collection>"))
		return NULL;
	return body.data;
}

/*
 * REPORT calendar-multiget (RFC 4791 section 7.9) for objects by their paths,
 * with etag and data.  NULL when the arena has failed, or a path has characters
 * that XML cannot hold.
 */
char *
booking_dav_multiget(BookingArena *arena, const char *const *hrefs, int count)
{
	BookingBuffer body;

	booking_buffer_init(&body, arena);
	if (!booking_buffer_add_text(&body,
								 DECLARATION "<c:calendar-multiget" NAMESPACES "><prop>"
								 "<getetag/><c:calendar-data/></prop>"))
		return NULL;
	for (int i = 0; i < count; i++)
	{
		if (!booking_buffer_add_text(&body, "<href>") ||
			!booking_xml_escape(&body, hrefs[i]) ||
			!booking_buffer_add_text(&body, "</href>"))
			return NULL;
	}
	if (!booking_buffer_add_text(&body, "</c:calendar-multiget>"))
		return NULL;
	return body.data;
}

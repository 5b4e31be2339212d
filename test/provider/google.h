/*
 * google.h
 *
 * What the scenarios of the Google Calendar adapter share.  Shapes are those of
 * the reference of Calendar API v3; see src/provider/google.c for the sources.
 */
#ifndef TEST_GOOGLE_H
#define TEST_GOOGLE_H

#include "harness.h"

#define GOOGLE "https://www.googleapis.com/calendar/v3"
#define GCALENDAR GOOGLE "/calendars/room1%40group.calendar.google.com"
#define GEVENTS GCALENDAR "/events"
#define GEVENT GEVENTS "/" ID
#define GJSON "Content-Type: application/json; charset=utf-8\n"

/* requests */
#define INSERT_WITH(query) "POST " GEVENTS query "\n" GJSON "\n" BODY
#define INSERT INSERT_WITH("?sendUpdates=none")
#define PATCH_WITH(query, etag, body) \
	"PATCH " GEVENT query "\nIf-Match: " etag "\n" GJSON "\n" body
#define OURS_PRIVATE \
	"\"extendedProperties\":{\"private\":{\"bookingId\":\"" ID "\",\"bookingSequence\":\"1\"}}"
#define MOVE \
	"{\"summary\":\"After\",\"start\":{\"dateTime\":\"2030-01-05T11:00:00Z\"}," \
	"\"end\":{\"dateTime\":\"2030-01-05T11:30:00Z\"}," OURS_PRIVATE "}"
#define RETITLE "{\"summary\":\"After\"," OURS_PRIVATE "}"
#define GPATCH(etag) PATCH_WITH("?sendUpdates=none", etag, MOVE)
#define GDELETE(etag) "DELETE " GEVENT "?sendUpdates=none\nIf-Match: " etag "\n\n"
#define GGET "GET " GEVENT " read\n\n"
#define SEARCH_FROM(page) \
	"GET " GEVENTS "?fields=nextPageToken,items(id,status,extendedProperties%2Fprivate)" \
	"&maxResults=10&privateExtendedProperty=bookingId%3D" ID page " read\n\n"
#define SEARCH SEARCH_FROM("")
#define ASK_CALENDAR "GET " GCALENDAR " read\n\n"

/* events, as Google returns them; etags are quoted within the JSON */
#define GITEM(id, etag, status, hour, marker, revision, more) \
	"{\"kind\":\"calendar#event\",\"etag\":\"\\\"" etag "\\\"\",\"id\":\"" id "\"," \
	"\"status\":\"" status "\",\"summary\":\"Retitled\"," \
	"\"creator\":{\"email\":\"bot@example.org\"}," \
	"\"organizer\":{\"email\":\"room1@group.calendar.google.com\",\"self\":true}," \
	"\"start\":{\"dateTime\":\"2030-01-05T" hour ":00:00Z\",\"timeZone\":\"UTC\"}," \
	"\"end\":{\"dateTime\":\"2030-01-05T" hour ":30:00Z\",\"timeZone\":\"UTC\"}," \
	"\"iCalUID\":\"" id "@google.com\",\"sequence\":3," \
	"\"attendees\":[{\"email\":\"ann@example.org\",\"responseStatus\":\"accepted\"}," \
	"{\"email\":\"BO@example.org\",\"displayName\":\"Bo\",\"responseStatus\":\"needsAction\"}" \
	more "]," \
	"\"extendedProperties\":{\"private\":{\"bookingId\":\"" marker "\"," \
	"\"bookingSequence\":\"" revision "\"}}}"
#define G_WANTED(etag) GITEM(ID, etag, "confirmed", "11", ID, "1", "")
#define G_BEFORE(etag) GITEM(ID, etag, "confirmed", "10", ID, "0", "")
#define G_MOVED(etag) GITEM(ID, etag, "confirmed", "15", ID, "0", "")
#define G_DELETED "{\"kind\":\"calendar#event\",\"id\":\"" ID "\",\"status\":\"cancelled\"}"
#define G_FOREIGN GITEM(ID, "f1", "confirmed", "11", "other", "0", "")

/* answers */
#define JSON(status, body) status "\nContent-Type: application/json; charset=UTF-8\n\n" body
#define GERROR(status, reason) \
	JSON(status, "{\"error\":{\"code\":" status ",\"message\":\"secret words\"," \
		 "\"errors\":[{\"domain\":\"global\",\"reason\":\"" reason "\",\"message\":\"secret words\"}]}}")
#define G_TAKEN GERROR("409", "duplicate")
#define G_NOT_FOUND GERROR("404", "notFound")
#define G_GONE GERROR("410", "deleted")
#define G_CHANGED GERROR("412", "conditionNotMet")
#define NO_ITEMS JSON("200", "{\"items\":[]}")
#define ITEMS(items) JSON("200", "{\"items\":[" items "]}")
#define MARKED(id, status) \
	"{\"id\":\"" id "\",\"status\":\"" status "\"," \
	"\"extendedProperties\":{\"private\":{\"bookingId\":\"" ID "\"}}}"

#endif							/* TEST_GOOGLE_H */

/*
 * graph.h
 *
 * What the scenarios of the Microsoft Graph adapter share.  Shapes are those of
 * the resource "event" of Microsoft Graph v1.0; see src/provider/graph.c for the
 * sources.
 */
#ifndef TEST_GRAPH_H
#define TEST_GRAPH_H

#include "harness.h"

#define GRAPH "https://graph.microsoft.com/v1.0"
#define MAILBOX GRAPH "/users/desk%40example.org"
#define MCALENDAR MAILBOX "/calendars/AQMkCal%3D"
#define EV1 "AAMkEv1="
#define MEVENT_AT(id) MAILBOX "/events/" id
#define MEVENT MEVENT_AT("AAMkEv1%3D")
#define PREFER "Prefer: IdType=\"ImmutableId\"\n"
#define MJSON "Content-Type: application/json; charset=utf-8\n"

#define MARKER_CODED "String%20%7Bd0cab8b5-48e5-43ca-8591-90d542674ed2%7D%20Name%20bookingId"
#define REVISION_CODED "String%20%7Bd0cab8b5-48e5-43ca-8591-90d542674ed2%7D%20Name%20bookingSequence"
#define MFIELDS \
	"$select=id,transactionId,subject,location,start,end,isAllDay,showAs," \
	"isCancelled,type,seriesMasterId,originalStart,originalStartTimeZone," \
	"originalEndTimeZone,organizer,attendees,responseStatus,isOnlineMeeting," \
	"onlineMeeting,iCalUId&$expand=singleValueExtendedProperties($filter=" \
	"id%20eq%20%27" MARKER_CODED "%27%20or%20id%20eq%20%27" REVISION_CODED "%27)"

/* requests */
#define MGETS(url) "GET " url " read\n" PREFER "\n"
#define POST_NEW "POST " MCALENDAR "/events\n" PREFER MJSON "\n" BODY
#define PROPERTIES(sequence) \
	"\"singleValueExtendedProperties\":[" \
	"{\"id\":\"String {d0cab8b5-48e5-43ca-8591-90d542674ed2} Name bookingId\",\"value\":\"" ID \
	"\"}," \
	"{\"id\":\"String {d0cab8b5-48e5-43ca-8591-90d542674ed2} Name bookingSequence\",\"value\":\"" \
	sequence "\"}]"
#define MMOVE \
	"{\"subject\":\"After\",\"start\":{\"dateTime\":\"2030-01-05T11:00:00\"," \
	"\"timeZone\":\"UTC\"}," \
	"\"end\":{\"dateTime\":\"2030-01-05T11:30:00\",\"timeZone\":\"UTC\"},\"isAllDay\":false," \
	PROPERTIES("1") "}"
#define MRETITLE "{\"subject\":\"After\"," PROPERTIES("1") "}"
#define MPATCH_WITH(etag, body) \
	"PATCH " MEVENT "\n" PREFER "If-Match: " etag "\n" MJSON "\n" body
#define MPATCH(etag) MPATCH_WITH(etag, MMOVE)
#define MDELETE(etag) "DELETE " MEVENT "\n" PREFER "If-Match: " etag "\n\n"
#define MGET MGETS(MEVENT "?" MFIELDS)
#define FIND \
	MGETS(MCALENDAR "/events?" MFIELDS "&$top=50&$filter=singleValueExtendedProperties%2FAny(" \
		  "ep%3A%20ep%2Fid%20eq%20%27" MARKER_CODED "%27%20and%20ep%2Fvalue%20eq%20%27" ID "%27)")
#define VIEW_URL(from, to) \
	MCALENDAR "/calendarView?startDateTime=2030-01-05T" from "Z&endDateTime=2030-01-05T" to "Z&" \
	MFIELDS "&$top=100"
#define VIEW(hour) MGETS(VIEW_URL(hour "%3A00%3A00", hour "%3A30%3A01"))
#define LOOK_AT_CALENDAR MGETS(MCALENDAR "?$select=id,canEdit")

/* events, as Graph returns them; etags are weak, and quoted within the JSON */
#define MITEM(id, etag, hour, transaction, marker, revision, more) \
	"{\"@odata.etag\":\"W/\\\"" etag "\\\"\",\"id\":\"" id "\"," transaction \
	"\"subject\":\"Retitled\",\"isCancelled\":false,\"isAllDay\":false,\"showAs\":\"busy\"," \
	"\"type\":\"singleInstance\",\"iCalUId\":\"040000008200E00074C5B7101A82E008\"," \
	"\"start\":{\"dateTime\":\"2030-01-05T" hour ":00:00.0000000\",\"timeZone\":\"UTC\"}," \
	"\"end\":{\"dateTime\":\"2030-01-05T" hour ":30:00.0000000\",\"timeZone\":\"UTC\"}," \
	"\"organizer\":{\"emailAddress\":{\"name\":\"Desk\",\"address\":\"room@example.org\"}}," \
	"\"attendees\":[{\"type\":\"required\",\"status\":{\"response\":\"accepted\"}," \
	"\"emailAddress\":{\"address\":\"ann@example.org\"}}," \
	"{\"type\":\"required\",\"status\":{\"response\":\"none\"}," \
	"\"emailAddress\":{\"name\":\"Bo\",\"address\":\"BO@example.org\"}}" more "]" \
	marker revision "}"
#define TRANSACTION(id) "\"transactionId\":\"" id "\","
#define MARKED_WITH(id, revision) \
	",\"singleValueExtendedProperties\":[" \
	"{\"id\":\"String {D0CAB8B5-48E5-43CA-8591-90D542674ED2} Name bookingId\",\"value\":\"" id \
	"\"}," \
	"{\"id\":\"String {d0cab8b5-48e5-43ca-8591-90d542674ed2} Name bookingSequence\",\"value\":\"" \
	revision "\"}]"
#define M_AT(id, etag, hour, revision) \
	MITEM(id, etag, hour, TRANSACTION(ID), MARKED_WITH(ID, revision), "", "")
#define M_WANTED(etag) M_AT(EV1, etag, "11", "1")
#define M_BEFORE(etag) M_AT(EV1, etag, "10", "0")
#define M_MOVED(etag) M_AT(EV1, etag, "15", "0")
/* the answer to a create has no extended property */
#define M_FRESH(etag) MITEM(EV1, etag, "11", TRANSACTION(ID), "", "", "")
#define M_FOREIGN MITEM(EV1, "f1", "11", TRANSACTION("other"), MARKED_WITH(ID, "0"), "", "")
#define M_COPY MITEM("AAMkCopy=", "c1", "11", "", MARKED_WITH(ID, "0"), "", "")
#define W(etag) "W/\"" etag "\""

/* answers */
#ifndef JSON
#define JSON(status, body) status "\nContent-Type: application/json; charset=UTF-8\n\n" body
#endif
#define MERROR(status, code) \
	JSON(status, "{\"error\":{\"code\":\"" code "\",\"message\":\"secret words\"," \
		 "\"innerError\":{\"date\":\"2030-01-05T00:00:00\",\"request-id\":\"x\"}}}")
#define M_TAKEN MERROR("409", "ErrorDuplicateTransactionId")
#define M_TAKEN_BY(id) \
	JSON("400", \
		"{\"error\":{\"code\":\"ErrorDuplicateTransactionId\",\"message\":\"secret words\"," \
		 "\"@event.existingEventId\":\"" id "\"}}")
#define M_CHANGED MERROR("412", "ErrorIrresolvableConflict")
#define M_NOT_FOUND MERROR("404", "ErrorItemNotFound")
#define VALUE(items) JSON("200", "{\"value\":[" items "]}")
#define NO_VALUE VALUE("")

#endif							/* TEST_GRAPH_H */

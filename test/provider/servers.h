/*
 * servers.h
 *
 * Answers of real servers to the requests of the adapter, as recorded: status,
 * the headers that count, body.  R_ is Radicale 3.1.8, X_ is Xandikos 0.2.8.
 */
#ifndef SERVERS_H
#define SERVERS_H

#define R_TAG "\"cec87682a03dec9a7c0cebb02511ca775388fae1c4f88563a8304e6fa937909a\""

#define R_STORED \
	"BEGIN:VCALENDAR\r\n" \
	"VERSION:2.0\r\n" \
	"PRODID:-//booking//booking for PostgreSQL//EN\r\n" \
	"BEGIN:VEVENT\r\n" \
	"UID:k9v2m8r0\r\n" \
	"DTSTART:20300105T110000Z\r\n" \
	"DTEND:20300105T113000Z\r\n" \
	"ATTENDEE;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=NONE:mailto:ann@example.org\r\n" \
	"ATTENDEE;CN=Bo;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=NONE:mailto:Bo@example.o\r\n" \
	" rg\r\n" \
	"DTSTAMP:20300105T000000Z\r\n" \
	"ORGANIZER;SCHEDULE-AGENT=NONE:mailto:desk@example.org\r\n" \
	"SEQUENCE:1\r\n" \
	"STATUS:CONFIRMED\r\n" \
	"SUMMARY:After\r\n" \
	"TRANSP:OPAQUE\r\n" \
	"X-BOOKING-ID:k9v2m8r0\r\n" \
	"END:VEVENT\r\n" \
	"END:VCALENDAR\r\n"

#define R_CALENDAR \
	"207\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"DAV: 1, 2, 3, calendar-access, addressbook, extended-mkcol\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>" \
	"/joe/cal/</href><propstat><prop><current-user-principal><href>/joe/</href>" \
	"</current-user-principal><resourcetype><C:calendar /><collection /></resourcetype>" \
	"<displayname>joe/cal</displayname><C:supported-calendar-component-set>" \
	"<C:comp name=\"VTODO\" /><C:comp name=\"VEVENT\" /><C:comp name=\"VJOURNAL\" />" \
	"</C:supported-calendar-component-set><current-user-privilege-set><privilege><read />" \
	"</privilege><privilege><all /></privilege><privilege><write /></privilege><privilege>" \
	"<write-properties /></privilege><privilege><write-content /></privilege>" \
	"</current-user-privilege-set></prop><status>HTTP/1.1 200 OK</status></propstat>" \
	"<propstat><prop><C:calendar-home-set /></prop><status>HTTP/1.1 404 Not Found</status>" \
	"</propstat></response></multistatus>"

#define R_PRINCIPAL \
	"207\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"DAV: 1, 2, 3, calendar-access, addressbook, extended-mkcol\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>" \
	"/joe/</href><propstat><prop><current-user-principal><href>/joe/</href>" \
	"</current-user-principal><C:calendar-home-set><href>/joe/</href></C:calendar-home-set>" \
	"<resourcetype><principal /><collection /></resourcetype><current-user-privilege-set>" \
	"<privilege><read /></privilege><privilege><all /></privilege><privilege><write />" \
	"</privilege><privilege><write-properties /></privilege><privilege><write-content />" \
	"</privilege></current-user-privilege-set></prop><status>HTTP/1.1 200 OK</status>" \
	"</propstat><propstat><prop><displayname /><C:supported-calendar-component-set />" \
	"</prop><status>HTTP/1.1 404 Not Found</status></propstat></response></multistatus>"

#define R_OPTIONS \
	"200\n" \
	"DAV: 1, 2, 3, calendar-access, addressbook, extended-mkcol\n" \
	"\n"

#define R_MATCH \
	"207\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>" \
	"/joe/cal/renamed.ics</href><propstat><prop><getetag>" R_TAG \
	"</getetag><C:calendar-data>" \
	R_STORED \
	"</C:calendar-data></prop><status>HTTP/1.1 200 OK</status></propstat></response>" \
	"</multistatus>"

#define R_NO_MATCH \
	"207\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<multistatus xmlns=\"DAV:\" />"

#define R_NOT_THERE \
	"404\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"The requested resource could not be found."

#define R_AGAIN \
	"412\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"Precondition failed."

#define R_UID_TAKEN \
	"409\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<error xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><C:no-uid-conflict />" \
	"</error>"

#define R_NO_PLACE \
	"409\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"Conflict in the request."

#define R_GONE \
	"404\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"The requested resource could not be found."

#define R_DELETED \
	"200\n" \
	"Content-Type: text/xml; charset=utf-8\n" \
	"\n" \
	"<?xml version='1.0' encoding='utf-8'?>\n" \
	"<multistatus xmlns=\"DAV:\"><response><href>/joe/cal/k9v2m8r0.ics</href><status>" \
	"HTTP/1.1 200 OK</status></response></multistatus>"

#define R_INVALID \
	"400\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"Bad Request"

#define R_FORBIDDEN \
	"403\n" \
	"Content-Type: text/plain; charset=utf-8\n" \
	"\n" \
	"Access to the requested resource forbidden."

#define X_TAG "\"7cddad6f7d77b38e7a5594c39e4256d008b5697b\""

#define X_STORED \
	"BEGIN:VCALENDAR\r\n" \
	"VERSION:2.0\r\n" \
	"PRODID:-//booking//booking for PostgreSQL//EN\r\n" \
	"BEGIN:VEVENT\r\n" \
	"SUMMARY:After\r\n" \
	"DTSTART:20300105T110000Z\r\n" \
	"DTEND:20300105T113000Z\r\n" \
	"DTSTAMP:20300105T000000Z\r\n" \
	"UID:k9v2m8r0\r\n" \
	"SEQUENCE:1\r\n" \
	"ATTENDEE;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=NONE:mailto:ann@example.org\r\n" \
	"ATTENDEE;CN=Bo;ROLE=REQ-PARTICIPANT;SCHEDULE-AGENT=NONE:mailto:Bo@example.\r\n" \
	" org\r\n" \
	"ORGANIZER;SCHEDULE-AGENT=NONE:mailto:desk@example.org\r\n" \
	"STATUS:CONFIRMED\r\n" \
	"TRANSP:OPAQUE\r\n" \
	"X-BOOKING-ID:k9v2m8r0\r\n" \
	"END:VEVENT\r\n" \
	"END:VCALENDAR\r\n"

#define X_CALENDAR \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">" \
	"<ns0:response><ns0:href>/joe/calendars/calendar/</ns0:href><ns0:propstat><ns0:status>" \
	"HTTP/1.1 200 OK</ns0:status><ns0:prop><ns0:current-user-principal><ns0:href>" \
	"/joe/</ns0:href></ns0:current-user-principal><ns0:resourcetype><ns0:collection />" \
	"<ns1:calendar /></ns0:resourcetype><ns0:displayname>calendar</ns0:displayname>" \
	"<ns1:supported-calendar-component-set><ns1:comp name=\"VEVENT\" />" \
	"<ns1:comp name=\"VTODO\" /><ns1:comp name=\"VJOURNAL\" />" \
	"<ns1:comp name=\"VFREEBUSY\" /></ns1:supported-calendar-component-set>" \
	"<ns0:current-user-privilege-set><ns0:privilege><ns0:all /></ns0:privilege>" \
	"</ns0:current-user-privilege-set></ns0:prop></ns0:propstat><ns0:propstat><ns0:status>" \
	"HTTP/1.1 404 Not Found</ns0:status><ns0:prop><ns1:calendar-home-set /></ns0:prop>" \
	"</ns0:propstat></ns0:response></ns0:multistatus>"

#define X_PRINCIPAL \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">" \
	"<ns0:response><ns0:href>/joe/</ns0:href><ns0:propstat><ns0:status>" \
	"HTTP/1.1 200 OK</ns0:status><ns0:prop><ns0:current-user-principal><ns0:href>" \
	"/joe/</ns0:href></ns0:current-user-principal><ns1:calendar-home-set><ns0:href>" \
	"/joe/calendars/</ns0:href></ns1:calendar-home-set><ns0:resourcetype><ns0:principal />" \
	"</ns0:resourcetype><ns0:displayname>joe</ns0:displayname>" \
	"<ns0:current-user-privilege-set><ns0:privilege><ns0:all /></ns0:privilege>" \
	"</ns0:current-user-privilege-set></ns0:prop></ns0:propstat><ns0:propstat><ns0:status>" \
	"HTTP/1.1 404 Not Found</ns0:status><ns0:prop><ns1:supported-calendar-component-set />" \
	"</ns0:prop></ns0:propstat></ns0:response></ns0:multistatus>"

#define X_OPTIONS \
	"200\n" \
	"Content-Type: application/octet-stream\n" \
	"DAV: 1, 2, 3, calendar-access, calendar-auto-scheduling, addressbook, extended-mkcol, " \
	"add-member, sync-collection, quota\n" \
	"\n"

#define X_MATCH \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">" \
	"<ns0:response><ns0:href>/joe/calendars/calendar/renamed.ics</ns0:href><ns0:propstat>" \
	"<ns0:status>HTTP/1.1 200 OK</ns0:status><ns0:prop><ns0:getetag>" X_TAG \
	"</ns0:getetag><ns1:calendar-data>" \
	X_STORED \
	"</ns1:calendar-data></ns0:prop></ns0:propstat></ns0:response></ns0:multistatus>"

#define X_NO_MATCH \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" />"

#define X_NOT_THERE \
	"404\n" \
	"Content-Type: application/octet-stream\n" \
	"\n" \
	"Path /joe/calendars/calendar/k9v2m8r0.ics not found."

#define X_AGAIN \
	"412\n" \
	"Content-Type: application/octet-stream\n" \
	"\n"

#define X_UID_TAKEN \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">" \
	"<ns0:response><ns0:href>" \
	"http%3A//xandikos.example.org/joe/calendars/calendar/k9v2m8r0.ics</ns0:href>" \
	"<ns0:status>HTTP/1.1 412 Precondition Failed</ns0:status><ns0:error>" \
	"<ns1:no-uid-conflict /></ns0:error><ns0:responsedescription>" \
	"UID already in use.</ns0:responsedescription></ns0:response></ns0:multistatus>"

#define X_NO_PLACE \
	"404\n" \
	"Content-Type: application/octet-stream\n" \
	"\n" \
	"Path /joe/calendars/gone/k9v2m8r0.ics not found."

#define X_GONE \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\"><ns0:response><ns0:href>" \
	"http%3A//xandikos.example.org/joe/calendars/gone/</ns0:href><ns0:status>" \
	"HTTP/1.1 404 Not Found</ns0:status></ns0:response></ns0:multistatus>"

#define X_DELETED \
	"204\n" \
	"\n"

#define X_INVALID \
	"207\n" \
	"Content-Type: text/xml; charset=\"utf-8\"\n" \
	"\n" \
	"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">" \
	"<ns0:response><ns0:href>" \
	"http%3A//xandikos.example.org/joe/calendars/calendar/k9v2m8r0.ics</ns0:href>" \
	"<ns0:status>HTTP/1.1 412 Precondition Failed</ns0:status><ns0:error>" \
	"<ns1:valid-calendar-data /></ns0:error><ns0:responsedescription>" \
	"Not a valid calendar file: Content line could not be parsed into parts: 'garbage': " \
	"Invalid content line</ns0:responsedescription></ns0:response></ns0:multistatus>"

#endif							/* SERVERS_H */

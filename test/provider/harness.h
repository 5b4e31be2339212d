/*
 * harness.h
 *
 * Plays scenarios: a job for an adapter, the requests it must make, the answer
 * to each, and the outcome.  All is text, so that a scenario reads like a
 * transcript and answers can be pasted as a server sent them.
 *
 * A request is
 *		METHOD URL [read] [follow]
 *		Header: value			(in the order in which they are sent)
 *								(an empty line)
 *		body					({etag}, {discovery}, {query}: those of the codec)
 *
 * An answer is
 *		201						(or: lost WORDS, not sent WORDS, refused WORDS, too large)
 *		ETag: "e1"				(ETag, Location, Retry-After, Content-Type and DAV)
 *								(an empty line)
 *		body
 *
 * An outcome is
 *		KIND problem href=... etag=... retry=... status=...
 * with what is not set left out.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include "postgres_fe.h"

#include "provider/provider.h"
#include "tap.h"

#define MAX_TURNS 9

/* 2030-01-05 00:00 UTC in microseconds from 1970 */
#define DAY INT64CONST(1893801600000000)
#define HOUR INT64CONST(3600000000)

#define ARENA_LIMIT (1024 * 1024)

/* the id and places of the event that scenarios are about */
#define ID "k9v2m8r0"
#define BASE "https://cal.example.org/dav/"
#define CALENDAR BASE "joe/work/"
#define PATH "/dav/joe/work/"
#define EVENT CALENDAR ID ".ics"

#define BODY "the exact bytes that were stored with the operation"

/* an adapter, and where the events of its scenarios are */
typedef struct Fixture
{
	const BookingProvider *provider;
	const char *base;
	const char *collection;
	const char *origin;
	bool		wants_body;		/* a success without its event is none */
	const char *href;			/* of an event that is known, if its id does
								 * not say */
} Fixture;

/* what an update changes besides, as bits */
#define CONFERENCE 1			/* a conference is wanted */
#define NOTIFY_ALL 2			/* everybody is mailed */
#define NOTIFY_EXTERNAL 4		/* guests of other domains are */
#define INVITE_MORE 8			/* somebody is invited */

typedef struct Turn
{
	const char *request;
	const char *answer;
} Turn;

typedef struct Scenario
{
	const char *name;			/* row of the decision table, or what is guarded */
	BookingJobKind kind;
	BookingJobKind looked_up;
	const char *etag;
	const char *href;			/* NULL: the fixture's, if there is an ETag */
	const char *collection;		/* NULL: the fixture's, "": none */
	const char *base_url;		/* NULL: the fixture's */
	int			besides;		/* bits, see above */
	bool		same_time;		/* the update changes the title only */
	bool		no_previous;
	Turn		turns[MAX_TURNS];
	const char *outcome;
	const char *message;		/* NULL: any */
	const char *finding;		/* of a check, lines of "subject: text", or
								 * "subject! text" if it is not good */
} Scenario;

/*
 * A job of a scenario under way.
 */
typedef struct Play
{
	BookingEvent wanted;
	BookingEvent previous;
	BookingJob	job;
	BookingTask task;
	BookingHttpRequest request;
	bool		more;			/* there is a request to be answered */
	int			nwrites;
	int			last_status;	/* of the last write */
} Play;

/* end of a table of scenarios */
#define LAST {.name = NULL}

/* requests */
#define PUT_NEW_AT(url) \
	"PUT " url "\n" \
	"Content-Type: text/calendar; charset=utf-8\n" \
	"If-None-Match: *\n\n" BODY
#define PUT_NEW PUT_NEW_AT(EVENT)
#define PUT_OVER_AT(url, etag) \
	"PUT " url "\n" \
	"Content-Type: text/calendar; charset=utf-8\n" \
	"If-Match: " etag "\n\n" BODY
#define PUT_OVER(etag) PUT_OVER_AT(EVENT, etag)
#define DELETE_OVER_AT(url, etag) "DELETE " url "\nIf-Match: " etag "\n\n"
#define DELETE_OVER(etag) DELETE_OVER_AT(EVENT, etag)
#define GET_AT(url) "GET " url " read\nAccept: text/calendar\n\n"
#define GET GET_AT(EVENT)
#define QUERY_AT(url) \
	"REPORT " url " read\n" \
	"Depth: 1\n" \
	"Content-Type: application/xml; charset=utf-8\n\n{query}"
#define QUERY QUERY_AT(CALENDAR)
#define PROPFIND(url, flags, depth, body) \
	"PROPFIND " url " " flags "\n" \
	"Depth: " depth "\n" \
	"Content-Type: application/xml; charset=utf-8\n\n" body
#define ETAG_AT(url) PROPFIND(url, "read", "0", "{etag}")
#define ETAG ETAG_AT(EVENT)
#define COLLECTION_AT(url) PROPFIND(url, "read", "0", "{discovery}")
#define COLLECTION COLLECTION_AT(CALENDAR)
#define DISCOVER(url) PROPFIND(url, "read follow", "0", "{discovery}")
#define DISCOVER_BELOW(url) PROPFIND(url, "read follow", "1", "{discovery}")
#define OPTIONS(url) "OPTIONS " url " read follow\n\n"

/* events, as servers store them */
#define ICAL(uid, marker, hour, more) \
	"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\n" \
	"BEGIN:VEVENT\r\nUID:" uid "\r\nX-BOOKING-ID:" marker "\r\n" \
	"DTSTAMP:20300101T000000Z\r\n" \
	"DTSTART:20300105T" hour "0000Z\r\nDTEND:20300105T" hour "3000Z\r\n" \
	more "END:VEVENT\r\nEND:VCALENDAR\r\n"
#define ORGANIZER "ORGANIZER:mailto:Desk@Example.org\r\n"
#define ATTENDEES \
	"ATTENDEE;PARTSTAT=ACCEPTED:mailto:ann@example.org\r\n" \
	"ATTENDEE;CN=Bo:MAILTO:BO@example.org\r\n"
#define PEOPLE ORGANIZER ATTENDEES
/* the title is another one in each, for it is not compared */
#define AS_WANTED ICAL(ID, ID, "11", PEOPLE "SEQUENCE:1\r\nSUMMARY:Retitled\r\n")
#define AS_BEFORE ICAL(ID, ID, "10", PEOPLE "SUMMARY:Also retitled\r\n")
#define MOVED ICAL(ID, ID, "15", PEOPLE)
#define FOREIGN ICAL("other", "other", "11", PEOPLE)
#define COPIED ICAL(ID, "other", "11", PEOPLE)

/* answers */
#define FOUND(etag, event) "200\nETag: " etag "\n\n" event
#define MULTISTATUS(inner) \
	"207\nContent-Type: application/xml\n\n" \
	"<?xml version=\"1.0\"?><multistatus xmlns=\"DAV:\" " \
	"xmlns:C=\"urn:ietf:params:xml:ns:caldav\">" inner "</multistatus>"
#define PROPSTAT(href, props) \
	"<response><href>" href "</href><propstat><prop>" props "</prop>" \
	"<status>HTTP/1.1 200 OK</status></propstat></response>"
#define STATUS(href, status) \
	"<response><href>" href "</href><status>HTTP/1.1 " status "</status></response>"
#define TOLD(etag) MULTISTATUS(PROPSTAT(PATH ID ".ics", "<getetag>" etag "</getetag>"))
#define MATCH(href, etag, event) \
	PROPSTAT(href, "<getetag>" etag "</getetag><C:calendar-data>" event "</C:calendar-data>")
#define NO_MATCH MULTISTATUS("")
#define ALIVE MULTISTATUS(PROPSTAT(PATH, "<resourcetype><collection/><C:calendar/></resourcetype>"))
#define NOT_THERE "404\n\nNot found."
#define DAV_ERROR(status, condition) \
	status "\nContent-Type: application/xml\n\n" \
	"<error xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">" condition "</error>"

extern const Scenario caldav_create[];
extern const Scenario caldav_update[];
extern const Scenario caldav_cancel[];
extern const Scenario caldav_lookup[];
extern const Scenario caldav_check[];
extern const Scenario caldav_servers[];

extern const Scenario google_create[];
extern const Scenario google_update[];
extern const Scenario google_cancel[];
extern const Scenario google_lookup[];
extern const Scenario google_check[];

extern const Scenario graph_create[];
extern const Scenario graph_update[];
extern const Scenario graph_cancel[];
extern const Scenario graph_lookup[];
extern const Scenario graph_check[];

extern const char *const kinds[];

/* which adapter is tested; the functions below look here */
extern const Fixture caldav_fixture;
extern const Fixture google_fixture;
extern const Fixture graph_fixture;
extern const Fixture *fixture;

/* harness.c */
extern void play_all(const char *table, const Scenario *scenarios);
extern BookingEvent event_at(int hour, int sequence, const char *summary);
extern void begin(Play *play, const Scenario *scenario, BookingArena *arena);
extern void answer(Play *play, const char *text, BookingArena *arena);
extern void render_request(const BookingHttpRequest *request, BookingArena *arena,
						   char *text, size_t size);
extern void parse_answer(const char *text, BookingArena *arena,
						 BookingHttpResponse *response);
extern void render_outcome(const BookingOutcome *outcome, char *text,
						   size_t size);
extern bool is_harmless(const char *message);
extern void ok(bool passed, const char *format,...)
			__attribute__((format(printf, 2, 3)));
extern void note(const char *what, const char *text);

/* sweeps.c */
extern void play_bodies(void);
extern void play_incomplete(void);
extern void play_statuses(void);
extern void play_random(const Scenario *const *tables, int ntables);
extern void play_without_memory(const char *table, const Scenario *scenarios);

/* conformance.c */
extern void test_conformance(void);

/* channels.c */
extern void test_channels(void);

/* tables.c */
extern void note_passed(const char *name);
extern void test_tables(void);

/* the others */
extern void test_signin(void);
extern void test_google(void);
extern void test_google_pull(void);
extern void test_graph(void);
extern void test_graph_pull(void);
extern void test_urls(void);
extern void test_matches(void);
extern void test_reports(void);
extern void test_pulls(void);

#endif							/* HARNESS_H */

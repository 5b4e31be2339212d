/*
 * test/unit/dav.c
 *
 * What a server says is understood whatever prefixes it uses and in whatever
 * order it says it; a property counts only with a status of 2xx, an error within
 * a 207 is seen, and what is not whole, too deep, too much or has a document
 * type is refused.  The bodies of Radicale 3.1.8 and Xandikos 0.2.8 are as those
 * servers send them.
 */
#include "tap.h"

#include <libxml/parser.h>

#include "codec/dav.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
#define OPEN HEAD "<multistatus xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">"
#define CLOSE "</multistatus>"
#define OK "<status>HTTP/1.1 200 OK</status>"
#define RESPONSE(inner) OPEN "<response><href>/a</href>" inner "</response>" CLOSE
#define PROPERTIES(inner) RESPONSE("<propstat><prop>" inner "</prop>" OK "</propstat>")

static BookingArena *arena;
static BookingDavMultistatus result;
static BookingDavError error;
static const BookingDavResource none = {.supports_events = true, .may_write = true};
static const BookingDavResource *first;
static bool streams_alike = true;	/* whatever was read whole reads the same in pieces */

static bool is_alike(const char *data, size_t len, size_t piece, BookingDavFault expected);
static BookingDavFault read_sized(const char *body, size_t len);
static BookingDavFault read_body(const char *body);
static BookingDavFault read_error(const char *body);
static void test_servers(void);
static void test_properties(void);
static void test_statuses(void);
static void test_spellings(void);
static void test_faults(void);
static void test_limits(void);
static void test_errors(void);
static void test_bodies(void);

int
main(void)
{
	test_servers();
	test_properties();
	test_statuses();
	test_spellings();
	test_faults();
	test_limits();
	test_errors();
	test_bodies();
	tap_ok(streams_alike, "all of this reads the same in pieces");
	booking_arena_free(arena);
	xmlCleanupParser();
	return tap_done();
}

/*
 * Are texts the same but for line ends?  In a CDATA section that comes in
 * pieces libxml2 leaves them as they are.
 */
static bool
is_same_text(const char *a, const char *b)
{
	for (;;)
	{
		a += strspn(a, "\r");
		b += strspn(b, "\r");
		if (*a != *b)
			return false;
		if (*a == '\0')
			return true;
		a++;
		b++;
	}
}

/*
 * Compare a resource of a stream with that of the whole.
 */
static bool
compare_next(void *arg, const BookingDavResource *resource)
{
	int		   *place = arg;
	const BookingDavResource *other = &result.resources[*place];

	if (*place >= result.nresources)
		*place = INT_MIN;
	else if (strcmp(resource->href, other->href) != 0 ||
			 resource->status != other->status ||
			 resource->error_status != other->error_status ||
			 resource->is_calendar != other->is_calendar ||
			 resource->may_write != other->may_write ||
			 (resource->etag == NULL) != (other->etag == NULL) ||
			 (resource->etag != NULL && strcmp(resource->etag, other->etag) != 0) ||
			 (resource->calendar_data == NULL) != (other->calendar_data == NULL) ||
			 (resource->calendar_data != NULL &&
			  !is_same_text(resource->calendar_data, other->calendar_data)))
		*place = INT_MIN;
	(*place)++;
	return *place > 0;
}

/*
 * Does a body say the same in pieces of a size?
 */
static bool
is_alike(const char *data, size_t len, size_t piece, BookingDavFault expected)
{
	BookingArena *own = booking_arena_create(TAP_ARENA);
	int			place = 0;
	BookingDavStream *stream = booking_dav_stream_begin(own, compare_next, &place);
	const char *token;
	BookingDavFault fault;
	bool		alike;

	for (size_t at = 0; at < len; at += piece)
	{
		/* a copy of its own, so that reading beyond its end is seen */
		size_t		size = Min(piece, len - at);
		char	   *copy = malloc(size);
		bool		more;

		memcpy(copy, data + at, size);
		more = booking_dav_stream_feed(stream, copy, size);
		free(copy);
		if (!more)
			break;
	}
	fault = booking_dav_stream_end(stream, &token);

	/* UTF-16 is read in one piece only */
	if (memchr(data, '\0', len) != NULL)
		expected = BOOKING_DAV_MALFORMED;
	alike = fault == expected && (fault != BOOKING_DAV_OK ||
								  (place == result.nresources &&
								   (token == NULL) == (result.sync_token == NULL) &&
								   (token == NULL || strcmp(token, result.sync_token) == 0)));
	if (!alike)
		printf("# pieces of %zu: fault %d instead of %d, %d of %d resources\n", piece,
			   fault, expected, place, result.nresources);
	booking_arena_free(own);
	return alike;
}

/*
 * Read a multistatus of just these bytes.
 */
static BookingDavFault
read_sized(const char *body, size_t len)
{
	char	   *exact = malloc(Max(len, 1));
	BookingDavFault fault;

	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
	memcpy(exact, body, len);
	fault = booking_dav_read_multistatus(exact, len, arena, &result);
	for (size_t piece = 1; piece <= len && len < 10000; piece += Max(piece, len / 3))
		streams_alike = streams_alike && is_alike(exact, len, piece, fault);
	free(exact);
	first = fault == BOOKING_DAV_OK && result.nresources > 0 ? result.resources : &none;
	return fault;
}

static BookingDavFault
read_body(const char *body)
{
	return read_sized(body, strlen(body));
}

/*
 * Read the body of a refusal.
 */
static BookingDavFault
read_error(const char *body)
{
	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
	return booking_dav_read_error(body, strlen(body), arena, &error);
}

/*
 * Answers of real servers.
 */
static void
test_servers(void)
{
	static const char radicale[] =
		"<?xml version='1.0' encoding='utf-8'?>\n<multistatus xmlns=\"DAV:\" "
		"xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><response><href>/u/</href><propstat><prop>"
		"<current-user-principal><href>/u/</href></current-user-principal><C:calendar-home-set>"
		"<href>/u/</href></C:calendar-home-set><resourcetype><principal /><collection />"
		"</resourcetype><current-user-privilege-set><privilege><read /></privilege><privilege>"
		"<all /></privilege></current-user-privilege-set></prop><status>HTTP/1.1 200 OK</status>"
		"</propstat><propstat><prop><displayname /><C:supported-calendar-component-set /></prop>"
		"<status>HTTP/1.1 404 Not Found</status></propstat></response><response><href>/u/cal/"
		"</href><propstat><prop><resourcetype><C:calendar /><collection /></resourcetype>"
		"<displayname>u/cal</displayname><C:supported-calendar-component-set>"
		"<C:comp name=\"VTODO\" /><C:comp name=\"VEVENT\" /></C:supported-calendar-component-set>"
		"<current-user-privilege-set><privilege><read /></privilege><privilege><write />"
		"</privilege></current-user-privilege-set></prop><status>HTTP/1.1 200 OK</status>"
		"</propstat></response></multistatus>";
	static const char xandikos[] =
		"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">"
		"<ns0:response><ns0:href>/user/calendars/calendar/0abc.ics</ns0:href><ns0:propstat>"
		"<ns0:status>HTTP/1.1 200 OK</ns0:status><ns0:prop><ns0:getetag>"
		"\"8110066e0b5d9b0769b6ae06197482e0543b314b\"</ns0:getetag><ns1:calendar-data>"
		"BEGIN:VCALENDAR\nSUMMARY:a &amp; b\nEND:VCALENDAR\n</ns1:calendar-data></ns0:prop>"
		"</ns0:propstat></ns0:response></ns0:multistatus>";
	static const char refused[] =
		"<ns0:multistatus xmlns:ns0=\"DAV:\" xmlns:ns1=\"urn:ietf:params:xml:ns:caldav\">"
		"<ns0:response><ns0:href>http%3A//127.0.0.1%3A5298/cal/0abd.ics</ns0:href><ns0:status>"
		"HTTP/1.1 412 Precondition Failed</ns0:status><ns0:error><ns1:no-uid-conflict />"
		"</ns0:error><ns0:responsedescription>UID already in use.</ns0:responsedescription>"
		"</ns0:response></ns0:multistatus>";

	tap_is_int(read_body(radicale), BOOKING_DAV_OK, "radicale: discovery is read");
	tap_is_int(result.nresources, 2, "radicale: two resources");
	tap_is_text(first->href, "/u/", "radicale: href");
	tap_is_text(first->current_user_principal, "/u/", "radicale: principal");
	tap_is_text(first->calendar_home, "/u/", "radicale: home");
	tap_ok(first->is_collection && !first->is_calendar && first->displayname == NULL &&
		   first->supports_events && first->may_write && first->status == 0 &&
		   first->error_status == 0, "radicale: a collection that is no calendar");
	if (result.nresources == 2)
	{
		first++;
		tap_ok(first->is_calendar && first->is_collection && first->supports_events &&
			   first->may_write, "radicale: a calendar");
		tap_is_text(first->displayname, "u/cal", "radicale: its name");
	}

	tap_is_int(read_body(xandikos), BOOKING_DAV_OK, "xandikos: query is read");
	tap_is_text(first->etag, "\"8110066e0b5d9b0769b6ae06197482e0543b314b\"", "xandikos: etag");
	tap_is_text(first->calendar_data, "BEGIN:VCALENDAR\nSUMMARY:a & b\nEND:VCALENDAR",
				"xandikos: data");

	tap_is_int(read_body(refused), BOOKING_DAV_OK, "xandikos: a refused PUT is read");
	tap_ok(first->status == 412 && first->condition_uid_conflict && first->condition_any,
		   "xandikos: the error in a 207 is seen");
	tap_is_int(read_body("<?xml version='1.0' encoding='utf-8'?>\n<multistatus xmlns=\"DAV:\">"
						 "<response><href>/u/cal/0abc.ics</href><status>HTTP/1.1 200 OK</status>"
						 "</response></multistatus>"), BOOKING_DAV_OK,
			   "radicale: a DELETE is read");
	tap_is_int(first->status, 200, "radicale: and was done");
	tap_is_int(read_body("<ns0:multistatus xmlns:ns0=\"DAV:\" />"), BOOKING_DAV_OK,
			   "xandikos: nothing found is read");
	tap_is_int(result.nresources, 0, "xandikos: and is nothing");
}

/*
 * Each property, and where it does not count.
 */
static void
test_properties(void)
{
	static const struct
	{
		const char *privileges;
		bool		may_write;
	}			cases[] = {
		{"<privilege><all/></privilege>", true}, {"<privilege><write/></privilege>", true},
		{"<privilege><bind/></privilege><privilege><write-content/></privilege>", true},
		{"<privilege><bind/></privilege>", false},
		{"<privilege><write-content/></privilege>", false},
		{"<privilege><read/></privilege><privilege><write-properties/></privilege>", false},
		{"", false}, {"<all/>", false},
		{"<privilege><write xmlns=\"http://other.example/\"/></privilege>", false}
	};

	for (int i = 0; i < (int) lengthof(cases); i++)
	{
		char		body[1000];
		char		name[100];

		snprintf(body, sizeof(body), PROPERTIES("<current-user-privilege-set>%s"
												"</current-user-privilege-set>"),
				 cases[i].privileges);
		snprintf(name, sizeof(name), "properties: privileges %d", i);
		tap_ok(read_body(body) == BOOKING_DAV_OK && first->may_write == cases[i].may_write, name);
	}
	read_body(PROPERTIES("<C:supported-calendar-component-set><C:comp name=\"VTODO\"/>"
						 "</C:supported-calendar-component-set>"));
	tap_ok(!first->supports_events, "properties: a list of tasks takes no events");
	read_body(PROPERTIES("<C:supported-calendar-component-set/>"));
	tap_ok(first->supports_events, "properties: an empty list says nothing");
	read_body(PROPERTIES("<getetag> \n W/\"a\" </getetag>"));
	tap_is_text(first->etag, "W/\"a\"", "properties: an etag without blanks around it");
	read_body(PROPERTIES("<displayname>a &lt;b&gt; &#233; <![CDATA[<c>&amp;]]></displayname>"));
	tap_is_text(first->displayname, "a <b> \xc3\xa9 <c>&amp;", "properties: references and CDATA");
	read_body(PROPERTIES("<C:calendar-data><![CDATA[BEGIN:VCALENDAR\r\nX:]]>&#13;\nY"
						 "</C:calendar-data>"));
	tap_is_text(first->calendar_data, "BEGIN:VCALENDAR\nX:\r\nY", "properties: data in two parts");
	read_body(PROPERTIES("<current-user-principal><unauthenticated/></current-user-principal>"));
	tap_is_text(first->current_user_principal, NULL, "properties: nobody is signed in");
	read_body(PROPERTIES("<C:calendar-home-set><href>/1/</href><href>/2/</href>"
						 "</C:calendar-home-set>"));
	tap_is_text(first->calendar_home, "/1/", "properties: the first home");
	read_body(PROPERTIES("<owner><href>/x/</href></owner><href>/y/</href>"
						 "<x><getetag>\"x\"</getetag></x>"));
	tap_ok(strcmp(first->href, "/a") == 0 && first->etag == NULL,
		   "properties: elements count in their place alone");
	read_body(PROPERTIES("<getetag xmlns=\"http://other.example/\">\"x\"</getetag>"
						 "<C:getetag>\"y\"</C:getetag>"));
	tap_is_text(first->etag, NULL, "properties: and in their namespace alone");
	read_body(PROPERTIES("<getetag/><displayname></displayname>"));
	tap_ok(first->etag != NULL && strcmp(first->etag, "") == 0 &&
		   strcmp(first->displayname, "") == 0, "properties: empty ones are empty");
	read_body(OPEN "<sync-token>data:,1</sync-token>" CLOSE);
	tap_is_text(result.sync_token, "data:,1", "properties: sync token");
	read_body(PROPERTIES("<sync-token>data:,1</sync-token>"));
	tap_is_text(result.sync_token, NULL, "properties: a collection's is another");
}

/*
 * What a status does to what it is about.
 */
static void
test_statuses(void)
{
	static const struct
	{
		const char *status;
		int			expected;
	}			cases[] = {
		{"HTTP/1.1 200 OK", 200}, {"HTTP/1.1 404 Not Found", 404}, {"HTTP/2 418", 418},
		{" HTTP/1.1 507 Insufficient Storage ", 507}, {"HTTP/1.1 204 ", 204}
	};
	static const char *const bad[] = {
		"", "200", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 OK",
		"HTTP/1.1  200", "HTTP/1.1 099 x", "HTTP/1.1 600 x", "HTTQ/1.1 200 OK"
	};
	char		body[1000];
	char		name[100];

	for (int i = 0; i < (int) lengthof(cases); i++)
	{
		snprintf(body, sizeof(body), RESPONSE("<status>%s</status>"), cases[i].status);
		snprintf(name, sizeof(name), "statuses: %s", cases[i].status);
		read_body(body);
		tap_is_int(first->status, cases[i].expected, name);
	}
	for (int i = 0; i < (int) lengthof(bad); i++)
	{
		snprintf(body, sizeof(body), RESPONSE("<status>%s</status>"), bad[i]);
		snprintf(name, sizeof(name), "statuses: refused is \"%s\"", bad[i]);
		tap_is_int(read_body(body), BOOKING_DAV_MALFORMED, name);
	}

	read_body(RESPONSE("<propstat><prop><getetag>\"a\"</getetag></prop>"
					   "<status>HTTP/1.1 403 Forbidden</status></propstat>"
					   "<propstat><prop><displayname>b</displayname></prop>" OK "</propstat>"
					   "<propstat><prop><x/></prop><status>HTTP/1.1 404 Not Found</status></propstat>"));
	tap_ok(first->etag == NULL && first->error_status == 403 &&
		   strcmp(first->displayname, "b") == 0 && first->status == 0,
		   "statuses: each propstat has its own");
	read_body(RESPONSE("<propstat><prop><current-user-privilege-set/><resourcetype><C:calendar/>"
					   "</resourcetype></prop><status>HTTP/1.1 404 Not Found</status></propstat>"));
	tap_ok(first->may_write && !first->is_calendar && first->error_status == 0,
		   "statuses: what is not there says nothing");
	read_body(RESPONSE("<propstat><prop/><status>HTTP/1.1 503 x</status></propstat>"
					   "<propstat><prop/><status>HTTP/1.1 401 x</status></propstat>"));
	tap_is_int(first->error_status, 503, "statuses: the worst of several");
	tap_is_int(read_body(RESPONSE("<propstat><prop><getetag>\"a\"</getetag></prop></propstat>")),
			   BOOKING_DAV_MALFORMED, "statuses: a propstat must have one");
	read_body(OPEN "<response><href>/a</href><href>/b</href><href>/c</href>"
			  "<status>HTTP/1.1 404 x</status></response>" CLOSE);
	tap_ok(result.nresources == 3 && result.resources[2].status == 404 &&
		   strcmp(result.resources[1].href, "/b") == 0, "statuses: one for three resources");
	read_body(RESPONSE("<propstat><prop/><status>HTTP/1.1 409 x</status><error>"
					   "<C:unique-scheduling-object-resource/></error></propstat>"));
	tap_ok(first->condition_uid_conflict && first->error_status == 409,
		   "statuses: a condition within a propstat");
	read_body(RESPONSE("<status>HTTP/1.1 412 x</status><error><C:valid-calendar-data/></error>"));
	tap_ok(first->condition_any && !first->condition_uid_conflict, "statuses: another condition");
	read_body(OPEN "<response><href>/a</href><status>HTTP/1.1 412 x</status><error>"
			  "<C:no-uid-conflict/></error></response><response><href>/b</href>"
			  "<status>HTTP/1.1 200 OK</status></response>" CLOSE);
	tap_ok(result.nresources == 2 && !result.resources[1].condition_any,
		   "statuses: a condition is of its response alone");
}

/*
 * The same said otherwise.
 */
static void
test_spellings(void)
{
	static const unsigned char utf16[] =
		"\xff\xfe<\0m\0u\0l\0t\0i\0s\0t\0a\0t\0u\0s\0 \0x\0m\0l\0n\0s\0=\0'\0D\0A\0V\0:\0'\0/\0>";

	tap_is_int(read_body("<d:multistatus xmlns:d='DAV:'><d:response><d:href>/a</d:href>"
						 "<d:status>HTTP/1.1 200 OK</d:status></d:response></d:multistatus>"),
			   BOOKING_DAV_OK, "spellings: prefix d");
	tap_is_int(result.nresources, 1, "spellings: the same to us");
	tap_is_int(read_body("<multistatus xmlns='DAV:'><response><href xmlns='DAV:'>/a</href>"
						 "<x:status xmlns:x='DAV:'>HTTP/1.1 200 OK</x:status></response>"
						 "</multistatus>"), BOOKING_DAV_OK, "spellings: declared again");
	tap_is_int(first->status, 200, "spellings: the same to us again");
	tap_is_int(read_body("<multistatus xmlns='DAV:'><!-- <response> --><?x y?><response>\n"
						 "<href>\n/a\n</href>\n</response><new><thing/></new></multistatus>\n"),
			   BOOKING_DAV_OK, "spellings: comments, instructions, blanks, new elements");
	tap_is_text(first->href, "/a", "spellings: href");
	tap_is_int(read_body("<?xml version='1.0' encoding='iso-8859-1'?><multistatus xmlns='DAV:'>"
						 "<response><href>/\xe9</href></response></multistatus>"),
			   BOOKING_DAV_OK, "spellings: another encoding");
	tap_is_text(first->href, "/\xc3\xa9", "spellings: becomes UTF-8");
	tap_is_int(read_sized((const char *) utf16, sizeof(utf16)), BOOKING_DAV_OK,
			   "spellings: UTF-16");
}

/*
 * What is refused.
 */
static void
test_faults(void)
{
	static const char *const bodies[][2] = {
		{"", "nothing"},
		{"   ", "blanks"},
		{"plain text", "text"},
		{"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>", "HTML"},
		{"<html><body><br></body></html>", "HTML without a document type"},
		{"<multistatus xmlns=\"DAV:\"><response><href>/a</href>", "a body that was cut"},
		{OPEN "<response><href>/a</href></response></multistatus", "one that lacks a character"},
		{"<multistatus/>", "no namespace"},
		{"<x:multistatus xmlns:x=\"http://other.example/\"/>", "another namespace"},
		{"<d:multistatus/>", "a prefix that is not declared"},
		{"<error xmlns=\"DAV:\"/>", "another root"},
		{"<x xmlns=\"DAV:\"><multistatus/></x>", "the root within another"},
		{OPEN "<response><status>HTTP/1.1 200 OK</status></response>" CLOSE, "no href"},
		{OPEN "<response><href> </href></response>" CLOSE, "an empty href"},
		{OPEN "<response><href>/\xff</href></response>" CLOSE, "bytes that are no UTF-8"},
		{OPEN "<response><href>/&#0;</href></response>" CLOSE, "a NUL"},
		{OPEN "<response><href>/&x;</href></response>" CLOSE, "an unknown entity"},
		{"<!DOCTYPE m SYSTEM \"http://192.0.2.1/x.dtd\"><multistatus xmlns=\"DAV:\"/>",
		"a document type from elsewhere"},
		{"<!DOCTYPE m [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><multistatus xmlns=\"DAV:\">"
		"<response><href>&x;</href></response></multistatus>", "an entity from a file"},
		{"<!DOCTYPE m [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
		"<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><multistatus xmlns=\"DAV:\">"
		"<response><href>&c;</href></response></multistatus>", "entities that multiply"},
		{OPEN CLOSE OPEN CLOSE, "two documents"},
		{"<multistatus xmlns=\"DAV:\" xmlns=\"DAV:\"/>", "an attribute twice"}
	};

	for (int i = 0; i < (int) lengthof(bodies); i++)
	{
		char		name[200];

		snprintf(name, sizeof(name), "refused: %s", bodies[i][1]);
		tap_is_int(read_body(bodies[i][0]), BOOKING_DAV_MALFORMED, name);
	}
}

/*
 * Nothing takes more than it is given.
 */
static void
test_limits(void)
{
	size_t		size = 4 * 1024 * 1024;
	char	   *big = malloc(size);
	char	   *end = big + size;
	char	   *out;
	BookingArena *small = booking_arena_create(20 * 1024);

	for (int depth = 31; depth <= 33; depth++)
	{
		out = tap_put(big, end, "<multistatus xmlns=\"DAV:\">");
		for (int i = 1; i < depth; i++)
			out = tap_put(out, end, "<x>");
		for (int i = 1; i < depth; i++)
			out = tap_put(out, end, "</x>");
		tap_put(out, end, CLOSE);
		tap_is_int(read_body(big), depth <= 32 ? BOOKING_DAV_OK : BOOKING_DAV_MALFORMED,
				   "limits: depth");
	}

	for (int members = 10000; members <= 10001; members++)
	{
		out = tap_put(big, end, OPEN);
		for (int i = 0; i < members; i++)
			out = tap_put(out, end, "<response><href>/%d</href></response>", i);
		tap_put(out, end, CLOSE);
		tap_is_int(read_body(big), members <= 10000 ? BOOKING_DAV_OK : BOOKING_DAV_TOO_LARGE,
				   "limits: members");
	}
	out = tap_put(big, end, OPEN "<response>");
	for (int i = 0; i < 10001; i++)
		out = tap_put(out, end, "<href>/%d</href>", i);
	tap_put(out, end, "</response>" CLOSE);
	tap_is_int(read_body(big), BOOKING_DAV_TOO_LARGE, "limits: members of one response");

	out = tap_put(big, end, OPEN "<response><href>/a</href><propstat><prop><C:calendar-data>");
	memset(out, 'x', 30000);
	tap_put(out + 30000, end, "</C:calendar-data></prop>" OK "</propstat></response>" CLOSE);
	tap_is_int(booking_dav_read_multistatus(big, strlen(big), small, &result),
			   BOOKING_DAV_TOO_LARGE, "limits: the arena");
	booking_arena_free(small);
	free(big);
}

/*
 * The bodies of refusals.
 */
static void
test_errors(void)
{
#define ERROR_OPEN HEAD "<error xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"" \
	" xmlns:s=\"http://sabredav.org/ns\">"

	tap_is_int(read_error("<?xml version='1.0' encoding='utf-8'?>\n<error xmlns=\"DAV:\" "
						  "xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><C:no-uid-conflict /></error>"),
			   BOOKING_DAV_OK, "errors: Radicale's is read");
	tap_ok(error.present && error.uid_conflict && !error.need_privileges &&
		   !error.valid_sync_token && error.href == NULL, "errors: the UID is in use");
	tap_is_text(error.condition, "no-uid-conflict", "errors: the condition's name");
	read_error(ERROR_OPEN "<C:no-uid-conflict><href>/cal/x.ics</href></C:no-uid-conflict></error>");
	tap_is_text(error.href, "/cal/x.ics", "errors: who has it");
	read_error(ERROR_OPEN "<C:unique-scheduling-object-resource><href> /other/x.ics </href>"
			   "</C:unique-scheduling-object-resource></error>");
	tap_ok(error.uid_conflict, "errors: in use in another calendar");
	tap_is_text(error.href, "/other/x.ics", "errors: and who has it there");
	read_error(ERROR_OPEN "<s:exception>Sabre\\DAV\\Exception\\Conflict</s:exception>"
			   "<s:message>x</s:message><C:no-uid-conflict><href>/x</href></C:no-uid-conflict>"
			   "</error>");
	tap_ok(error.uid_conflict && strcmp(error.condition, "no-uid-conflict") == 0,
		   "errors: sabre's remarks are no condition");
	read_error(ERROR_OPEN "<s:exception>Sabre\\DAV\\Exception\\BadRequest</s:exception><s:message>"
			   "Calendar object with uid already exists in this calendar collection."
			   "</s:message></error>");
	tap_ok(error.present && error.uid_conflict && error.condition == NULL,
		   "errors: Nextcloud's message");
	read_error(ERROR_OPEN "<s:message>Deleted calendar object with uid already exists in this "
			   "calendar collection.</s:message></error>");
	tap_ok(error.uid_conflict, "errors: Nextcloud's message about its bin");
	read_error(ERROR_OPEN "<s:message>Something else</s:message></error>");
	tap_ok(error.present && !error.uid_conflict, "errors: another message of sabre");
	read_error(ERROR_OPEN "<need-privileges><resource><href>/x</href><privilege><bind/></privilege>"
			   "</resource></need-privileges></error>");
	tap_ok(error.need_privileges && error.href == NULL, "errors: privileges");
	read_error(ERROR_OPEN "<valid-sync-token/></error>");
	tap_ok(error.valid_sync_token && !error.uid_conflict, "errors: sync token");
	read_error(ERROR_OPEN "<no-uid-conflict/></error>");
	tap_ok(error.present && !error.uid_conflict, "errors: the namespace counts");
	read_error(ERROR_OPEN "</error>");
	tap_ok(error.present && error.condition == NULL, "errors: none named");
	read_error(ERROR_OPEN "<C:max-resource-size/><C:no-uid-conflict/></error>");
	tap_ok(error.uid_conflict && strcmp(error.condition, "max-resource-size") == 0,
		   "errors: two conditions");

	tap_is_int(read_error("<html><body>Forbidden</body></html>"), BOOKING_DAV_OK,
			   "errors: other XML is read");
	tap_ok(!error.present, "errors: and is none");
	tap_is_int(read_error("<!DOCTYPE html><html></html>"), BOOKING_DAV_MALFORMED,
			   "errors: a page of a proxy is malformed");
	tap_ok(!error.present, "errors: and is none either");
	tap_is_int(read_error("Bad Request"), BOOKING_DAV_MALFORMED, "errors: text");
	tap_is_int(read_error(""), BOOKING_DAV_MALFORMED, "errors: nothing");
	tap_is_int(read_error(ERROR_OPEN "<C:no-uid-conflict/>"), BOOKING_DAV_MALFORMED,
			   "errors: a body that was cut");
	tap_ok(!error.present && !error.uid_conflict, "errors: of which nothing is believed");
}

/*
 * What we send is XML, and a UID in it is data.
 */
static void
test_bodies(void)
{
	const char *query;

	booking_arena_free(arena);
	arena = booking_arena_create(TAP_ARENA);
	tap_is_text(booking_dav_propfind_etag(arena),
				"<?xml version=\"1.0\" encoding=\"utf-8\"?><propfind xmlns=\"DAV:\" "
				"xmlns:c=\"urn:ietf:params:xml:ns:caldav\"><prop><getetag/></prop></propfind>",
				"bodies: etag");
	tap_ok(strstr(booking_dav_propfind_discovery(arena), "<c:calendar-home-set/>") != NULL,
		   "bodies: discovery");
	query = booking_dav_query_uid(arena, "a&b<c>\"d\"]]>\r\xc3\xa9");
	tap_ok(query != NULL &&
		   strstr(query, ">a&amp;b&lt;c&gt;&quot;d&quot;]]&gt;&#13;\xc3\xa9<") != NULL,
		   "bodies: a UID is escaped");
	tap_ok(booking_dav_query_uid(arena, "a\x01") == NULL, "bodies: XML holds no control character");
	tap_ok(booking_dav_query_uid(arena, "a\xff") == NULL, "bodies: and UTF-8 only");
	tap_ok(booking_dav_query_uid(arena, "a\xef\xbf\xbf") == NULL, "bodies: and no noncharacter");
	tap_ok(booking_dav_query_uid(NULL, "a") == NULL, "bodies: nothing without an arena");
	for (int i = 0; i < 3; i++)
	{
		const char *body = i == 0 ? booking_dav_propfind_etag(arena) :
			i == 1 ? booking_dav_propfind_discovery(arena) : query;
		xmlDocPtr	document = xmlReadMemory(body, strlen(body), NULL, NULL, XML_PARSE_NONET);

		tap_ok(document != NULL, "bodies: are well-formed");
		xmlFreeDoc(document);
	}
}

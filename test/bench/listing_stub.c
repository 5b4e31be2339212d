/*
 * test/bench/listing_stub.c
 *
 * A calendar server that is only read: calendars of any size that cost it next
 * to nothing, and calendars of whatever bytes a test puts into a folder.
 *
 *	listing_stub [FOLDER]
 *	listing_stub -d COUNT
 *
 * Listens on a port of 127.0.0.1, prints its number, and ends when its standard
 * input does.  It answers REPORT (sync-collection and calendar-multiget) and
 * PROPFIND, each connection in a thread of its own.
 *
 * The calendar /COUNT/ has so many events, a quarter of an hour each; those on the
 * hour are in a zone and bring its VTIMEZONE, but for the hour that clocks leave
 * out or repeat, of which programs think differently.  The sync token counts the changes, so
 * that a listing of changes is as long as they are many.
 *
 * Any other calendar is a folder below FOLDER.  A file NAME.ics is an object
 * with that text; NAME.xml is its response as it is; NAME.head stands before a
 * multistatus that has NAME.ics in it, instead of an XML declaration.  If there
 * is a file _listing, it is the answer to whoever asks what there is.
 *
 * What is below /-/ is for the test:
 *
 *	GET /-/change/COUNT/N	N events of a calendar are others now
 *	GET /-/reset			no event was ever changed
 *	GET /-/figures			"requests received sent": so far, the latter two in
 *							bytes
 *
 * With -d nothing is served: the answers that a first reading of /COUNT/ gets,
 * 200 objects at a time, are written, each behind a line with its length.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST (4 * 1024 * 1024)
#define MAX_CALENDARS 16
#define LOT 200

/* bytes that are being put together */
typedef struct Text
{
	char	   *data;
	size_t		len;
	size_t		size;
} Text;

/* a calendar that is made up */
typedef struct Calendar
{
	long		count;
	long		changes;
	long	   *changed_at;		/* of each event, 0: never */
} Calendar;

/* a request, its parts pointing into the connection's buffer */
typedef struct Request
{
	char		method[16];
	char		path[1024];
	char	   *body;
	size_t		len;			/* of all of it */
} Request;

static const char *folder;
static Calendar calendars[MAX_CALENDARS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long requests;
static unsigned long long received;
static unsigned long long sent;

static const char prolog[] = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
static const char multistatus[] =
	"<D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\">\n";
static const char multistatus_end[] = "</D:multistatus>\n";
static const char zone[] =
	"BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n"
	"BEGIN:DAYLIGHT\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nTZNAME:CEST\r\n"
	"DTSTART:19810329T020000\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\n"
	"BEGIN:STANDARD\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nTZNAME:CET\r\n"
	"DTSTART:19961027T030000\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\n"
	"END:VTIMEZONE\r\n";

/*
 * End with a message.
 */
static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/*
 * Add bytes.
 */
static void
add_bytes(Text *text, const char *data, size_t len)
{
	if (text->size - text->len < len)
	{
		text->size = text->size * 2 + len + 4096;
		text->data = realloc(text->data, text->size);
		if (!text->data)
			die("realloc");
	}
	memcpy(text->data + text->len, data, len);
	text->len += len;
}

static void
add(Text *text, const char *string)
{
	add_bytes(text, string, strlen(string));
}

static void add_formatted(Text *text, const char *format,...) __attribute__((format(printf, 2, 3)));

/*
 * Add a line or a few.
 */
static void
add_formatted(Text *text, const char *format,...)
{
	char		line[2048];
	va_list		args;
	int			len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len < 0 || (size_t) len >= sizeof(line))
		die("add_formatted");
	add_bytes(text, line, len);
}

/*
 * Add what stands in an element.
 */
static void
add_escaped(Text *text, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
	{
		if (data[i] == '&')
			add(text, "&amp;");
		else if (data[i] == '<')
			add(text, "&lt;");
		else if (data[i] == '>')
			add(text, "&gt;");
		else if (data[i] == '\r')
			add(text, "&#13;");
		else
			add_bytes(text, data + i, 1);
	}
}

/*
 * The calendar with so many events; NULL if there is no room for another.
 */
static Calendar *
find_calendar(long count)
{
	for (int i = 0; i < MAX_CALENDARS; i++)
	{
		Calendar   *calendar = &calendars[i];

		if (calendar->count == count)
			return calendar;
		if (calendar->count == 0)
		{
			calendar->count = count;
			calendar->changed_at = calloc(count, sizeof(long));
			if (!calendar->changed_at)
				die("calloc");
			return calendar;
		}
	}
	return NULL;
}

/*
 * Add a member of a listing.
 */
static void
add_member(Text *text, const char *path, const char *name, const char *etag)
{
	add_formatted(text, "<D:response><D:href>%s%s</D:href><D:propstat><D:prop>"
				  "<D:getetag>\"%s\"</D:getetag></D:prop>"
				  "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n",
				  path, name, etag);
}

/*
 * Add an instant, so many quarters of an hour after a Monday in May.
 */
static void
add_instant(Text *text, const char *name, long quarters, bool local)
{
	time_t		instant = 1904515200 + quarters * 900;
	struct tm	parts;

	gmtime_r(&instant, &parts);
	add_formatted(text, "%s%s:%04d%02d%02dT%02d%02d00%s\r\n", name,
				  local ? ";TZID=Europe/Berlin" : "",
				  parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
				  parts.tm_hour, parts.tm_min, local ? "" : "Z");
}

/*
 * Add an event, as a program of our days writes it.
 */
static void
add_event(Text *text, long index, long version)
{
	bool		local = index % 4 == 0 && index / 4 % 24 != 2;

	add(text, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//stub//EN\r\nCALSCALE:GREGORIAN\r\n");
	if (local)
		add(text, zone);
	add_formatted(text, "BEGIN:VEVENT\r\nUID:e%ld@stub.example\r\nDTSTAMP:20300101T000000Z\r\n"
				  "CREATED:20300101T000000Z\r\nLAST-MODIFIED:20300101T000000Z\r\nSEQUENCE:%ld\r\n",
				  index, version);
	add_instant(text, "DTSTART", index, local);
	add_instant(text, "DTEND", index + 1, local);
	add_formatted(text, "SUMMARY:Meeting number %ld\r\n"
				  "DESCRIPTION:An hour with the team\\, in the room on the second floor.\\nPl\r\n"
				  " ease bring what you have written so far &amp; read what the others have.\r\n"
				  "LOCATION:Room %ld\r\nSTATUS:CONFIRMED\r\nTRANSP:OPAQUE\r\n"
				  "ORGANIZER;CN=Somebody:mailto:organizer@stub.example\r\n"
				  "ATTENDEE;CN=First;PARTSTAT=ACCEPTED;ROLE=REQ-PARTICIPANT:mailto:first%ld@\r\n"
				  " stub.example\r\n"
				  "ATTENDEE;CN=Second;PARTSTAT=NEEDS-ACTION;ROLE=OPT-PARTICIPANT:mailto:seco\r\n"
				  " nd@stub.example\r\n", index, index % 100, index % 1000);
	add(text, "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\n"
		"DESCRIPTION:Meeting\r\nEND:VALARM\r\n"
		"END:VEVENT\r\nEND:VCALENDAR\r\n");
}

/*
 * List a calendar that is made up: what changed after a token.
 */
static void
list_calendar(Text *text, Calendar *calendar, long since)
{
	char		path[32];

	snprintf(path, sizeof(path), "/%ld/", calendar->count);
	add(text, prolog);
	add(text, multistatus);
	for (long i = 0; i < calendar->count; i++)
	{
		char		name[32];
		char		etag[32];

		if (since >= 0 && calendar->changed_at[i] <= since)
			continue;
		snprintf(name, sizeof(name), "e%ld.ics", i);
		snprintf(etag, sizeof(etag), "e%ld-%ld", i, calendar->changed_at[i]);
		add_member(text, path, name, etag);
	}
	add_formatted(text, "<D:sync-token>changes:%ld</D:sync-token>\n", calendar->changes);
	add(text, multistatus_end);
}

/*
 * Add an object of a calendar that is made up.
 */
static void
add_made_up(Text *text, const Calendar *calendar, long index)
{
	long		version;

	if (index < 0 || index >= calendar->count)
	{
		add_formatted(text, "<D:response><D:href>/%ld/e%ld.ics</D:href>"
					  "<D:status>HTTP/1.1 404 Not Found</D:status></D:response>\n",
					  calendar->count, index);
		return;
	}
	version = calendar->changed_at[index];
	add_formatted(text, "<D:response><D:href>/%ld/e%ld.ics</D:href><D:propstat><D:prop>"
				  "<D:getetag>\"e%ld-%ld\"</D:getetag><C:calendar-data>",
				  calendar->count, index, index, version);
	add_event(text, index, version);
	add(text, "</C:calendar-data></D:prop><D:status>HTTP/1.1 200 OK</D:status>"
		"</D:propstat></D:response>\n");
}

/*
 * Add a file of the folder; false if there is none.
 */
static bool
add_file(Text *text, const char *name, bool escaped)
{
	char		path[4096];
	FILE	   *file;
	Text		read = {0};

	snprintf(path, sizeof(path), "%s%s", folder, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	for (;;)
	{
		char		piece[65536];
		size_t		got = fread(piece, 1, sizeof(piece), file);

		if (got == 0)
			break;
		add_bytes(&read, piece, got);
	}
	fclose(file);
	if (read.len > 0 && escaped)
		add_escaped(text, read.data, read.len);
	else if (read.len > 0)
		add_bytes(text, read.data, read.len);
	free(read.data);
	return true;
}

/*
 * Does a name end so?
 */
static bool
ends(const char *name, const char *end)
{
	size_t		len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/*
 * List a folder.
 */
static void
list_folder(Text *text, const char *path)
{
	char		name[4096];
	DIR		   *directory;
	struct dirent *entry;

	snprintf(name, sizeof(name), "%s_listing", path);
	if (add_file(text, name, false))
		return;
	snprintf(name, sizeof(name), "%s%s", folder, path);
	directory = opendir(name);
	add(text, prolog);
	add(text, multistatus);
	while (directory && (entry = readdir(directory)) != NULL)
	{
		if (ends(entry->d_name, ".ics") || ends(entry->d_name, ".xml"))
			add_member(text, path, entry->d_name, "1");
	}
	if (directory)
		closedir(directory);
	add(text, "<D:sync-token>folder</D:sync-token>\n");
	add(text, multistatus_end);
}

/*
 * Add an object of a folder.
 */
static void
add_from_folder(Text *text, const char *name)
{
	if (ends(name, ".xml"))
	{
		add_file(text, name, false);
		return;
	}
	add_formatted(text, "<D:response><D:href>%s</D:href><D:propstat><D:prop>"
				  "<D:getetag>\"1\"</D:getetag><C:calendar-data>", name);
	add_file(text, name, true);
	add(text, "</C:calendar-data></D:prop><D:status>HTTP/1.1 200 OK</D:status>"
		"</D:propstat></D:response>\n");
}

/*
 * The next name between href tags; NULL behind the last.
 */
static char *
next_href(char **at)
{
	char	   *begin = strstr(*at, "<href>");
	char	   *end = begin ? strstr(begin, "</href>") : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return begin + strlen("<href>");
}

/*
 * Answer a multiget.  What stands before the document is known only when all
 * names are.
 */
static void
multiget(Text *text, Request *request, const Calendar *calendar)
{
	Text		objects = {0};
	Text		head = {0};
	char	   *at = request->body;
	char	   *name;

	while ((name = next_href(&at)) != NULL)
	{
		char		head_name[1024];

		if (calendar)
		{
			const char *last = strrchr(name, '/');

			add_made_up(&objects, calendar, last ? strtol(last + 2, NULL, 10) : -1);
			continue;
		}
		add_from_folder(&objects, name);
		snprintf(head_name, sizeof(head_name), "%.*s.head",
				 (int) (strlen(name) - strlen(".ics")), name);
		add_file(&head, head_name, false);
	}
	if (head.len > 0)
		add_bytes(text, head.data, head.len);
	else
		add(text, prolog);
	add(text, multistatus);
	if (objects.len > 0)
		add_bytes(text, objects.data, objects.len);
	add(text, multistatus_end);
	free(objects.data);
	free(head.data);
}

/*
 * The token that a sync-collection report names; -1 for none.
 */
static long
token_of(const char *body)
{
	const char *token = strstr(body, "changes:");

	return token ? strtol(token + strlen("changes:"), NULL, 10) : -1;
}

/*
 * Do what the test itself asks for.
 */
static void
control(Text *text, const Request *request)
{
	long		count;
	long		changed;

	if (sscanf(request->path, "/-/change/%ld/%ld", &count, &changed) == 2)
	{
		Calendar   *calendar = find_calendar(count);

		if (!calendar)
			return;
		calendar->changes++;
		for (long i = 0; i < changed; i++)
			calendar->changed_at[i * (count / changed)] = calendar->changes;
	}
	else if (strcmp(request->path, "/-/reset") == 0)
	{
		for (int i = 0; i < MAX_CALENDARS; i++)
		{
			free(calendars[i].changed_at);
			memset(&calendars[i], 0, sizeof(Calendar));
		}
	}
	else
		add_formatted(text, "%llu %llu %llu\n", requests, received, sent);
}

/*
 * Make the answer to a request.
 */
static void
execute(Text *text, Request *request)
{
	long		count = strtol(request->path + 1, NULL, 10);
	Calendar   *calendar = count > 0 ? find_calendar(count) : NULL;

	if (strncmp(request->path, "/-/", 3) == 0)
		control(text, request);
	else if (strstr(request->body, "calendar-multiget"))
		multiget(text, request, calendar);
	else if (calendar)
		list_calendar(text, calendar, token_of(request->body));
	else if (folder)
		list_folder(text, request->path);
}

/*
 * Send all of it; false when the client is gone.
 */
static bool
send_all(int fd, const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		done = send(fd, data, len, MSG_NOSIGNAL);

		if (done <= 0)
			return false;
		data += done;
		len -= done;
	}
	return true;
}

/*
 * Carry a request out; false when that was the connection's last.
 */
static bool
serve_request(int fd, Request *request)
{
	Text		body = {0};
	char		head[256];
	bool		test = strncmp(request->path, "/-/", 3) == 0;
	bool		ok;

	pthread_mutex_lock(&lock);
	execute(&body, request);
	snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
			 test ? "200 OK" : "207 Multi-Status",
			 test ? "text/plain" : "application/xml", body.len,
			 test ? "Connection: close\r\n" : "");
	if (!test)
	{
		requests++;
		received += request->len;
		sent += strlen(head) + body.len;
	}
	pthread_mutex_unlock(&lock);
	ok = send_all(fd, head, strlen(head)) && send_all(fd, body.data, body.len);
	free(body.data);
	return ok && !test;
}

/*
 * Take a request apart, once all of it is there; false if it is not.
 */
static bool
parse(char *data, size_t len, Request *request)
{
	char	   *end = strstr(data, "\r\n\r\n");
	const char *length;
	size_t		body_len;

	if (!end || sscanf(data, "%15s %1023s HTTP/1.1\r\n", request->method,
					   request->path) != 2)
		return false;
	length = strcasestr(data, "\r\nContent-Length:");
	body_len = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
	request->body = end + 4;
	request->len = request->body + body_len - data;
	return request->len <= len;
}

/*
 * Serve a connection until it ends.  A client sends its next request when the
 * last one was answered.
 */
static void *
serve(void *arg)
{
	int			fd = (int) (intptr_t) arg;
	char	   *data = malloc(MAX_REQUEST + 1);
	size_t		len = 0;

	for (;;)
	{
		Request		request;
		ssize_t		got = data ? recv(fd, data + len, MAX_REQUEST - len, 0) : 0;

		if (got <= 0)
			break;
		len += got;
		data[len] = '\0';
		if (!parse(data, len, &request))
			continue;
		if (!serve_request(fd, &request))
			break;
		len = 0;
	}
	free(data);
	close(fd);
	return NULL;
}

/*
 * Take connections.
 */
static void *
accept_all(void *arg)
{
	int			listener = (int) (intptr_t) arg;

	for (;;)
	{
		int			fd = accept(listener, NULL, NULL);
		int			on = 1;
		pthread_t	thread;

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (pthread_create(&thread, NULL, serve, (void *) (intptr_t) fd) != 0)
			die("pthread_create");
		pthread_detach(thread);
	}
	return NULL;
}

/*
 * Write an answer behind its length.
 */
static void
dump_answer(Text *text)
{
	printf("%zu\n", text->len);
	fwrite(text->data, 1, text->len, stdout);
	text->len = 0;
}

/*
 * Write what a first reading of a calendar is answered.
 */
static int
dump(long count)
{
	Calendar   *calendar = find_calendar(count);
	Text		text = {0};

	list_calendar(&text, calendar, -1);
	dump_answer(&text);
	for (long first = 0; first < count; first += LOT)
	{
		add(&text, prolog);
		add(&text, multistatus);
		for (long i = first; i < first + LOT && i < count; i++)
			add_made_up(&text, calendar, i);
		add(&text, multistatus_end);
		dump_answer(&text);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}

/*
 * Serve until standard input ends.
 */
int
main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t	thread;
	char		junk[4096];

	if (argc == 3 && strcmp(argv[1], "-d") == 0)
		return dump(strtol(argv[2], NULL, 10));
	folder = argc > 1 ? argv[1] : NULL;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 ||
		bind(listener, (struct sockaddr *) &address, sizeof(address)) < 0 ||
		listen(listener, 1024) < 0 ||
		getsockname(listener, (struct sockaddr *) &address, &len) < 0)
		die("listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	if (pthread_create(&thread, NULL, accept_all, (void *) (intptr_t) listener) != 0)
		die("pthread_create");
	while (read(STDIN_FILENO, junk, sizeof(junk)) > 0)
		;
	return 0;
}

/*
 * test/bench/calendar_stub.c
 *
 * A calendar server that costs next to nothing: what is measured with it is
 * whoever sends the requests.
 *
 *	calendar_stub [LOG]
 *
 * Listens on a port of 127.0.0.1, prints its number, and ends when its standard
 * input does.  PUT, GET, DELETE and PROPFIND keep their conditions (If-Match,
 * If-None-Match) on events kept by their path; REPORT finds nothing, because
 * nothing is ever stored under another name than the one it was put to.  Each
 * request is answered a fixed time after it has arrived, first come first
 * served, so a queue is all the timer there is.
 *
 * With LOG, a line "microseconds path" for each PUT that arrives, on the clock
 * of the day.  What is below /-/ is for the test, and answered at once:
 *
 *	GET /-/latency/MS	from now on answer after so many milliseconds
 *	GET /-/lose/N		from now on carry out each Nth request, but break off
 *						without an answer; 0: none
 *	GET /-/reset		forget events and figures
 *	GET /-/figures		"requests stored twice refused microseconds": how many
 *						requests there were, events that exist, PUTs that met
 *						an event of their own name, requests answered 4xx, and
 *						from the first arrival to the last answer
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 65536
#define MAX_REQUEST (1024 * 1024)
#define MAX_EVENTS 256

typedef struct Event
{
	struct Event *next;
	char	   *path;
	char	   *body;
	size_t		body_len;
	uint64_t	etag;
} Event;

typedef struct Connection
{
	struct Connection *next;	/* in the queue of those that wait */
	int			fd;				/* -1: the client is gone */
	bool		waiting;		/* in the queue */
	bool		close_after;
	int64_t		due;
	char	   *request;
	size_t		request_len;
	size_t		request_size;
	char	   *answer;
	size_t		answer_len;
} Connection;

/* a request, its parts pointing into the connection's buffer */
typedef struct Request
{
	char		method[16];
	char		path[1024];
	const char *headers;
	const char *body;
	size_t		body_len;
} Request;

static Event *events[BUCKETS];
static Connection *queue_head;
static Connection *queue_tail;
static int	epoll_fd;
static int	timer_fd;
static FILE *put_log;
static int64_t latency;			/* microseconds */
static uint64_t lose_each;
static uint64_t next_etag = 1;
static uint64_t requests;
static uint64_t stored;
static uint64_t twice;
static uint64_t refusals;
static int64_t first_arrival;
static int64_t last_answer;

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
 * Microseconds of a clock.
 */
static int64_t
microseconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * Where an event of a path is, or would be, linked.
 */
static Event **
find_event(const char *path)
{
	uint32_t	hash = 2166136261u;
	Event	  **link;

	for (const char *at = path; *at; at++)
		hash = (hash ^ (unsigned char) *at) * 16777619u;
	for (link = &events[hash % BUCKETS]; *link; link = &(*link)->next)
	{
		if (strcmp((*link)->path, path) == 0)
			break;
	}
	return link;
}

/*
 * Forget the event at a link.
 */
static void
remove_event(Event **link)
{
	Event	   *event = *link;

	*link = event->next;
	free(event->path);
	free(event->body);
	free(event);
	stored--;
}

/*
 * Forget everything.
 */
static void
reset(void)
{
	for (int i = 0; i < BUCKETS; i++)
	{
		while (events[i])
			remove_event(&events[i]);
	}
	requests = twice = refusals = 0;
	first_arrival = last_answer = 0;
}

/*
 * Value of a header up to the end of its line; NULL if there is none.
 */
static const char *
header(const Request *request, const char *name)
{
	size_t		len = strlen(name);

	for (const char *line = request->headers; line;)
	{
		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, " ");
		line = strstr(line, "\r\n");
		if (line)
			line += 2;
		if (line && line[0] == '\r')
			return NULL;
	}
	return NULL;
}

/*
 * Set the answer of a connection.
 */
static void
answer(Connection *connection, const char *status, const char *type,
	   uint64_t etag, const char *body, size_t body_len)
{
	char		head[512];
	char		etag_line[48] = "";
	int			head_len;

	if (etag != 0)
		snprintf(etag_line, sizeof(etag_line), "ETag: \"%llu\"\r\n",
				 (unsigned long long) etag);
	head_len = snprintf(head, sizeof(head),
						"HTTP/1.1 %s\r\n%s%s%s%sContent-Length: %zu\r\n%s\r\n",
						status, etag_line, type ? "Content-Type: " : "",
						type ? type : "", type ? "\r\n" : "", body_len,
						connection->close_after ? "Connection: close\r\n" : "");
	connection->answer_len = head_len + body_len;
	connection->answer = malloc(connection->answer_len);
	if (!connection->answer)
		die("malloc");
	memcpy(connection->answer, head, head_len);
	memcpy(connection->answer + head_len, body, body_len);
	if (status[0] == '4')
		refusals++;
}

/*
 * Does an event fail the conditions of a request?
 */
static bool
precondition_fails(const Request *request, const Event *event)
{
	const char *match = header(request, "If-Match");

	if (event && header(request, "If-None-Match"))
		return true;
	return match && (!event || match[0] != '"' ||
					 strtoull(match + 1, NULL, 10) != event->etag);
}

/*
 * Store an event.
 */
static void
put(Connection *connection, const Request *request)
{
	Event	  **link = find_event(request->path);
	Event	   *event = *link;
	bool		created = event == NULL;

	if (put_log)
		fprintf(put_log, "%lld %s\n",
				(long long) microseconds(CLOCK_REALTIME), request->path);
	if (event && header(request, "If-None-Match"))
		twice++;
	if (precondition_fails(request, event))
	{
		answer(connection, "412 Precondition Failed", NULL, 0, "", 0);
		return;
	}
	if (created)
	{
		event = calloc(1, sizeof(Event));
		if (!event || !(event->path = strdup(request->path)))
			die("malloc");
		*link = event;
		stored++;
	}
	free(event->body);
	event->body = malloc(request->body_len + 1);
	if (!event->body)
		die("malloc");
	memcpy(event->body, request->body, request->body_len);
	event->body_len = request->body_len;
	event->etag = next_etag++;
	answer(connection, created ? "201 Created" : "204 No Content", NULL,
		   event->etag, "", 0);
}

/*
 * Answer PROPFIND: the event's ETag, or that anything else is a calendar.
 */
static void
propfind(Connection *connection, const Request *request, const Event *event)
{
	char		body[2048];
	char		prop[128];

	if (event)
		snprintf(prop, sizeof(prop), "<D:getetag>\"%llu\"</D:getetag>",
				 (unsigned long long) event->etag);
	else
		snprintf(prop, sizeof(prop),
				 "<D:resourcetype><D:collection/><C:calendar/></D:resourcetype>");
	snprintf(body, sizeof(body),
			 "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\""
			 " xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:response><D:href>%s</D:href>"
			 "<D:propstat><D:prop>%s</D:prop><D:status>HTTP/1.1 200 OK</D:status>"
			 "</D:propstat></D:response></D:multistatus>", request->path, prop);
	answer(connection, "207 Multi-Status", "application/xml; charset=utf-8", 0,
		   body, strlen(body));
}

/*
 * Do what the test itself asks for.
 */
static void
control(Connection *connection, const Request *request)
{
	char		body[256] = "";

	if (strncmp(request->path, "/-/latency/", 11) == 0)
		latency = (int64_t) (strtod(request->path + 11, NULL) * 1000);
	else if (strncmp(request->path, "/-/lose/", 8) == 0)
		lose_each = strtoull(request->path + 8, NULL, 10);
	else if (strcmp(request->path, "/-/reset") == 0)
		reset();
	else
		snprintf(body, sizeof(body), "%llu %llu %llu %llu %lld\n",
				 (unsigned long long) requests, (unsigned long long) stored,
				 (unsigned long long) twice, (unsigned long long) refusals,
				 (long long) (last_answer - first_arrival));
	if (put_log)
		fflush(put_log);
	answer(connection, "200 OK", "text/plain", 0, body, strlen(body));
}

/*
 * Carry a request out and set its answer.
 */
static void
execute(Connection *connection, const Request *request)
{
	static const char none[] =
		"<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\"/>";
	Event	  **link = find_event(request->path);

	if (strcmp(request->method, "PUT") == 0)
		put(connection, request);
	else if (strcmp(request->method, "PROPFIND") == 0)
		propfind(connection, request, *link);
	else if (strcmp(request->method, "REPORT") == 0)
		answer(connection, "207 Multi-Status", "application/xml; charset=utf-8",
			   0, none, strlen(none));
	else if (!*link)
		answer(connection, "404 Not Found", NULL, 0, "", 0);
	else if (strcmp(request->method, "GET") == 0)
		answer(connection, "200 OK", "text/calendar; charset=utf-8",
			   (*link)->etag, (*link)->body, (*link)->body_len);
	else if (strcmp(request->method, "DELETE") != 0)
		answer(connection, "405 Method Not Allowed", NULL, 0, "", 0);
	else if (precondition_fails(request, *link))
		answer(connection, "412 Precondition Failed", NULL, 0, "", 0);
	else
	{
		remove_event(link);
		answer(connection, "204 No Content", NULL, 0, "", 0);
	}
}

/*
 * The client is gone, or shall be.  What waits in the queue is freed when its
 * time has come.
 */
static void
close_connection(Connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	if (connection->waiting)
		return;
	free(connection->request);
	free(connection->answer);
	free(connection);
}

/*
 * Send the answer; it is far smaller than a socket's buffer.
 */
static void
send_answer(Connection *connection)
{
	ssize_t		sent = send(connection->fd, connection->answer,
							connection->answer_len, MSG_NOSIGNAL);

	last_answer = microseconds(CLOCK_MONOTONIC);
	free(connection->answer);
	connection->answer = NULL;
	if (connection->close_after || sent != (ssize_t) connection->answer_len)
		close_connection(connection);
}

/*
 * Have the timer go off when the first of the queue is due.
 */
static void
set_timer(void)
{
	struct itimerspec when = {{0, 0}, {0, 0}};

	if (queue_head)
	{
		when.it_value.tv_sec = queue_head->due / 1000000;
		when.it_value.tv_nsec = queue_head->due % 1000000 * 1000;
	}
	if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		die("timerfd_settime");
}

/*
 * Answer now, or when the time has come.
 */
static void
schedule(Connection *connection, bool at_once)
{
	if (at_once || latency == 0)
	{
		send_answer(connection);
		return;
	}
	connection->due = microseconds(CLOCK_MONOTONIC) + latency;
	connection->waiting = true;
	connection->next = NULL;
	if (queue_head)
		queue_tail->next = connection;
	else
		queue_head = connection;
	queue_tail = connection;
	if (queue_head == connection)
		set_timer();
}

/*
 * Answer all that are due.
 */
static void
serve_queue(void)
{
	int64_t		now = microseconds(CLOCK_MONOTONIC);

	while (queue_head && queue_head->due <= now)
	{
		Connection *connection = queue_head;

		queue_head = connection->next;
		connection->waiting = false;
		if (connection->fd < 0)
			close_connection(connection);
		else
			send_answer(connection);
	}
	set_timer();
}

/*
 * Take the request apart, once all of it is there.  Returns its length, 0 if
 * more must come, -1 if it is none.
 */
static ssize_t
parse(Connection *connection, Request *request)
{
	const char *end = strstr(connection->request, "\r\n\r\n");
	const char *length;
	size_t		head_len;

	if (!end)
		return connection->request_len > MAX_REQUEST ? -1 : 0;
	head_len = end + 4 - connection->request;
	if (sscanf(connection->request, "%15s %1023s HTTP/1.1\r\n", request->method,
			   request->path) != 2)
		return -1;
	request->headers = strstr(connection->request, "\r\n") + 2;
	length = header(request, "Content-Length");
	request->body_len = length ? strtoul(length, NULL, 10) : 0;
	request->body = connection->request + head_len;
	if (request->body_len > MAX_REQUEST)
		return -1;
	if (connection->request_len < head_len + request->body_len)
		return 0;
	return head_len + request->body_len;
}

/*
 * Serve the request that has arrived, if it is whole.
 */
static void
serve(Connection *connection)
{
	Request		request;
	ssize_t		length = parse(connection, &request);
	const char *close_header;
	bool		at_once;

	if (length == 0)
		return;
	if (length < 0 || connection->waiting)
	{
		/* not HTTP, or a second request before the first was answered */
		close_connection(connection);
		return;
	}
	close_header = header(&request, "Connection");
	connection->close_after = close_header &&
		strncasecmp(close_header, "close", 5) == 0;
	at_once = strncmp(request.path, "/-/", 3) == 0;
	if (at_once)
		control(connection, &request);
	else
	{
		if (requests++ == 0)
			first_arrival = microseconds(CLOCK_MONOTONIC);
		execute(connection, &request);
		if (lose_each > 0 && requests % lose_each == 0)
		{
			close_connection(connection);
			return;
		}
	}
	connection->request_len -= length;
	memmove(connection->request, connection->request + length,
			connection->request_len + 1);
	schedule(connection, at_once);
}

/*
 * Read what has come.
 */
static void
read_connection(Connection *connection)
{
	ssize_t		got;

	if (connection->request_size - connection->request_len < 4096)
	{
		connection->request_size = connection->request_size * 2 + 8192;
		connection->request = realloc(connection->request,
									  connection->request_size);
		if (!connection->request)
			die("malloc");
	}
	got = recv(connection->fd, connection->request + connection->request_len,
			   connection->request_size - connection->request_len - 1, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
	{
		close_connection(connection);
		return;
	}
	connection->request_len += got;
	connection->request[connection->request_len] = '\0';
	serve(connection);
}

/*
 * Watch a descriptor; pointer comes back with its events.
 */
static void
watch(int fd, void *pointer)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = pointer};

	/* a file cannot be watched, and has no end that anybody waits for */
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 && errno != EPERM)
		die("epoll_ctl");
}

/*
 * Take the connections that wait.
 */
static void
accept_all(int listener)
{
	int			fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
	{
		Connection *connection = calloc(1, sizeof(Connection));
		int			on = 1;

		if (!connection)
			die("malloc");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		connection->fd = fd;
		watch(fd, connection);
	}
}

/*
 * Listen on a free port and tell its number.
 */
static int
listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	len = sizeof(address);
	int			listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 ||
		bind(listener, (struct sockaddr *) &address, sizeof(address)) < 0 ||
		listen(listener, 1024) < 0 ||
		getsockname(listener, (struct sockaddr *) &address, &len) < 0)
		die("listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return listener;
}

/*
 * Serve until standard input ends.
 */
int
main(int argc, char **argv)
{
	static char listener_mark;
	static char timer_mark;
	static char input_mark;
	int			listener;

	if (argc > 1 && !(put_log = fopen(argv[1], "w")))
		die(argv[1]);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (epoll_fd < 0 || timer_fd < 0)
		die("epoll");
	listener = listen_somewhere();
	watch(listener, &listener_mark);
	watch(timer_fd, &timer_mark);
	watch(STDIN_FILENO, &input_mark);

	for (;;)
	{
		struct epoll_event ready[MAX_EVENTS];
		int			count = epoll_wait(epoll_fd, ready, MAX_EVENTS, -1);

		if (count < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < count; i++)
		{
			void	   *what = ready[i].data.ptr;
			char		junk[4096];

			if (what == &listener_mark)
				accept_all(listener);
			else if (what == &timer_mark)
				continue;		/* below, after all that frees connections */
			else if (what != &input_mark)
				read_connection(what);
			else if (read(STDIN_FILENO, junk, sizeof(junk)) <= 0)
				return 0;
		}
		if (queue_head)
			serve_queue();
	}
}

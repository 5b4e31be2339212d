/*
 * test/bookingd/sender.c
 *
 * An open-loop sender of requests that were made before: each is due at a time
 * of its own, whether the previous ones were answered or not, and its latency is
 * counted from that time.  A receiver that stalls is so charged for everything
 * that would have come meanwhile.
 *
 *	sender PORT RATE CONNECTIONS <REQUESTS
 *
 * REQUESTS are, one after the other, a line with a length and so many bytes.
 * Connections to 127.0.0.1 are kept open, used for one request at a time, and
 * made anew when they end.  A request that finds no connection free waits, and
 * goes on counting.  Nothing is sent twice.
 *
 * Prints its start on the monotonic clock in seconds, then a line for each
 * request: status, or 0 without an answer, when it was due and how long it took,
 * in microseconds from the start.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* how long an answer may take before it counts as none, in microseconds */
#define PATIENCE 30000000

typedef struct Job
{
	char	   *bytes;
	size_t		len;
	int64_t		due;
	int64_t		took;
	int			status;
} Job;

typedef struct Link
{
	int			fd;				/* -1: closed */
	Job		   *job;			/* NULL: free */
	size_t		sent;
	int64_t		since;			/* when it got its job */
	char		answer[8192];
	size_t		answer_len;
} Link;

static Job *jobs;
static size_t njobs;
static Link *links;
static int	nlinks;
static int	epoll_fd;
static struct sockaddr_in target;
static int64_t began;
static size_t ended;

static void start_job(Link *link, Job *job);

/*
 * End with a message.
 */
static void
die(const char *what)
{
	fprintf(stderr, "sender: %s\n", what);
	exit(1);
}

/*
 * Microseconds since the start.
 */
static int64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000 - began;
}

/*
 * Read all requests, and give each its time.
 */
static void
read_jobs(double rate)
{
	size_t		room = 0;
	size_t		len;

	while (scanf("%zu", &len) == 1)
	{
		Job		   *job;

		if (njobs == room)
		{
			room = room * 2 + 1024;
			jobs = realloc(jobs, room * sizeof(Job));
			if (!jobs)
				die("out of memory");
		}
		job = &jobs[njobs];
		memset(job, 0, sizeof(*job));
		job->len = len;
		job->due = (int64_t) (njobs * 1e6 / rate);
		job->bytes = malloc(len + 1);
		if (!job->bytes)
			die("out of memory");
		if (getchar() != '\n' || fread(job->bytes, 1, len, stdin) != len)
			die("the input is cut short");
		njobs++;
	}
	if (njobs == 0)
		die("nothing to send");
}

/*
 * A job is over, with or without an answer.
 */
static void
end_job(Link *link, int status)
{
	link->job->status = status;
	link->job->took = now() - link->job->due;
	link->job = NULL;
	ended++;
}

/*
 * The connection has ended, and with it its job.
 */
static void
close_link(Link *link)
{
	if (link->job)
		end_job(link, 0);
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

/*
 * Wait for a connection's next event.
 */
static void
watch(Link *link, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events,.data.ptr = link};

	if (epoll_ctl(epoll_fd, operation, link->fd, &event) != 0)
		die("epoll_ctl failed");
}

/*
 * Send what there is room for.
 */
static void
push(Link *link)
{
	Job		   *job = link->job;
	ssize_t		sent = send(link->fd, job->bytes + link->sent,
							job->len - link->sent, MSG_NOSIGNAL);

	if (sent < 0 && errno != EAGAIN && errno != ENOTCONN)
	{
		close_link(link);
		return;
	}
	if (sent > 0)
		link->sent += sent;
	watch(link, EPOLL_CTL_MOD, EPOLLIN | (link->sent < job->len ? EPOLLOUT : 0));
}

/*
 * Give a job to a free connection, which may have to be made.
 */
static void
start_job(Link *link, Job *job)
{
	link->job = job;
	link->sent = link->answer_len = 0;
	link->since = now();
	if (link->fd < 0)
	{
		int			on = 1;

		link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (link->fd < 0)
			die("no socket");
		setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connect(link->fd, (struct sockaddr *) &target, sizeof(target)) != 0 &&
			errno != EINPROGRESS)
		{
			close_link(link);
			return;
		}
		watch(link, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
		return;
	}
	push(link);
}

/*
 * Is the answer complete?  Then take its status.
 */
static void
judge(Link *link)
{
	char	   *end;
	char	   *length;
	size_t		body = 0;
	int			status;
	int			keep;

	link->answer[link->answer_len] = '\0';
	end = strstr(link->answer, "\r\n\r\n");
	if (!end)
		return;
	length = strcasestr(link->answer, "\r\nContent-Length:");
	if (length && length < end)
		body = strtoul(length + 17, NULL, 10);
	if (link->answer_len < (size_t) (end + 4 - link->answer) + body)
		return;
	status = (int) strtol(link->answer + 9, NULL, 10);
	keep = strcasestr(link->answer, "\r\nConnection: close") == NULL;
	end_job(link, status);
	if (!keep)
		close_link(link);
}

/*
 * Something happened to a connection.
 */
static void
act(Link *link, uint32_t events)
{
	ssize_t		got;

	if (link->fd < 0)
		return;
	if ((events & EPOLLOUT) && link->job)
		push(link);
	if (link->fd < 0 || !(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
		return;
	got = recv(link->fd, link->answer + link->answer_len,
			   sizeof(link->answer) - 1 - link->answer_len, 0);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0 || !link->job)
	{
		close_link(link);
		return;
	}
	link->answer_len += got;
	if (link->answer_len == sizeof(link->answer) - 1)
		die("an answer is too long");
	judge(link);
}

/*
 * Start what is due while connections are free, the open ones first.  Returns
 * how many were started.
 */
static size_t
start_due(size_t next)
{
	size_t		started = 0;

	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < nlinks; i++)
		{
			if (next + started >= njobs || jobs[next + started].due > now())
				return started;
			if (!links[i].job && (pass > 0 || links[i].fd >= 0))
				start_job(&links[i], &jobs[next + started++]);
		}
	}
	return started;
}

/*
 * Send all at their times.
 */
static void
run(void)
{
	size_t		next = 0;

	while (ended < njobs)
	{
		struct epoll_event events[128];
		int			count;

		next += start_due(next);
		count = epoll_wait(epoll_fd, events, 128, 1);
		for (int i = 0; i < count; i++)
			act(events[i].data.ptr, events[i].events);
		for (int i = 0; i < nlinks; i++)
		{
			if (links[i].job && now() - links[i].since > PATIENCE)
				close_link(&links[i]);
		}
	}
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		die("usage: sender PORT RATE CONNECTIONS <REQUESTS");
	target.sin_family = AF_INET;
	target.sin_port = htons((int) strtol(argv[1], NULL, 10));
	target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	read_jobs(strtod(argv[2], NULL));
	nlinks = (int) strtol(argv[3], NULL, 10);
	links = calloc(nlinks, sizeof(Link));
	epoll_fd = epoll_create1(0);
	if (!links || epoll_fd < 0)
		die("out of memory");
	for (int i = 0; i < nlinks; i++)
		links[i].fd = -1;
	began = now();
	printf("%.6f\n", began / 1e6);
	fflush(stdout);
	run();
	for (size_t i = 0; i < njobs; i++)
		printf("%d %lld %lld\n", jobs[i].status, (long long) jobs[i].due,
			   (long long) jobs[i].took);
	return 0;
}

/*-------------------------------------------------------------------------
 *
 * bookingd.c
 *	  receives webhooks and hands them to the database
 *
 * bookingd stands between the internet, or a proxy that ends TLS, and one database.
 * It knows nothing of providers: SQL verifies, stores and answers.  What it adds
 * is limits, patience and the promise that no sender is told of success before the
 * delivery is committed.
 *
 * One thread does everything; see loop.c.  SIGTERM and SIGINT end it: it stops
 * accepting, finishes what is in flight, and exits with 0; when that takes too
 * long, or at a second signal, the rest is answered with 503.
 *
 * IDENTIFICATION
 *	  booking/bookingd/bookingd.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/logging.h"

#include "bookingd/admin.h"
#include "bookingd/bookingd.h"
#include "bookingd/clock.h"
#include "bookingd/log.h"
#include "bookingd/webhook.h"

/* connections of whoever reads the metrics */
#define ADMIN_CONNECTIONS 16

/* descriptors beside connections: logs, listeners, epoll, signals, libraries */
#define OTHER_FILES 64

static void raise_file_limit(const Options *options);
static bool watch_signals(Bookingd *self);
static bool start_fronts(Bookingd *self);
static void run(Bookingd *self);
static void answer_the_rest(Bookingd *self);

/*
 * A signal to end has come.
 */
static void
signal_ready(LoopSource *source, uint32 events)
{
	Bookingd   *self = source->owner;
	struct signalfd_siginfo info;

	(void) events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (self->drain_until != CLOCK_NEVER)
	{
		self->hurry = true;
		return;
	}
	log_info("ending: accepting no more connections, %d requests in flight",
			 self->webhooks.nrequests);
	self->drain_until = clock_now() + self->options.drain_timeout * CLOCK_SECOND;
	front_drain(&self->webhooks);
}

/*
 * Start, serve, and end.
 */
int
main(int argc, char **argv)
{
	Bookingd   *self;
	int			failed = 1;

	pg_logging_init(argv[0]);
	set_pglocale_pgservice(argv[0], "bookingd");
	self = pg_malloc0(sizeof(Bookingd));
	options_parse(&self->options, argc, argv);
	self->drain_until = CLOCK_NEVER;
	self->signals.fd = -1;
	raise_file_limit(&self->options);

	self->metrics = metrics_create();
	self->rate = rate_create(self->options.rate, self->options.burst);
	if (!loop_init(&self->loop))
		log_error("could not create an epoll descriptor: %m");
	else
	{
		self->pool = pool_create(&self->loop, self->options.dbname, self->options.schema,
								 self->options.pool, self->options.queue,
								 self->options.answer_timeout);
		self->scraper = scrape_create(self->pool, self->options.metrics_age);
		if (watch_signals(self) && start_fronts(self))
		{
			run(self);
			failed = 0;
		}
		front_stop(&self->webhooks);
		front_stop(&self->admin);
		scrape_free(self->scraper);
		pool_free(self->pool);
		loop_free(&self->loop);
	}
	rate_free(self->rate);
	metrics_free(self->metrics);
	if (!failed)
		log_info("ended");
	pg_free(self);
	return failed;
}

/*
 * Ask for as many descriptors as all connections may take.  A limit that cannot
 * be raised that far shows up as connections that are not accepted.
 */
static void
raise_file_limit(const Options *options)
{
	rlim_t		wanted = options->max_connections + options->pool +
		ADMIN_CONNECTIONS + OTHER_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = Min(wanted, limit.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted)
		log_warning("only %llu descriptors may be open, --max-connections wants %llu",
					(unsigned long long) limit.rlim_cur, (unsigned long long) wanted);
}

/*
 * Take the signals to end from a descriptor, so that they come between two steps
 * of the loop.  SIGHUP has no meaning here and ends nothing.
 */
static bool
watch_signals(Bookingd *self)
{
	sigset_t	set;
	int			fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	self->signals.ready = signal_ready;
	self->signals.owner = self;
	if (fd < 0)
		log_error("could not create a signal descriptor: %m");
	return fd >= 0 && loop_watch(&self->loop, &self->signals, fd, EPOLLIN);
}

/*
 * Start both listeners.
 */
static bool
start_fronts(Bookingd *self)
{
	const Options *options = &self->options;
	FrontConfig config = {
		.listen = options->listen,
		.name = "webhooks",
		.handler = &webhook_handler,
		.owner = self,
		.max_connections = options->max_connections,
		.max_header_size = options->max_header_size,
		.max_body = options->max_body,
		.max_memory = options->max_memory,
		.timeout = options->request_timeout,
		.retry_after = options->retry_after,
	};

	if (!front_start(&self->webhooks, &self->loop, &config))
		return false;
	if (!options->metrics_listen)
		return true;
	config.listen = options->metrics_listen;
	config.name = "metrics";
	config.handler = &admin_handler;
	config.max_connections = ADMIN_CONNECTIONS;
	config.max_body = 0;
	return front_start(&self->admin, &self->loop, &config);
}

/*
 * Serve until a signal has come and nothing is in flight any more.
 */
static void
run(Bookingd *self)
{
	while (true)
	{
		int64		now = clock_now();
		int64		until = Min(self->drain_until, front_tick(&self->webhooks, now));

		if (self->admin.daemon)
			until = Min(until, front_tick(&self->admin, now));
		until = Min(until, pool_tick(self->pool, now));
		until = Min(until, scrape_tick(self->scraper, now));
		if (self->webhooks.resumed || self->admin.resumed)
			continue;
		if (self->drain_until != CLOCK_NEVER &&
			(self->webhooks.nrequests == 0 || now >= self->drain_until || self->hurry))
			break;
		loop_wait(&self->loop, until);
	}
	answer_the_rest(self);
}

/*
 * End what the time to drain did not suffice for.  Nothing may be suspended when
 * libmicrohttpd ends, so the metrics that someone waits for are answered too.
 */
static void
answer_the_rest(Bookingd *self)
{
	if (self->webhooks.nrequests > 0)
		log_warning("%d requests were in flight at the end and are answered with 503",
					self->webhooks.nrequests);
	pool_give_up(self->pool);
	front_tick(&self->webhooks, clock_now());
	if (self->admin.daemon)
		front_tick(&self->admin, clock_now());
}

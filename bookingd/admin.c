/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  health and metrics, on a listener of their own
 *
 * /healthz	the process lives
 * /readyz		deliveries can be stored: 200, else 503
 * /metrics	what bookingd counts, and the rows of booking_metrics() where the
 * 			database has that
 *
 * Where the database fails or is late, a scrape has what bookingd itself knows,
 * and bookingd_database_metrics is 0.
 *
 * IDENTIFICATION
 *	  booking/bookingd/admin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "bookingd/admin.h"
#include "bookingd/bookingd.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void answer_text(Request *request, int status, const char *text);
static void finish_metrics(Request *request);
static void metrics_done(ScrapeWaiter *waiter, const char *rows);
static void answer_metrics(Request *request, const char *rows);

/*
 * The headers are there.  Nothing here has a body.
 */
static void
admin_begin(Request *request)
{
	if (strcmp(request->method, "GET") != 0)
		answer_text(request, 405, "");
}

/*
 * Answer by path.
 */
static void
admin_finish(Request *request)
{
	Bookingd   *self = request->front->config.owner;
	size_t		len = strcspn(request->uri, "?");

	if (len == 8 && strncmp(request->uri, "/healthz", len) == 0)
		answer_text(request, 200, "ok\n");
	else if (len == 7 && strncmp(request->uri, "/readyz", len) == 0)
	{
		if (self->webhooks.draining)
			answer_text(request, 503, "draining\n");
		else if (!pool_is_up(self->pool))
			answer_text(request, 503, "no connection to the database\n");
		else
			answer_text(request, 200, "ready\n");
	}
	else if (len == 8 && strncmp(request->uri, "/metrics", len) == 0)
		finish_metrics(request);
	else
		answer_text(request, 404, "");
}

/*
 * Free what a scrape had.
 */
static void
admin_end(Request *request)
{
	pg_free(request->state);
}

/*
 * Answer with a line of text.
 */
static void
answer_text(Request *request, int status, const char *text)
{
	request_answer(request, status, NULL, text, strlen(text), "");
}

/*
 * Answer with the metrics, once those of the database are there.
 */
static void
finish_metrics(Request *request)
{
	Bookingd   *self = request->front->config.owner;
	ScrapeWaiter *waiter = pg_malloc0(sizeof(ScrapeWaiter));
	const char *rows;

	waiter->done = metrics_done;
	waiter->owner = request;
	request->state = waiter;
	if (!scrape_ask(self->scraper, waiter, &rows))
		answer_metrics(request, rows);
}

/*
 * The database has told its metrics, or will not.
 */
static void
metrics_done(ScrapeWaiter *waiter, const char *rows)
{
	answer_metrics(waiter->owner, rows);
}

/*
 * Send the metrics; "rows" is NULL when the database has told none.
 */
static void
answer_metrics(Request *request, const char *rows)
{
	Bookingd   *self = request->front->config.owner;
	MetricsGauges gauges;
	PQExpBufferData out;

	pool_stats(self->pool, &gauges.pool);
	gauges.connections = self->webhooks.nclients;
	gauges.in_flight = self->webhooks.nrequests;
	gauges.body_bytes = self->webhooks.body_bytes;
	gauges.draining = self->webhooks.draining;

	initPQExpBuffer(&out);
	metrics_write(self->metrics, &gauges, &out);
	appendPQExpBuffer(&out,
					  "# HELP bookingd_database_metrics 1 if those of the database follow.\n"
					  "# TYPE bookingd_database_metrics gauge\n"
					  "bookingd_database_metrics %d\n", rows ? 1 : 0);
	if (rows)
		appendPQExpBufferStr(&out, rows);
	if (PQExpBufferBroken(&out))
		answer_text(request, 503, "out of memory\n");
	else
		request_answer(request, 200, METRICS_TYPE, out.data, out.len, "");
	termPQExpBuffer(&out);
}

const FrontHandler admin_handler = {
	admin_begin, admin_finish, admin_end, NULL
};

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
 * A scrape waits for the database like a delivery does.  When it fails or is
 * late, the scrape has what bookingd itself knows, and bookingd_database_metrics
 * is 0.
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
static void metrics_done(PoolJob *job, PoolOutcome outcome, PGresult *result);
static void append_rows(PQExpBuffer out, const PGresult *result);
static void answer_metrics(Request *request, PQExpBuffer out);

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
 * Write the metrics, after those of the database where there are some.
 */
static void
finish_metrics(Request *request)
{
	Bookingd   *self = request->front->config.owner;
	PoolJob    *job;

	if (pool_has_metrics(self->pool))
	{
		job = pg_malloc0(sizeof(PoolJob));
		job->statement = POOL_METRICS;
		job->done = metrics_done;
		job->owner = request;
		request->state = job;
		if (pool_submit(self->pool, job))
			return;
	}
	answer_metrics(request, NULL);
}

/*
 * The database has told its metrics, or will not.
 */
static void
metrics_done(PoolJob *job, PoolOutcome outcome, PGresult *result)
{
	PQExpBufferData rows;

	initPQExpBuffer(&rows);
	if (outcome == POOL_COMMITTED)
		append_rows(&rows, result);
	answer_metrics(job->owner, outcome == POOL_COMMITTED ? &rows : NULL);
	termPQExpBuffer(&rows);
}

/*
 * Write the rows of booking_metrics(), which come in the order of names.
 * A name that ends in _total is a counter, any other a gauge.
 */
static void
append_rows(PQExpBuffer out, const PGresult *result)
{
	const char *previous = "";

	for (int row = 0; row < PQntuples(result); row++)
	{
		const char *name = PQgetvalue(result, row, 0);
		size_t		len = strlen(name);
		bool		counter = len > 6 && strcmp(name + len - 6, "_total") == 0;

		if (strcmp(name, previous) != 0)
			appendPQExpBuffer(out, "# TYPE %s %s\n", name, counter ? "counter" : "gauge");
		previous = name;
		appendPQExpBufferStr(out, name);
		if (PQgetlength(result, row, 1) > 0)
			appendPQExpBuffer(out, "{%s}", PQgetvalue(result, row, 1));
		appendPQExpBuffer(out, " %s\n",
						  PQgetisnull(result, row, 2) ? "NaN" : PQgetvalue(result, row, 2));
	}
}

/*
 * Send the metrics; "rows" is NULL when the database has told none.
 */
static void
answer_metrics(Request *request, PQExpBuffer rows)
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
		appendPQExpBufferStr(&out, rows->data);
	if (PQExpBufferBroken(&out))
		answer_text(request, 503, "out of memory\n");
	else
		request_answer(request, 200, METRICS_TYPE, out.data, out.len, "");
	termPQExpBuffer(&out);
}

const FrontHandler admin_handler = {
	admin_begin, admin_finish, admin_end, NULL
};

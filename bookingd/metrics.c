/*-------------------------------------------------------------------------
 *
 * metrics.c
 *	  what bookingd counts, as Prometheus reads it
 *
 * Verdicts come from the database, so the number of series is bounded here; and
 * no series names a source, whose name is a secret of its address.
 *
 * IDENTIFICATION
 *	  booking/bookingd/metrics.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "bookingd/clock.h"
#include "bookingd/metrics.h"
#include "bookingd/text.h"

#define MAX_SERIES 128
#define VERDICT_MAX 63

/* upper bounds of the buckets in microseconds, and as they are written */
static const struct
{
	int64		bound;
	const char *text;
}			buckets[] = {
	{1000, "0.001"},
	{2500, "0.0025"},
	{5000, "0.005"},
	{10000, "0.01"},
	{25000, "0.025"},
	{50000, "0.05"},
	{100000, "0.1"},
	{250000, "0.25"},
	{500000, "0.5"},
	{1000000, "1"},
	{2500000, "2.5"},
	{5000000, "5"},
	{10000000, "10"}
};

typedef struct Series
{
	int			status;
	char		verdict[VERDICT_MAX + 1];
	uint64		count;
} Series;

struct Metrics
{
	Series		series[MAX_SERIES];
	int			nseries;
	uint64		buckets[lengthof(buckets)];
	uint64		answers;
	int64		duration;		/* of all answers, in microseconds */
};

static Series *find_series(Metrics *metrics, int status, const char *verdict);
static void write_one(PQExpBuffer out, const char *name, const char *type,
					  const char *help, uint64 value);

/*
 * Counters at zero.
 */
Metrics *
metrics_create(void)
{
	return pg_malloc0(sizeof(Metrics));
}

/*
 * Free the counters.
 */
void
metrics_free(Metrics *metrics)
{
	pg_free(metrics);
}

/*
 * Count an answer, and the time from the end of the request to it.
 */
void
metrics_count(Metrics *metrics, int status, const char *verdict, int64 duration)
{
	find_series(metrics, status, verdict)->count++;
	metrics->answers++;
	metrics->duration += duration;
	for (size_t i = 0; i < lengthof(buckets); i++)
	{
		if (duration <= buckets[i].bound)
			metrics->buckets[i]++;
	}
}

/*
 * The series of a status and verdict.  The last places are kept for the rest.
 */
static Series *
find_series(Metrics *metrics, int status, const char *verdict)
{
	char		name[VERDICT_MAX + 1];
	Series	   *series;

	strlcpy(name, verdict, sizeof(name));
	for (int i = 0; i < metrics->nseries; i++)
	{
		series = &metrics->series[i];
		if (series->status == status && strcmp(series->verdict, name) == 0)
			return series;
	}
	if (metrics->nseries == MAX_SERIES - 1)
	{
		strlcpy(name, "other", sizeof(name));
		status = 0;
	}
	if (metrics->nseries == MAX_SERIES)
		return &metrics->series[MAX_SERIES - 1];
	series = &metrics->series[metrics->nseries++];
	series->status = status;
	strlcpy(series->verdict, name, sizeof(series->verdict));
	return series;
}

/*
 * Write a metric without labels.
 */
static void
write_one(PQExpBuffer out, const char *name, const char *type, const char *help,
		  uint64 value)
{
	appendPQExpBuffer(out, "# HELP %s %s\n# TYPE %s %s\n%s " UINT64_FORMAT "\n",
					  name, help, name, type, name, value);
}

/*
 * Write the answers and how long they took.
 */
static void
write_answers(const Metrics *metrics, PQExpBuffer out)
{
	appendPQExpBufferStr(out,
						 "# HELP bookingd_requests_total Requests answered.\n"
						 "# TYPE bookingd_requests_total counter\n");
	for (int i = 0; i < metrics->nseries; i++)
	{
		const Series *series = &metrics->series[i];

		appendPQExpBuffer(out, "bookingd_requests_total{status=\"%d\",verdict=", series->status);
		text_append_label(out, series->verdict);
		appendPQExpBuffer(out, "} " UINT64_FORMAT "\n", series->count);
	}

	appendPQExpBufferStr(out,
						 "# HELP bookingd_answer_seconds Time from the end of a request to its answer.\n"
						 "# TYPE bookingd_answer_seconds histogram\n");
	for (size_t i = 0; i < lengthof(buckets); i++)
		appendPQExpBuffer(out, "bookingd_answer_seconds_bucket{le=\"%s\"} " UINT64_FORMAT "\n",
						  buckets[i].text, metrics->buckets[i]);
	appendPQExpBuffer(out,
					  "bookingd_answer_seconds_bucket{le=\"+Inf\"} " UINT64_FORMAT "\n"
					  "bookingd_answer_seconds_sum %.6f\n"
					  "bookingd_answer_seconds_count " UINT64_FORMAT "\n",
					  metrics->answers, (double) metrics->duration / CLOCK_SECOND,
					  metrics->answers);
}

/*
 * Write everything, the counters and what was just measured.
 */
void
metrics_write(const Metrics *metrics, const MetricsGauges *gauges, PQExpBuffer out)
{
	const PoolStats *pool = &gauges->pool;

	write_answers(metrics, out);
	write_one(out, "bookingd_connections", "gauge", "Connections of senders.",
			  gauges->connections);
	write_one(out, "bookingd_requests_in_flight", "gauge", "Requests not yet answered.",
			  gauges->in_flight);
	write_one(out, "bookingd_body_bytes", "gauge", "Memory that bodies take.",
			  gauges->body_bytes);
	write_one(out, "bookingd_draining", "gauge", "1 while bookingd ends.",
			  gauges->draining ? 1 : 0);
	write_one(out, "bookingd_up", "gauge", "1 while deliveries can be stored.",
			  pool->idle + pool->busy > 0 ? 1 : 0);
	appendPQExpBuffer(out,
					  "# HELP bookingd_pool_connections Connections to the database.\n"
					  "# TYPE bookingd_pool_connections gauge\n"
					  "bookingd_pool_connections{state=\"idle\"} %d\n"
					  "bookingd_pool_connections{state=\"busy\"} %d\n"
					  "bookingd_pool_connections{state=\"down\"} %d\n",
					  pool->idle, pool->busy, pool->size - pool->idle - pool->busy);
	write_one(out, "bookingd_pool_waiting", "gauge",
			  "Deliveries that wait for a connection to the database.", pool->waiting);
	write_one(out, "bookingd_pool_connects_total", "counter",
			  "Connections to the database that were made.", pool->connects);
	write_one(out, "bookingd_pool_reconnects_total", "counter",
			  "Connections to the database that replaced a lost one.", pool->reconnects);
	write_one(out, "bookingd_pool_connect_failures_total", "counter",
			  "Attempts to connect to the database that failed.", pool->failures);
	appendPQExpBuffer(out,
					  "# HELP bookingd_build_info The version of bookingd.\n"
					  "# TYPE bookingd_build_info gauge\n"
					  "bookingd_build_info{version=\"%s\"} 1\n", BOOKING_VERSION);
}

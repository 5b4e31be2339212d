/*-------------------------------------------------------------------------
 *
 * webhook.c
 *	  deliveries of webhooks
 *
 * POST /webhooks/SOURCE becomes a call of booking_webhook_receive(), and what that
 * returns becomes the answer, after its transaction is committed.  GET with a query
 * is let through as well: some providers ask so whether an address is theirs.
 *
 * What is refused here is refused before the database hears of it, and most of it
 * before the body is read.  Every answer of ours that is not the database's is a
 * 4xx for what will not be better the next time, or 429 and 503 with Retry-After;
 * never a 2xx.
 *
 * IDENTIFICATION
 *	  booking/bookingd/webhook.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "bookingd/bookingd.h"
#include "bookingd/clock.h"
#include "bookingd/text.h"
#include "bookingd/webhook.h"

#define PREFIX "/webhooks/"

/* columns of booking_webhook_receive() */
enum
{
	ANSWER_STATUS,
	ANSWER_CONTENT_TYPE,
	ANSWER_BODY,
	ANSWER_VERDICT,
	ANSWER_COLUMNS
};

/* a delivery on its way */
typedef struct Delivery
{
	PoolJob		job;
	char	   *source;
	PQExpBufferData headers;	/* as JSON */
	int			nheaders;
	bool		malformed;		/* a header that no text can hold */
} Delivery;

static const char *find_refusal(Request *request, Delivery *delivery, int *status);
static const char *check_length(Request *request, int *status);
static enum MHD_Result take_header(void *arg, enum MHD_ValueKind kind,
								   const char *name, size_t name_len,
								   const char *value, size_t value_len);
static void webhook_done(PoolJob *job, PoolOutcome outcome, PGresult *result);
static void answer_failure(Request *request, const PGresult *result);
static void answer_result(Request *request, const PGresult *result);

/*
 * The headers are there: refuse, or take the body.
 */
static void
webhook_begin(Request *request)
{
	Delivery   *delivery = pg_malloc0(sizeof(Delivery));
	const char *refusal;
	int			status;

	request->state = delivery;
	initPQExpBuffer(&delivery->headers);
	refusal = find_refusal(request, delivery, &status);
	if (refusal)
		request_answer(request, status, NULL, NULL, 0, refusal);
}

/*
 * Why a request is not for the database, and with which status; else NULL.
 *
 * The rate comes last, so that what is refused anyway takes nothing from it.
 */
static const char *
find_refusal(Request *request, Delivery *delivery, int *status)
{
	Bookingd   *self = request->front->config.owner;
	const char *query = text_query_of(request->uri);
	const char *reason;

	delivery->source = text_source_of(request->uri, PREFIX);
	*status = 404;
	if (!delivery->source || strlen(delivery->source) > RATE_NAME_MAX)
		return "refused_path";

	*status = 405;
	if (strcmp(request->method, "POST") != 0 &&
		(strcmp(request->method, "GET") != 0 || !query))
		return "refused_method";

	appendPQExpBufferChar(&delivery->headers, '[');
	MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, take_header, delivery);
	appendPQExpBufferChar(&delivery->headers, ']');
	*status = 431;
	if (delivery->nheaders > self->options.max_headers)
		return "refused_headers";
	*status = 400;
	if (delivery->malformed || (query && !text_is_valid(query)))
		return "refused_malformed";

	reason = check_length(request, status);
	if (reason)
		return reason;

	/* the body would be read for nothing */
	*status = 503;
	if (PQExpBufferBroken(&delivery->headers))
		return "unavailable_memory";
	if (!pool_is_up(self->pool))
		return "unavailable_database";

	*status = 429;
	if (!rate_allow(self->rate, delivery->source, clock_now()))
		return "refused_rate";
	return NULL;
}

/*
 * Judge the length that a request announces.  One that announces it twice, or
 * in two ways, means one thing to us and another to a proxy.
 */
static const char *
check_length(Request *request, int *status)
{
	const char *length = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
													 MHD_HTTP_HEADER_CONTENT_LENGTH);
	const char *encoding = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
													   MHD_HTTP_HEADER_TRANSFER_ENCODING);
	char	   *end;
	unsigned long long announced;

	*status = 400;
	if (length && encoding)
		return "refused_malformed";
	if (encoding && pg_strcasecmp(encoding, "chunked") != 0)
		return "refused_malformed";
	if (!length)
		return NULL;
	if (length[0] < '0' || length[0] > '9')
		return "refused_malformed";
	errno = 0;
	announced = strtoull(length, &end, 10);
	if (*end != '\0')
		return "refused_malformed";
	*status = 413;
	if (errno != 0 || announced > request->front->config.max_body)
		return "refused_size";
	return NULL;
}

/*
 * Add a header to the array of pairs.  Beyond the limit they are only counted.
 */
static enum MHD_Result
take_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_len,
			const char *value, size_t value_len)
{
	Delivery   *delivery = arg;
	PQExpBuffer out = &delivery->headers;

	(void) kind;
	if (memchr(name, '\0', name_len) || (value && memchr(value, '\0', value_len)))
		delivery->malformed = true;
	if (delivery->nheaders++ >= 1000)
		return MHD_YES;
	if (delivery->nheaders > 1)
		appendPQExpBufferChar(out, ',');
	appendPQExpBufferChar(out, '[');
	text_append_json(out, name, name_len);
	appendPQExpBufferChar(out, ',');
	text_append_json(out, value ? value : "", value ? value_len : 0);
	appendPQExpBufferChar(out, ']');
	return MHD_YES;
}

/*
 * All is there: ask the database.
 */
static void
webhook_finish(Request *request)
{
	Bookingd   *self = request->front->config.owner;
	Delivery   *delivery = request->state;
	PoolJob    *job = &delivery->job;

	job->statement = POOL_RECEIVE;
	job->done = webhook_done;
	job->owner = request;
	job->values[0] = delivery->source;
	job->values[1] = delivery->headers.data;
	job->values[2] = request->body ? request->body : "";
	job->lengths[2] = (int) request->body_len;
	job->formats[2] = 1;
	job->values[3] = text_query_of(request->uri);
	if (!pool_submit(self->pool, job))
		request_answer(request, 503, NULL, NULL, 0,
					   pool_is_up(self->pool) ? "unavailable_queue" : "unavailable_database");
}

/*
 * The request is over.
 */
static void
webhook_end(Request *request)
{
	Delivery   *delivery = request->state;

	if (!delivery)
		return;
	termPQExpBuffer(&delivery->headers);
	pg_free(delivery->source);
	pg_free(delivery);
}

/*
 * Count an answer.
 */
static void
webhook_answered(Request *request, int status, const char *verdict)
{
	Bookingd   *self = request->front->config.owner;
	int64		duration = request->received_at > 0 ? clock_now() - request->received_at : 0;

	metrics_count(self->metrics, status, verdict, duration);
}

/*
 * The database has answered, or will not.
 */
static void
webhook_done(PoolJob *job, PoolOutcome outcome, PGresult *result)
{
	Request    *request = job->owner;

	if (outcome == POOL_UNAVAILABLE)
		request_answer(request, 503, NULL, NULL, 0, "unavailable_database");
	else if (outcome == POOL_FAILED)
		answer_failure(request, result);
	else
		answer_result(request, result);
}

/*
 * The call failed, and nothing is stored.  Conditions that pass are 503, what is
 * wrong with this delivery or with the function is 500; senders repeat both.
 */
static void
answer_failure(Request *request, const PGresult *result)
{
	static const char *const passing[] = {
		"08", "25", "40", "42", "3F", "53", "55", "57", "58", "0A"
	};
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	for (size_t i = 0; sqlstate && i < lengthof(passing); i++)
	{
		if (strncmp(sqlstate, passing[i], 2) == 0)
		{
			request_answer(request, 503, NULL, NULL, 0, "unavailable_database");
			return;
		}
	}
	request_answer(request, 500, NULL, NULL, 0, "failed");
}

/*
 * Is this a value that a header can have?
 */
static bool
is_header_value(const char *value)
{
	if (*value == '\0')
		return false;
	for (; *value; value++)
	{
		if ((unsigned char) *value < ' ' || (unsigned char) *value >= 0x7f)
			return false;
	}
	return true;
}

/*
 * Send what the database said.  The transaction is committed.
 */
static void
answer_result(Request *request, const PGresult *result)
{
	const char *content_type = NULL;
	int			status = 0;

	if (PQntuples(result) == 1 && PQnfields(result) == ANSWER_COLUMNS)
		status = (int) strtol(PQgetvalue(result, 0, ANSWER_STATUS), NULL, 10);
	if (status < 200 || status > 599)
	{
		request_answer(request, 500, NULL, NULL, 0, "failed");
		return;
	}
	if (!PQgetisnull(result, 0, ANSWER_CONTENT_TYPE) &&
		is_header_value(PQgetvalue(result, 0, ANSWER_CONTENT_TYPE)))
		content_type = PQgetvalue(result, 0, ANSWER_CONTENT_TYPE);
	request_answer(request, status, content_type, PQgetvalue(result, 0, ANSWER_BODY),
				   PQgetlength(result, 0, ANSWER_BODY), PQgetvalue(result, 0, ANSWER_VERDICT));
}

const FrontHandler webhook_handler = {
	webhook_begin, webhook_finish, webhook_end, webhook_answered
};

/*-------------------------------------------------------------------------
 *
 * google_channel.c
 *	  is told at once of changes in a calendar of Google
 *
 * Channels cannot be renewed: a new one is opened, and the old one stopped (the
 * guide on push notifications, developers.google.com/calendar/v3/push; G-REF,
 * Channel).  Times are milliseconds since 1970, as text.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_channel.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "codec/json_write.h"
#include "provider/google.h"
#include "provider/report.h"

static const char *channel_url(const BookingChannelJob *job,
							   BookingArena *arena, const char *base);
static char *write_body(const BookingChannelJob *job, BookingArena *arena,
						size_t *len);
static bool refuses(BookingArena *arena, const BookingHttpResponse *response,
					const char **problem);
static bool read_channel(BookingChannelTask *task, const BookingJson *json);

/*
 * Build the request; without one the kind is set.
 */
void
booking_google_channel_start(BookingChannelTask *task,
							 BookingHttpRequest *request)
{
	const BookingChannelJob *job = task->job;
	const char *problem = "bad_url";
	const char *base = booking_google_base(task->arena, job->base_url, &problem);
	const char *url;
	char	   *body;
	size_t		len;

	memset(request, 0, sizeof(*request));
	if (base == NULL || job->wish == BOOKING_CHANNEL_RENEW)
	{
		booking_report_channel_end(task, BOOKING_CHANNEL_REFUSED,
								   base == NULL ? problem : "incomplete_job", NULL);
		return;
	}
	url = channel_url(job, task->arena, base);
	body = write_body(job, task->arena, &len);
	if (url == NULL || body == NULL)
	{
		booking_report_channel_end(task, BOOKING_CHANNEL_LATER, "out_of_memory",
								   NULL);
		return;
	}
	request->method = "POST";
	request->url = url;
	request->headers[0].name = "Content-Type";
	request->headers[0].value = "application/json; charset=utf-8";
	request->nheaders = 1;
	request->body = body;
	request->body_len = len;
}

/*
 * Where a channel is opened or stopped; NULL when memory is short.
 */
static const char *
channel_url(const BookingChannelJob *job, BookingArena *arena, const char *base)
{
	const char *calendar = job->wish == BOOKING_CHANNEL_CLOSE ? base :
		booking_google_calendar(arena, base, job->collection);
	BookingBuffer url;

	if (calendar == NULL)
		return NULL;
	booking_buffer_init(&url, arena);
	(void) booking_buffer_add_text(&url, calendar);
	(void) booking_buffer_add_text(&url, job->wish == BOOKING_CHANNEL_CLOSE ?
								   "/channels/stop" : "/events/watch");
	return booking_arena_failed(arena) ? NULL : url.data;
}

/*
 * The body of a request; NULL when memory is short.
 */
static char *
write_body(const BookingChannelJob *job, BookingArena *arena, size_t *len)
{
	BookingJsonWriter writer;
	char		ends[32];

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "id", job->channel);
	if (job->wish == BOOKING_CHANNEL_CLOSE)
		booking_json_put_text(&writer, "resourceId", job->remote);
	else
	{
		snprintf(ends, sizeof(ends), "%lld", (long long) (job->until / 1000));
		booking_json_put_text(&writer, "type", "web_hook");
		booking_json_put_text(&writer, "address", job->push_url);
		booking_json_put_text(&writer, "token", job->secret);
		booking_json_put_text(&writer, "expiration", ends);
	}
	booking_json_close(&writer, '}');
	return booking_json_end(&writer, len);
}

/*
 * Judge the answer.
 */
void
booking_google_channel_judge(BookingChannelTask *task,
							 const BookingHttpResponse *response)
{
	booking_rest_channel_judge(task, response, refuses, read_channel);
}

/*
 * Is it refused for good?  A 403 may be about limits, by its reason.
 */
static bool
refuses(BookingArena *arena, const BookingHttpResponse *response,
		const char **problem)
{
	BookingGoogleRefusal refusal = booking_google_refusal(arena, response, problem);

	return booking_rest_answered(response, 400) ||
		refusal == BOOKING_GOOGLE_REFUSED;
}

/*
 * A channel was opened: its answer says until when, and what it is stopped by.
 */
static bool
read_channel(BookingChannelTask *task, const BookingJson *json)
{
	const char *id = booking_json_text(json, "id");
	const char *ends = booking_json_text(json, "expiration");

	task->remote = booking_json_text(json, "resourceId");
	task->until = ends == NULL ? 0 :
		(int64) Min(Max(strtoll(ends, NULL, 10), 0), PG_INT64_MAX / 1000) * 1000;
	return id != NULL && strcmp(id, task->job->channel) == 0 &&
		task->remote != NULL;
}

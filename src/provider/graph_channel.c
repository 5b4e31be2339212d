/*-------------------------------------------------------------------------
 *
 * graph_channel.c
 *	  is told at once of changes in a mailbox of Microsoft
 *
 * Subscriptions (learn.microsoft.com/graph, api/subscription-post-subscriptions,
 * -update, -delete; change-notifications-lifecycle-events).  They are to the
 * events of the mailbox, since those of one calendar are not documented as a
 * resource; whatever is told is only a reason to read.  One is renewed by giving
 * it a later end.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_channel.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "codec/rfc3339.h"
#include "provider/graph.h"
#include "provider/report.h"

static const char *channel_url(const BookingChannelJob *job,
							   BookingArena *arena, const char *base);
static char *write_body(const BookingChannelJob *job, BookingArena *arena,
						const char *base, size_t *len);
static bool refuses(BookingArena *arena, const BookingHttpResponse *response,
					const char **problem);
static bool read_channel(BookingChannelTask *task, const BookingJson *json);

/*
 * Build the request; without one the kind is set.
 */
void
booking_graph_channel_start(BookingChannelTask *task,
							BookingHttpRequest *request)
{
	const BookingChannelJob *job = task->job;
	const char *problem = "bad_url";
	const char *base = booking_graph_base(task->arena, job->base_url, &problem);
	const char *url;

	memset(request, 0, sizeof(*request));
	if (base == NULL || (job->wish != BOOKING_CHANNEL_OPEN && job->remote == NULL))
	{
		booking_report_channel_end(task, BOOKING_CHANNEL_REFUSED,
								   base == NULL ? problem : "incomplete_job", NULL);
		return;
	}
	url = channel_url(job, task->arena, base);
	if (url != NULL && job->wish != BOOKING_CHANNEL_CLOSE)
		request->body = write_body(job, task->arena, base, &request->body_len);
	if (booking_arena_failed(task->arena) || url == NULL ||
		(job->wish != BOOKING_CHANNEL_CLOSE && request->body == NULL))
	{
		booking_report_channel_end(task, BOOKING_CHANNEL_LATER, "out_of_memory",
								   NULL);
		return;
	}
	request->method = job->wish == BOOKING_CHANNEL_OPEN ? "POST" :
		job->wish == BOOKING_CHANNEL_RENEW ? "PATCH" : "DELETE";
	request->url = url;
	booking_rest_header(request, "Prefer", BOOKING_GRAPH_PREFER);
	if (request->body != NULL)
		booking_rest_header(request, "Content-Type", BOOKING_GRAPH_JSON);
}

/*
 * Where the subscription is, or all of them are; NULL when memory is short.
 */
static const char *
channel_url(const BookingChannelJob *job, BookingArena *arena, const char *base)
{
	const char *id = job->wish == BOOKING_CHANNEL_OPEN ? NULL :
		booking_rest_segment(arena, job->remote);

	return booking_graph_join(arena, base, "/subscriptions",
							  id == NULL ? "" :
							  booking_graph_join(arena, "/", id, ""));
}

/*
 * The body of a request; NULL when it cannot be written.
 */
static char *
write_body(const BookingChannelJob *job, BookingArena *arena, const char *base,
		   size_t *len)
{
	BookingJsonWriter writer;
	char		ends[BOOKING_RFC3339_SIZE];
	const char *calendar;
	const char *mailbox;

	if (!booking_rfc3339_write(job->until, ends))
		return NULL;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	if (job->wish == BOOKING_CHANNEL_OPEN)
	{
		mailbox = booking_graph_mailbox(arena, base, job->collection, &calendar);
		if (mailbox == NULL)
			return NULL;
		booking_json_put_text(&writer, "changeType", "created,updated,deleted");
		booking_json_put_text(&writer, "notificationUrl", job->push_url);
		booking_json_put_text(&writer, "lifecycleNotificationUrl", job->push_url);
		booking_json_put_text(&writer, "resource",
							  booking_graph_join(arena, mailbox + strlen(base),
												 "/events", ""));
		booking_json_put_text(&writer, "clientState", job->secret);
	}
	booking_json_put_text(&writer, "expirationDateTime", ends);
	booking_json_close(&writer, '}');
	return booking_json_end(&writer, len);
}

/*
 * Judge the answer.
 */
void
booking_graph_channel_judge(BookingChannelTask *task,
							const BookingHttpResponse *response)
{
	booking_rest_channel_judge(task, response, refuses, read_channel);
}

/*
 * Is it refused for good?
 */
static bool
refuses(BookingArena *arena, const BookingHttpResponse *response,
		const char **problem)
{
	return booking_graph_refusal(arena, response, problem,
								 NULL) == BOOKING_GRAPH_REFUSED;
}

/*
 * A subscription was made or renewed: its answer says until when.
 */
static bool
read_channel(BookingChannelTask *task, const BookingJson *json)
{
	const char *ends = booking_json_text(json, "expirationDateTime");
	BookingTime time;

	task->remote = booking_json_text(json, "id");
	if (ends == NULL || !booking_rfc3339_read(ends, &time) ||
		!booking_rfc3339_instant(&time, NULL, &task->until))
		task->until = 0;
	return task->remote != NULL && (task->job->remote == NULL ||
									strcmp(task->remote, task->job->remote) == 0);
}

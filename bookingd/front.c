/*-------------------------------------------------------------------------
 *
 * front.c
 *	  a listener for HTTP: requests and their answers
 *
 * libmicrohttpd reads and writes, in our loop.  What it does not know is how long
 * a request may take as a whole; see client.c.
 *
 * A request that waits for the database is suspended and takes nothing but its
 * memory.  It cannot be answered in the middle of its body, so a body that turns
 * out to be too large is read on, without being kept, to twice the limit, and then
 * answered in words that libmicrohttpd does not see.
 *
 * IDENTIFICATION
 *	  booking/bookingd/front.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <sys/socket.h>

#include "bookingd/client.h"
#include "bookingd/clock.h"
#include "bookingd/front.h"
#include "bookingd/log.h"

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
							  const char *url, const char *method,
							  const char *version, const char *upload_data,
							  size_t *upload_len, void **context);
static enum MHD_Result take_body(Request *request, const char *data, size_t *len);
static void finish_body(Request *request);
static enum MHD_Result respond(Request *request);

/*
 * libmicrohttpd has read a request's first line.
 */
static void *
request_starts(void *arg, const char *uri, struct MHD_Connection *connection)
{
	Front	   *front = arg;
	Request    *request = pg_malloc_extended(sizeof(Request), MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	char	   *copy = pg_malloc_extended(strlen(uri) + 1, MCXT_ALLOC_NO_OOM);

	if (!request || !copy)
	{
		pg_free(request);
		pg_free(copy);
		return NULL;
	}
	memcpy(copy, uri, strlen(uri) + 1);
	request->front = front;
	request->uri = copy;
	request->connection = connection;
	request->client = client_of(connection);
	request->client->request = request;
	front->nrequests++;
	return request;
}

/*
 * libmicrohttpd is done with a request, answered or not.
 */
static void
request_ends(void *arg, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	Front	   *front = arg;
	Request    *request = *context;

	(void) connection;
	(void) code;
	*context = NULL;
	if (!request)
		return;
	if (front->config.handler->end)
		front->config.handler->end(request);
	if (request->response)
		MHD_destroy_response(request->response);
	request->client->request = NULL;
	client_wait(front, request->client);
	front->body_bytes -= request->body_room;
	front->nrequests--;
	pg_free(request->body);
	pg_free(request->uri);
	pg_free(request);
}

/*
 * What libmicrohttpd has to say of requests that are none is for nobody: it
 * would be written by whoever sends them.
 */
static void
ignore_message(void *arg, const char *fmt, va_list args)
{
	(void) arg;
	(void) fmt;
	(void) args;
}

/*
 * The loop has news for libmicrohttpd, which front_tick() lets it see to.
 */
static void
front_ready(LoopSource *source, uint32 events)
{
	(void) source;
	(void) events;
}

/*
 * Listen.  False, with the reason logged, when that cannot be.
 */
bool
front_start(Front *front, Loop *loop, const FrontConfig *config)
{
	const union MHD_DaemonInfo *info;
	int			fd;

	memset(front, 0, sizeof(*front));
	front->config = *config;
	front->loop = loop;
	front->source.fd = -1;
	front->source.ready = front_ready;
	front->source.owner = front;
	dlist_init(&front->clients);

	fd = client_listen(config->listen, config->name);
	if (fd < 0)
		return false;
	front->daemon =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
						 0, NULL, NULL, handle, front,
						 MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
						 MHD_OPTION_LISTEN_SOCKET, fd,
						 MHD_OPTION_CONNECTION_LIMIT, (unsigned int) config->max_connections,
						 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) config->max_header_size,
						 MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t) 4096,
						 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int) config->timeout + 1,
						 MHD_OPTION_STRICT_FOR_CLIENT, 1,
						 MHD_OPTION_URI_LOG_CALLBACK, request_starts, front,
						 MHD_OPTION_NOTIFY_COMPLETED, request_ends, front,
						 MHD_OPTION_NOTIFY_CONNECTION, client_notify, front,
						 MHD_OPTION_END);
	if (!front->daemon)
	{
		log_error("libmicrohttpd could not be started for %s", config->name);
		closesocket(fd);
		return false;
	}
	info = MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	return info && loop_watch(loop, &front->source, info->epoll_fd, EPOLLIN);
}

/*
 * Let libmicrohttpd do what there is to do, end what took too long, and return
 * when to come again at the latest.
 */
int64
front_tick(Front *front, int64 now)
{
	MHD_UNSIGNED_LONG_LONG left;
	int64		next;

	client_expire(front, now);
	front->resumed = false;
	MHD_run(front->daemon);
	next = client_next_deadline(front);
	if (MHD_get_timeout(front->daemon, &left) == MHD_YES)
		next = Min(next, now + (int64) Min(left, 60000) * 1000);
	return next;
}

/*
 * Accept no more connections, and end those that do nothing.
 */
void
front_drain(Front *front)
{
	MHD_socket	fd = MHD_quiesce_daemon(front->daemon);

	if (fd != MHD_INVALID_SOCKET)
		closesocket(fd);
	front->draining = true;
	client_end_idle(front);
}

/*
 * Take a listener down, if it was started.  No request may be suspended.
 */
void
front_stop(Front *front)
{
	if (!front->daemon)
		return;
	loop_forget(front->loop, &front->source);
	MHD_stop_daemon(front->daemon);
	front->daemon = NULL;
}

/*
 * Called by libmicrohttpd: when the headers are there, for each piece of the
 * body, at its end, and after a suspended request was resumed.
 */
static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url,
	   const char *method, const char *version, const char *upload_data,
	   size_t *upload_len, void **context)
{
	Front	   *front = arg;
	Request    *request = *context;

	(void) connection;
	(void) url;
	(void) version;
	if (!request)
		return MHD_NO;			/* out of memory */
	request->method = method;
	if (request->phase == REQUEST_HEADERS)
	{
		request->phase = REQUEST_BODY;
		front->config.handler->begin(request);
		return request->phase == REQUEST_ANSWERED ? respond(request) : MHD_YES;
	}
	if (*upload_len > 0)
		return take_body(request, upload_data, upload_len);
	if (request->phase == REQUEST_BODY)
	{
		finish_body(request);
		if (request->phase != REQUEST_ANSWERED)
		{
			request->suspended = true;
			MHD_suspend_connection(request->connection);
			return MHD_YES;
		}
	}
	return request->phase == REQUEST_ANSWERED ? respond(request) : MHD_YES;
}

/*
 * Keep a piece of the body.  Room grows with what has come, so that a length
 * that is only announced costs nothing.
 */
static enum MHD_Result
take_body(Request *request, const char *data, size_t *len)
{
	Front	   *front = request->front;
	size_t		piece = *len;

	*len = 0;
	request->body_total += piece;
	if (request->body_total > front->config.max_body)
	{
		if (request->body_total <= 2 * front->config.max_body)
			return MHD_YES;
		client_refuse(request->client, 413);
		if (front->config.handler->answered)
			front->config.handler->answered(request, 413, "refused_size");
		return MHD_NO;
	}
	if (request->body_len + piece > request->body_room)
	{
		size_t		room = Max(request->body_room * 2, request->body_len + piece);
		char	   *larger = NULL;

		room = Min(room, front->config.max_body);
		if (front->body_bytes - request->body_room + room <= front->config.max_memory)
			larger = pg_malloc_extended(room, MCXT_ALLOC_NO_OOM);
		if (!larger)
		{
			client_refuse(request->client, 503);
			if (front->config.handler->answered)
				front->config.handler->answered(request, 503, "unavailable_memory");
			return MHD_NO;
		}
		if (request->body_len > 0)
			memcpy(larger, request->body, request->body_len);
		pg_free(request->body);
		front->body_bytes += room - request->body_room;
		request->body = larger;
		request->body_room = room;
	}
	memcpy(request->body + request->body_len, data, piece);
	request->body_len += piece;
	return MHD_YES;
}

/*
 * The request is complete.
 */
static void
finish_body(Request *request)
{
	Front	   *front = request->front;

	client_hold(request->client);
	request->phase = REQUEST_WAITING;
	request->received_at = clock_now();
	if (request->body_total > front->config.max_body)
		request_answer(request, 413, NULL, NULL, 0, "refused_size");
	else
		front->config.handler->finish(request);
}

/*
 * Answer a request, now or when libmicrohttpd comes back to it.  The verdict is
 * counted; without content type the text is plain, without text it says what
 * the status is.
 */
void
request_answer(Request *request, int status, const char *content_type,
			   const char *text, size_t len, const char *verdict)
{
	Front	   *front = request->front;
	char		number[32];

	if (request->received_at == 0)
		request->received_at = clock_now();
	request->status = status;
	request->phase = REQUEST_ANSWERED;
	request->response =
		MHD_create_response_from_buffer(len, (void *) (text ? text : ""),
										MHD_RESPMEM_MUST_COPY);
	if (request->response)
	{
		if (len > 0)
			MHD_add_response_header(request->response, "Content-Type",
									content_type ? content_type : "text/plain; charset=utf-8");
		MHD_add_response_header(request->response, "Cache-Control", "no-store");
		if (status == 503 || status == 429)
		{
			snprintf(number, sizeof(number), "%d", front->config.retry_after);
			MHD_add_response_header(request->response, "Retry-After", number);
		}
		if (status == 405)
			MHD_add_response_header(request->response, "Allow", "POST");
		if (front->draining)
			MHD_add_response_header(request->response, "Connection", "close");
	}
	if (front->config.handler->answered)
		front->config.handler->answered(request, status, verdict);
	if (request->suspended)
	{
		request->suspended = false;
		front->resumed = true;
		MHD_resume_connection(request->connection);
	}
}

/*
 * Hand the answer to libmicrohttpd.  Without memory for one the connection ends,
 * which the sender takes for a failure.
 */
static enum MHD_Result
respond(Request *request)
{
	enum MHD_Result result;

	if (!request->response)
		return MHD_NO;
	result = MHD_queue_response(request->connection, request->status, request->response);
	MHD_destroy_response(request->response);
	request->response = NULL;
	return result;
}

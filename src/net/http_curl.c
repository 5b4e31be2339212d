/*-------------------------------------------------------------------------
 *
 * http_curl.c
 *	  the one HTTP engine, on libcurl's multi interface
 *
 * libcurl says which sockets it waits for and when it wants to be called
 * again; we wait for them together with the latch and the postmaster's death,
 * so that neither a slow server nor a slow name server keeps the process from
 * its interrupts.  A process that does not answer those blocks DROP DATABASE
 * of any database.
 *
 * Within libcurl all signals are blocked.  The threads that it makes for
 * resolving names inherit that; otherwise they would run the server's signal
 * handlers.  Hence nothing may throw there: the mask would stay.
 *
 * The engine lives in a memory context of its own, and the callback of that
 * context frees what libcurl holds, on errors too.  A transfer is in one of
 * two lists: running, with its handle in the multi handle, or ended, with its
 * response to be delivered.
 *
 * IDENTIFICATION
 *	  booking/src/net/http_curl.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "utils/memutils.h"

#include "net/http_internal.h"

/* idle connections kept for reads */
#define MAX_IDLE_CONNECTIONS 64L

/* CURLMOPT_RESOLVE_THREADS_MAX and CURLMOPT_QUICK_EXIT, which older headers lack */
#define RESOLVE_THREADS_OPTION ((CURLMoption) (CURLOPTTYPE_LONG + 20))
#define QUICK_EXIT_OPTION ((CURLMoption) (CURLOPTTYPE_LONG + 21))

/* the most that booking.max_in_flight can be */
#define MAX_RESOLVER_THREADS 1000L

static void initialize_library(void);
static void release_engine(void *arg);
static CURLM *make_multi(BookingHttpEngine *engine);
static int	set_timer(CURLM *multi, long timeout, void *arg);
static void note_networks(BookingHttpEngine *engine, const char *networks);
static bool run(BookingHttpEngine *engine, BookingTransfer *transfer,
				int64 now);
static void finish(BookingHttpEngine *engine, BookingTransfer *transfer,
				   CURLcode code, int64 now);
static void end(BookingHttpEngine *engine, BookingTransfer *transfer);
static void advance(BookingHttpEngine *engine);
static void collect_finished(BookingHttpEngine *engine, int64 now);
static void watch_first_bytes(BookingHttpEngine *engine, int64 now);
static int	deliver(BookingHttpEngine *engine);

/*
 * Make an engine in the current memory context; it goes with that context.
 */
BookingHttpEngine *
booking_http_create(void)
{
	MemoryContext context;
	BookingHttpEngine *engine;
	sigset_t	saved;

	initialize_library();
	context = AllocSetContextCreate(CurrentMemoryContext, "booking http",
									ALLOCSET_DEFAULT_SIZES);
	engine = MemoryContextAllocZero(context, sizeof(BookingHttpEngine));
	engine->context = context;
	engine->networks = MemoryContextStrdup(context, "");
	engine->timer_due = BOOKING_HTTP_NEVER;
	engine->first_byte_due = BOOKING_HTTP_NEVER;
	dlist_init(&engine->sockets);
	dlist_init(&engine->running);
	dlist_init(&engine->ended);

	booking_http_block_signals(&saved);
	engine->multi = make_multi(engine);
	booking_http_restore_signals(&saved);
	if (engine->multi == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("libcurl could not be set up.")));

	engine->callback.func = release_engine;
	engine->callback.arg = engine;
	MemoryContextRegisterResetCallback(context, &engine->callback);
	return engine;
}

/*
 * Initialize libcurl, once per process and never in the postmaster, whose
 * children would share the state of its random numbers.
 */
static void
initialize_library(void)
{
	static bool is_initialized = false;
	const curl_version_info_data *version;
	sigset_t	saved;
	CURLcode	code;

	if (is_initialized)
		return;

	booking_http_block_signals(&saved);
	code = curl_global_init(CURL_GLOBAL_DEFAULT);
	booking_http_restore_signals(&saved);
	if (code != CURLE_OK)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("could not initialize libcurl")));

	version = curl_version_info(CURLVERSION_NOW);
	if (version->version_num < 0x075700)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("libcurl %s is too old", version->version),
				 errhint("Version 7.87 or later is needed.")));
	if ((version->features & CURL_VERSION_SSL) == 0 ||
		(version->features & CURL_VERSION_ASYNCHDNS) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("libcurl was built without TLS or asynchronous name resolution")));
	is_initialized = true;
}

/*
 * Free an engine.  Nothing is delivered any more; open requests are broken
 * off.
 */
void
booking_http_destroy(BookingHttpEngine *engine)
{
	MemoryContextDelete(engine->context);
}

/*
 * Give back what the engine holds in libcurl: called when its memory context
 * goes, after an error too.  Neither arenas nor requests are touched, they may
 * be gone.
 */
static void
release_engine(void *arg)
{
	BookingHttpEngine *engine = arg;
	dlist_mutable_iter iter;
	sigset_t	saved;

	booking_http_block_signals(&saved);
	dlist_foreach_modify(iter, &engine->running)
	{
		BookingTransfer *transfer = dlist_container(BookingTransfer, node, iter.cur);

		curl_multi_remove_handle(engine->multi, transfer->easy);
		booking_http_clear(transfer);
		curl_url_cleanup(transfer->url);
	}
	dlist_foreach_modify(iter, &engine->ended)
	{
		BookingTransfer *transfer = dlist_container(BookingTransfer, node, iter.cur);

		curl_url_cleanup(transfer->url);
	}
	curl_multi_cleanup(engine->multi);
	booking_http_restore_signals(&saved);
}

/*
 * Make a multi handle.  NULL when memory is short.
 *
 * Where libcurl keeps the threads of the resolver in the handle (since 8.20),
 * there may be one for each request, so that names which are not answered keep
 * no other from being looked up; and the handle is cleaned up without waiting
 * for them (since 8.21).  Earlier ones do not know these options.
 */
static CURLM *
make_multi(BookingHttpEngine *engine)
{
	CURLM	   *multi = curl_multi_init();

	if (multi == NULL)
		return NULL;
	if (curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, booking_http_watch_socket) == CURLM_OK &&
		curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, engine) == CURLM_OK &&
		curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK &&
		curl_multi_setopt(multi, CURLMOPT_TIMERDATA, engine) == CURLM_OK &&
		curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long) CURLPIPE_NOTHING) == CURLM_OK &&
		curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS) == CURLM_OK)
	{
		(void) curl_multi_setopt(multi, RESOLVE_THREADS_OPTION, MAX_RESOLVER_THREADS);
		(void) curl_multi_setopt(multi, QUICK_EXIT_OPTION, 1L);
		return multi;
	}
	curl_multi_cleanup(multi);
	return NULL;
}

/*
 * CURLMOPT_TIMERFUNCTION: libcurl wants to be called after so many
 * milliseconds, or not at all.  Called within libcurl.
 */
static int
set_timer(CURLM *multi, long timeout, void *arg)
{
	BookingHttpEngine *engine = arg;

	engine->timer_due = timeout < 0 ? BOOKING_HTTP_NEVER : booking_http_milliseconds() + timeout;
	return 0;
}

/*
 * Start a request; see http.h.  Throws only when memory for the request itself
 * is short, before anything was done.
 */
void
booking_http_start(BookingHttpEngine *engine,
				   const BookingHttpRequest *request,
				   const BookingHttpAuth *auth,
				   const BookingHttpLimits *limits,
				   BookingArena *arena, BookingHttpDone done, void *arg)
{
	BookingTransfer *transfer;
	const char *problem;
	sigset_t	saved;

	note_networks(engine, limits->allowed_networks);
	transfer = MemoryContextAllocZero(engine->context, sizeof(BookingTransfer));
	transfer->context = engine->context;
	transfer->request = request;
	transfer->auth = auth;
	transfer->limits = limits;
	transfer->arena = arena;
	transfer->done = done;
	transfer->arg = arg;
	transfer->began = booking_http_milliseconds();
	transfer->fresh = engine->is_stale || !booking_http_may_share(request);
	dlist_push_tail(&engine->running, &transfer->node);
	engine->nrunning++;

	booking_http_block_signals(&saved);
	problem = booking_http_judge(transfer);
	if (problem != NULL)
	{
		booking_http_respond(transfer, BOOKING_TRANSPORT_REFUSED, problem);
		end(engine, transfer);
	}
	else if (transfer->url == NULL || !run(engine, transfer, transfer->began))
	{
		booking_http_respond(transfer, BOOKING_TRANSPORT_NOT_SENT,
							 "out_of_memory");
		end(engine, transfer);
	}
	booking_http_restore_signals(&saved);
}

/*
 * Make sure that no request uses a connection to an address that was allowed
 * when the connection was made, but is no more.
 */
static void
note_networks(BookingHttpEngine *engine, const char *networks)
{
	if (networks == NULL)
		networks = "";
	if (strcmp(engine->networks, networks) != 0)
	{
		char	   *copy = MemoryContextStrdup(engine->context, networks);

		pfree(engine->networks);
		engine->networks = copy;
		engine->is_stale = true;
	}
	if (engine->is_stale && engine->nrunning == 0)
	{
		sigset_t	saved;
		CURLM	   *multi;

		booking_http_block_signals(&saved);
		multi = make_multi(engine);
		if (multi != NULL)
		{
			curl_multi_cleanup(engine->multi);
			engine->multi = multi;
			engine->is_stale = false;
		}
		booking_http_restore_signals(&saved);
	}
}

/*
 * Hand a transfer in the running list to libcurl, which does nothing yet but
 * set its timer.  False when memory is short.
 */
static bool
run(BookingHttpEngine *engine, BookingTransfer *transfer, int64 now)
{
	return booking_http_prepare(transfer, now) &&
		curl_multi_add_handle(engine->multi, transfer->easy) == CURLM_OK;
}

/*
 * Take a transfer that has come to its end away from libcurl; follow a
 * redirect, or note the response.
 */
static void
finish(BookingHttpEngine *engine, BookingTransfer *transfer, CURLcode code,
	   int64 now)
{
	int			total = transfer->limits->total_timeout;

	curl_multi_remove_handle(engine->multi, transfer->easy);
	if (code != CURLE_OK || !transfer->answer.headers_complete ||
		(total > 0 && now - transfer->began >= total) ||
		!booking_http_redirect(transfer))
	{
		booking_http_conclude(transfer, code, now);
		end(engine, transfer);
		return;
	}

	booking_http_clear(transfer);
	booking_http_forget_answer(transfer);
	transfer->sent_at = 0;
	transfer->begun = false;
	transfer->address_refused = false;
	transfer->sockets_exhausted = false;
	transfer->socket_opened = false;
	if (!run(engine, transfer, now))
	{
		booking_http_respond(transfer, BOOKING_TRANSPORT_NOT_SENT,
							 "out_of_memory");
		end(engine, transfer);
	}
}

/*
 * Move a transfer that libcurl does not have, and whose response is filled in,
 * to those that are to be delivered.
 */
static void
end(BookingHttpEngine *engine, BookingTransfer *transfer)
{
	booking_http_clear(transfer);
	booking_http_forget_answer(transfer);
	dlist_delete(&transfer->node);
	engine->nrunning--;
	dlist_push_tail(&engine->ended, &transfer->node);
	engine->nended++;
}

/*
 * Number of requests whose done has not been called.
 */
int
booking_http_in_flight(const BookingHttpEngine *engine)
{
	return engine->nrunning + engine->nended;
}

/*
 * Wait for an answer, the latch, or the time; see http.h.  Sockets are looked
 * at once in any case, so that a latch that is always set, or a caller that
 * never waits, does not keep requests from going on.
 */
void
booking_http_wait(BookingHttpEngine *engine, long timeout,
				  uint32 wait_event_info)
{
	int64		until = timeout < 0 ? BOOKING_HTTP_NEVER : booking_http_milliseconds() + timeout;

	advance(engine);
	while (deliver(engine) == 0)
	{
		bool		latch_set = booking_http_await(engine, until, wait_event_info);

		advance(engine);
		if (latch_set || booking_http_milliseconds() >= until)
		{
			(void) deliver(engine);
			break;
		}
	}
}

/*
 * Give up all requests; see http.h.  Those that had ended keep their answers.
 */
void
booking_http_abandon(BookingHttpEngine *engine)
{
	dlist_mutable_iter iter;
	sigset_t	saved;

	booking_http_block_signals(&saved);
	dlist_foreach_modify(iter, &engine->running)
	{
		BookingTransfer *transfer = dlist_container(BookingTransfer, node, iter.cur);

		curl_multi_remove_handle(engine->multi, transfer->easy);
		booking_http_respond(transfer, BOOKING_TRANSPORT_LOST, "abandoned");
		end(engine, transfer);
	}
	booking_http_restore_signals(&saved);
	(void) deliver(engine);
}

/*
 * Do what is due: libcurl's timers, ended transfers, late first bytes.
 */
static void
advance(BookingHttpEngine *engine)
{
	int64		now = booking_http_milliseconds();
	sigset_t	saved;

	booking_http_block_signals(&saved);
	if (engine->timer_due <= now)
	{
		int			nrunning;

		/* it is set again from within, if need be */
		engine->timer_due = BOOKING_HTTP_NEVER;
		(void) curl_multi_socket_action(engine->multi, CURL_SOCKET_TIMEOUT, 0,
										&nrunning);
	}
	collect_finished(engine, now);
	watch_first_bytes(engine, now);
	booking_http_restore_signals(&saved);
}

/*
 * Finish the transfers that libcurl has ended.
 */
static void
collect_finished(BookingHttpEngine *engine, int64 now)
{
	CURLMsg    *message;
	int			left;

	while ((message = curl_multi_info_read(engine->multi, &left)) != NULL)
	{
		/* gone with the handle's removal */
		CURLcode	code = message->data.result;
		char	   *transfer = NULL;

		if (message->msg == CURLMSG_DONE &&
			curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
							  &transfer) == CURLE_OK)
			finish(engine, (BookingTransfer *) transfer, code, now);
	}
}

/*
 * Give up transfers whose answer did not begin in time, and note when the
 * next one will be late.  libcurl has no such limit.
 */
static void
watch_first_bytes(BookingHttpEngine *engine, int64 now)
{
	dlist_mutable_iter iter;

	engine->first_byte_due = BOOKING_HTTP_NEVER;
	dlist_foreach_modify(iter, &engine->running)
	{
		BookingTransfer *transfer = dlist_container(BookingTransfer, node, iter.cur);
		int			limit = transfer->limits->first_byte_timeout;
		long		request_size = 0;

		if (limit <= 0 || transfer->answer.status != 0)
			continue;
		if (transfer->sent_at == 0)
		{
			(void) curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE,
									 &request_size);
			if (request_size == 0)
				continue;
			transfer->sent_at = now;
		}
		if (now - transfer->sent_at >= limit)
			finish(engine, transfer, CURLE_OPERATION_TIMEDOUT, now);
		else
			engine->first_byte_due = Min(engine->first_byte_due,
										 transfer->sent_at + limit);
	}
}

/*
 * Call done for the transfers that have ended; those that end meanwhile wait
 * for the next call.  Returns how many there were.
 */
static int
deliver(BookingHttpEngine *engine)
{
	int			ndelivered = engine->nended;

	for (int i = 0; i < ndelivered; i++)
	{
		BookingTransfer *transfer = dlist_container(BookingTransfer, node,
													dlist_pop_head_node(&engine->ended));
		BookingHttpDone done = transfer->done;
		void	   *arg = transfer->arg;
		BookingHttpResponse last_resort = transfer->response;
		BookingHttpResponse *response;

		response = booking_arena_alloc(transfer->arena,
									   sizeof(BookingHttpResponse));
		if (response != NULL)
			*response = transfer->response;
		engine->nended--;
		curl_url_cleanup(transfer->url);
		pfree(transfer);
		done(arg, response != NULL ? response : &last_resort);
	}
	return ndelivered;
}

/*-------------------------------------------------------------------------
 *
 * http_internal.h
 *	  what the files of the HTTP engine share
 *
 * The only header that includes libcurl's.
 *
 * IDENTIFICATION
 *	  booking/src/net/http_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_HTTP_INTERNAL_H
#define BOOKING_HTTP_INTERNAL_H

#include "postgres.h"

#include <signal.h>

#include <curl/curl.h>

#include "lib/ilist.h"

#include "net/http.h"

/* 7.85 can restrict protocols by name, 7.87 need not wait for a resolver */
#if LIBCURL_VERSION_NUM < 0x075700
#error "booking needs libcurl 7.87 or later"
#endif

/* headers of an answer that are kept, each for a field of the response */
typedef enum BookingKept
{
	BOOKING_KEPT_ETAG,
	BOOKING_KEPT_LOCATION,
	BOOKING_KEPT_CONTENT_TYPE,
	BOOKING_KEPT_DAV,
	BOOKING_KEPT_SCHEDULE_TAG,
	BOOKING_KEPT_RETRY_AFTER,
	BOOKING_KEPT_DATE,
	BOOKING_KEPT_HEADERS
} BookingKept;

/* what has arrived */
typedef struct BookingAnswer
{
	int			status;			/* of the final answer, 0 before it began */
	bool		headers_complete;
	int			header_lines;	/* interim answers included */
	size_t		header_bytes;
	const char *kept[BOOKING_KEPT_HEADERS]; /* in the request's arena */
	char	   *body;			/* palloc'd, NULL while empty */
	size_t		body_len;
	size_t		body_size;
	bool		too_large;		/* over a cap, reading was stopped */
	bool		out_of_memory;
} BookingAnswer;

/* a request under way */
typedef struct BookingTransfer
{
	dlist_node	node;			/* in the engine's running or ended */
	MemoryContext context;		/* of the engine */
	const BookingHttpRequest *request;
	const BookingHttpAuth *auth;
	const BookingHttpLimits *limits;
	BookingArena *arena;
	BookingHttpDone done;
	void	   *arg;

	CURL	   *easy;
	CURLU	   *url;			/* where the request goes, after redirects */
	struct curl_slist *headers;
	int64		began;			/* milliseconds; of the first request */
	int64		sent_at;		/* began to be sent, 0 before */
	int			redirects;
	bool		fresh;			/* may neither use nor leave a connection */
	bool		begun;			/* was about to be sent */
	bool		address_refused;
	bool		sockets_exhausted;
	bool		socket_opened;
	BookingAnswer answer;
	BookingHttpResponse response;
} BookingTransfer;

#define BOOKING_HTTP_NEVER PG_INT64_MAX

struct BookingHttpEngine
{
	MemoryContext context;
	MemoryContextCallback callback;
	CURLM	   *multi;
	char	   *networks;		/* allowed when idle connections were made */
	bool		is_stale;		/* multi must be replaced when nothing runs */
	int64		timer_due;		/* when libcurl wants to be called, or BOOKING_HTTP_NEVER */
	int64		first_byte_due; /* when a first byte is late, or BOOKING_HTTP_NEVER */
	dlist_head	sockets;		/* BookingSocket */
	int			nsockets;
	dlist_head	running;		/* BookingTransfer */
	int			nrunning;
	dlist_head	ended;			/* BookingTransfer */
	int			nended;
};

/* http_request.c */
extern const char *booking_http_judge(BookingTransfer *transfer);
extern bool booking_http_may_share(const BookingHttpRequest *request);
extern bool booking_http_prepare(BookingTransfer *transfer, int64 now);
extern void booking_http_clear(BookingTransfer *transfer);
extern bool booking_http_redirect(BookingTransfer *transfer);

/* http_socket.c */
extern curl_socket_t booking_http_open_socket(void *arg, curlsocktype purpose,
											  struct curl_sockaddr *address);
extern int	booking_http_close_socket(void *arg, curl_socket_t socket);
extern int	booking_http_watch_socket(CURL *easy, curl_socket_t fd, int what,
									  void *arg, void *socket_arg);
extern bool booking_http_await(BookingHttpEngine *engine, int64 until,
							   uint32 wait_event_info);
extern int64 booking_http_milliseconds(void);
extern void booking_http_block_signals(sigset_t *saved);
extern void booking_http_restore_signals(const sigset_t *saved);

/* http_answer.c */
extern size_t booking_http_take_header(char *line, size_t size, size_t count,
									   void *arg);
extern size_t booking_http_take_body(char *data, size_t size, size_t count,
									 void *arg);
extern void booking_http_forget_answer(BookingTransfer *transfer);
extern void booking_http_respond(BookingTransfer *transfer,
								 BookingTransport transport,
								 const char *problem);
extern void booking_http_conclude(BookingTransfer *transfer, CURLcode code,
								  int64 now);

#endif							/* BOOKING_HTTP_INTERNAL_H */

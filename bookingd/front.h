/*-------------------------------------------------------------------------
 *
 * front.h
 *	  a listener for HTTP
 *
 * IDENTIFICATION
 *	  booking/bookingd/front.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_FRONT_H
#define BOOKINGD_FRONT_H

#include <microhttpd.h>

#include "lib/ilist.h"

#include "bookingd/loop.h"

typedef struct Front Front;
typedef struct Client Client;
typedef struct Request Request;

/*
 * What a listener does with requests.  Both are called from libmicrohttpd.
 */
typedef struct FrontHandler
{
	/* the headers are there; may answer, which is to refuse the body */
	void		(*begin) (Request *request);

	/* all is there: answer, now or later */
	void		(*finish) (Request *request);

	/* the request is over: free what "state" has; may be NULL */
	void		(*end) (Request *request);

	/* an answer was given; may be NULL */
	void		(*answered) (Request *request, int status, const char *verdict);
} FrontHandler;

typedef enum RequestPhase
{
	REQUEST_HEADERS,			/* its headers are not yet complete */
	REQUEST_BODY,				/* its body is not */
	REQUEST_WAITING,			/* it waits for an answer, suspended */
	REQUEST_ANSWERED
} RequestPhase;

struct Request
{
	Front	   *front;
	Client	   *client;
	struct MHD_Connection *connection;
	RequestPhase phase;
	char	   *uri;			/* as it was sent, with the query */
	const char *method;			/* while the handler is called */
	char	   *body;
	size_t		body_len;
	size_t		body_room;
	size_t		body_total;		/* with what was too much */
	int64		received_at;	/* the end of the request, or its refusal */
	bool		suspended;
	void	   *state;			/* the handler's */
	struct MHD_Response *response;
	int			status;
};

typedef struct FrontConfig
{
	const char *listen;			/* HOST:PORT */
	const char *name;			/* for the log */
	const FrontHandler *handler;
	void	   *owner;
	int			max_connections;
	int			max_header_size;
	size_t		max_body;
	size_t		max_memory;
	int			timeout;		/* seconds for a request to arrive */
	int			retry_after;	/* seconds, sent with 503 and 429 */
} FrontConfig;

struct Front
{
	FrontConfig config;
	Loop	   *loop;
	LoopSource	source;
	struct MHD_Daemon *daemon;
	dlist_head	clients;		/* those that wait for nothing of ours, oldest first */
	int			nclients;
	int			nrequests;
	size_t		body_bytes;
	bool		draining;
	bool		resumed;		/* libmicrohttpd has an answer to take */
};

extern bool front_start(Front *front, Loop *loop, const FrontConfig *config);
extern int64 front_tick(Front *front, int64 now);
extern void front_drain(Front *front);
extern void front_stop(Front *front);
extern void request_answer(Request *request, int status, const char *content_type,
						   const char *text, size_t len, const char *verdict);

#endif							/* BOOKINGD_FRONT_H */

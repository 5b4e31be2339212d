/*-------------------------------------------------------------------------
 *
 * exchange.h
 *	  one HTTP request and its answer, as adapters see them
 *
 * Adapters build requests and judge answers; the engine in net/ does the I/O.
 *
 * IDENTIFICATION
 *	  booking/src/codec/exchange.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EXCHANGE_H
#define BOOKING_EXCHANGE_H

#include "codec/arena.h"

#define BOOKING_MAX_HEADERS 12

typedef struct BookingHeader
{
	const char *name;
	const char *value;
} BookingHeader;

typedef struct BookingHttpRequest
{
	const char *method;
	const char *url;			/* absolute */
	int			nheaders;
	BookingHeader headers[BOOKING_MAX_HEADERS];
	const char *body;			/* NULL: none */
	size_t		body_len;
	bool		read;			/* changes nothing, may use an open connection */
	bool		follow;			/* reads only: same-origin redirects */

	/*
	 * If not NULL, takes the body of a 2xx answer as it comes, instead of its
	 * being kept; its size is not limited then.  Must not throw; false ends
	 * the transfer.  Of a lost answer it may have taken a part.
	 */
	bool		(*sink) (void *arg, const char *data, size_t len);
	void	   *sink_arg;
} BookingHttpRequest;

/* how far a request certainly or possibly got */
typedef enum BookingTransport
{
	BOOKING_TRANSPORT_COMPLETE, /* a whole answer arrived */
	BOOKING_TRANSPORT_NOT_SENT, /* certainly not executed: resolve, connect, TLS */
	BOOKING_TRANSPORT_REFUSED,	/* our own rules forbade it; nothing was sent */
	BOOKING_TRANSPORT_LOST,		/* begun, no whole answer: may be executed */
	BOOKING_TRANSPORT_TOO_LARGE /* answer over the cap: executed or not */
} BookingTransport;

typedef struct BookingHttpResponse
{
	BookingTransport transport;
	const char *problem;		/* a few words without secrets; NULL if complete */
	int			status;			/* 0 unless an answer began */
	const char *etag;			/* headers of the final answer, NULL if absent */
	const char *location;
	const char *content_type;
	const char *dav;			/* DAV: capabilities */
	const char *schedule_tag;
	int64		retry_after;	/* seconds, -1 if absent or unreadable, capped */
	const char *body;			/* decoded, terminated; never NULL if complete */
	size_t		body_len;
} BookingHttpResponse;

#endif							/* BOOKING_EXCHANGE_H */

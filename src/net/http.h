/*-------------------------------------------------------------------------
 *
 * http.h
 *	  the one HTTP engine
 *
 * Runs in a background worker: many requests at once, one WaitEventSet for the
 * sockets, the latch and the death of the postmaster.  Nothing here is within
 * a transaction.  No callback throws; a failure is part of the answer.
 *
 * IDENTIFICATION
 *	  booking/src/net/http.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_HTTP_H
#define BOOKING_HTTP_H

#include "postgres.h"

#include "codec/exchange.h"

typedef struct BookingHttpEngine BookingHttpEngine;

/* from settings; milliseconds, bytes */
typedef struct BookingHttpLimits
{
	int			resolve_connect_timeout;	/* name, TCP and TLS together */
	int			first_byte_timeout; /* from the request to the answer */
	int			trickle_bytes;	/* fewer bytes a second than this ... */
	int			trickle_seconds;	/* ... for so long is a lost answer */
	int			total_timeout;
	size_t		max_body;		/* decoded bytes */
	const char *ca_file;		/* NULL: the library's */
	const char *insecure_hosts; /* comma-separated hosts that may be http:// */
	const char *allowed_networks;	/* comma-separated CIDR: private, loopback and
									 * link-local addresses that may be
									 * connected to */
} BookingHttpLimits;

/* how a request signs in; the engine never logs it */
typedef struct BookingHttpAuth
{
	const char *username;		/* Basic, if not NULL */
	const char *password;
	const char *bearer;			/* Bearer, if not NULL */
	int64		serial;			/* of a token that was got; 0: none was */
	bool		writes;			/* of it: it is for a request that writes */
	bool		renewed;		/* it was got because another was refused so */
} BookingHttpAuth;

/*
 * Called from booking_http_wait() when a request has ended.  The answer lives
 * in the arena given at the start.  May start further requests; must not
 * throw.
 */
typedef void (*BookingHttpDone) (void *arg, const BookingHttpResponse *response);

extern BookingHttpEngine *booking_http_create(void);
extern void booking_http_destroy(BookingHttpEngine *engine);

/*
 * Start a request; everything it points to must live until done is called.
 * done is called exactly once, also when the engine refuses the request, but
 * never from within this function.
 */
extern void booking_http_start(BookingHttpEngine *engine,
							   const BookingHttpRequest *request,
							   const BookingHttpAuth *auth,
							   const BookingHttpLimits *limits,
							   BookingArena *arena, BookingHttpDone done,
							   void *arg);

extern int	booking_http_in_flight(const BookingHttpEngine *engine);

/*
 * Wait until a request ends, the latch is set, or timeout milliseconds have
 * passed (-1: no limit), and call done for all that ended.  Returns with the
 * latch as it is; the caller resets it and checks for interrupts.
 */
extern void booking_http_wait(BookingHttpEngine *engine, long timeout,
							  uint32 wait_event_info);

/* Give up all requests: done is called for each with a lost answer. */
extern void booking_http_abandon(BookingHttpEngine *engine);

#endif							/* BOOKING_HTTP_H */

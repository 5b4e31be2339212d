/*-------------------------------------------------------------------------
 *
 * http_socket.c
 *	  sockets of the HTTP engine: open them, wait for them
 *
 * What libcurl calls must not throw.  Waiting is outside of libcurl and may.
 *
 * IDENTIFICATION
 *	  booking/src/net/http_socket.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "compat.h"
#include "net/address.h"
#include "net/http_internal.h"

/* more are reported by the next wait */
#define MAX_EVENTS 64

/* a socket that libcurl waits for */
typedef struct BookingSocket
{
	dlist_node	node;
	curl_socket_t fd;
	int			what;			/* CURL_POLL_... */
} BookingSocket;

/* a socket that something happened to */
typedef struct ReadySocket
{
	curl_socket_t fd;
	int			bits;			/* CURL_CSELECT_..., 0: libcurl shall look */
} ReadySocket;

static int	wait_once(BookingHttpEngine *engine, long timeout,
					  WaitEvent *events, uint32 wait_event_info);
static void fill_set(BookingHttpEngine *engine, WaitEventSet *set);
static int	list_ready(BookingHttpEngine *engine, const WaitEvent *events,
					   int nevents, bool latch_set, ReadySocket *ready);
static void act(BookingHttpEngine *engine, const ReadySocket *ready,
				int nready);

/*
 * CURLOPT_OPENSOCKETFUNCTION: open a socket for an address, after resolution
 * and right before the connection, so that no name can lead elsewhere.  Of
 * several addresses of a name, those that are refused are passed over.
 *
 * The server must know of descriptors that it did not open itself.  One more
 * than this must be left, for waiting takes one, and would throw.
 */
curl_socket_t
booking_http_open_socket(void *arg, curlsocktype purpose,
						 struct curl_sockaddr *address)
{
	BookingTransfer *transfer = arg;
	curl_socket_t result;

	if (!booking_address_is_allowed(&address->addr, address->addrlen,
									transfer->limits->allowed_networks))
	{
		transfer->address_refused = true;
		return CURL_SOCKET_BAD;
	}
	if (!AcquireExternalFD())
	{
		transfer->sockets_exhausted = true;
		return CURL_SOCKET_BAD;
	}
	if (!AcquireExternalFD())
	{
		ReleaseExternalFD();
		transfer->sockets_exhausted = true;
		return CURL_SOCKET_BAD;
	}
	ReleaseExternalFD();
	result = socket(address->family, address->socktype, address->protocol);
	if (result < 0)
	{
		ReleaseExternalFD();
		return CURL_SOCKET_BAD;
	}
	(void) fcntl(result, F_SETFD, FD_CLOEXEC);
	transfer->socket_opened = true;
	return result;
}

/*
 * CURLOPT_CLOSESOCKETFUNCTION: close such a socket.  It may be that of an idle
 * connection, whose request is long gone; arg is not used.
 */
int
booking_http_close_socket(void *arg, curl_socket_t socket)
{
	ReleaseExternalFD();
	return close(socket);
}

/*
 * CURLMOPT_SOCKETFUNCTION: libcurl begins, changes or ends waiting for a
 * socket.  Called within libcurl.
 */
int
booking_http_watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
						  void *socket_arg)
{
	BookingHttpEngine *engine = arg;
	BookingSocket *watched = socket_arg;

	if (what == CURL_POLL_REMOVE)
	{
		if (watched != NULL)
		{
			dlist_delete(&watched->node);
			engine->nsockets--;
			pfree(watched);
		}
		return 0;
	}
	if (watched == NULL)
	{
		watched = MemoryContextAllocExtended(engine->context,
											 sizeof(BookingSocket),
											 MCXT_ALLOC_NO_OOM);
		if (watched == NULL ||
			curl_multi_assign(engine->multi, fd, watched) != CURLM_OK)
		{
			/* libcurl gives up the handle and all that runs on it */
			if (watched != NULL)
				pfree(watched);
			engine->is_stale = true;
			return -1;
		}
		watched->fd = fd;
		dlist_push_tail(&engine->sockets, &watched->node);
		engine->nsockets++;
	}
	watched->what = what;
	return 0;
}

/*
 * Wait until something happens to a socket, the latch is set, or a moment has
 * come, and let libcurl act on it.  Returns whether the latch is set.
 */
bool
booking_http_await(BookingHttpEngine *engine, int64 until,
				   uint32 wait_event_info)
{
	WaitEvent	events[MAX_EVENTS];
	ReadySocket *ready;
	int64		due = Min(until, Min(engine->timer_due, engine->first_byte_due));
	long		timeout = -1;
	bool		latch_set = false;
	int			nevents;
	int			nready;

	if (due != BOOKING_HTTP_NEVER)
		timeout = Max(0, Min(due - booking_http_milliseconds(), INT_MAX));
	nevents = wait_once(engine, timeout, events, wait_event_info);
	for (int i = 0; i < nevents; i++)
		latch_set |= (events[i].events & WL_LATCH_SET) != 0;

	ready = MemoryContextAlloc(engine->context,
							   Max(engine->nsockets, MAX_EVENTS) * sizeof(ReadySocket));
	nready = list_ready(engine, events, nevents, latch_set, ready);
	act(engine, ready, nready);
	pfree(ready);
	return latch_set;
}

/*
 * Wait for all there is.  A set is made for each wait, since nothing can be
 * taken out of one; that costs a few microseconds.
 */
static int
wait_once(BookingHttpEngine *engine, long timeout, WaitEvent *events,
		  uint32 wait_event_info)
{
	WaitEventSet *set = booking_create_wait_event_set(engine->context,
													  engine->nsockets + 2);
	int			nevents = 0;

	PG_TRY();
	{
		fill_set(engine, set);
		nevents = WaitEventSetWait(set, timeout, events, MAX_EVENTS,
								   wait_event_info);
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	return nevents;
}

/*
 * Add latch, postmaster and sockets to a set.
 */
static void
fill_set(BookingHttpEngine *engine, WaitEventSet *set)
{
	dlist_iter	iter;

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	if (IsUnderPostmaster)
		AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL,
						  NULL);
	dlist_foreach(iter, &engine->sockets)
	{
		BookingSocket *watched = dlist_container(BookingSocket, node, iter.cur);
		uint32		wanted = 0;

		if (watched->what & CURL_POLL_IN)
			wanted |= WL_SOCKET_READABLE;
		if (watched->what & CURL_POLL_OUT)
			wanted |= WL_SOCKET_WRITEABLE;
		if (wanted != 0)
			AddWaitEventToSet(set, wanted, watched->fd, NULL, NULL);
	}
}

/*
 * List the sockets that libcurl shall act on.  Where the latch is set, the
 * server may not have looked at any socket, so libcurl looks at all.
 */
static int
list_ready(BookingHttpEngine *engine, const WaitEvent *events, int nevents,
		   bool latch_set, ReadySocket *ready)
{
	int			nready = 0;

	if (latch_set)
	{
		dlist_iter	iter;

		dlist_foreach(iter, &engine->sockets)
		{
			ready[nready].fd = dlist_container(BookingSocket, node, iter.cur)->fd;
			ready[nready++].bits = 0;
		}
		return nready;
	}
	for (int i = 0; i < nevents; i++)
	{
		int			bits = 0;

		if (events[i].events & WL_SOCKET_READABLE)
			bits |= CURL_CSELECT_IN;
		if (events[i].events & WL_SOCKET_WRITEABLE)
			bits |= CURL_CSELECT_OUT;
		if (bits != 0)
		{
			ready[nready].fd = events[i].fd;
			ready[nready++].bits = bits;
		}
	}
	return nready;
}

/*
 * Let libcurl act on sockets.  It knows which of them it has closed meanwhile.
 */
static void
act(BookingHttpEngine *engine, const ReadySocket *ready, int nready)
{
	sigset_t	saved;
	int			nrunning;

	booking_http_block_signals(&saved);
	for (int i = 0; i < nready; i++)
		(void) curl_multi_socket_action(engine->multi, ready[i].fd,
										ready[i].bits, &nrunning);
	booking_http_restore_signals(&saved);
}

/*
 * A clock that nobody sets.
 */
int64
booking_http_milliseconds(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MILLISEC(now);
}

/*
 * Block all signals while libcurl works.
 */
void
booking_http_block_signals(sigset_t *saved)
{
	sigset_t	all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, saved);
}

/*
 * Restore what booking_http_block_signals() saved.
 */
void
booking_http_restore_signals(const sigset_t *saved)
{
	sigprocmask(SIG_SETMASK, saved, NULL);
}

/*-------------------------------------------------------------------------
 *
 * loop.c
 *	  waiting for file descriptors
 *
 * One thread waits for everything: the listeners and connections of
 * libmicrohttpd, whose own epoll descriptor is one of ours, the sockets of libpq,
 * and signals.  So nothing needs a lock.
 *
 * IDENTIFICATION
 *	  booking/bookingd/loop.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <errno.h>
#include <unistd.h>

#include "bookingd/clock.h"
#include "bookingd/log.h"
#include "bookingd/loop.h"

/* more are reported by the next wait */
#define MAX_EVENTS 64

/*
 * Make an empty loop.  False with errno when the kernel refuses.
 */
bool
loop_init(Loop *loop)
{
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll_fd >= 0;
}

/*
 * Take a loop down; what was waited for stays open.
 */
void
loop_free(Loop *loop)
{
	close(loop->epoll_fd);
	loop->epoll_fd = -1;
}

/*
 * Wait for a descriptor from now on, or for other events of it.
 *
 * A source that changes its descriptor is forgotten first: libpq may close one
 * and open another while it tries several addresses, and a closed descriptor
 * has left the loop by itself.
 */
bool
loop_watch(Loop *loop, LoopSource *source, int fd, uint32 events)
{
	struct epoll_event event = {0};

	if (source->fd == fd && source->events == events)
		return true;
	event.events = events;
	event.data.ptr = source;
	if (source->fd >= 0 && source->fd != fd)
		loop_forget(loop, source);

	/* the number may be that of a new file, which the loop does not know */
	if ((source->fd < 0 || epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) &&
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
	{
		log_error("could not wait for a descriptor: %m");
		source->fd = -1;
		return false;
	}
	source->fd = fd;
	source->events = events;
	return true;
}

/*
 * Wait for a descriptor no more.  It may be closed already.
 */
void
loop_forget(Loop *loop, LoopSource *source)
{
	if (source->fd >= 0)
		(void) epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
	source->events = 0;
}

/*
 * Wait until a time at the latest, and have everything that is ready seen to.
 *
 * What one source does may take another out of the loop that is ready too; it
 * then has no descriptor and is passed over.
 */
void
loop_wait(Loop *loop, int64 until)
{
	struct epoll_event events[MAX_EVENTS];
	int64		left = until - clock_now();
	int			timeout;
	int			count;

	/* rounded up, so that what is due is due after the wait */
	if (left <= 0)
		timeout = 0;
	else
		timeout = (int) Min((left + 999) / 1000, 60000);
	count = epoll_wait(loop->epoll_fd, events, MAX_EVENTS, timeout);
	for (int i = 0; i < count; i++)
	{
		LoopSource *source = events[i].data.ptr;

		if (source->fd >= 0)
			source->ready(source, events[i].events);
	}
}

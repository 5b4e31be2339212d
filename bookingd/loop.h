/*-------------------------------------------------------------------------
 *
 * loop.h
 *	  waiting for file descriptors
 *
 * IDENTIFICATION
 *	  booking/bookingd/loop.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_LOOP_H
#define BOOKINGD_LOOP_H

#include <sys/epoll.h>

typedef struct LoopSource LoopSource;

/* What to do about a descriptor that is ready: EPOLLIN, EPOLLOUT and the like. */
typedef void (*LoopReady) (LoopSource *source, uint32 events);

/*
 * A descriptor that is waited for; part of what it belongs to, which must not
 * be freed while the loop runs.
 */
struct LoopSource
{
	int			fd;				/* -1: not in the loop */
	uint32		events;
	LoopReady	ready;
	void	   *owner;
};

typedef struct Loop
{
	int			epoll_fd;
} Loop;

extern bool loop_init(Loop *loop);
extern void loop_free(Loop *loop);
extern bool loop_watch(Loop *loop, LoopSource *source, int fd, uint32 events);
extern void loop_forget(Loop *loop, LoopSource *source);
extern void loop_wait(Loop *loop, int64 until);

#endif							/* BOOKINGD_LOOP_H */

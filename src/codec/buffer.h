/*-------------------------------------------------------------------------
 *
 * buffer.h
 *	  text that grows, in an arena
 *
 * IDENTIFICATION
 *	  booking/src/codec/buffer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_BUFFER_H
#define BOOKING_BUFFER_H

#include "codec/arena.h"

typedef struct BookingBuffer
{
	BookingArena *arena;
	char	   *data;			/* terminated; NULL until something is added */
	size_t		len;
	size_t		size;
} BookingBuffer;

extern void booking_buffer_init(BookingBuffer *buffer, BookingArena *arena);
extern bool booking_buffer_add(BookingBuffer *buffer, const char *data,
							   size_t len);
extern bool booking_buffer_add_text(BookingBuffer *buffer, const char *text);

#endif							/* BOOKING_BUFFER_H */

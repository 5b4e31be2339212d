/*-------------------------------------------------------------------------
 *
 * buffer.c
 *	  text that grows, in an arena
 *
 * An arena takes nothing back, so what a buffer has outgrown stays there; by
 * doubling that is never more than the text itself.
 *
 * IDENTIFICATION
 *	  booking/src/codec/buffer.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"

#define BUFFER_FIRST_SIZE 256

/*
 * Make an empty buffer.
 */
void
booking_buffer_init(BookingBuffer *buffer, BookingArena *arena)
{
	memset(buffer, 0, sizeof(BookingBuffer));
	buffer->arena = arena;
}

/*
 * Add len bytes.  Returns false when the arena has failed; the buffer keeps
 * what it had, and whoever fills it may go on and ask the arena at the end.
 */
bool
booking_buffer_add(BookingBuffer *buffer, const char *data, size_t len)
{
	if (buffer->data == NULL || buffer->size - buffer->len <= len)
	{
		size_t		size = Max(buffer->size, BUFFER_FIRST_SIZE / 2);
		char	   *grown;

		if (len >= SIZE_MAX / 4 - buffer->len)
		{
			/* let the arena refuse it, so that it is known to have failed */
			(void) booking_arena_alloc(buffer->arena, SIZE_MAX);
			return false;
		}
		do
			size *= 2;
		while (size - buffer->len <= len);
		grown = booking_arena_alloc(buffer->arena, size);
		if (grown == NULL)
			return false;
		if (buffer->len > 0)
			memcpy(grown, buffer->data, buffer->len);
		buffer->data = grown;
		buffer->size = size;
	}
	if (len > 0)
		memcpy(buffer->data + buffer->len, data, len);
	buffer->len += len;
	buffer->data[buffer->len] = '\0';
	return true;
}

/*
 * Add a terminated string.
 */
bool
booking_buffer_add_text(BookingBuffer *buffer, const char *text)
{
	return booking_buffer_add(buffer, text, strlen(text));
}

/*-------------------------------------------------------------------------
 *
 * json_write.h
 *	  JSON for providers (RFC 8259)
 *
 * The same calls give the same bytes: bodies are stored and sent again.  What
 * does not fit into the arena is known at the end.
 *
 * IDENTIFICATION
 *	  booking/src/codec/json_write.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_JSON_WRITE_H
#define BOOKING_JSON_WRITE_H

#include "codec/buffer.h"
#include "codec/json_read.h"

typedef struct BookingJsonWriter
{
	BookingBuffer buffer;
	bool		follows;		/* the next value needs a comma */
} BookingJsonWriter;

extern void booking_json_begin(BookingJsonWriter *writer, BookingArena *arena);

/* the whole document; NULL when it did not fit */
extern char *booking_json_end(BookingJsonWriter *writer, size_t *len);

/*
 * A value; name is that of the member, NULL within an array and for the whole
 * document.  A text of NULL is null.
 */
extern void booking_json_open(BookingJsonWriter *writer, const char *name,
							  char bracket);
extern void booking_json_close(BookingJsonWriter *writer, char bracket);
extern void booking_json_put_text(BookingJsonWriter *writer, const char *name,
								  const char *text);
extern void booking_json_put_integer(BookingJsonWriter *writer,
									 const char *name, int64 value);
extern void booking_json_put_boolean(BookingJsonWriter *writer,
									 const char *name, bool value);
extern void booking_json_put_value(BookingJsonWriter *writer, const char *name,
								   const BookingJson *value);

#endif							/* BOOKING_JSON_WRITE_H */

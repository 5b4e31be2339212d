/*-------------------------------------------------------------------------
 *
 * contentline.h
 *	  content lines of iCalendar: folding, parameters, TEXT
 *
 * IDENTIFICATION
 *	  booking/src/codec/contentline.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONTENTLINE_H
#define BOOKING_CONTENTLINE_H

#include "codec/buffer.h"

/* one line, unfolded; all parts are terminated and may be empty */
typedef struct BookingContentLine
{
	const char *name;			/* as written, any case */
	const char *params;			/* NAME=VALUE;NAME=VALUE */
	const char *value;
} BookingContentLine;

/* a line being written */
typedef struct BookingContentWriter
{
	BookingBuffer out;
	int			column;			/* octets of the present physical line */
} BookingContentWriter;

extern char *booking_contentline_unfold(const char *data, size_t len,
										BookingArena *arena, bool *has_nul);
extern bool booking_contentline_next(char **cursor, BookingContentLine *line);
extern bool booking_contentline_is(const BookingContentLine *line,
								   const char *name);
extern char *booking_contentline_param(const BookingContentLine *line,
									   const char *name, BookingArena *arena);
extern char *booking_contentline_text(const BookingContentLine *line,
									  BookingArena *arena);
extern char *booking_contentline_word(const BookingContentLine *line,
									  BookingArena *arena);

extern bool booking_contentline_is_blank(const char *text);
extern void booking_contentline_put(BookingContentWriter *writer,
									const char *syntax);
extern void booking_contentline_put_text(BookingContentWriter *writer,
										 const char *text);
extern void booking_contentline_put_quoted(BookingContentWriter *writer,
										   const char *text);
extern void booking_contentline_put_uri(BookingContentWriter *writer,
										const char *text);
extern void booking_contentline_end(BookingContentWriter *writer);

#endif							/* BOOKING_CONTENTLINE_H */

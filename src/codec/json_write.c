/*-------------------------------------------------------------------------
 *
 * json_write.c
 *	  JSON for providers (RFC 8259)
 *
 * Written as text at once; a tree of the parser's library would only be memory
 * that somebody has to own.
 *
 * IDENTIFICATION
 *	  booking/src/codec/json_write.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "codec/utf8.h"

static void begin_value(BookingJsonWriter *writer, const char *name);
static void add_quoted(BookingBuffer *buffer, const char *text);

/*
 * Begin a document.
 */
void
booking_json_begin(BookingJsonWriter *writer, BookingArena *arena)
{
	booking_buffer_init(&writer->buffer, arena);
	writer->follows = false;
}

/*
 * See json_write.h.
 */
char *
booking_json_end(BookingJsonWriter *writer, size_t *len)
{
	if (booking_arena_failed(writer->buffer.arena))
		return NULL;
	*len = writer->buffer.len;
	return writer->buffer.data;
}

/*
 * Begin an object or an array, by its bracket.
 */
void
booking_json_open(BookingJsonWriter *writer, const char *name, char bracket)
{
	begin_value(writer, name);
	(void) booking_buffer_add(&writer->buffer, &bracket, 1);
	writer->follows = false;
}

/*
 * End it, by its other bracket.
 */
void
booking_json_close(BookingJsonWriter *writer, char bracket)
{
	(void) booking_buffer_add(&writer->buffer, &bracket, 1);
	writer->follows = true;
}

/*
 * A string, or null.
 */
void
booking_json_put_text(BookingJsonWriter *writer, const char *name,
					  const char *text)
{
	begin_value(writer, name);
	if (text == NULL)
		(void) booking_buffer_add_text(&writer->buffer, "null");
	else
		add_quoted(&writer->buffer, text);
}

/*
 * A whole number.
 */
void
booking_json_put_integer(BookingJsonWriter *writer, const char *name,
						 int64 value)
{
	char		digits[24];

	begin_value(writer, name);
	snprintf(digits, sizeof(digits), INT64_FORMAT, value);
	(void) booking_buffer_add_text(&writer->buffer, digits);
}

/*
 * true or false.
 */
void
booking_json_put_boolean(BookingJsonWriter *writer, const char *name,
						 bool value)
{
	begin_value(writer, name);
	(void) booking_buffer_add_text(&writer->buffer, value ? "true" : "false");
}

/*
 * A value that was read, which is not too deep.
 */
void
booking_json_put_value(BookingJsonWriter *writer, const char *name,
					   const BookingJson *value)
{
	bool		object = value->kind == BOOKING_JSON_OBJECT;

	switch (value->kind)
	{
		case BOOKING_JSON_NULL:
			booking_json_put_text(writer, name, NULL);
			break;
		case BOOKING_JSON_BOOLEAN:
			booking_json_put_boolean(writer, name, value->boolean);
			break;
		case BOOKING_JSON_NUMBER:
			begin_value(writer, name);
			(void) booking_buffer_add_text(&writer->buffer, value->text);
			break;
		case BOOKING_JSON_STRING:
			booking_json_put_text(writer, name, value->text);
			break;
		case BOOKING_JSON_ARRAY:
		case BOOKING_JSON_OBJECT:
			booking_json_open(writer, name, object ? '{' : '[');
			for (const BookingJson *at = value->first; at != NULL; at = at->next)
				booking_json_put_value(writer, at->name, at);
			booking_json_close(writer, object ? '}' : ']');
			break;
	}
}

/*
 * What comes before a value.
 */
static void
begin_value(BookingJsonWriter *writer, const char *name)
{
	if (writer->follows)
		(void) booking_buffer_add(&writer->buffer, ",", 1);
	writer->follows = true;
	if (name == NULL)
		return;
	add_quoted(&writer->buffer, name);
	(void) booking_buffer_add(&writer->buffer, ":", 1);
}

/*
 * A string in quotes.  Control characters are escaped, and what is no UTF-8 is
 * replaced, since no provider would take it.
 */
static void
add_quoted(BookingBuffer *buffer, const char *text)
{
	(void) booking_buffer_add(buffer, "\"", 1);
	while (*text != '\0')
	{
		int			len = booking_utf8_length(text, strnlen(text, 4));
		unsigned char c = (unsigned char) *text;
		char		escaped[8];

		if (len == 0)
		{
			(void) booking_buffer_add(buffer, BOOKING_UTF8_REPLACEMENT, 3);
			text++;
			continue;
		}
		if (c == '"' || c == '\\')
		{
			snprintf(escaped, sizeof(escaped), "\\%c", c);
			(void) booking_buffer_add_text(buffer, escaped);
		}
		else if (c < 0x20 || c == 0x7f)
		{
			snprintf(escaped, sizeof(escaped), "\\u%04x", c);
			(void) booking_buffer_add_text(buffer, escaped);
		}
		else
			(void) booking_buffer_add(buffer, text, len);
		text += len;
	}
	(void) booking_buffer_add(buffer, "\"", 1);
}

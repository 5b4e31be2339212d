/*-------------------------------------------------------------------------
 *
 * text.c
 *	  what requests say, as the database wants it
 *
 * The database gets valid UTF-8 without zero bytes, whatever was sent.
 *
 * IDENTIFICATION
 *	  booking/bookingd/text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include "mb/pg_wchar.h"

#include "bookingd/text.h"

static int	hex_value(char digit);

/*
 * The rest of a path below a prefix, as one decoded segment, or NULL where it is
 * none: empty, with a slash, a control character or a percent sign that encodes
 * nothing, or not UTF-8.  To be freed by the caller.
 */
char *
text_source_of(const char *uri, const char *prefix)
{
	size_t		len = strcspn(uri, "?");
	size_t		prefix_len = strlen(prefix);
	char	   *source;
	char	   *end;

	if (len <= prefix_len || strncmp(uri, prefix, prefix_len) != 0)
		return NULL;
	source = pg_malloc(len - prefix_len + 1);
	end = source;
	for (size_t i = prefix_len; i < len; i++)
	{
		int			byte = (unsigned char) uri[i];

		if (byte == '%')
		{
			int			high = hex_value(uri[i + 1]);
			int			low = high < 0 ? -1 : hex_value(uri[i + 2]);

			byte = low < 0 ? 0 : high * 16 + low;
			i += 2;
		}
		if (byte < ' ' || byte == 0x7f || byte == '/')
		{
			pg_free(source);
			return NULL;
		}
		*end++ = (char) byte;
	}
	*end = '\0';
	if (!text_is_valid(source))
	{
		pg_free(source);
		return NULL;
	}
	return source;
}

/*
 * The query of an address as it was sent, behind the question mark; NULL where
 * there is none.
 */
const char *
text_query_of(const char *uri)
{
	const char *mark = strchr(uri, '?');

	return mark ? mark + 1 : NULL;
}

/*
 * Can a text of the database hold this, as it was sent?
 */
bool
text_is_valid(const char *value)
{
	int			len = (int) strlen(value);

	return pg_encoding_verifymbstr(PG_UTF8, value, len) == len;
}

/*
 * Value of a hexadecimal digit, or -1; a zero byte is none.
 */
static int
hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/*
 * Append a header's name or value as a string of JSON.
 *
 * Headers are bytes.  What is no UTF-8 is taken for Latin-1, as HTTP once had
 * it, so that no byte is lost; what a signature covers is ASCII.
 */
void
text_append_json(PQExpBuffer buffer, const char *value, size_t len)
{
	bool		is_utf8 = pg_encoding_verifymbstr(PG_UTF8, value, (int) len) == (int) len;

	appendPQExpBufferChar(buffer, '"');
	for (size_t i = 0; i < len; i++)
	{
		unsigned char byte = (unsigned char) value[i];

		if (byte == '"' || byte == '\\')
		{
			appendPQExpBufferChar(buffer, '\\');
			appendPQExpBufferChar(buffer, (char) byte);
		}
		else if (byte < ' ' || byte == 0x7f || (byte >= 0x80 && !is_utf8))
			appendPQExpBuffer(buffer, "\\u%04x", byte);
		else
			appendPQExpBufferChar(buffer, (char) byte);
	}
	appendPQExpBufferChar(buffer, '"');
}

/*
 * Append the value of a label as Prometheus reads it.
 */
void
text_append_label(PQExpBuffer buffer, const char *value)
{
	appendPQExpBufferChar(buffer, '"');
	for (; *value; value++)
	{
		if (*value == '\n')
			appendPQExpBufferStr(buffer, "\\n");
		else
		{
			if (*value == '"' || *value == '\\')
				appendPQExpBufferChar(buffer, '\\');
			appendPQExpBufferChar(buffer, *value);
		}
	}
	appendPQExpBufferChar(buffer, '"');
}

/*-------------------------------------------------------------------------
 *
 * contentline.c
 *	  content lines of iCalendar, read
 *
 * libical's own reader is not used for them, since what comes from outside
 * must not change its meaning on the way: it takes the blanks at the edges of
 * a text away, by the locale of the process; it drops a property whose value
 * is empty; it lets a backslash escape the quotation mark that ends a
 * parameter, which RFC 5545 does not know, and so takes the rest of the line
 * for the value; it looks at bytes before the beginning of a value when it
 * searches for commas; and an object that ends too early is completed.
 *
 * Bytes are unfolded first and judged as UTF-8 afterwards, for there are
 * writers that fold in the middle of a character.  Bytes that are no character
 * even then become U+FFFD: the event still blocks its time, and a text is not
 * what identifies it.
 *
 * IDENTIFICATION
 *	  booking/src/codec/contentline.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/contentline.h"
#include "codec/utf8.h"

/* a byte that is in no character */
#define NOT_UTF8 '\xff'

static char *replace_invalid(char *text, size_t len, BookingArena *arena);
static const char *find_outside_quotes(const char *text, const char *set);
static char *decode_param(const char *value, size_t len, BookingArena *arena);

/*
 * The bytes with folds taken out (RFC 5545 section 3.1), lines ended by LF
 * alone, and whatever is not UTF-8 replaced; terminated.  A byte order mark is
 * skipped.  Returns NULL with *has_nul when there is a NUL, which no text can
 * hold, and NULL without it when the arena has failed.  Where has_nul is NULL a
 * NUL is one more byte that is no character.
 */
char *
booking_contentline_unfold(const char *data, size_t len, BookingArena *arena,
						   bool *has_nul)
{
	char	   *copy;
	char	   *out;

	if (has_nul != NULL)
	{
		*has_nul = len > 0 && memchr(data, '\0', len) != NULL;
		if (*has_nul)
			return NULL;
	}
	if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
	{
		data += 3;
		len -= 3;
	}
	copy = booking_arena_alloc(arena, len + 1);
	if (copy == NULL)
		return NULL;

	out = copy;
	for (size_t i = 0; i < len; i++)
	{
		size_t		end = i;	/* of a line break that begins here */

		if (data[i] == '\r' && i + 1 < len && data[i + 1] == '\n')
			end = i + 2;
		else if (data[i] == '\n')
			end = i + 1;
		if (end == i)
			*out++ = data[i] == '\0' ? NOT_UTF8 : data[i];
		else if (end < len && (data[end] == ' ' || data[end] == '\t'))
			i = end;
		else
		{
			*out++ = '\n';
			i = end - 1;
		}
	}
	*out = '\0';
	return replace_invalid(copy, out - copy, arena);
}

/*
 * Replace what is no character; the text itself if there is nothing such.
 */
static char *
replace_invalid(char *text, size_t len, BookingArena *arena)
{
	BookingBuffer clean;
	size_t		good = 0;
	size_t		at = 0;

	booking_buffer_init(&clean, arena);
	while (at < len)
	{
		int			length = booking_utf8_length(text + at, len - at);

		if (length > 0)
		{
			at += length;
			continue;
		}
		if (!booking_buffer_add(&clean, text + good, at - good) ||
			!booking_buffer_add_text(&clean, BOOKING_UTF8_REPLACEMENT))
			return NULL;
		good = ++at;
	}
	if (good == 0)
		return text;
	return booking_buffer_add(&clean, text + good, len - good) ? clean.data : NULL;
}

/*
 * Take the next line that is not blank off an unfolded text, which is changed
 * on the way.  Returns false at its end.  A line that is none, for want of a
 * colon or a name, has an empty name.
 */
bool
booking_contentline_next(char **cursor, BookingContentLine *line)
{
	char	   *begin = *cursor;
	char	   *end;
	char	   *colon;
	size_t		name_len;

	begin += strspn(begin, "\n");
	if (*begin == '\0')
		return false;
	end = begin + strcspn(begin, "\n");
	*cursor = *end == '\0' ? end : end + 1;
	*end = '\0';

	colon = unconstify(char *, find_outside_quotes(begin, ":"));
	name_len = strspn(begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "abcdefghijklmnopqrstuvwxyz0123456789-");
	if (*colon == '\0' || (begin[name_len] != ':' && begin[name_len] != ';'))
	{
		line->name = line->params = line->value = end;
		return true;
	}
	*colon = '\0';
	line->name = begin;
	line->params = begin + name_len == colon ? colon : begin + name_len + 1;
	line->value = colon + 1;
	begin[name_len] = '\0';
	return true;
}

/*
 * Has the line this name?  Names know no case (RFC 5545 section 2).
 */
bool
booking_contentline_is(const BookingContentLine *line, const char *name)
{
	return pg_strcasecmp(line->name, name) == 0;
}

/*
 * The value of a parameter, decoded; NULL if the line has none of that name,
 * or the arena has failed.
 */
char *
booking_contentline_param(const BookingContentLine *line, const char *name,
						  BookingArena *arena)
{
	size_t		name_len = strlen(name);
	const char *param = line->params;

	while (*param != '\0')
	{
		const char *end = find_outside_quotes(param, ";");

		if (pg_strncasecmp(param, name, name_len) == 0 &&
			param[name_len] == '=')
			return decode_param(param + name_len + 1,
								end - param - name_len - 1, arena);
		param = *end == '\0' ? end : end + 1;
	}
	return NULL;
}

/*
 * The value of a line as TEXT (RFC 5545 section 3.3.11): \n is a line break,
 * any other character behind a backslash is itself.
 */
char *
booking_contentline_text(const BookingContentLine *line, BookingArena *arena)
{
	const char *in = line->value;
	char	   *text = booking_arena_alloc(arena, strlen(in) + 1);
	char	   *out = text;

	if (text == NULL)
		return NULL;
	for (; *in != '\0'; in++)
	{
		if (*in == '\\' && in[1] != '\0')
		{
			in++;
			*out++ = *in == 'n' || *in == 'N' ? '\n' : *in;
		}
		else
			*out++ = *in;
	}
	*out = '\0';
	return text;
}

/*
 * The value of a line without blanks around it, for words and times.
 */
char *
booking_contentline_word(const BookingContentLine *line, BookingArena *arena)
{
	const char *begin = line->value + strspn(line->value, " \t\r");
	size_t		len = strlen(begin);

	while (len > 0 && strchr(" \t\r", begin[len - 1]) != NULL)
		len--;
	return booking_arena_copy(arena, begin, len);
}

/*
 * The first place of one of the characters in set that is not within quotation
 * marks, or the end.  Nothing escapes a quotation mark (RFC 5545 section 3.1).
 */
static const char *
find_outside_quotes(const char *text, const char *set)
{
	bool		quoted = false;

	for (; *text != '\0'; text++)
	{
		if (*text == '"')
			quoted = !quoted;
		else if (!quoted && strchr(set, *text) != NULL)
			break;
	}
	return text;
}

/*
 * A parameter's value without quotation marks, with ^n, ^^ and ^' decoded (RFC
 * 6868), and without the blank that put_quoted() sets behind a backslash.
 */
static char *
decode_param(const char *value, size_t len, BookingArena *arena)
{
	char	   *text = booking_arena_alloc(arena, len + 1);
	char	   *out = text;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++)
	{
		char		next = i + 1 < len ? value[i + 1] : '\0';

		if (value[i] == '"')
			continue;
		if (value[i] == '^' && (next == 'n' || next == '^' || next == '\''))
		{
			*out++ = next == 'n' ? '\n' : next == '^' ? '^' : '"';
			i++;
		}
		else
			*out++ = value[i];
	}
	if (out > text && out[-1] == ' ')
	{
		char	   *last = out - 1;

		while (last > text && *last == ' ')
			last--;
		if (*last == '\\')
			out--;
	}
	*out = '\0';
	return text;
}

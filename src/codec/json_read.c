/*-------------------------------------------------------------------------
 *
 * json_read.c
 *	  JSON from outside (RFC 8259) as a tree in an arena
 *
 * The parser is json-c, in its strict mode.  It keeps its values on the heap,
 * where a document of a few megabytes of "{}" would take hundreds, so what it
 * may come to is guessed before it begins.  Its tree is copied into the arena
 * and freed before this returns.
 *
 * IDENTIFICATION
 *	  booking/src/codec/json_read.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <json-c/json.h>

#include "codec/json_read.h"
#include "codec/utf8.h"

/* what json-c takes for an object with its table, an array, any other value */
#define OBJECT_BYTES 1000
#define ARRAY_BYTES 500
#define VALUE_BYTES 200

/* \u00e9 */
#define ESCAPE_LEN 6

static BookingJsonFault look_over(const char *data, size_t len);
static bool refuses_letters(void);
static BookingJsonFault escape_letters(const char **data, size_t *len,
									   BookingArena *arena);
static char *escape_letter(char *to, const char *letter, int length);
static BookingJson *copy_value(json_object *from, BookingArena *arena);
static bool copy_children(json_object *from, BookingArena *arena,
						  BookingJson *to);
static const char *copy_text(const char *text, size_t len,
							 BookingArena *arena);

/*
 * See json_read.h.
 */
BookingJsonFault
booking_json_read(const char *data, size_t len, BookingArena *arena,
				  const BookingJson **value)
{
	json_tokener *tokener;
	json_object *parsed;
	enum json_tokener_error error;
	BookingJsonFault fault;
	size_t		read;

	*value = NULL;
	fault = look_over(data, len);
	if (fault == BOOKING_JSON_OK && refuses_letters())
		fault = escape_letters(&data, &len, arena);
	if (fault != BOOKING_JSON_OK)
		return fault;
	tokener = json_tokener_new_ex(BOOKING_JSON_DEPTH);
	if (tokener == NULL)
		return BOOKING_JSON_TOO_LARGE;
	json_tokener_set_flags(tokener,
						   JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 |
						   JSON_TOKENER_ALLOW_TRAILING_CHARS);
	parsed = json_tokener_parse_ex(tokener, data, (int) len);
	error = json_tokener_get_error(tokener);
	read = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);

	/* an object or array is whole without anything behind it */
	while (read < len && strchr(" \t\r\n", data[read]) != NULL && data[read] != '\0')
		read++;
	if (error != json_tokener_success || parsed == NULL || read != len ||
		(!json_object_is_type(parsed, json_type_object) &&
		 !json_object_is_type(parsed, json_type_array)))
	{
		json_object_put(parsed);
		return error == json_tokener_error_depth ? BOOKING_JSON_TOO_LARGE :
			BOOKING_JSON_MALFORMED;
	}
	*value = copy_value(parsed, arena);
	json_object_put(parsed);
	return *value == NULL ? BOOKING_JSON_TOO_LARGE : BOOKING_JSON_OK;
}

/*
 * Look over a document before it is parsed: can it be done within
 * BOOKING_JSON_MEMORY, by a count of what may begin a value?  json-c takes more
 * than RFC 8259 allows even in its strict mode, strings in single quotes among
 * it, so whatever has no place outside of strings, or in them, is refused here;
 * else it could hide from the count.
 */
static BookingJsonFault
look_over(const char *data, size_t len)
{
	size_t		bytes = len;
	bool		quoted = false;

	if (len > BOOKING_JSON_BYTES)
		return BOOKING_JSON_TOO_LARGE;
	for (size_t i = 0; i < len; i++)
	{
		if (quoted)
		{
			if (data[i] == '\\')
				i++;
			else if (data[i] == '"')
				quoted = false;
			else if ((unsigned char) data[i] < 0x20)
				return BOOKING_JSON_MALFORMED;
			continue;
		}
		switch (data[i])
		{
			case '"':
				quoted = true;
				break;
			case '{':
				bytes += OBJECT_BYTES;
				break;
			case '[':
				bytes += ARRAY_BYTES;
				break;
			case ',':
			case ':':
				bytes += VALUE_BYTES;
				break;
			default:
				/* the rest of numbers, literals and blanks */
				if (data[i] == '\0' ||
					strchr("]} \t\r\n+-.0123456789Eaeflnrstu", data[i]) == NULL)
					return BOOKING_JSON_MALFORMED;
				break;
		}
		if (bytes > BOOKING_JSON_MEMORY)
			return BOOKING_JSON_TOO_LARGE;
	}
	return quoted ? BOOKING_JSON_MALFORMED : BOOKING_JSON_OK;
}

/*
 * Is this the json-c whose strict mode refuses whatever is not ASCII?  0.18 does,
 * where char is signed (https://github.com/json-c/json-c/issues/892), and is what
 * Debian 13 has.
 */
static bool
refuses_letters(void)
{
	return json_c_version_num() >> 8 == 18;
}

/*
 * Write what is not ASCII of a document that was looked over as escapes, which
 * mean the same (RFC 8259 section 7); the copy is in the arena.
 */
static BookingJsonFault
escape_letters(const char **data, size_t *len, BookingArena *arena)
{
	const char *end = *data + *len;
	size_t		size = *len;
	char	   *copy;
	char	   *to;

	for (const char *from = *data; from < end; from++)
	{
		if ((unsigned char) *from >= 0xc0)
			size += 2 * ESCAPE_LEN;
	}
	if (size == *len)
		return BOOKING_JSON_OK;
	copy = to = booking_arena_alloc(arena, size);
	if (copy == NULL)
		return BOOKING_JSON_TOO_LARGE;
	for (const char *from = *data; from < end;)
	{
		int			length = booking_utf8_length(from, end - from);

		/* what a backslash stands before must be one byte */
		if (length == 0 || (*from == '\\' && from + 1 < end && (unsigned char) from[1] >= 0x80))
			return BOOKING_JSON_MALFORMED;
		if (length > 1)
			to = escape_letter(to, from, length);
		else
		{
			*to++ = *from;
			if (*from == '\\' && from + 1 < end)
				*to++ = *++from;
		}
		from += length;
	}
	*data = copy;
	*len = to - copy;
	return BOOKING_JSON_OK;
}

/*
 * Write a character of some bytes as one escape, or as the two of UTF-16; returns
 * the end.
 */
static char *
escape_letter(char *to, const char *letter, int length)
{
	uint32		code = (unsigned char) letter[0] & (0x7f >> length);

	for (int i = 1; i < length; i++)
		code = code << 6 | ((unsigned char) letter[i] & 0x3f);
	if (code >= 0x10000)
	{
		code -= 0x10000;
		snprintf(to, ESCAPE_LEN + 1, "\\u%04x", 0xd800 + (code >> 10));
		to += ESCAPE_LEN;
		code = 0xdc00 + (code & 0x3ff);
	}
	snprintf(to, ESCAPE_LEN + 1, "\\u%04x", code);
	return to + ESCAPE_LEN;
}

/*
 * A value of json-c in the arena; NULL when that is exhausted.
 */
static BookingJson *
copy_value(json_object *from, BookingArena *arena)
{
	BookingJson *to = booking_arena_alloc(arena, sizeof(*to));
	const char *text;
	bool		good = true;

	if (to == NULL)
		return NULL;
	switch (json_object_get_type(from))
	{
		case json_type_null:
			to->kind = BOOKING_JSON_NULL;
			break;
		case json_type_boolean:
			to->kind = BOOKING_JSON_BOOLEAN;
			to->boolean = json_object_get_boolean(from);
			break;
		case json_type_double:
		case json_type_int:
			to->kind = BOOKING_JSON_NUMBER;
			to->integer = json_object_get_int64(from);
			text = json_object_get_string(from);
			to->text = text == NULL ? NULL : copy_text(text, strlen(text), arena);
			good = to->text != NULL;
			break;
		case json_type_string:
			to->kind = BOOKING_JSON_STRING;
			to->text = copy_text(json_object_get_string(from),
								 json_object_get_string_len(from), arena);
			good = to->text != NULL;
			break;
		case json_type_array:
			to->kind = BOOKING_JSON_ARRAY;
			good = copy_children(from, arena, to);
			break;
		case json_type_object:
			to->kind = BOOKING_JSON_OBJECT;
			good = copy_children(from, arena, to);
			break;
	}
	return good ? to : NULL;
}

/*
 * Copy what an array or object holds; false when the arena is exhausted.  The
 * parser has seen to it that they are not too deep within each other.
 */
static bool
copy_children(json_object *from, BookingArena *arena, BookingJson *to)
{
	BookingJson **last = &to->first;

	if (to->kind == BOOKING_JSON_OBJECT)
	{
		struct json_object_iterator at = json_object_iter_begin(from);
		struct json_object_iterator end = json_object_iter_end(from);

		for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at))
		{
			const char *name = json_object_iter_peek_name(&at);

			*last = copy_value(json_object_iter_peek_value(&at), arena);
			if (*last == NULL)
				return false;
			(*last)->name = copy_text(name, strlen(name), arena);
			if ((*last)->name == NULL)
				return false;
			last = &(*last)->next;
			to->count++;
		}
		return true;
	}
	for (size_t i = 0; i < json_object_array_length(from); i++)
	{
		*last = copy_value(json_object_array_get_idx(from, i), arena);
		if (*last == NULL)
			return false;
		last = &(*last)->next;
		to->count++;
	}
	return true;
}

/*
 * A text in the arena.  A NUL, which JSON can write and we cannot keep, and
 * what is no UTF-8 all the same, becomes the character that stands for such.
 */
static const char *
copy_text(const char *text, size_t len, BookingArena *arena)
{
	size_t		bad = 0;
	char	   *result;
	char	   *to;
	int			width;

	for (size_t i = 0; i < len; i += Max(width, 1))
	{
		width = text[i] == '\0' ? 0 : booking_utf8_length(text + i, len - i);
		if (width == 0)
			bad++;
	}
	if (bad == 0)
		return booking_arena_copy(arena, text, len);

	to = result = booking_arena_alloc(arena, len + 3 * bad + 1);
	if (result == NULL)
		return NULL;
	for (size_t i = 0; i < len; i += Max(width, 1))
	{
		width = text[i] == '\0' ? 0 : booking_utf8_length(text + i, len - i);
		if (width == 0)
		{
			memcpy(to, BOOKING_UTF8_REPLACEMENT, 3);
			to += 3;
			continue;
		}
		memcpy(to, text + i, width);
		to += width;
	}
	*to = '\0';
	return result;
}

/*
 * See json_read.h.
 */
const BookingJson *
booking_json_member(const BookingJson *value, const char *name)
{
	if (value == NULL || value->kind != BOOKING_JSON_OBJECT)
		return NULL;
	for (const BookingJson *at = value->first; at != NULL; at = at->next)
	{
		if (strcmp(at->name, name) == 0)
			return at->kind == BOOKING_JSON_NULL ? NULL : at;
	}
	return NULL;
}

/*
 * See json_read.h.
 */
const char *
booking_json_text(const BookingJson *value, const char *name)
{
	const BookingJson *member = booking_json_member(value, name);

	return member != NULL && member->kind == BOOKING_JSON_STRING ?
		member->text : NULL;
}

/*
 * See json_read.h.
 */
int64
booking_json_integer(const BookingJson *value, const char *name,
					 int64 otherwise)
{
	const BookingJson *member = booking_json_member(value, name);

	return member != NULL && member->kind == BOOKING_JSON_NUMBER ?
		member->integer : otherwise;
}

/*
 * See json_read.h.
 */
bool
booking_json_true(const BookingJson *value, const char *name)
{
	const BookingJson *member = booking_json_member(value, name);

	return member != NULL && member->kind == BOOKING_JSON_BOOLEAN &&
		member->boolean;
}

/*
 * See json_read.h.
 */
const BookingJson *
booking_json_elements(const BookingJson *value, const char *name)
{
	const BookingJson *member = booking_json_member(value, name);

	return member != NULL && member->kind == BOOKING_JSON_ARRAY ?
		member->first : NULL;
}

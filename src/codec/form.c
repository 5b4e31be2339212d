/*-------------------------------------------------------------------------
 *
 * form.c
 *	  fields of a form or a query (application/x-www-form-urlencoded)
 *
 * IDENTIFICATION
 *	  booking/src/codec/form.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/form.h"
#include "codec/hex.h"
#include "codec/utf8.h"

static const char *decode(const char *data, size_t len, BookingArena *arena);
static bool is_text(const char *data, size_t len);

/*
 * See form.h.
 */
bool
booking_form_read(const char *data, size_t len, BookingArena *arena,
				  BookingForm *form)
{
	size_t		at = 0;

	form->count = 0;
	while (at < len)
	{
		const char *field = data + at;
		const char *end = memchr(field, '&', len - at);
		size_t		field_len = end != NULL ? (size_t) (end - field) : len - at;
		const char *equals = memchr(field, '=', field_len);
		size_t		name_len = equals != NULL ? (size_t) (equals - field) : field_len;
		BookingFormField *to;

		at += field_len + 1;
		if (field_len == 0)
			continue;
		if (form->count == BOOKING_FORM_FIELDS)
			return false;
		to = &form->fields[form->count];
		to->name = decode(field, name_len, arena);
		to->value = equals == NULL ? decode("", 0, arena) :
			decode(equals + 1, field_len - name_len - 1, arena);
		if (to->name == NULL || to->value == NULL)
			return false;
		form->count++;
	}
	return true;
}

/*
 * See form.h.
 */
const char *
booking_form_value(const BookingForm *form, const char *name)
{
	const char *found = NULL;

	for (int i = 0; i < form->count; i++)
	{
		if (strcmp(form->fields[i].name, name) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = form->fields[i].value;
	}
	return found;
}

/*
 * A name or value in plain text; NULL if it is none.
 */
static const char *
decode(const char *data, size_t len, BookingArena *arena)
{
	char	   *plain = booking_arena_alloc(arena, len + 1);
	size_t		n = 0;

	if (plain == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++)
	{
		if (data[i] == '+')
			plain[n++] = ' ';
		else if (data[i] != '%')
			plain[n++] = data[i];
		else
		{
			int			high = i + 2 < len ? booking_hex_digit(data[i + 1]) : -1;
			int			low = i + 2 < len ? booking_hex_digit(data[i + 2]) : -1;

			if (high < 0 || low < 0)
				return NULL;
			plain[n++] = (char) (high << 4 | low);
			i += 2;
		}
	}
	plain[n] = '\0';
	return is_text(plain, n) ? plain : NULL;
}

/*
 * Is it valid UTF-8 without NUL?
 */
static bool
is_text(const char *data, size_t len)
{
	while (len > 0)
	{
		int			n = *data == '\0' ? 0 : booking_utf8_length(data, len);

		if (n == 0)
			return false;
		data += n;
		len -= n;
	}
	return true;
}

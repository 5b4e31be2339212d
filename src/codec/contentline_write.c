/*-------------------------------------------------------------------------
 *
 * contentline_write.c
 *	  content lines of iCalendar, written
 *
 * Everything that is not syntax of ours goes through one of three functions,
 * which let no character pass that could end a value, a parameter or a line;
 * so a title cannot add a property.  Left out are the control characters of C0
 * but for tab and line break, DEL and C1.  The separators of lines and
 * paragraphs, U+2028 and U+2029, become the line breaks that they are: a reader
 * that splits an object into lines by Unicode's rules would begin one there.
 *
 * Lines are folded between characters and never within an escape, at 75
 * octets (RFC 5545 section 3.1), while they are written.
 *
 * IDENTIFICATION
 *	  booking/src/codec/contentline_write.c
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

#define MAX_OCTETS 75

static void put_unit(BookingContentWriter *writer, const char *unit, int len);
static int	take_character(const char **text, const char **character);
static bool ends_in_backslash(const char *text);

/*
 * Would nothing be written of a text but blanks?  Absent text is blank.
 */
bool
booking_contentline_is_blank(const char *text)
{
	const char *character;

	while (text != NULL && take_character(&text, &character) > 0)
	{
		if (*character != ' ' && *character != '\t')
			return false;
	}
	return true;
}

/*
 * Write syntax: ASCII that is known to be right.
 */
void
booking_contentline_put(BookingContentWriter *writer, const char *syntax)
{
	for (; *syntax != '\0'; syntax++)
		put_unit(writer, syntax, 1);
}

/*
 * Write a TEXT value (RFC 5545 section 3.3.11).
 */
void
booking_contentline_put_text(BookingContentWriter *writer, const char *text)
{
	const char *character;
	int			len;

	while ((len = take_character(&text, &character)) > 0)
	{
		char		escaped[2] = {'\\', *character};

		if (*character == '\n')
			put_unit(writer, "\\n", 2);
		else if (strchr("\\;,", *character) != NULL)
			put_unit(writer, escaped, 2);
		else
			put_unit(writer, character, len);
	}
}

/*
 * Write a parameter's value in quotation marks, with line breaks, carets and
 * quotation marks encoded (RFC 6868).  A backslash at the end, with or without
 * blanks behind it, gets one blank more: libical would take it for an escape of
 * the quotation mark.  Reading takes that blank away.
 */
void
booking_contentline_put_quoted(BookingContentWriter *writer, const char *text)
{
	bool		separate = ends_in_backslash(text);
	const char *character;
	int			len;

	put_unit(writer, "\"", 1);
	while ((len = take_character(&text, &character)) > 0)
	{
		if (*character == '\n')
			put_unit(writer, "^n", 2);
		else if (*character == '^')
			put_unit(writer, "^^", 2);
		else if (*character == '"')
			put_unit(writer, "^'", 2);
		else
			put_unit(writer, character, len);
	}
	put_unit(writer, separate ? " \"" : "\"", separate ? 2 : 1);
}

/*
 * Write the part of a URI that is data, such as the address in mailto: (RFC
 * 6068 section 2).  What a URI cannot hold is percent-encoded, line breaks and
 * tabs are left out.
 */
void
booking_contentline_put_uri(BookingContentWriter *writer, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *character;
	int			len;

	while ((len = take_character(&text, &character)) > 0)
	{
		if (*character == '\n' || *character == '\t')
			continue;
		for (int i = 0; i < len; i++)
		{
			unsigned char byte = (unsigned char) character[i];
			char		encoded[3] = {'%', digits[byte >> 4], digits[byte & 15]};

			if (byte >= 0x80 || strchr(" \"#%,;<>?[\\]^`{|}", byte) != NULL)
				put_unit(writer, encoded, 3);
			else
				put_unit(writer, character + i, 1);
		}
	}
}

/*
 * End the line.
 */
void
booking_contentline_end(BookingContentWriter *writer)
{
	booking_buffer_add(&writer->out, "\r\n", 2);
	writer->column = 0;
}

/*
 * Write what must not be torn apart, folding before it where it does not fit.
 */
static void
put_unit(BookingContentWriter *writer, const char *unit, int len)
{
	if (writer->column + len > MAX_OCTETS)
	{
		booking_buffer_add(&writer->out, "\r\n ", 3);
		writer->column = 1;
	}
	booking_buffer_add(&writer->out, unit, len);
	writer->column += len;
}

/*
 * Take the next character that may be written off a terminated text: its bytes
 * and their number, 0 at the end.  CR LF, CR alone and the Unicode separators
 * are one LF; bytes that are no UTF-8 are U+FFFD.
 */
static int
take_character(const char **text, const char **character)
{
	for (;;)
	{
		const char *p = *text;
		unsigned char byte = (unsigned char) *p;
		int			len;

		if (byte == '\0')
			return 0;
		len = booking_utf8_length(p, strnlen(p, 4));
		*text = p + Max(len, 1);
		if (len == 0)
		{
			*character = BOOKING_UTF8_REPLACEMENT;
			return 3;
		}
		if (byte == '\r' ||
			(len == 3 && (memcmp(p, "\xe2\x80\xa8", 3) == 0 ||
						  memcmp(p, "\xe2\x80\xa9", 3) == 0)))
		{
			if (byte == '\r' && p[1] == '\n')
				*text = p + 2;
			*character = "\n";
			return 1;
		}
		if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f ||
			(byte == 0xc2 && (unsigned char) p[1] < 0xa0))
			continue;
		*character = p;
		return len;
	}
}

/*
 * Does a text end in a backslash, blanks behind it disregarded?  Characters
 * that will be left out are disregarded too.
 */
static bool
ends_in_backslash(const char *text)
{
	bool		result = false;
	const char *character;

	while (take_character(&text, &character) > 0)
	{
		if (*character != ' ')
			result = *character == '\\';
	}
	return result;
}

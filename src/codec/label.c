/*-------------------------------------------------------------------------
 *
 * label.c
 *	  what a tenant, principal, intent, resource or slot may be called
 *
 * Labels are compared byte for byte, so two that look alike must not differ in
 * what nobody sees: control characters and blanks at the edges are refused.
 * Nothing is normalised, because a changed identity is another identity.
 *
 * IDENTIFICATION
 *	  booking/src/codec/label.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/label.h"

static bool is_control(const unsigned char *p, int left, bool utf8);
static int	blank_length(const unsigned char *p, int left, bool utf8);
static bool ends_blank(const unsigned char *data, int len, bool utf8);

/*
 * Judge a label of len bytes that need not be terminated.  With utf8 the bytes
 * are known to be valid UTF-8, and its further control characters and blanks
 * are looked for; in other encodings only those of ASCII.
 */
BookingLabelFault
booking_label_check(const char *data, int len, bool utf8)
{
	const unsigned char *p = (const unsigned char *) data;

	if (len == 0)
		return BOOKING_LABEL_EMPTY;
	if (len > BOOKING_LABEL_MAX_BYTES)
		return BOOKING_LABEL_TOO_LONG;

	for (int i = 0; i < len; i++)
	{
		if (is_control(p + i, len - i, utf8))
			return BOOKING_LABEL_CONTROL;
	}

	if (blank_length(p, len, utf8) > 0 || ends_blank(p, len, utf8))
		return BOOKING_LABEL_EDGE_BLANK;

	return BOOKING_LABEL_OK;
}

/*
 * Does a control character begin at p?  C0 and DEL, and in UTF-8 also C1, the
 * line and paragraph separators and the marks that turn the direction of text.
 */
static bool
is_control(const unsigned char *p, int left, bool utf8)
{
	if (p[0] < 0x20 || p[0] == 0x7f)
		return true;
	if (!utf8)
		return false;
	if (left >= 2 && p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
		return true;			/* U+0080 to U+009F */
	if (left >= 3 && p[0] == 0xe2 && p[1] == 0x80 &&
		(p[2] == 0xa8 || p[2] == 0xa9 ||	/* U+2028, U+2029 */
		 p[2] == 0x8e || p[2] == 0x8f ||	/* U+200E, U+200F */
		 (p[2] >= 0xaa && p[2] <= 0xae)))	/* U+202A to U+202E */
		return true;
	if (left >= 3 && p[0] == 0xe2 && p[1] == 0x81 &&
		p[2] >= 0xa6 && p[2] <= 0xa9)	/* U+2066 to U+2069 */
		return true;
	return false;
}

/*
 * Length in bytes of the blank that begins at p, 0 if none does: space, and in
 * UTF-8 the further characters of category Zs, the zero width space and the
 * byte order mark.
 */
static int
blank_length(const unsigned char *p, int left, bool utf8)
{
	if (p[0] == ' ')
		return 1;
	if (!utf8)
		return 0;
	if (left >= 2 && p[0] == 0xc2 && p[1] == 0xa0)
		return 2;				/* U+00A0 */
	if (left < 3)
		return 0;
	if (p[0] == 0xe1 && p[1] == 0x9a && p[2] == 0x80)
		return 3;				/* U+1680 */
	if (p[0] == 0xe2 && p[1] == 0x80 &&
		((p[2] >= 0x80 && p[2] <= 0x8b) || p[2] == 0xaf))
		return 3;				/* U+2000 to U+200B, U+202F */
	if (p[0] == 0xe2 && p[1] == 0x81 && p[2] == 0x9f)
		return 3;				/* U+205F */
	if (p[0] == 0xe3 && p[1] == 0x80 && p[2] == 0x80)
		return 3;				/* U+3000 */
	if (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf)
		return 3;				/* U+FEFF */
	return 0;
}

/*
 * Does the label end in a blank?  Only starts of characters are tried, so the
 * tail of a longer character is never mistaken for a blank.
 */
static bool
ends_blank(const unsigned char *data, int len, bool utf8)
{
	int			start = len - 1;

	while (utf8 && start > 0 && (data[start] & 0xc0) == 0x80)
		start--;
	return blank_length(data + start, len - start, utf8) == len - start;
}

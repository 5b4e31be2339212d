/*-------------------------------------------------------------------------
 *
 * utf8.c
 *	  characters of UTF-8
 *
 * IDENTIFICATION
 *	  booking/src/codec/utf8.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/utf8.h"

/*
 * Bytes of the character that begins at data, of which left are readable; 0 if
 * none begins there.  The well-formed sequences are those of RFC 3629 section
 * 4: no surrogates, nothing above U+10FFFF, nothing longer than it need be.
 * The server takes the same ones for text.
 */
int
booking_utf8_length(const char *data, size_t left)
{
	const unsigned char *p = (const unsigned char *) data;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	int			length;

	if (left == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		length = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		length = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (left < (size_t) length)
		return 0;

	/* only the second byte has a narrower range, after these four */
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (int i = 2; i < length; i++)
	{
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

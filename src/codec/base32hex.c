/*-------------------------------------------------------------------------
 *
 * base32hex.c
 *	  bytes as letters that every provider takes in an event id
 *
 * Google allows just the characters of this alphabet in the ids of events, in
 * lower case; in a UID or a path they need no escaping either.
 *
 * IDENTIFICATION
 *	  booking/src/codec/base32hex.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/base32hex.h"

/*
 * Encode len bytes with the extended hex alphabet of RFC 4648 section 7, in
 * lower case and without padding.  out takes BOOKING_BASE32HEX_LENGTH(len)
 * characters and a NUL.
 */
void
booking_base32hex(const unsigned char *data, size_t len, char *out)
{
	static const char alphabet[] = "0123456789abcdefghijklmnopqrstuv";
	uint32		bits = 0;
	int			nbits = 0;

	for (size_t i = 0; i < len; i++)
	{
		bits = (bits << 8 | data[i]) & 0xfff;
		nbits += 8;
		while (nbits >= 5)
		{
			nbits -= 5;
			*out++ = alphabet[(bits >> nbits) & 31];
		}
	}
	if (nbits > 0)
		*out++ = alphabet[(bits << (5 - nbits)) & 31];
	*out = '\0';
}

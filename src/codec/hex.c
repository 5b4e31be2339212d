/*-------------------------------------------------------------------------
 *
 * hex.c
 *	  hexadecimal digits
 *
 * IDENTIFICATION
 *	  booking/src/codec/hex.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/hex.h"

/*
 * See hex.h.
 */
int
booking_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

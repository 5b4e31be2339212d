/*-------------------------------------------------------------------------
 *
 * utf8.h
 *	  characters of UTF-8
 *
 * IDENTIFICATION
 *	  booking/src/codec/utf8.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_UTF8_H
#define BOOKING_UTF8_H

#include <stddef.h>

/* what stands for bytes that are no character: U+FFFD */
#define BOOKING_UTF8_REPLACEMENT "\xef\xbf\xbd"

extern int	booking_utf8_length(const char *data, size_t left);

#endif							/* BOOKING_UTF8_H */

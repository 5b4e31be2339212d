/*-------------------------------------------------------------------------
 *
 * base32hex.h
 *	  bytes as letters that every provider takes in an event id
 *
 * IDENTIFICATION
 *	  booking/src/codec/base32hex.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_BASE32HEX_H
#define BOOKING_BASE32HEX_H

#include <stddef.h>

/* characters for len bytes, without the NUL */
#define BOOKING_BASE32HEX_LENGTH(len) (((len) * 8 + 4) / 5)

extern void booking_base32hex(const unsigned char *data, size_t len, char *out);

#endif							/* BOOKING_BASE32HEX_H */

/*-------------------------------------------------------------------------
 *
 * jwt.h
 *	  signed assertions (RFC 7515, RFC 7523)
 *
 * IDENTIFICATION
 *	  booking/src/codec/jwt.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_JWT_H
#define BOOKING_JWT_H

#include "codec/arena.h"

/*
 * Sign claims, which are JSON, with an RSA key in PEM by RS256 (RFC 7518,
 * 3.3).  NULL if the key is none, or memory is short.
 */
extern char *booking_jwt_sign(const char *claims, size_t len,
							  const char *private_key, BookingArena *arena);

/* is it the PEM of an RSA key, without a passphrase, of 2048 bits or more? */
extern bool booking_jwt_key_is_valid(const char *private_key);

#endif							/* BOOKING_JWT_H */

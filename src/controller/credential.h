/*-------------------------------------------------------------------------
 *
 * credential.h
 *	  signing in with a stored credential
 *
 * IDENTIFICATION
 *	  booking/src/controller/credential.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CREDENTIAL_H
#define BOOKING_CREDENTIAL_H

#include "controller/seal.h"
#include "net/http.h"

extern bool booking_auth_fill(BookingHttpAuth *auth, const bytea *secret,
							  bool sealed, const char *context,
							  BookingArena *arena);
extern void booking_auth_wipe(BookingHttpAuth *auth);

#endif							/* BOOKING_CREDENTIAL_H */

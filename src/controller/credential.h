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
#include "provider/signin.h"

extern void booking_credential_open(const bytea *secret, bool sealed,
									const char *context, BookingArena *arena,
									BookingHttpAuth *auth,
									BookingSignin *signin);
extern void booking_credential_token(const bytea *secret, bool sealed,
									 const char *context, BookingArena *arena,
									 const char **access_token,
									 const char **refresh_token);
extern void booking_auth_wipe(BookingHttpAuth *auth);
extern void booking_credential_wipe(const char *secret);

#endif							/* BOOKING_CREDENTIAL_H */

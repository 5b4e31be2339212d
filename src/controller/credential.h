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

#include "utils/jsonb.h"

#include "store/seal.h"
#include "net/http.h"
#include "provider/signin.h"

/* the longest URL of an account or a token endpoint */
#define BOOKING_URL_LIMIT 2000

#define BOOKING_CREDENTIAL_LIMIT (16 * 1024)

/* what a credential of a type must have and what it may, each ended by NULL */
#define BOOKING_CREDENTIAL_MEMBERS 3
typedef struct BookingCredentialType
{
	const char *name;
	const char *members[BOOKING_CREDENTIAL_MEMBERS + 1];
	const char *optional[BOOKING_CREDENTIAL_MEMBERS + 1];
} BookingCredentialType;

extern const BookingCredentialType *booking_credential_type(const Jsonb *credential);
extern bool booking_credential_has(const Jsonb *credential, const char *key);
extern char *booking_credential_string(const Jsonb *credential, const char *key);
extern const char *booking_credential_lack(const BookingCredentialType *type,
										   const Jsonb *credential);
extern const char *booking_credential_hint(const char *key);
extern bool booking_credential_is_url(const char *url);
extern char *booking_credential_app(const BookingCredentialType *type,
									const Jsonb *credential);
extern Jsonb *booking_credential_join_app(Jsonb *credential, const char *app);
extern bool booking_credential_open(const bytea *secret, bool sealed,
									const char *context, BookingArena *arena,
									BookingHttpAuth *auth,
									BookingSignin *signin);
extern void booking_credential_token(const bytea *secret, bool sealed,
									 const char *context, BookingArena *arena,
									 const char **access_token,
									 const char **refresh_token);
extern void booking_auth_wipe(BookingHttpAuth *auth);
extern void booking_credential_wipe(const char *secret);

/* credential_file.c */
extern Jsonb *booking_credential_read_file(const BookingCredentialType *type,
										   const char *name);

#endif							/* BOOKING_CREDENTIAL_H */

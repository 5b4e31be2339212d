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

#include "controller/seal.h"
#include "net/http.h"

#define BOOKING_CREDENTIAL_LIMIT (16 * 1024)

/* what a credential of a type consists of, ended by NULL */
#define BOOKING_CREDENTIAL_MEMBERS 2
typedef struct BookingCredentialType
{
	const char *name;
	const char *members[BOOKING_CREDENTIAL_MEMBERS + 1];
} BookingCredentialType;

extern const BookingCredentialType *booking_credential_type(const Jsonb *credential);
extern bool booking_credential_has(const Jsonb *credential, const char *key);
extern char *booking_credential_string(const Jsonb *credential, const char *key);
extern bool booking_auth_fill(BookingHttpAuth *auth, const bytea *secret,
							  bool sealed, const char *context,
							  BookingArena *arena);
extern void booking_auth_wipe(BookingHttpAuth *auth);

/* credential_file.c */
extern Jsonb *booking_credential_read_file(const BookingCredentialType *type,
										   const char *name);

#endif							/* BOOKING_CREDENTIAL_H */

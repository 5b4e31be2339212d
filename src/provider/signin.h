/*-------------------------------------------------------------------------
 *
 * signin.h
 *	  getting an access token (RFC 6749, RFC 7523)
 *
 * Like an adapter it does no I/O: it builds the one request, and judges its
 * answer.
 *
 * IDENTIFICATION
 *	  booking/src/provider/signin.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SIGNIN_H
#define BOOKING_SIGNIN_H

#include "provider/provider.h"

typedef enum BookingGrant
{
	BOOKING_GRANT_NONE,			/* the credential is used as it is */
	BOOKING_GRANT_REFRESH,		/* refresh_token (RFC 6749, 6) */
	BOOKING_GRANT_CLIENT,		/* client_credentials (RFC 6749, 4.4) */
	BOOKING_GRANT_ASSERTION		/* service_account (RFC 7523, 2.1) */
} BookingGrant;

/* what is needed for a grant, from the credential; NULL where it is not there */
typedef struct BookingSignin
{
	BookingGrant grant;
	const char *token_url;
	const char *client_id;
	const char *client_secret;
	const char *refresh_token;
	const char *scope;
	const char *client_email;
	const char *private_key;	/* PEM */
	const char *subject;		/* whom the service account acts for */
	int64		now;			/* seconds from 1970, for an assertion */
} BookingSignin;

typedef enum BookingSigninKind
{
	BOOKING_SIGNIN_GRANTED,
	BOOKING_SIGNIN_DENIED,		/* the grant is void: a person must consent */
	BOOKING_SIGNIN_REFUSED,		/* the client or its request is wrong */
	BOOKING_SIGNIN_LATER		/* nothing is known: try again */
} BookingSigninKind;

typedef struct BookingSigninResult
{
	BookingSigninKind kind;
	const char *access_token;
	const char *refresh_token;	/* that replaces the one used; NULL: none */
	int64		lifetime;		/* seconds */
	int64		retry_after;	/* seconds, -1 unless the server said */
	const char *problem;		/* code; NULL if granted */
} BookingSigninResult;

/* lifetimes beyond this are not believed, and an answer may name none */
#define BOOKING_SIGNIN_LONGEST (24 * 3600)
#define BOOKING_SIGNIN_USUAL 3600

extern BookingGrant booking_signin_grant(const char *type);
extern bool booking_signin_request(const BookingSignin *signin,
								   BookingArena *arena,
								   BookingHttpRequest *request);
extern void booking_signin_judge(const BookingHttpResponse *response,
								 BookingArena *arena,
								 BookingSigninResult *result);

#endif							/* BOOKING_SIGNIN_H */

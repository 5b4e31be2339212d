/*-------------------------------------------------------------------------
 *
 * signin.h
 *	  access tokens for accounts that sign in for them
 *
 * IDENTIFICATION
 *	  booking/src/controller/signin.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONTROLLER_SIGNIN_H
#define BOOKING_CONTROLLER_SIGNIN_H

#include "controller/session.h"
#include "net/http.h"
#include "provider/provider.h"

typedef enum BookingSigninState
{
	BOOKING_SIGNIN_READY,		/* auth can be used */
	BOOKING_SIGNIN_WAITING,		/* a token is being got: come back */
	BOOKING_SIGNIN_SEALED,		/* not with this key; the account waits */
	BOOKING_SIGNIN_UNUSABLE		/* there is no credential that would do */
} BookingSigninState;

/* whose credential it is */
typedef struct BookingSigninAccount
{
	const BookingProvider *provider;
	text	   *tenant;
	text	   *account;
	bytea	   *secret;			/* NULL: no credential */
	bool		sealed;
	bool		writes;			/* what it is wanted for */
} BookingSigninAccount;

extern void booking_signin_init(BookingHttpEngine *engine);
extern BookingSigninState booking_signin_fill(BookingCall *call,
											  const BookingSigninAccount *account,
											  BookingArena *arena,
											  BookingHttpAuth *auth,
											  const char **problem);
extern bool booking_signin_renew(text *tenant, text *account,
								 const BookingHttpAuth *auth);
extern void booking_signin_accept(text *tenant, text *account,
								  BookingHttpAuth *auth);
extern void booking_signin_start(void);
extern bool booking_signin_finished(void);
extern void booking_signin_record(BookingCall *call);
extern void booking_signin_recorded(void);
extern int	booking_signin_pending(text **keys);
extern bool booking_signin_waits(const char *account_key);

/* accounts that can be waited for at one time */
#define BOOKING_SIGNIN_LIMIT 32

#endif							/* BOOKING_CONTROLLER_SIGNIN_H */

/*-------------------------------------------------------------------------
 *
 * token.h
 *	  access tokens of accounts
 *
 * IDENTIFICATION
 *	  booking/src/store/token.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_TOKEN_H
#define BOOKING_TOKEN_H

#include "store/record.h"

/* a row of booking.token */
typedef struct BookingToken
{
	int64		serial;			/* grows with every token of the account */
	bool		sealed;
	bytea	   *secret;			/* NULL: none was granted yet */
	TimestampTz renew_at;		/* somewhat before it ends */
	bool		renewed;		/* after a read was refused, none accepted since */
	bool		write_renewed;	/* likewise of writes */
	int32		failures;		/* sign-ins that failed since one did not */
	TimestampTz failed_at;		/* 0: never, or one did not since */
	char	   *problem;		/* why; NULL: it did not fail */
} BookingToken;

extern bool booking_store_token_read(text *tenant, text *account,
									 BookingToken *token);
extern void booking_store_token_put(text *tenant, text *account, bool sealed,
									bytea *secret, TimestampTz renew_at,
									TimestampTz now);
extern bool booking_store_token_refuse(text *tenant, text *account,
									   bool writes, int64 serial);
extern void booking_store_token_accept(text *tenant, text *account,
									   bool writes, int64 serial);
extern void booking_store_token_fail(text *tenant, text *account,
									 const char *problem, TimestampTz now);
extern void booking_store_token_remove(text *tenant, text *account);
extern bool booking_store_credential_read(text *tenant, text *account,
										  bool *sealed, bytea **secret,
										  TimestampTz *changed_at);

#endif							/* BOOKING_TOKEN_H */

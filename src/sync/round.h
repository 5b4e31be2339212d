/*-------------------------------------------------------------------------
 *
 * round.h
 *	  one reading of a calendar
 *
 * IDENTIFICATION
 *	  booking/src/sync/round.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ROUND_H
#define BOOKING_ROUND_H

#include "ledger/call.h"
#include "provider/provider.h"
#include "store/cursor.h"

#define BOOKING_ZONE_LEN 64

/* what its transactions must know of a round in progress */
typedef struct BookingRound
{
	int64		calendar_id;
	int64		round;
	const BookingProvider *provider;	/* whose objects are read */
	bool		full;			/* lists everything, from its start */
	bool		whole;			/* so does the provider, whatever was asked */
	bool		from_page;		/* goes on at a page */
	bool		has_token;		/* asks for what changed since a token */
	int32		failures;
	TimestampTz from;			/* window */
	TimestampTz until;
	char		zone[BOOKING_ZONE_LEN];	/* of the calendar's resource */
	bool		gone_judged;	/* those of our events that are gone */
	int64		judged;			/* intents up to this one */
	bool		impatient;		/* waited for locks of resources in vain */
} BookingRound;

extern void booking_round_begin(BookingCall *call, BookingCursorLease *lease,
								BookingRound *round);
extern bool booking_round_enter(const BookingRound *round);
extern void booking_round_page(BookingRound *round, const char *page);
extern bool booking_round_finish(BookingCall *call, BookingRound *round,
								 const char *token);
extern void booking_round_fail(BookingCall *call, const BookingRound *round,
							   const BookingPullResult *result);

#endif							/* BOOKING_ROUND_H */

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

/* events of ours that the provider is asked about in one transaction's turn */
#define BOOKING_SUSPECTS 50

#define BOOKING_DOUBT_LEN 64

/* an event of ours that a listing does not show, or says is gone */
typedef struct BookingSuspect
{
	int64		intent_id;
	const char *event_id;		/* NULL: nothing depends on whether it is there */
	const char *href;
	bool		absent;			/* the provider says that it is not there */
	char		doubt[BOOKING_DOUBT_LEN];	/* why that is not proven; "" if
											 * nobody was asked yet */
} BookingSuspect;

/*
 * Those in hand, and what the provider has said in this round.  The sync layer
 * names them, the controller asks, and the sync layer judges by what was said.
 */
typedef struct BookingSuspects
{
	BookingArena *arena;		/* of the strings; NULL: there are none */
	int			count;
	BookingSuspect items[BOOKING_SUSPECTS];
	bool		many;			/* so many that the calendar must answer too */
	bool		vouched;		/* it did */
	bool		doubted;		/* with many, one was not proven absent */
	int			nasked;			/* events that were asked about */
	int			nabsent;		/* that are not there */
	bool		capped;			/* more are left for the next round */
	char		stopped[BOOKING_DOUBT_LEN]; /* why no more are; "" they are */
} BookingSuspects;

/* how a round stands when all that was listed is stored */
typedef enum BookingRoundStep
{
	BOOKING_ROUND_OVER,
	BOOKING_ROUND_GOES_ON,		/* in the next transaction */
	BOOKING_ROUND_ASKS			/* the provider has to be asked about suspects */
} BookingRoundStep;

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
	int64		npages;			/* that this worker has read */
	int64		nlisted;		/* objects on them */
	uint64		page_mark;		/* stands for one of them, see is_endless() */
	int32		failures;
	TimestampTz from;			/* window */
	TimestampTz until;
	char		zone[BOOKING_ZONE_LEN];	/* of the calendar's resource */
	BookingSuspects *suspects;	/* the controller's, set after the beginning */
	bool		gone_noted;		/* those of our events that are gone */
	bool		gone_in_hand;	/* some of them are, and were asked about */
	bool		gone_judged;	/* all of them */
	int64		in_hand;		/* those up to here, in the order of the pass */
	int64		judged;			/* likewise */
	bool		impatient;		/* waited for locks of resources in vain */
} BookingRound;

extern void booking_round_begin(BookingCall *call, BookingCursorLease *lease,
								BookingRound *round);
extern bool booking_round_enter(const BookingRound *round);
extern bool booking_round_page(BookingRound *round, const char *page,
							   BookingPullResult *failure);
extern BookingRoundStep booking_round_finish(BookingCall *call,
											 BookingRound *round,
											 const char *token);
extern void booking_round_fail(BookingCall *call, const BookingRound *round,
							   const BookingPullResult *result);

#endif							/* BOOKING_ROUND_H */

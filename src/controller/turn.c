/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  who may have what takes much memory
 *
 * Several calendars are read at a time, and each may be as large as is allowed; so
 * that their sum is bounded, one round at a time has a large answer with objects,
 * and one a large listing.
 *
 * An answer is soon worked off, and a round waits for its turn.  A listing is kept
 * until all that it names is fetched, which a slow server can draw out for hours.
 * A round whose listing turns out to be large in another's time is given up, so
 * that it takes no place of those that are read at a time, and its calendar is due
 * again when the other one is done.  Whether a listing is large shows when it comes,
 * so whoever asks for one takes the turn if it is free, and loses it to whoever needs
 * it more.
 *
 * IDENTIFICATION
 *	  booking/src/controller/turn.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "controller/turn.h"

/* memory of a listing: names and versions of all objects of a calendar */
#define LISTING_LIMIT (36 * 1024 * 1024)
#define SMALL_LISTING_LIMIT (4 * 1024 * 1024)

static const void *holders[BOOKING_TURN_LISTING + 1];	/* NULL: nobody */
static BookingArena *held = NULL;	/* the listing of whoever has its turn */
static bool proven = false;		/* it was seen before that it is large */
static int64 missed[BOOKING_TURN_MISSED];
static int	nmissed = 0;		/* ever since the turn was last free */

/*
 * Take a turn; false if somebody else has it.
 */
bool
booking_turn_take(BookingTurn turn, const void *who)
{
	if (holders[turn] == NULL)
		holders[turn] = who;
	return holders[turn] == who;
}

/*
 * Is it one's turn?
 */
bool
booking_turn_has(BookingTurn turn, const void *who)
{
	return holders[turn] == who;
}

/*
 * It is another one's turn.  Does nothing to whoever has it not.
 */
void
booking_turn_leave(BookingTurn turn, const void *who)
{
	if (holders[turn] != who)
		return;
	holders[turn] = NULL;
	if (turn == BOOKING_TURN_LISTING)
	{
		nmissed = 0;
		held = NULL;
		proven = false;
	}
}

/*
 * Memory for a listing: for a large one, if it can be one's turn.
 */
BookingArena *
booking_turn_listing(const void *who)
{
	if (!booking_turn_take(BOOKING_TURN_LISTING, who))
		return booking_arena_create(SMALL_LISTING_LIMIT);
	held = booking_arena_create(LISTING_LIMIT);
	return held;
}

/*
 * A listing has come.  Returns true if it was too large for want of a turn.
 */
bool
booking_turn_listed(const void *who, const BookingArena *listing)
{
	if (!booking_turn_has(BOOKING_TURN_LISTING, who))
		return booking_arena_failed(listing);
	if (booking_arena_total(listing) <= SMALL_LISTING_LIMIT)
		booking_turn_leave(BOOKING_TURN_LISTING, who);
	return false;
}

/*
 * Take the turn for a listing that was too large without.  If somebody else has
 * it, and needs it too, returns false, and remembers the calendar, whose round is to be
 * given up.  Of very many the oldest is forgotten, and tries sooner.
 */
bool
booking_turn_relist(const void *who, int64 calendar_id)
{
	const void **holder = &holders[BOOKING_TURN_LISTING];

	if (*holder != NULL && !proven &&
		booking_arena_total(held) <= SMALL_LISTING_LIMIT)
	{
		booking_arena_restrict(held, SMALL_LISTING_LIMIT);
		*holder = NULL;
	}
	if (booking_turn_take(BOOKING_TURN_LISTING, who))
	{
		proven = true;
		return true;
	}
	missed[nmissed++ % BOOKING_TURN_MISSED] = calendar_id;
	return false;
}

/*
 * Calendars that are not to be read as long as another one has the turn that they
 * missed; returns how many.  ids has room for BOOKING_TURN_MISSED.
 */
int
booking_turn_missed(int64 *ids)
{
	int			count = Min(nmissed, BOOKING_TURN_MISSED);

	if (count > 0)
		memcpy(ids, missed, count * sizeof(int64));
	return count;
}

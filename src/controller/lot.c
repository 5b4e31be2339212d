/*-------------------------------------------------------------------------
 *
 * lot.c
 *	  storing what a round brought
 *
 * An object of a few bytes may have ten thousand occurrences, and a lot two
 * hundred objects.  What is stored in one transaction is bounded by rows, too, so
 * that a lot may take several; each leaves the objects that it stored whole.
 *
 * IDENTIFICATION
 *	  booking/src/controller/lot.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "controller/lot.h"
#include "sync/projection.h"

/* items that are being stored */
typedef struct Lot
{
	const BookingRound *round;
	const BookingPullItem *items;
	int			count;
	int64		nrows;			/* stored before, in the same transaction */
	int			stored;			/* items */
	const char *problem;
} Lot;

static int	collect(const BookingPullChunk *chunk,
					const BookingPullItem *const *wanted, int limit,
					BookingPullItem *items);
static int	store_items(BookingCall *call, const BookingRound *round,
						const BookingPullItem *items, int count);
static void apply_items(BookingCall *call, void *arg);
static void spoil_item(BookingCall *call, void *arg);

/*
 * Store objects that were fetched, but for the first ones, which were stored
 * before.  Counts them; returns false when the rest is to be stored in another
 * transaction.
 */
bool
booking_lot_store_fetched(BookingCall *call, const BookingRound *round,
						  const BookingPullChunk *chunk,
						  const BookingPullItem *const *wanted, int limit,
						  int *stored)
{
	BookingPullItem *items = palloc_array(BookingPullItem, limit);
	int			count = collect(chunk, wanted, limit, items);

	if (*stored < count)
		*stored += store_items(call, round, items + *stored, count - *stored);
	return *stored >= count;
}

/*
 * Put objects that were fetched into items, in the order in which they were
 * wanted; returns how many.  Of what is bad for good the version is known from
 * the listing.
 */
static int
collect(const BookingPullChunk *chunk, const BookingPullItem *const *wanted,
		int limit, BookingPullItem *items)
{
	int			count = 0;

	for (; chunk != NULL; chunk = chunk->next)
	{
		for (int i = 0; i < chunk->nitems && count < limit; i++)
			items[count++] = chunk->items[i];
	}
	for (int i = 0; i < count; i++)
	{
		if (items[i].etag == NULL &&
			(items[i].problem == NULL || strcmp(items[i].problem, "not_delivered") != 0))
			items[i].etag = wanted[i]->etag;
	}
	return count;
}

/*
 * Store objects: together, or, when that fails, each by itself, so that the one
 * that is bad stops no other.  Returns how many were stored, from the first on: at
 * least one, and fewer than there are when that is enough for a transaction.
 */
static int
store_items(BookingCall *call, const BookingRound *round,
			const BookingPullItem *items, int count)
{
	Lot			lot = {round, items, count};
	ErrorData  *error = booking_session_item(call, apply_items, &lot);
	int64		nrows = 0;
	int			stored = 0;

	if (error == NULL)
		return lot.stored;
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		ThrowErrorData(error);
	while (stored < count && nrows < BOOKING_PROJECTION_ROWS)
	{
		Lot			one = {round, &items[stored++], 1, nrows};

		error = booking_session_item(call, apply_items, &one);
		if (error == NULL)
		{
			nrows = one.nrows;
			continue;
		}
		one.problem = psprintf("it could not be stored (%s)",
							   unpack_sql_state(error->sqlerrcode));
		spoil_item(call, &one);
	}
	return stored;
}

/*
 * Store what a listing brought of the wanted objects; the others remain in wanted.
 * Returns how many.  They are few rows: of a series a listing brings no more than
 * that it is there.
 */
int
booking_lot_store_brought(BookingCall *call, const BookingRound *round,
						  const BookingPullItem **wanted, int count)
{
	BookingPullItem *items = palloc_array(BookingPullItem, count + 1);
	int			nbrought = 0;
	int			nleft = 0;
	int			stored = 0;

	for (int i = 0; i < count; i++)
	{
		if (wanted[i]->data != NULL)
			items[nbrought++] = *wanted[i];
		else
			wanted[nleft++] = wanted[i];
	}
	while (stored < nbrought)
		stored += store_items(call, round, items + stored, nbrought - stored);
	return nleft;
}

/*
 * Store some objects, in a subtransaction.
 */
static void
apply_items(BookingCall *call, void *arg)
{
	Lot		   *lot = arg;

	lot->stored = booking_projection_apply(call, lot->round, lot->items,
										   lot->count, &lot->nrows);
}

/*
 * Store that an object cannot be.
 */
static void
spoil_item(BookingCall *call, void *arg)
{
	Lot		   *lot = arg;

	booking_projection_spoil(call, lot->round, lot->items, lot->problem);
}

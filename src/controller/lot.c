/*-------------------------------------------------------------------------
 *
 * lot.c
 *	  storing what a round brought
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
	const char *problem;
} Lot;

static void apply_items(BookingCall *call, void *arg);
static void spoil_item(BookingCall *call, void *arg);

/*
 * Put objects that were fetched into items, in the order in which they were
 * wanted; returns how many.  Of what is bad for good the version is known from
 * the listing.
 */
int
booking_lot_collect(const BookingPullChunk *chunk,
					const BookingPullItem *const *wanted, int limit,
					BookingPullItem *items)
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
 * that is bad stops no other.
 */
void
booking_lot_store(BookingCall *call, const BookingRound *round,
				  const BookingPullItem *items, int count)
{
	Lot			lot = {round, items, count};
	ErrorData  *error = booking_session_item(call, apply_items, &lot);

	if (error == NULL)
		return;
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		ThrowErrorData(error);
	for (int i = 0; i < count; i++)
	{
		Lot			one = {round, &items[i], 1, NULL};

		error = booking_session_item(call, apply_items, &one);
		if (error == NULL)
			continue;
		one.problem = psprintf("it could not be stored (%s)",
							   unpack_sql_state(error->sqlerrcode));
		spoil_item(call, &one);
	}
}

/*
 * Store some objects, in a subtransaction.
 */
static void
apply_items(BookingCall *call, void *arg)
{
	Lot		   *lot = arg;

	booking_projection_apply(call, lot->round, lot->items, lot->count);
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

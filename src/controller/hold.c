/*-------------------------------------------------------------------------
 *
 * hold.c
 *	  what intents hold, as outcomes change it
 *
 * Called under the locks of the intents; takes those of their resources, in the
 * order of their numbers.
 *
 * IDENTIFICATION
 *	  booking/src/controller/hold.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "controller/hold.h"
#include "ledger/capacity.h"
#include "ledger/lock.h"
#include "store/store.h"

static void lock_resources(const BookingIdentity *identity, text **names,
						   int count, LOCKMODE mode);

/*
 * An intent holds nothing any more.
 */
void
booking_hold_release(const BookingIdentity *identity,
					 const BookingIntent *intent)
{
	lock_resources(identity, intent->payload.resources,
				   intent->payload.nresources, ShareLock);
	booking_store_reservation_delete(intent->intent_id);
}

/*
 * The old time is no longer real: free what the predecessor held, and hold the
 * new time whole.  It fits, because both together held at least as much.
 */
void
booking_hold_move(const BookingIntent *intent, const BookingIntent *predecessor,
				  const BookingIdentity *identity)
{
	const BookingPayload *payload = &intent->payload;
	text	  **names = palloc_array(text *, payload->nresources +
									 predecessor->payload.nresources);
	int			count = 0;
	int			found;
	BookingResource *resources;
	BookingWish wish = {0};
	Jsonb	   *collision;

	for (int i = 0; i < payload->nresources; i++)
		names[count++] = payload->resources[i];
	for (int i = 0; i < predecessor->payload.nresources; i++)
		names[count++] = predecessor->payload.resources[i];
	lock_resources(identity, names, count, ExclusiveLock);

	booking_store_reservation_delete(predecessor->intent_id);
	booking_store_reservation_delete(intent->intent_id);
	resources = booking_store_resources_read(identity->tenant,
											 payload->resources,
											 payload->nresources, &found);
	wish.tenant = identity->tenant;
	wish.intent_id = intent->intent_id;
	wish.nresources = found;
	wish.resources = palloc_array(const BookingResource *, found + 1);
	for (int i = 0; i < found; i++)
		wish.resources[i] = &resources[i];
	wish.start = payload->start;
	wish.end = payload->end;
	wish.units = payload->units;
	wish.heedless = true;		/* the event is there already */
	wish.mode = ExclusiveLock;
	if (booking_capacity_reserve(&wish, &collision))
		return;

	/* the buffers have grown since; what is held without them still fits */
	for (int i = 0; i < found; i++)
		resources[i].buffer_before = resources[i].buffer_after = 0;
	if (!booking_capacity_reserve(&wish, &collision))
		elog(ERROR, "the time that was held for an update is taken");
}

/*
 * Lock resources in the order of their numbers, each once.
 */
static void
lock_resources(const BookingIdentity *identity, text **names, int count,
			   LOCKMODE mode)
{
	int			found;
	BookingResource *resources = booking_store_resources_read(identity->tenant,
															  names, count,
															  &found);
	int64		last = 0;

	for (int i = 0; i < found; i++)
	{
		int64		next = PG_INT64_MAX;

		for (int j = 0; j < found; j++)
		{
			if (resources[j].resource_id > last)
				next = Min(next, resources[j].resource_id);
		}
		if (next == PG_INT64_MAX)
			break;
		booking_lock_resource(next, mode);
		last = next;
	}
}

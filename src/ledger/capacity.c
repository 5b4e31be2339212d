/*-------------------------------------------------------------------------
 *
 * capacity.c
 *	  holding units of resources
 *
 * A wish is granted only if no instant would exceed the capacity of any of its
 * resources, and refused only if one would.
 *
 * Under the share lock of one resource of capacity 1 the exclusion constraint
 * decides: insert into lane 0, or be refused.  All else holds the exclusive
 * locks, so the rows cannot change between reading and writing; everything is
 * planned in memory for all resources before the first row is written, and a
 * refused wish has changed nothing.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/capacity.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/busy.h"
#include "ledger/call.h"
#include "ledger/capacity.h"
#include "ledger/detail.h"
#include "ledger/lanes.h"
#include "store/store.h"

/* how one resource's part of a wish is granted */
typedef struct Plan
{
	TimestampTz now;			/* the clock of holds, one for all of a wish */
	TimestampTz start;			/* with buffers */
	TimestampTz end;
	TimestampTz clear_start;	/* where expired holds have to go */
	TimestampTz clear_end;
	int32	   *lanes;			/* one a unit */
	BookingReservation *rows;	/* overlapping, replaced ones left out */
	int			nrows;
	BookingReservation **moved;
	int32	   *moved_lanes;
	int			nmoved;
} Plan;

/* part of a wish */
typedef struct Segment
{
	TimestampTz start;
	TimestampTz end;
	int32		units;
} Segment;

static bool refused_outright(const BookingWish *wish, Jsonb **collision);
static bool reserve(const BookingWish *wish, Jsonb **collision);
static void occupied(const BookingWish *wish, const BookingResource *resource,
					 TimestampTz *start, TimestampTz *end);
static int	segments_beside(const BookingWish *wish,
							const BookingResource *resource, int64 beside,
							Segment *segments);
static bool reserve_first_lane(const BookingWish *wish, Jsonb **collision);
pg_noreturn static void raise_suppressed(void);
static bool plan_resource(const BookingWish *wish,
						  const BookingResource *resource, Plan *plan,
						  Jsonb **collision);
static void apply_plan(const BookingWish *wish,
					   const BookingResource *resource, const Plan *plan,
					   int first_piece);
static int	free_lanes(const Plan *plan, int32 first_lane, int32 lane_limit,
					   int32 wanted, int32 *lanes);
static void recolor(const BookingWish *wish, const BookingResource *resource,
					Plan *plan);
static void color_lanes(Plan *plan, BookingLaneItem *items, int count,
						int32 first_lane, int32 lane_limit);
pg_noreturn static void raise_in_use(int32 capacity, const BookingSpan *spans, int nspans);
static BookingReservation *live_rows(int64 resource_id, TimestampTz start,
									 TimestampTz end, int64 replaces,
									 TimestampTz now, int *count);
static void delete_expired(const BookingReservation *rows, int count,
						   TimestampTz now);
static int	compare_rows(const void *a, const void *b);
static BookingSpan *spans_of(const BookingReservation *rows, int count);
static Jsonb *collision_of(const BookingWish *wish,
						   const BookingResource *resource, const Plan *plan,
						   const BookingSpan *span);
static Jsonb *collision_detail(const BookingResource *resource, int32 units,
							   const BookingSpan *span);

/*
 * In which mode a plain claim locks its resources; whatever moves or replaces
 * rows takes ExclusiveLock without asking.  An override holds a lane that an
 * insert into lane 0 would not meet.
 */
LOCKMODE
booking_capacity_lock_mode(const BookingResource **resources, int nresources)
{
	return nresources == 1 && resources[0]->capacity == 1 &&
		!resources[0]->overrides ? ShareLock : ExclusiveLock;
}

/*
 * Hold the units of a wish, or explain in collision why not.  Expired holds in
 * the way are removed.  Rows of the replaced intent are removed when, and only
 * when, the wish is granted.
 */
bool
booking_capacity_reserve(const BookingWish *wish, Jsonb **collision)
{
	return !refused_outright(wish, collision) && reserve(wish, collision);
}

/*
 * Is a wish refused whatever else is held: because of its size, or of what is
 * in calendars?
 */
static bool
refused_outright(const BookingWish *wish, Jsonb **collision)
{
	for (int i = 0; i < wish->nresources; i++)
	{
		if (!wish->override && wish->units > wish->resources[i]->capacity)
		{
			*collision = booking_capacity_exceeded(wish->resources[i],
												   wish->units);
			return true;
		}
	}
	*collision = booking_busy_collision(wish);
	return *collision != NULL;
}

/*
 * Hold the units of a wish that is not refused outright.
 */
static bool
reserve(const BookingWish *wish, Jsonb **collision)
{
	TimestampTz now = booking_call_hold_clock();
	Plan	   *plans;

	if (wish->mode == ShareLock)
		return reserve_first_lane(wish, collision);

	plans = palloc0_array(Plan, wish->nresources);
	for (int i = 0; i < wish->nresources; i++)
	{
		plans[i].now = now;
		if (!plan_resource(wish, wish->resources[i], &plans[i], collision))
			return false;
	}

	if (wish->replaces != 0)
		booking_store_reservation_delete(wish->replaces);
	for (int i = 0; i < wish->nresources; i++)
		apply_plan(wish, wish->resources[i], &plans[i],
				   wish->first_piece + i * wish->units);
	return true;
}

/*
 * Hold what a wish needs beyond what the intent beside already holds, so that
 * together they hold the union of both: the old time stays real until the
 * provider's event has moved.  Rows of the intent beside are not touched.
 * Holds nothing if it is refused.  Needs the exclusive locks.
 */
bool
booking_capacity_reserve_beside(const BookingWish *wish, int64 beside,
								Jsonb **collision)
{
	BookingWish part = *wish;
	int			piece = 0;

	/* the whole time, not only what is held in addition */
	if (refused_outright(wish, collision))
		return false;

	part.nresources = 1;
	part.widened = true;
	for (int i = 0; i < wish->nresources; i++)
	{
		Segment		segments[3];
		int			nsegments;

		nsegments = segments_beside(wish, wish->resources[i], beside, segments);
		part.resources = &wish->resources[i];
		for (int j = 0; j < nsegments; j++)
		{
			part.start = segments[j].start;
			part.end = segments[j].end;
			part.units = segments[j].units;
			part.first_piece = piece;
			if (!reserve(&part, collision))
			{
				booking_store_reservation_delete(wish->intent_id);
				return false;
			}
			piece += part.units;
		}
	}
	return true;
}

/*
 * What a wish takes of a resource.
 */
static void
occupied(const BookingWish *wish, const BookingResource *resource,
		 TimestampTz *start, TimestampTz *end)
{
	if (!wish->widened)
		booking_capacity_occupied(resource, wish->start, wish->end, start, end);
	else
	{
		*start = wish->start;
		*end = wish->end;
	}
}

/*
 * The parts of a wish for one resource, buffers included, that an intent does
 * not hold: before and after its time all units, within it those beyond its
 * own.
 */
static int
segments_beside(const BookingWish *wish, const BookingResource *resource,
				int64 beside, Segment *segments)
{
	TimestampTz start;
	TimestampTz end;
	TimestampTz held_start = 0;
	TimestampTz held_end = 0;
	BookingReservation *rows;
	int			nrows;
	int			held = 0;
	int			count = 0;

	booking_capacity_occupied(resource, wish->start, wish->end, &start, &end);
	rows = booking_store_reservation_overlap(resource->resource_id, start, end,
											 &nrows);
	for (int i = 0; i < nrows; i++)
	{
		if (rows[i].intent_id != beside)
			continue;
		held_start = rows[i].start;
		held_end = rows[i].end;
		held++;
	}

	if (held == 0)
		segments[count++] = (Segment) {start, end, wish->units};
	else
	{
		if (start < held_start)
			segments[count++] = (Segment) {start, held_start, wish->units};
		if (end > held_end)
			segments[count++] = (Segment) {held_end, end, wish->units};
		if (wish->units > held)
			segments[count++] = (Segment) {Max(start, held_start),
			Min(end, held_end), wish->units - held};
	}
	return count;
}

/*
 * What in calendars makes too much of what a wish holds already; NULL if nothing
 * does.  More than the capacity may be held on purpose: only an event is blamed.
 */
Jsonb *
booking_capacity_overrun(const BookingWish *wish)
{
	TimestampTz now = booking_call_hold_clock();
	Jsonb	   *collision = booking_busy_collision(wish);

	for (int i = 0; i < wish->nresources && collision == NULL; i++)
	{
		const BookingResource *resource = wish->resources[i];
		BookingReservation *rows;
		BookingSpan *spans;
		TimestampTz start;
		TimestampTz end;
		int			nrows;
		int			count;

		if (!booking_busy_counts_units(resource))
			continue;
		occupied(wish, resource, &start, &end);
		rows = live_rows(resource->resource_id, start, end, 0, now, &nrows);
		spans = booking_busy_join(wish, resource, spans_of(rows, nrows), nrows,
								  &count);
		spans = booking_lanes_above(spans, count, resource->capacity, &count);
		for (int j = 0; j < count && collision == NULL; j++)
		{
			if (spans[j].start < end && spans[j].end > start)
				collision = booking_busy_units_collision(wish, resource, &spans[j]);
		}
	}
	return collision;
}

/*
 * Why more units than the capacity can never be held.
 */
Jsonb *
booking_capacity_exceeded(const BookingResource *resource, int32 units)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "units_above_capacity");
	booking_detail_text(&detail, "resource", resource->name);
	booking_detail_integer(&detail, "capacity", resource->capacity);
	booking_detail_integer(&detail, "units", units);
	return booking_detail_end(&detail);
}

/*
 * Make room below a lowered capacity: bookings move to the lanes that remain,
 * overrides to those above.  Raises an error, with the first instants, if some
 * instant has more bookings than that.  Needs the exclusive lock.
 */
void
booking_capacity_lower(const BookingResource *resource, int32 capacity)
{
	int			count;
	BookingReservation *rows = booking_store_reservation_all(resource->resource_id,
															 &count);
	TimestampTz now = booking_call_hold_clock();
	BookingLaneItem *items[2];
	int			nitems[2] = {0, 0};
	Plan		plan = {0};
	BookingSpan *bookings = palloc0_array(BookingSpan, count + 1);
	BookingSpan *spans;
	int			nspans;

	items[0] = palloc_array(BookingLaneItem, count + 1);
	items[1] = palloc_array(BookingLaneItem, count + 1);
	for (int i = 0; i < count; i++)
	{
		int			kind = rows[i].override ? 1 : 0;
		BookingLaneItem *item = &items[kind][nitems[kind]];

		if (booking_reservation_expired(&rows[i], now))
		{
			booking_store_reservation_delete_piece(rows[i].intent_id,
												   rows[i].piece);
			continue;
		}
		if (kind == 0)
		{
			bookings[nitems[0]].start = rows[i].start;
			bookings[nitems[0]].end = rows[i].end;
		}
		item->start = rows[i].start;
		item->end = rows[i].end;
		item->lane = rows[i].unit;
		item->row = &rows[i];
		nitems[kind]++;
	}

	spans = booking_lanes_above(bookings, nitems[0], capacity, &nspans);
	if (nspans > 0)
		raise_in_use(capacity, spans, nspans);

	plan.moved = palloc_array(BookingReservation *, count + 1);
	plan.moved_lanes = palloc_array(int32, count + 1);
	color_lanes(&plan, items[0], nitems[0], 0, capacity);
	color_lanes(&plan, items[1], nitems[1], capacity, BOOKING_LANE_LIMIT);
	if (plan.nmoved > 0)
		booking_store_reservation_relane(plan.moved, plan.moved_lanes,
										 plan.nmoved);
}

/*
 * The error for a capacity below present use, with the first intervals.
 */
static void
raise_in_use(int32 capacity, const BookingSpan *spans, int nspans)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < Min(nspans, 10); i++)
		appendStringInfo(&list, "%s[%s, %s)", i == 0 ? "" : ", ",
						 booking_detail_format_instant(spans[i].start),
						 booking_detail_format_instant(spans[i].end));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("capacity cannot be lowered to %d below present use",
					capacity),
			 errdetail("More units are in use in %d interval(s): %s%s.",
					   nspans, list.data, nspans > 10 ? ", ..." : ""),
			 errhint("Cancel or move bookings in these intervals first.")));
}

/*
 * The interval that is held for a booking: with the resource's buffers.
 */
void
booking_capacity_occupied(const BookingResource *resource, TimestampTz start,
						  TimestampTz end, TimestampTz *occupied_start,
						  TimestampTz *occupied_end)
{
	*occupied_start = start - resource->buffer_before;
	*occupied_end = end + resource->buffer_after;
	if (*occupied_start < BOOKING_FIRST_INSTANT ||
		*occupied_end >= BOOKING_INSTANT_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" with the buffers of the resource is out of range",
						"during"),
				 errhint("Both bounds must lie in the years 1970 to 9999, UTC.")));
}

/*
 * Has the hold of a row ended?
 */
bool
booking_reservation_expired(const BookingReservation *row, TimestampTz now)
{
	return row->held && row->hold_until <= now;
}

/*
 * Hold lane 0 of one resource of capacity 1 under the share lock.
 *
 * Others insert at the same time; the constraint decides between us, and the
 * insert waits for a row in progress.  When it finds the lane taken, the rows
 * in the way are either live (refused), expired holds (deleted, try again) or
 * gone meanwhile (try again).
 */
static bool
reserve_first_lane(const BookingWish *wish, Jsonb **collision)
{
	const BookingResource *resource = wish->resources[0];
	TimestampTz start;
	TimestampTz end;
	BookingReservationRow row = {0};

	occupied(wish, resource, &start, &end);
	row.intent_id = wish->intent_id;
	row.resource_id = resource->resource_id;
	row.occupied = booking_range_make(start, end);
	row.hold_until = wish->hold_until;
	row.tenant = wish->tenant;

	for (int refused = 0; refused < BOOKING_MAX_REFUSALS; refused++)
	{
		TimestampTz now = booking_call_hold_clock();
		BookingReservation *rows;
		BookingReservation *live;
		int			nrows;
		int			nlive = 0;

		CHECK_FOR_INTERRUPTS();

		if (booking_store_reservation_insert(&row))
			return true;

		rows = booking_store_reservation_overlap(resource->resource_id,
												 start, end, &nrows);
		live = palloc_array(BookingReservation, nrows + 1);
		for (int i = 0; i < nrows; i++)
		{
			if (!booking_reservation_expired(&rows[i], now))
				live[nlive++] = rows[i];
		}
		if (nlive > 0)
		{
			int			nspans;
			BookingSpan *spans = booking_lanes_above(spans_of(live, nlive), nlive,
													 0, &nspans);

			*collision = collision_detail(resource, wish->units, &spans[0]);
			return false;
		}
		delete_expired(rows, nrows, now);
	}
	raise_suppressed();
}

/*
 * The error when a lane that is free is refused.
 */
static void
raise_suppressed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not hold the units although they are free"),
			 errhint("Look for a trigger or rule on booking.reservation that suppresses its rows, or for direct changes of that table.")));
}

/*
 * Decide how a resource grants the wish, without writing anything; false with
 * the collision if it does not.
 */
static bool
plan_resource(const BookingWish *wish, const BookingResource *resource,
			  Plan *plan, Jsonb **collision)
{
	BookingSpan *taken;
	BookingSpan *spans;
	int			ntaken;
	int			nspans;

	occupied(wish, resource, &plan->start, &plan->end);
	plan->clear_start = plan->start;
	plan->clear_end = plan->end;
	plan->rows = live_rows(resource->resource_id, plan->start, plan->end,
						   wish->replaces, plan->now, &plan->nrows);
	plan->lanes = palloc_array(int32, wish->units);

	if (wish->override)
	{
		if (free_lanes(plan, resource->capacity, BOOKING_LANE_LIMIT,
					   wish->units, plan->lanes) < wish->units)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many overlapping overrides"),
					 errhint("At most %d units of a resource can be held at one instant.",
							 BOOKING_LANE_LIMIT)));
		return true;
	}

	taken = booking_busy_join(wish, resource, spans_of(plan->rows, plan->nrows),
							  plan->nrows, &ntaken);
	spans = booking_lanes_above(taken, ntaken, resource->capacity - wish->units,
								&nspans);
	if (nspans > 0)
	{
		*collision = collision_of(wish, resource, plan, &spans[0]);
		return false;
	}

	if (free_lanes(plan, 0, resource->capacity, wish->units,
				   plan->lanes) < wish->units)
		recolor(wish, resource, plan);
	return true;
}

/*
 * Write what was planned for one resource.
 */
static void
apply_plan(const BookingWish *wish, const BookingResource *resource,
		   const Plan *plan, int first_piece)
{
	BookingReservationRow row = {0};
	BookingReservation *rows;
	int			nrows;

	rows = booking_store_reservation_overlap(resource->resource_id,
											 plan->clear_start, plan->clear_end,
											 &nrows);
	delete_expired(rows, nrows, plan->now);
	if (plan->nmoved > 0)
		booking_store_reservation_relane(plan->moved, plan->moved_lanes,
										 plan->nmoved);
	row.intent_id = wish->intent_id;
	row.resource_id = resource->resource_id;
	row.occupied = booking_range_make(plan->start, plan->end);
	row.hold_until = wish->hold_until;
	row.override = wish->override;
	row.tenant = wish->tenant;
	for (int i = 0; i < wish->units; i++)
	{
		row.piece = first_piece + i;
		row.unit = plan->lanes[i];
		/* found free under the exclusive lock */
		if (!booking_store_reservation_insert(&row))
			raise_suppressed();
	}
	if (wish->override)
		booking_store_resource_mark_overrides(resource->resource_id);
}

/*
 * Find up to wanted lanes, lowest first, that none of the plan's rows uses.
 */
static int
free_lanes(const Plan *plan, int32 first_lane, int32 lane_limit,
		   int32 wanted, int32 *lanes)
{
	bool	   *used = palloc0_array(bool, lane_limit);
	int			found = 0;

	for (int i = 0; i < plan->nrows; i++)
	{
		if (plan->rows[i].unit < lane_limit)
			used[plan->rows[i].unit] = true;
	}
	for (int32 lane = first_lane; lane < lane_limit && found < wanted; lane++)
	{
		if (!used[lane])
			lanes[found++] = lane;
	}
	pfree(used);
	return found;
}

/*
 * No lane is free throughout although no instant is full: colour the connected
 * component of overlapping rows anew, the new units included.  The component
 * is found by widening: rows that overlap the hull extend it, until none does.
 * Rows in lanes above the capacity, overrides, stay where they are.
 */
static void
recolor(const BookingWish *wish, const BookingResource *resource, Plan *plan)
{
	TimestampTz start = plan->start;
	TimestampTz end = plan->end;
	BookingReservation *rows;
	BookingLaneItem *items;
	int			nrows;
	int			nitems = 0;
	bool		grown;

	do
	{
		CHECK_FOR_INTERRUPTS();
		grown = false;
		rows = live_rows(resource->resource_id, start, end, wish->replaces,
						 plan->now, &nrows);
		for (int i = 0; i < nrows; i++)
		{
			if (rows[i].unit >= resource->capacity)
				continue;
			grown |= rows[i].start < start || rows[i].end > end;
			start = Min(start, rows[i].start);
			end = Max(end, rows[i].end);
		}
	} while (grown);
	plan->clear_start = start;
	plan->clear_end = end;

	items = palloc0_array(BookingLaneItem, nrows + wish->units);
	for (int i = 0; i < nrows; i++)
	{
		if (rows[i].unit >= resource->capacity)
			continue;
		items[nitems].start = rows[i].start;
		items[nitems].end = rows[i].end;
		items[nitems].lane = rows[i].unit;
		items[nitems++].row = &rows[i];
	}
	for (int i = 0; i < wish->units; i++)
	{
		items[nitems].start = plan->start;
		items[nitems].end = plan->end;
		items[nitems++].lane = -1;
	}
	plan->moved = palloc_array(BookingReservation *, nitems);
	plan->moved_lanes = palloc_array(int32, nitems);
	color_lanes(plan, items, nitems, 0, resource->capacity);
}

/*
 * Colour items that are known to fit; add the rows that move to the plan, and
 * set its lanes to those of the new items.
 */
static void
color_lanes(Plan *plan, BookingLaneItem *items, int count, int32 first_lane,
			int32 lane_limit)
{
	int			nnew = 0;

	if (!booking_lanes_color(items, count, first_lane, lane_limit))
		elog(ERROR, "lanes do not suffice although no instant is above the capacity");

	for (int i = 0; i < count; i++)
	{
		BookingReservation *row = items[i].row;

		if (row == NULL)
			plan->lanes[nnew++] = items[i].lane;
		else if (row->unit != items[i].lane)
		{
			plan->moved[plan->nmoved] = row;
			plan->moved_lanes[plan->nmoved++] = items[i].lane;
		}
	}
}

/*
 * Rows of a resource that hold something within [start, end): no expired
 * holds, and none of the intent that is replaced.
 */
static BookingReservation *
live_rows(int64 resource_id, TimestampTz start, TimestampTz end,
		  int64 replaces, TimestampTz now, int *count)
{
	int			nrows;
	BookingReservation *rows = booking_store_reservation_overlap(resource_id,
																 start, end,
																 &nrows);

	*count = 0;
	for (int i = 0; i < nrows; i++)
	{
		if (rows[i].intent_id != replaces &&
			!booking_reservation_expired(&rows[i], now))
			rows[(*count)++] = rows[i];
	}
	return rows;
}

/*
 * Delete the expired holds among rows, in the order of their keys so that two
 * that do so under the share lock cannot wait for each other in a circle.
 */
static void
delete_expired(const BookingReservation *rows, int count, TimestampTz now)
{
	BookingReservation *sorted = palloc_array(BookingReservation, count + 1);
	int			nexpired = 0;

	for (int i = 0; i < count; i++)
	{
		if (booking_reservation_expired(&rows[i], now))
			sorted[nexpired++] = rows[i];
	}
	qsort(sorted, nexpired, sizeof(BookingReservation), compare_rows);
	for (int i = 0; i < nexpired; i++)
		booking_store_reservation_delete_piece(sorted[i].intent_id,
											   sorted[i].piece);
	pfree(sorted);
}

/*
 * Order rows by key.
 */
static int
compare_rows(const void *a, const void *b)
{
	const BookingReservation *left = a;
	const BookingReservation *right = b;

	if (left->intent_id != right->intent_id)
		return left->intent_id < right->intent_id ? -1 : 1;
	return left->piece - right->piece;
}

/*
 * The intervals of rows.
 */
static BookingSpan *
spans_of(const BookingReservation *rows, int count)
{
	BookingSpan *spans = palloc0_array(BookingSpan, count + 1);

	for (int i = 0; i < count; i++)
	{
		spans[i].start = rows[i].start;
		spans[i].end = rows[i].end;
	}
	return spans;
}

/*
 * What was in the way: other bookings, or, if they leave room, an event.
 */
static Jsonb *
collision_of(const BookingWish *wish, const BookingResource *resource,
			 const Plan *plan, const BookingSpan *span)
{
	Jsonb	   *detail = NULL;
	int			nspans;

	booking_lanes_above(spans_of(plan->rows, plan->nrows), plan->nrows,
						resource->capacity - wish->units, &nspans);
	if (nspans == 0)
		detail = booking_busy_units_collision(wish, resource, span);
	return detail != NULL ? detail :
		collision_detail(resource, wish->units, span);
}

/*
 * What was in the way: the first span that is too full and when it frees.
 * Nothing of the other intents is told but that they are there.
 */
static Jsonb *
collision_detail(const BookingResource *resource, int32 units,
				 const BookingSpan *span)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "occupied");
	booking_detail_text(&detail, "resource", resource->name);
	booking_detail_integer(&detail, "capacity", resource->capacity);
	booking_detail_integer(&detail, "units", units);
	booking_detail_integer(&detail, "in_use", span->count);
	booking_detail_instant(&detail, "from", span->start);
	booking_detail_instant(&detail, "until", span->end);
	return booking_detail_end(&detail);
}

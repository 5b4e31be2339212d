/*-------------------------------------------------------------------------
 *
 * lanes.c
 *	  counting and colouring intervals
 *
 * A set of half-open intervals fits into n lanes exactly if no instant is
 * covered by more than n of them; taking them in the order of their starts,
 * any free lane will do.  Nothing here reads or writes relations.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/lanes.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/binaryheap.h"

#include "compat.h"
#include "ledger/lanes.h"

/* an interval begins or ends */
typedef struct Edge
{
	TimestampTz at;
	int			step;
} Edge;

/* a lane that was used, and when it is free again */
typedef struct LaneEnd
{
	TimestampTz end;
	int32		lane;
} LaneEnd;

static int	compare_edges(const void *a, const void *b);
static int	compare_items(const void *a, const void *b);
static int	compare_ends(Datum a, Datum b, void *arg);

/*
 * The maximal spans of time covered by more than limit of the intervals, in
 * order.  An end and a start at one instant do not meet.
 */
BookingSpan *
booking_lanes_above(const BookingSpan *intervals, int count, int limit,
					int *nspans)
{
	Edge	   *edges = palloc_array(Edge, 2 * count + 1);
	BookingSpan *spans = palloc_array(BookingSpan, count + 1);
	int			present = 0;

	for (int i = 0; i < count; i++)
	{
		edges[2 * i].at = intervals[i].start;
		edges[2 * i].step = 1;
		edges[2 * i + 1].at = intervals[i].end;
		edges[2 * i + 1].step = -1;
	}
	qsort(edges, 2 * count, sizeof(Edge), compare_edges);

	*nspans = 0;
	for (int i = 0; i < 2 * count; i++)
	{
		bool		above = present > limit;

		present += edges[i].step;
		if (!above && present > limit)
		{
			/* one that ends where the next begins is the same span */
			if (*nspans > 0 && spans[*nspans - 1].end == edges[i].at)
				(*nspans)--;
			else
				spans[*nspans].start = edges[i].at;
			spans[*nspans].count = present;
		}
		else if (above && present <= limit)
			spans[(*nspans)++].end = edges[i].at;
	}

	pfree(edges);
	return spans;
}

/*
 * Give each item a lane from first_lane up to but not including lane_limit, so
 * that no two in one lane overlap.  An item keeps its present lane where that
 * is free when its turn comes, so that few rows have to move.  Sorts the
 * items.  Returns false if some instant is covered by more items than there
 * are lanes.
 *
 * used[] holds when each lane is free again.  The heap finds one that is free
 * among those used before; an entry whose lane was used again since is stale
 * and thrown away when met.
 */
bool
booking_lanes_color(BookingLaneItem *items, int count, int32 first_lane,
					int32 lane_limit)
{
	int32		nlanes = lane_limit - first_lane;
	TimestampTz *used = palloc_array(TimestampTz, nlanes + 1);
	LaneEnd    *ends = palloc_array(LaneEnd, count + 1);
	binaryheap *heap = binaryheap_allocate(count + 1, compare_ends, NULL);
	int32		fresh = 0;
	bool		fits = true;

	for (int32 i = 0; i < nlanes; i++)
		used[i] = PG_INT64_MIN;
	qsort(items, count, sizeof(BookingLaneItem), compare_items);

	for (int i = 0; i < count && fits; i++)
	{
		int32		lane = items[i].lane - first_lane;

		if (items[i].lane < first_lane || lane >= nlanes ||
			used[lane] > items[i].start)
		{
			lane = -1;
			while (!binaryheap_empty(heap) && lane < 0)
			{
				LaneEnd    *end = (LaneEnd *) DatumGetPointer(binaryheap_first(heap));

				if (used[end->lane] == end->end && end->end > items[i].start)
					break;
				if (used[end->lane] == end->end)
					lane = end->lane;
				(void) binaryheap_remove_first(heap);
			}
			while (lane < 0 && fresh < nlanes)
			{
				if (used[fresh] == PG_INT64_MIN)
					lane = fresh;
				fresh++;
			}
		}

		if (lane < 0)
			fits = false;
		else
		{
			used[lane] = items[i].end;
			ends[i].end = items[i].end;
			ends[i].lane = lane;
			binaryheap_add(heap, PointerGetDatum(&ends[i]));
			items[i].lane = lane + first_lane;
		}
	}

	binaryheap_free(heap);
	pfree(ends);
	pfree(used);
	return fits;
}

/*
 * Order edges by time, ends before starts.
 */
static int
compare_edges(const void *a, const void *b)
{
	const Edge *left = a;
	const Edge *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->step - right->step;
}

/*
 * Order items by start; among equals those that have a lane come first, the
 * rest follows lane and end so that the outcome is the same each time.
 */
static int
compare_items(const void *a, const void *b)
{
	const BookingLaneItem *left = a;
	const BookingLaneItem *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if ((left->lane < 0) != (right->lane < 0))
		return left->lane < 0 ? 1 : -1;
	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	return 0;
}

/*
 * Heap order: the lane that is free first is on top.
 */
static int
compare_ends(Datum a, Datum b, void *arg)
{
	const LaneEnd *left = (LaneEnd *) DatumGetPointer(a);
	const LaneEnd *right = (LaneEnd *) DatumGetPointer(b);

	if (left->end != right->end)
		return left->end < right->end ? 1 : -1;
	return right->lane - left->lane;
}

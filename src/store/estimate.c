/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  how many intents there are in each state, without reading them
 *
 * To count ten million rows takes seconds, and to keep a count exact would make
 * each claim wait for a row that all of them write.  So a large table is
 * estimated as the planner does it: from its size now, the density that the last
 * vacuum found, and the share of each state in the sample of the last analyze.
 * A small one is counted.
 *
 * IDENTIFICATION
 *	  booking/src/store/estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "optimizer/plancat.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "store/counter.h"
#include "store/plan.h"

/* a table of so many pages is counted: some thousand rows */
#define SMALL_PAGES 512

static BookingStateEstimate *count_states(double *total, int *count);
static BookingStateEstimate *sample_states(Oid relation, double total,
										   int *count);

/*
 * Intents by state, and all of them.  A state that is not listed has none, or so
 * few that no sample met them; where the table was never analyzed none is listed.
 */
BookingStateEstimate *
booking_store_intent_estimates(double *total, int *count)
{
	Oid			schema = get_namespace_oid("booking", false);
	Relation	relation = table_open(get_relname_relid("intent", schema),
									  AccessShareLock);
	BlockNumber pages = 0;
	double		visible;
	Oid			oid = RelationGetRelid(relation);

	*total = 0;
	if (RelationGetNumberOfBlocks(relation) > SMALL_PAGES)
		estimate_rel_size(relation, NULL, &pages, total, &visible);
	table_close(relation, NoLock);
	if (pages == 0)
		return count_states(total, count);
	return sample_states(oid, *total, count);
}

/*
 * Count a small table.
 */
static BookingStateEstimate *
count_states(double *total, int *count)
{
	static BookingPlan plan = {
		"SELECT i.state, count(*) FROM booking.intent i GROUP BY i.state",
		{InvalidOid}
	};
	BookingStateEstimate *states;

	*count = (int) booking_plan_run(&plan, NULL, NULL, 0);
	states = palloc_array(BookingStateEstimate, *count + 1);
	*total = 0;
	for (int i = 0; i < *count; i++)
	{
		states[i].state = TextDatumGetCString(booking_plan_column(i, 1, NULL));
		states[i].intents = DatumGetInt64(booking_plan_column(i, 2, NULL));
		*total += states[i].intents;
	}
	return states;
}

/*
 * The most common values of the column, which are all of them where a sample has
 * as few as there are states.
 */
static BookingStateEstimate *
sample_states(Oid relation, double total, int *count)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relation),
										Int16GetDatum(get_attnum(relation, "state")),
										BoolGetDatum(false));
	BookingStateEstimate *states = palloc0_object(BookingStateEstimate);
	AttStatsSlot slot;

	*count = 0;
	if (!HeapTupleIsValid(tuple))
		return states;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		states = palloc_array(BookingStateEstimate, slot.nvalues + 1);
		for (int i = 0; i < slot.nvalues && i < slot.nnumbers; i++)
		{
			states[i].state = TextDatumGetCString(slot.values[i]);
			states[i].intents = rint(total * slot.numbers[i]);
			(*count)++;
		}
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return states;
}

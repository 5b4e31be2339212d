/*-------------------------------------------------------------------------
 *
 * free.c
 *	  booking_free
 *
 * Windows in which a claim would be granted, as things are.  Nothing is held:
 * the answer may be old when it is read, and the claim decides.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/free.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/busy.h"
#include "ledger/capacity.h"
#include "ledger/lanes.h"
#include "ledger/view.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_free);

/* windows returned at most, so that a tiny step cannot fill the disk */
#define FREE_MAX_WINDOWS 100000

static BookingSpan *free_windows(text *tenant, const BookingResource *resource,
								 const BookingSpan *within, int32 units,
								 int *count);
static BookingSpan *full_spans(text *tenant, const BookingResource *resource,
							   const BookingSpan *within, int32 units,
							   int *count);
static BookingSpan *join(const BookingSpan *a, int na, const BookingSpan *b,
						 int nb);
static BookingSpan *intersect(const BookingSpan *a, int na,
							  const BookingSpan *b, int nb, int *count);
static void return_windows(ReturnSetInfo *rsinfo, const BookingSpan *windows,
						   int count, const BookingSpan *within,
						   int64 duration, int64 step);

/*
 * booking_free(tenant, principal, resources, within, duration, step, units)
 * returns setof tstzrange
 *
 * Without a step, the maximal windows within which every booking of at least
 * duration would be granted; with one, a window of duration for each start on
 * the grid that begins where within does.
 */
Datum
booking_free(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BookingRequest request = {0};
	BookingPayload payload = {0};
	BookingSpan within = {0};
	BookingCall call;
	BookingView view = {0};
	BookingSpan *windows;
	int			count = 1;
	int64		duration;
	int64		step = 0;

	request.identity.tenant = booking_arg_label(fcinfo, 0, "tenant");
	request.identity.principal = booking_arg_label(fcinfo, 1, "principal");
	booking_arg_labels(fcinfo, 2, "resources", &payload.resources,
					   &payload.nresources);
	booking_arg_during(fcinfo, 3, "within", &within.start, &within.end);
	duration = booking_arg_fixed_interval(fcinfo, 4, "duration", 1,
										  BOOKING_LONGEST_INTERVAL);
	if (!PG_ARGISNULL(5))
		step = booking_arg_fixed_interval(fcinfo, 5, "step", 1, BOOKING_LONGEST_INTERVAL);
	payload.units = booking_arg_positive(fcinfo, 6, "units");

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	booking_call_begin(&call, fcinfo, false);
	if (!booking_view_read_resources(&call, &request.identity, &payload, &view))
		booking_access_raise_denied();

	windows = &within;
	for (int i = 0; i < view.nresources; i++)
	{
		int			nfree;
		BookingSpan *free = free_windows(request.identity.tenant,
										 &view.resources[i], &within,
										 payload.units, &nfree);

		windows = intersect(windows, count, free, nfree, &count);
	}
	return_windows(rsinfo, windows, count, &within, duration, step);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * Windows of one resource in which a booking of any length finds its units,
 * buffers included: the gaps between full spans, shortened by the buffers, which
 * must not reach beyond the years that can be booked.
 */
static BookingSpan *
free_windows(text *tenant, const BookingResource *resource,
			 const BookingSpan *within, int32 units, int *count)
{
	TimestampTz start = Max(within->start,
							BOOKING_FIRST_INSTANT + resource->buffer_before);
	TimestampTz last = Min(within->end,
						   BOOKING_INSTANT_LIMIT - 1 - resource->buffer_after);
	BookingSpan *full;
	BookingSpan *free;
	int			nfull;

	*count = 0;
	if (units > resource->capacity)
		return NULL;

	full = full_spans(tenant, resource, within, units, &nfull);
	free = palloc0_array(BookingSpan, nfull + 1);
	for (int i = 0; i <= nfull; i++)
	{
		TimestampTz end = i < nfull ?
			Min(full[i].start - resource->buffer_after, last) : last;

		if (end > start)
		{
			free[*count].start = start;
			free[(*count)++].end = end;
		}
		if (i < nfull)
			start = Max(start, full[i].end + resource->buffer_before);
	}
	return free;
}

/*
 * Spans in which a resource has not as many units as wanted, in order: because
 * of what is held, and of what is in its calendars.
 */
static BookingSpan *
full_spans(text *tenant, const BookingResource *resource,
		   const BookingSpan *within, int32 units, int *count)
{
	TimestampTz now = booking_call_hold_clock();
	BookingReservation *rows;
	BookingSpan *taken;
	BookingSpan *full;
	BookingSpan *events;
	int			nrows;
	int			nevents;
	int			ntaken = 0;
	int			nfull;

	rows = booking_store_reservation_overlap(resource->resource_id,
											 within->start - resource->buffer_before,
											 within->end + resource->buffer_after,
											 &nrows);
	taken = palloc0_array(BookingSpan, nrows + 1);
	for (int i = 0; i < nrows; i++)
	{
		if (booking_reservation_expired(&rows[i], now))
			continue;
		taken[ntaken].start = rows[i].start;
		taken[ntaken++].end = rows[i].end;
	}
	events = booking_busy_blocked(tenant, resource, within, false, &nevents);
	full = booking_lanes_above(join(taken, ntaken, events, nevents),
							   ntaken + nevents, resource->capacity - units,
							   &nfull);
	events = booking_busy_blocked(tenant, resource, within, true, &nevents);
	return booking_lanes_above(join(full, nfull, events, nevents),
							   nfull + nevents, 0, count);
}

/*
 * Two lists as one.
 */
static BookingSpan *
join(const BookingSpan *a, int na, const BookingSpan *b, int nb)
{
	BookingSpan *both = palloc_array(BookingSpan, na + nb + 1);

	memcpy(both, a, na * sizeof(BookingSpan));
	memcpy(both + na, b, nb * sizeof(BookingSpan));
	return both;
}

/*
 * What two ordered lists of windows have in common.
 */
static BookingSpan *
intersect(const BookingSpan *a, int na, const BookingSpan *b, int nb,
		  int *count)
{
	BookingSpan *common = palloc0_array(BookingSpan, na + nb + 1);
	int			i = 0;
	int			j = 0;

	*count = 0;
	while (i < na && j < nb)
	{
		TimestampTz start = Max(a[i].start, b[j].start);
		TimestampTz end = Min(a[i].end, b[j].end);

		if (start < end)
		{
			common[*count].start = start;
			common[(*count)++].end = end;
		}
		if (a[i].end < b[j].end)
			i++;
		else
			j++;
	}
	return common;
}

/*
 * Return the windows that are long enough, whole or on the grid.
 */
static void
return_windows(ReturnSetInfo *rsinfo, const BookingSpan *windows, int count,
			   const BookingSpan *within, int64 duration, int64 step)
{
	int			returned = 0;
	bool		nulls[1] = {false};
	Datum		values[1];

	for (int i = 0; i < count; i++)
	{
		TimestampTz start = windows[i].start;
		TimestampTz end = windows[i].end;

		if (step == 0)
		{
			if (end - start < duration)
				continue;
			values[0] = PointerGetDatum(booking_range_make(start, end));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 nulls);
			continue;
		}

		/* the first start on the grid that is not before the window */
		start = within->start +
			(start - within->start + step - 1) / step * step;
		for (; start <= end - duration; start += step)
		{
			CHECK_FOR_INTERRUPTS();
			if (++returned > FREE_MAX_WINDOWS)
				ereport(ERROR,
						(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						 errmsg("more than %d free windows", FREE_MAX_WINDOWS),
						 errhint("Ask for a shorter \"within\" or a longer \"step\".")));
			values[0] = PointerGetDatum(booking_range_make(start,
														   start + duration));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 nulls);
		}
	}
}

/*-------------------------------------------------------------------------
 *
 * fresh.c
 *	  statements on readings of calendars that operations wait for
 *
 * IDENTIFICATION
 *	  booking/src/store/fresh.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/fresh.h"
#include "store/plan.h"

/*
 * How requests stand that were made, or joined, at the instants asked_at.
 * Returns those that are not open any more, and those that
 * cannot be served for now: because a reading has failed since and is put off,
 * or because calendar or account wait for a person or for the provider.  A
 * request is gone when it was served, or with its calendar.
 */
BookingReadingState *
booking_store_readings(const int64 *request_ids, const int64 *calendar_ids,
					   const TimestampTz *asked_at, int count, TimestampTz now,
					   int *found)
{
	static BookingPlan plan = {
		"SELECT q.request_id, r.request_id IS NOT NULL, c.calendar,"
		" CASE WHEN k.calendar_id IS NULL THEN 'not_synchronized'"
		"  WHEN k.parked THEN coalesce(k.problem, 'parked')"
		"  WHEN a.parked THEN 'account_parked'"
		"  WHEN a.blocked_until > $4 THEN 'account_blocked'"
		"  ELSE coalesce(k.problem, 'failed') END"
		"  FROM unnest($1, $2, $3) AS q (request_id, calendar_id, asked_at)"
		"  LEFT JOIN booking.sync_request r ON r.request_id = q.request_id"
		"  LEFT JOIN booking.calendar c ON c.calendar_id = q.calendar_id"
		"  LEFT JOIN booking.cursor k ON k.calendar_id = q.calendar_id"
		"  LEFT JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		" WHERE r.request_id IS NULL OR k.calendar_id IS NULL OR k.parked"
		"    OR a.parked OR a.blocked_until > $4"
		"    OR k.failed_at >= q.asked_at AND k.next_at > $4",
		{INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZARRAYOID, TIMESTAMPTZOID}
	};
	BookingReadingState *states;
	Datum	   *instants = palloc_array(Datum, count + 1);
	Datum		values[4];

	for (int i = 0; i < count; i++)
		instants[i] = TimestampTzGetDatum(asked_at[i]);
	values[0] = PointerGetDatum(booking_record_make_int8_array(request_ids, count));
	values[1] = PointerGetDatum(booking_record_make_int8_array(calendar_ids, count));
	values[2] = PointerGetDatum(construct_array(instants, count, TIMESTAMPTZOID,
												sizeof(TimestampTz),
												FLOAT8PASSBYVAL,
												TYPALIGN_DOUBLE));
	values[3] = TimestampTzGetDatum(now);
	*found = (int) booking_plan_run(&plan, values, NULL, 0);
	states = palloc0_array(BookingReadingState, *found + 1);
	for (int i = 0; i < *found; i++)
	{
		BookingReadingState *state = &states[i];
		bool		isnull;
		Datum		calendar = booking_plan_column(i, 3, &isnull);

		state->request_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		state->reading = DatumGetBool(booking_plan_column(i, 2, NULL)) ?
			BOOKING_READING_FAILED : BOOKING_READING_DONE;
		if (state->reading == BOOKING_READING_DONE)
			continue;
		state->calendar = isnull ? NULL : TextDatumGetCString(calendar);
		state->problem = TextDatumGetCString(booking_plan_column(i, 4, NULL));
	}
	return states;
}

/*
 * The rest of what is decided by.
 */
void
booking_store_fresh_facts(int64 operation_id, BookingFreshFacts *facts)
{
	static BookingPlan plan = {
		"SELECT coalesce(p.intent_id, 0), i.override_reason IS NOT NULL,"
		" coalesce(cardinality(o.known_events), 0), o.known_events"
		"  FROM booking.operation o"
		"  JOIN booking.intent i ON i.intent_id = o.intent_id"
		"  LEFT JOIN booking.intent p"
		"    ON p.tenant = i.tenant AND p.principal = i.principal"
		"   AND p.intent = i.supersedes"
		" WHERE o.operation_id = $1",
		{INT8OID}
	};
	Datum		values[1];

	memset(facts, 0, sizeof(*facts));
	values[0] = Int64GetDatum(operation_id);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return;
	facts->predecessor_id = DatumGetInt64(booking_plan_column(0, 1, NULL));
	facts->override = DatumGetBool(booking_plan_column(0, 2, NULL));
	facts->nknown = DatumGetInt32(booking_plan_column(0, 3, NULL));
	if (facts->nknown > 0)
		facts->known = booking_record_int8_array(booking_plan_column(0, 4, NULL),
												 facts->nknown);
}

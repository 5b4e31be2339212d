/*-------------------------------------------------------------------------
 *
 * counter.c
 *	  statements on booking.counter, and on booking.webhook_count as it is read
 *
 * IDENTIFICATION
 *	  booking/src/store/counter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "store/counter.h"
#include "store/plan.h"
#include "store/record.h"

/* rows that are read at most; nobody but us writes them */
#define MOST_STORED 10000

/*
 * The relation that counters are stored in; another one than before is that of
 * another extension.
 */
Oid
booking_store_counter_relation(void)
{
	return get_relname_relid("counter", get_namespace_oid("booking", false));
}

/*
 * What is stored.
 */
BookingStoredCount *
booking_store_counters_read(int *count)
{
	static BookingPlan plan = {
		"SELECT c.counter, c.value FROM booking.counter c LIMIT $1",
		{INT8OID}
	};
	Datum		values[1];
	BookingStoredCount *counts;

	values[0] = Int64GetDatum(MOST_STORED);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	counts = palloc_array(BookingStoredCount, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		strlcpy(counts[i].key, TextDatumGetCString(booking_plan_column(i, 1, NULL)),
				sizeof(counts[i].key));
		counts[i].value = DatumGetInt64(booking_plan_column(i, 2, NULL));
	}
	return counts;
}

/*
 * Store counters; none of them ever falls.
 */
void
booking_store_counters_write(const BookingStoredCount *counts, int count)
{
	static BookingPlan plan = {
		"INSERT INTO booking.counter AS c (counter, value)"
		" SELECT u.counter, u.value FROM unnest($1, $2) AS u (counter, value)"
		" ON CONFLICT ON CONSTRAINT counter_pkey"
		" DO UPDATE SET value = EXCLUDED.value WHERE c.value < EXCLUDED.value",
		{TEXTARRAYOID, INT8ARRAYOID}
	};
	text	  **keys = palloc_array(text *, count + 1);
	int64	   *numbers = palloc_array(int64, count + 1);
	Datum		values[2];

	for (int i = 0; i < count; i++)
	{
		keys[i] = cstring_to_text(counts[i].key);
		numbers[i] = counts[i].value;
	}
	values[0] = PointerGetDatum(booking_record_make_text_array(keys, count));
	values[1] = PointerGetDatum(booking_record_make_int8_array(numbers, count));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Deliveries that were refused, by source and verdict.
 */
BookingRefusedCount *
booking_store_counters_refused(int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT w.source, w.verdict, w.deliveries FROM booking.webhook_count w"
		" ORDER BY w.source, w.verdict LIMIT $1",
		{INT8OID}
	};
	Datum		values[1];
	BookingRefusedCount *counts;

	values[0] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	counts = palloc_array(BookingRefusedCount, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		counts[i].source = DatumGetTextPP(booking_plan_column(i, 1, NULL));
		counts[i].verdict = TextDatumGetCString(booking_plan_column(i, 2, NULL));
		counts[i].deliveries = DatumGetInt64(booking_plan_column(i, 3, NULL));
	}
	return counts;
}

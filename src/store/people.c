/*-------------------------------------------------------------------------
 *
 * people.c
 *	  statements on attendees whose calendars are not synchronized
 *
 * IDENTIFICATION
 *	  booking/src/store/people.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/people.h"
#include "store/plan.h"

/*
 * Addresses, in lower case, of the attendees whom the provider is to be asked
 * about: none, unless the settings of the operation's account wish it, and none
 * that is the address of a calendar here.
 */
char	  **
booking_store_people_to_ask(const BookingOperation *operation, Jsonb *terms,
							int *count)
{
	static BookingPlan plan = {
		"SELECT DISTINCT lower(x #>> '{}') FROM booking.account a,"
		" jsonb_path_query($3, '$.event.attendees[*].email') x"
		" WHERE a.tenant = $1 AND a.account = $2"
		"   AND a.settings ->> 'free_busy' = 'attendees'"
		"   AND NOT EXISTS (SELECT FROM booking.calendar c"
		"    WHERE c.tenant = $1 AND lower(c.address) = lower(x #>> '{}'))"
		" ORDER BY 1",
		{TEXTOID, TEXTOID, JSONBOID}
	};
	Datum		values[3];
	char	  **people;

	values[0] = CStringGetTextDatum(operation->tenant);
	values[1] = CStringGetTextDatum(operation->account);
	values[2] = PointerGetDatum(terms);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	people = palloc_array(char *, *count + 1);
	for (int i = 0; i < *count; i++)
		people[i] = TextDatumGetCString(booking_plan_column(i, 1, NULL));
	return people;
}

/*
 * Digests of the busy times that versions of an intent were given up for.
 */
int64 *
booking_store_people_told(int64 intent_id, int *count)
{
	static BookingPlan plan = {
		"SELECT DISTINCT t FROM booking.operation o, unnest(o.told_busy) t"
		" WHERE o.intent_id = $1",
		{INT8OID}
	};
	Datum		values[1];
	int64	   *told;

	values[0] = Int64GetDatum(intent_id);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	told = palloc_array(int64, *count + 1);
	for (int i = 0; i < *count; i++)
		told[i] = DatumGetInt64(booking_plan_column(i, 1, NULL));
	return told;
}

/*
 * Put down the busy times that an operation is given up for.
 */
void
booking_store_people_tell(int64 operation_id, const int64 *told, int ntold)
{
	static BookingPlan plan = {
		"UPDATE booking.operation SET told_busy = $2 WHERE operation_id = $1",
		{INT8OID, INT8ARRAYOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(operation_id);
	values[1] = PointerGetDatum(booking_record_make_int8_array(told, ntold));
	booking_plan_run(&plan, values, NULL, 0);
}

/*-------------------------------------------------------------------------
 *
 * present.c
 *	  where a booking is now, and what it waits for
 *
 * An intent's own interval is what was approved, and never changes.  Where its
 * event was moved by others and the booking followed, the newest operation says
 * to which time.
 *
 * IDENTIFICATION
 *	  booking/src/store/present.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "store/plan.h"
#include "store/present.h"

/*
 * Read that of an intent; one without an operation, or that has ended, is where
 * it was approved and waits for nothing.
 */
void
booking_store_present(const BookingIntent *intent, BookingPresent *present)
{
	static BookingPlan plan = {
		"SELECT o.moved_to, CASE WHEN o.state = 'waiting' THEN"
		"   coalesce(o.problem, CASE WHEN a.parked THEN 'account_parked' END) END,"
		"  coalesce(o.message, CASE WHEN a.parked THEN"
		"   concat_ws(': ', concat('account ', a.account), a.problem) END), o.next_at"
		"  FROM booking.operation o"
		"  LEFT JOIN booking.account a"
		"    ON a.tenant = o.tenant AND a.account = o.account"
		" WHERE o.intent_id = $1 AND $2 IN " BOOKING_HOLDING_STATES
		" ORDER BY o.operation_id DESC LIMIT 1",
		{INT8OID, TEXTOID}
	};
	Datum		values[2];
	Datum		moved_to;

	memset(present, 0, sizeof(*present));
	values[0] = Int64GetDatum(intent->intent_id);
	values[1] = PointerGetDatum(intent->state);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return;
	moved_to = PointerGetDatum(booking_plan_pointer(0, 1));
	present->moved = DatumGetPointer(moved_to) != NULL;
	if (present->moved)
		booking_range_bounds(moved_to, &present->start, &present->end);
	present->problem = (text *) booking_plan_pointer(0, 2);
	if (present->problem == NULL)
		return;
	present->message = (text *) booking_plan_pointer(0, 3);
	present->next_at = DatumGetTimestampTz(booking_plan_column(0, 4, NULL));
}

/*-------------------------------------------------------------------------
 *
 * conference.c
 *	  statements on booking.conference
 *
 * IDENTIFICATION
 *	  booking/src/store/conference.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/conference.h"
#include "store/plan.h"


/*
 * Put down how the conference of an operation's event stands.
 */
void
booking_store_conference_put(const BookingConferenceChange *change)
{
	static BookingPlan plan = {
		"INSERT INTO booking.conference (operation_id, tries, state, link,"
		" problem, next_at, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"
		" ON CONFLICT ON CONSTRAINT conference_pkey DO UPDATE"
		" SET tries = EXCLUDED.tries, state = EXCLUDED.state,"
		" link = EXCLUDED.link, problem = EXCLUDED.problem,"
		" next_at = EXCLUDED.next_at, changed_at = EXCLUDED.changed_at",
		{INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID,
			TIMESTAMPTZOID}
	};
	Datum		values[7];
	bool		nulls[7] = {0};

	values[0] = Int64GetDatum(change->operation_id);
	values[1] = Int32GetDatum(change->tries);
	booking_plan_bind_cstring(values, nulls, 2, change->state);
	booking_plan_bind_cstring(values, nulls, 3, change->link);
	booking_plan_bind_cstring(values, nulls, 4, change->problem);
	values[5] = TimestampTzGetDatum(change->next_at);
	values[6] = TimestampTzGetDatum(change->now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * Let a booking that stands say where its conference is.
 */
void
booking_store_conference_tell(int64 intent_id, const char *link)
{
	static BookingPlan plan = {
		"UPDATE booking.intent SET detail = coalesce(detail, '{}')"
		" || jsonb_build_object('conference', $2)"
		" WHERE intent_id = $1 AND state = 'created'",
		{INT8OID, TEXTOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(intent_id);
	values[1] = CStringGetTextDatum(link);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Conferences to be asked for, but for those that are in hand, and those of
 * accounts that are parked, blocked, or named (as tenant, line feed, account).
 */
BookingConference *
booking_store_conferences_due(TimestampTz now, ArrayType *without,
							  ArrayType *in_hand, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT f.operation_id, f.tries, o.tenant, o.account, o.event_id,"
		" o.href, a.provider, a.base_url, c.remote_id, s.sealed, s.secret"
		"  FROM booking.conference f"
		"  JOIN booking.operation o ON o.operation_id = f.operation_id"
		"  JOIN booking.account a"
		"    ON a.tenant = o.tenant AND a.account = o.account"
		"  JOIN booking.calendar c"
		"    ON c.tenant = o.tenant AND c.calendar = o.calendar"
		"  LEFT JOIN booking.credential s"
		"    ON s.tenant = o.tenant AND s.account = o.account"
		" WHERE f.state = 'pending' AND f.next_at <= $1"
		"   AND NOT a.parked AND coalesce(a.blocked_until <= $1, true)"
		"   AND concat(o.tenant, E'\\n', o.account) <> ALL ($2)"
		"   AND f.operation_id <> ALL ($3)"
		" ORDER BY f.next_at LIMIT $4",
		{TIMESTAMPTZOID, TEXTARRAYOID, INT8ARRAYOID, INT8OID}
	};
	Datum		values[4];
	BookingConference *due;

	values[0] = TimestampTzGetDatum(now);
	values[1] = PointerGetDatum(without);
	values[2] = PointerGetDatum(in_hand);
	values[3] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	due = palloc0_array(BookingConference, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		bool		isnull;
		Datum		secret = booking_plan_column(i, 11, &isnull);

		due[i].operation_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		due[i].tries = DatumGetInt32(booking_plan_column(i, 2, NULL));
		due[i].tenant = booking_plan_cstring(i, 3);
		due[i].account = booking_plan_cstring(i, 4);
		due[i].event_id = booking_plan_cstring(i, 5);
		due[i].href = booking_plan_cstring(i, 6);
		due[i].provider = booking_plan_cstring(i, 7);
		due[i].base_url = booking_plan_cstring(i, 8);
		due[i].remote_id = booking_plan_cstring(i, 9);
		due[i].secret = isnull ? NULL : DatumGetByteaPP(secret);
		due[i].sealed = !isnull &&
			DatumGetBool(booking_plan_column(i, 10, NULL));
	}
	return due;
}

/*
 * When the next one is to be asked for that is not in hand; false if none is.
 */
bool
booking_store_conference_next_due(ArrayType *in_hand, TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT greatest(f.next_at, a.blocked_until) FROM booking.conference f"
		"  JOIN booking.operation o ON o.operation_id = f.operation_id"
		"  JOIN booking.account a"
		"    ON a.tenant = o.tenant AND a.account = o.account"
		" WHERE f.state = 'pending' AND NOT a.parked"
		"   AND f.operation_id <> ALL ($1)"
		" ORDER BY 1 LIMIT 1",
		{INT8ARRAYOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(in_hand);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	*next_at = DatumGetTimestampTz(booking_plan_column(0, 1, NULL));
	return true;
}

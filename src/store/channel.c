/*-------------------------------------------------------------------------
 *
 * channel.c
 *	  statements on booking.channel
 *
 * IDENTIFICATION
 *	  booking/src/store/channel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "compat.h"
#include "store/channel.h"
#include "store/plan.h"

#define CHANNEL_COLUMNS \
	"h.channel_id, h.tenant, h.account, c.calendar, h.state, h.channel," \
	" h.remote, h.sealed, h.secret, h.tries, c.remote_id, a.provider," \
	" a.base_url, s.sealed, s.secret"

#define CHANNEL_TABLES \
	"  FROM booking.channel h" \
	"  JOIN booking.account a ON a.tenant = h.tenant AND a.account = h.account" \
	"  LEFT JOIN booking.calendar c ON c.calendar_id = h.calendar_id" \
	"   AND c.account = h.account" \
	"  LEFT JOIN booking.credential s" \
	"    ON s.tenant = h.tenant AND s.account = h.account"

static void channel_from_row(uint64 row, BookingChannel *channel);

/*
 * Let there be a channel for each calendar that is to have one, and none else.
 * Providers are named that push, and those whose channels can be renewed; the
 * others get a new one when it is time, beside the old one.
 */
void
booking_store_channels_match(const char *push_url, ArrayType *pushing,
							 ArrayType *renewing, TimestampTz now)
{
	static BookingPlan over = {
		"WITH w AS MATERIALIZED (SELECT h.channel_id, h.remote, NOT EXISTS"
		"  (SELECT FROM booking.calendar c JOIN booking.account a"
		"     ON a.tenant = c.tenant AND a.account = c.account"
		"   WHERE c.calendar_id = h.calendar_id AND c.account = h.account"
		"     AND h.push_url = $1 AND a.provider = ANY ($2)"
		"     AND a.settings ->> 'push' IS DISTINCT FROM 'off') AS unwanted,"
		"  h.ends_at <= $3 AS ended"
		"  FROM booking.channel h WHERE h.state <> 'closing'),"
		" gone AS (DELETE FROM booking.channel h USING w"
		"  WHERE h.channel_id = w.channel_id"
		"    AND (w.ended OR w.unwanted AND w.remote IS NULL)),"
		" lost AS (DELETE FROM booking.channel h WHERE NOT EXISTS"
		"  (SELECT FROM booking.account a"
		"   WHERE a.tenant = h.tenant AND a.account = h.account))"
		" UPDATE booking.channel h SET state = 'closing', next_at = $3,"
		"  tries = 0, changed_at = $3 FROM w"
		"  WHERE h.channel_id = w.channel_id AND w.unwanted"
		"    AND NOT coalesce(w.ended, false) AND w.remote IS NOT NULL",
		{TEXTOID, TEXTARRAYOID, TIMESTAMPTZOID}
	};
	static BookingPlan wanted = {
		"INSERT INTO booking.channel (tenant, account, calendar_id, push_url,"
		" state, next_at, changed_at)"
		" SELECT c.tenant, c.account, c.calendar_id, $1, 'opening', $4, $4"
		"  FROM booking.calendar c JOIN booking.account a"
		"    ON a.tenant = c.tenant AND a.account = c.account"
		" WHERE $1 <> '' AND a.provider = ANY ($2)"
		"   AND a.settings ->> 'push' IS DISTINCT FROM 'off'"
		"   AND NOT EXISTS (SELECT FROM booking.channel h"
		"    WHERE h.calendar_id = c.calendar_id AND h.push_url = $1"
		"      AND (h.state = 'opening' OR h.state = 'open'"
		"       AND (h.renew_at > $4 OR a.provider = ANY ($3))))",
		{TEXTOID, TEXTARRAYOID, TEXTARRAYOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = CStringGetTextDatum(push_url);
	values[1] = PointerGetDatum(pushing);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&over, values, NULL, 0);
	values[2] = PointerGetDatum(renewing);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&wanted, values, NULL, 0);
}

/*
 * Channels that something is to be done about, but for those in hand, and those
 * of accounts that are parked, blocked, or named (as tenant, line feed, account).
 */
BookingChannel *
booking_store_channels_due(TimestampTz now, ArrayType *without,
						   ArrayType *in_hand, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT " CHANNEL_COLUMNS CHANNEL_TABLES
		" WHERE h.next_at <= $1"
		"   AND NOT a.parked AND coalesce(a.blocked_until <= $1, true)"
		"   AND concat(h.tenant, E'\\n', h.account) <> ALL ($2)"
		"   AND h.channel_id <> ALL ($3)"
		" ORDER BY h.next_at LIMIT $4",
		{TIMESTAMPTZOID, TEXTARRAYOID, INT8ARRAYOID, INT8OID}
	};
	Datum		values[4];
	BookingChannel *due;

	values[0] = TimestampTzGetDatum(now);
	values[1] = PointerGetDatum(without);
	values[2] = PointerGetDatum(in_hand);
	values[3] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	due = palloc0_array(BookingChannel, *count + 1);
	for (int i = 0; i < *count; i++)
		channel_from_row(i, &due[i]);
	return due;
}

/*
 * When something is to be done about one that is not in hand; false if never.
 */
bool
booking_store_channel_next_due(ArrayType *in_hand, TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT greatest(h.next_at, a.blocked_until) FROM booking.channel h"
		"  JOIN booking.account a"
		"    ON a.tenant = h.tenant AND a.account = h.account"
		" WHERE NOT a.parked AND h.channel_id <> ALL ($1)"
		"   AND h.next_at < 'infinity'"
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

/*
 * See channel.h.
 */
bool
booking_store_channel_find(text *channel, BookingChannel *found)
{
	static BookingPlan plan = {
		"SELECT " CHANNEL_COLUMNS CHANNEL_TABLES
		" WHERE h.channel = $1 AND h.state IN ('opening', 'open')"
		"   AND c.calendar IS NOT NULL",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(channel);
	memset(found, 0, sizeof(*found));
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	channel_from_row(0, found);
	return true;
}

/*
 * See channel.h.
 */
bool
booking_store_channel_known(text *channel)
{
	static BookingPlan plan = {
		"SELECT FROM booking.channel h WHERE h.channel = $1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(channel);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Give a channel that is to be opened its name and secret: new ones for each try,
 * because it is not known what came of an earlier one.
 */
void
booking_store_channel_name(int64 channel_id, const char *channel, bool sealed,
						   bytea *secret, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.channel SET channel = $2, sealed = $3, secret = $4,"
		" changed_at = $5 WHERE channel_id = $1",
		{INT8OID, TEXTOID, BOOLOID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[5];

	values[0] = Int64GetDatum(channel_id);
	values[1] = CStringGetTextDatum(channel);
	values[2] = BoolGetDatum(sealed);
	values[3] = PointerGetDatum(secret);
	values[4] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Put down how a channel stands; false if it is being closed meanwhile, and then
 * only the provider's name for it is kept.
 */
bool
booking_store_channel_change(const BookingChannelChange *change)
{
	static BookingPlan plan = {
		"UPDATE booking.channel SET remote = coalesce($3, remote),"
		" state = CASE WHEN state = 'closing' THEN state ELSE $2 END,"
		" next_at = $4, renew_at = $5, ends_at = coalesce($6, ends_at),"
		" tries = $7, problem = $8, changed_at = $9"
		" WHERE channel_id = $1 RETURNING state = $2",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
			TIMESTAMPTZOID, INT4OID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[9];
	bool		nulls[9] = {0};

	values[0] = Int64GetDatum(change->channel_id);
	booking_plan_bind_cstring(values, nulls, 1, change->state);
	booking_plan_bind_cstring(values, nulls, 2, change->remote);
	values[3] = TimestampTzGetDatum(change->next_at);
	values[4] = TimestampTzGetDatum(change->renew_at);
	values[5] = TimestampTzGetDatum(change->ends_at);
	nulls[5] = change->ends_at == 0;
	values[6] = Int32GetDatum(change->tries);
	booking_plan_bind_cstring(values, nulls, 7, change->problem);
	values[8] = TimestampTzGetDatum(change->now);
	return booking_plan_run(&plan, values, nulls, 0) == 1 &&
		DatumGetBool(booking_plan_column(0, 1, NULL));
}

/*
 * A channel is open: earlier ones of its calendar are not needed any more.
 */
void
booking_store_channels_replace(int64 channel_id, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.channel h SET state = 'closing', next_at = $2,"
		" tries = 0, changed_at = $2 FROM booking.channel n"
		" WHERE n.channel_id = $1 AND h.calendar_id = n.calendar_id"
		"   AND h.channel_id < $1 AND h.state = 'open'",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(channel_id);
	values[1] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Forget a channel.
 */
void
booking_store_channel_remove(int64 channel_id)
{
	static BookingPlan plan = {
		"DELETE FROM booking.channel WHERE channel_id = $1",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(channel_id);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * The provider says that a channel is to be renewed, or that it is lost.
 */
void
booking_store_channel_hasten(int64 channel_id, bool lost, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.channel SET next_at = $3, renew_at = $3, tries = 0,"
		" changed_at = $3, state = CASE WHEN $2 THEN 'opening' ELSE state END,"
		" remote = CASE WHEN $2 THEN NULL ELSE remote END,"
		" ends_at = CASE WHEN $2 THEN NULL ELSE ends_at END"
		" WHERE channel_id = $1 AND state = 'open'",
		{INT8OID, BOOLOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(channel_id);
	values[1] = BoolGetDatum(lost);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Count a delivery that is not from the provider; returns how many were.
 */
int64
booking_store_channel_refuse(int64 channel_id)
{
	static BookingPlan plan = {
		"UPDATE booking.channel SET refused = refused + 1"
		" WHERE channel_id = $1 RETURNING refused",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(channel_id);
	if (booking_plan_run(&plan, values, NULL, 0) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Fill a struct from a row of CHANNEL_COLUMNS.
 */
static void
channel_from_row(uint64 row, BookingChannel *channel)
{
	channel->channel_id = DatumGetInt64(booking_plan_column(row, 1, NULL));
	channel->tenant = DatumGetTextPP(booking_plan_column(row, 2, NULL));
	channel->account = booking_plan_cstring(row, 3);
	channel->calendar = (text *) booking_plan_pointer(row, 4);
	channel->state = booking_plan_cstring(row, 5);
	channel->channel = booking_plan_cstring(row, 6);
	channel->remote = booking_plan_cstring(row, 7);
	channel->secret_sealed = DatumGetBool(booking_plan_column(row, 8, NULL));
	channel->secret = (bytea *) booking_plan_pointer(row, 9);
	channel->tries = DatumGetInt32(booking_plan_column(row, 10, NULL));
	channel->remote_id = booking_plan_cstring(row, 11);
	channel->provider = booking_plan_cstring(row, 12);
	channel->base_url = booking_plan_cstring(row, 13);
	channel->credential = (bytea *) booking_plan_pointer(row, 15);
	channel->sealed = channel->credential != NULL &&
		DatumGetBool(booking_plan_column(row, 14, NULL));
}

/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  statements on booking.webhook_reader and booking.webhook_credential
 *
 * IDENTIFICATION
 *	  booking/src/store/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "compat.h"
#include "store/plan.h"
#include "store/reader.h"

/*
 * Sources that may be read, with r, s and c.  $1 is now, $2 those in hand, $3
 * microseconds between two listings.  Whoever writes to the calendar itself is
 * read there.
 */
#define READERS \
	"  FROM booking.webhook_reader r" \
	"  JOIN booking.webhook_source s ON s.source = r.source" \
	"  JOIN booking.webhook_credential c ON c.source = r.source" \
	" WHERE NOT r.parked AND s.removed_at IS NULL" \
	"   AND r.reader_id <> ALL ($2)" \
	"   AND CASE s.kind WHEN 'acuity' THEN EXISTS" \
	"    (SELECT FROM booking.inbox i WHERE i.source = r.source" \
	"      AND i.state = 'read_wanted')" \
	"    ELSE $3 > 0" \
	"     AND s.settings -> 'by_calendar' IS DISTINCT FROM 'true' END"

/*
 * When one of those is to be read: what is under way goes on, what failed is
 * tried again, and what nobody answered yet, because a worker died, is too.
 */
#define DUE_AT \
	"CASE WHEN s.kind = 'acuity' OR r.\"position\" IS NOT NULL" \
	"   OR r.tries > 0 OR r.pages = 0 THEN r.next_at" \
	" ELSE greatest(r.next_at, r.listed_at + $3 * interval '1 microsecond') END"

/*
 * Read a source from now on, with a credential.
 */
void
booking_store_reader_put(text *source, text *base_url, bool sealed,
						 bytea *secret, TimestampTz due, TimestampTz now)
{
	static BookingPlan reader = {
		"INSERT INTO booking.webhook_reader AS r (source, base_url, next_at,"
		" changed_at) VALUES ($1, $2, $3, $4)"
		" ON CONFLICT (source) DO UPDATE SET base_url = EXCLUDED.base_url,"
		" next_at = EXCLUDED.next_at, changed_at = EXCLUDED.changed_at,"
		" parked = false, tries = 0, problem = NULL, \"position\" = NULL,"
		" listed_at = NULL",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	static BookingPlan credential = {
		"INSERT INTO booking.webhook_credential (source, sealed, secret,"
		" created_at) VALUES ($1, $2, $3, $4)"
		" ON CONFLICT ON CONSTRAINT webhook_credential_pkey DO UPDATE"
		" SET sealed = EXCLUDED.sealed, secret = EXCLUDED.secret,"
		" created_at = EXCLUDED.created_at",
		{TEXTOID, BOOLOID, BYTEAOID, TIMESTAMPTZOID}
	};
	Datum		values[4];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(base_url);
	values[2] = TimestampTzGetDatum(due);
	values[3] = TimestampTzGetDatum(now);
	booking_plan_run(&reader, values, NULL, 0);
	values[1] = BoolGetDatum(sealed);
	values[2] = PointerGetDatum(secret);
	booking_plan_run(&credential, values, NULL, 0);
}

/*
 * Read a source no more; returns whether it was read.
 */
bool
booking_store_reader_remove(text *source)
{
	static BookingPlan plan = {
		"WITH credentials AS (DELETE FROM booking.webhook_credential"
		"  WHERE source = $1)"
		" DELETE FROM booking.webhook_reader WHERE source = $1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(source);
	return booking_plan_run(&plan, values, NULL, 0) > 0;
}

/*
 * At most limit sources that are to be read now, those that waited longest
 * first.
 */
BookingReader *
booking_store_readers_due(const BookingReaderTimes *times,
						  ArrayType *in_hand, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT r.reader_id, r.source, s.kind, s.settings, r.base_url,"
		" r.\"position\", r.since, r.tries, r.pages, c.sealed, c.secret" READERS
		"   AND r.next_at <= $1 AND (" DUE_AT ") <= $1"
		" ORDER BY r.next_at LIMIT $4",
		{TIMESTAMPTZOID, INT8ARRAYOID, INT8OID, INT8OID}
	};
	Datum		values[4];
	BookingReader *readers;

	values[0] = TimestampTzGetDatum(times->now);
	values[1] = PointerGetDatum(in_hand);
	values[2] = Int64GetDatum(times->interval);
	values[3] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	readers = palloc0_array(BookingReader, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		BookingReader *reader = &readers[i];

		reader->reader_id = DatumGetInt64(booking_plan_column(i, 1, NULL));
		reader->source = DatumGetTextPP(booking_plan_column(i, 2, NULL));
		reader->kind = booking_plan_cstring(i, 3);
		reader->settings = DatumGetJsonbP(booking_plan_column(i, 4, NULL));
		reader->base_url = booking_plan_cstring(i, 5);
		reader->position = booking_plan_cstring(i, 6);
		reader->since = DatumGetTimestampTz(booking_plan_column(i, 7, NULL));
		reader->tries = DatumGetInt32(booking_plan_column(i, 8, NULL));
		reader->pages = DatumGetInt32(booking_plan_column(i, 9, NULL));
		reader->sealed = DatumGetBool(booking_plan_column(i, 10, NULL));
		reader->secret = DatumGetByteaPP(booking_plan_column(i, 11, NULL));
	}
	return readers;
}

/*
 * When a source is to be read that is not in hand; false if none is.
 */
bool
booking_store_reader_next_due(const BookingReaderTimes *times,
							  ArrayType *in_hand, TimestampTz *next_at)
{
	static BookingPlan plan = {
		"SELECT min(" DUE_AT ")" READERS,
		{TIMESTAMPTZOID, INT8ARRAYOID, INT8OID}
	};
	Datum		values[3];
	bool		isnull;

	values[0] = TimestampTzGetDatum(times->now);
	values[1] = PointerGetDatum(in_hand);
	values[2] = Int64GetDatum(times->interval);
	booking_plan_run(&plan, values, NULL, 1);
	*next_at = DatumGetTimestampTz(booking_plan_column(0, 1, &isnull));
	return !isnull;
}

/*
 * A listing begins.
 */
void
booking_store_reader_begin(int64 reader_id, TimestampTz since, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.webhook_reader SET listed_at = $3, since = $2,"
		" pages = 0, changed_at = $3 WHERE reader_id = $1",
		{INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = Int64GetDatum(reader_id);
	values[1] = TimestampTzGetDatum(since);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A request goes out: if nothing can be recorded of it, it is repeated then, and
 * not at once.
 */
void
booking_store_reader_lease(int64 reader_id, TimestampTz until)
{
	static BookingPlan plan = {
		"UPDATE booking.webhook_reader SET next_at = $2 WHERE reader_id = $1",
		{INT8OID, TIMESTAMPTZOID}
	};
	Datum		values[2];

	values[0] = Int64GetDatum(reader_id);
	values[1] = TimestampTzGetDatum(until);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Put down what came of a request; false if the source is not read any more.
 */
bool
booking_store_reader_change(const BookingReaderChange *change)
{
	static BookingPlan plan = {
		"UPDATE booking.webhook_reader r SET \"position\" = $2, tries = $3,"
		" pages = $4, found = r.found + $5, parked = $6, next_at = $7,"
		" problem = $8, changed_at = $9 WHERE r.reader_id = $1",
		{INT8OID, TEXTOID, INT4OID, INT4OID, INT8OID, BOOLOID, TIMESTAMPTZOID,
			TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[9];
	bool		nulls[9] = {false};

	values[0] = Int64GetDatum(change->reader_id);
	booking_plan_bind_cstring(values, nulls, 1, change->position);
	values[2] = Int32GetDatum(change->tries);
	values[3] = Int32GetDatum(change->pages);
	values[4] = Int64GetDatum(change->found);
	values[5] = BoolGetDatum(change->parked);
	values[6] = TimestampTzGetDatum(change->next_at);
	booking_plan_bind_cstring(values, nulls, 7, change->problem);
	values[8] = TimestampTzGetDatum(change->now);
	return booking_plan_run(&plan, values, nulls, 0) > 0;
}

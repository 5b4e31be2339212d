/*-------------------------------------------------------------------------
 *
 * inbox.c
 *	  statements on booking.inbox and booking.webhook_booking
 *
 * IDENTIFICATION
 *	  booking/src/store/inbox.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/rangetypes.h"

#include "compat.h"
#include "store/plan.h"
#include "store/webhook.h"

#define DELIVERY_COLUMNS \
	"i.delivery, i.version, i.tries, i.received_at, i.verdict, i.state," \
	" i.reason, i.type, i.booking, i.body"

static text *optional(const char *word);
static void delivery_from_row(uint64 row, BookingDelivery *delivery);
static const char *word_column(uint64 row, int column);

/*
 * Store a delivery and return its number; 0 if the same is there, of which
 * another transaction may just have decided.
 */
int64
booking_store_inbox_insert(const BookingWebhookSource *source,
						   const BookingDelivery *delivery)
{
	static BookingPlan plan = {
		"INSERT INTO booking.inbox (source, tenant, received_at, verdict, state,"
		" reason, type, booking, version, dedupe, body)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
		" ON CONFLICT (source, dedupe) WHERE dedupe IS NOT NULL DO NOTHING"
		" RETURNING delivery",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
		TEXTOID, INT8OID, TEXTOID, BYTEAOID}
	};
	Datum		values[11];
	bool		nulls[11] = {false};

	values[0] = PointerGetDatum(source->source);
	values[1] = PointerGetDatum(source->tenant);
	values[2] = TimestampTzGetDatum(delivery->received_at);
	values[3] = CStringGetTextDatum(delivery->verdict);
	values[4] = CStringGetTextDatum(delivery->state);
	booking_plan_bind(values, nulls, 5, optional(delivery->reason));
	booking_plan_bind(values, nulls, 6, delivery->type);
	booking_plan_bind(values, nulls, 7, delivery->booking);
	values[8] = Int64GetDatum(delivery->version);
	nulls[8] = !delivery->has_version;
	booking_plan_bind(values, nulls, 9, delivery->dedupe);
	values[10] = PointerGetDatum(delivery->body);
	if (booking_plan_run(&plan, values, nulls, 0) == 0)
		return 0;
	return DatumGetInt64(booking_plan_column(0, 1, NULL));
}

/*
 * Is the same there?
 */
bool
booking_store_inbox_knows(text *source, text *dedupe)
{
	static BookingPlan plan = {
		"SELECT FROM booking.inbox i WHERE i.source = $1 AND i.dedupe = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(dedupe);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * Count a copy of a delivery that is there; returns whether it has the same
 * body, byte for byte, and which it is.  What a listing told has a body that
 * was made here, so that it cannot be compared.  One that was purged has the
 * same as any: else its copies would bring back what was purged.
 */
bool
booking_store_inbox_same(text *source, text *dedupe, bytea *body,
						 int64 *delivery)
{
	static BookingPlan plan = {
		"UPDATE booking.inbox i SET copies = i.copies + 1"
		" WHERE i.source = $1 AND i.dedupe = $2"
		" RETURNING i.delivery,"
		" i.body = $3 OR i.body = '' OR i.verdict = 'found'",
		{TEXTOID, TEXTOID, BYTEAOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(dedupe);
	values[2] = PointerGetDatum(body);
	*delivery = 0;
	if (booking_plan_run(&plan, values, NULL, 0) == 0)
		return true;
	*delivery = DatumGetInt64(booking_plan_column(0, 1, NULL));
	return DatumGetBool(booking_plan_column(0, 2, NULL));
}

/*
 * Record what became of a delivery.  What is told after a reading is done wants
 * another.
 */
void
booking_store_inbox_decide(int64 delivery, const char *state,
						   const char *reason, const TimestampTz *next_at,
						   bool failed, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.inbox i SET state = $2, reason = $3, next_at = $4,"
		" applied_at = $6, tries = CASE WHEN $5 THEN i.tries + 1 ELSE 0 END,"
		" dedupe = CASE WHEN i.state <> 'read_wanted' OR $2 = 'read_wanted'"
		"  THEN i.dedupe END"
		" WHERE i.delivery = $1 AND (i.state, i.reason, i.next_at, $5)"
		"   IS DISTINCT FROM ($2, $3, $4, false)",
		{INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, BOOLOID, TIMESTAMPTZOID}
	};
	Datum		values[6];
	bool		nulls[6] = {false};

	values[0] = Int64GetDatum(delivery);
	values[1] = CStringGetTextDatum(state);
	booking_plan_bind(values, nulls, 2, optional(reason));
	values[3] = TimestampTzGetDatum(next_at != NULL ? *next_at : 0);
	nulls[3] = next_at == NULL;
	values[4] = BoolGetDatum(failed);
	values[5] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * The other half of what deliveries about a booking wait for has come.
 */
void
booking_store_inbox_arrived(text *source, text *booking, TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.inbox i SET state = 'applied', reason = NULL,"
		" applied_at = $3"
		" WHERE i.source = $1 AND i.booking = $2 AND i.state = 'waiting'",
		{TEXTOID, TEXTOID, TIMESTAMPTZOID}
	};
	Datum		values[3];

	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(booking);
	values[2] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Does a delivery of a source wait for another?
 */
bool
booking_store_inbox_waiting(text *source)
{
	static BookingPlan plan = {
		"SELECT FROM booking.inbox i"
		" WHERE i.source = $1 AND i.state = 'waiting' LIMIT 1",
		{TEXTOID}
	};
	Datum		values[1];

	values[0] = PointerGetDatum(source);
	return booking_plan_run(&plan, values, NULL, 1) > 0;
}

/*
 * At most limit deliveries of a source behind one, in the order of arrival:
 * those received in a time or, if list is not NULL, those listed.
 */
BookingDelivery *
booking_store_inbox_page(text *source, int64 after, const RangeType *within,
						 ArrayType *list, int limit, int *count)
{
	static BookingPlan plan = {
		"SELECT " DELIVERY_COLUMNS " FROM booking.inbox i"
		" WHERE i.source = $1 AND i.delivery > $2"
		"   AND ($3 IS NULL OR i.received_at <@ $3)"
		"   AND ($4 IS NULL OR i.delivery = ANY ($4))"
		" ORDER BY i.delivery LIMIT $5",
		{TEXTOID, INT8OID, TSTZRANGEOID, INT8ARRAYOID, INT8OID}
	};
	BookingDelivery *deliveries;
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = PointerGetDatum(source);
	values[1] = Int64GetDatum(after);
	booking_plan_bind(values, nulls, 2, within);
	booking_plan_bind(values, nulls, 3, list);
	values[4] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, nulls, 0);
	deliveries = palloc_array(BookingDelivery, *count + 1);
	for (int row = 0; row < *count; row++)
		delivery_from_row(row, &deliveries[row]);
	return deliveries;
}

/*
 * Read one delivery and whose it is; returns whether there is one.
 */
bool
booking_store_inbox_read(int64 delivery, text **source, BookingDelivery *found)
{
	static BookingPlan plan = {
		"SELECT " DELIVERY_COLUMNS ", i.source FROM booking.inbox i"
		" WHERE i.delivery = $1",
		{INT8OID}
	};
	Datum		values[1];

	values[0] = Int64GetDatum(delivery);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	delivery_from_row(0, found);
	*source = DatumGetTextPP(booking_plan_column(0, 11, NULL));
	return true;
}

/*
 * At most limit bookings whose time as half a pair is over, and as many
 * deliveries that are to be tried again: those of a source, or all.
 */
BookingWebhookDue *
booking_store_webhook_due(text *source, TimestampTz now, int limit,
						  int *count)
{
	static BookingPlan plan = {
		"(SELECT 0::bigint, b.source, b.booking FROM booking.webhook_booking b"
		"  WHERE b.units_until <= $1 AND ($3 IS NULL OR b.source = $3)"
		"  ORDER BY b.units_until LIMIT $2)"
		" UNION ALL"
		" (SELECT i.delivery, i.source, NULL FROM booking.inbox i"
		"  WHERE i.next_at <= $1 AND ($3 IS NULL OR i.source = $3)"
		"  ORDER BY i.next_at LIMIT $2)",
		{TIMESTAMPTZOID, INT8OID, TEXTOID}
	};
	BookingWebhookDue *due;
	Datum		values[3];
	bool		nulls[3] = {false};

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(limit);
	booking_plan_bind(values, nulls, 2, source);
	*count = (int) booking_plan_run(&plan, values, nulls, 0);
	due = palloc_array(BookingWebhookDue, *count + 1);
	for (int row = 0; row < *count; row++)
	{
		due[row].delivery = DatumGetInt64(booking_plan_column(row, 1, NULL));
		due[row].source = DatumGetTextPP(booking_plan_column(row, 2, NULL));
		due[row].booking = (text *) booking_plan_pointer(row, 3);
	}
	return due;
}

/*
 * At most limit deliveries of a source that wait for a reading, the oldest
 * first.  From now on the same makes another.
 */
BookingWebhookDue *
booking_store_inbox_reads(text *source, int limit, int *count)
{
	static BookingPlan plan = {
		"WITH taken AS (UPDATE booking.inbox i SET dedupe = NULL"
		"  WHERE i.delivery = ANY (ARRAY(SELECT r.delivery FROM booking.inbox r"
		"   WHERE r.source = $1 AND r.state = 'read_wanted'"
		"   ORDER BY r.delivery LIMIT $2))"
		"  RETURNING i.delivery, i.booking)"
		" SELECT t.delivery, t.booking FROM taken t ORDER BY t.delivery",
		{TEXTOID, INT8OID}
	};
	BookingWebhookDue *reads;
	Datum		values[2];

	values[0] = PointerGetDatum(source);
	values[1] = Int64GetDatum(limit);
	*count = (int) booking_plan_run(&plan, values, NULL, 0);
	reads = palloc0_array(BookingWebhookDue, *count + 1);
	for (int row = 0; row < *count; row++)
	{
		reads[row].delivery = DatumGetInt64(booking_plan_column(row, 1, NULL));
		reads[row].booking = DatumGetTextPP(booking_plan_column(row, 2, NULL));
	}
	return reads;
}

/*
 * When something is due next; false if nothing is waited for.
 */
bool
booking_store_webhook_next_due(TimestampTz *due)
{
	static BookingPlan plan = {
		"SELECT least((SELECT b.units_until FROM booking.webhook_booking b"
		"   WHERE b.units_until IS NOT NULL ORDER BY b.units_until LIMIT 1),"
		"  (SELECT i.next_at FROM booking.inbox i"
		"   WHERE i.next_at IS NOT NULL ORDER BY i.next_at LIMIT 1))",
		{InvalidOid}
	};
	bool		isnull;

	booking_plan_run(&plan, NULL, NULL, 1);
	*due = DatumGetTimestampTz(booking_plan_column(0, 1, &isnull));
	return !isnull;
}

/*
 * Read a booking of a source; returns whether it is known.
 */
bool
booking_store_webhook_booking_read(text *source, text *booking,
								   BookingWebhookBooking *found)
{
	static BookingPlan plan = {
		"SELECT b.version, b.generation, b.state, b.intent, b.resource,"
		" b.successor, b.during, b.units_until"
		"  FROM booking.webhook_booking b"
		" WHERE b.source = $1 AND b.booking = $2",
		{TEXTOID, TEXTOID}
	};
	Datum		values[2];
	Datum		during;
	bool		isnull;

	memset(found, 0, sizeof(*found));
	values[0] = PointerGetDatum(source);
	values[1] = PointerGetDatum(booking);
	if (booking_plan_run(&plan, values, NULL, 1) == 0)
		return false;
	found->booking = booking;
	found->version = DatumGetInt64(booking_plan_column(0, 1, NULL));
	found->generation = DatumGetInt32(booking_plan_column(0, 2, NULL));
	found->state = word_column(0, 3);
	found->intent = DatumGetTextPP(booking_plan_column(0, 4, NULL));
	found->resource = (text *) booking_plan_pointer(0, 5);
	found->successor = (text *) booking_plan_pointer(0, 6);
	during = booking_plan_column(0, 7, &isnull);
	found->has_during = !isnull;
	if (!isnull)
		booking_range_bounds(during, &found->start, &found->end);
	found->units_until = DatumGetTimestampTz(booking_plan_column(0, 8, NULL));
	return true;
}

/*
 * Record what a booking of a source is now.
 */
void
booking_store_webhook_booking_put(const BookingWebhookSource *source,
								  const BookingWebhookBooking *row,
								  TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.webhook_booking (source, booking, tenant, version,"
		" generation, state, intent, resource, successor, during, units_until,"
		" changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
		" ON CONFLICT ON CONSTRAINT webhook_booking_pkey DO UPDATE"
		" SET version = EXCLUDED.version, generation = EXCLUDED.generation,"
		" state = EXCLUDED.state, intent = EXCLUDED.intent,"
		" resource = EXCLUDED.resource, successor = EXCLUDED.successor,"
		" during = EXCLUDED.during, units_until = EXCLUDED.units_until,"
		" changed_at = EXCLUDED.changed_at",
		{TEXTOID, TEXTOID, TEXTOID, INT8OID, INT4OID, TEXTOID, TEXTOID, TEXTOID,
		TEXTOID, TSTZRANGEOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	};
	Datum		values[12];
	bool		nulls[12] = {false};

	values[0] = PointerGetDatum(source->source);
	values[1] = PointerGetDatum(row->booking);
	values[2] = PointerGetDatum(source->tenant);
	values[3] = Int64GetDatum(row->version);
	values[4] = Int32GetDatum(row->generation);
	values[5] = CStringGetTextDatum(row->state);
	values[6] = PointerGetDatum(row->intent);
	booking_plan_bind(values, nulls, 7, row->resource);
	booking_plan_bind(values, nulls, 8, row->successor);
	booking_plan_bind(values, nulls, 9, !row->has_during ? NULL :
					  booking_range_make(row->start, row->end));
	values[10] = TimestampTzGetDatum(row->units_until);
	nulls[10] = strcmp(row->state, "moving") != 0;
	values[11] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, nulls, 0);
}

/*
 * A booking made elsewhere found no place here, and the source has it all the
 * same.
 */
void
booking_store_webhook_conflict_put(text *tenant, int64 intent_id, text *object,
								   TimestampTz start, TimestampTz end,
								   TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.conflict (found_at, intent_id, kind, tenant,"
		" object, during) VALUES ($1, $2, 'elsewhere', $3, $4, $5)"
		" ON CONFLICT (kind, intent_id, calendar_id, object)"
		"  WHERE resolved_at IS NULL DO NOTHING",
		{TIMESTAMPTZOID, INT8OID, TEXTOID, TEXTOID, TSTZRANGEOID}
	};
	Datum		values[5];

	values[0] = TimestampTzGetDatum(now);
	values[1] = Int64GetDatum(intent_id);
	values[2] = PointerGetDatum(tenant);
	values[3] = PointerGetDatum(object);
	values[4] = PointerGetDatum(booking_range_make(start, end));
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * A word as text, NULL if there is none.
 */
static text *
optional(const char *word)
{
	return word == NULL ? NULL : cstring_to_text(word);
}

/*
 * The first columns of a row, which are DELIVERY_COLUMNS.
 */
static void
delivery_from_row(uint64 row, BookingDelivery *delivery)
{
	bool		isnull;

	memset(delivery, 0, sizeof(*delivery));
	delivery->delivery = DatumGetInt64(booking_plan_column(row, 1, NULL));
	delivery->version = DatumGetInt64(booking_plan_column(row, 2, &isnull));
	delivery->has_version = !isnull;
	delivery->tries = DatumGetInt32(booking_plan_column(row, 3, NULL));
	delivery->received_at = DatumGetTimestampTz(booking_plan_column(row, 4, NULL));
	delivery->verdict = word_column(row, 5);
	delivery->state = word_column(row, 6);
	delivery->reason = word_column(row, 7);
	delivery->type = (text *) booking_plan_pointer(row, 8);
	delivery->booking = (text *) booking_plan_pointer(row, 9);
	delivery->body = DatumGetByteaPP(booking_plan_column(row, 10, NULL));
}

/*
 * A column of text as a string, NULL if it is null.
 */
static const char *
word_column(uint64 row, int column)
{
	bool		isnull;
	Datum		value = booking_plan_column(row, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

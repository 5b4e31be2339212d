/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  the worker's statements on many operations at once
 *
 * To start a statement, and to have the server read the CHECKs of a table
 * again, costs more than to change a row.  So what the worker puts down of the
 * operations that it leases or confirms together goes into one statement a
 * table: the rows come as arrays, one a column.
 *
 * All or nothing: where a row is not as expected, an error is raised, and the
 * caller goes through its operations one by one.
 *
 * IDENTIFICATION
 *	  booking/src/store/batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "store/batch.h"
#include "store/change.h"
#include "store/plan.h"

/* columns that become array parameters */
typedef struct Columns
{
	int			nrows;
	int			ncolumns;
	Datum	   *values[BOOKING_PLAN_MAX_ARGS];
	bool	   *nulls[BOOKING_PLAN_MAX_ARGS];
	Oid			types[BOOKING_PLAN_MAX_ARGS];
} Columns;

static void change_operations(const BookingOperationChange *changes, int count,
							  TimestampTz now);
static void insert_attempts(const BookingAttempt *attempts, int count,
							TimestampTz now);
static void change_intents(const BookingIntentChange *changes, int count,
						   text *role, TimestampTz now);
static void add_column(Columns *columns, Oid type);
static void set_value(Columns *columns, int column, int row, Datum value);
static void set_string(Columns *columns, int column, int row,
					   const char *string);
static void set_pointer(Columns *columns, int column, int row,
						const void *pointer);
static void bind_columns(const Columns *columns, Datum *values);

/*
 * An empty batch for so many operations, in the current memory context.
 */
BookingBatch *
booking_batch_create(int room)
{
	BookingBatch *batch = palloc0_object(BookingBatch);

	batch->changes = palloc_array(BookingOperationChange, room);
	batch->attempts = palloc_array(BookingAttempt, room);
	batch->intents = palloc_array(BookingIntentChange, room);
	return batch;
}

/*
 * Write what is in a batch.
 */
void
booking_batch_write(const BookingBatch *batch, text *role, TimestampTz now)
{
	if (batch->nchanges > 0)
		change_operations(batch->changes, batch->nchanges, now);
	if (batch->nattempts > 0)
		insert_attempts(batch->attempts, batch->nattempts, now);
	if (batch->nintents > 0)
		change_intents(batch->intents, batch->nintents, role, now);
}

/*
 * Change the states of operations, each from the one it is expected in.
 */
static void
change_operations(const BookingOperationChange *changes, int count,
				  TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.operation o SET state = u.state, next_at = u.next_at,"
		" epoch = u.epoch, tries = u.tries, uncertain = u.uncertain,"
		" href = coalesce(u.href, o.href), etag = coalesce(u.etag, o.etag),"
		" body = coalesce(u.body, o.body), problem = u.problem,"
		" message = u.message, changed_at = $13,"
		BOOKING_OPERATION_ROUND("o", "u.state")
		" FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
		"  AS u (operation_id, was, state, next_at, epoch, tries, uncertain,"
		"  href, etag, body, problem, message)"
		" WHERE o.operation_id = u.operation_id AND o.state = u.was",
		{INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TIMESTAMPTZARRAYOID,
			INT4ARRAYOID, INT4ARRAYOID, BOOLARRAYOID, TEXTARRAYOID, TEXTARRAYOID,
			BYTEAARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TIMESTAMPTZOID}
	};
	static const Oid types[] = {INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID,
		INT4OID, INT4OID, BOOLOID, TEXTOID, TEXTOID, BYTEAOID, TEXTOID, TEXTOID};
	Columns		columns = {count};
	Datum		values[13];

	for (int i = 0; i < lengthof(types); i++)
		add_column(&columns, types[i]);
	for (int i = 0; i < count; i++)
	{
		const BookingOperationChange *change = &changes[i];

		set_value(&columns, 0, i, Int64GetDatum(change->operation_id));
		set_string(&columns, 1, i, change->from);
		set_string(&columns, 2, i, change->state);
		set_value(&columns, 3, i, TimestampTzGetDatum(change->next_at));
		set_value(&columns, 4, i, Int32GetDatum(change->epoch));
		set_value(&columns, 5, i, Int32GetDatum(change->tries));
		set_value(&columns, 6, i, BoolGetDatum(change->uncertain));
		set_string(&columns, 7, i, change->href);
		set_string(&columns, 8, i, change->etag);
		set_pointer(&columns, 9, i, change->body);
		set_string(&columns, 10, i, change->problem);
		set_string(&columns, 11, i, change->message);
	}
	bind_columns(&columns, values);
	values[12] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) != count)
		elog(ERROR, "some operation is not in the state it was in");
}

/*
 * Add lines of evidence.
 */
static void
insert_attempts(const BookingAttempt *attempts, int count, TimestampTz now)
{
	static BookingPlan plan = {
		"INSERT INTO booking.attempt (operation_id, epoch, phase, mark, status,"
		" problem, message, at)"
		" SELECT u.*, $8 FROM unnest($1, $2, $3, $4, $5, $6, $7) AS u",
		{INT8ARRAYOID, INT4ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, INT4ARRAYOID,
			TEXTARRAYOID, TEXTARRAYOID, TIMESTAMPTZOID}
	};
	static const Oid types[] = {INT8OID, INT4OID, TEXTOID, TEXTOID, INT4OID,
		TEXTOID, TEXTOID};
	Columns		columns = {count};
	Datum		values[8];

	for (int i = 0; i < lengthof(types); i++)
		add_column(&columns, types[i]);
	for (int i = 0; i < count; i++)
	{
		const BookingAttempt *attempt = &attempts[i];

		set_value(&columns, 0, i, Int64GetDatum(attempt->operation_id));
		set_value(&columns, 1, i, Int32GetDatum(attempt->epoch));
		set_string(&columns, 2, i, attempt->phase);
		set_string(&columns, 3, i, attempt->mark);
		set_value(&columns, 4, i, Int32GetDatum(attempt->status));
		columns.nulls[4][i] = attempt->status == 0;
		set_string(&columns, 5, i, attempt->problem);
		set_string(&columns, 6, i, attempt->message);
	}
	bind_columns(&columns, values);
	values[7] = TimestampTzGetDatum(now);
	booking_plan_run(&plan, values, NULL, 0);
}

/*
 * Change what is decided of intents.
 */
static void
change_intents(const BookingIntentChange *changes, int count, text *role,
			   TimestampTz now)
{
	static BookingPlan plan = {
		"UPDATE booking.intent i SET disposition = u.disposition,"
		" state = u.state, remote = coalesce(u.remote, i.remote),"
		" event = coalesce(u.event, i.event), detail = u.detail,"
		" changed_role = $7, changed_at = $8, revision = i.revision + 1"
		" FROM unnest($1, $2, $3, $4, $5, $6)"
		"  AS u (intent_id, disposition, state, remote, event, detail)"
		" WHERE i.intent_id = u.intent_id RETURNING i.intent_id, i.tenant",
		{INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID,
			JSONBARRAYOID, TEXTOID, TIMESTAMPTZOID}
	};
	static const Oid types[] = {INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID,
		JSONBOID};
	Columns		columns = {count};
	Datum		values[8];

	for (int i = 0; i < lengthof(types); i++)
		add_column(&columns, types[i]);
	for (int i = 0; i < count; i++)
	{
		const BookingIntentChange *change = &changes[i];

		set_value(&columns, 0, i, Int64GetDatum(change->intent_id));
		set_string(&columns, 1, i, change->disposition);
		set_string(&columns, 2, i, change->state);
		set_string(&columns, 3, i, change->remote);
		set_string(&columns, 4, i, change->event);
		set_pointer(&columns, 5, i, change->detail);
	}
	bind_columns(&columns, values);
	values[6] = PointerGetDatum(role);
	values[7] = TimestampTzGetDatum(now);
	if (booking_plan_run(&plan, values, NULL, 0) != count)
		elog(ERROR, "some intent vanished");
	booking_store_downstream_rows(count, "changed");
}

/*
 * Add a column, all NULL.
 */
static void
add_column(Columns *columns, Oid type)
{
	int			column = columns->ncolumns++;

	columns->types[column] = type;
	columns->values[column] = palloc0_array(Datum, columns->nrows);
	columns->nulls[column] = palloc_array(bool, columns->nrows);
	memset(columns->nulls[column], true, columns->nrows);
}

/*
 * Set a value.
 */
static void
set_value(Columns *columns, int column, int row, Datum value)
{
	columns->values[column][row] = value;
	columns->nulls[column][row] = false;
}

/*
 * Set a text, NULL for NULL.
 */
static void
set_string(Columns *columns, int column, int row, const char *string)
{
	if (string != NULL)
		set_value(columns, column, row, CStringGetTextDatum(string));
}

/*
 * Set a varlena, NULL for NULL.
 */
static void
set_pointer(Columns *columns, int column, int row, const void *pointer)
{
	if (pointer != NULL)
		set_value(columns, column, row, PointerGetDatum(pointer));
}

/*
 * Make an array of each column, for the first parameters of a statement.
 */
static void
bind_columns(const Columns *columns, Datum *values)
{
	int			nrows = columns->nrows;
	int			lower = 1;

	for (int i = 0; i < columns->ncolumns; i++)
	{
		int16		length;
		bool		by_value;
		char		align;

		get_typlenbyvalalign(columns->types[i], &length, &by_value, &align);
		values[i] = PointerGetDatum(construct_md_array(columns->values[i],
													   columns->nulls[i], 1,
													   &nrows, &lower,
													   columns->types[i], length,
													   by_value, align));
	}
}

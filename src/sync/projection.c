/*-------------------------------------------------------------------------
 *
 * projection.c
 *	  calendars of providers as rows of booking.event
 *
 * What is known of an object is replaced as a whole when its version changes:
 * all its rows go, and those of its occurrences in the window come.  An event
 * that does not repeat has one row wherever it is in time, so that its version
 * is known and it is not fetched again.  So is a series without an occurrence in
 * the window, and an object that cannot be read.
 *
 * IDENTIFICATION
 *	  booking/src/sync/projection.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"

#include "compat.h"
#include "store/conflict.h"
#include "store/event.h"
#include "sync/projection.h"

/* longer ones do not fit into an index, and are not ours */
#define MAX_MARKER 200

#define MAX_PROBLEM 200

/* attendees that are kept of an object, in all its rows together */
#define MAX_ATTENDEES 200000

/* milliseconds of a transaction in which no further object is begun */
#define BATCH_MS 500

/* bytes of rows that are made before they are stored */
#define BATCH_BYTES (2 * 1024 * 1024)

/* of a row, besides its texts */
#define ROW_BYTES (BOOKING_EVENT_COLUMNS * (sizeof(Datum) + sizeof(bool)))

/* instants of an event that does not repeat, wherever it is */
#define ANY_TIME_FROM INT64CONST(-62135596800000000)	/* year 1 */
#define ANY_TIME_TO INT64CONST(253402300800000000)	/* year 10000 */

/*
 * Rows that are being made.  An object of a few bytes may have ten thousand, so
 * they are stored and forgotten whenever there are enough.
 */
typedef struct Builder
{
	const BookingRound *round;
	const BookingPullItem *items;
	int			nreplaced;		/* of them, whose old rows are gone */
	const BookingPullItem *item;	/* the one that rows are made of */
	MemoryContext caller;		/* lives longer than the rows */
	MemoryContext batch;		/* holds the rows and all that they point to */
	MemoryContext scratch;		/* for making one value */
	BookingEventRows rows;
	Size		bytes;			/* of the rows, about */
	int64	   *nrows;			/* stored so far, or about to be */
	BookingOwnedObjects owned;	/* of the items that were replaced */
	const BookingEventDetail *detail;	/* of which attendees are, NULL if none */
	Datum		attendees;
	Datum		values[BOOKING_EVENT_COLUMNS];
	bool		nulls[BOOKING_EVENT_COLUMNS];
} Builder;

static void note_seen(const BookingRound *round, text **objects, int count,
					  const int *places, int unknown);
static void add_item(Builder *builder);
static void add_object(Builder *builder);
static void expand(Builder *builder, BookingArena *arena);
static void add_occurrence(Builder *builder, const BookingOccurrence *occurrence,
						   bool recurring, int max_attendees);
static void set_attendees(Builder *builder, const BookingEventDetail *detail,
						  int count);
static void add_stand_in(Builder *builder, bool recurring, const char *problem);
static void begin_row(Builder *builder, bool recurring);
static void end_row(Builder *builder);
static void flush(Builder *builder);
static void replace(Builder *builder);
static void set(Builder *builder, BookingEventColumn column, Datum value);
static void set_text(Builder *builder, BookingEventColumn column,
					 const char *value);
static const char *status_word(BookingEventStatus status);
static Datum attendees_json(const BookingEventDetail *detail, int count);
static TimestampTz instant(int64 unix_microseconds);
static int64 unix_instant(TimestampTz instant);
static ArrayType *objects_of(const BookingPullItem *items, int count,
							 bool removed);
static text *object_text(const char *string);

/*
 * Take in a part of a listing: what it says is gone goes, and in a whole
 * listing what is there is noted.  Returns how many of its items are not known
 * in their version, or are in doubt and known, in wanted, which has room for all.
 */
int
booking_projection_list(BookingRound *round,
						const BookingPullChunk *listed,
						const BookingPullItem **wanted)
{
	text	  **objects = palloc_array(text *, BOOKING_PULL_CHUNK);
	Datum	   *etags = palloc_array(Datum, BOOKING_PULL_CHUNK);
	int		   *places = palloc_array(int, BOOKING_PULL_CHUNK);
	const BookingPullItem *present[BOOKING_PULL_CHUNK];
	ArrayType  *object_array;
	ArrayType  *etag_array;
	bool	   *doubts = palloc0_array(bool, BOOKING_PULL_CHUNK);
	int			count = 0;
	int			unknown;

	round->nlisted += listed->nitems;
	for (int i = 0; i < listed->nitems; i++)
	{
		const BookingPullItem *item = &listed->items[i];

		if (item->removed)
			continue;
		present[count] = item;
		objects[count] = object_text(item->object);
		doubts[count] = item->doubted;

		/* no version is the empty one */
		etags[count++] = PointerGetDatum(object_text(item->etag != NULL ?
													 item->etag : ""));
	}
	if (count < listed->nitems)
		booking_store_events_remove(round->calendar_id,
									objects_of(listed->items, listed->nitems, true));
	if (count == 0)
		return 0;
	object_array = booking_record_make_text_array(objects, count);
	etag_array = booking_record_make_text_array((text **) etags, count);
	unknown = booking_store_events_unknown(round->calendar_id, object_array,
										   etag_array,
										   booking_record_make_bool_array(doubts,
																		  count),
										   places);
	for (int i = 0; i < unknown; i++)
		wanted[i] = present[places[i]];
	if (round->whole)
		note_seen(round, objects, count, places, unknown);
	return unknown;
}

/*
 * Note that objects were listed: all but those at some places, which are going
 * to be stored.
 */
static void
note_seen(const BookingRound *round, text **objects, int count,
		  const int *places, int unknown)
{
	text	  **seen = palloc_array(text *, count + 1);
	int			nseen = 0;
	int			next = 0;

	for (int i = 0; i < count; i++)
	{
		if (next < unknown && places[next] == i)
			next++;
		else
			seen[nseen++] = objects[i];
	}
	if (nseen > 0)
		booking_store_events_seen(round->calendar_id, round->round,
								  booking_record_make_text_array(seen, nseen));
}

/*
 * Store objects that were fetched, from the first on.  Adds to nrows how many rows
 * they have, and stops behind the object with which there are enough for one
 * transaction, or which took its time: an object of a few bytes may take a second
 * and have no row.  Returns how many objects were stored, at least one.
 */
int
booking_projection_apply(BookingCall *call, const BookingRound *round,
						 const BookingPullItem *items, int count, int64 *nrows)
{
	Builder		builder = {round, items};
	ArrayType  *gone = objects_of(items, count, true);
	ArrayType  *stored;
	TimestampTz begin = GetCurrentTimestamp();
	int			done = 0;

	/* what is gone may be an event of ours, which is judged */
	if (gone != NULL)
		booking_store_events_remove(round->calendar_id, gone);
	builder.nrows = nrows;
	builder.caller = CurrentMemoryContext;
	builder.owned.objects = palloc_array(text *, count + 1);
	builder.owned.intent_ids = palloc_array(int64, count + 1);
	/* if this fails, they go with the subtransaction */
	builder.batch = AllocSetContextCreate(CurTransactionContext, "booking events",
										  ALLOCSET_DEFAULT_SIZES);
	builder.scratch = AllocSetContextCreate(CurTransactionContext,
											"booking event value",
											ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(builder.batch);
	do
	{
		builder.item = &items[done++];
		if (!builder.item->removed)
			add_item(&builder);
	} while (done < count && *nrows < BOOKING_PROJECTION_ROWS &&
			 !TimestampDifferenceExceeds(begin, GetCurrentTimestamp(), BATCH_MS));
	flush(&builder);
	MemoryContextSwitchTo(builder.caller);
	MemoryContextDelete(builder.scratch);
	MemoryContextDelete(builder.batch);
	booking_store_events_keep(round->calendar_id, &builder.owned);
	stored = objects_of(items, done, false);
	if (stored != NULL)
		booking_store_overlaps_of_objects(round->calendar_id, stored, call->now);
	return done;
}

/*
 * An object cannot be stored as it is: store that, and nothing else of it.
 */
void
booking_projection_spoil(BookingCall *call, const BookingRound *round,
						 const BookingPullItem *item, const char *problem)
{
	BookingPullItem bad = *item;
	int64		nrows = 0;

	bad.data = NULL;
	bad.problem = problem;
	booking_projection_apply(call, round, &bad, 1, &nrows);
}

/*
 * Add what there is to know of an object.
 */
static void
add_item(Builder *builder)
{
	const BookingPullItem *item = builder->item;

	if (item->data == NULL)
		add_stand_in(builder, false, item->problem);
	else
		add_object(builder);
}

/*
 * Add the rows of one object, with memory of its own for the codec.
 */
static void
add_object(Builder *builder)
{
	BookingArena *arena =
		booking_arena_create(BOOKING_EXPAND_ARENA(builder->item->data_len));

	PG_TRY();
	{
		expand(builder, arena);
	}
	PG_FINALLY();
	{
		booking_arena_free(arena);
		builder->detail = NULL;
	}
	PG_END_TRY();
}

/*
 * Make the rows of one object.
 */
static void
expand(Builder *builder, BookingArena *arena)
{
	const BookingPullItem *item = builder->item;
	BookingExpandRequest request = {0};
	BookingExpansion expansion;
	const BookingProvider *provider = builder->round->provider;
	const char *fault;

	request.from = unix_instant(builder->round->from);
	request.to = unix_instant(builder->round->until);
	request.zone = builder->round->zone;
	fault = provider->read_object(item->data, item->data_len, &request, arena,
								  &expansion);
	if (fault == NULL && expansion.noccurrences == 0 &&
		!expansion.recurring)
	{
		request.from = ANY_TIME_FROM;
		request.to = ANY_TIME_TO;
		fault = provider->read_object(item->data, item->data_len, &request, arena,
									  &expansion);
	}
	if (fault != NULL)
	{
		add_stand_in(builder, false, fault);
		return;
	}
	for (int i = 0; i < expansion.noccurrences; i++)
		add_occurrence(builder, &expansion.occurrences[i], expansion.recurring,
					   MAX_ATTENDEES / expansion.noccurrences);
	if (expansion.noccurrences == 0)
		add_stand_in(builder, expansion.recurring, expansion.problem);
}

/*
 * Add the row of an occurrence.
 */
static void
add_occurrence(Builder *builder, const BookingOccurrence *occurrence,
			   bool recurring, int max_attendees)
{
	const BookingEventDetail *detail = occurrence->detail;
	const char *marker = detail->marker;
	bool		has_time = occurrence->has_time &&
		IS_VALID_TIMESTAMP(instant(occurrence->start)) &&
		IS_VALID_TIMESTAMP(instant(occurrence->end));

	begin_row(builder, recurring);
	if (occurrence->original != BOOKING_OCCURRENCE_SINGLE)
		set(builder, BOOKING_EVENT_OCCURRENCE,
			TimestampTzGetDatum(instant(occurrence->original)));
	if (has_time)
	{
		set(builder, BOOKING_EVENT_START,
			TimestampTzGetDatum(instant(occurrence->start)));
		set(builder, BOOKING_EVENT_END,
			TimestampTzGetDatum(instant(occurrence->end)));
	}
	set(builder, BOOKING_EVENT_BUSY,
		BoolGetDatum(has_time && occurrence->busy &&
					 occurrence->end > occurrence->start));
	set(builder, BOOKING_EVENT_ALL_DAY, BoolGetDatum(occurrence->all_day));
	set_text(builder, BOOKING_EVENT_STATUS, status_word(detail->status));
	set_text(builder, BOOKING_EVENT_TRANSPARENCY,
			 detail->transparent ? "transparent" : "opaque");
	set(builder, BOOKING_EVENT_SEQUENCE, Int32GetDatum(detail->sequence));
	set_text(builder, BOOKING_EVENT_UID, detail->uid);
	if (marker != NULL && strlen(marker) <= MAX_MARKER)
		set_text(builder, BOOKING_EVENT_MARKER, marker);
	set_text(builder, BOOKING_EVENT_ZONE, detail->zone);
	set_text(builder, BOOKING_EVENT_ORGANIZER, detail->organizer);
	if (detail->nattendees > 0)
		set_attendees(builder, detail, Min(detail->nattendees, max_attendees));
	set_text(builder, BOOKING_EVENT_PROBLEM, occurrence->problem);
	end_row(builder);
}

/*
 * Set the first attendees, which the row before often has too.
 */
static void
set_attendees(Builder *builder, const BookingEventDetail *detail, int count)
{
	MemoryContext batch;
	Datum		json;

	if (builder->detail != detail)
	{
		batch = MemoryContextSwitchTo(builder->scratch);
		json = attendees_json(detail, count);
		MemoryContextSwitchTo(batch);
		builder->attendees = datumCopy(json, false, -1);
		builder->detail = detail;
		MemoryContextReset(builder->scratch);
	}
	set(builder, BOOKING_EVENT_ATTENDEES, builder->attendees);
	builder->bytes += VARSIZE_ANY(DatumGetPointer(builder->attendees));
}

/*
 * Add a row that says that there is such an object, in such a version.
 */
static void
add_stand_in(Builder *builder, bool recurring, const char *problem)
{
	begin_row(builder, recurring);
	set_text(builder, BOOKING_EVENT_STATUS, "unknown");
	set_text(builder, BOOKING_EVENT_TRANSPARENCY, "opaque");
	set_text(builder, BOOKING_EVENT_PROBLEM, problem);
	end_row(builder);
}

/*
 * Begin a row with what all have.
 */
static void
begin_row(Builder *builder, bool recurring)
{
	const BookingPullItem *item = builder->item;

	for (int i = 0; i < BOOKING_EVENT_COLUMNS; i++)
		builder->nulls[i] = true;
	set_text(builder, BOOKING_EVENT_OBJECT, item->object);
	set(builder, BOOKING_EVENT_OCCURRENCE, TimestampTzGetDatum(DT_NOBEGIN));
	set(builder, BOOKING_EVENT_BUSY, BoolGetDatum(false));
	set(builder, BOOKING_EVENT_ALL_DAY, BoolGetDatum(false));
	set(builder, BOOKING_EVENT_RECURRING, BoolGetDatum(recurring));
	set(builder, BOOKING_EVENT_SEQUENCE, Int32GetDatum(0));
	set_text(builder, BOOKING_EVENT_ETAG, item->etag);
}

/*
 * A row is complete.
 */
static void
end_row(Builder *builder)
{
	booking_store_event_add(&builder->rows, builder->values, builder->nulls);
	(*builder->nrows)++;
	builder->bytes += ROW_BYTES;
	if (builder->bytes > BATCH_BYTES)
		flush(builder);
}

/*
 * Store the rows that were made, in the place of those that their objects had.
 */
static void
flush(Builder *builder)
{
	replace(builder);
	booking_store_events_insert(builder->round->calendar_id,
								builder->round->round, &builder->rows);
	MemoryContextReset(builder->batch);
	memset(&builder->rows, 0, sizeof(builder->rows));
	builder->bytes = 0;
	builder->detail = NULL;
}

/*
 * Delete what is stored of the objects that rows were made of, up to the present
 * one; it may have more rows, which its next batch adds.
 */
static void
replace(Builder *builder)
{
	const BookingPullItem *items = builder->items + builder->nreplaced;
	int			count = (int) (builder->item + 1 - items);
	ArrayType  *objects = objects_of(items, count, false);
	BookingOwnedObjects *owned = &builder->owned;
	BookingOwnedObjects found;
	MemoryContext batch;

	if (objects == NULL)
		return;
	batch = MemoryContextSwitchTo(builder->caller);
	booking_store_events_delete(builder->round->calendar_id, objects, &found);
	MemoryContextSwitchTo(batch);
	for (int i = 0; i < found.count; i++)
	{
		owned->objects[owned->count] = found.objects[i];
		owned->intent_ids[owned->count++] = found.intent_ids[i];
	}
	builder->nreplaced += count;
}

/*
 * Set a column.
 */
static void
set(Builder *builder, BookingEventColumn column, Datum value)
{
	builder->values[column] = value;
	builder->nulls[column] = false;
}

/*
 * Set a column to a text in UTF-8, NULL for NULL.  Raises an error when the
 * database's encoding cannot hold it.
 */
static void
set_text(Builder *builder, BookingEventColumn column, const char *value)
{
	text	   *copy;

	if (value == NULL)
		return;
	copy = object_text(value);
	set(builder, column, PointerGetDatum(copy));
	builder->bytes += VARSIZE(copy);
}

/*
 * The word for a status in booking.event.
 */
static const char *
status_word(BookingEventStatus status)
{
	switch (status)
	{
		case BOOKING_STATUS_CONFIRMED:
			return "confirmed";
		case BOOKING_STATUS_TENTATIVE:
			return "tentative";
		case BOOKING_STATUS_CANCELED:
			return "canceled";
		case BOOKING_STATUS_UNKNOWN:
			break;
	}
	return "unknown";
}

/*
 * So many attendees as [{"email", "status", "optional"}].
 */
static Datum
attendees_json(const BookingEventDetail *detail, int count)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '[');
	for (int i = 0; i < count; i++)
	{
		const BookingParticipant *attendee = &detail->attendees[i];

		if (i > 0)
			appendStringInfoString(&json, ", ");
		appendStringInfoString(&json, "{\"email\": ");
		escape_json(&json, text_to_cstring(object_text(attendee->email)));
		appendStringInfoString(&json, ", \"status\": ");
		if (attendee->partstat != NULL)
			escape_json(&json, text_to_cstring(object_text(attendee->partstat)));
		else
			appendStringInfoString(&json, "null");
		appendStringInfo(&json, ", \"optional\": %s}",
						 attendee->optional ? "true" : "false");
	}
	appendStringInfoChar(&json, ']');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/*
 * From microseconds since 1970 to those since 2000.
 */
static TimestampTz
instant(int64 unix_microseconds)
{
	return unix_microseconds -
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/*
 * The other way round.
 */
static int64
unix_instant(TimestampTz instant)
{
	return instant + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/*
 * Names of items, as an array: of those that are said to be gone, or of those that
 * are not.  NULL if there are none.
 */
static ArrayType *
objects_of(const BookingPullItem *items, int count, bool removed)
{
	text	  **objects = palloc_array(text *, count + 1);
	int			found = 0;

	for (int i = 0; i < count; i++)
	{
		if (items[i].removed == removed)
			objects[found++] = object_text(items[i].object);
	}
	return found == 0 ? NULL : booking_record_make_text_array(objects, found);
}

/*
 * A text of a provider in the encoding of the database.
 */
static text *
object_text(const char *string)
{
	return cstring_to_text(pg_any_to_server(string, strlen(string), PG_UTF8));
}

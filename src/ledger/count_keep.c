/*-------------------------------------------------------------------------
 *
 * count_keep.c
 *	  counters as they are read and stored
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count_keep.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "ledger/count_internal.h"

/* most counters of a database */
#define MOST (BOOKING_COUNTERS + BOOKING_COUNT_SOURCES * BOOKING_COUNT_VERDICTS)

/* one counter with the place that it is counted in */
typedef struct Place
{
	int			index;			/* -1: of a source */
	uint64		source;
	int			verdict;
	uint64		count;
	uint64		stored;
} Place;

static bool place_of_key(const char *key, Place *place);
static void key_of_place(const Place *place, char *key);
static Place *copy_places(int *count);

/*
 * Was what is stored in this relation added?  What was counted for another one
 * was counted for an extension that is not there any more, and is forgotten.
 */
bool
booking_count_loaded(Oid relation)
{
	BookingCountSlot *slot = booking_count_mine();
	bool		loaded;

	booking_count_lock();
	if (OidIsValid(slot->relation) && slot->relation != relation)
	{
		booking_count_empty(slot, MyDatabaseId);
		for (int i = 0; booking_count_memory != NULL && i < BOOKING_COUNT_SOURCES; i++)
		{
			if (booking_count_memory->sources[i].database == MyDatabaseId)
				booking_count_memory->sources[i].database = InvalidOid;
		}
	}
	slot->relation = relation;
	loaded = slot->loaded;
	booking_count_unlock();
	return loaded;
}

/*
 * Add what is stored, unless somebody did meanwhile.  It must have been read
 * after booking_count_loaded() said no: nobody stores anything until then.
 */
void
booking_count_load(const BookingStoredCount *stored, int count)
{
	BookingCountSlot *slot = booking_count_mine();
	Place	   *places = palloc_array(Place, count + 1);
	int			n = 0;

	for (int i = 0; i < count; i++)
	{
		if (place_of_key(stored[i].key, &places[n]))
			places[n++].count = stored[i].value;
	}

	booking_count_lock();
	for (int i = 0; i < n && !slot->loaded; i++)
	{
		BookingCountSource *source;

		if (places[i].index >= 0)
		{
			(void) pg_atomic_fetch_add_u64(&slot->counts[places[i].index],
										   places[i].count);
			slot->stored[places[i].index] = places[i].count;
		}
		else if (booking_count_memory != NULL &&
				 (source = booking_count_source(MyDatabaseId, places[i].source)) != NULL)
		{
			/* several may share a slot */
			(void) pg_atomic_fetch_add_u64(&source->counts[places[i].verdict],
										   places[i].count);
			source->stored[places[i].verdict] += places[i].count;
		}
	}
	slot->loaded = true;
	booking_count_unlock();
	pfree(places);
}

/*
 * All counters of this database.
 */
BookingStoredCount *
booking_count_copy(int *count)
{
	Place	   *places = copy_places(count);
	BookingStoredCount *result = palloc_array(BookingStoredCount, *count + 1);

	for (int i = 0; i < *count; i++)
	{
		key_of_place(&places[i], result[i].key);
		result[i].value = places[i].count;
	}
	pfree(places);
	return result;
}

/*
 * Those that are not stored as they are.
 */
BookingStoredCount *
booking_count_unstored(int *count)
{
	int			total;
	Place	   *places = copy_places(&total);
	BookingStoredCount *result = palloc_array(BookingStoredCount, total + 1);

	*count = 0;
	for (int i = 0; i < total; i++)
	{
		if (places[i].count == places[i].stored)
			continue;
		key_of_place(&places[i], result[*count].key);
		result[(*count)++].value = places[i].count;
	}
	pfree(places);
	return result;
}

/*
 * These are stored now, and committed.
 */
void
booking_count_stored(const BookingStoredCount *stored, int count)
{
	BookingCountSlot *slot = booking_count_mine();
	Place	   *places = palloc_array(Place, count + 1);
	int			n = 0;

	for (int i = 0; i < count; i++)
	{
		if (place_of_key(stored[i].key, &places[n]))
			places[n++].count = stored[i].value;
	}

	booking_count_lock();
	for (int i = 0; i < n; i++)
	{
		BookingCountSource *source;

		if (places[i].index >= 0)
			slot->stored[places[i].index] = places[i].count;
		else if ((source = booking_count_source(MyDatabaseId, places[i].source)) != NULL)
			source->stored[places[i].verdict] = places[i].count;
	}
	booking_count_unlock();
	pfree(places);
}

/*
 * Copy what this database has, as of one instant as far as slots go.
 */
static Place *
copy_places(int *count)
{
	BookingCountSlot *slot = booking_count_mine();
	Place	   *places = palloc0_array(Place, MOST);
	int			n = 0;

	booking_count_lock();
	for (int i = 0; i < BOOKING_COUNTERS; i++)
	{
		places[n].index = i;
		places[n].count = pg_atomic_read_u64(&slot->counts[i]);
		places[n++].stored = slot->stored[i];
	}
	for (int i = 0; booking_count_memory != NULL && i < BOOKING_COUNT_SOURCES; i++)
	{
		BookingCountSource *source = &booking_count_memory->sources[i];

		for (int j = 0; source->database == MyDatabaseId && j < BOOKING_COUNT_VERDICTS; j++)
		{
			places[n].index = -1;
			places[n].source = source->source;
			places[n].verdict = j;
			places[n].count = pg_atomic_read_u64(&source->counts[j]);
			places[n++].stored = source->stored[j];
		}
	}
	booking_count_unlock();
	*count = n;
	return places;
}

/*
 * Where the counter of a key is; false if it is none that is known here.
 */
static bool
place_of_key(const char *key, Place *place)
{
	place->index = booking_count_find(key);
	return place->index >= 0 ||
		booking_count_find_source(key, &place->source, &place->verdict);
}

/*
 * The key of a counter.
 */
static void
key_of_place(const Place *place, char *key)
{
	if (place->index >= 0)
		booking_count_key(place->index, key);
	else
		booking_count_source_key(place->source, place->verdict, key);
}

/*-------------------------------------------------------------------------
 *
 * load.c
 *	  how much each account and calendar has in hand
 *
 * A provider is asked only so much at a time for one account, and some want one
 * write of a calendar at a time; what takes no more must not hide what is due for
 * others.  Only accounts and calendars that have something in hand are kept, in a
 * plain list: no more than twice the requests that may be in flight.
 *
 * IDENTIFICATION
 *	  booking/src/controller/load.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "controller/load.h"
#include "controller/signin.h"
#include "store/record.h"

struct BookingLoad
{
	dlist_node	node;
	char	   *key;			/* tenant, line feed, account; for a calendar line
								 * feed and its name besides */
	int			most;			/* of its provider */
	int			count;
};

static BookingLoad *find_load(const char *key);

static dlist_head loads = DLIST_STATIC_INIT(loads);

/*
 * An operation of an account or calendar is taken in hand, or a round of reading
 * one of an account's calendars, which has one request out at most.
 */
BookingLoad *
booking_load_take(const char *key, int most)
{
	BookingLoad *load = find_load(key);

	if (load == NULL)
	{
		load = MemoryContextAllocZero(TopMemoryContext, sizeof(BookingLoad));
		load->key = MemoryContextStrdup(TopMemoryContext, key);
		dlist_push_tail(&loads, &load->node);
	}
	load->most = most;
	load->count++;
	return load;
}

/*
 * It is done with; NULL is allowed.
 */
void
booking_load_release(BookingLoad *load)
{
	if (load == NULL || --load->count > 0)
		return;
	dlist_delete(&load->node);
	pfree(load->key);
	pfree(load);
}

/*
 * Does an account or calendar take no more for now?
 */
bool
booking_load_full(const char *key)
{
	BookingLoad *load = find_load(key);

	return load != NULL && load->count >= load->most;
}

/*
 * Keys of those that do not, of accounts that wait for a token, and the others
 * that are given.
 */
ArrayType *
booking_load_full_keys(List *others)
{
	text	  **keys;
	int			count = 0;
	dlist_iter	iter;
	ListCell   *cell;

	dlist_foreach(iter, &loads)
		count++;
	keys = palloc_array(text *, count + list_length(others) +
						BOOKING_SIGNIN_LIMIT + 1);
	count = booking_signin_pending(keys);
	foreach(cell, others)
		keys[count++] = cstring_to_text(lfirst(cell));
	dlist_foreach(iter, &loads)
	{
		BookingLoad *load = dlist_container(BookingLoad, node, iter.cur);

		if (load->count >= load->most)
			keys[count++] = cstring_to_text(load->key);
	}
	return booking_record_make_text_array(keys, count);
}

/*
 * The entry of a key, NULL if it has nothing in hand.
 */
static BookingLoad *
find_load(const char *key)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loads)
	{
		BookingLoad *load = dlist_container(BookingLoad, node, iter.cur);

		if (strcmp(load->key, key) == 0)
			return load;
	}
	return NULL;
}

/*-------------------------------------------------------------------------
 *
 * load.c
 *	  how much each account has in hand
 *
 * A provider is asked only so much at a time for one account, and an account
 * that takes no more must not hide what is due for others.  Only accounts that
 * have something in hand are kept, in a plain list: no more than requests may
 * be in flight.
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
#include "store/record.h"

struct BookingLoad
{
	dlist_node	node;
	char	   *account_key;	/* tenant, line feed, account */
	int			most;			/* of its provider */
	int			count;
};

static BookingLoad *find_load(const char *account_key);

static dlist_head loads = DLIST_STATIC_INIT(loads);

/*
 * An operation of an account is taken in hand, or a round of reading one of its
 * calendars, which has one request out at most.
 */
BookingLoad *
booking_load_take(const char *account_key, int most)
{
	BookingLoad *load = find_load(account_key);

	if (load == NULL)
	{
		load = MemoryContextAllocZero(TopMemoryContext, sizeof(BookingLoad));
		load->account_key = MemoryContextStrdup(TopMemoryContext, account_key);
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
	pfree(load->account_key);
	pfree(load);
}

/*
 * Does an account take no more for now?
 */
bool
booking_load_full(const char *account_key)
{
	BookingLoad *load = find_load(account_key);

	return load != NULL && load->count >= load->most;
}

/*
 * Keys of those that do not.
 */
ArrayType *
booking_load_full_accounts(void)
{
	text	  **keys;
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &loads)
		count++;
	keys = palloc_array(text *, count + 1);
	count = 0;
	dlist_foreach(iter, &loads)
	{
		BookingLoad *load = dlist_container(BookingLoad, node, iter.cur);

		if (load->count >= load->most)
			keys[count++] = cstring_to_text(load->account_key);
	}
	return booking_record_make_text_array(keys, count);
}

/*
 * The account's entry, NULL if it has nothing in hand.
 */
static BookingLoad *
find_load(const char *account_key)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loads)
	{
		BookingLoad *load = dlist_container(BookingLoad, node, iter.cur);

		if (strcmp(load->account_key, account_key) == 0)
			return load;
	}
	return NULL;
}

/*-------------------------------------------------------------------------
 *
 * state.c
 *	  the state graph of an intent
 *
 * The graph is data, so that the guard which enforces it and the functions
 * that walk it cannot disagree.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/state.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "ledger/state.h"
#include "store/record.h"

#define TO(state) (1 << (BOOKING_STATE_##state))

/*
 * name: as stored.  next: the states it may become; staying is always
 * allowed, leaving canceled never.
 */
static const struct
{
	const char *name;
	int			next;
}			states[BOOKING_STATE_COUNT] = {
	[BOOKING_STATE_PROPOSED] = {"proposed",
	TO(COMMITTED) | TO(APPROVED) | TO(NEEDS_PROPOSAL) | TO(CANCELED)},
	[BOOKING_STATE_APPROVED] = {"approved",
	TO(CREATING) | TO(NEEDS_PROPOSAL) | TO(CANCELED)},
	[BOOKING_STATE_COMMITTED] = {"committed", TO(CANCELED)},
	[BOOKING_STATE_CONFLICT] = {"conflict", TO(CANCELED)},
	[BOOKING_STATE_CREATING] = {"creating",
	TO(CREATED) | TO(FAILED) | TO(APPROVED) | TO(UNKNOWN) | TO(CANCELING) |
	TO(CANCELED)},
	[BOOKING_STATE_CREATED] = {"created", TO(CANCELING) | TO(CANCELED)},
	[BOOKING_STATE_UNKNOWN] = {"unknown",
	TO(CREATED) | TO(CREATING) | TO(APPROVED) | TO(FAILED) |
	TO(NEEDS_PROPOSAL) | TO(CANCELING) | TO(CANCELED)},
	[BOOKING_STATE_FAILED] = {"failed", TO(PROPOSED) | TO(CANCELED)},
	[BOOKING_STATE_NEEDS_PROPOSAL] = {"needs_proposal",
	TO(PROPOSED) | TO(CANCELED)},
	[BOOKING_STATE_CANCELING] = {"canceling", TO(CANCELED)},
	[BOOKING_STATE_CANCELED] = {"canceled", 0}
};

/*
 * The state of a name; returns whether there is one.
 */
bool
booking_state_parse(const text *name, BookingState *state)
{
	for (int i = 0; i < BOOKING_STATE_COUNT; i++)
	{
		if (booking_text_is(name, states[i].name))
		{
			*state = i;
			return true;
		}
	}
	return false;
}

/*
 * The state of a stored name, which a CHECK keeps valid.
 */
BookingState
booking_state_of(const text *name)
{
	BookingState state;

	if (!booking_state_parse(name, &state))
		elog(ERROR, "unexpected state of an intent");
	return state;
}

/*
 * May an intent go from one state to the other?
 */
bool
booking_state_may_become(BookingState from, BookingState to)
{
	return from == to || (states[from].next & (1 << to)) != 0;
}

/*
 * All names, for a hint.
 */
char *
booking_state_names(void)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < BOOKING_STATE_COUNT; i++)
		appendStringInfo(&names, "%s%s", i == 0 ? "" : ", ", states[i].name);
	return names.data;
}

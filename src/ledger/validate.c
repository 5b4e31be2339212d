/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  CHECK constraints written in C
 *
 * An exclusion constraint says nothing about empty ranges and NULLs, so these
 * refuse them for direct DML and COPY too.  They look at one row and at
 * nothing else, as a CHECK must.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/validate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "codec/label.h"
#include "compat.h"
#include "ledger/args.h"
#include "ledger/state.h"

PG_FUNCTION_INFO_V1(booking_interval_is_valid);
PG_FUNCTION_INFO_V1(booking_label_is_valid);
PG_FUNCTION_INFO_V1(booking_intent_is_valid);
PG_FUNCTION_INFO_V1(booking_reservation_is_valid);

/* arguments of booking.intent_is_valid */
enum
{
	INTENT_TENANT,
	INTENT_PRINCIPAL,
	INTENT_INTENT,
	INTENT_DISPOSITION,
	INTENT_STATE,
	INTENT_REMOTE,
	INTENT_EVENT,
	INTENT_RECEIPT,
	INTENT_VERSION,
	INTENT_RESOURCES,
	INTENT_UNITS,
	INTENT_TERMS,
	INTENT_DURING,
	INTENT_SLOT
};

#define RESOURCE_ID_LIMIT (INT64CONST(1) << 47)
#define UNIT_LIMIT 65536

static bool is_word(FunctionCallInfo fcinfo, int n, const char *const *words,
					int count);
static bool is_label(text *label);
static bool are_labels(ArrayType *labels);
static bool is_interval(RangeType *range);

/*
 * booking.interval_is_valid(during) returns boolean
 */
Datum
booking_interval_is_valid(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!PG_ARGISNULL(0) && is_interval(PG_GETARG_RANGE_P(0)));
}

/*
 * booking.label_is_valid(label) returns boolean
 */
Datum
booking_label_is_valid(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!PG_ARGISNULL(0) && is_label(PG_GETARG_TEXT_PP(0)));
}

/*
 * booking.intent_is_valid(...) returns boolean
 */
Datum
booking_intent_is_valid(PG_FUNCTION_ARGS)
{
	static const char *const dispositions[] = {
		"committed", "resource_conflict", "inventory_conflict", "canceled",
		"proposed", "held", "failed", "needs_proposal"
	};
	static const char *const remotes[] = {
		"not_required", "not_attempted", "in_flight", "pending_reconciliation",
		"confirmed", "rejected", "needs_operator"
	};
	static const char *const events[] = {"none", "present", "absent", "unknown"};
	BookingState state;
	bool		ended;

	for (int i = INTENT_TENANT; i <= INTENT_EVENT; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_BOOL(false);
	}
	for (int i = INTENT_TENANT; i <= INTENT_INTENT; i++)
	{
		if (!is_label(PG_GETARG_TEXT_PP(i)))
			PG_RETURN_BOOL(false);
	}
	if (!booking_state_parse(PG_GETARG_TEXT_PP(INTENT_STATE), &state) ||
		!is_word(fcinfo, INTENT_DISPOSITION, dispositions, lengthof(dispositions)) ||
		!is_word(fcinfo, INTENT_REMOTE, remotes, lengthof(remotes)) ||
		!is_word(fcinfo, INTENT_EVENT, events, lengthof(events)) ||
		PG_ARGISNULL(INTENT_VERSION))
		PG_RETURN_BOOL(false);

	/* what was booked has a receipt */
	ended = state == BOOKING_STATE_CONFLICT || state == BOOKING_STATE_CANCELED;
	if (PG_ARGISNULL(INTENT_RECEIPT) && !ended &&
		state != BOOKING_STATE_PROPOSED && state != BOOKING_STATE_FAILED &&
		state != BOOKING_STATE_NEEDS_PROPOSAL)
		PG_RETURN_BOOL(false);

	/* only a tombstone may be known by its identity alone */
	if (PG_ARGISNULL(INTENT_RESOURCES) || PG_ARGISNULL(INTENT_UNITS) ||
		PG_ARGISNULL(INTENT_TERMS))
		PG_RETURN_BOOL(PG_ARGISNULL(INTENT_RESOURCES) &&
					   PG_ARGISNULL(INTENT_UNITS) &&
					   PG_ARGISNULL(INTENT_TERMS) &&
					   PG_ARGISNULL(INTENT_DURING) &&
					   state == BOOKING_STATE_CANCELED &&
					   PG_GETARG_INT32(INTENT_VERSION) == 0);
	if (PG_GETARG_INT32(INTENT_VERSION) < 1 ||
		PG_GETARG_INT32(INTENT_UNITS) < 1 ||
		!are_labels(PG_GETARG_ARRAYTYPE_P(INTENT_RESOURCES)))
		PG_RETURN_BOOL(false);

	/* intent_purged_check says which have no interval */
	if (PG_ARGISNULL(INTENT_DURING))
		PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(is_interval(PG_GETARG_RANGE_P(INTENT_DURING)));
}

/*
 * booking.reservation_is_valid(resource_id, unit, occupied) returns boolean
 */
Datum
booking_reservation_is_valid(PG_FUNCTION_ARGS)
{
	int64		resource_id;
	int32		unit;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_BOOL(false);
	resource_id = PG_GETARG_INT64(0);
	unit = PG_GETARG_INT32(1);
	PG_RETURN_BOOL(resource_id >= 1 && resource_id < RESOURCE_ID_LIMIT &&
				   unit >= 0 && unit < UNIT_LIMIT &&
				   is_interval(PG_GETARG_RANGE_P(2)));
}

/*
 * Is a text argument one of the words?
 */
static bool
is_word(FunctionCallInfo fcinfo, int n, const char *const *words, int count)
{
	text	   *value = PG_GETARG_TEXT_PP(n);

	for (int i = 0; i < count; i++)
	{
		if (booking_text_is(value, words[i]))
			return true;
	}
	return false;
}

/*
 * Does the text keep the rule of labels?
 */
static bool
is_label(text *label)
{
	return booking_label_check(VARDATA_ANY(label), VARSIZE_ANY_EXHDR(label),
							   GetDatabaseEncoding() == PG_UTF8) == BOOKING_LABEL_OK;
}

/*
 * Are these at least one label, and labels only?
 */
static bool
are_labels(ArrayType *labels)
{
	Datum	   *values;
	int			count;

	if (ARR_NDIM(labels) != 1 || array_contains_nulls(labels))
		return false;
	deconstruct_array(labels, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL,
					  &count);
	for (int i = 0; i < count; i++)
	{
		if (!is_label(DatumGetTextPP(values[i])))
			return false;
	}
	return true;
}

/*
 * Is the range finite, not empty, in [) form and in years 1970 to 9999?
 */
static bool
is_interval(RangeType *range)
{
	char		flags = range_get_flags(range);
	TimestampTz start;
	TimestampTz end;

	if ((flags & (RANGE_EMPTY | RANGE_LB_INF | RANGE_UB_INF | RANGE_UB_INC)) != 0 ||
		(flags & RANGE_LB_INC) == 0)
		return false;
	booking_range_bounds(RangeTypePGetDatum(range), &start, &end);
	return start >= BOOKING_FIRST_INSTANT && end < BOOKING_INSTANT_LIMIT;
}

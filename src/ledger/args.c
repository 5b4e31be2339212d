/*-------------------------------------------------------------------------
 *
 * args.c
 *	  validated arguments of the SQL functions
 *
 * Values given are never repeated in messages: they may be personal, and
 * messages go to logs.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/args.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "codec/label.h"
#include "compat.h"
#include "guc.h"
#include "ledger/args.h"
#include "ledger/terms.h"

static void check_label(const text *label, const char *name);
static void check_distinct(text **labels, int count, const char *name);

/*
 * Refuse NULL.
 */
void
booking_arg_require(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name),
				 errhint("Give a value for \"%s\".", name)));
}

/*
 * A label; see codec/label.c for the rule.
 */
text *
booking_arg_label(FunctionCallInfo fcinfo, int n, const char *name)
{
	text	   *label;

	booking_arg_require(fcinfo, n, name);
	label = PG_GETARG_TEXT_PP(n);
	check_label(label, name);
	return label;
}

/*
 * A label or NULL.
 */
text *
booking_arg_label_optional(FunctionCallInfo fcinfo, int n, const char *name)
{
	return PG_ARGISNULL(n) ? NULL : booking_arg_label(fcinfo, n, name);
}

/*
 * Tenant, principal and intent, three arguments from n on.
 */
void
booking_arg_identity(FunctionCallInfo fcinfo, int n, BookingIdentity *identity)
{
	identity->tenant = booking_arg_label(fcinfo, n, "tenant");
	identity->principal = booking_arg_label(fcinfo, n + 1, "principal");
	identity->intent = booking_arg_label(fcinfo, n + 2, "intent");
}

/*
 * One to BOOKING_MAX_RESOURCES distinct labels.
 */
void
booking_arg_labels(FunctionCallInfo fcinfo, int n, const char *name,
				   text ***labels, int *count)
{
	ArrayType  *array;
	Datum	   *values;
	bool	   *nulls;

	booking_arg_require(fcinfo, n, name);
	array = PG_GETARG_ARRAYTYPE_P(n);
	if (ARR_NDIM(array) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be an array of one dimension with at least one element",
						name),
				 errhint("Give 1 to %d names.", BOOKING_MAX_RESOURCES)));
	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > BOOKING_MAX_RESOURCES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument \"%s\" has too many elements", name),
				 errhint("Give 1 to %d names.", BOOKING_MAX_RESOURCES)));

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &values, &nulls, count);
	*labels = palloc_array(text *, *count);
	for (int i = 0; i < *count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not contain nulls", name),
					 errhint("Give 1 to %d names.", BOOKING_MAX_RESOURCES)));
		(*labels)[i] = DatumGetTextPP(values[i]);
		check_label((*labels)[i], name);
	}
	check_distinct(*labels, *count, name);
}

/*
 * An interval: [) form, finite, not empty, in years 1970 to 9999.
 */
void
booking_arg_during(FunctionCallInfo fcinfo, int n, const char *name,
				   TimestampTz *start, TimestampTz *end)
{
	RangeType  *range;
	char		flags;

	booking_arg_require(fcinfo, n, name);
	range = PG_GETARG_RANGE_P(n);
	flags = range_get_flags(range);

	if (flags & RANGE_EMPTY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be empty", name),
				 errhint("Its end must be later than its start.")));
	if (flags & (RANGE_LB_INF | RANGE_UB_INF))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must have a start and an end", name),
				 errhint("Use tstzrange(start, end) with both bounds given.")));
	if (!(flags & RANGE_LB_INC) || (flags & RANGE_UB_INC))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must include its start and exclude its end",
						name),
				 errhint("Use the form [start, end), which tstzrange(start, end) makes.")));

	booking_range_bounds(RangeTypePGetDatum(range), start, end);
	if (*start < BOOKING_FIRST_INSTANT || *end >= BOOKING_INSTANT_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", name),
				 errhint("Both bounds must lie in the years 1970 to 9999, UTC.")));
}

/*
 * A version that exists: 1 or greater.
 */
int64
booking_arg_version(FunctionCallInfo fcinfo, int n, const char *name)
{
	int64		version;

	booking_arg_require(fcinfo, n, name);
	version = PG_GETARG_INT64(n);
	if (version < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be at least 1", name),
				 errhint("Versions count from 1.")));
	return version;
}

/*
 * An integer of at least 1.
 */
int32
booking_arg_positive(FunctionCallInfo fcinfo, int n, const char *name)
{
	int32		value;

	booking_arg_require(fcinfo, n, name);
	value = PG_GETARG_INT32(n);
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be at least 1", name),
				 errhint("Give a whole number from 1 up.")));
	return value;
}

/*
 * A jsonb value that is not NULL, within booking.max_terms.  The size is judged
 * before a compressed or moved value is fetched.
 */
Jsonb *
booking_arg_jsonb(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (toast_raw_datum_size(PG_GETARG_DATUM(n)) - VARHDRSZ >
		(Size) booking_max_terms * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument \"%s\" is too large", name),
				 errhint("The limit is %d kB (booking.max_terms).",
						 booking_max_terms)));
	return PG_GETARG_JSONB_P(n);
}

/*
 * The terms: bounded in size, and with an event a provider could be given.
 */
Jsonb *
booking_arg_terms(FunctionCallInfo fcinfo, int n)
{
	Jsonb	   *terms;

	booking_arg_require(fcinfo, n, "terms");
	terms = booking_arg_jsonb(fcinfo, n, "terms");
	booking_terms_check(terms);
	return terms;
}

/*
 * The evidence: bounded in size, or NULL.
 */
Jsonb *
booking_arg_evidence(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : booking_arg_jsonb(fcinfo, n, "evidence");
}

/*
 * The earlier intent that is exchanged for this one, or NULL.
 */
text *
booking_arg_supersedes(FunctionCallInfo fcinfo, int n, const text *intent)
{
	text	   *supersedes = booking_arg_label_optional(fcinfo, n, "supersedes");

	if (supersedes != NULL && booking_text_compare(supersedes, intent) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be the intent itself",
						"supersedes"),
				 errhint("Name the earlier intent, and give the new one an identity of its own.")));
	return supersedes;
}

/*
 * Why something out of the ordinary is done, for the audit.
 */
text *
booking_arg_reason(FunctionCallInfo fcinfo, int n)
{
	text	   *reason;

	booking_arg_require(fcinfo, n, "reason");
	reason = PG_GETARG_TEXT_PP(n);
	if (VARSIZE_ANY_EXHDR(reason) == 0 ||
		VARSIZE_ANY_EXHDR(reason) > BOOKING_MAX_REASON_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" has an invalid length", "reason"),
				 errhint("Give 1 to %d bytes.", BOOKING_MAX_REASON_BYTES)));
	return reason;
}

/*
 * Microseconds of an interval of fixed length between least and most.  Days
 * and months are refused: how long they are depends on where they lie.
 */
int64
booking_arg_fixed_interval(FunctionCallInfo fcinfo, int n, const char *name,
						   int64 least, int64 most)
{
	Interval   *interval;

	booking_arg_require(fcinfo, n, name);
	interval = PG_GETARG_INTERVAL_P(n);
	if (interval->day != 0 || interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must have a fixed length", name),
				 errhint("Use hours, minutes and seconds: '24 hours' and not '1 day'.")));
	if (interval->time < least || interval->time > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", name),
				 errhint("Give %s, at most %lld hours.",
						 least == 0 ? "zero or more" : "more than zero",
						 (long long) (most / USECS_PER_HOUR))));
	return interval->time;
}

/*
 * Raise an error unless the label keeps the rule.
 */
static void
check_label(const text *label, const char *name)
{
	const char *problem = NULL;

	switch (booking_label_check(VARDATA_ANY(label), VARSIZE_ANY_EXHDR(label),
								GetDatabaseEncoding() == PG_UTF8))
	{
		case BOOKING_LABEL_OK:
			return;
		case BOOKING_LABEL_EMPTY:
			problem = "must not be empty";
			break;
		case BOOKING_LABEL_TOO_LONG:
			problem = "is too long";
			break;
		case BOOKING_LABEL_CONTROL:
			problem = "must not contain control characters";
			break;
		case BOOKING_LABEL_EDGE_BLANK:
			problem = "must not begin or end with a blank";
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" %s", name, problem),
			 errhint("Give 1 to %d bytes without control characters and without blanks at the edges.",
					 BOOKING_LABEL_MAX_BYTES)));
}

/*
 * Refuse a label given twice: it would hold twice the units without saying so.
 */
static void
check_distinct(text **labels, int count, const char *name)
{
	for (int i = 1; i < count; i++)
	{
		for (int j = 0; j < i; j++)
		{
			if (booking_text_compare(labels[i], labels[j]) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("argument \"%s\" must not name anything twice",
								name),
						 errhint("Use \"units\" to book several units of a resource.")));
		}
	}
}

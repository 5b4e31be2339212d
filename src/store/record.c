/*-------------------------------------------------------------------------
 *
 * record.c
 *	  values of the store as C values and back
 *
 * IDENTIFICATION
 *	  booking/src/store/record.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#include "compat.h"
#include "store/record.h"

static TypeCacheEntry *range_type(void);

/*
 * Bounds of a tstzrange that a CHECK keeps finite, not empty and in [) form.
 */
void
booking_range_bounds(Datum range, TimestampTz *start, TimestampTz *end)
{
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	range_deserialize(range_type(), DatumGetRangeTypeP(range),
					  &lower, &upper, &empty);
	if (empty || lower.infinite || upper.infinite)
		elog(ERROR, "unexpected unbounded or empty range");
	*start = DatumGetTimestampTz(lower.val);
	*end = DatumGetTimestampTz(upper.val);
}

/*
 * The tstzrange [start, end), allocated in the current context.
 */
RangeType *
booking_range_make(TimestampTz start, TimestampTz end)
{
	RangeBound	lower;
	RangeBound	upper;

	lower.val = TimestampTzGetDatum(start);
	lower.infinite = false;
	lower.inclusive = true;
	lower.lower = true;
	upper.val = TimestampTzGetDatum(end);
	upper.infinite = false;
	upper.inclusive = false;
	upper.lower = false;

	return booking_make_range(range_type(), &lower, &upper, false);
}

/*
 * Order two texts byte for byte, as the columns with COLLATE "C" do.  Either
 * may have a short header.
 */
int
booking_text_compare(const text *a, const text *b)
{
	int			alen = VARSIZE_ANY_EXHDR(a);
	int			blen = VARSIZE_ANY_EXHDR(b);
	int			cmp = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(alen, blen));

	return cmp != 0 ? cmp : alen - blen;
}

/*
 * Is the text this word?
 */
bool
booking_text_is(const text *a, const char *word)
{
	int			len = strlen(word);

	return VARSIZE_ANY_EXHDR(a) == len && memcmp(VARDATA_ANY(a), word, len) == 0;
}

/*
 * Take a text[] without NULLs apart.
 */
void
booking_record_text_array(Datum array, int *count, text ***elements)
{
	Datum	   *values;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false,
					  TYPALIGN_INT, &values, NULL, count);
	*elements = palloc_array(text *, *count);
	for (int i = 0; i < *count; i++)
		(*elements)[i] = DatumGetTextPP(values[i]);
}

/*
 * Take a bigint[] apart that has one element a resource.
 */
int64 *
booking_record_int8_array(Datum array, int count)
{
	Datum	   *values;
	int64	   *elements = palloc_array(int64, count);
	int			found;

	deconstruct_array(DatumGetArrayTypeP(array), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, NULL, &found);
	if (found != count)
		elog(ERROR, "%d versions stored for %d resources", found, count);
	for (int i = 0; i < count; i++)
		elements[i] = DatumGetInt64(values[i]);
	return elements;
}

/*
 * Build a text[].
 */
ArrayType *
booking_record_make_text_array(text **elements, int count)
{
	Datum	   *values = palloc_array(Datum, count);

	for (int i = 0; i < count; i++)
		values[i] = PointerGetDatum(elements[i]);
	return construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * Build a boolean[].
 */
ArrayType *
booking_record_make_bool_array(const bool *elements, int count)
{
	Datum	   *values = palloc_array(Datum, count);

	for (int i = 0; i < count; i++)
		values[i] = BoolGetDatum(elements[i]);
	return construct_array(values, count, BOOLOID, sizeof(bool), true,
						   TYPALIGN_CHAR);
}

/*
 * Build a bigint[].
 */
ArrayType *
booking_record_make_int8_array(const int64 *elements, int count)
{
	Datum	   *values = palloc_array(Datum, count);

	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(elements[i]);
	return construct_array(values, count, INT8OID, sizeof(int64),
						   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/*
 * Build an int[].
 */
ArrayType *
booking_record_make_int4_array(const int32 *elements, int count)
{
	Datum	   *values = palloc_array(Datum, count);

	for (int i = 0; i < count; i++)
		values[i] = Int32GetDatum(elements[i]);
	return construct_array(values, count, INT4OID, sizeof(int32), true,
						   TYPALIGN_INT);
}

/*
 * The type cache's entry of tstzrange.  Entries are never freed.
 */
static TypeCacheEntry *
range_type(void)
{
	static TypeCacheEntry *entry = NULL;

	if (entry == NULL)
		entry = lookup_type_cache(TSTZRANGEOID, TYPECACHE_RANGE_INFO);
	return entry;
}

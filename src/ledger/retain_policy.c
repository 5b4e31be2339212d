/*-------------------------------------------------------------------------
 *
 * retain_policy.c
 *	  what booking_retain is told to purge, and how
 *
 * doc/operations.md describes the keys.  A key that is misspelt would keep what
 * was to go, or the other way round, so none is passed over.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/retain_policy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "compat.h"
#include "ledger/retain_policy.h"

#define DAYS(n) ((n) * USECS_PER_DAY)
#define KEEP (-1)

/* the longest age that makes sense: it reaches before 1970 */
#define LONGEST_AGE DAYS(INT64CONST(36525))

/* an age, by the kind of rows */
static const struct
{
	const char *key;
	int64		fallback;
}			ages[BOOKING_PURGE_KINDS] = {
	[BOOKING_PURGE_INTENTS] = {"intents", DAYS(365)},
	[BOOKING_PURGE_INBOX] = {"inbox", DAYS(90)},
	[BOOKING_PURGE_DEAD_LETTERS] = {"dead_letters", DAYS(365)},
	[BOOKING_PURGE_EVENTS] = {"events", DAYS(90)},
	[BOOKING_PURGE_CONFLICTS] = {"conflicts", DAYS(90)},
	[BOOKING_PURGE_CHECKS] = {"checks", DAYS(30)},
	[BOOKING_PURGE_AUDIT] = {"audit", KEEP}
};

/* a whole number */
static const struct
{
	const char *key;
	Size		offset;
	int64		fallback;
	int64		least;
	int64		most;
}			numbers[] = {
	{"batch", offsetof(BookingRetainPolicy, batch), 500, 1, 10000},
	{"lock_timeout", offsetof(BookingRetainPolicy, lock_timeout), 1000, 1, 60000},
	{"rate", offsetof(BookingRetainPolicy, rate), 6000, 0, 1000000},
	{"max_rows", offsetof(BookingRetainPolicy, max_rows), 0, 0, PG_INT64_MAX}
};

static void read_member(const char *key, const JsonbValue *value,
						BookingRetainPolicy *policy);
static int64 read_age(const char *key, const JsonbValue *value);
static int64 read_number(int n, const JsonbValue *value);
static void raise_value(const char *key, const char *what)
			pg_attribute_noreturn();

/*
 * Read a policy, with the values of keys that it does not have, or raise an
 * error.
 */
void
booking_retain_policy_read(Jsonb *json, BookingRetainPolicy *policy)
{
	JsonbIterator *it = JsonbIteratorInit(&json->root);
	JsonbValue	key;
	JsonbValue	value;

	for (int i = 0; i < BOOKING_PURGE_KINDS; i++)
		policy->ages[i] = ages[i].fallback;
	for (int i = 0; i < lengthof(numbers); i++)
		*(int64 *) ((char *) policy + numbers[i].offset) = numbers[i].fallback;
	if (!JB_ROOT_IS_OBJECT(json))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be an object", "policy"),
				 errhint("Give '{}' for what doc/operations.md says is usual.")));

	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&it, &value, true);
		read_member(pnstrdup(key.val.string.val, key.val.string.len), &value,
					policy);
	}
}

/*
 * Key of the age of a kind of rows.
 */
const char *
booking_retain_kind_name(BookingPurgeKind kind)
{
	return ages[kind].key;
}

/*
 * One key.
 */
static void
read_member(const char *key, const JsonbValue *value,
			BookingRetainPolicy *policy)
{
	for (int i = 0; i < BOOKING_PURGE_KINDS; i++)
	{
		if (strcmp(key, ages[i].key) == 0)
		{
			policy->ages[i] = read_age(key, value);
			return;
		}
	}
	for (int i = 0; i < lengthof(numbers); i++)
	{
		if (strcmp(key, numbers[i].key) == 0)
		{
			*(int64 *) ((char *) policy + numbers[i].offset) =
				read_number(i, value);
			return;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" has an unknown key \"%s\"", "policy", key),
			 errhint("Give intents, inbox, dead_letters, events, conflicts, checks and audit (an interval, or null to keep), batch, lock_timeout, rate and max_rows (numbers), or some of them.")));
}

/*
 * An age: microseconds of an interval, with 30 days a month and 24 hours a day;
 * null keeps.
 */
static int64
read_age(const char *key, const JsonbValue *value)
{
	Interval   *interval;
	Datum		string;
	int64		age;

	if (value->type == jbvNull)
		return KEEP;
	if (value->type != jbvString)
		raise_value(key, "Give an interval as a string, as in \"90 days\", or null to keep all.");
	string = CStringGetDatum(pnstrdup(value->val.string.val,
									  value->val.string.len));
	interval = DatumGetIntervalP(DirectFunctionCall3(interval_in, string,
													 ObjectIdGetDatum(InvalidOid),
													 Int32GetDatum(-1)));
	if (interval->month < 0 || interval->day < 0 || interval->time < 0 ||
		interval->month > 1200 || interval->day > 36525 ||
		interval->time > LONGEST_AGE)
		raise_value(key, "Give zero or more, at most 100 years.");
	age = DAYS((int64) interval->month * DAYS_PER_MONTH + interval->day) +
		interval->time;
	if (age > LONGEST_AGE)
		raise_value(key, "Give zero or more, at most 100 years.");
	return age;
}

/*
 * A whole number within its bounds.
 */
static int64
read_number(int n, const JsonbValue *value)
{
	char	   *hint = psprintf("Give a whole number from %lld to %lld.",
								(long long) numbers[n].least,
								(long long) numbers[n].most);
	Numeric		least = int64_to_numeric(numbers[n].least);
	Numeric		most = int64_to_numeric(numbers[n].most);
	Datum		number;
	bool		fits;

	if (value->type == jbvNull)
		return numbers[n].fallback;
	if (value->type != jbvNumeric)
		raise_value(numbers[n].key, hint);
	number = NumericGetDatum(value->val.numeric);
	fits = DatumGetBool(DirectFunctionCall2(numeric_ge, number,
											NumericGetDatum(least))) &&
		DatumGetBool(DirectFunctionCall2(numeric_le, number,
										 NumericGetDatum(most))) &&
		DatumGetBool(DirectFunctionCall2(numeric_eq, number,
										 DirectFunctionCall1(numeric_floor, number)));
	if (!fits)
		raise_value(numbers[n].key, hint);
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, number));
}

/*
 * The error about a value.
 */
static void
raise_value(const char *key, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" has an invalid \"%s\"", "policy", key),
			 errhint("%s", what)));
}

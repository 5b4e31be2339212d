/*-------------------------------------------------------------------------
 *
 * detail.c
 *	  the explanation that goes with a result
 *
 * Instants are written in UTC, whatever the session's TimeZone and DateStyle:
 * an explanation may be stored and must read the same to everyone.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/detail.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "miscadmin.h"
#include "utils/datetime.h"
#include "utils/numeric.h"

#include "compat.h"
#include "ledger/detail.h"

static void push_string(BookingDetail *detail, JsonbIteratorToken token,
						const char *data, int len);

/*
 * Begin an object.
 */
void
booking_detail_begin(BookingDetail *detail)
{
	detail->state = NULL;
	pushJsonbValue(&detail->state, WJB_BEGIN_OBJECT, NULL);
}

/*
 * Add a text; NULL adds nothing.
 */
void
booking_detail_text(BookingDetail *detail, const char *key, const text *value)
{
	if (value == NULL)
		return;
	push_string(detail, WJB_KEY, key, strlen(key));
	push_string(detail, WJB_VALUE, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

/*
 * Add a C string.
 */
void
booking_detail_word(BookingDetail *detail, const char *key, const char *value)
{
	push_string(detail, WJB_KEY, key, strlen(key));
	push_string(detail, WJB_VALUE, value, strlen(value));
}

/*
 * Add an integer.
 */
void
booking_detail_integer(BookingDetail *detail, const char *key, int64 value)
{
	JsonbValue	number;

	push_string(detail, WJB_KEY, key, strlen(key));
	number.type = jbvNumeric;
	number.val.numeric = int64_to_numeric(value);
	pushJsonbValue(&detail->state, WJB_VALUE, &number);
}

/*
 * Add true.
 */
void
booking_detail_flag(BookingDetail *detail, const char *key)
{
	JsonbValue	value;

	push_string(detail, WJB_KEY, key, strlen(key));
	value.type = jbvBool;
	value.val.boolean = true;
	pushJsonbValue(&detail->state, WJB_VALUE, &value);
}

/*
 * Add an instant, as ISO 8601 in UTC.
 */
void
booking_detail_instant(BookingDetail *detail, const char *key,
					   TimestampTz value)
{
	booking_detail_word(detail, key, booking_detail_format_instant(value));
}

/*
 * Add an array of words.
 */
void
booking_detail_words(BookingDetail *detail, const char *key,
					 const char *const *words, int count)
{
	push_string(detail, WJB_KEY, key, strlen(key));
	pushJsonbValue(&detail->state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < count; i++)
		push_string(detail, WJB_ELEM, words[i], strlen(words[i]));
	pushJsonbValue(&detail->state, WJB_END_ARRAY, NULL);
}

/*
 * Add an array of integers.
 */
void
booking_detail_integers(BookingDetail *detail, const char *key,
						const int64 *values, int count)
{
	push_string(detail, WJB_KEY, key, strlen(key));
	pushJsonbValue(&detail->state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < count; i++)
	{
		JsonbValue	number;

		number.type = jbvNumeric;
		number.val.numeric = int64_to_numeric(values[i]);
		pushJsonbValue(&detail->state, WJB_ELEM, &number);
	}
	pushJsonbValue(&detail->state, WJB_END_ARRAY, NULL);
}

/*
 * Add all members of an object.  What is added later under the same key wins.
 */
void
booking_detail_members(BookingDetail *detail, Jsonb *object)
{
	JsonbIterator *iterator = JsonbIteratorInit(&object->root);
	JsonbIteratorToken token;
	JsonbValue	value;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY || token == WJB_VALUE)
			pushJsonbValue(&detail->state, token, &value);
	}
}

/*
 * Begin an object within the object; it must be ended.
 */
void
booking_detail_object(BookingDetail *detail, const char *key)
{
	push_string(detail, WJB_KEY, key, strlen(key));
	pushJsonbValue(&detail->state, WJB_BEGIN_OBJECT, NULL);
}

/*
 * End the inner object.
 */
void
booking_detail_object_end(BookingDetail *detail)
{
	pushJsonbValue(&detail->state, WJB_END_OBJECT, NULL);
}

/*
 * End the object and return it.
 */
Jsonb *
booking_detail_end(BookingDetail *detail)
{
	return JsonbValueToJsonb(pushJsonbValue(&detail->state, WJB_END_OBJECT,
											NULL));
}

/*
 * The object without members.
 */
Jsonb *
booking_detail_empty(void)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	return booking_detail_end(&detail);
}

/*
 * {"reason": reason}
 */
Jsonb *
booking_detail_reason(const char *reason)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", reason);
	return booking_detail_end(&detail);
}

/*
 * The reason that a detail gives, which it is known to give.
 */
const char *
booking_detail_reason_of(Jsonb *detail)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(&detail->root, "reason", 6, &value) == NULL ||
		value.type != jbvString)
		elog(ERROR, "detail gives no reason");
	return pnstrdup(value.val.string.val, value.val.string.len);
}

/*
 * ISO 8601 in UTC, as in 2030-01-01T10:00:00+00:00.
 */
char *
booking_detail_format_instant(TimestampTz value)
{
	struct pg_tm tm;
	fsec_t		fsec;
	char		buffer[MAXDATELEN + 1];

	if (timestamp2tm(value, NULL, &tm, &fsec, NULL, NULL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	tm.tm_isdst = 0;			/* the offset is known, and is that of UTC */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_XSD_DATES, buffer);
	return pstrdup(buffer);
}

/*
 * Push a key, value or element that is a string.
 */
static void
push_string(BookingDetail *detail, JsonbIteratorToken token,
			const char *data, int len)
{
	JsonbValue	string;

	string.type = jbvString;
	string.val.string.val = unconstify(char *, data);
	string.val.string.len = len;
	pushJsonbValue(&detail->state, token, &string);
}

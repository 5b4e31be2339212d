/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  is a delivery from its source?
 *
 * The raw bytes are verified, before anything in them is read, and what cannot
 * be verified is refused: without a secret, without a signature, with two.
 * Every secret is tried on every signature whatever came out before, and the
 * comparison takes as long wherever the difference is.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/verify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <openssl/crypto.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "codec/webhook_signature.h"
#include "compat.h"
#include "ledger/call.h"
#include "store/seal.h"
#include "webhook/verify.h"

/* seconds that a signature may be older or younger than now */
#define TOLERANCE 300

static const char *read_signature(const BookingWebhookSource *source,
								  const BookingRawDelivery *raw,
								  BookingSignature *signature,
								  const char **id);
static const char *verdict_of(BookingSignatureFault fault);
pg_noreturn static void raise_hmac(void);
pg_noreturn static void raise_headers(void);
static bool names_header(const JsonbValue *value, const char *name);

/*
 * Why a delivery is not to be believed, as a word; NULL if it is.
 */
const char *
booking_verify(const BookingWebhookSource *source,
			   const BookingRawDelivery *raw, TimestampTz now)
{
	BookingSignature signature = {0};
	const char *id = NULL;
	const char *problem;
	int			nsecrets;
	BookingWebhookSecret *secrets = booking_store_webhook_secrets(source->source,
																  &nsecrets);
	char	   *context = booking_verify_seal_context(source->source);
	int			usable = 0;
	int			matches = 0;
	int64		age;
	int64		tolerance;

	if (nsecrets == 0)
		return "no_secret";
	problem = read_signature(source, raw, &signature, &id);
	if (problem != NULL)
		return problem;
	for (int i = 0; i < nsecrets; i++)
	{
		char	   *secret = booking_unseal_try(secrets[i].secret,
												secrets[i].sealed, context);
		int			found;

		/* it was sealed with another key: it verifies nothing any more */
		if (secret == NULL)
			continue;
		usable++;
		found = booking_signature_matches(&signature, id, VARDATA_ANY(raw->body),
										  VARSIZE_ANY_EXHDR(raw->body), secret);
		explicit_bzero(secret, strlen(secret));
		if (found < 0)
			raise_hmac();
		matches += found;
	}
	if (matches == 0)
		return usable == 0 ? "no_secret" : "bad_signature";
	if (!signature.has_time)
		return NULL;

	/* the signature is right: too old or too young is told apart from wrong */
	age = now / USECS_PER_SEC +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY - signature.time;
	tolerance = booking_webhook_setting(source->settings, "tolerance", TOLERANCE);
	return age > tolerance ? "stale" : age < -tolerance ? "future" : NULL;
}

/*
 * What a secret of a source is bound to when it is sealed: unlike anything that
 * a credential of an account is bound to.
 */
char *
booking_verify_seal_context(const text *source)
{
	/* no label contains a control character */
	return psprintf("\nwebhook\n%s", text_to_cstring(source));
}

/*
 * Are two secrets equal?  How long it takes tells their lengths at most.
 */
bool
booking_verify_equal(const char *a, const char *b)
{
	size_t		len = strlen(a);

	return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}

/*
 * A setting that is a whole number, which was checked when it was put.
 */
int64
booking_webhook_setting(const Jsonb *settings, const char *key,
						int64 otherwise)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &settings->root),
									 key, strlen(key), &value) == NULL ||
		value.type != jbvNumeric)
		return otherwise;
	return DatumGetInt32(DirectFunctionCall1(numeric_int4,
											 NumericGetDatum(value.val.numeric)));
}

/*
 * Do the bookings of a source come with the calendar that it writes them to?
 */
bool
booking_webhook_by_calendar(const BookingWebhookSource *source)
{
	JsonbValue	value;

	return getKeyJsonValueFromContainer(&source->settings->root, "by_calendar",
										strlen("by_calendar"), &value) != NULL &&
		value.type == jbvBool && value.val.boolean;
}

/*
 * Raise an error unless headers are pairs of strings: the caller's fault, not
 * the sender's.
 */
void
booking_verify_headers(Jsonb *headers)
{
	JsonbIterator *it = JsonbIteratorInit(&headers->root);
	JsonbValue	value;
	JsonbIteratorToken token = JsonbIteratorNext(&it, &value, false);
	bool		object = token == WJB_BEGIN_OBJECT;
	int			depth = 1;
	int			members = 0;

	if (!object && (token != WJB_BEGIN_ARRAY || value.val.array.rawScalar))
		raise_headers();
	while ((token = JsonbIteratorNext(&it, &value, false)) != WJB_DONE)
	{
		if (token == WJB_BEGIN_ARRAY && !object && depth == 1)
		{
			depth = 2;
			members = 0;
		}
		else if (token == WJB_END_ARRAY && depth == 2)
		{
			if (members != 2)
				raise_headers();
			depth = 1;
		}
		else if (token == WJB_ELEM && depth == 2 && value.type == jbvString)
			members++;
		else if (token == WJB_VALUE && value.type == jbvString)
			continue;
		else if (token != WJB_KEY && token != WJB_END_OBJECT &&
				 token != WJB_END_ARRAY)
			raise_headers();
	}
}

/*
 * How many headers have a name, and the value of the last of them.
 */
int
booking_verify_header(const BookingRawDelivery *raw, const char *name,
					  char **value)
{
	JsonbIterator *it = JsonbIteratorInit(&raw->headers->root);
	JsonbValue	found;
	JsonbIteratorToken token;
	int			count = 0;
	bool		named = false;
	bool		second = false;

	*value = NULL;
	while ((token = JsonbIteratorNext(&it, &found, false)) != WJB_DONE)
	{
		if (token == WJB_BEGIN_ARRAY)
			second = false;
		else if (token == WJB_KEY || (token == WJB_ELEM && !second))
		{
			named = names_header(&found, name);
			second = true;
		}
		else if ((token == WJB_VALUE || token == WJB_ELEM) && named)
		{
			*value = pnstrdup(found.val.string.val, found.val.string.len);
			named = false;
			count++;
		}
	}
	return count;
}

/*
 * The header of a name; a verdict if there is none, or several.
 */
const char *
booking_verify_one_header(const BookingRawDelivery *raw, const char *name,
						  char **value)
{
	int			count = booking_verify_header(raw, name, value);

	return count == 1 ? NULL : count == 0 ? "missing_signature" :
		"malformed_signature";
}

/*
 * Read the signature of a source that signs; returns a verdict if there is none
 * to go by.  id is that of a message of Standard Webhooks.
 */
static const char *
read_signature(const BookingWebhookSource *source,
			   const BookingRawDelivery *raw, BookingSignature *signature,
			   const char **id)
{
	char	   *header;
	char	   *timestamp;
	char	   *message;
	const char *problem;

	if (booking_text_is(source->kind, "calendly"))
	{
		problem = booking_verify_one_header(raw, "calendly-webhook-signature", &header);
		return problem != NULL ? problem :
			verdict_of(booking_signature_calendly(header, signature));
	}
	if (booking_text_is(source->kind, "calcom"))
	{
		problem = booking_verify_one_header(raw, "x-cal-signature-256", &header);
		return problem != NULL ? problem :
			verdict_of(booking_signature_calcom(header, signature));
	}
	if (booking_text_is(source->kind, "acuity"))
	{
		problem = booking_verify_one_header(raw, "x-acuity-signature", &header);
		return problem != NULL ? problem :
			verdict_of(booking_signature_acuity(header, signature));
	}
	problem = booking_verify_one_header(raw, "webhook-signature", &header);
	if (problem == NULL)
		problem = booking_verify_one_header(raw, "webhook-timestamp", &timestamp);
	if (problem == NULL)
		problem = booking_verify_one_header(raw, "webhook-id", &message);
	if (problem != NULL)
		return problem;
	*id = message;
	return verdict_of(booking_signature_standard(message, timestamp, header,
												 signature));
}

/*
 * A fault of the form as a verdict.
 */
static const char *
verdict_of(BookingSignatureFault fault)
{
	return fault == BOOKING_SIGNATURE_OK ? NULL :
		fault == BOOKING_SIGNATURE_UNSIGNED ? "unsigned" : "malformed_signature";
}

/*
 * The error when the library fails; it says nothing of what it worked on.
 */
static void
raise_hmac(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not verify a signature")));
}

/*
 * The error about headers.
 */
static void
raise_headers(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is invalid", "headers"),
			 errhint("Give an array of [name, value] pairs of strings, in which names may repeat, or an object.")));
}

/*
 * Is a string the name of a header, in whatever case?
 */
static bool
names_header(const JsonbValue *value, const char *name)
{
	return value->type == jbvString &&
		value->val.string.len == strlen(name) &&
		pg_strncasecmp(value->val.string.val, name, strlen(name)) == 0;
}

/*-------------------------------------------------------------------------
 *
 * digest.c
 *	  what is kept of values that were purged: booking.payload_digest
 *
 * A retry that comes after its values were purged must still be told from a
 * call with other values.  So a digest is kept of what goes: the interval or
 * the slot, the versions demanded and the terms.  It is canonical in the sense
 * of booking_payload_equal(): equal payloads, and as good as no others, have
 * equal digests.
 *
 * It is an HMAC under a key of this database, over the number of the intent and
 * all values together.  Without the key nobody can find the values by trying
 * those that are likely, and with it only by guessing all of them at once; and
 * two intents with equal values do not show it.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/digest.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "compat.h"
#include "ledger/digest.h"
#include "ledger/payload.h"
#include "store/purge.h"

PG_FUNCTION_INFO_V1(booking_payload_digest);

/* bytes kept of the HMAC: what takes 2^128 tries to hit is not hit */
#define DIGEST_LEN 16

/* what goes into a digest */
typedef struct Digest
{
	pg_hmac_ctx *hmac;
	bool		ok;
} Digest;

static bytea *compute(const bytea *key, const BookingPayload *payload);
static void add_bytes(Digest *digest, const void *bytes, uint32 len);
static void add_integer(Digest *digest, int64 value);
static void add_versions(Digest *digest, const BookingPayload *payload);
static void add_terms(Digest *digest, Jsonb *terms);
static void add_scalar(Digest *digest, const JsonbValue *value);

/*
 * booking.payload_digest(key, intent_id, resources, slot, during,
 * expected_versions, terms) returns bytea
 *
 * What a statement that purges puts in the place of the values.
 */
Datum
booking_payload_digest(PG_FUNCTION_ARGS)
{
	BookingPayload payload = {0};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	payload.intent_id = PG_GETARG_INT64(1);
	if (!PG_ARGISNULL(2))
		booking_record_text_array(PG_GETARG_DATUM(2), &payload.nresources,
								  &payload.resources);
	payload.slot = PG_ARGISNULL(3) ? NULL : PG_GETARG_TEXT_PP(3);
	payload.has_during = !PG_ARGISNULL(4);
	if (payload.has_during)
		booking_range_bounds(PG_GETARG_DATUM(4), &payload.start, &payload.end);
	if (!PG_ARGISNULL(5) && payload.nresources > 0)
		payload.versions = booking_record_int8_array(PG_GETARG_DATUM(5),
													 payload.nresources);
	payload.terms = PG_ARGISNULL(6) ? NULL : PG_GETARG_JSONB_P(6);
	PG_RETURN_BYTEA_P(compute(PG_GETARG_BYTEA_PP(0), &payload));
}

/*
 * Is a payload, in what was purged of another, the same?
 */
bool
booking_digest_fits(const BookingPayload *purged, const BookingPayload *payload)
{
	bytea	   *key = booking_store_digest_key();
	BookingPayload bound = *payload;
	bytea	   *digest;

	if (key == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the key of digests is missing"),
				 errhint("Restore the row of booking.retention from a backup.")));
	bound.intent_id = purged->intent_id;
	digest = compute(key, &bound);
	return VARSIZE_ANY_EXHDR(purged->digest) == DIGEST_LEN &&
		memcmp(VARDATA_ANY(purged->digest), VARDATA(digest), DIGEST_LEN) == 0;
}

/*
 * The digest of a payload, bound to the number of its intent.
 */
static bytea *
compute(const bytea *key, const BookingPayload *payload)
{
	Digest		digest = {pg_hmac_create(PG_SHA256), true};
	uint8		whole[PG_SHA256_DIGEST_LENGTH];
	bytea	   *kept = palloc(VARHDRSZ + DIGEST_LEN);

	digest.ok = digest.hmac != NULL &&
		pg_hmac_init(digest.hmac, (const uint8 *) VARDATA_ANY(key),
					 VARSIZE_ANY_EXHDR(key)) >= 0;
	add_integer(&digest, payload->intent_id);
	add_bytes(&digest, payload->slot != NULL ? "s" : payload->has_during ? "d" : "n", 1);
	if (payload->slot != NULL)
		add_bytes(&digest, VARDATA_ANY(payload->slot),
				  VARSIZE_ANY_EXHDR(payload->slot));
	else if (payload->has_during)
	{
		add_integer(&digest, payload->start);
		add_integer(&digest, payload->end);
	}
	add_versions(&digest, payload);
	if (payload->terms != NULL)
		add_terms(&digest, payload->terms);
	digest.ok = digest.ok &&
		pg_hmac_final(digest.hmac, whole, sizeof(whole)) >= 0;
	pg_hmac_free(digest.hmac);
	if (!digest.ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute a digest")));
	SET_VARSIZE(kept, VARHDRSZ + DIGEST_LEN);
	memcpy(VARDATA(kept), whole, DIGEST_LEN);
	return kept;
}

/*
 * Add bytes, with their number before them so that neighbours cannot be
 * mistaken for each other.
 */
static void
add_bytes(Digest *digest, const void *bytes, uint32 len)
{
	uint32		number = pg_hton32(len);

	digest->ok = digest->ok &&
		pg_hmac_update(digest->hmac, (const uint8 *) &number, sizeof(number)) >= 0 &&
		pg_hmac_update(digest->hmac, bytes, len) >= 0;
}

/*
 * Add a number.
 */
static void
add_integer(Digest *digest, int64 value)
{
	uint64		number = pg_hton64((uint64) value);

	add_bytes(digest, &number, sizeof(number));
}

/*
 * Add the versions demanded: that of the first resource, and the others in the
 * order of their resources' names.
 */
static void
add_versions(Digest *digest, const BookingPayload *payload)
{
	BookingMember *members;

	if (payload->versions == NULL)
	{
		add_bytes(digest, "n", 1);
		return;
	}
	add_bytes(digest, "v", 1);
	add_integer(digest, payload->versions[0]);
	members = booking_payload_members(payload);
	for (int i = 0; i < payload->nresources - 1; i++)
		add_integer(digest, members[i].version);
}

/*
 * Add a document.  A jsonb has its keys in one order and each once, so that
 * documents that are equal are walked alike.
 */
static void
add_terms(Digest *digest, Jsonb *terms)
{
	JsonbIterator *it = JsonbIteratorInit(&terms->root);
	JsonbValue	value;
	JsonbIteratorToken token;

	while ((token = JsonbIteratorNext(&it, &value, false)) != WJB_DONE)
	{
		char		mark = (char) ('A' + (int) token);

		add_bytes(digest, &mark, 1);
		if (token == WJB_KEY || token == WJB_VALUE || token == WJB_ELEM)
			add_scalar(digest, &value);
	}
}

/*
 * Add a scalar of a document.  Numbers are equal whatever zeros they end with.
 */
static void
add_scalar(Digest *digest, const JsonbValue *value)
{
	char	   *number;

	switch (value->type)
	{
		case jbvNull:
			add_bytes(digest, "z", 1);
			break;
		case jbvBool:
			add_bytes(digest, value->val.boolean ? "t" : "f", 1);
			break;
		case jbvNumeric:
			number = numeric_normalize(value->val.numeric);
			add_bytes(digest, "#", 1);
			add_bytes(digest, number, strlen(number));
			break;
		case jbvString:
			add_bytes(digest, "\"", 1);
			add_bytes(digest, value->val.string.val, value->val.string.len);
			break;
		default:
			elog(ERROR, "unexpected kind of jsonb value");
	}
}

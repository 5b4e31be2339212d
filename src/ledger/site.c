/*-------------------------------------------------------------------------
 *
 * site.c
 *	  booking_arm, which database may write to providers, and the ids of its
 *	  events
 *
 * A copy of a database must not write the original's events a second time.  A
 * row says which cluster and database was armed; where that is another, the
 * worker stays paused.  Physical copies keep the cluster's identifier, so
 * booking.arm_key, set differently on each, can tell them apart too.
 *
 * An event id is the HMAC-SHA-256 of tenant, principal, intent, calendar and
 * generation under a key of this database: known before the first byte is
 * sent, the same after a crash, not to be guessed from the names, and never
 * the same in two databases.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/site.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/cryptohash.h"
#include "common/hmac.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"

#include "codec/base32hex.h"
#include "compat.h"
#include "guc.h"
#include "ledger/access.h"
#include "ledger/site.h"
#include "ledger/wake.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_arm);

#define EVENT_KEY_LEN 32

static bytea *arm_digest(void);
static bool hmac_text(pg_hmac_ctx *hmac, const text *value);

/*
 * booking_arm() returns void
 *
 * Let this database, and no copy of it, write to providers.
 */
Datum
booking_arm(PG_FUNCTION_ARGS)
{
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand_owner(&call);
	booking_site_arm(call.now, true);
	booking_store_audit("arm", call.role, NULL, NULL, NULL, NULL, NULL,
						call.now);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * Arm the database: if it never was, or again.  Makes the key of event ids the
 * first time.
 */
void
booking_site_arm(TimestampTz now, bool again)
{
	BookingSite site;

	if (booking_store_site_read(&site))
	{
		if (!again)
			return;
	}
	else
	{
		site.event_key = palloc(VARHDRSZ + EVENT_KEY_LEN);
		SET_VARSIZE(site.event_key, VARHDRSZ + EVENT_KEY_LEN);
		if (!pg_strong_random(VARDATA(site.event_key), EVENT_KEY_LEN))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
	}
	site.system_identifier = (int64) GetSystemIdentifier();
	site.database_oid = (int64) MyDatabaseId;
	site.arm_digest = arm_digest();
	booking_store_site_put(&site, now);
}

/*
 * Was this database, or what it is a copy of, ever armed?
 */
bool
booking_site_known(void)
{
	BookingSite site;

	return booking_store_site_read(&site);
}

/*
 * Why this database may not write to providers; NULL if it may.
 */
const char *
booking_site_disarmed(void)
{
	BookingSite site;
	bytea	   *digest;

	if (!booking_store_site_read(&site))
		return "no account was ever put";
	if (site.system_identifier != (int64) GetSystemIdentifier())
		return "another cluster was armed; if this one takes its place, call booking_arm()";
	if (site.database_oid != (int64) MyDatabaseId)
		return "another database was armed; if this one takes its place, call booking_arm()";
	digest = arm_digest();
	if (VARSIZE_ANY_EXHDR(site.arm_digest) != VARSIZE_ANY_EXHDR(digest) ||
		memcmp(VARDATA_ANY(site.arm_digest), VARDATA_ANY(digest),
			   VARSIZE_ANY_EXHDR(digest)) != 0)
		return "booking.arm_key is another one; if that is right, call booking_arm()";
	return NULL;
}

/*
 * The event id of an intent in a calendar.
 */
char *
booking_site_event_id(const BookingIdentity *identity, const text *calendar,
					  int32 generation)
{
	BookingSite site;
	pg_hmac_ctx *hmac;
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint32		number = pg_hton32((uint32) generation);
	char	   *id = palloc(2 * sizeof(digest));
	bool		ok;

	if (!booking_store_site_read(&site))
		elog(ERROR, "there is a calendar but no event key");

	hmac = pg_hmac_create(PG_SHA256);
	ok = hmac != NULL &&
		pg_hmac_init(hmac, (uint8 *) VARDATA_ANY(site.event_key),
					 VARSIZE_ANY_EXHDR(site.event_key)) >= 0 &&
		hmac_text(hmac, identity->tenant) &&
		hmac_text(hmac, identity->principal) &&
		hmac_text(hmac, identity->intent) &&
		hmac_text(hmac, calendar) &&
		pg_hmac_update(hmac, (uint8 *) &number, sizeof(number)) >= 0 &&
		pg_hmac_final(hmac, digest, sizeof(digest)) >= 0;
	pg_hmac_free(hmac);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not derive an event id")));
	booking_base32hex(digest, sizeof(digest), id);
	return id;
}

/*
 * Digest of booking.arm_key, of nothing when it is not set.
 */
static bytea *
arm_digest(void)
{
	bytea	   *digest = palloc(VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	const char *key = booking_arm_key != NULL ? booking_arm_key : "";
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	bool		ok;

	SET_VARSIZE(digest, VARHDRSZ + PG_SHA256_DIGEST_LENGTH);
	ok = hash != NULL && pg_cryptohash_init(hash) >= 0 &&
		pg_cryptohash_update(hash, (const uint8 *) key, strlen(key)) >= 0 &&
		pg_cryptohash_final(hash, (uint8 *) VARDATA(digest),
							PG_SHA256_DIGEST_LENGTH) >= 0;
	pg_cryptohash_free(hash);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute a digest")));
	return digest;
}

/*
 * Add a text to the HMAC, with its length before it so that neighbours cannot
 * be mistaken for each other.
 */
static bool
hmac_text(pg_hmac_ctx *hmac, const text *value)
{
	uint32		len = VARSIZE_ANY_EXHDR(value);
	uint32		number = pg_hton32(len);

	return pg_hmac_update(hmac, (uint8 *) &number, sizeof(number)) >= 0 &&
		pg_hmac_update(hmac, (const uint8 *) VARDATA_ANY(value), len) >= 0;
}

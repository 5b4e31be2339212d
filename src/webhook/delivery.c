/*-------------------------------------------------------------------------
 *
 * delivery.c
 *	  a delivery as a row of booking.inbox
 *
 * IDENTIFICATION
 *	  booking/src/webhook/delivery.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "utils/builtins.h"

#include "codec/label.h"
#include "compat.h"
#include "ledger/call.h"
#include "webhook/apply.h"

static text *dedupe_of(const BookingWebhookEvent *event, const bytea *body);
static text *label_of(const char *string);

/*
 * Fill in what a body says, and that nothing became of it yet.
 */
void
booking_webhook_fill_row(BookingDelivery *row, const BookingWebhookEvent *event,
						 bytea *body, const char *verdict)
{
	memset(row, 0, sizeof(*row));
	row->received_at = booking_call_hold_clock();
	row->verdict = verdict;
	row->state = "ignored";
	row->reason = event->problem;
	row->type = label_of(event->type);
	row->booking = label_of(event->booking);
	row->has_version = event->has_version;
	row->version = event->version;
	row->dedupe = dedupe_of(event, body);
	row->body = body;
}

/*
 * What makes a delivery the same as another: booking, type and version; of
 * those that only cause a reading, one at a time is enough; of what means
 * nothing here, its bytes.
 */
static text *
dedupe_of(const BookingWebhookEvent *event, const bytea *body)
{
	switch (event->meaning)
	{
		case BOOKING_WEBHOOK_IGNORED:
		case BOOKING_WEBHOOK_UNUSABLE:
			return booking_webhook_digest("unused", body);
		case BOOKING_WEBHOOK_READ:
			return cstring_to_text(psprintf("read\n%s", event->booking));
		case BOOKING_WEBHOOK_PENDING:
		case BOOKING_WEBHOOK_LIVE:
		case BOOKING_WEBHOOK_ENDED:
			return cstring_to_text(psprintf("%s\n" INT64_FORMAT "\n%s", event->type,
											event->version, event->booking));
	}
	return NULL;
}

/*
 * A body by its digest, under a word that begins no other kind of sameness.
 */
text *
booking_webhook_digest(const char *prefix, const bytea *body)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	char		hex[2 * PG_SHA256_DIGEST_LENGTH + 1];
	bool		ok = hash != NULL && pg_cryptohash_init(hash) >= 0 &&
		pg_cryptohash_update(hash, (const uint8 *) VARDATA_ANY(body),
							 VARSIZE_ANY_EXHDR(body)) >= 0 &&
		pg_cryptohash_final(hash, digest, sizeof(digest)) >= 0;

	pg_cryptohash_free(hash);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute a digest")));
	hex[hex_encode((const char *) digest, sizeof(digest), hex)] = '\0';
	return cstring_to_text(psprintf("%s\n%s", prefix, hex));
}

/*
 * A text from outside, NULL unless it is a label.
 */
static text *
label_of(const char *string)
{
	if (string == NULL ||
		booking_label_check(string, strlen(string), true) != BOOKING_LABEL_OK)
		return NULL;
	return cstring_to_text(string);
}

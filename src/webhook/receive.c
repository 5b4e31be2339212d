/*-------------------------------------------------------------------------
 *
 * receive.c
 *	  booking_webhook_receive
 *
 * One call for whoever has a request in hand: it verifies, stores, applies, and
 * says what to answer.  The caller answers after its commit, so a delivery that
 * was answered with success is stored.  What is verified and can never be used
 * is answered with success too: sent again it would be no better.
 *
 * The caller needs no binding to the source's tenant: EXECUTE on the function
 * lets it hand deliveries in, and the secret of the source says whose they are.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/receive.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "utils/builtins.h"

#include "codec/label.h"
#include "compat.h"
#include "ledger/args.h"
#include "ledger/count.h"
#include "webhook/apply.h"
#include "webhook/channel.h"
#include "webhook/verify.h"

PG_FUNCTION_INFO_V1(booking_webhook_receive);

static void receive(BookingCall *call, text *name,
					const BookingRawDelivery *raw, BookingReply *reply);
static void refuse(BookingCall *call, const BookingWebhookSource *source,
				   int status, const char *verdict, BookingReply *reply);
static void take(BookingCall *call, const BookingWebhookSource *source,
				 const BookingRawDelivery *raw, BookingReply *reply);
static int64 store(BookingCall *call, const BookingWebhookSource *source,
				   const BookingWebhookEvent *event, bytea *body,
				   BookingReply *reply);
static text *dedupe_of(const BookingWebhookEvent *event, const bytea *body);
static text *digest_of(const char *prefix, const bytea *body);
static text *label_of(const char *string);
static void apply(BookingCall *call, const BookingWebhookSource *source,
				  int64 delivery, const BookingWebhookEvent *event,
				  BookingReply *reply);
static void note_health(BookingCall *call, const BookingWebhookSource *source,
						const char *problem);

/*
 * booking_webhook_receive(source, headers, body, query) returns (status,
 * content_type, body, verdict)
 */
Datum
booking_webhook_receive(PG_FUNCTION_ARGS)
{
	BookingRawDelivery raw = {0};
	BookingReply reply = {0};
	BookingCall call;
	text	   *source;
	Datum		values[4];
	bool		nulls[4] = {false};

	booking_arg_require(fcinfo, 0, "source");
	booking_arg_require(fcinfo, 1, "headers");
	booking_arg_require(fcinfo, 2, "body");
	source = PG_GETARG_TEXT_PP(0);
	raw.headers = PG_GETARG_JSONB_P(1);
	raw.body = PG_GETARG_BYTEA_PP(2);
	raw.query = PG_ARGISNULL(3) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(3));
	booking_verify_headers(raw.headers);

	booking_call_begin(&call, fcinfo, true);
	receive(&call, source, &raw, &reply);
	values[0] = Int32GetDatum(reply.status);
	values[1] = CStringGetTextDatum("text/plain; charset=utf-8");
	values[2] = CStringGetTextDatum(reply.body);
	values[3] = CStringGetTextDatum(reply.verdict);
	return booking_call_return_row(&call, values, nulls);
}

/*
 * Verify a delivery, and go on with one that is from its source.
 */
static void
receive(BookingCall *call, text *name, const BookingRawDelivery *raw,
		BookingReply *reply)
{
	BookingWebhookSource source;
	const char *problem;

	if (!booking_store_webhook_source_read(name, &source) || source.removed)
	{
		if (!booking_channel_receive(call, name, raw, reply))
			*reply = (BookingReply) {404, "not found\n", "unknown_source"};
		return;
	}

	/* from here on it works for the tenant, whoever hands the delivery in */
	call->privileged = true;
	if (VARSIZE_ANY_EXHDR(raw->body) >
		booking_webhook_setting(source.settings, "max_bytes",
								BOOKING_WEBHOOK_BYTES))
	{
		refuse(call, &source, 413, "too_large", reply);
		return;
	}
	problem = booking_verify(&source, raw, booking_call_hold_clock());
	if (problem != NULL)
		refuse(call, &source, 401, problem, reply);
	else
		take(call, &source, raw, reply);
	booking_count_delivery(booking_count_digest(source.source), reply->verdict);
}

/*
 * Count a delivery that is not from its source, and keep nothing of it.
 */
static void
refuse(BookingCall *call, const BookingWebhookSource *source, int status,
	   const char *verdict, BookingReply *reply)
{
	*reply = (BookingReply) {status, status == 413 ? "too large\n" :
		"not verified\n", verdict};
	booking_store_webhook_count(source->source, verdict, call->now);
	note_health(call, source, verdict);
}

/*
 * A delivery about a booking: store it, and apply it if it is new.
 */
static void
take(BookingCall *call, const BookingWebhookSource *source,
	 const BookingRawDelivery *raw, BookingReply *reply)
{
	BookingWebhookEvent event;
	int64		delivery;

	booking_webhook_decode(source, raw->body, booking_webhook_arena(), &event);
	*reply = (BookingReply) {200, "ok\n", event.meaning == BOOKING_WEBHOOK_IGNORED ? "ignored" :
		event.meaning == BOOKING_WEBHOOK_UNUSABLE ? "unusable" : "accepted"};
	delivery = store(call, source, &event, raw->body, reply);
	if (delivery != 0)
		apply(call, source, delivery, &event, reply);
	else
		note_health(call, source, event.problem);
}

/*
 * Store a delivery and return its number, 0 for a copy that says nothing new.  A
 * copy with another body is kept as evidence: what came first counts.  Nothing
 * is kept twice, since what does not have the time in its signature can be
 * repeated for ever by whoever has seen it once.
 */
static int64
store(BookingCall *call, const BookingWebhookSource *source,
	  const BookingWebhookEvent *event, bytea *body, BookingReply *reply)
{
	BookingDelivery row = {0};
	int64		delivery;

	row.received_at = booking_call_hold_clock();
	row.verdict = reply->verdict;
	row.state = "ignored";
	row.reason = event->problem;
	row.type = label_of(event->type);
	row.booking = label_of(event->booking);
	row.has_version = event->has_version;
	row.version = event->version;
	row.dedupe = dedupe_of(event, body);
	row.body = body;
	delivery = booking_store_inbox_insert(source, &row);
	if (delivery != 0)
		return delivery;
	if (event->meaning != BOOKING_WEBHOOK_IGNORED &&
		event->meaning != BOOKING_WEBHOOK_UNUSABLE)
		reply->verdict = "duplicate";
	if (booking_store_inbox_same(source->source, row.dedupe, body, &delivery) ||
		event->meaning == BOOKING_WEBHOOK_READ)
		return event->meaning == BOOKING_WEBHOOK_READ &&
			booking_webhook_by_calendar(source) ? delivery : 0;
	row.verdict = "duplicate";
	row.reason = "altered_copy";
	row.dedupe = digest_of("altered", body);
	if (booking_store_inbox_insert(source, &row) == 0)
		(void) booking_store_inbox_same(source->source, row.dedupe, body, &delivery);
	return 0;
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
			return digest_of("unused", body);
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
static text *
digest_of(const char *prefix, const bytea *body)
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

/*
 * Apply a stored delivery, and record what became of it.
 */
static void
apply(BookingCall *call, const BookingWebhookSource *source, int64 delivery,
	  const BookingWebhookEvent *event, BookingReply *reply)
{
	BookingApplied outcome;

	booking_apply(call, source, event, BOOKING_APPLY_NEW, &outcome);
	booking_apply_record(call, source, delivery, 0, &outcome);
	if (outcome.late)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("a booking that was canceled is not made again"),
				 errdetail("It is delivery %lld of booking.inbox.",
						   (long long) delivery)));
	note_health(call, source, outcome.failed ? outcome.reason :
				strcmp(reply->verdict, "unusable") == 0 ? event->problem : NULL);
}

/*
 * Note whether a delivery failed, and raise the alarm when the first, the fifth
 * and the twentieth in a row has.
 */
static void
note_health(BookingCall *call, const BookingWebhookSource *source,
			const char *problem)
{
	int32		failures;

	if (problem == NULL)
	{
		if (source->failures > 0)
			booking_store_webhook_source_works(source->source);
		return;
	}
	failures = booking_store_webhook_source_failed(source->source, problem,
												   call->now);
	if (failures == 1 || failures == 5 || failures == 20)
		ereport(LOG,
				(errmsg("deliveries of a webhook source fail"),
				 errdetail("Tenant \"%s\", source \"%s\": %d in a row, the last one with %s.",
						   text_to_cstring(source->tenant),
						   text_to_cstring(source->source), failures, problem)));
}

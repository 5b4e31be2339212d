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

#include "utils/builtins.h"

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
static void apply(BookingCall *call, const BookingWebhookSource *source,
				  int64 delivery, const BookingWebhookEvent *event,
				  BookingReply *reply);

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
	booking_webhook_note_health(call, source, verdict);
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
		booking_webhook_note_health(call, source, event.problem);
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
	BookingDelivery row;
	int64		delivery;

	booking_webhook_fill_row(&row, event, body, reply->verdict);
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
	row.dedupe = booking_webhook_digest("altered", body);
	if (booking_store_inbox_insert(source, &row) == 0)
		(void) booking_store_inbox_same(source->source, row.dedupe, body, &delivery);
	return 0;
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
	booking_webhook_note_health(call, source, outcome.failed ? outcome.reason :
				strcmp(reply->verdict, "unusable") == 0 ? event->problem : NULL);
}

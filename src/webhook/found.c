/*-------------------------------------------------------------------------
 *
 * found.c
 *	  bookings that a source told when it was asked
 *
 * A listing tells the same again and again, and mostly what deliveries told
 * before.  What they did not tell is stored and applied as a delivery would have
 * been, under the same key, so that one that comes late after all is a copy.
 * What is known leaves no trace.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/found.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "webhook/apply.h"

static bool is_news(const BookingWebhookSource *source,
					const BookingWebhookEvent *event, text *dedupe);

/*
 * Take a booking as the source would have delivered it; returns whether it was
 * news.
 */
bool
booking_webhook_found(BookingCall *call, const BookingWebhookSource *source,
					  const char *data)
{
	bytea	   *body = (bytea *) cstring_to_text(data);
	BookingWebhookEvent event;
	BookingDelivery row;
	BookingApplied outcome;
	int64		delivery;

	booking_webhook_decode(source, body, booking_webhook_arena(), &event);
	if (event.meaning == BOOKING_WEBHOOK_IGNORED ||
		event.meaning == BOOKING_WEBHOOK_PENDING)
		return false;
	booking_webhook_fill_row(&row, &event, body, "found");
	if (!is_news(source, &event, row.dedupe))
		return false;
	delivery = booking_store_inbox_insert(source, &row);
	if (delivery == 0)
		return false;
	booking_apply(call, source, &event, BOOKING_APPLY_NEW, &outcome);
	booking_apply_record(call, source, delivery, 0, &outcome);
	booking_webhook_note_health(call, source, outcome.failed ? outcome.reason :
								event.problem);
	return true;
}

/*
 * Does a booking say what no delivery did?  One that has ended says nothing any
 * more, and neither does a version that is not newer.
 */
static bool
is_news(const BookingWebhookSource *source, const BookingWebhookEvent *event,
		text *dedupe)
{
	BookingWebhookBooking known;

	if (booking_store_inbox_knows(source->source, dedupe))
		return false;
	if (event->booking == NULL ||
		!booking_store_webhook_booking_read(source->source,
											cstring_to_text(event->booking),
											&known))
		return true;
	return strcmp(known.state, "ended") != 0 &&
		(event->meaning == BOOKING_WEBHOOK_ENDED ||
		 event->version > known.version);
}

/*
 * Apply an appointment that was read because a delivery told that it has
 * changed; false if that was done meanwhile, by somebody else.
 */
bool
booking_webhook_read(BookingCall *call, const BookingWebhookSource *source,
					 int64 number, BookingWebhookEvent *event)
{
	BookingDelivery delivery;
	BookingApplied outcome;
	text	   *owner;

	if (!booking_store_inbox_read(number, &owner, &delivery) ||
		strcmp(delivery.state, "read_wanted") != 0)
		return false;
	if (event->meaning == BOOKING_WEBHOOK_UNUSABLE ||
		!booking_webhook_can_store(event))
	{
		memset(&outcome, 0, sizeof(outcome));
		outcome.state = "failed";
		outcome.reason = event->problem != NULL ? event->problem : "encoding";
		outcome.failed = true;
	}
	else
	{
		/* of two readings that of the later delivery counts */
		event->has_version = true;
		event->version = number;
		booking_apply(call, source, event, BOOKING_APPLY_NEW, &outcome);
	}
	booking_apply_record(call, source, number, delivery.tries, &outcome);
	booking_webhook_note_health(call, source, outcome.failed ? outcome.reason : NULL);
	return true;
}

/*-------------------------------------------------------------------------
 *
 * apply.h
 *	  bringing what a delivery says about through the ledger
 *
 * IDENTIFICATION
 *	  booking/src/webhook/apply.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_APPLY_H
#define BOOKING_APPLY_H

#include "codec/webhook_event.h"
#include "ledger/call.h"
#include "store/webhook.h"

/* how a delivery comes to be applied */
typedef enum BookingApplyMode
{
	BOOKING_APPLY_NEW,			/* now, or as soon as it can be */
	BOOKING_APPLY_AGAIN,		/* by a replay */
	BOOKING_APPLY_COUNTED		/* by a replay, and it was applied before */
} BookingApplyMode;

/* what became of a delivery */
typedef struct BookingApplied
{
	const char *state;			/* see booking.inbox */
	const char *reason;			/* NULL: nothing to explain */
	bool		failed;			/* nothing was changed */
	bool		again;			/* and it is worth trying again */
	bool		changed;		/* the booking is not as it was */
	bool		late;			/* a creation that came after the cancel */
} BookingApplied;

extern void booking_apply(BookingCall *call,
						  const BookingWebhookSource *source,
						  const BookingWebhookEvent *event,
						  BookingApplyMode mode, BookingApplied *outcome);
extern void booking_apply_release(BookingCall *call,
								  const BookingWebhookSource *source,
								  text *booking, BookingApplied *outcome);
extern void booking_apply_record(BookingCall *call,
								 const BookingWebhookSource *source,
								 int64 delivery, int32 tries,
								 const BookingApplied *outcome);

/* decode.c */
extern void booking_webhook_decode(const BookingWebhookSource *source,
								   const bytea *body, BookingArena *arena,
								   BookingWebhookEvent *event);
extern bool booking_webhook_can_store(const BookingWebhookEvent *event);
extern BookingArena *booking_webhook_arena(void);

/* delivery.c */
extern void booking_webhook_fill_row(BookingDelivery *row,
									 const BookingWebhookEvent *event,
									 bytea *body, const char *verdict);
extern text *booking_webhook_digest(const char *prefix, const bytea *body);

/* found.c */
extern bool booking_webhook_found(BookingCall *call,
								  const BookingWebhookSource *source,
								  const char *data);
extern bool booking_webhook_read(BookingCall *call,
								 const BookingWebhookSource *source,
								 int64 number, BookingWebhookEvent *event);

/* health.c */
extern void booking_webhook_note_health(BookingCall *call,
										const BookingWebhookSource *source,
										const char *problem);
extern void booking_webhook_alarm(BookingCall *call,
								  const BookingWebhookSource *source,
								  const char *what, int32 failures,
								  const char *problem);

/* replay.c */
extern void booking_webhook_settle(BookingCall *call, int limit);

#endif							/* BOOKING_APPLY_H */

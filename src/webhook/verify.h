/*-------------------------------------------------------------------------
 *
 * verify.h
 *	  is a delivery from its source?
 *
 * IDENTIFICATION
 *	  booking/src/webhook/verify.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_VERIFY_H
#define BOOKING_VERIFY_H

#include "codec/webhook_event.h"
#include "store/webhook.h"

/* a delivery as it came */
typedef struct BookingRawDelivery
{
	Jsonb	   *headers;
	bytea	   *body;
	const char *query;			/* "" if there is none */
	int			nnotes;			/* of Microsoft Graph, see verify.c */
	const BookingWebhookNote *notes;
} BookingRawDelivery;

extern void booking_verify_headers(Jsonb *headers);
extern int	booking_verify_header(const BookingRawDelivery *raw,
								  const char *name, char **value);
extern const char *booking_verify(const BookingWebhookSource *source,
								  BookingRawDelivery *raw,
								  BookingArena *arena, TimestampTz now);
extern char *booking_verify_seal_context(const text *source);
extern bool booking_verify_equal(const char *a, const char *b);
extern int64 booking_webhook_setting(const Jsonb *settings, const char *key,
									 int64 otherwise);

#endif							/* BOOKING_VERIFY_H */

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

#include "store/webhook.h"

/* of a body, unless the source says something else */
#define BOOKING_WEBHOOK_BYTES (1024 * 1024)

/* a delivery as it came */
typedef struct BookingRawDelivery
{
	Jsonb	   *headers;
	bytea	   *body;
	const char *query;			/* "" if there is none */
} BookingRawDelivery;

/* what is answered */
typedef struct BookingReply
{
	int			status;
	const char *body;
	const char *verdict;
} BookingReply;

extern void booking_verify_headers(Jsonb *headers);
extern int	booking_verify_header(const BookingRawDelivery *raw,
								  const char *name, char **value);
extern const char *booking_verify_one_header(const BookingRawDelivery *raw,
											 const char *name, char **value);
extern const char *booking_verify(const BookingWebhookSource *source,
								  const BookingRawDelivery *raw,
								  TimestampTz now);
extern char *booking_verify_seal_context(const text *source);
extern bool booking_verify_equal(const char *a, const char *b);
extern int64 booking_webhook_setting(const Jsonb *settings, const char *key,
									 int64 otherwise);
extern bool booking_webhook_by_calendar(const BookingWebhookSource *source);

#endif							/* BOOKING_VERIFY_H */

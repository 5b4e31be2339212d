/*-------------------------------------------------------------------------
 *
 * source.h
 *	  sources of deliveries, as their administrators name them
 *
 * IDENTIFICATION
 *	  booking/src/webhook/source.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_SOURCE_H
#define BOOKING_WEBHOOK_SOURCE_H

#include "ledger/call.h"
#include "store/webhook.h"

extern void booking_webhook_demand_source(const BookingCall *call, text *name,
										  BookingWebhookSource *source);
extern void booking_webhook_audit(const BookingCall *call, const char *action,
								  const BookingWebhookSource *source);

#endif							/* BOOKING_WEBHOOK_SOURCE_H */

/*-------------------------------------------------------------------------
 *
 * channel.h
 *	  what providers tell of changes in calendars
 *
 * IDENTIFICATION
 *	  booking/src/webhook/channel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_CHANNEL_H
#define BOOKING_WEBHOOK_CHANNEL_H

#include "ledger/call.h"
#include "webhook/verify.h"

extern bool booking_channel_receive(BookingCall *call, text *name,
									const BookingRawDelivery *raw,
									BookingReply *reply);

/* what the secret of a channel is bound to when it is sealed */
extern char *booking_channel_seal_context(const char *channel);

#endif							/* BOOKING_WEBHOOK_CHANNEL_H */

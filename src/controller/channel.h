/*-------------------------------------------------------------------------
 *
 * channel.h
 *	  channels by which providers tell that a calendar has changed
 *
 * IDENTIFICATION
 *	  booking/src/controller/channel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CHANNEL_H
#define BOOKING_CHANNEL_H

#include "ledger/call.h"
#include "store/channel.h"

/* what a channel may tell */
typedef enum BookingRing
{
	BOOKING_RING_CHANGED,		/* something in the calendar, or was missed */
	BOOKING_RING_RENEW,			/* it wants to be renewed before its time */
	BOOKING_RING_LOST			/* the provider has dropped it */
} BookingRing;

/*
 * For whoever receives what is delivered: find the channel that it names by
 * booking_store_channel_find(), see that the secret that came with it is that of
 * booking_channel_secret(), in constant time, and let it ring.
 */
extern char *booking_channel_secret(const BookingChannel *channel);
extern void booking_channel_ring(const BookingChannel *channel,
								 BookingRing what);

/* for the worker */
extern void booking_channel_lease(BookingCall *call);
extern bool booking_channel_next_due(TimestampTz *next_at);

#endif							/* BOOKING_CHANNEL_H */

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

extern void booking_channel_lease(BookingCall *call);
extern bool booking_channel_next_due(TimestampTz *next_at);

#endif							/* BOOKING_CHANNEL_H */

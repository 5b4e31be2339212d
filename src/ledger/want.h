/*-------------------------------------------------------------------------
 *
 * want.h
 *	  what the ledger wants of a provider
 *
 * IDENTIFICATION
 *	  booking/src/ledger/want.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WANT_H
#define BOOKING_WANT_H

#include "ledger/call.h"

extern void booking_want_create(const BookingCall *call,
								const BookingIdentity *identity,
								int64 intent_id, text *calendar);
extern bool booking_want_update(const BookingCall *call, int64 intent_id,
								int64 predecessor_id, const text *calendar);
extern const char *booking_want_cancel(const BookingCall *call,
									   const BookingIntent *intent);
extern bool booking_want_pending(int64 intent_id);
extern bool booking_want_same_calendar(int64 predecessor_id,
									   const text *calendar);

#endif							/* BOOKING_WANT_H */

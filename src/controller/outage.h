/*-------------------------------------------------------------------------
 *
 * outage.h
 *	  accounts whose server does not answer
 *
 * IDENTIFICATION
 *	  booking/src/controller/outage.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_OUTAGE_H
#define BOOKING_OUTAGE_H

#include "ledger/call.h"
#include "provider/provider.h"

extern void booking_outage_failed(const BookingCall *call, const char *account_key,
								  int64 who);
extern void booking_outage_unread(const BookingCall *call, const char *account_key,
								  int64 calendar_id,
								  const BookingPullResult *result);
extern void booking_outage_block(const BookingCall *call,
								 const char *account_key, int64 seconds,
								 const char *problem);
extern void booking_outage_over(const char *account_key);
extern bool booking_outage_lasts(const char *account_key);

#endif							/* BOOKING_OUTAGE_H */

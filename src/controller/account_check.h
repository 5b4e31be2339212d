/*-------------------------------------------------------------------------
 *
 * account_check.h
 *	  account checks that are under way
 *
 * IDENTIFICATION
 *	  booking/src/controller/account_check.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ACCOUNT_CHECK_H
#define BOOKING_ACCOUNT_CHECK_H

#include "ledger/call.h"
#include "net/http.h"

extern void booking_account_check_init(BookingHttpEngine *engine);
extern void booking_account_check_lease(BookingCall *call);
extern void booking_account_check_start(void);
extern bool booking_account_check_finished(void);
extern void booking_account_check_record(BookingCall *call);

#endif							/* BOOKING_ACCOUNT_CHECK_H */

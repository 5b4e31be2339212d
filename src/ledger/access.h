/*-------------------------------------------------------------------------
 *
 * access.h
 *	  which database role may act for which tenant
 *
 * IDENTIFICATION
 *	  booking/src/ledger/access.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ACCESS_H
#define BOOKING_ACCESS_H

#include "compat.h"
#include "ledger/call.h"

extern bool booking_access_bound(const BookingCall *call, text *tenant);
extern void booking_access_demand(const BookingCall *call, text *tenant);
extern void booking_access_demand_owner(const BookingCall *call);
extern int	booking_access_executing_roles(const BookingCall *call,
										   text *tenant);
pg_noreturn extern void booking_access_raise_denied(void);

#endif							/* BOOKING_ACCESS_H */

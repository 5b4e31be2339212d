/*-------------------------------------------------------------------------
 *
 * site.h
 *	  which database may write to providers, and the ids of its events
 *
 * IDENTIFICATION
 *	  booking/src/ledger/site.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SITE_H
#define BOOKING_SITE_H

#include "postgres.h"

#include "store/account.h"

extern void booking_site_arm(TimestampTz now, bool again);
extern bool booking_site_known(void);
extern const char *booking_site_disarmed(void);
extern char *booking_site_event_id(const BookingIdentity *identity,
								   const text *calendar, int32 generation);

#endif							/* BOOKING_SITE_H */

/*-------------------------------------------------------------------------
 *
 * pull.h
 *	  rounds of synchronization that are under way
 *
 * IDENTIFICATION
 *	  booking/src/controller/pull.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PULL_H
#define BOOKING_PULL_H

#include "controller/session.h"
#include "net/http.h"

extern void booking_pull_init(BookingHttpEngine *engine);
extern void booking_pull_lease(BookingCall *call);
extern void booking_pull_forget(void);
extern void booking_pull_start(void);
extern void booking_pull_work(bool go_on);
extern bool booking_pull_ready(void);
extern bool booking_pull_contended(void);
extern int	booking_pull_in_flight(void);
extern bool booking_pull_next_due(TimestampTz *next_at);

#endif							/* BOOKING_PULL_H */

/*-------------------------------------------------------------------------
 *
 * delivery.h
 *	  sending changes to subscribers
 *
 * IDENTIFICATION
 *	  booking/src/controller/delivery.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONTROLLER_DELIVERY_H
#define BOOKING_CONTROLLER_DELIVERY_H

#include "controller/session.h"
#include "net/http.h"

extern void booking_delivery_init(BookingHttpEngine *engine);
extern void booking_delivery_work(bool may_send);
extern void booking_delivery_start(void);
extern void booking_delivery_forget(void);
extern bool booking_delivery_finished(void);
extern int	booking_delivery_in_flight(void);
extern bool booking_delivery_next_due(TimestampTz *next_at);

#endif							/* BOOKING_CONTROLLER_DELIVERY_H */

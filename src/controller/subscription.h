/*-------------------------------------------------------------------------
 *
 * subscription.h
 *	  who is sent the changes of a tenant
 *
 * IDENTIFICATION
 *	  booking/src/controller/subscription.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONTROLLER_SUBSCRIPTION_H
#define BOOKING_CONTROLLER_SUBSCRIPTION_H

#include "store/subscription.h"

extern char *booking_subscription_seal_context(int64 subscription_id);
extern void booking_subscription_unfeed(const BookingSubscription *subscription);

#endif							/* BOOKING_CONTROLLER_SUBSCRIPTION_H */

/*-------------------------------------------------------------------------
 *
 * delivery.h
 *	  what becomes of a delivery to a subscriber
 *
 * IDENTIFICATION
 *	  booking/src/codec/delivery.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DELIVERY_H
#define BOOKING_DELIVERY_H

#include "codec/exchange.h"

typedef enum BookingDeliveryVerdict
{
	BOOKING_DELIVERY_ACCEPTED,
	BOOKING_DELIVERY_FAILED,	/* may be tried again */
	BOOKING_DELIVERY_GONE		/* the subscriber wants no more of them */
} BookingDeliveryVerdict;

/* requests of a subscriber that fail in a row until its circuit is open */
#define BOOKING_CIRCUIT_FAILURES 5

/* seconds; of a delivery, and of a circuit */
#define BOOKING_DELIVERY_FIRST_SECS 5
#define BOOKING_CIRCUIT_FIRST_SECS 30
#define BOOKING_DELIVERY_LAST_SECS 3600

/*
 * Judge an answer; problem is a word of ours, NULL if it was accepted.  Only a
 * 2xx status accepts (Standard Webhooks), whatever its body.
 */
extern BookingDeliveryVerdict booking_delivery_judge(const BookingHttpResponse *response,
													 const char **problem);

/*
 * Microseconds to wait after so many failures: first seconds, doubled with each
 * further one up to the last, of which a random part between half and all is
 * taken.
 */
extern int64 booking_delivery_pause(int first, int failures, uint32 random);

#endif							/* BOOKING_DELIVERY_H */

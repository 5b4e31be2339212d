/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  limits of requests, from the settings
 *
 * IDENTIFICATION
 *	  booking/src/controller/limits.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LIMITS_H
#define BOOKING_LIMITS_H

#include "net/http.h"

extern const BookingHttpLimits *booking_http_limits(void);
extern const BookingHttpLimits *booking_http_limits_shared(void);

#endif							/* BOOKING_LIMITS_H */

/*-------------------------------------------------------------------------
 *
 * reading.h
 *	  asking senders of deliveries for their bookings
 *
 * IDENTIFICATION
 *	  booking/src/controller/reading.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_READING_H
#define BOOKING_READING_H

#include "controller/session.h"

extern void booking_reading_lease(BookingCall *call);
extern bool booking_reading_next_due(TimestampTz *next_at);

/* reader.c */
extern char *booking_reading_seal_context(const char *source,
										  const char *base_url);

#endif							/* BOOKING_READING_H */

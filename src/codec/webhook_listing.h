/*-------------------------------------------------------------------------
 *
 * webhook_listing.h
 *	  pages of bookings, for webhook_reading.c
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_listing.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_LISTING_H
#define BOOKING_WEBHOOK_LISTING_H

#include "codec/buffer.h"
#include "codec/json_read.h"
#include "codec/webhook_reading.h"

/* a member that is a string or a number, as text; else NULL */
extern const char *booking_listing_scalar(const BookingJson *json,
										  const char *name);

/* add a text, percent-encoded, to a URL */
extern void booking_listing_add_encoded(BookingBuffer *url, const char *text);

/* the rest of a URL; false if the position is not ours */
extern bool booking_listing_calcom_url(const BookingReading *reading,
									   BookingBuffer *url);
extern bool booking_listing_calendly_url(const BookingReading *reading,
										 BookingArena *arena,
										 BookingBuffer *url);

/* read a page */
extern void booking_listing_calcom(const BookingReading *reading,
								   const BookingJson *json,
								   BookingArena *arena,
								   BookingReadingAnswer *answer);
extern void booking_listing_calendly(const BookingReading *reading,
									 const BookingJson *json,
									 BookingArena *arena,
									 BookingReadingAnswer *answer);

#endif							/* BOOKING_WEBHOOK_LISTING_H */

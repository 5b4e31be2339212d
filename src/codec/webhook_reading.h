/*-------------------------------------------------------------------------
 *
 * webhook_reading.h
 *	  what senders of deliveries tell when they are asked
 *
 * Acuity is asked for an appointment that a delivery named; Cal.com and Calendly
 * for their bookings that changed lately, page by page, so that a delivery that
 * never came is found.  A page gives bodies as the sender would have delivered
 * them, so that there is one way to understand both.
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_reading.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_READING_H
#define BOOKING_WEBHOOK_READING_H

#include "codec/exchange.h"
#include "codec/webhook_event.h"

/* bookings that are asked for at a time, and invitees of one */
#define BOOKING_READING_PAGE 50
#define BOOKING_READING_INVITEES 100

/* bytes of a position */
#define BOOKING_READING_POSITION (256 * 1024)

typedef enum BookingReadingSender
{
	BOOKING_READING_NOBODY,		/* there is nothing to ask */
	BOOKING_READING_ACUITY,
	BOOKING_READING_CALCOM,
	BOOKING_READING_CALENDLY
} BookingReadingSender;

/* what is asked */
typedef struct BookingReading
{
	BookingReadingSender sender;
	const char *base_url;
	const char *booking;		/* of Acuity, the appointment */
	bool		organization;	/* of Calendly, all its bookings */
	int64		since;			/* changed from then on; microseconds from 1970 */
	const char *position;		/* that the last page gave; NULL: the first */
} BookingReading;

/* one page that was answered */
typedef struct BookingReadingAnswer
{
	const char *problem;		/* a word; NULL: it was understood */
	int			count;
	const char **bodies;
	const char *position;		/* of the next page; NULL: that was the last */
} BookingReadingAnswer;

/* the sender of a kind of source, and where it answers; NULL: nowhere */
extern BookingReadingSender booking_reading_sender(const char *kind);
extern const char *booking_reading_base_url(BookingReadingSender sender);

/* build a request; false when memory is short or the position is not ours */
extern bool booking_reading_request(const BookingReading *reading,
									BookingArena *arena,
									BookingHttpRequest *request);

/* read a page of Cal.com or Calendly */
extern void booking_reading_page(const BookingReading *reading,
								 const char *data, size_t len,
								 BookingArena *arena,
								 BookingReadingAnswer *answer);

/*
 * Read an appointment of Acuity, without a version; unusable if it is none, or
 * another one.
 */
extern void booking_reading_appointment(const BookingReading *reading,
										const char *data, size_t len,
										BookingArena *arena,
										BookingWebhookEvent *event);

/* does the body of an answer 404 say that there is no such appointment? */
extern bool booking_reading_gone(const char *data, size_t len,
								 BookingArena *arena);

#endif							/* BOOKING_WEBHOOK_READING_H */

/*-------------------------------------------------------------------------
 *
 * conference.h
 *	  where to take part in the conferences of bookings
 *
 * IDENTIFICATION
 *	  booking/src/controller/conference.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONFERENCE_H
#define BOOKING_CONFERENCE_H

#include "controller/session.h"
#include "provider/provider.h"
#include "store/operation.h"

extern bool booking_conference_told(const BookingOutcome *outcome);
extern Jsonb *booking_conference_note(BookingCall *call,
									  const BookingOperation *operation,
									  const BookingOutcome *outcome);
extern void booking_conference_lease(BookingCall *call);
extern bool booking_conference_next_due(TimestampTz *next_at);

#endif							/* BOOKING_CONFERENCE_H */

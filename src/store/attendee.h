/*-------------------------------------------------------------------------
 *
 * attendee.h
 *	  whom others invited to our events, or took off them
 *
 * IDENTIFICATION
 *	  booking/src/store/attendee.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ATTENDEE_STORE_H
#define BOOKING_ATTENDEE_STORE_H

#include "store/busy.h"

extern bool booking_store_attendees_changed(int64 intent_id,
											const int64 *known, int nknown,
											BookingBusyEvent *change);
extern Jsonb *booking_store_attendees_accepted(int64 operation_id);

#endif							/* BOOKING_ATTENDEE_STORE_H */

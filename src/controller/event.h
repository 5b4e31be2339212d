/*-------------------------------------------------------------------------
 *
 * event.h
 *	  the event that a booking wants
 *
 * IDENTIFICATION
 *	  booking/src/controller/event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WANTED_EVENT_H
#define BOOKING_WANTED_EVENT_H

#include "codec/event.h"
#include "store/operation.h"

extern bool booking_wanted_event(const BookingLease *lease, BookingArena *arena,
								 BookingEvent *event);
extern bool booking_event_attendees(JsonbContainer *array,
									BookingArena *arena, BookingEvent *event);
extern int64 booking_unix_microseconds(TimestampTz instant);

#endif							/* BOOKING_WANTED_EVENT_H */

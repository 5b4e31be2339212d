/*-------------------------------------------------------------------------
 *
 * match.h
 *	  is the event at the provider the one that we mean?
 *
 * IDENTIFICATION
 *	  booking/src/provider/match.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_MATCH_H
#define BOOKING_MATCH_H

#include "codec/event.h"

extern bool booking_match_ours(const BookingEvent *event, const char *id);
extern bool booking_match_interval(const BookingEvent *a,
								   const BookingEvent *b);
extern bool booking_match_material(const BookingEvent *wanted,
								   const BookingEvent *found);
extern bool booking_match_update(const BookingEvent *wanted,
								 const BookingEvent *previous,
								 const BookingEvent *found);

#endif							/* BOOKING_MATCH_H */

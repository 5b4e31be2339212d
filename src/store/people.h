/*-------------------------------------------------------------------------
 *
 * people.h
 *	  attendees whose calendars are not synchronized
 *
 * IDENTIFICATION
 *	  booking/src/store/people.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PEOPLE_STORE_H
#define BOOKING_PEOPLE_STORE_H

#include "store/operation.h"

extern char **booking_store_people_to_ask(const BookingOperation *operation,
										  Jsonb *terms, int *count);
extern int64 *booking_store_people_told(int64 intent_id, int *count);
extern void booking_store_people_tell(int64 operation_id, const int64 *told,
									  int ntold);

#endif							/* BOOKING_PEOPLE_STORE_H */

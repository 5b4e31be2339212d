/*-------------------------------------------------------------------------
 *
 * people.h
 *	  asking when attendees are busy whose calendars are not synchronized
 *
 * IDENTIFICATION
 *	  booking/src/controller/people.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PEOPLE_H
#define BOOKING_PEOPLE_H

#include "controller/fresh.h"
#include "net/http.h"
#include "store/operation.h"

/* a question about some people, and what was answered */
typedef struct BookingQuestion BookingQuestion;

/* what came of the wish to ask */
typedef enum BookingAsking
{
	BOOKING_ASKING_NOBODY,		/* there is nobody to be asked about */
	BOOKING_ASKING_LATER,		/* the account takes no more for now */
	BOOKING_ASKING_READY		/* booking_people_start() sends it */
} BookingAsking;

extern void booking_people_init(BookingHttpEngine *engine);
extern bool booking_people_concern(const BookingLease *lease);
extern BookingAsking booking_people_ask(BookingCall *call,
										const BookingLease *lease,
										BookingQuestion **question);
extern void booking_people_start(BookingQuestion *question);
extern bool booking_people_answered(const BookingQuestion *question);
extern void booking_people_forget(BookingQuestion *question);
extern void booking_people_judge(BookingCall *call, const BookingLease *lease,
								 const BookingIdentity *identity,
								 BookingQuestion *question,
								 BookingFreshVerdict *verdict);

#endif							/* BOOKING_PEOPLE_H */

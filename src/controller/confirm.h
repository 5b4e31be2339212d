/*-------------------------------------------------------------------------
 *
 * confirm.h
 *	  recording together what needs nothing but to be put down
 *
 * IDENTIFICATION
 *	  booking/src/controller/confirm.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONFIRM_H
#define BOOKING_CONFIRM_H

#include "controller/dispatch.h"
#include "store/batch.h"
#include "store/operation.h"

/* outcomes, in the order of operation numbers, whose intents are locked */
typedef struct BookingConfirmWork
{
	BookingDispatch **dispatches;
	int			count;
	bool	   *recorded;		/* one for each: it was of that kind */
} BookingConfirmWork;

extern void booking_confirm_items(BookingCall *call, void *arg);
extern BookingAttempt booking_confirm_attempt(const BookingDispatch *dispatch);
extern void booking_confirm_account(const BookingCall *call,
									const BookingOperation *operation,
									BookingDispatch *dispatch);

#endif							/* BOOKING_CONFIRM_H */

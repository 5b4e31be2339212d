/*-------------------------------------------------------------------------
 *
 * cancel.h
 *	  cancels within a call
 *
 * IDENTIFICATION
 *	  booking/src/ledger/cancel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CANCEL_H
#define BOOKING_CANCEL_H

#include "ledger/call.h"

/*
 * A cancel by identity alone within a call that has begun, for what decides
 * more than a cancel in one transaction.
 */
extern void booking_cancel_within(BookingCall *call,
								  const BookingIdentity *identity,
								  Jsonb *evidence, BookingResult *result);

#endif							/* BOOKING_CANCEL_H */

/*-------------------------------------------------------------------------
 *
 * prepare.h
 *	  everything that an operation needs while no transaction is there
 *
 * IDENTIFICATION
 *	  booking/src/controller/prepare.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PREPARE_H
#define BOOKING_PREPARE_H

#include "controller/dispatch.h"
#include "store/operation.h"

extern BookingDispatch *booking_prepare_dispatch(BookingCall *call,
												 const BookingLease *lease,
												 bool lookup);

#endif							/* BOOKING_PREPARE_H */

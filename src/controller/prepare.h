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
#include "store/batch.h"
#include "store/operation.h"

extern BookingDispatch *booking_prepare_dispatch(BookingCall *call,
												 const BookingLease *lease,
												 bool lookup);
extern void booking_prepare_record(const BookingLease *lease,
								   BookingDispatch *dispatch,
								   BookingBatch *batch);
extern void booking_prepare_change(const BookingOperation *operation,
								   const char *state,
								   BookingOperationChange *change);
extern bool booking_prepare_unwanted(const BookingLease *lease);
extern bool booking_prepare_unread(const BookingOperation *operation);

#endif							/* BOOKING_PREPARE_H */

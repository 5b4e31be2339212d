/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  the worker's statements on many operations at once
 *
 * IDENTIFICATION
 *	  booking/src/store/batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_BATCH_H
#define BOOKING_BATCH_H

#include "store/operation.h"
#include "store/store.h"

/* a line of evidence */
typedef struct BookingAttempt
{
	int64		operation_id;
	int32		epoch;
	const char *phase;
	const char *mark;
	int			status;			/* 0: none */
	const char *problem;
	const char *message;
} BookingAttempt;

/*
 * Rows to be written together.  Role and time are those of the batch; receipt
 * and successor of an intent do not change here.
 */
typedef struct BookingBatch
{
	int			nchanges;
	BookingOperationChange *changes;
	int			nattempts;
	BookingAttempt *attempts;
	int			nintents;
	BookingIntentChange *intents;
} BookingBatch;

extern BookingBatch *booking_batch_create(int room);
extern void booking_batch_write(const BookingBatch *batch, text *role,
								TimestampTz now);

#endif							/* BOOKING_BATCH_H */

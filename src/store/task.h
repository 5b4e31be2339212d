/*-------------------------------------------------------------------------
 *
 * task.h
 *	  statements on booking.task
 *
 * IDENTIFICATION
 *	  booking/src/store/task.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_TASK_H
#define BOOKING_TASK_H

#include "store/record.h"

/* a row of booking.task */
typedef struct BookingTask
{
	int64		task_id;
	int64		intent_id;
	int64		before;			/* microseconds */
	TimestampTz start_at;
	TimestampTz due_at;
	text	   *task;
	text	   *state;
	Jsonb	   *payload;
} BookingTask;

/* what may be taken: a task and whose it is */
typedef struct BookingTaskDue
{
	int64		task_id;
	int64		intent_id;
	TimestampTz due_at;
	BookingIdentity identity;
} BookingTaskDue;

/* gets the columns of booking_task of one row; valid during the call */
typedef void (*BookingTaskReport) (void *arg, Datum *columns, bool *nulls);

#define BOOKING_TASK_COLUMNS 10

extern BookingTask *booking_store_task_read(int64 intent_id, text *task);
extern void booking_store_task_insert(const BookingTask *task, text *tenant,
									  TimestampTz now);
extern void booking_store_task_replace(const BookingTask *task);
extern void booking_store_task_follow(int64 intent_id);
extern void booking_store_task_move(int64 intent_id, TimestampTz start);
extern BookingTaskDue *booking_store_tasks_due(text *tenant, TimestampTz now,
											   const BookingTaskDue *after,
											   int limit, int *count);
extern bool booking_store_task_lease(const BookingTaskDue *due, int64 lease,
									 TimestampTz now, TimestampTz until,
									 BookingTaskReport report, void *arg);
extern bool booking_store_task_done(const BookingIdentity *identity,
									text *task, int64 lease, TimestampTz now);

#endif							/* BOOKING_TASK_H */

/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  running the statements of the store
 *
 * IDENTIFICATION
 *	  booking/src/store/plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PLAN_H
#define BOOKING_PLAN_H

#include "executor/spi.h"

#define BOOKING_PLAN_MAX_ARGS 27

/*
 * One statement.  The plan is made at the first use in a backend and kept;
 * the types end at the first InvalidOid.
 */
typedef struct BookingPlan
{
	const char *sql;
	Oid			types[BOOKING_PLAN_MAX_ARGS];
	SPIPlanPtr	plan;
	bool		whole;			/* reads whole relations, and no rows by key */
} BookingPlan;

extern uint64 booking_plan_run(BookingPlan *plan, Datum *values,
							   const bool *nulls, long limit);
extern uint64 booking_plan_run_named(BookingPlan *plan, text *tenant,
									 text *name, long limit);
extern int	booking_plan_pin(void);
extern void booking_plan_unpin(int level);
extern uint64 booking_plan_completed(void);
extern Datum booking_plan_column(uint64 row, int column, bool *isnull);
extern void booking_plan_bind(Datum *values, bool *nulls, int param,
							  const void *pointer);
extern char *booking_plan_cstring(uint64 row, int column);
extern void booking_plan_bind_cstring(Datum *values, bool *nulls, int param,
									  const char *string);

/* values of a column whose NULL has a stand-in */
#define booking_plan_pointer(row, column) \
	DatumGetPointer(booking_plan_column(row, column, NULL))

#endif							/* BOOKING_PLAN_H */

/*-------------------------------------------------------------------------
 *
 * row.h
 *	  writing and finding one row without a statement
 *
 * IDENTIFICATION
 *	  booking/src/store/row.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ROW_H
#define BOOKING_ROW_H

#include "store/plan.h"

typedef struct BookingDirect BookingDirect;

/*
 * An insert of one row.  The statement has a parameter for each column of the
 * table, in the table's order, and does nothing on a conflict of the arbiter.
 * Defined as a static variable with the first four fields.
 */
typedef struct BookingInsert
{
	BookingPlan plan;
	const char *table;			/* in schema booking */
	const char *columns;		/* names of all, with commas between */
	const char *arbiter;		/* name of a constraint */
	BookingDirect *direct;
} BookingInsert;

/*
 * A search of one row by all columns of a unique index.  The statement has a
 * parameter for each of them, in the index's order, and selects the first
 * columns of the table, in the table's order.  Defined as a static variable
 * with the first five fields.
 */
typedef struct BookingSearch
{
	BookingPlan plan;
	const char *table;			/* in schema booking */
	const char *columns;		/* names of those selected */
	const char *index;
	const char *keys;			/* names of the columns of the index */
	BookingDirect *direct;
} BookingSearch;

extern bool booking_row_insert(BookingInsert *insert, Datum *values,
							   bool *nulls);
extern bool booking_row_search(BookingSearch *search, Datum *keys,
							   Datum *values, bool *nulls);

#endif							/* BOOKING_ROW_H */

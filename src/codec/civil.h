/*-------------------------------------------------------------------------
 *
 * civil.h
 *	  dates of the Gregorian calendar and days from 1970-01-01
 *
 * IDENTIFICATION
 *	  booking/src/codec/civil.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CIVIL_H
#define BOOKING_CIVIL_H

#include "codec/arena.h"

#define BOOKING_CIVIL_DAY INT64CONST(86400)
#define BOOKING_CIVIL_SECOND INT64CONST(1000000)	/* microseconds */

typedef struct BookingCivil
{
	int			year;			/* 1 to 9999 */
	int			month;			/* 1 to 12 */
	int			day;			/* 1 to 31 */
	int			hour;
	int			minute;
	int			second;
} BookingCivil;

extern int	booking_civil_month_days(int year, int month);
extern int64 booking_civil_days(int year, int month, int day);
extern int	booking_civil_weekday(int64 days);
extern bool booking_civil_split(int64 seconds, BookingCivil *civil);

#endif							/* BOOKING_CIVIL_H */

/*-------------------------------------------------------------------------
 *
 * hindrance.h
 *	  settings with which no work can be done
 *
 * IDENTIFICATION
 *	  booking/src/controller/hindrance.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_HINDRANCE_H
#define BOOKING_HINDRANCE_H

#include "postgres.h"

extern const char *booking_hindrance(void);

#endif							/* BOOKING_HINDRANCE_H */

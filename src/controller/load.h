/*-------------------------------------------------------------------------
 *
 * load.h
 *	  how much each account and calendar has in hand
 *
 * IDENTIFICATION
 *	  booking/src/controller/load.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LOAD_H
#define BOOKING_LOAD_H

#include "utils/array.h"

typedef struct BookingLoad BookingLoad;

extern BookingLoad *booking_load_take(const char *key, int most);
extern void booking_load_release(BookingLoad *load);
extern bool booking_load_full(const char *key);
extern ArrayType *booking_load_full_keys(List *others);

#endif							/* BOOKING_LOAD_H */

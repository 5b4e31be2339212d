/*-------------------------------------------------------------------------
 *
 * load.h
 *	  how much each account has in hand
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

extern BookingLoad *booking_load_take(const char *account_key, int most);
extern void booking_load_release(BookingLoad *load);
extern bool booking_load_full(const char *account_key);
extern ArrayType *booking_load_full_accounts(void);

#endif							/* BOOKING_LOAD_H */

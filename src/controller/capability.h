/*-------------------------------------------------------------------------
 *
 * capability.h
 *	  what each provider can promise
 *
 * IDENTIFICATION
 *	  booking/src/controller/capability.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CAPABILITY_H
#define BOOKING_CAPABILITY_H

#include "postgres.h"

extern bool booking_capability_always_notifies(const char *provider);

#endif							/* BOOKING_CAPABILITY_H */

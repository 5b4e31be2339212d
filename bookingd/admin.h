/*-------------------------------------------------------------------------
 *
 * admin.h
 *	  health and metrics
 *
 * IDENTIFICATION
 *	  booking/bookingd/admin.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_ADMIN_H
#define BOOKINGD_ADMIN_H

#include "bookingd/front.h"

extern const FrontHandler admin_handler;

#endif							/* BOOKINGD_ADMIN_H */

/*-------------------------------------------------------------------------
 *
 * webhook.h
 *	  deliveries of webhooks
 *
 * IDENTIFICATION
 *	  booking/bookingd/webhook.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_WEBHOOK_H
#define BOOKINGD_WEBHOOK_H

#include "bookingd/front.h"

extern const FrontHandler webhook_handler;

#endif							/* BOOKINGD_WEBHOOK_H */

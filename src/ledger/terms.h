/*-------------------------------------------------------------------------
 *
 * terms.h
 *	  what terms may wish of a provider's event
 *
 * IDENTIFICATION
 *	  booking/src/ledger/terms.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_TERMS_H
#define BOOKING_TERMS_H

#include "postgres.h"

#include "utils/jsonb.h"

extern void booking_terms_check(Jsonb *terms);

#endif							/* BOOKING_TERMS_H */

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

extern void booking_terms_init(bool (*always_notifies) (const char *provider));
extern void booking_terms_check(Jsonb *terms);
extern void booking_terms_check_calendar(Jsonb *terms, text *tenant,
										 text *calendar);

#endif							/* BOOKING_TERMS_H */

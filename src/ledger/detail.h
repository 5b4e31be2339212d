/*-------------------------------------------------------------------------
 *
 * detail.h
 *	  the explanation that goes with a result
 *
 * IDENTIFICATION
 *	  booking/src/ledger/detail.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DETAIL_H
#define BOOKING_DETAIL_H

#include "postgres.h"

#include "utils/jsonb.h"
#include "utils/timestamp.h"

/* an object under construction */
typedef struct BookingDetail
{
	JsonbParseState *state;
} BookingDetail;

extern void booking_detail_begin(BookingDetail *detail);
extern void booking_detail_text(BookingDetail *detail, const char *key,
								const text *value);
extern void booking_detail_word(BookingDetail *detail, const char *key,
								const char *value);
extern void booking_detail_integer(BookingDetail *detail, const char *key,
								   int64 value);
extern void booking_detail_flag(BookingDetail *detail, const char *key);
extern void booking_detail_instant(BookingDetail *detail, const char *key,
								   TimestampTz value);
extern void booking_detail_words(BookingDetail *detail, const char *key,
								 const char *const *words, int count);
extern void booking_detail_integers(BookingDetail *detail, const char *key,
									const int64 *values, int count);
extern void booking_detail_members(BookingDetail *detail, Jsonb *object);
extern void booking_detail_object(BookingDetail *detail, const char *key);
extern void booking_detail_object_end(BookingDetail *detail);
extern Jsonb *booking_detail_end(BookingDetail *detail);
extern Jsonb *booking_detail_empty(void);
extern Jsonb *booking_detail_reason(const char *reason);
extern const char *booking_detail_reason_of(Jsonb *detail);
extern char *booking_detail_format_instant(TimestampTz value);

#endif							/* BOOKING_DETAIL_H */

/*-------------------------------------------------------------------------
 *
 * conflict.h
 *	  what calendars and the ledger do not agree on
 *
 * IDENTIFICATION
 *	  booking/src/store/conflict.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONFLICT_H
#define BOOKING_CONFLICT_H

#include "store/record.h"

extern void booking_store_overlaps_of_objects(int64 calendar_id,
											  ArrayType *objects,
											  TimestampTz now);
extern void booking_store_overlaps_of_intents(const int64 *intent_ids, int count,
											  TimestampTz now);
extern void booking_store_overlaps_of_calendar(int64 calendar_id,
											   TimestampTz now);
extern void booking_store_overlaps_resolve(int64 calendar_id, TimestampTz now);
extern void booking_store_conflicts_close(text *tenant, text *calendar,
										  TimestampTz now);

#endif							/* BOOKING_CONFLICT_H */

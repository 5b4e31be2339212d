/*-------------------------------------------------------------------------
 *
 * event.h
 *	  the projection of the providers' calendars
 *
 * IDENTIFICATION
 *	  booking/src/store/event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_STORE_EVENT_H
#define BOOKING_STORE_EVENT_H

#include "store/record.h"

/* length of our ids: 256 bits in base32hex */
#define BOOKING_EVENT_ID_LENGTH "52"

/*
 * Condition that an event e, which has no intent, is one that we wrote.  A copy
 * has a UID of its own.
 */
#define BOOKING_ORPHAN_EVENT \
	"coalesce(e.marker = e.uid AND length(e.uid) = " BOOKING_EVENT_ID_LENGTH ", false)"

/* columns of rows to be stored; an array each */
typedef enum BookingEventColumn
{
	BOOKING_EVENT_OBJECT,
	BOOKING_EVENT_OCCURRENCE,
	BOOKING_EVENT_START,
	BOOKING_EVENT_END,
	BOOKING_EVENT_BUSY,
	BOOKING_EVENT_ALL_DAY,
	BOOKING_EVENT_RECURRING,
	BOOKING_EVENT_STATUS,
	BOOKING_EVENT_TRANSPARENCY,
	BOOKING_EVENT_SEQUENCE,
	BOOKING_EVENT_UID,
	BOOKING_EVENT_MARKER,
	BOOKING_EVENT_ETAG,
	BOOKING_EVENT_ZONE,
	BOOKING_EVENT_ORGANIZER,
	BOOKING_EVENT_ATTENDEES,
	BOOKING_EVENT_PROBLEM,
	BOOKING_EVENT_COLUMNS
} BookingEventColumn;

typedef struct BookingEventRows
{
	int			count;
	int			size;
	Datum	   *values[BOOKING_EVENT_COLUMNS];
	bool	   *nulls[BOOKING_EVENT_COLUMNS];
} BookingEventRows;

/* objects that belonged to intents, until they were replaced */
typedef struct BookingOwnedObjects
{
	int			count;
	text	  **objects;
	int64	   *intent_ids;
} BookingOwnedObjects;

extern void booking_store_event_add(BookingEventRows *rows,
									const Datum *values, const bool *nulls);
extern void booking_store_events_insert(int64 calendar_id, int64 round,
										const BookingEventRows *rows);
extern void booking_store_events_delete(int64 calendar_id, ArrayType *objects,
										BookingOwnedObjects *owned);
extern void booking_store_events_keep(int64 calendar_id,
									  const BookingOwnedObjects *owned);
extern void booking_store_events_remove(int64 calendar_id,
										ArrayType *objects);
extern void booking_store_events_sweep(int64 calendar_id, int64 round,
									   bool windowed, TimestampTz from,
									   TimestampTz until);
extern void booking_store_events_seen(int64 calendar_id, int64 round,
									  ArrayType *objects);
extern int	booking_store_events_unknown(int64 calendar_id, ArrayType *objects,
										 ArrayType *etags, ArrayType *doubts,
										 int *places);
extern void booking_store_events_expire(int64 calendar_id);

#endif							/* BOOKING_STORE_EVENT_H */

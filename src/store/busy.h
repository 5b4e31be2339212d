/*-------------------------------------------------------------------------
 *
 * busy.h
 *	  what calendars say of the time of resources and people
 *
 * IDENTIFICATION
 *	  booking/src/store/busy.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_BUSY_STORE_H
#define BOOKING_BUSY_STORE_H

#include "store/record.h"

/* intents whose events are in nobody's way: the own one and its predecessor */
#define BOOKING_BUSY_OWN 2

/* which events are asked for */
typedef enum BookingBusyWhich
{
	BOOKING_BUSY_ALL,
	BOOKING_BUSY_OTHERS,		/* but for orphans */
	BOOKING_BUSY_ORPHANS		/* with an id of ours that no operation has */
} BookingBusyWhich;

/* whose busy time is asked for, and when */
typedef struct BookingBusyScope
{
	BookingBusyWhich which;
	text	   *tenant;
	int64		resource_id;
	int64		own[BOOKING_BUSY_OWN];	/* 0: none */
	const char *own_event_id;	/* of an event without an intent, or NULL */
	const int64 *counted;		/* calendars whose events are counted already */
	int			ncounted;
	TimestampTz start;
	TimestampTz end;
} BookingBusyScope;

/* time that an event takes; infinite where it has no bound */
typedef struct BookingBusyEvent
{
	TimestampTz start;
	TimestampTz end;
	text	   *calendar;		/* of an attendee's event, else NULL */
	int64		digest;			/* likewise; which event it is */
	bool		people;			/* no event, but who is on one of ours */
} BookingBusyEvent;

/* a calendar that matters to an intent, and how far it is synchronized */
typedef struct BookingRelevantCalendar
{
	int64		calendar_id;
	text	   *calendar;
	int64		watermark;
} BookingRelevantCalendar;

extern bool booking_store_may_be_busy(text *tenant, text *resource);
extern BookingBusyCalendar *booking_store_busy_calendars(text *tenant,
														 text *resource,
														 int *count);
extern BookingBusyEvent *booking_store_busy_events(const BookingBusyScope *scope,
												   int64 calendar_id,
												   long limit, int *count);
extern BookingBusyEvent *booking_store_attendee_events(const BookingBusyScope *scope,
													   Jsonb *terms,
													   const int64 *known,
													   int nknown, int *count);
extern BookingRelevantCalendar *booking_store_relevant_calendars(text *tenant,
																 const BookingPayload *payload,
																 int *count);
extern void booking_store_operation_know(int64 intent_id, const int64 *known,
										 int nknown);

#endif							/* BOOKING_BUSY_STORE_H */

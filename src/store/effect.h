/*-------------------------------------------------------------------------
 *
 * effect.h
 *	  what a round finds of events of ours
 *
 * IDENTIFICATION
 *	  booking/src/store/effect.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_EFFECT_H
#define BOOKING_EFFECT_H

#include "store/record.h"

/* the newest operation of an intent whose event a calendar shows */
typedef struct BookingSubject
{
	int64		operation_id;	/* 0: there is none */
	int64		round;
	char	   *kind;
	char	   *state;
	char	   *event_id;
	char	   *href;			/* NULL: not known */
	bool		here;			/* is about this calendar */
	bool		followed;		/* by one that is not settled */
	bool		override;		/* the intent overlaps on purpose */
	bool		moved;			/* the reservation has followed the event */
	TimestampTz start;			/* to this time */
	TimestampTz end;
} BookingSubject;

/* that part of the event which stands for the booking */
typedef struct BookingOwnEvent
{
	text	   *object;
	bool		concrete;		/* single, or the occurrence that was booked */
	bool		has_time;
	bool		canceled;
	bool		recurring;
	bool		all_day;
	bool		unreadable;
	TimestampTz start;
	TimestampTz end;
} BookingOwnEvent;

/* a row of booking.conflict */
typedef struct BookingConflict
{
	const char *kind;
	int64		intent_id;
	int64		calendar_id;
	text	   *tenant;
	text	   *object;
	RangeType  *during;			/* NULL: not known */
	Jsonb	   *detail;
} BookingConflict;

extern void booking_store_events_expect(const int64 *operation_ids, int count);
extern void booking_store_events_expect_all(void);
extern void booking_store_event_forget(int64 operation_id);
extern void booking_store_events_disconnect(text *tenant, text *account,
											text *calendar, const char *reason,
											TimestampTz now);
extern void booking_store_events_missing(text *tenant, text *calendar,
										 TimestampTz now);
extern void booking_store_effects_unseen(int64 calendar_id, int64 round,
										 bool windowed, TimestampTz from,
										 TimestampTz until);
extern void booking_store_effects_never_seen(int64 calendar_id, int64 round,
											 bool windowed, TimestampTz from,
											 TimestampTz until);
extern bool booking_store_effects_many_gone(int64 calendar_id, int64 most);
extern int64 *booking_store_effects_gone(int64 calendar_id, int64 round,
										 int64 after, int limit, int *count,
										 int64 *last);
extern int64 *booking_store_effects_there(int64 calendar_id, int64 round,
										  int64 after, int limit, int *count);
extern void booking_store_effects_resume(int64 calendar_id, int64 round);
extern void booking_store_effects_again(int64 calendar_id, int64 round,
										int64 intent_id);
extern void booking_store_effects_of_intent(int64 intent_id);
extern void booking_store_effects_delete_gone(int64 calendar_id,
											  int64 intent_id);
extern void booking_store_subject(int64 intent_id, int64 calendar_id,
								  BookingSubject *subject);
extern bool booking_store_own_event(int64 calendar_id, int64 intent_id,
									TimestampTz start, TimestampTz other_start,
									BookingOwnEvent *event);
extern void booking_store_operation_follow(int64 operation_id, text *href,
										   RangeType *moved_to);
extern void booking_store_intent_moved(int64 intent_id, TimestampTz start,
									   text *role, TimestampTz now);
extern bool booking_store_intent_moved_start(int64 intent_id,
											 TimestampTz *start);
extern void booking_store_conflict_open(const BookingConflict *conflict,
										TimestampTz now);
extern void booking_store_conflict_resolve(int64 intent_id, const char *kind,
										   TimestampTz now);
extern void booking_store_conflicts_end(int64 intent_id, TimestampTz now);
extern void booking_store_conflicts_of_round(int64 calendar_id, int64 round,
											 TimestampTz now);

#endif							/* BOOKING_EFFECT_H */

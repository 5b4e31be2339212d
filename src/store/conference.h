/*-------------------------------------------------------------------------
 *
 * conference.h
 *	  conferences that bookings have wished for
 *
 * IDENTIFICATION
 *	  booking/src/store/conference.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CONFERENCE_STORE_H
#define BOOKING_CONFERENCE_STORE_H

#include "store/operation.h"

/* a conference that is to be asked for */
typedef struct BookingConference
{
	int64		operation_id;
	int			tries;			/* so far */
	char	   *tenant;
	char	   *account;
	char	   *event_id;
	char	   *href;			/* NULL: where the id says */
	char	   *provider;
	char	   *base_url;
	char	   *remote_id;		/* of the calendar */
	bool		sealed;
	bytea	   *secret;			/* NULL: no credential */
} BookingConference;

typedef struct BookingConferenceChange
{
	int64		operation_id;
	int			tries;
	const char *state;			/* pending, made or failed */
	const char *link;			/* NULL: not known */
	const char *problem;		/* NULL: none */
	TimestampTz next_at;		/* if pending */
	TimestampTz now;
} BookingConferenceChange;

extern void booking_store_conference_put(const BookingConferenceChange *change);
extern void booking_store_conference_tell(int64 intent_id, const char *link);
extern BookingConference *booking_store_conferences_due(TimestampTz now,
														ArrayType *without,
														ArrayType *in_hand,
														int limit, int *count);
extern bool booking_store_conference_next_due(ArrayType *in_hand,
											  TimestampTz *next_at);

#endif							/* BOOKING_CONFERENCE_STORE_H */

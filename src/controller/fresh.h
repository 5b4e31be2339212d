/*-------------------------------------------------------------------------
 *
 * fresh.h
 *	  a look at the calendars before something is written
 *
 * IDENTIFICATION
 *	  booking/src/controller/fresh.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_FRESH_H
#define BOOKING_FRESH_H

#include "controller/session.h"
#include "net/http.h"
#include "store/operation.h"

/* how an operation that is about to be sent stands */
typedef enum BookingFreshness
{
	BOOKING_FRESH,				/* send it */
	BOOKING_FRESH_ASKED,		/* calendars are to be read first */
	BOOKING_FRESH_WAITS,		/* they are being read */
	BOOKING_FRESH_UNREAD,		/* they cannot be read for now */
	BOOKING_FRESH_GONE,			/* there is no calendar to write to */
	BOOKING_FRESH_STALE			/* what it was decided on is no longer so */
} BookingFreshness;

typedef struct BookingFreshVerdict
{
	BookingFreshness freshness;
	const char *message;		/* why unread */
	Jsonb	   *detail;			/* why stale */
} BookingFreshVerdict;

/* an operation that has been checked */
typedef struct BookingFreshReady
{
	int64		operation_id;
	char	   *account_key;	/* tenant and account that it goes through */
	char	   *calendar_key;	/* and calendar that it writes to */
} BookingFreshReady;

extern void booking_fresh_init(BookingHttpEngine *engine);
extern void booking_fresh_look(void);
extern int	booking_fresh_waiting(void);
extern List *booking_fresh_ready(void);
extern void booking_fresh_judge(BookingCall *call, const BookingLease *lease,
								BookingFreshVerdict *verdict);
extern void booking_fresh_end(int64 operation_id);
extern void booking_fresh_commit(void);
extern void booking_fresh_undo(const int64 *operation_ids, int count);
extern void booking_fresh_abort(int64 operation_id);
extern void booking_fresh_sweep(BookingCall *call);

#endif							/* BOOKING_FRESH_H */

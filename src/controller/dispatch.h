/*-------------------------------------------------------------------------
 *
 * dispatch.h
 *	  operations that are being carried out
 *
 * IDENTIFICATION
 *	  booking/src/controller/dispatch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_DISPATCH_H
#define BOOKING_DISPATCH_H

#include "lib/ilist.h"

#include "controller/load.h"
#include "controller/session.h"
#include "net/http.h"
#include "provider/provider.h"
#include "store/record.h"

/*
 * One operation between its lease and its outcome.  Lives in its arena, which
 * no transaction touches.
 */
typedef struct BookingDispatch
{
	dlist_node	node;
	BookingArena *arena;
	int64		operation_id;
	int32		epoch;
	int			failures;		/* times its outcome could not be recorded */
	bool		recorded;		/* done with, once the transaction commits */
	bool		lookup;			/* reconciling, else sending */
	const char *account_key;	/* tenant and account */
	const char *calendar_key;	/* and calendar; NULL: others may write there */
	BookingLoad *load;			/* its account's share, NULL when recorded */
	BookingLoad *calendar_load;	/* likewise; NULL without a calendar_key */
	BookingIdentity identity;	/* of the intent, in the arena */
	text	   *supersedes;		/* the intent it supersedes, or NULL */
	const BookingProvider *provider;
	BookingJob	job;
	BookingEvent wanted;
	BookingEvent previous;
	BookingTask task;
	BookingHttpRequest request;
	BookingHttpAuth auth;
} BookingDispatch;

extern void booking_dispatch_init(BookingHttpEngine *engine);
extern void booking_dispatch_lease(BookingCall *call);
extern void booking_dispatch_start(void);
extern void booking_dispatch_forget(void);
extern bool booking_dispatch_finished(void);
extern void booking_dispatch_apply(BookingCall *call);
extern void booking_dispatch_applied(void);
extern int	booking_dispatch_in_flight(void);
extern bool booking_dispatch_has_stock(void);
extern bool booking_dispatch_contended(void);

#endif							/* BOOKING_DISPATCH_H */

/*-------------------------------------------------------------------------
 *
 * view.h
 *	  what a call reads to decide, first without and then with locks
 *
 * IDENTIFICATION
 *	  booking/src/ledger/view.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_VIEW_H
#define BOOKING_VIEW_H

#include "ledger/call.h"
#include "ledger/payload.h"
#include "storage/lockdefs.h"

/* what the caller asked about */
typedef struct BookingRequest
{
	BookingIdentity identity;
	text	   *approver;		/* NULL: none is involved */
	bool		approver_decides;	/* the principal's permission is not asked */
	const BookingPayload *payload;	/* NULL: identity alone */
	bool		intent_absent;	/* not to be read again: the insert decides */
	bool		stored_predecessor; /* the stored payload says what it supersedes */
} BookingRequest;

/* what was found; see booking_view_read() */
typedef struct BookingView
{
	bool		denied;
	bool		intent_read;	/* else it is taken to be absent */
	BookingIntent *intent;		/* NULL: unknown */
	text	   *predecessor_name;	/* NULL: nothing is superseded */
	BookingIntent *predecessor; /* NULL: none, or unknown */
	uint64		completed;		/* booking_plan_completed() before reading */
	uint64		cache;			/* booking_cache_accept() after that */
	bool		predecessor_denied; /* for what the exchange alone asks */
	int			nresources;		/* of payload, intent and predecessor */
	BookingResource *resources;

	/* locks held; booking_view_lock() keeps them */
	bool		locked;
	text	   *locked_predecessor;
	int			nlocked;
	int64	   *locked_resources;
	LOCKMODE	locked_mode;
} BookingView;

extern void booking_view_read(const BookingCall *call,
							  const BookingRequest *request,
							  BookingView *view);
extern bool booking_view_read_resources(const BookingCall *call,
										const BookingIdentity *identity,
										const BookingPayload *payload,
										BookingView *view);
extern bool booking_view_lock(const BookingCall *call,
							  const BookingRequest *request,
							  BookingView *view, LOCKMODE mode);
extern int64 booking_view_predecessor_id(const BookingView *view);
extern const BookingResource *booking_view_resource(const BookingView *view,
													const text *name);
extern const BookingResource **booking_view_payload_resources(const BookingView *view,
															  const BookingPayload *payload);

#endif							/* BOOKING_VIEW_H */

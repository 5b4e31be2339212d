/*-------------------------------------------------------------------------
 *
 * errand.h
 *	  requests of accounts that carry out no operation and read no calendar
 *
 * IDENTIFICATION
 *	  booking/src/controller/errand.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ERRAND_H
#define BOOKING_ERRAND_H

#include "lib/ilist.h"

#include "controller/load.h"
#include "controller/session.h"
#include "net/http.h"
#include "provider/provider.h"

typedef struct BookingErrand BookingErrand;

/* what an errand is about */
typedef struct BookingErrandKind
{
	/* judge an answer; true with the next request in errand->request */
	bool		(*next) (BookingErrand *errand,
						 const BookingHttpResponse *response);

	/* record what came of it, in a subtransaction; false: not now */
	bool		(*record) (BookingCall *call, BookingErrand *errand);
} BookingErrandKind;

/* one errand; it begins what its kind keeps of it, in the same arena */
struct BookingErrand
{
	dlist_node	node;
	const BookingErrandKind *kind;
	int64		id;				/* of the row that it is about */
	BookingArena *arena;		/* which no transaction touches */
	const BookingProvider *provider;	/* this and the next are of an account */
	const char *tenant;
	const char *account;
	BookingLoad *load;			/* the account's share, NULL when answered */
	BookingHttpAuth auth;
	BookingHttpRequest request; /* without a method there is none to be sent */
	bool		started;
	bool		finished;
	bool		recorded;
};

/* whose errand it is */
typedef struct BookingErrandAccount
{
	const char *provider;
	char	   *tenant;
	char	   *account;
	bool		sealed;
	bytea	   *secret;			/* NULL: no credential */
	bool		writes;
} BookingErrandAccount;

extern void booking_errand_init(BookingHttpEngine *engine);
extern BookingErrand *booking_errand_make(BookingCall *call,
										  const BookingErrandKind *kind,
										  int64 id, size_t size,
										  const BookingErrandAccount *account);
extern BookingErrand *booking_errand_begin(const BookingErrandKind *kind,
										   int64 id, size_t size);
extern void booking_errand_drop(BookingErrand *errand);
extern const char *booking_errand_copy(BookingErrand *errand,
									   const char *string);
extern ArrayType *booking_errand_ids(const BookingErrandKind *kind);
extern int	booking_errand_room(void);
extern bool booking_errand_refused(BookingCall *call, BookingErrand *errand);
extern void booking_errand_accepted(BookingErrand *errand);
extern void booking_errand_hold_off(BookingCall *call, BookingErrand *errand,
									int64 seconds);
extern void booking_errand_lease(BookingCall *call);
extern void booking_errand_start(void);
extern void booking_errand_forget(void);
extern bool booking_errand_finished(void);
extern void booking_errand_record(BookingCall *call);
extern void booking_errand_recorded(void);
extern bool booking_errand_next_due(TimestampTz *next_at);

#endif							/* BOOKING_ERRAND_H */

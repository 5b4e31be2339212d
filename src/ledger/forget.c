/*-------------------------------------------------------------------------
 *
 * forget.c
 *	  booking_forget
 *
 * Erase what is known of one person: the values of all intents of a principal,
 * and what else names them.  Bookings that are not over are not touched: who is
 * forgotten does not lose a meeting unasked, nor does an event stay in a
 * calendar that nobody knows of any more.  So while there is one the call is
 * refused, and says which.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/forget.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/detail.h"
#include "ledger/purge.h"
#include "store/store.h"
#include "store/purge.h"

PG_FUNCTION_INFO_V1(booking_forget);

#define BATCH 500
#define LOCK_TIMEOUT_MS 1000

/* times that a part is tried which somebody is in the way of */
#define TRIES 10

/* a call */
typedef struct Forget
{
	text	   *tenant;
	text	   *principal;
	int64		position;		/* behind this intent */
	bool		finished;		/* with the intents */
	int64		intents;
	int64		rows;			/* beside them */
} Forget;

static void repeat(BookingPurgeWork work, Forget *forget);
static void begin(BookingCall *call, void *arg);
static void demand_over(Forget *forget);
static void step(BookingCall *call, void *arg);
static void end(BookingCall *call, void *arg);
static Jsonb *make_result(const Forget *forget);

/*
 * CALL booking_forget(tenant, principal, result)
 */
Datum
booking_forget(PG_FUNCTION_ARGS)
{
	Forget		forget = {0};
	char		progress[80];

	forget.tenant = booking_arg_label(fcinfo, 0, "tenant");
	forget.principal = booking_arg_label(fcinfo, 1, "principal");
	booking_purge_begin(fcinfo, "booking_forget");
	forget.tenant = DatumGetTextPCopy(PointerGetDatum(forget.tenant));
	forget.principal = DatumGetTextPCopy(PointerGetDatum(forget.principal));
	repeat(begin, &forget);
	while (!forget.finished)
	{
		repeat(step, &forget);
		snprintf(progress, sizeof(progress), "booking_forget: " INT64_FORMAT
				 " intents purged", forget.intents);
		booking_purge_report(progress);
	}
	repeat(end, &forget);
	return booking_purge_return(fcinfo, make_result(&forget));
}

/*
 * Do a part, again if somebody is in the way.
 */
static void
repeat(BookingPurgeWork work, Forget *forget)
{
	for (int tries = 0; tries < TRIES; tries++)
	{
		if (booking_purge_transaction(work, forget, LOCK_TIMEOUT_MS))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not erase everything: another transaction holds a part of it"),
			 errhint("What was erased stays so. Look for long transactions, and call booking_forget again.")));
}

/*
 * May the caller do that, and may it be done?
 */
static void
begin(BookingCall *call, void *arg)
{
	Forget	   *forget = arg;

	booking_access_demand(call, forget->tenant);
	demand_over(forget);
	(void) booking_purge_key();
}

/*
 * Raise an error if a booking of the person is not over.
 */
static void
demand_over(Forget *forget)
{
	int64		count;
	char	   *names = booking_store_purge_open(forget->tenant, forget->principal,
												 booking_call_hold_clock(), &count);

	if (count > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the principal has intents that are not over"),
				 errdetail("There are %lld, among them: %s.", (long long) count, names),
				 errhint("Cancel them with booking_cancel, and see booking.recovery for those that a provider has not settled; then call booking_forget again.")));
}

/*
 * Some intents, in a transaction.
 */
static void
step(BookingCall *call, void *arg)
{
	Forget	   *forget = arg;
	BookingPurgeWindow window = {0};
	int			count;
	int64		last;
	ArrayType  *picked;

	window.after = forget->position;
	window.limit = BATCH;
	window.before = booking_call_hold_clock();
	picked = booking_store_purge_pick_person(forget->tenant, forget->principal,
											 &window, &count, &last);
	if (count > 0)
		forget->intents += booking_store_purge_intents(picked,
													   booking_purge_key());
	forget->position = last;
	forget->finished = last == 0;
}

/*
 * What else there is; and look whether something was left out, because others
 * held it, or came in between.
 */
static void
end(BookingCall *call, void *arg)
{
	Forget	   *forget = arg;

	demand_over(forget);
	forget->rows = booking_store_purge_person(forget->tenant, forget->principal);
	if (booking_store_purge_left(forget->tenant, forget->principal) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("could not erase everything: another transaction holds a part of it"),
				 errhint("What was erased stays so. Look for long transactions, and call booking_forget again.")));
	booking_store_audit("forget", call->role, forget->tenant, forget->principal,
						NULL, make_result(forget), NULL, call->now);
}

/*
 * How many intents, and how many other rows.
 */
static Jsonb *
make_result(const Forget *forget)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_integer(&detail, "intents", forget->intents);
	booking_detail_integer(&detail, "rows", forget->rows);
	return booking_detail_end(&detail);
}

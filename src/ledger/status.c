/*-------------------------------------------------------------------------
 *
 * status.c
 *	  booking_status, booking_list
 *
 * They read what is recorded; nothing is written or locked, and they work in
 * read-only transactions and on standbys.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/status.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/decide.h"
#include "ledger/detail.h"
#include "ledger/state.h"
#include "store/cache.h"
#include "store/present.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_status);
PG_FUNCTION_INFO_V1(booking_list);

#define LIST_MAX 1000
#define LIST_COLUMNS (1 + BOOKING_RESULT_COLUMNS + 2)

static void add_present(BookingResult *result, const BookingIntent *intent,
						BookingPresent *present);
static void return_list_row(ReturnSetInfo *rsinfo, const BookingIntent *intent);

/*
 * booking_status(tenant, principal, intent) returns booking_result
 *
 * What the same claim would return; and in detail where the booking is now, if
 * its event was moved, and what it waits for.
 */
Datum
booking_status(PG_FUNCTION_ARGS)
{
	BookingRequest request = {0};
	BookingCall call;
	BookingView view = {0};
	BookingResult result;
	BookingPresent present;

	booking_arg_identity(fcinfo, 0, &request.identity);

	booking_call_begin(&call, fcinfo, false);
	booking_view_read(&call, &request, &view);
	if (view.denied)
		booking_decide(&result, "denied", NULL);
	else if (view.intent == NULL)
		booking_decide(&result, "unknown_intent", NULL);
	else
	{
		booking_decide_replay(&result, view.intent);
		add_present(&result, view.intent, &present);
	}
	return booking_call_return(&call, &result);
}

/*
 * booking_list(tenant, principal, within, state, after, max) returns table
 *
 * A page of the principal's intents in byte order of their names: those after
 * the name given, that overlap within and are in the state given.
 */
Datum
booking_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BookingListFilter filter = {0};
	BookingCall call;
	BookingState state;
	int32		max;
	int			count;
	BookingIntent **intents;

	filter.tenant = booking_arg_label(fcinfo, 0, "tenant");
	filter.principal = booking_arg_label(fcinfo, 1, "principal");
	if (!PG_ARGISNULL(2))
	{
		TimestampTz start;
		TimestampTz end;

		booking_arg_during(fcinfo, 2, "within", &start, &end);
		filter.within = booking_range_make(start, end);
	}
	if (!PG_ARGISNULL(3))
	{
		filter.state = PG_GETARG_TEXT_PP(3);
		if (!booking_state_parse(filter.state, &state))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" is no state", "state"),
					 errhint("States are %s.", booking_state_names())));
	}
	filter.after = booking_arg_label_optional(fcinfo, 4, "after");
	max = booking_arg_positive(fcinfo, 5, "max");
	if (max > LIST_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", "max"),
				 errhint("Give 1 to %d, and the last name of a page as \"after\" of the next.",
						 LIST_MAX)));

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, false);
	(void) booking_cache_accept();
	if (!booking_access_bound(&call, filter.tenant) ||
		!booking_store_permission_any(filter.tenant, filter.principal))
		booking_access_raise_denied();
	intents = booking_store_intent_list(&filter, max, &count);
	for (int i = 0; i < count; i++)
		return_list_row(rsinfo, intents[i]);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * Read where an intent is now and what it waits for, and say so in the detail
 * of its result.
 */
static void
add_present(BookingResult *result, const BookingIntent *intent,
			BookingPresent *present)
{
	BookingDetail detail;

	booking_store_present(intent, present);
	if (!present->moved && present->problem == NULL)
		return;
	booking_detail_begin(&detail);
	if (result->detail != NULL)
		booking_detail_members(&detail, result->detail);
	if (present->moved)
	{
		booking_detail_object(&detail, "moved_to");
		booking_detail_instant(&detail, "start", present->start);
		booking_detail_instant(&detail, "end", present->end);
		booking_detail_object_end(&detail);
	}
	if (present->problem != NULL)
	{
		booking_detail_object(&detail, "waits");
		booking_detail_text(&detail, "problem", present->problem);
		if (present->message != NULL)
			booking_detail_text(&detail, "message", present->message);
		booking_detail_instant(&detail, "next_at", present->next_at);
		booking_detail_object_end(&detail);
	}
	result->detail = booking_detail_end(&detail);
}

/*
 * Add one intent to the result, at the time at which it is now.
 */
static void
return_list_row(ReturnSetInfo *rsinfo, const BookingIntent *intent)
{
	const BookingPayload *payload = &intent->payload;
	BookingResult result;
	BookingPresent present;
	Datum		values[LIST_COLUMNS] = {0};
	bool		nulls[LIST_COLUMNS] = {0};

	booking_decide_replay(&result, intent);
	add_present(&result, intent, &present);
	values[0] = PointerGetDatum(intent->intent);
	booking_result_columns(&result, values + 1, nulls + 1);
	nulls[8] = !payload->has_during;
	if (payload->has_during)
		values[8] = PointerGetDatum(booking_range_make(present.moved ? present.start :
													   payload->start,
													   present.moved ? present.end :
													   payload->end));
	nulls[9] = payload->nresources == 0;
	if (payload->nresources > 0)
		values[9] = PointerGetDatum(booking_record_make_text_array(payload->resources,
																   payload->nresources));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*-------------------------------------------------------------------------
 *
 * capability.c
 *	  what each provider can promise
 *
 * The flags of the adapters, in words.
 *
 * IDENTIFICATION
 *	  booking/src/controller/capability.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "controller/capability.h"
#include "provider/provider.h"

PG_FUNCTION_INFO_V1(booking_provider_capabilities);

#define COLUMNS 4

static void put(FunctionCallInfo fcinfo, const BookingProvider *provider,
				const char *capability, const char *value,
				const char *consequence);
static void put_flag(FunctionCallInfo fcinfo, const BookingProvider *provider,
					 const char *capability, bool value, const char *if_so,
					 const char *if_not);

/*
 * booking_provider_capabilities() returns table (provider, capability, value,
 * consequence)
 */
Datum
booking_provider_capabilities(PG_FUNCTION_ARGS)
{
	const BookingProvider *provider;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; (provider = booking_provider_get(i)) != NULL; i++)
	{
		char	   *requests = psprintf("%d", provider->max_in_flight);

		put_flag(fcinfo, provider, "own_event_id", provider->names_events,
				 "an event is found by its id, even if the answer to its creation was lost",
				 "an event whose creation was not answered is found by its marker");
		put_flag(fcinfo, provider, "idempotent_create",
				 provider->create_is_idempotent,
				 "the provider itself refuses or recognizes a second creation with the same id",
				 "a second creation is only sent after the event was looked for");
		put_flag(fcinfo, provider, "absence_is_proof",
				 provider->absence_is_proof,
				 "what a lookup does not find is created again with the same id",
				 "what a lookup does not find is left to an operator");
		put_flag(fcinfo, provider, "silent_invitation",
				 !provider->always_notifies,
				 "attendees are told as \"notify\" in terms.event says, or by nobody",
				 "attendees are always mailed: terms.event with attendees needs \"notify\": \"all\"");
		put_flag(fcinfo, provider, "whole_listing", !provider->lists_window,
				 "events that do not repeat are known wherever they are in time",
				 "events are known within booking.sync_past and booking.sync_future");
		put_flag(fcinfo, provider, "tells_busy", provider->tells_busy,
				 "can be asked when people are busy whose calendars are not read",
				 "only calendars that are read are known");
		put_flag(fcinfo, provider, "push", provider->pushes,
				 "changes are told at once where booking.push_url is set",
				 "changes are found at the next round");
		put_flag(fcinfo, provider, "parallel_writes",
				 !provider->writes_in_series,
				 "writes to one calendar may overlap",
				 "quick writes to one calendar may be put off by the provider");
		put(fcinfo, provider, "requests_in_flight", requests,
			"requests of one account at a time, at most");
	}
	return (Datum) 0;
}

/*
 * Does a provider mail all attendees, whatever is wished?
 */
bool
booking_capability_always_notifies(const char *provider)
{
	const BookingProvider *found = booking_provider_find(provider);

	return found != NULL && found->always_notifies;
}

/*
 * Add a row.
 */
static void
put(FunctionCallInfo fcinfo, const BookingProvider *provider,
	const char *capability, const char *value, const char *consequence)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {0};

	values[0] = CStringGetTextDatum(provider->name);
	values[1] = CStringGetTextDatum(capability);
	values[2] = CStringGetTextDatum(value);
	values[3] = CStringGetTextDatum(consequence);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Add a row for a flag.
 */
static void
put_flag(FunctionCallInfo fcinfo, const BookingProvider *provider,
		 const char *capability, bool value, const char *if_so,
		 const char *if_not)
{
	put(fcinfo, provider, capability, value ? "true" : "false",
		value ? if_so : if_not);
}

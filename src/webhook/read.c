/*-------------------------------------------------------------------------
 *
 * read.c
 *	  booking_webhook_reads, booking_webhook_read_done
 *
 * Deliveries that do not say what has changed wait until somebody has looked.
 * Who takes a reading gets it again until it is done; what is told of the same
 * booking after it was taken is another one, since the look may have come first.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/read.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "compat.h"
#include "ledger/args.h"
#include "webhook/apply.h"
#include "webhook/source.h"

PG_FUNCTION_INFO_V1(booking_webhook_reads);
PG_FUNCTION_INFO_V1(booking_webhook_read_done);

#define READS_MAX 1000

static void begin(BookingCall *call, FunctionCallInfo fcinfo, text *name,
				  BookingWebhookSource *source);
static void describe(StringInfo json, const BookingDelivery *delivery,
					 Jsonb *found);
static void add_member(StringInfo json, Jsonb *found, const char *key);

/*
 * booking_webhook_reads(source, max) returns rows (delivery, booking)
 */
Datum
booking_webhook_reads(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	int32		max = booking_arg_positive(fcinfo, 1, "max");
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BookingWebhookSource source;
	BookingWebhookDue *reads;
	BookingCall call;
	int			count;

	if (max > READS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is out of range", "max"),
				 errhint("Give 1 to %d, and take more when they are done.",
						 READS_MAX)));
	InitMaterializedSRF(fcinfo, 0);
	begin(&call, fcinfo, name, &source);
	reads = booking_store_inbox_reads(name, max, &count);
	for (int i = 0; i < count; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false};

		values[0] = Int64GetDatum(reads[i].delivery);
		values[1] = PointerGetDatum(reads[i].booking);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * booking_webhook_read_done(source, delivery, found) returns text
 *
 * found is {"resource", "start", "end"}, NULL if the booking is canceled or
 * gone.
 */
Datum
booking_webhook_read_done(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	int64		number = booking_arg_version(fcinfo, 1, "delivery");
	Jsonb	   *found = PG_ARGISNULL(2) ? NULL : booking_arg_jsonb(fcinfo, 2, "found");
	BookingWebhookSource source;
	BookingWebhookEvent event;
	BookingDelivery delivery;
	BookingApplied outcome;
	BookingCall call;
	StringInfoData json;
	text	   *owner;
	text	   *result;
	MemoryContext old;

	begin(&call, fcinfo, name, &source);
	if (!booking_store_inbox_read(number, &owner, &delivery) ||
		booking_text_compare(owner, name) != 0 ||
		strcmp(delivery.state, "read_wanted") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("argument \"%s\" names no reading that is to be done", "delivery"),
				 errhint("See booking_webhook_reads().")));
	describe(&json, &delivery, found);
	booking_webhook_read_standard(json.data, json.len, booking_webhook_arena(),
								  &event);
	if (event.meaning == BOOKING_WEBHOOK_UNUSABLE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is invalid", "found"),
				 errhint("Give an object with resource, start and end, the latter two with an offset, or NULL for a booking that is canceled.")));
	booking_apply(&call, &source, &event, BOOKING_APPLY_NEW, &outcome);
	booking_apply_record(&call, &source, number, delivery.tries, &outcome);
	old = MemoryContextSwitchTo(call.caller_context);
	result = cstring_to_text(outcome.failed ? outcome.reason : outcome.state);
	MemoryContextSwitchTo(old);
	booking_call_end(&call);
	PG_RETURN_TEXT_P(result);
}

/*
 * Begin a call about a source that the caller may manage.
 */
static void
begin(BookingCall *call, FunctionCallInfo fcinfo, text *name,
	  BookingWebhookSource *source)
{
	booking_call_begin(call, fcinfo, true);
	booking_webhook_demand_source(call, name, source);
	call->privileged = true;
}

/*
 * What was found, as a delivery of Standard Webhooks would tell it.  The number
 * of the delivery that was looked for is the version.
 */
static void
describe(StringInfo json, const BookingDelivery *delivery, Jsonb *found)
{
	initStringInfo(json);
	appendStringInfo(json, "{\"type\": \"booking.%s\", \"data\": {\"version\": "
					 INT64_FORMAT ", \"id\": ", found == NULL ? "canceled" : "created",
					 delivery->delivery);
	escape_json(json, text_to_cstring(delivery->booking));
	if (found != NULL)
	{
		add_member(json, found, "resource");
		add_member(json, found, "start");
		add_member(json, found, "end");
	}
	appendStringInfoString(json, "}}");
}

/*
 * Copy a member that is a string.
 */
static void
add_member(StringInfo json, Jsonb *found, const char *key)
{
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(found) ||
		getKeyJsonValueFromContainer(&found->root, key, strlen(key), &value) == NULL ||
		value.type != jbvString)
		return;
	appendStringInfo(json, ", \"%s\": ", key);
	escape_json(json, pnstrdup(value.val.string.val, value.val.string.len));
}

/*-------------------------------------------------------------------------
 *
 * health.c
 *	  alarms about sources whose deliveries fail, or that cannot be read
 *
 * IDENTIFICATION
 *	  booking/src/webhook/health.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "ledger/call.h"
#include "store/change.h"
#include "webhook/apply.h"

/*
 * Note whether a delivery failed, and raise the alarm when the first, the fifth
 * and the twentieth in a row has.
 */
void
booking_webhook_note_health(BookingCall *call,
							const BookingWebhookSource *source,
							const char *problem)
{
	if (problem != NULL)
		booking_webhook_alarm(call, source, "deliveries of a webhook source fail",
							  booking_store_webhook_source_failed(source->source,
																  problem,
																  call->now),
							  problem);
	else if (source->failures > 0)
		booking_store_webhook_source_works(source->source);
}

/*
 * Raise the alarm, if it is time: in the log, and where the tenant reads its
 * changes also there.  A word says why, and nothing of what came.
 */
void
booking_webhook_alarm(BookingCall *call, const BookingWebhookSource *source,
					  const char *what, int32 failures, const char *problem)
{
	if (failures != 1 && failures != 5 && failures != 20)
		return;
	ereport(LOG,
			(errmsg("%s", what),
			 errdetail("Tenant \"%s\", source \"%s\": %d in a row, the last one with %s.",
					   text_to_cstring(source->tenant),
					   text_to_cstring(source->source), failures, problem)));
	if (booking_store_feed_wanted(source->tenant))
		booking_store_change_alarm(source->tenant, source->source, failures,
								   problem, call->now);
}

/*-------------------------------------------------------------------------
 *
 * graph_error.c
 *	  what refusals of Microsoft Graph mean
 *
 * An error is {"error":{"code","message","innerError":{"code",...}}}, whose codes
 * go from the general to the particular (learn.microsoft.com/graph/errors).
 * Their case differs between the documents and what is sent.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_error.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/graph.h"
#include "provider/report.h"

/* codes that are acted on; the others refuse for good */
static const struct
{
	const char *code;
	BookingGraphRefusal refusal;
}			codes[] = {
	/* throttling, throttling-limits; what public clients meet */
	{"ApplicationThrottled", BOOKING_GRAPH_RATE},
	{"MailboxConcurrency", BOOKING_GRAPH_RATE},
	{"TooManyRequests", BOOKING_GRAPH_RATE},
	{"activityLimitReached", BOOKING_GRAPH_RATE},
	{"ErrorExceededConnectionCount", BOOKING_GRAPH_RATE},
	/* alcionai/corso#2490 */
	{"ErrorDuplicateTransactionId", BOOKING_GRAPH_DUPLICATE},
	/* a version that is not the newest one */
	{"ErrorIrresolvableConflict", BOOKING_GRAPH_CHANGED},
	/* delta-query-overview; microsoft-graph-docs#2350 */
	{"syncStateNotFound", BOOKING_GRAPH_SYNC_STATE},
	{"syncStateInvalid", BOOKING_GRAPH_SYNC_STATE},
	{"resyncRequired", BOOKING_GRAPH_SYNC_STATE},
	{"ErrorInvalidSyncStateData", BOOKING_GRAPH_SYNC_STATE},
};

static bool find(const char *code, BookingGraphRefusal *refusal);

/*
 * Why a request was refused, by the codes in the body, and a code for it of
 * ours.  existing, unless NULL, becomes the id of an event that is said to be in
 * the way, NULL if none is.
 */
BookingGraphRefusal
booking_graph_refusal(BookingArena *arena, const BookingHttpResponse *response,
					  const char **problem, const char **existing)
{
	BookingGraphError error;
	BookingGraphRefusal refusal = BOOKING_GRAPH_REFUSED;
	const char *code = booking_report_problem(arena, response);

	booking_graph_error_read(response->body, response->body_len, arena, &error);
	if (existing != NULL)
		*existing = error.existing;
	*problem = code;
	if (error.code == NULL)
		return BOOKING_GRAPH_UNCLEAR;
	*problem = booking_report_code(arena, error.code, code);
	if (!find(error.code, &refusal) && error.inner != NULL &&
		find(error.inner, &refusal))
		*problem = booking_report_code(arena, error.inner, code);
	return refusal;
}

/*
 * Look up a code; false if it is not in the list.
 */
static bool
find(const char *code, BookingGraphRefusal *refusal)
{
	for (int i = 0; i < (int) lengthof(codes); i++)
	{
		if (pg_strcasecmp(code, codes[i].code) == 0)
		{
			*refusal = codes[i].refusal;
			return true;
		}
	}
	return false;
}

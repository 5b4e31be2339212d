/*-------------------------------------------------------------------------
 *
 * delivery.c
 *	  what becomes of a delivery to a subscriber
 *
 * IDENTIFICATION
 *	  booking/src/codec/delivery.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/delivery.h"

#define MICROSECONDS INT64CONST(1000000)

/*
 * See delivery.h.  An answer that is larger than we read was given all the same.
 */
BookingDeliveryVerdict
booking_delivery_judge(const BookingHttpResponse *response,
					   const char **problem)
{
	bool		answered = response->transport == BOOKING_TRANSPORT_COMPLETE ||
		response->transport == BOOKING_TRANSPORT_TOO_LARGE;

	*problem = NULL;
	if (answered && response->status >= 200 && response->status <= 299)
		return BOOKING_DELIVERY_ACCEPTED;
	if (answered && response->status == 410)
	{
		*problem = "gone";
		return BOOKING_DELIVERY_GONE;
	}
	if (!answered || response->status == 0)
		*problem = response->transport == BOOKING_TRANSPORT_NOT_SENT ? "not_reached" :
			response->transport == BOOKING_TRANSPORT_REFUSED ? "not_allowed" :
			"no_answer";
	else if (response->status >= 300 && response->status <= 399)
		*problem = "redirected";
	else if (response->status == 429)
		*problem = "rate_limited";
	else if (response->status >= 500)
		*problem = "server_error";
	else
		*problem = "refused";
	return BOOKING_DELIVERY_FAILED;
}

/*
 * See delivery.h.
 */
int64
booking_delivery_pause(int first, int failures, uint32 random)
{
	int64		pause = first;

	for (int i = 1; i < failures && pause < BOOKING_DELIVERY_LAST_SECS; i++)
		pause *= 2;
	if (pause > BOOKING_DELIVERY_LAST_SECS)
		pause = BOOKING_DELIVERY_LAST_SECS;
	pause *= MICROSECONDS;
	return pause / 2 + (int64) ((double) random / PG_UINT32_MAX * (pause / 2));
}

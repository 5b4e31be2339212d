/*-------------------------------------------------------------------------
 *
 * provider.c
 *	  the providers that there are
 *
 * IDENTIFICATION
 *	  booking/src/provider/provider.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/provider.h"

static const BookingProvider *const providers[] = {
	&booking_provider_caldav,
	&booking_provider_google,
	&booking_provider_graph,
};

/*
 * The adapter of a name, as given to booking_account_put; NULL if there is
 * none.
 */
const BookingProvider *
booking_provider_find(const char *name)
{
	for (int i = 0; i < (int) lengthof(providers); i++)
	{
		if (strcmp(providers[i]->name, name) == 0)
			return providers[i];
	}
	return NULL;
}

/*
 * The adapters one after the other, from 0; NULL behind the last.
 */
const BookingProvider *
booking_provider_get(int place)
{
	return place < (int) lengthof(providers) ? providers[place] : NULL;
}

/*
 * The names of all, for a hint.
 */
const char *
booking_provider_names(void)
{
	return "caldav, google, graph";
}

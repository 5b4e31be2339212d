/*-------------------------------------------------------------------------
 *
 * limits.c
 *	  limits of requests, from the settings
 *
 * IDENTIFICATION
 *	  booking/src/controller/limits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "controller/limits.h"
#include "guc.h"

#define MAX_BODY_BYTES (8 * 1024 * 1024)
#define MAX_SHARED_BODY_BYTES (2 * 1024 * 1024)
#define TRICKLE_BYTES 16
#define TRICKLE_SECONDS 10

static const char *keep(const char *previous, const char *value);

/*
 * The limits of requests, valid for the life of the process: the engine keeps
 * the pointer while a request is out.  A reload changes them in place; strings
 * that it replaces are left behind, since a request may still use them.
 */
const BookingHttpLimits *
booking_http_limits(void)
{
	static BookingHttpLimits limits = {0};

	limits.resolve_connect_timeout = booking_http_connect_timeout;
	limits.first_byte_timeout = booking_http_first_byte_timeout;
	limits.trickle_bytes = TRICKLE_BYTES;
	limits.trickle_seconds = TRICKLE_SECONDS;
	limits.total_timeout = booking_http_timeout;
	limits.max_body = MAX_BODY_BYTES;
	limits.ca_file = keep(limits.ca_file, booking_ca_file);
	limits.insecure_hosts = keep(limits.insecure_hosts, booking_insecure_hosts);
	limits.allowed_networks = keep(limits.allowed_networks,
								   booking_allowed_networks);
	return &limits;
}

/*
 * The same for answers of which several are in hand at a time.
 */
const BookingHttpLimits *
booking_http_limits_shared(void)
{
	static BookingHttpLimits limits;

	limits = *booking_http_limits();
	limits.max_body = MAX_SHARED_BODY_BYTES;
	return &limits;
}

/*
 * A copy of a setting that outlives a reload; the previous one if it is equal,
 * NULL for an empty one.
 */
static const char *
keep(const char *previous, const char *value)
{
	if (value == NULL || value[0] == '\0')
		return NULL;
	if (previous != NULL && strcmp(previous, value) == 0)
		return previous;
	return MemoryContextStrdup(TopMemoryContext, value);
}

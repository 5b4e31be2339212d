/*-------------------------------------------------------------------------
 *
 * payload.h
 *	  the exact values an intent is bound to
 *
 * IDENTIFICATION
 *	  booking/src/ledger/payload.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PAYLOAD_H
#define BOOKING_PAYLOAD_H

#include "postgres.h"

#include "fmgr.h"

#include "store/record.h"

/* how the arguments after the identity name what is wanted */
typedef enum BookingShape
{
	BOOKING_SHAPE_RESOURCE,		/* resource, during, expected_version */
	BOOKING_SHAPE_SLOT,			/* resource, slot, expected_version */
	BOOKING_SHAPE_ALL			/* resources, during, expected_versions */
} BookingShape;

/* field names that differ, for the detail of a conflict */
#define BOOKING_PAYLOAD_FIELDS 7
typedef struct BookingDifference
{
	int			count;
	const char *fields[BOOKING_PAYLOAD_FIELDS];
} BookingDifference;

/* a resource after the first, with the version demanded of it */
typedef struct BookingMember
{
	const text *resource;
	int64		version;
} BookingMember;

extern int	booking_payload_from_args(FunctionCallInfo fcinfo, int n,
									  BookingShape shape,
									  BookingPayload *payload);
extern bool booking_payload_equal(const BookingPayload *a,
								  const BookingPayload *b,
								  bool with_supersedes,
								  BookingDifference *difference);
extern BookingMember *booking_payload_members(const BookingPayload *payload);

#endif							/* BOOKING_PAYLOAD_H */

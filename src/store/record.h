/*-------------------------------------------------------------------------
 *
 * record.h
 *	  rows of the store as structs
 *
 * Pointers refer to memory of the SPI procedure context: they are valid until
 * the call that read them ends, and need not be freed.
 *
 * IDENTIFICATION
 *	  booking/src/store/record.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_RECORD_H
#define BOOKING_RECORD_H

#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/rangetypes.h"
#include "utils/timestamp.h"

/* tenant, principal and intent: the identity of one business intent */
typedef struct BookingIdentity
{
	text	   *tenant;
	text	   *principal;
	text	   *intent;
} BookingIdentity;

/* the exact values of a claim or proposal, as given or as stored */
typedef struct BookingPayload
{
	int			nresources;
	text	  **resources;		/* the first is bound as such, the rest a set */
	int64	   *versions;		/* NULL: none demanded; else one a resource */
	text	   *slot;			/* NULL: an interval was named */
	bool		has_during;		/* false for a slot nobody knew, and if purged */
	TimestampTz start;
	TimestampTz end;
	int32		units;
	Jsonb	   *terms;
	text	   *supersedes;		/* NULL: none */
	bytea	   *digest;			/* NULL: all of it is there; else of what was */
	int64		intent_id;		/* that the digest is bound to */
} BookingPayload;

/* a row of booking.intent */
typedef struct BookingIntent
{
	int64		intent_id;
	int32		revision;
	int32		version;		/* 0: identity-only tombstone, no payload */
	BookingPayload payload;
	text	   *intent;
	text	   *disposition;
	text	   *state;
	text	   *remote;
	text	   *event;
	text	   *receipt;		/* NULL: none yet */
	text	   *successor;		/* NULL: not superseded */
	Jsonb	   *detail;			/* NULL: nothing to explain */
} BookingIntent;

/* a row of booking.proposal */
typedef struct BookingProposal
{
	int32		version;
	bool		held;			/* it was made with a hold */
	TimestampTz expires_at;		/* valid if held */
	text	   *state;
	Jsonb	   *snapshot;
	text	   *proposed_role;
	BookingPayload payload;
} BookingProposal;

/* a calendar whose busy events count for a resource */
typedef struct BookingBusyCalendar
{
	int64		calendar_id;
	bool		one_unit;		/* an event takes one unit, else all of them */
	text	   *calendar;
} BookingBusyCalendar;

/* a row of booking.resource */
typedef struct BookingResource
{
	text	   *name;
	int64		resource_id;
	int32		capacity;
	int64		buffer_before;	/* microseconds */
	int64		buffer_after;	/* microseconds */
	int64		version;
	bool		overrides;
	text	   *calendar;		/* NULL: claims stay local */
	int			nbusy;			/* calendars whose events count */
	BookingBusyCalendar *busy;	/* read by booking_store_resources_read only */
} BookingResource;

/* a row of booking.reservation */
typedef struct BookingReservation
{
	int64		intent_id;
	int32		piece;
	int32		unit;
	TimestampTz start;
	TimestampTz end;
	bool		held;
	TimestampTz hold_until;		/* valid if held */
	bool		override;
} BookingReservation;

extern void booking_range_bounds(Datum range, TimestampTz *start,
								 TimestampTz *end);
extern RangeType *booking_range_make(TimestampTz start, TimestampTz end);
extern int	booking_text_compare(const text *a, const text *b);
extern bool booking_text_is(const text *a, const char *word);
extern void booking_record_text_array(Datum array, int *count,
									  text ***elements);
extern int64 *booking_record_int8_array(Datum array, int count);
extern ArrayType *booking_record_make_text_array(text **elements, int count);
extern ArrayType *booking_record_make_bool_array(const bool *elements,
												 int count);
extern ArrayType *booking_record_make_int8_array(const int64 *elements,
												 int count);

extern ArrayType *booking_record_make_int4_array(const int32 *elements,
												 int count);

#endif							/* BOOKING_RECORD_H */

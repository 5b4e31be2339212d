/*-------------------------------------------------------------------------
 *
 * store.h
 *	  what the store reads and writes
 *
 * Every function runs as the owner of the relations, connected to SPI, and
 * returns memory of the SPI procedure context.  Locks are the caller's matter.
 *
 * IDENTIFICATION
 *	  booking/src/store/store.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_STORE_H
#define BOOKING_STORE_H

#include "nodes/pg_list.h"

#include "store/record.h"

/* what a first call records; see the columns of booking.intent */
typedef struct BookingIntentRow
{
	int64		intent_id;
	int32		version;
	const BookingIdentity *identity;
	const BookingPayload *payload;	/* NULL: identity-only tombstone */
	const char *disposition;
	const char *state;
	const char *remote;
	text	   *receipt;		/* NULL: none */
	text	   *override_reason;	/* NULL: no override */
	Jsonb	   *detail;			/* NULL: nothing to explain */
	Jsonb	   *evidence;		/* NULL: none given */
	text	   *role;
	TimestampTz now;
} BookingIntentRow;

/* a role that is bound to a tenant */
typedef struct BookingBoundRole
{
	const text *role;			/* its name */
	Oid			role_oid;		/* that it had, if bound in this cluster */
} BookingBoundRole;

/* a row of booking.reservation to be written */
typedef struct BookingReservationRow
{
	int64		intent_id;
	int64		resource_id;
	int32		piece;
	int32		unit;
	RangeType  *occupied;
	const TimestampTz *hold_until;	/* NULL: a booking */
	bool		override;
	text	   *tenant;
} BookingReservationRow;

/* what a later call changes; NULL pointers leave the column as it is */
typedef struct BookingIntentChange
{
	int64		intent_id;
	const char *disposition;
	const char *state;
	const char *remote;
	const char *event;
	text	   *receipt;
	text	   *successor;
	Jsonb	   *detail;			/* replaces the column, NULL included */
	text	   *role;
	TimestampTz now;
} BookingIntentChange;

/* a filter of booking_list */
typedef struct BookingListFilter
{
	text	   *tenant;
	text	   *principal;
	RangeType  *within;			/* NULL: any time */
	text	   *state;			/* NULL: any state */
	text	   *after;			/* NULL: from the start */
} BookingListFilter;

/* intent.c */
extern int64 booking_store_next_intent_id(void);
extern BookingIntent *booking_store_intent_read(const BookingIdentity *identity);
extern BookingIntent *booking_store_intent_by_id(int64 intent_id,
												 BookingIdentity *identity);
extern bool booking_store_intent_insert(const BookingIntentRow *row);
extern void booking_store_intent_record(const BookingIntentRow *row);
extern void booking_store_intent_change(const BookingIntentChange *change);
extern void booking_store_intent_repropose(int64 intent_id, int32 version,
										   const BookingPayload *payload,
										   const char *disposition,
										   text *role, TimestampTz now);
extern BookingIntent **booking_store_intent_list(const BookingListFilter *filter,
												 int limit, int *count);

/* proposal.c */
extern BookingProposal *booking_store_proposal_read(int64 intent_id,
													int32 version);
extern List *booking_store_proposals_before(int64 intent_id, int32 version);
extern void booking_store_proposal_insert(int64 intent_id,
										  const BookingProposal *proposal,
										  Jsonb *evidence, TimestampTz now);
extern void booking_store_proposal_decide(int64 intent_id, int32 version,
										  const char *state, text *decided_by,
										  text *role, text *reason,
										  TimestampTz now);
extern void booking_store_proposal_displace(int64 intent_id, int32 version);

/* reservation.c */
extern bool booking_store_reservation_insert(const BookingReservationRow *row);
extern BookingReservation *booking_store_reservation_overlap(int64 resource_id,
															 TimestampTz start,
															 TimestampTz end,
															 int *count);
extern BookingReservation *booking_store_reservation_all(int64 resource_id,
														 int *count);
extern bool booking_store_reservation_exists(int64 intent_id, bool hold);
extern void booking_store_reservation_delete(int64 intent_id);
extern void booking_store_reservation_delete_piece(int64 intent_id, int32 piece);
extern void booking_store_reservation_relane(BookingReservation **rows,
											 const int32 *lanes, int count);

/* inventory.c */
extern BookingResource *booking_store_resources_read(text *tenant,
													 text **names, int count,
													 int *found);
extern bool booking_store_tenant_four_eyes(text *tenant);
extern bool booking_store_slot_read(text *tenant, text *resource, text *slot,
									TimestampTz *start, TimestampTz *end,
									int64 *version);
extern bool booking_store_slot_put(text *tenant, text *resource, text *slot,
								   RangeType *during, int64 version);
extern bool booking_store_resource_insert(text *tenant, text *resource,
										  int32 capacity, text *time_zone,
										  int64 buffer_before,
										  int64 buffer_after);
extern bool booking_store_resource_lookup(text *tenant, text *resource,
										  BookingResource *found,
										  text **time_zone);
extern void booking_store_resource_update(int64 resource_id, int32 capacity,
										  text *time_zone, int64 buffer_before,
										  int64 buffer_after);
extern void booking_store_resource_mark_overrides(int64 resource_id);
extern int64 booking_store_slot_bookings(text *tenant, text *resource,
										 text *slot);
extern void booking_store_tenant_put(text *tenant, const bool *four_eyes);

/* access.c */
extern bool booking_store_permitted(text *tenant, text *principal,
									text *resource);
extern bool booking_store_permission_any(text *tenant, text *principal);
extern void booking_store_permission_put(text *tenant, text *principal,
										 text *resource, bool allowed);
extern void booking_store_bound_roles(text *tenant, int64 cluster, int *count,
									  const BookingBoundRole **roles);
extern void booking_store_bind_role(text *tenant, text *role, Oid role_oid,
									int64 cluster);
extern void booking_store_unbind_role(text *tenant, text *role);

/* audit.c */
extern void booking_store_audit(const char *action, text *role, text *tenant,
								text *principal, text *intent, Jsonb *detail,
								Jsonb *evidence, TimestampTz now);

/* check.c */
typedef void (*BookingCheckReport) (void *arg, Datum *columns);
extern void booking_store_check(BookingCheckReport report, void *arg);

#endif							/* BOOKING_STORE_H */

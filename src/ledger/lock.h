/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  the ledger's locks
 *
 * IDENTIFICATION
 *	  booking/src/ledger/lock.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LOCK_H
#define BOOKING_LOCK_H

#include "postgres.h"

#include "store/record.h"
#include "storage/lock.h"

#define BOOKING_PERMISSION_BUCKETS 1024
#define BOOKING_INTENT_BUCKETS 4096

/* bookings that one delivery speaks of */
#define BOOKING_WEBHOOK_BOOKINGS 3

extern void booking_lock_allow_waiting(bool allowed);
extern void booking_lock_binding(const text *tenant, LOCKMODE mode);
extern void booking_lock_permission(const text *tenant, const text *principal,
									LOCKMODE mode);
extern void booking_lock_permissions(const text *tenant, const text *principal,
									 const text *approver, LOCKMODE mode);
extern void booking_lock_intents(const BookingIdentity *identity,
								 const text *predecessor);
extern void booking_lock_webhook(const BookingIdentity *identity,
								 const text *const *bookings, int count);
extern bool booking_lock_intent_try(const BookingIdentity *identity);
extern void booking_lock_feed(const text *tenant);
extern bool booking_lock_feed_try(const text *tenant);
extern void booking_unlock_feed(const text *tenant);
extern void booking_lock_place(const text *tenant, const text *account);
extern bool booking_lock_place_try(const text *tenant, const text *account);
extern bool booking_lock_worker_try(void);
extern int	booking_lock_worker_holder(void);
extern bool booking_lock_signin_try(const text *tenant, const text *account);
extern void booking_unlock_signin(const text *tenant, const text *account);
extern void booking_unlock_intents(const BookingIdentity *identity,
								   const text *predecessor);
extern void booking_lock_resource(int64 resource_id, LOCKMODE mode);
extern bool booking_lock_resource_try(int64 resource_id, LOCKMODE mode);
extern void booking_unlock_resource(int64 resource_id, LOCKMODE mode);

#endif							/* BOOKING_LOCK_H */

/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  differences between the supported PostgreSQL versions
 *
 * The only file that may test PG_VERSION_NUM.
 *
 * IDENTIFICATION
 *	  booking/src/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_COMPAT_H
#define BOOKING_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000
#error "booking needs PostgreSQL 15 or later"
#endif

#include "catalog/pg_database.h"
#include "catalog/pg_proc.h"
#include "utils/acl.h"
#include "utils/rangetypes.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"

#define booking_make_range(typcache, lower, upper, empty) \
	make_range(typcache, lower, upper, empty, NULL)
#define booking_proc_aclcheck(proc, role, mode) \
	object_aclcheck(ProcedureRelationId, proc, role, mode)
#define booking_database_ownercheck(database, role) \
	object_ownercheck(DatabaseRelationId, database, role)
#else
#define booking_make_range(typcache, lower, upper, empty) \
	make_range(typcache, lower, upper, empty)
#define booking_proc_aclcheck(proc, role, mode) \
	pg_proc_aclcheck(proc, role, mode)
#define booking_database_ownercheck(database, role) \
	pg_database_ownercheck(database, role)
#endif

#if PG_VERSION_NUM >= 170000
#define BOOKING_HAVE_TRANSACTION_TIMEOUT
#define booking_create_wait_event_set(context, nevents) \
	CreateWaitEventSet(NULL, nevents)
#else
#define booking_create_wait_event_set(context, nevents) \
	CreateWaitEventSet(context, nevents)
#endif

/* for users of executor/executor.h; none is an invalid pointer */
#if PG_VERSION_NUM >= 180000
#define booking_check_index_constraints(target, slot, estate, conflict, none, arbiters) \
	ExecCheckIndexConstraints(target, slot, estate, conflict, none, arbiters)
#else
#define booking_check_index_constraints(target, slot, estate, conflict, none, arbiters) \
	((void) (none), ExecCheckIndexConstraints(target, slot, estate, conflict, arbiters))
#endif
/* for users of access/genam.h */
#if PG_VERSION_NUM >= 180000
#define booking_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys)
#else
#define booking_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#endif

#if PG_VERSION_NUM >= 160000
#define booking_insert_index_tuples(target, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(target, slot, estate, false, true, conflict, \
						  arbiters, false)
#else
#define booking_insert_index_tuples(target, slot, estate, conflict, arbiters) \
	ExecInsertIndexTuples(target, slot, estate, false, true, conflict, arbiters)
#endif

#if PG_VERSION_NUM >= 170000
#define booking_index_insert_cleanup(index, info) index_insert_cleanup(index, info)
#else
#define booking_index_insert_cleanup(index, info) ((void) (index), (void) (info))
#endif

/* since 18 it stands before a declaration; until then it stood behind */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

/* came with a minor release of 15 */
#ifndef palloc_array
#define palloc_array(type, count) ((type *) palloc(sizeof(type) * (count)))
#define palloc0_array(type, count) ((type *) palloc0(sizeof(type) * (count)))
#define palloc_object(type) ((type *) palloc(sizeof(type)))
#define palloc0_object(type) ((type *) palloc0(sizeof(type)))
#endif

#endif							/* BOOKING_COMPAT_H */

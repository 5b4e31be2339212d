/*-------------------------------------------------------------------------
 *
 * row.c
 *	  writing and finding one row without a statement
 *
 * A claim finds one row and writes two.  As statements these three would cost
 * half of it: each is begun and ended by the executor, which reads the CHECKs
 * and the expressions of indexes from their text every time, and an INSERT with
 * ON CONFLICT looks for a conflict before and after it has inserted.  Here the
 * same functions of the executor are called with what they need kept from call
 * to call, as plans are; and the row is inserted first, so that a conflict is
 * looked for once where there is none.
 *
 * What a statement would do and this does not, is left to the statement:
 * triggers, rules, partitions, generated columns, deferrable constraints and
 * columns we do not know.  Row security never applies, because the ledger acts
 * as the owner.
 *
 * Like a plan, what is kept is made anew when the relation, one of its indexes
 * or a function has changed.
 *
 * IDENTIFICATION
 *	  booking/src/store/row.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "compat.h"
#include "store/row.h"

#define MAX_KEYS 4

/* what is kept of an insert or a search */
struct BookingDirect
{
	BookingDirect *next;		/* of all */
	MemoryContext context;		/* of what follows */
	bool		valid;
	bool		serves;			/* no statement is needed */
	Oid			relation;
	Oid			index;			/* searched, or of the arbiter */
	/* of an insert */
	int			nindexes;
	Oid		   *indexes;
	EState	   *estate;
	ResultRelInfo *target;
	List	   *arbiters;
	TupleTableSlot *slot;
	bool		conflicted;		/* the last row could not be inserted */
	/* of a search */
	int			nkeys;
	ScanKeyData keys[MAX_KEYS];
};

static bool insert_slot(BookingDirect *direct);
static bool insert_speculatively(BookingDirect *direct);
static Relation open_target(BookingInsert *insert);
static void open_indexes(BookingDirect *direct);
static void close_target(BookingDirect *direct, Relation relation);
static void prepare_insert(BookingInsert *insert);
static bool insert_serves(Relation relation, int ncolumns);
static bool open_search(BookingSearch *search, Relation *relation,
						Relation *index);
static void prepare_search(BookingSearch *search);
static BookingDirect *begin_prepare(BookingDirect *direct, const char *table,
									const char *index);
static int	count_parameters(const BookingPlan *plan);
static void on_relation(Datum arg, Oid relid);
static void on_function(Datum arg, int cacheid, uint32 hash);

static BookingDirect *all_direct = NULL;

/*
 * Insert a row, unless the arbiter's constraint forbids it; waits for a
 * transaction in progress that wrote what would.  Returns whether it was
 * inserted.
 */
bool
booking_row_insert(BookingInsert *insert, Datum *values, bool *nulls)
{
	Relation	relation = open_target(insert);
	BookingDirect *direct = insert->direct;
	TupleTableSlot *slot;
	bool		inserted;

	if (relation == NULL)
		return booking_plan_run(&insert->plan, values, nulls, 0) == 1;

	slot = direct->slot;
	ResetPerTupleExprContext(direct->estate);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * slot->tts_tupleDescriptor->natts);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * slot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = direct->relation;
	ExecConstraints(direct->target, slot, direct->estate);
	inserted = insert_slot(direct);
	ExecClearTuple(slot);
	close_target(direct, relation);
	return inserted;
}

/*
 * Insert the slot's row, unless there is a conflict.
 *
 * A row that is taken back leaves a dead one, and counts as written for a
 * serializable transaction; so look first there, and after a conflict, which
 * seldom comes alone.
 */
static bool
insert_slot(BookingDirect *direct)
{
	ItemPointerData conflict;
	ItemPointerData none;
	bool		look = direct->conflicted || IsolationIsSerializable();

	ItemPointerSetInvalid(&none);
	for (;;)
	{
		/* waits for those in progress */
		if (look && !booking_check_index_constraints(direct->target,
													 direct->slot,
													 direct->estate,
													 &conflict, &none,
													 direct->arbiters))
		{
			direct->conflicted = true;
			return false;
		}
		if (insert_speculatively(direct))
			break;
		CHECK_FOR_INTERRUPTS();
		look = true;
	}
	direct->conflicted = false;
	return true;
}

/*
 * Insert the slot's row; when the arbiter then shows another one, finished or
 * not, take it back.  (ExecInsert in nodeModifyTable.c does the same.)
 */
static bool
insert_speculatively(BookingDirect *direct)
{
	Relation	relation = direct->target->ri_RelationDesc;
	TransactionId xid = GetCurrentTransactionId();
	uint32		token = SpeculativeInsertionLockAcquire(xid);
	bool		conflict = false;

	table_tuple_insert_speculative(relation, direct->slot,
								   GetCurrentCommandId(true), 0, NULL, token);
	booking_insert_index_tuples(direct->target, direct->slot, direct->estate,
								&conflict, direct->arbiters);
	table_tuple_complete_speculative(relation, direct->slot, token, !conflict);
	SpeculativeInsertionLockRelease(xid);
	return !conflict;
}

/*
 * Find the row with the keys, which are not NULL, in the latest snapshot.  The
 * values live in the current memory context.
 */
bool
booking_row_search(BookingSearch *search, Datum *keys, Datum *values,
				   bool *nulls)
{
	Relation	relation;
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	HeapTuple	tuple = NULL;

	if (!open_search(search, &relation, &index))
	{
		if (booking_plan_run(&search->plan, keys, NULL, 1) == 0)
			return false;
		heap_deform_tuple(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
						  values, nulls);
		return true;
	}

	/* what this call wrote before must be visible */
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());

	for (int i = 0; i < search->direct->nkeys; i++)
		search->direct->keys[i].sk_argument = keys[i];
	slot = table_slot_create(relation, NULL);
	scan = index_beginscan(relation, index, GetActiveSnapshot(),
						   search->direct->nkeys, 0);
	index_rescan(scan, search->direct->keys, search->direct->nkeys, NULL, 0);
	if (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		TupleDesc	tupdesc = RelationGetDescr(relation);

		tuple = ExecCopySlotHeapTuple(slot);
		for (int i = 0; i < search->ncolumns; i++)
			values[i] = heap_getattr(tuple, i + 1, tupdesc, &nulls[i]);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);

	PopActiveSnapshot();
	index_close(index, NoLock);
	table_close(relation, NoLock);
	return tuple != NULL;
}

/*
 * Open the table and the indexes of an insert; NULL if it needs its statement.
 */
static Relation
open_target(BookingInsert *insert)
{
	for (;;)
	{
		BookingDirect *direct;
		Relation	relation;

		if (insert->direct == NULL || !insert->direct->valid)
			prepare_insert(insert);
		direct = insert->direct;
		if (!direct->serves)
			return NULL;

		/* locking accepts messages that things have changed */
		relation = table_open(direct->relation, RowExclusiveLock);
		direct->target->ri_RelationDesc = relation;
		direct->target->ri_NumIndices = 0;
		if (direct->valid)
			open_indexes(direct);
		if (direct->valid)
			return relation;
		close_target(direct, relation);
	}
}

/*
 * Open the indexes of an insert.
 */
static void
open_indexes(BookingDirect *direct)
{
	ResultRelInfo *target = direct->target;

	for (int i = 0; i < direct->nindexes; i++)
	{
		target->ri_IndexRelationDescs[i] = index_open(direct->indexes[i],
													  RowExclusiveLock);
		target->ri_NumIndices++;
	}
}

/*
 * Close what open_target() opened.  The locks stay, as those of plans do.
 */
static void
close_target(BookingDirect *direct, Relation relation)
{
	for (int i = 0; i < direct->target->ri_NumIndices; i++)
		index_close(direct->target->ri_IndexRelationDescs[i], NoLock);
	table_close(relation, NoLock);
}

/*
 * Prepare an insert, or note that it needs its statement.
 */
static void
prepare_insert(BookingInsert *insert)
{
	BookingDirect *direct = begin_prepare(insert->direct, insert->table,
										  insert->arbiter);
	Relation	relation = table_open(direct->relation, RowExclusiveLock);
	MemoryContext old = MemoryContextSwitchTo(direct->context);

	insert->direct = direct;
	if (insert_serves(relation, count_parameters(&insert->plan)))
	{
		ResultRelInfo *target = makeNode(ResultRelInfo);

		InitResultRelInfo(target, relation, 0, NULL, 0);
		ExecOpenIndices(target, true);
		direct->nindexes = target->ri_NumIndices;
		direct->indexes = palloc_array(Oid, direct->nindexes + 1);
		for (int i = 0; i < direct->nindexes; i++)
			direct->indexes[i] = RelationGetRelid(target->ri_IndexRelationDescs[i]);
		ExecCloseIndices(target);
		direct->target = target;
		direct->arbiters = list_make1_oid(direct->index);
		direct->slot =
			MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(relation)),
									 &TTSOpsVirtual);
		direct->estate = CreateExecutorState();
		direct->serves = true;
	}
	MemoryContextSwitchTo(old);
	table_close(relation, NoLock);
}

/*
 * Would a statement do no more than we do?
 */
static bool
insert_serves(Relation relation, int ncolumns)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	TriggerDesc *triggers = relation->trigdesc;
	List	   *indexes;
	ListCell   *cell;
	bool		serves = true;

	if (relation->rd_rel->relkind != RELKIND_RELATION ||
		relation->rd_rel->relispartition ||
		relation->rd_rel->relhasrules ||
		tupdesc->natts != ncolumns ||
		(tupdesc->constr != NULL && tupdesc->constr->has_generated_stored))
		return false;
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_before_statement ||
		 triggers->trig_insert_after_statement))
		return false;
	for (int i = 0; i < ncolumns; i++)
	{
		if (TupleDescAttr(tupdesc, i)->attisdropped)
			return false;
	}

	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		serves = serves && index->rd_index->indimmediate;
		index_close(index, NoLock);
	}
	list_free(indexes);
	return serves;
}

/*
 * Open the table and the index of a search; false if it needs its statement.
 */
static bool
open_search(BookingSearch *search, Relation *relation, Relation *index)
{
	for (;;)
	{
		BookingDirect *direct;

		if (search->direct == NULL || !search->direct->valid)
			prepare_search(search);
		direct = search->direct;
		if (!direct->serves)
			return false;

		*relation = table_open(direct->relation, AccessShareLock);
		*index = index_open(direct->index, AccessShareLock);
		if (direct->valid)
			return true;
		index_close(*index, NoLock);
		table_close(*relation, NoLock);
	}
}

/*
 * Prepare a search, or note that it needs its statement.
 */
static void
prepare_search(BookingSearch *search)
{
	BookingDirect *direct = begin_prepare(search->direct, search->table,
										  search->index);
	Relation	relation = table_open(direct->relation, AccessShareLock);
	Relation	index = index_open(direct->index, AccessShareLock);
	Form_pg_index form = index->rd_index;
	MemoryContext old = MemoryContextSwitchTo(direct->context);

	search->direct = direct;
	direct->nindexes = 0;
	direct->nkeys = count_parameters(&search->plan);
	direct->serves = relation->rd_rel->relkind == RELKIND_RELATION &&
		RelationGetNumberOfAttributes(relation) >= search->ncolumns &&
		index->rd_rel->relam == BTREE_AM_OID &&
		form->indisunique && form->indimmediate && form->indisvalid &&
		!form->indcheckxmin && form->indnkeyatts == direct->nkeys &&
		direct->nkeys <= MAX_KEYS;
	for (int i = 0; direct->serves && i < direct->nkeys; i++)
	{
		Oid			type = index->rd_opcintype[i];
		Oid			operator = get_opfamily_member(index->rd_opfamily[i],
												   type, type,
												   BTEqualStrategyNumber);

		ScanKeyEntryInitialize(&direct->keys[i], 0, i + 1,
							   BTEqualStrategyNumber, type,
							   index->rd_indcollation[i],
							   get_opcode(operator), (Datum) 0);
	}
	MemoryContextSwitchTo(old);
	index_close(index, NoLock);
	table_close(relation, NoLock);
}

/*
 * Begin to prepare, anew or for the first time.  From here on messages about
 * the relations are noted.
 */
static BookingDirect *
begin_prepare(BookingDirect *direct, const char *table, const char *index)
{
	Oid			schema = get_namespace_oid("booking", false);

	if (all_direct == NULL)
	{
		CacheRegisterRelcacheCallback(on_relation, (Datum) 0);
		CacheRegisterSyscacheCallback(PROCOID, on_function, (Datum) 0);
	}
	if (direct == NULL)
	{
		direct = MemoryContextAllocZero(TopMemoryContext, sizeof(*direct));
		direct->context = AllocSetContextCreate(CacheMemoryContext,
												"booking row access",
												ALLOCSET_SMALL_SIZES);
		direct->next = all_direct;
		all_direct = direct;
	}

	direct->serves = false;
	direct->nindexes = 0;
	MemoryContextReset(direct->context);
	direct->relation = get_relname_relid(table, schema);
	direct->index = get_relname_relid(index, schema);
	direct->valid = true;
	return direct;
}

/*
 * Number of parameters of a statement.
 */
static int
count_parameters(const BookingPlan *plan)
{
	int			count = 0;

	while (count < BOOKING_PLAN_MAX_ARGS && OidIsValid(plan->types[count]))
		count++;
	return count;
}

/*
 * A relation changed, or with InvalidOid messages were lost.  What was
 * prepared may be in use, so it is only marked.
 */
static void
on_relation(Datum arg, Oid relid)
{
	for (BookingDirect *direct = all_direct; direct != NULL; direct = direct->next)
	{
		if (!OidIsValid(relid) || relid == direct->relation ||
			relid == direct->index)
			direct->valid = false;
		for (int i = 0; i < direct->nindexes; i++)
		{
			if (relid == direct->indexes[i])
				direct->valid = false;
		}
	}
}

/*
 * A function changed, perhaps one that a CHECK or an index calls.
 */
static void
on_function(Datum arg, int cacheid, uint32 hash)
{
	for (BookingDirect *direct = all_direct; direct != NULL; direct = direct->next)
		direct->valid = false;
}

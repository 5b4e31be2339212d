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
 * triggers, rules, partitions, generated columns, deferrable constraints,
 * columns, indexes and constraints other than those we know, and a call within
 * a call, from a CHECK that calls the ledger.  Row security never applies,
 * because the ledger acts as the owner.
 *
 * A statement resolves names in the catalog only (plan.c).  Nothing here has a
 * name to resolve: a CHECK or an index whose functions might look names up where
 * the caller says needs the statement too.  That is any function that is not
 * compiled; and any that is not immutable, for such a one may read a name from
 * its argument, or fill a row type of the owner's, whose domains have CHECKs that
 * call whatever the owner likes.
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

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compat.h"
#include "store/row.h"

#define MAX_KEYS 4

/* what is kept of an insert or a search */
struct BookingDirect
{
	BookingDirect *next;		/* of all */
	MemoryContext context;		/* of what follows */
	bool		valid;			/* prepared, and nothing has changed since */
	bool		changed;		/* while it was prepared */
	bool		serves;			/* no statement is needed */
	bool		busy;			/* an insert is under way */
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
	int			ncolumns;
	int			nkeys;
	ScanKeyData keys[MAX_KEYS];
};

static bool insert_row(BookingDirect *direct, Datum *values, bool *nulls);
static bool insert_slot(BookingDirect *direct);
static bool insert_speculatively(BookingDirect *direct);
static Relation open_target(BookingInsert *insert);
static void open_indexes(BookingDirect *direct);
static void close_target(BookingDirect *direct, Relation relation);
static void prepare_insert(BookingInsert *insert);
static void keep_target(BookingDirect *direct, Relation relation);
static bool insert_serves(Relation relation);
static bool is_compiled(Relation index);
static bool has_other_function(Node *node, void *context);
static bool is_other_function(Oid function, void *context);
static bool is_compiled_function(Oid function);
static bool open_search(BookingSearch *search, Relation *relation,
						Relation *index);
static void prepare_search(BookingSearch *search);
static void keep_keys(BookingSearch *search, Relation relation);
static BookingDirect *begin_prepare(BookingDirect **place);
static Relation lock_table(BookingDirect *direct, const char *table,
						   LOCKMODE mode);
static bool has_columns(Relation relation, const char *columns, int count,
						const Oid *types);
static List *name_list(const char *names);
static int	count_names(const char *names);
static int	count_parameters(const BookingPlan *plan);
static void on_relation(Datum arg, Oid relid);
static void on_function(Datum arg, int cacheid, uint32 hash);
static void mark(BookingDirect *direct);

static BookingDirect *all_direct = NULL;

/*
 * Insert a row, unless the arbiter's constraint forbids it; waits for a
 * transaction in progress that wrote what would.  Returns whether it was
 * inserted.
 */
bool
booking_row_insert(BookingInsert *insert, Datum *values, bool *nulls)
{
	Relation	relation = NULL;
	bool		inserted;

	if (insert->direct == NULL || !insert->direct->busy)
		relation = open_target(insert);
	if (relation == NULL)
		return booking_plan_run(&insert->plan, values, nulls, 0) == 1;

	insert->direct->busy = true;
	PG_TRY();
	{
		inserted = insert_row(insert->direct, values, nulls);
	}
	PG_FINALLY();
	{
		insert->direct->busy = false;
	}
	PG_END_TRY();
	close_target(insert->direct, relation);
	return inserted;
}

/*
 * Put the row into the slot, check it and insert it, unless there is a
 * conflict.
 */
static bool
insert_row(BookingDirect *direct, Datum *values, bool *nulls)
{
	TupleTableSlot *slot = direct->slot;
	bool		inserted;

	ResetPerTupleExprContext(direct->estate);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, sizeof(Datum) * slot->tts_tupleDescriptor->natts);
	memcpy(slot->tts_isnull, nulls, sizeof(bool) * slot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = direct->relation;
	ExecConstraints(direct->target, slot, direct->estate);
	inserted = insert_slot(direct);
	ExecClearTuple(slot);
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
	scan = booking_index_beginscan(relation, index, GetActiveSnapshot(),
								   search->direct->nkeys, 0);
	index_rescan(scan, search->direct->keys, search->direct->nkeys, NULL, 0);
	if (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		TupleDesc	tupdesc = RelationGetDescr(relation);

		tuple = ExecCopySlotHeapTuple(slot);
		for (int i = 0; i < search->direct->ncolumns; i++)
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
		relation = try_table_open(direct->relation, RowExclusiveLock);
		if (relation == NULL)
			continue;
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
 * Open the indexes of an insert.  Under the lock of the table none can go.
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
	ResultRelInfo *target = direct->target;

	for (int i = 0; i < target->ri_NumIndices; i++)
	{
		booking_index_insert_cleanup(target->ri_IndexRelationDescs[i],
									 target->ri_IndexRelationInfo[i]);
		index_close(target->ri_IndexRelationDescs[i], NoLock);
	}
	table_close(relation, NoLock);
}

/*
 * Prepare an insert, or note that it needs its statement.
 */
static void
prepare_insert(BookingInsert *insert)
{
	BookingDirect *direct = begin_prepare(&insert->direct);
	Relation	relation = lock_table(direct, insert->table, RowExclusiveLock);
	MemoryContext old = MemoryContextSwitchTo(direct->context);

	if (relation != NULL)
	{
		Oid			constraint = get_relation_constraint_oid(direct->relation,
															 insert->arbiter, true);

		if (OidIsValid(constraint))
			direct->index = get_constraint_index(constraint);
		direct->ncolumns = count_parameters(&insert->plan);
		if (OidIsValid(direct->index) &&
			RelationGetNumberOfAttributes(relation) == direct->ncolumns &&
			has_columns(relation, insert->columns, direct->ncolumns,
						insert->plan.types) &&
			insert_serves(relation))
			keep_target(direct, relation);
		table_close(relation, NoLock);
	}
	MemoryContextSwitchTo(old);
	direct->valid = !direct->changed;
}

/*
 * Keep what an insert needs from call to call.
 */
static void
keep_target(BookingDirect *direct, Relation relation)
{
	ResultRelInfo *target = makeNode(ResultRelInfo);

	InitResultRelInfo(target, relation, 0, NULL, 0);
	ExecOpenIndices(target, true);
	direct->indexes = palloc_array(Oid, target->ri_NumIndices + 1);
	for (int i = 0; i < target->ri_NumIndices; i++)
		direct->indexes[i] = RelationGetRelid(target->ri_IndexRelationDescs[i]);
	direct->nindexes = target->ri_NumIndices;
	ExecCloseIndices(target);
	direct->target = target;
	direct->arbiters = list_make1_oid(direct->index);
	direct->slot =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(relation)),
								 &TTSOpsVirtual);
	direct->estate = CreateExecutorState();
	direct->serves = true;
}

/*
 * Would a statement do no more than we do?
 */
static bool
insert_serves(Relation relation)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	TriggerDesc *triggers = relation->trigdesc;
	List	   *indexes;
	ListCell   *cell;
	bool		serves = true;

	if (relation->rd_rel->relkind != RELKIND_RELATION ||
		relation->rd_rel->relispartition ||
		relation->rd_rel->relhasrules ||
		(tupdesc->constr != NULL && tupdesc->constr->has_generated_stored))
		return false;
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_before_statement ||
		 triggers->trig_insert_after_statement))
		return false;

	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		serves = serves && index->rd_index->indimmediate && is_compiled(index);
		index_close(index, NoLock);
	}
	list_free(indexes);
	for (int i = 0; tupdesc->constr != NULL && i < tupdesc->constr->num_check; i++)
		serves = serves &&
			!has_other_function(stringToNode(tupdesc->constr->check[i].ccbin),
								NULL);
	return serves;
}

/*
 * Does an index call nothing but compiled functions?
 */
static bool
is_compiled(Relation index)
{
	int			nsupport = index->rd_indam->amsupport *
		IndexRelationGetNumberOfKeyAttributes(index);

	for (int i = 0; i < nsupport; i++)
	{
		if (OidIsValid(index->rd_support[i]) &&
			!is_compiled_function(index->rd_support[i]))
			return false;
	}
	return !has_other_function((Node *) RelationGetIndexExpressions(index), NULL) &&
		!has_other_function((Node *) RelationGetIndexPredicate(index), NULL);
}

/*
 * Has an expression a function that may look names up, or a domain that may call
 * one?
 */
static bool
has_other_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, is_other_function, context) ||
		expression_tree_walker(node, has_other_function, context);
}

/*
 * May a function look names up: itself, or by a type of the owner's that it makes
 * a value of?
 */
static bool
is_other_function(Oid function, void *context)
{
	return !is_compiled_function(function) ||
		func_volatile(function) != PROVOLATILE_IMMUTABLE ||
		get_func_rettype(function) >= FirstUnpinnedObjectId;
}

/*
 * Is a function compiled?
 */
static bool
is_compiled_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		compiled;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	compiled = form->prolang == INTERNALlanguageId ||
		form->prolang == ClanguageId;
	ReleaseSysCache(tuple);
	return compiled;
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

		*relation = try_table_open(direct->relation, AccessShareLock);
		if (*relation == NULL)
			continue;
		if (direct->valid)
		{
			*index = index_open(direct->index, AccessShareLock);
			if (direct->valid)
				return true;
			index_close(*index, NoLock);
		}
		table_close(*relation, NoLock);
	}
}

/*
 * Prepare a search, or note that it needs its statement.
 */
static void
prepare_search(BookingSearch *search)
{
	BookingDirect *direct = begin_prepare(&search->direct);
	Relation	relation = lock_table(direct, search->table, AccessShareLock);
	MemoryContext old = MemoryContextSwitchTo(direct->context);

	if (relation != NULL)
	{
		direct->index = get_relname_relid(search->index,
										  RelationGetNamespace(relation));
		direct->ncolumns = count_names(search->columns);
		direct->nkeys = count_parameters(&search->plan);
		if (OidIsValid(direct->index) &&
			get_rel_relkind(direct->index) == RELKIND_INDEX &&
			relation->rd_rel->relkind == RELKIND_RELATION &&
			has_columns(relation, search->columns, direct->ncolumns, NULL))
			keep_keys(search, relation);
		table_close(relation, NoLock);
	}
	MemoryContextSwitchTo(old);
	direct->valid = !direct->changed;
}

/*
 * Keep the keys of a search, if the index is the one that the statement means:
 * unique, complete, and over the columns in the order of the parameters.
 */
static void
keep_keys(BookingSearch *search, Relation relation)
{
	BookingDirect *direct = search->direct;
	Relation	index = index_open(direct->index, AccessShareLock);
	Form_pg_index form = index->rd_index;
	List	   *names = name_list(search->keys);
	bool		serves = form->indrelid == direct->relation &&
		index->rd_rel->relam == BTREE_AM_OID &&
		form->indisunique && form->indimmediate && form->indisvalid &&
		!form->indcheckxmin && RelationGetIndexPredicate(index) == NIL &&
		is_compiled(index) &&
		form->indnkeyatts == direct->nkeys && direct->nkeys <= MAX_KEYS &&
		list_length(names) == direct->nkeys;

	for (int i = 0; serves && i < direct->nkeys; i++)
	{
		AttrNumber	number = form->indkey.values[i];
		Oid			type = search->plan.types[i];
		Form_pg_attribute column;

		if (number <= 0)
		{
			serves = false;
			break;
		}
		column = TupleDescAttr(RelationGetDescr(relation), number - 1);
		serves = strcmp(NameStr(column->attname), list_nth(names, i)) == 0 &&
			column->atttypid == type && index->rd_opcintype[i] == type &&
			index->rd_indcollation[i] == column->attcollation;
		if (serves)
			ScanKeyEntryInitialize(&direct->keys[i], 0, i + 1,
								   BTEqualStrategyNumber, type,
								   index->rd_indcollation[i],
								   get_opcode(get_opfamily_member(index->rd_opfamily[i],
																  type, type,
																  BTEqualStrategyNumber)),
								   (Datum) 0);
	}
	direct->serves = serves;
	index_close(index, NoLock);
}

/*
 * Begin to prepare, anew or for the first time.  From here on messages about
 * the relations are noted.
 */
static BookingDirect *
begin_prepare(BookingDirect **place)
{
	BookingDirect *direct = *place;

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
		*place = direct;
	}

	direct->valid = false;
	direct->changed = false;
	direct->serves = false;
	direct->relation = InvalidOid;
	direct->index = InvalidOid;
	direct->nindexes = 0;
	MemoryContextReset(direct->context);
	return direct;
}

/*
 * Find a table by its name and lock it; NULL if there is none, which the
 * statement reports.
 */
static Relation
lock_table(BookingDirect *direct, const char *table, LOCKMODE mode)
{
	Oid			schema = get_namespace_oid("booking", false);

	for (;;)
	{
		Relation	relation;

		direct->relation = get_relname_relid(table, schema);
		if (!OidIsValid(direct->relation))
			return NULL;
		relation = try_table_open(direct->relation, mode);
		if (relation != NULL &&
			get_relname_relid(table, schema) == direct->relation)
			return relation;
		if (relation != NULL)
			table_close(relation, NoLock);
	}
}

/*
 * Are the first columns of a relation those named, and of the types, if any
 * are given?
 */
static bool
has_columns(Relation relation, const char *columns, int count,
			const Oid *types)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	List	   *names = name_list(columns);

	if (list_length(names) != count || tupdesc->natts < count)
		return false;
	for (int i = 0; i < count; i++)
	{
		Form_pg_attribute column = TupleDescAttr(tupdesc, i);

		if (column->attisdropped || column->atttypmod != -1 ||
			strcmp(NameStr(column->attname), list_nth(names, i)) != 0 ||
			(types != NULL && column->atttypid != types[i]))
			return false;
	}
	return true;
}

/*
 * The names in a list with commas between.
 */
static List *
name_list(const char *names)
{
	List	   *list;

	if (!SplitIdentifierString(pstrdup(names), ',', &list))
		elog(ERROR, "malformed list of columns");
	return list;
}

/*
 * Number of names in a list with commas between.
 */
static int
count_names(const char *names)
{
	return list_length(name_list(names));
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
		bool		concerned = !OidIsValid(relid) ||
			relid == direct->relation || relid == direct->index;

		for (int i = 0; !concerned && i < direct->nindexes; i++)
			concerned = relid == direct->indexes[i];
		if (concerned)
			mark(direct);
	}
}

/*
 * A function changed, perhaps one that a CHECK or an index calls.
 */
static void
on_function(Datum arg, int cacheid, uint32 hash)
{
	for (BookingDirect *direct = all_direct; direct != NULL; direct = direct->next)
		mark(direct);
}

/*
 * Prepare anew before the next use.
 */
static void
mark(BookingDirect *direct)
{
	direct->valid = false;
	direct->changed = true;
}

/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  running the statements of the store
 *
 * Every statement sees the latest committed state, whatever the isolation
 * level: the ledger reads after it has locked, and a snapshot taken before the
 * lock would show what the lock was taken to exclude.  At REPEATABLE READ and
 * SERIALIZABLE the transaction's own snapshot is the crosscheck of each write,
 * so that a row it could not have seen raises 40001 (ri_triggers.c does the
 * same for foreign keys).
 *
 * The caller is connected to SPI and has become the owner of the relations.
 * Results live until SPI_finish.
 *
 * Names resolve only in the catalog, so saved plans are never analysed anew for
 * a caller's path; and plans are made without sequential scans, because they
 * are kept: one made while a table was empty would scan it for ever after.
 * Most SQL functions say so in a SET clause.  That costs every call, with its
 * share in the client's next statement, which then resolves its own path anew;
 * a function that seldom runs a statement has no such clause, and its
 * statements are pinned here.
 *
 * IDENTIFICATION
 *	  booking/src/store/plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "jit/jit.h"
#include "nodes/parsenodes.h"
#include "optimizer/cost.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "store/plan.h"

#define PINNED_PATH "pg_catalog, pg_temp"

static void pin(const char *name, const char *value);
static int	run_pinned(BookingPlan *plan, Datum *values, const char *marks,
					   Snapshot crosscheck, long limit);
static int	run_uncompiled(BookingPlan *plan, Datum *values, const char *marks,
						   Snapshot crosscheck, long limit);
static void prepare(BookingPlan *plan);

/*
 * Run a statement and return the number of rows it processed; a limit of 0 is
 * none.  nulls may be NULL when no value is.  Rows, if any, are in
 * SPI_tuptable.
 *
 * The crosscheck only matters to UPDATE and DELETE; SELECT and INSERT ignore
 * it.
 */
uint64
booking_plan_run(BookingPlan *plan, Datum *values, const bool *nulls,
				 long limit)
{
	Snapshot	crosscheck = InvalidSnapshot;
	char		marks[BOOKING_PLAN_MAX_ARGS];
	int			nargs = 0;
	int			rc;

	for (; nargs < BOOKING_PLAN_MAX_ARGS && OidIsValid(plan->types[nargs]); nargs++)
		marks[nargs] = nulls != NULL && nulls[nargs] ? 'n' : ' ';

	if (IsolationUsesXactSnapshot())
		crosscheck = GetTransactionSnapshot();

	/* what this call wrote before must be visible to the statement */
	CommandCounterIncrement();

	rc = run_pinned(plan, values, marks, crosscheck, limit);
	if (rc < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s",
			 SPI_result_code_string(rc));

	return SPI_processed;
}

/*
 * Run a statement whose two parameters are a tenant and a name within it.
 */
uint64
booking_plan_run_named(BookingPlan *plan, text *tenant, text *name, long limit)
{
	Datum		values[2];

	values[0] = PointerGetDatum(tenant);
	values[1] = PointerGetDatum(name);
	return booking_plan_run(plan, values, NULL, limit);
}

/*
 * Pin what statements depend on, until booking_plan_unpin() or an error;
 * returns what that is told.
 */
int
booking_plan_pin(void)
{
	int			level;

	if (!enable_seqscan && strcmp(namespace_search_path, PINNED_PATH) == 0)
		return 0;

	level = NewGUCNestLevel();
	pin("search_path", PINNED_PATH);
	pin("enable_seqscan", "off");
	return level;
}

/*
 * Change a setting until the present nest level ends.
 */
static void
pin(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Give back what booking_plan_pin() pinned.
 */
void
booking_plan_unpin(int level)
{
	if (level != 0)
		AtEOXact_GUC(true, level);
}

/*
 * Run a statement under the pinned settings, whoever calls.  One that reads
 * whole relations joins them by hashing or merging: nested loops, which serve
 * all others, take as long as the square of what there is.
 */
static int
run_pinned(BookingPlan *plan, Datum *values, const char *marks,
		   Snapshot crosscheck, long limit)
{
	int			level = booking_plan_pin();
	int			rc;

	if (plan->whole)
	{
		if (level == 0)
			level = NewGUCNestLevel();
		pin("enable_seqscan", "on");
		pin("enable_nestloop", "off");
	}

	if (plan->plan == NULL)
		prepare(plan);
	rc = run_uncompiled(plan, values, marks, crosscheck, limit);
	booking_plan_unpin(level);
	return rc;
}

/*
 * Run a statement without just-in-time compilation.  The statements run with
 * enable_seqscan off; where one needs such a scan all the same, its plan seems
 * to be so dear that it would be compiled, anew each time, which takes a hundred
 * times as long as the statement.
 */
static int
run_uncompiled(BookingPlan *plan, Datum *values, const char *marks,
			   Snapshot crosscheck, long limit)
{
	bool		jit = jit_enabled;
	volatile int rc = 0;

	jit_enabled = false;
	PG_TRY();
	{
		rc = SPI_execute_snapshot(plan->plan, values, marks,
								  GetLatestSnapshot(), crosscheck, false, true,
								  limit);
	}
	PG_FINALLY();
	{
		jit_enabled = jit;
	}
	PG_END_TRY();
	return rc;
}

/*
 * A number that differs from an earlier one if a transaction that wrote has
 * completed in between: snapshots taken under equal numbers are equal.  (The
 * server reuses its own snapshots by the same number.)
 */
uint64
booking_plan_completed(void)
{
	return GetLatestSnapshot()->snapXactCompletionCount;
}

/*
 * Value of a column, counted from 1, of a row of the last result, counted from
 * 0.  isnull may be NULL: then NULL is returned as a zero Datum.
 */
Datum
booking_plan_column(uint64 row, int column, bool *isnull)
{
	bool		null;
	Datum		value;

	value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
						  column, &null);
	if (isnull != NULL)
		*isnull = null;
	return null ? (Datum) 0 : value;
}

/*
 * Bind parameter param, counted from 0, to a varlena or, when pointer is NULL,
 * to NULL.
 */
void
booking_plan_bind(Datum *values, bool *nulls, int param, const void *pointer)
{
	values[param] = PointerGetDatum(pointer);
	nulls[param] = pointer == NULL;
}

/*
 * A text column of a row as a C string, NULL for NULL.
 */
char *
booking_plan_cstring(uint64 row, int column)
{
	bool		isnull;
	Datum		value = booking_plan_column(row, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/*
 * Bind a text parameter to a C string, or to NULL for NULL.
 */
void
booking_plan_bind_cstring(Datum *values, bool *nulls, int param,
						  const char *string)
{
	booking_plan_bind(values, nulls, param,
					  string != NULL ? cstring_to_text(string) : NULL);
}

/*
 * Make the plan and keep it for the life of the backend.  A generic plan is
 * asked for: all are lookups by key whose best plan does not depend on the
 * values, and planning each of the first five calls anew would cost more than
 * the statements.
 */
static void
prepare(BookingPlan *plan)
{
	int			nargs = 0;
	SPIPlanPtr	made;

	while (nargs < BOOKING_PLAN_MAX_ARGS && OidIsValid(plan->types[nargs]))
		nargs++;

	made = SPI_prepare_cursor(plan->sql, nargs, plan->types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (made == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s",
			 SPI_result_code_string(SPI_result));
	if (SPI_keepplan(made) != 0)
		elog(ERROR, "SPI_keepplan failed");
	plan->plan = made;
}

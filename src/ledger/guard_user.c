/*-------------------------------------------------------------------------
 *
 * guard_user.c
 *	  booking_guard_terminal, booking_guard_monotonic
 *
 * BEFORE row triggers for users' own tables of bookings that are fed by
 * messages which come twice, late or out of order.  They skip a change that
 * must not happen, with a WARNING: an error would have the message sent again
 * for ever.  They touch no relation but the one they are on, so everybody may
 * use them.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/guard_user.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(booking_guard_terminal);
PG_FUNCTION_INFO_V1(booking_guard_monotonic);

static TriggerData *guard_data(FunctionCallInfo fcinfo, int least_args,
							   const char *usage);
static int	guarded_column(const TriggerData *trigger, const char *column);
static bool is_terminal(HeapTuple tuple, Relation relation,
						const Trigger *guard);
static bool means(Form_pg_attribute column, Datum value, const char *spelling);
static bool becomes_terminal(const TriggerData *trigger);
static bool rows_equal(const TriggerData *trigger);
static Datum skip(const TriggerData *trigger, const char *why);

/*
 * booking_guard_terminal(column, value, ...) returns trigger
 *
 * A row whose column has one of the values keeps it; if the trigger is also on
 * DELETE, the row stays.
 */
Datum
booking_guard_terminal(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = guard_data(fcinfo, 2,
									  "CREATE TRIGGER ... BEFORE UPDATE ON ... FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('column', 'value', ...)");
	Relation	relation = trigger->tg_relation;
	int			attnum = guarded_column(trigger, trigger->tg_trigger->tgargs[0]);
	char	   *present;
	char	   *wanted;

	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		return PointerGetDatum(trigger->tg_trigtuple);
	if (!is_terminal(trigger->tg_trigtuple, relation, trigger->tg_trigger))
		return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
							   trigger->tg_newtuple : trigger->tg_trigtuple);
	if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		return skip(trigger, "the row is in a terminal state and stays");

	present = SPI_getvalue(trigger->tg_trigtuple, RelationGetDescr(relation),
						   attnum);
	wanted = SPI_getvalue(trigger->tg_newtuple, RelationGetDescr(relation),
						  attnum);
	if (wanted == NULL || strcmp(present, wanted) != 0)
		return skip(trigger, "the row is in a terminal state");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * booking_guard_monotonic(column) returns trigger
 *
 * A change whose source timestamp (or version) in the column is older than the
 * row's is skipped.  One with an equal timestamp passes if it changes nothing
 * or leads to a terminal value of a booking_guard_terminal on the same table.
 */
Datum
booking_guard_monotonic(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = guard_data(fcinfo, 1,
									  "CREATE TRIGGER ... BEFORE UPDATE ON ... FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic('column')");
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	int			attnum = guarded_column(trigger, trigger->tg_trigger->tgargs[0]);
	Form_pg_attribute attribute = TupleDescAttr(desc, attnum - 1);
	TypeCacheEntry *type;
	bool		old_null;
	bool		new_null;
	Datum		old_value;
	Datum		new_value;
	int			order;

	if (!TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		return PointerGetDatum(trigger->tg_trigtuple);

	old_value = heap_getattr(trigger->tg_trigtuple, attnum, desc, &old_null);
	new_value = heap_getattr(trigger->tg_newtuple, attnum, desc, &new_null);
	if (old_null)
		return PointerGetDatum(trigger->tg_newtuple);
	if (new_null)
		return skip(trigger, "the change has no source timestamp");

	type = lookup_type_cache(attribute->atttypid, TYPECACHE_CMP_PROC_FINFO);
	if (!OidIsValid(type->cmp_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" has a type without an order",
						trigger->tg_trigger->tgargs[0]),
				 errhint("Guard a column of a timestamp or integer type.")));
	order = DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo,
											attribute->attcollation,
											new_value, old_value));
	if (order < 0)
		return skip(trigger, "the change is older than the row");
	if (order == 0 && !rows_equal(trigger) && !becomes_terminal(trigger))
		return skip(trigger, "the change is as old as the row");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * Check how the trigger was made.
 */
static TriggerData *
guard_data(FunctionCallInfo fcinfo, int least_args, const char *usage)
{
	TriggerData *trigger;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by trigger manager"),
				 errhint("Use it as in %s.", usage)));

	trigger = (TriggerData *) fcinfo->context;
	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs < least_args)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" is not made as it must be",
						trigger->tg_trigger->tgname),
				 errhint("Use it as in %s.", usage)));
	return trigger;
}

/*
 * Number of the guarded column.
 */
static int
guarded_column(const TriggerData *trigger, const char *column)
{
	int			attnum = SPI_fnumber(RelationGetDescr(trigger->tg_relation),
									 column);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of trigger \"%s\" does not exist",
						column, trigger->tg_trigger->tgname),
				 errhint("The first argument of the trigger names a column of its table.")));
	return attnum;
}

/*
 * Is the row's state one of the values of a booking_guard_terminal trigger?
 */
static bool
is_terminal(HeapTuple tuple, Relation relation, const Trigger *guard)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			attnum = SPI_fnumber(desc, guard->tgargs[0]);
	Datum		state;
	bool		isnull;

	if (attnum <= 0)
		return false;
	state = heap_getattr(tuple, attnum, desc, &isnull);
	for (int i = 1; !isnull && i < guard->tgnargs; i++)
	{
		if (means(TupleDescAttr(desc, attnum - 1), state, guard->tgargs[i]))
			return true;
	}
	return false;
}

/*
 * Is a value of the column what an argument of a trigger spells?  The argument
 * is read as the column would read it, since a type writes many spellings in
 * one way ('true' as t); what spells no value of the type is an error, as a
 * guard that waits for it would guard nothing.  A type without an equality is
 * compared as it is written.
 */
static bool
means(Form_pg_attribute column, Datum value, const char *spelling)
{
	TypeCacheEntry *type = lookup_type_cache(column->atttypid,
											 TYPECACHE_EQ_OPR_FINFO);
	Oid			input;
	Oid			output;
	Oid			parameter;
	bool		varlena;
	Datum		meant;

	getTypeInputInfo(column->atttypid, &input, &parameter);
	meant = OidInputFunctionCall(input, unconstify(char *, spelling),
								 parameter, column->atttypmod);
	if (OidIsValid(type->eq_opr_finfo.fn_oid))
		return DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo,
											  column->attcollation,
											  value, meant));
	getTypeOutputInfo(column->atttypid, &output, &varlena);
	return strcmp(OidOutputFunctionCall(output, value),
				  OidOutputFunctionCall(output, meant)) == 0;
}

/*
 * Does the update lead to a state that some booking_guard_terminal on the same
 * table calls terminal, from one that is not?
 */
static bool
becomes_terminal(const TriggerData *trigger)
{
	Relation	relation = trigger->tg_relation;

	for (int i = 0; i < relation->trigdesc->numtriggers; i++)
	{
		const Trigger *other = &relation->trigdesc->triggers[i];
		char	   *function = get_func_name(other->tgfoid);

		if (function != NULL && other->tgnargs >= 2 &&
			strcmp(function, "booking_guard_terminal") == 0 &&
			get_func_namespace(other->tgfoid) ==
			get_func_namespace(trigger->tg_trigger->tgfoid) &&
			is_terminal(trigger->tg_newtuple, relation, other) &&
			!is_terminal(trigger->tg_trigtuple, relation, other))
			return true;
	}
	return false;
}

/*
 * Does the update change nothing?
 */
static bool
rows_equal(const TriggerData *trigger)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		bool		old_null;
		bool		new_null;
		Datum		old_value;
		Datum		new_value;

		if (attribute->attisdropped)
			continue;
		old_value = heap_getattr(trigger->tg_trigtuple, i + 1, desc, &old_null);
		new_value = heap_getattr(trigger->tg_newtuple, i + 1, desc, &new_null);
		if (old_null != new_null ||
			(!old_null && !datum_image_eq(old_value, new_value,
										  attribute->attbyval,
										  attribute->attlen)))
			return false;
	}
	return true;
}

/*
 * Leave the row as it is.
 */
static Datum
skip(const TriggerData *trigger, const char *why)
{
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("change of relation \"%s\" ignored: %s",
					RelationGetRelationName(trigger->tg_relation), why),
			 errhint("Trigger \"%s\" guards the table.",
					 trigger->tg_trigger->tgname)));
	return PointerGetDatum(NULL);
}

/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  triggers of our own tables
 *
 * They hold the owner, too, to the rules: payload and receipt immutable, the
 * state graph, canceled as its end.  They judge and lock, and never write, so
 * they are harmless when a dump is restored or a subscriber applies changes.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "replication/logicalworker.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "compat.h"
#include "ledger/lock.h"
#include "ledger/purge.h"
#include "ledger/state.h"
#include "store/cache.h"

PG_FUNCTION_INFO_V1(booking_guard_intent_row);
PG_FUNCTION_INFO_V1(booking_guard_proposal_row);
PG_FUNCTION_INFO_V1(booking_guard_append_only_row);
PG_FUNCTION_INFO_V1(booking_guard_permission_row);
PG_FUNCTION_INFO_V1(booking_guard_role_binding_row);
PG_FUNCTION_INFO_V1(booking_guard_resource_row);
PG_FUNCTION_INFO_V1(booking_guard_cached_row);
PG_FUNCTION_INFO_V1(booking_guard_change_row);
PG_FUNCTION_INFO_V1(booking_guard_feed_row);
PG_FUNCTION_INFO_V1(booking_guard_inbox_row);
PG_FUNCTION_INFO_V1(booking_guard_webhook_booking_row);

static TriggerData *trigger_data(FunctionCallInfo fcinfo);
static bool is_update(const TriggerData *trigger);
static bool is_purge(void);
static HeapTuple new_row(const TriggerData *trigger);
static text *column_text(HeapTuple tuple, TupleDesc desc, const char *column);
static int32 column_integer(HeapTuple tuple, TupleDesc desc,
							const char *column);
static bool column_differs(const TriggerData *trigger, int attnum);
static void keep_columns(const TriggerData *trigger,
						 const char *const *columns, int count,
						 const char *why);
static void keep_all_but(const TriggerData *trigger,
						 const char *const *columns, int count,
						 const char *why);
pg_noreturn static void refuse(const TriggerData *trigger, const char *what);

static const char *const intent_identity[] = {
	"intent_id", "tenant", "principal", "intent", "created_at", "created_role",
	"evidence", "override_reason"
};

static const char *const intent_payload[] = {
	"version", "resources", "slot", "during", "units", "expected_versions",
	"terms", "supersedes", "digest"
};

static const char *const intent_purged[] = {
	"slot", "during", "expected_versions", "terms", "override_reason", "detail",
	"evidence", "digest"
};

static const char *const intent_after_cancel[] = {
	"remote", "event", "revision", "changed_at", "changed_role"
};

static const char *const proposal_decision[] = {
	"state", "decided_at", "decided_by", "decided_role", "reason"
};

static const char *const proposal_purged[] = {
	"slot", "during", "expected_versions", "terms", "snapshot", "evidence",
	"reason", "digest"
};

static const char *const change_position[] = {"position"};

static const char *const change_purged[] = {"during", "detail"};

static const char *const inbox_fate[] = {
	"state", "reason", "copies", "tries", "applied_at", "next_at", "dedupe"
};

static const char *const inbox_purged[] = {"state", "reason", "next_at", "body"};

static const char *const webhook_booking_identity[] = {
	"source", "booking", "tenant"
};

static const char *const resource_identity[] = {
	"resource_id", "tenant", "resource"
};

/*
 * BEFORE UPDATE OR DELETE on booking.intent.
 */
Datum
booking_guard_intent_row(PG_FUNCTION_ARGS)
{
	static const char *const once[] = {"receipt", "successor"};
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	BookingState from;
	BookingState to;

	if (!is_update(trigger))
		refuse(trigger, "intents are never deleted");
	if (is_purge() && column_differs(trigger, SPI_fnumber(desc, "digest")))
	{
		keep_all_but(trigger, intent_purged, lengthof(intent_purged),
					 "a purge changes nothing but values");
		return PointerGetDatum(trigger->tg_newtuple);
	}

	from = booking_state_of(column_text(trigger->tg_trigtuple, desc, "state"));
	if (!booking_state_parse(column_text(trigger->tg_newtuple, desc, "state"),
							 &to))
		return PointerGetDatum(trigger->tg_newtuple);	/* the CHECK refuses it */
	if (!booking_state_may_become(from, to))
		refuse(trigger, "this change of state is not in the state graph");
	if (from == BOOKING_STATE_CANCELED)
		keep_all_but(trigger, intent_after_cancel,
					 lengthof(intent_after_cancel), "canceled is terminal");

	keep_columns(trigger, intent_identity, lengthof(intent_identity),
				 "identity and evidence of an intent are immutable");
	if (to != BOOKING_STATE_PROPOSED ||
		column_integer(trigger->tg_newtuple, desc, "version") !=
		column_integer(trigger->tg_trigtuple, desc, "version") + 1)
		keep_columns(trigger, intent_payload, lengthof(intent_payload),
					 "a payload changes only to the next proposal");
	if (column_integer(trigger->tg_newtuple, desc, "revision") <
		column_integer(trigger->tg_trigtuple, desc, "revision"))
		refuse(trigger, "the revision of an intent never falls");

	for (int i = 0; i < lengthof(once); i++)
	{
		if (column_text(trigger->tg_trigtuple, desc, once[i]) != NULL)
			keep_columns(trigger, &once[i], 1,
						 "receipt and successor of an intent are immutable");
	}
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * BEFORE UPDATE OR DELETE on booking.proposal.
 */
Datum
booking_guard_proposal_row(PG_FUNCTION_ARGS)
{
	static const char *const state[] = {"state"};
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	text	   *from;
	text	   *to;

	if (!is_update(trigger))
		refuse(trigger, "proposals are never deleted");
	if (is_purge() && column_differs(trigger, SPI_fnumber(desc, "digest")))
	{
		keep_all_but(trigger, proposal_purged, lengthof(proposal_purged),
					 "a purge changes nothing but values");
		return PointerGetDatum(trigger->tg_newtuple);
	}
	keep_all_but(trigger, proposal_decision, lengthof(proposal_decision),
				 "proposals are immutable");
	from = column_text(trigger->tg_trigtuple, desc, "state");
	to = column_text(trigger->tg_newtuple, desc, "state");

	/* an approved one that came to nothing may give way to the next version */
	if (booking_text_is(from, "approved") && to != NULL &&
		booking_text_is(to, "displaced"))
		keep_all_but(trigger, state, lengthof(state),
					 "a decided proposal is immutable");
	else if (!booking_text_is(from, "open"))
		keep_all_but(trigger, NULL, 0, "a decided proposal is immutable");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * BEFORE UPDATE OR DELETE OR TRUNCATE on what is only ever added to.
 */
Datum
booking_guard_append_only_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);

	if (!is_purge() || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		refuse(trigger, "its rows are only ever added");
	return PointerGetDatum(new_row(trigger));
}

/*
 * BEFORE INSERT OR UPDATE OR DELETE on booking.permission: wait for the calls
 * that rely on the permissions of the principal, so that a change that has
 * committed is never followed by what it forbids.
 */
Datum
booking_guard_permission_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	HeapTuple	rows[2] = {trigger->tg_trigtuple, NULL};

	if (is_update(trigger))
		rows[1] = trigger->tg_newtuple;
	for (int i = 0; i < 2; i++)
	{
		text	   *tenant;
		text	   *principal;

		if (rows[i] == NULL)
			continue;
		tenant = column_text(rows[i], desc, "tenant");
		principal = column_text(rows[i], desc, "principal");
		/* without a name the row is refused by its NOT NULL */
		if (tenant != NULL && principal != NULL)
			booking_lock_permission(tenant, principal, ExclusiveLock);
	}
	booking_cache_signal();
	return PointerGetDatum(new_row(trigger));
}

/*
 * BEFORE INSERT OR UPDATE OR DELETE on booking.role_binding: wait for the
 * calls that rely on the bindings of the tenant.
 */
Datum
booking_guard_role_binding_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	text	   *tenant = column_text(trigger->tg_trigtuple,
									 RelationGetDescr(trigger->tg_relation),
									 "tenant");

	if (tenant != NULL)
		booking_lock_binding(tenant, ExclusiveLock);
	booking_cache_signal();
	return PointerGetDatum(new_row(trigger));
}

/*
 * BEFORE INSERT OR UPDATE OR DELETE on booking.tenant, and BEFORE TRUNCATE on
 * what is cached.
 */
Datum
booking_guard_cached_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);

	booking_cache_signal();
	return TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ?
		PointerGetDatum(new_row(trigger)) : PointerGetDatum(NULL);
}

/*
 * BEFORE INSERT OR UPDATE OR DELETE on booking.resource: callers lock a resource by the
 * number they read under its name, so neither may change; and they decide on
 * its values, so a change waits for them.
 */
Datum
booking_guard_resource_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	bool		isnull;
	Datum		id;

	booking_cache_signal();
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		return PointerGetDatum(trigger->tg_trigtuple);
	if (!is_update(trigger))
		refuse(trigger, "resources are never deleted; forbid them to all principals instead");
	keep_columns(trigger, resource_identity, lengthof(resource_identity),
				 "identity of a resource is immutable");
	id = heap_getattr(trigger->tg_trigtuple, SPI_fnumber(desc, "resource_id"),
					  desc, &isnull);
	booking_lock_resource(DatumGetInt64(id), ExclusiveLock);
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * BEFORE UPDATE on booking.change: it gets a position, once.
 */
Datum
booking_guard_change_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	bool		isnull;

	if (is_purge() && !column_differs(trigger, SPI_fnumber(desc, "position")))
	{
		keep_all_but(trigger, change_purged, lengthof(change_purged),
					 "a purge changes nothing but values");
		return PointerGetDatum(trigger->tg_newtuple);
	}
	keep_all_but(trigger, change_position, lengthof(change_position),
				 "what a change says is immutable");
	(void) heap_getattr(trigger->tg_trigtuple, SPI_fnumber(desc, "position"),
						desc, &isnull);
	if (!isnull)
		keep_columns(trigger, change_position, lengthof(change_position),
					 "a position is given once");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * BEFORE UPDATE OR DELETE on booking.feed: a position that was given is never
 * given again.
 */
Datum
booking_guard_feed_row(PG_FUNCTION_ARGS)
{
	static const char *const last[] = {"last_position"};
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	int			attnum = SPI_fnumber(desc, last[0]);
	bool		old_null;
	bool		new_null;
	int64		old_last;
	int64		new_last;

	if (!is_update(trigger))
		refuse(trigger, "positions would be given twice");
	keep_all_but(trigger, last, lengthof(last), "a feed belongs to its tenant");
	old_last = DatumGetInt64(heap_getattr(trigger->tg_trigtuple, attnum, desc,
										  &old_null));
	new_last = DatumGetInt64(heap_getattr(trigger->tg_newtuple, attnum, desc,
										  &new_null));
	if (!new_null && new_last < old_last)
		refuse(trigger, "the last position of a feed never falls");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * On booking.inbox: only what became of a delivery changes.
 */
Datum
booking_guard_inbox_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);

	if (is_purge() && column_differs(trigger, SPI_fnumber(desc, "body")))
		keep_all_but(trigger, inbox_purged, lengthof(inbox_purged),
					 "a purge changes nothing but values");
	else
		keep_all_but(trigger, inbox_fate, lengthof(inbox_fate),
					 "what a delivery said is evidence");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * On booking.webhook_booking: what has ended stays so.
 */
Datum
booking_guard_webhook_booking_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);

	keep_columns(trigger, webhook_booking_identity,
				 lengthof(webhook_booking_identity),
				 "a booking belongs to its source");
	if (booking_text_is(column_text(trigger->tg_trigtuple, desc, "state"), "ended") &&
		!booking_text_is(column_text(trigger->tg_newtuple, desc, "state"), "ended"))
		refuse(trigger, "a booking that has ended at its source does not come back");
	return PointerGetDatum(trigger->tg_newtuple);
}

/*
 * The trigger data of a call that is one.
 */
static TriggerData *
trigger_data(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by trigger manager"),
				 errhint("It guards the relations of the extension and cannot be called.")));
	return (TriggerData *) fcinfo->context;
}

/*
 * Is the row updated?
 */
static bool
is_update(const TriggerData *trigger)
{
	return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
}

/*
 * Is it a purge: by one of the procedures that purge, or what one did elsewhere
 * and a subscription applies here?
 */
static bool
is_purge(void)
{
	return booking_purging || IsLogicalWorker();
}

/*
 * What a BEFORE trigger returns to let the change pass.
 */
static HeapTuple
new_row(const TriggerData *trigger)
{
	return is_update(trigger) ? trigger->tg_newtuple : trigger->tg_trigtuple;
}

/*
 * Value of a text column, NULL if it is.
 */
static text *
column_text(HeapTuple tuple, TupleDesc desc, const char *column)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, SPI_fnumber(desc, column), desc,
									 &isnull);

	return isnull ? NULL : DatumGetTextPP(value);
}

/*
 * Value of an integer column that is NOT NULL; a NULL that will be refused
 * comes as 0.
 */
static int32
column_integer(HeapTuple tuple, TupleDesc desc, const char *column)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, SPI_fnumber(desc, column), desc,
									 &isnull);

	return isnull ? 0 : DatumGetInt32(value);
}

/*
 * Does the update change a column?  The bytes are compared, not the meaning.
 */
static bool
column_differs(const TriggerData *trigger, int attnum)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	Form_pg_attribute attribute = TupleDescAttr(desc, attnum - 1);
	bool		old_null;
	bool		new_null;
	Datum		old_value;
	Datum		new_value;

	old_value = heap_getattr(trigger->tg_trigtuple, attnum, desc, &old_null);
	new_value = heap_getattr(trigger->tg_newtuple, attnum, desc, &new_null);
	if (old_null || new_null)
		return old_null != new_null;
	return !datum_image_eq(old_value, new_value, attribute->attbyval,
						   attribute->attlen);
}

/*
 * Refuse an update that changes one of the columns.
 */
static void
keep_columns(const TriggerData *trigger, const char *const *columns,
			 int count, const char *why)
{
	for (int i = 0; i < count; i++)
	{
		if (column_differs(trigger,
						   SPI_fnumber(RelationGetDescr(trigger->tg_relation),
									   columns[i])))
			refuse(trigger, why);
	}
}

/*
 * Refuse an update that changes any other column.
 */
static void
keep_all_but(const TriggerData *trigger, const char *const *columns,
			 int count, const char *why)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);

	for (int attnum = 1; attnum <= desc->natts; attnum++)
	{
		const char *name = NameStr(TupleDescAttr(desc, attnum - 1)->attname);
		bool		free = TupleDescAttr(desc, attnum - 1)->attisdropped;

		for (int i = 0; i < count && !free; i++)
			free = strcmp(name, columns[i]) == 0;
		if (!free && column_differs(trigger, attnum))
			refuse(trigger, why);
	}
}

/*
 * Refuse the change.
 */
static void
refuse(const TriggerData *trigger, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"%s\" cannot be changed so: %s",
					RelationGetRelationName(trigger->tg_relation), what),
			 errhint("Use the functions of the extension.")));
}

/*-------------------------------------------------------------------------
 *
 * account_check.c
 *	  booking_account_check, and account checks that are under way
 *
 * A procedure asks, commits so that the worker can see it, and waits for the
 * worker's answer without holding a snapshot.
 *
 * IDENTIFICATION
 *	  booking/src/controller/account_check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"

#include "codec/label.h"
#include "compat.h"
#include "controller/account_check.h"
#include "controller/credential.h"
#include "controller/limits.h"
#include "controller/load.h"
#include "controller/session.h"
#include "controller/signin.h"
#include "controller/shared.h"
#include "guc.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "provider/provider.h"
#include "provider/report.h"
#include "store/account.h"
#include "store/plan.h"

PG_FUNCTION_INFO_V1(booking_account_check);

#define CHECK_ARENA_LIMIT (16 * 1024 * 1024)
#define CHECK_POLL_MS 50

/* the check of one calendar */
typedef struct Check
{
	dlist_node	node;
	BookingArena *arena;
	int64		check_id;
	const char *tenant;
	const char *account;
	const char *calendar;
	bool		started;
	bool		finished;
	BookingLoad *load;			/* its account's share while it is under way */
	const BookingProvider *provider;
	BookingJob	job;
	BookingTask task;
	BookingHttpRequest request;
	BookingHttpAuth auth;
} Check;

/* a check and what was asked for */
typedef struct SignIn
{
	Check	   *check;
	const BookingAccountCheck *asked;
	BookingSigninState state;
} SignIn;

typedef struct CheckWait
{
	text	   *tenant;
	text	   *account;
	int64		check_id;
	Jsonb	   *findings;
} CheckWait;

static bool wait_step(CheckWait *wait);
static int64 *checks_in_hand(int *count);
static Check *make_check(const BookingAccountCheck *asked);
static void fill_auth(BookingCall *call, void *arg);
static void add_result(Check *check, const char *subject, const char *text);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void add_finding(StringInfo json, const char *calendar,
						const BookingFinding *finding);
static void answer(BookingCall *call, int64 check_id);
static void note_token(Check *check);

static BookingHttpEngine *http_engine = NULL;
static dlist_head checks;

/*
 * CALL booking_account_check(tenant, account, findings)
 */
Datum
booking_account_check(PG_FUNCTION_ARGS)
{
	CheckWait	wait = {0};
	bool		atomic = fcinfo->context == NULL ||
		!IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic;
	MemoryContext context = CurrentMemoryContext;
	TimestampTz end;
	TupleDesc	tupdesc;
	Datum		values[1];
	bool		nulls[1] = {false};

	wait.tenant = booking_arg_label(fcinfo, 0, "tenant");
	wait.account = booking_arg_label(fcinfo, 1, "account");
	if (atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("booking_account_check cannot run in a transaction block"),
				 errhint("The worker sees the request only after a commit: use CALL by itself.")));
	PreventCommandDuringRecovery("booking_account_check");
	PreventCommandIfReadOnly("booking_account_check");

	wait.tenant = DatumGetTextPCopy(PointerGetDatum(wait.tenant));
	wait.account = DatumGetTextPCopy(PointerGetDatum(wait.account));
	end = GetCurrentTimestamp() + 60 * USECS_PER_SEC;
	while (!wait_step(&wait))
	{
		booking_shared_wake(MyDatabaseId);
		if (GetCurrentTimestamp() > end)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("the worker did not answer"),
					 errhint("See booking_worker_status().")));
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 CHECK_POLL_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	MemoryContextSwitchTo(context);
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = PointerGetDatum(wait.findings);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values,
											 nulls));
}

/*
 * One transaction: ask the first time, look for the answer after.  It pins
 * search_path by itself, since a procedure that commits cannot have a SET
 * clause.  Returns whether there is an answer.
 */
static bool
wait_step(CheckWait *wait)
{
	BookingCall call = {0};
	MemoryContext context = CurrentMemoryContext;
	Jsonb	   *findings = NULL;
	int			level;
	bool		answered = false;

	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	level = booking_plan_pin();
	booking_call_become_owner(&call);
	if (wait->check_id == 0)
	{
		booking_access_demand(&call, wait->tenant);
		if (!booking_store_account_read(wait->tenant, wait->account, NULL, NULL,
										NULL))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("account does not exist"),
					 errhint("Create it with booking_account_put first.")));
		wait->check_id = booking_store_check_ask(wait->tenant, wait->account,
												 call.now);
	}
	else
		answered = booking_store_check_read(wait->check_id, &findings);
	if (answered)
	{
		wait->findings = MemoryContextAlloc(context, VARSIZE(findings));
		memcpy(wait->findings, findings, VARSIZE(findings));
	}
	SetUserIdAndSecContext(call.saved_user, call.saved_context);
	booking_plan_unpin(level);
	SPI_commit();
	SPI_finish();
	return answered;
}

/*
 * Begin with nothing in hand.
 */
void
booking_account_check_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&checks);
}

/*
 * Take the checks that were asked for since the last time.  Reading again
 * after a crash is harmless, so nothing is recorded before the answer.
 */
void
booking_account_check_lease(BookingCall *call)
{
	int			count;
	int			nin_hand;
	const int64 *in_hand = checks_in_hand(&nin_hand);
	BookingAccountCheck *asked = booking_store_checks_waiting(in_hand, nin_hand,
															  &count);

	for (int i = 0; i < count; i++)
	{
		Check	   *check = make_check(&asked[i]);
		SignIn		sign_in = {check, &asked[i]};
		ErrorData  *error = booking_session_item(call, fill_auth, &sign_in);

		/* a credential that does not open must not keep others from theirs */
		if (error != NULL)
			add_result(check, "credential",
					   booking_arena_copy(check->arena, error->message,
										  strlen(error->message)));
		/* come back for it, and for all behind it, when there is a token */
		if (error == NULL && sign_in.state == BOOKING_SIGNIN_WAITING)
		{
			booking_arena_free(check->arena);
			break;
		}
		dlist_push_tail(&checks, &check->node);
	}
}

/*
 * Numbers of the checks in hand, of those of several calendars each time.
 */
static int64 *
checks_in_hand(int *count)
{
	int64	   *ids;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
		n++;
	ids = palloc_array(int64, n + 1);
	n = 0;
	dlist_foreach(iter, &checks)
		ids[n++] = dlist_container(Check, node, iter.cur)->check_id;
	*count = n;
	return ids;
}

/*
 * Open the credential of a check.
 */
static void
fill_auth(BookingCall *call, void *arg)
{
	SignIn	   *sign_in = arg;
	Check	   *check = sign_in->check;
	const BookingAccountCheck *asked = sign_in->asked;

	BookingSigninAccount account = {
		check->provider, asked->tenant, asked->account, asked->secret, asked->sealed
	};
	const char *problem;

	sign_in->state = booking_signin_fill(call, &account, check->arena, &check->auth,
										 &problem);
	if (sign_in->state == BOOKING_SIGNIN_READY ||
		sign_in->state == BOOKING_SIGNIN_WAITING)
		return;
	if (sign_in->state == BOOKING_SIGNIN_SEALED)
		add_result(check, "credential",
				   "The server could not open a sealed credential. Name the file it was sealed with in booking.secret_key_file, or put the credential again.");
	else if (problem == NULL)
		add_result(check, "credential",
				   "The account has no credential. Put one with booking_credential_put.");
	else
		add_result(check, "credential",
				   booking_report_text(check->arena,
									   "No access token could be got: %s.", problem));
}

/*
 * Complete a check with a single finding, before anything is sent.
 */
static void
add_result(Check *check, const char *subject, const char *text)
{
	check->started = check->finished = true;
	check->task.nfindings = 1;
	check->task.findings[0].subject = subject;
	check->task.findings[0].ok = false;
	check->task.findings[0].text = text != NULL ? text : "out of memory";
}

/*
 * Send the first request of each, as far as accounts take more.
 */
void
booking_account_check_start(void)
{
	dlist_iter	iter;
	char		key[2 * BOOKING_LABEL_MAX_BYTES + 2];

	dlist_foreach(iter, &checks)
	{
		Check	   *check = dlist_container(Check, node, iter.cur);

		if (check->started)
			continue;
		snprintf(key, sizeof(key), "%s\n%s", check->tenant, check->account);
		if (booking_load_full(key))
			continue;
		check->load = booking_load_take(key, check->provider->max_in_flight);
		check->started = true;
		check->task.job = &check->job;
		check->task.arena = check->arena;
		check->provider->start(&check->task, &check->request);
		booking_http_start(http_engine, &check->request, &check->auth, booking_http_limits(),
						   check->arena, on_answer, check);
	}
}

/*
 * Is a check complete?
 */
bool
booking_account_check_finished(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &checks)
	{
		if (dlist_container(Check, node, iter.cur)->finished)
			return true;
	}
	return false;
}

/*
 * Record the checks all of whose calendars are done, and let go of them.
 */
void
booking_account_check_record(BookingCall *call)
{
	dlist_iter	iter;
	int64		complete = 0;

	dlist_foreach(iter, &checks)
	{
		Check	   *check = dlist_container(Check, node, iter.cur);
		bool		open = false;
		dlist_iter	other;

		dlist_foreach(other, &checks)
		{
			Check	   *sibling = dlist_container(Check, node, other.cur);

			open |= sibling->check_id == check->check_id && !sibling->finished;
		}
		if (!open)
			complete = check->check_id;
	}
	if (complete != 0)
		answer(call, complete);
}

/*
 * Write the findings of one check, and let go of it.
 */
static void
answer(BookingCall *call, int64 check_id)
{
	StringInfoData json;
	dlist_mutable_iter iter;
	Datum		findings;

	initStringInfo(&json);
	appendStringInfoChar(&json, '[');
	dlist_foreach_modify(iter, &checks)
	{
		Check	   *check = dlist_container(Check, node, iter.cur);

		if (check->check_id != check_id)
			continue;
		note_token(check);
		for (int i = 0; i < check->task.nfindings; i++)
			add_finding(&json, check->calendar, &check->task.findings[i]);
		dlist_delete(iter.cur);
		booking_auth_wipe(&check->auth);
		booking_arena_free(check->arena);
	}
	appendStringInfoChar(&json, ']');
	findings = DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
	booking_store_check_answer(check_id, DatumGetJsonbP(findings), call->now);
}

/*
 * A token that was refused is got anew, once; then it is the credential.
 */
static void
note_token(Check *check)
{
	const BookingOutcome *outcome = &check->task.outcome;
	text	   *tenant = cstring_to_text(check->tenant);
	text	   *account = cstring_to_text(check->account);

	if (outcome->kind != BOOKING_OUTCOME_AUTH)
	{
		if (outcome->status >= 200 && outcome->status < 300)
			booking_signin_accept(tenant, account, &check->auth);
	}
	else if (booking_signin_renew(tenant, account, &check->auth))
		add_result(check, "credential",
				   "The access token was refused, and another one is got. Check again.");
}

/*
 * Add {"calendar", "subject", "ok", "text"}.
 */
static void
add_finding(StringInfo json, const char *calendar,
			const BookingFinding *finding)
{
	if (json->len > 1)
		appendStringInfoString(json, ", ");
	appendStringInfoString(json, "{\"calendar\": ");
	if (calendar != NULL)
		escape_json(json, calendar);
	else
		appendStringInfoString(json, "null");
	appendStringInfoString(json, ", \"subject\": ");
	escape_json(json, finding->subject);
	appendStringInfo(json, ", \"ok\": %s, \"text\": ", finding->ok ? "true" : "false");
	escape_json(json, finding->text);
	appendStringInfoChar(json, '}');
}

/*
 * Everything the check of a calendar needs.
 */
static Check *
make_check(const BookingAccountCheck *asked)
{
	BookingArena *arena = booking_arena_create(CHECK_ARENA_LIMIT);
	Check	   *check = arena != NULL ?
		booking_arena_alloc(arena, sizeof(Check)) : NULL;

	if (check == NULL)
	{
		booking_arena_free(arena);
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	memset(check, 0, sizeof(*check));
	check->arena = arena;
	check->check_id = asked->check_id;
	check->tenant = booking_arena_copy(arena, VARDATA_ANY(asked->tenant),
									   VARSIZE_ANY_EXHDR(asked->tenant));
	check->account = booking_arena_copy(arena, VARDATA_ANY(asked->account),
										VARSIZE_ANY_EXHDR(asked->account));
	check->provider = booking_provider_find(text_to_cstring(asked->provider));
	check->job.kind = BOOKING_JOB_CHECK;
	check->job.base_url = booking_arena_copy(arena, VARDATA_ANY(asked->base_url),
											 VARSIZE_ANY_EXHDR(asked->base_url));
	if (asked->calendar != NULL)
	{
		check->calendar = booking_arena_copy(arena, VARDATA_ANY(asked->calendar),
											 VARSIZE_ANY_EXHDR(asked->calendar));
		check->job.collection = booking_arena_copy(arena, VARDATA_ANY(asked->remote_id),
												   VARSIZE_ANY_EXHDR(asked->remote_id));
	}
	return check;
}

/*
 * An answer came.  Nothing here throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	Check	   *check = arg;

	if (check->provider->next(&check->task, response, &check->request))
	{
		booking_http_start(http_engine, &check->request, &check->auth, booking_http_limits(),
						   check->arena, on_answer, check);
		return;
	}
	check->finished = true;
	booking_load_release(check->load);
	check->load = NULL;
}

/*-------------------------------------------------------------------------
 *
 * errand.c
 *	  requests that carry out no operation and read no calendar
 *
 *	lease	in a transaction: what is due is taken in hand
 *	start	no transaction: the first request of each goes out
 *	record	in a transaction: what came of it
 *
 * What is in hand is in memory only, and repeating it is harmless: if the worker
 * dies its row is due as it was.
 *
 * IDENTIFICATION
 *	  booking/src/controller/errand.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/channel.h"
#include "controller/conference.h"
#include "controller/credential.h"
#include "controller/errand.h"
#include "controller/limits.h"
#include "controller/reading.h"
#include "controller/signin.h"
#include "store/account.h"

#define ARENA_LIMIT (4 * 1024 * 1024)

/* errands in hand at one time */
#define ERRAND_LIMIT 16

/* how long an account is left alone for which none can begin */
#define UNUSABLE_SECS 60

/* longest that an account is left alone because of one */
#define HOLD_OFF_LAST_SECS 3600

/* an errand that is to sign in */
typedef struct SignIn
{
	BookingErrand *errand;
	BookingSigninAccount account;
	BookingSigninState state;
	const char *problem;
} SignIn;

static bool sign_in(BookingCall *call, SignIn *work);
static void sign_in_item(BookingCall *call, void *arg);
static void put_off_item(BookingCall *call, void *arg);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void finish(BookingErrand *errand);
static void record_item(BookingCall *call, void *arg);
static void free_errand(BookingErrand *errand);

static BookingHttpEngine *http_engine = NULL;
static dlist_head errands;
static int	nerrands = 0;

/*
 * Begin with nothing in hand.
 */
void
booking_errand_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&errands);
	nerrands = 0;
}

/*
 * How many more may be taken in hand.
 */
int
booking_errand_room(void)
{
	return ERRAND_LIMIT - nerrands;
}

/*
 * Rows that errands of a kind are about.
 */
ArrayType *
booking_errand_ids(const BookingErrandKind *kind)
{
	int64	   *ids = palloc_array(int64, nerrands + 1);
	int			count = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &errands)
	{
		BookingErrand *errand = dlist_container(BookingErrand, node, iter.cur);

		if (errand->kind == kind)
			ids[count++] = errand->id;
	}
	return booking_record_make_int8_array(ids, count);
}

/*
 * Take an errand in hand, of the size that its kind wants.  NULL while the
 * account takes no more or waits for a token; or no request can be made, and then
 * the account is left alone for a while.
 */
BookingErrand *
booking_errand_make(BookingCall *call, const BookingErrandKind *kind, int64 id,
					size_t size, const BookingErrandAccount *account)
{
	const char *key = psprintf("%s\n%s", account->tenant, account->account);
	SignIn		work = {NULL, {
			booking_provider_find(account->provider),
			cstring_to_text(account->tenant), cstring_to_text(account->account),
			account->secret, account->sealed, account->writes
	}};

	if (booking_load_full(key))
		return NULL;
	work.errand = booking_errand_begin(kind, id, size);
	work.errand->provider = work.account.provider;
	work.errand->tenant = booking_errand_copy(work.errand, account->tenant);
	work.errand->account = booking_errand_copy(work.errand, account->account);
	if (!sign_in(call, &work))
	{
		free_errand(work.errand);
		return NULL;
	}
	work.errand->load = booking_load_take(key, work.account.provider->max_in_flight);
	return work.errand;
}

/*
 * An errand in the list, with nothing to sign in with yet, of no account.
 */
BookingErrand *
booking_errand_begin(const BookingErrandKind *kind, int64 id, size_t size)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingErrand *errand;

	errand = arena == NULL ? NULL : booking_arena_alloc(arena, size);
	if (errand == NULL)
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	errand->kind = kind;
	errand->id = id;
	errand->arena = arena;
	dlist_push_tail(&errands, &errand->node);
	nerrands++;
	return errand;
}

/*
 * Let go of an errand that was begun and cannot be made.
 */
void
booking_errand_drop(BookingErrand *errand)
{
	free_errand(errand);
}

/*
 * Fill in the credential; returns whether there is one.  What is wrong with that
 * of one account, such as that the file it is in is gone, must not keep the round
 * from all else.
 */
static bool
sign_in(BookingCall *call, SignIn *work)
{
	ErrorData  *error = booking_session_item(call, sign_in_item, work);

	if (error == NULL && work->state != BOOKING_SIGNIN_UNUSABLE)
		return work->state == BOOKING_SIGNIN_READY;
	if (error != NULL)
		ereport(LOG,
				(errmsg("booking: a request of an account could not begin: %s",
						error->message)));
	if (error != NULL || work->problem == NULL)
		work->problem = "no credential can be used";
	error = booking_session_item(call, put_off_item, work);
	if (error != NULL)
		ereport(LOG,
				(errmsg("booking: a request of an account could not be put off: %s",
						error->message)));
	return false;
}

/*
 * Fill it in, in a subtransaction.
 */
static void
sign_in_item(BookingCall *call, void *arg)
{
	SignIn	   *work = arg;

	work->state = booking_signin_fill(call, &work->account, work->errand->arena,
									  &work->errand->auth, &work->problem);
}

/*
 * Leave an account alone, in a subtransaction.
 */
static void
put_off_item(BookingCall *call, void *arg)
{
	SignIn	   *work = arg;

	booking_store_account_block(work->account.tenant, work->account.account,
								booking_call_hold_clock() +
								UNUSABLE_SECS * USECS_PER_SEC,
								cstring_to_text(work->problem), call->now);
}

/*
 * A copy of a string that lives as long as an errand, NULL for NULL.
 */
const char *
booking_errand_copy(BookingErrand *errand, const char *string)
{
	return string == NULL ? NULL :
		booking_arena_copy(errand->arena, string, strlen(string));
}

/*
 * A credential was refused.  Returns whether the errand is to be tried again,
 * with another token; else the account is parked.
 */
bool
booking_errand_refused(BookingCall *call, BookingErrand *errand)
{
	text	   *tenant = cstring_to_text(errand->tenant);
	text	   *account = cstring_to_text(errand->account);

	if (booking_signin_renew(tenant, account, &errand->auth))
		return true;
	booking_store_account_park(tenant, account,
							   cstring_to_text("auth_refused"), call->now);
	return false;
}

/*
 * A credential was accepted.
 */
void
booking_errand_accepted(BookingErrand *errand)
{
	booking_signin_accept(cstring_to_text(errand->tenant),
						  cstring_to_text(errand->account), &errand->auth);
}

/*
 * The provider asked to leave the account alone for some seconds.
 */
void
booking_errand_hold_off(BookingCall *call, BookingErrand *errand, int64 seconds)
{
	if (seconds <= 0)
		return;
	booking_store_account_block(cstring_to_text(errand->tenant),
								cstring_to_text(errand->account),
								booking_call_hold_clock() +
								Min(seconds, HOLD_OFF_LAST_SECS) * USECS_PER_SEC,
								cstring_to_text("the provider asked to wait"),
								call->now);
}

/*
 * Take in hand what is due, within the caller's transaction.  If that fails,
 * booking_errand_forget() must follow.
 */
void
booking_errand_lease(BookingCall *call)
{
	booking_conference_lease(call);
	booking_channel_lease(call);
	booking_reading_lease(call);
}

/*
 * When something is due that is not in hand; false if nothing is.
 */
bool
booking_errand_next_due(TimestampTz *next_at)
{
	bool		(*const due[]) (TimestampTz *next_at) = {
		booking_conference_next_due, booking_channel_next_due,
		booking_reading_next_due
	};
	bool		found = false;
	TimestampTz at;

	for (int i = 0; i < lengthof(due); i++)
	{
		if (!due[i] (&at))
			continue;
		*next_at = found ? Min(*next_at, at) : at;
		found = true;
	}
	return found;
}

/*
 * The transaction committed: send the first request of each.
 */
void
booking_errand_start(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &errands)
	{
		BookingErrand *errand = dlist_container(BookingErrand, node, iter.cur);

		if (errand->started)
			continue;
		errand->started = true;
		if (errand->request.method == NULL)
			finish(errand);
		else
			booking_http_start(http_engine, &errand->request, &errand->auth,
							   booking_http_limits(), errand->arena, on_answer,
							   errand);
	}
}

/*
 * The transaction failed: nothing of it happened.
 */
void
booking_errand_forget(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &errands)
	{
		BookingErrand *errand = dlist_container(BookingErrand, node, iter.cur);

		errand->recorded = false;
		if (!errand->started)
			free_errand(errand);
	}
}

/*
 * An answer came.  Called by the HTTP engine; no transaction, and nothing here
 * throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	BookingErrand *errand = arg;

	if (errand->kind->next(errand, response))
		booking_http_start(http_engine, &errand->request, &errand->auth,
						   booking_http_limits(), errand->arena, on_answer, errand);
	else
		finish(errand);
}

/*
 * What came of an errand is known.
 */
static void
finish(BookingErrand *errand)
{
	errand->finished = true;
	booking_load_release(errand->load);
	errand->load = NULL;
}

/*
 * Is there something to record?
 */
bool
booking_errand_finished(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &errands)
	{
		if (dlist_container(BookingErrand, node, iter.cur)->finished)
			return true;
	}
	return false;
}

/*
 * Record what came of errands, within the caller's transaction, each by itself.
 * What cannot be recorded is let go of: its row is due as it was.
 */
void
booking_errand_record(BookingCall *call)
{
	dlist_iter	iter;

	dlist_foreach(iter, &errands)
	{
		BookingErrand *errand = dlist_container(BookingErrand, node, iter.cur);
		ErrorData  *error;

		if (!errand->finished)
			continue;
		error = booking_session_item(call, record_item, errand);
		if (error == NULL)
			continue;
		errand->recorded = true;
		ereport(LOG,
				(errmsg("booking: what a provider told could not be recorded: %s",
						error->message)));
	}
}

/*
 * Record one, in a subtransaction.
 */
static void
record_item(BookingCall *call, void *arg)
{
	BookingErrand *errand = arg;

	errand->recorded = errand->kind->record(call, errand);
}

/*
 * The transaction of booking_errand_record() committed: let go of what it
 * recorded.
 */
void
booking_errand_recorded(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &errands)
	{
		BookingErrand *errand = dlist_container(BookingErrand, node, iter.cur);

		if (errand->recorded)
			free_errand(errand);
	}
}

/*
 * Let go of an errand; its credential is wiped.
 */
static void
free_errand(BookingErrand *errand)
{
	booking_load_release(errand->load);
	booking_auth_wipe(&errand->auth);
	dlist_delete(&errand->node);
	nerrands--;
	booking_arena_free(errand->arena);
}

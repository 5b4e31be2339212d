/*-------------------------------------------------------------------------
 *
 * pull.c
 *	  rounds of synchronization that are under way
 *
 *	lease	one transaction: a round begins, or goes on
 *	start	no transaction: the listing is asked for, and comes in
 *	work	one transaction for each part of the listing: what is not known in
 *			its version is noted, and then fetched, some objects at a time; one
 *			transaction for each lot of objects
 *	...		the listing goes on at its next page, or the round is finished:
 *			what it leaves out of ours is asked about (proof.c), then judged
 *
 * A listing is kept in memory until worked off, objects until their lot is stored;
 * what is large of either has one round at a time (turn.c).
 *
 * IDENTIFICATION
 *	  booking/src/controller/pull.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/ilist.h"
#include "utils/builtins.h"

#include "compat.h"
#include "controller/credential.h"
#include "controller/event.h"
#include "controller/limits.h"
#include "controller/load.h"
#include "controller/lot.h"
#include "controller/outage.h"
#include "controller/proof.h"
#include "controller/pull.h"
#include "controller/signin.h"
#include "controller/turn.h"
#include "guc.h"
#include "store/account.h"
#include "sync/projection.h"

/* calendars that are read at one time */
#define PULL_LIMIT 4

/* memory of a lot: its answer in its stages */
#define LOT_LIMIT (32 * 1024 * 1024)
#define LOT_SIZE 200			/* objects that are fetched at one time */

/* how long a request for a round waits after a failure */
#define PATIENCE (5 * USECS_PER_SEC)

/* what a round waits for */
typedef enum PullWait
{
	PULL_START,					/* for its first request to be sent */
	PULL_ANSWER,				/* for an answer */
	PULL_AGAIN,					/* for asking again: the answer was too large */
	PULL_WORK					/* for a transaction */
} PullWait;

/* how far it is; goes back when a transaction fails */
typedef struct PullProgress
{
	PullWait	wait;
	bool		over;			/* to be let go of */
	bool		listing;		/* a listing is worked on, without a new answer */
	bool		asking;			/* its suspects are to be asked about */
	const BookingPullChunk *chunk;	/* of the listing that is next */
	const char *page;			/* where the listing goes on */
	const char *token;			/* of its end */
	int			nwanted;
	int			nfetched;		/* of them, stored */
	int			nstored;		/* of those that were fetched after them */
	int			lot_size;
} PullProgress;

/* a round of one calendar; lives in its own arena */
typedef struct PullRun
{
	dlist_node	node;
	BookingArena *arena;
	BookingArena *listing;		/* of the page that is worked off */
	BookingArena *lot;			/* of the objects that are fetched; may be NULL */
	BookingArena *answer;		/* as it came, until it is judged; may be NULL */
	const char *account_key;	/* tenant and account */
	BookingLoad *load;			/* its account's share; may be NULL */
	const char *tenant;
	const char *account;
	const BookingProvider *provider;
	BookingRound round;
	BookingPullJob job;
	BookingPull pull;
	BookingHttpRequest request;
	BookingHttpAuth auth;

	BookingSuspects suspects;
	BookingProof proof;			/* of them */

	PullProgress at;
	const BookingPullItem *wanted[BOOKING_PULL_CHUNK];	/* to be fetched */
	const char *objects[BOOKING_PULL_CHUNK];	/* their names */
	int			nasked;			/* of them, asked for now */
} PullRun;

static void lease_item(BookingCall *call, void *arg);
static PullRun *make_run(const BookingCursorLease *lease);
static void ask_listing(PullRun *run);
static void ask_lot(PullRun *run);
static void ask_again(PullRun *run);
static void send_request(PullRun *run);
static void free_lot(PullRun *run);
static void ask_about_suspects(PullRun *run);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void on_proof(void *arg);
static void work_run(PullRun *run);
static void work_step(BookingCall *call, void *arg);
static void listed(BookingCall *call, PullRun *run);
static void listed_more(BookingCall *call, PullRun *run);
static void finish(BookingCall *call, PullRun *run);
static void fetched(BookingCall *call, PullRun *run);
static void failed(BookingCall *call, PullRun *run);
static void step_failed(BookingCall *call, PullRun *run, ErrorData *error);
static void give_up(BookingCall *call, void *arg);
static void free_run(PullRun *run);
static ArrayType *running_calendars(void);
static ArrayType *busy_accounts(void);
static int	rounds_of_account(const char *account_key);

static BookingHttpEngine *http_engine = NULL;
static dlist_head runs;
static int	nruns = 0;
static bool contended = false;	/* something waits for a caller's lock */

/* what a lease works on */
typedef struct LeaseWork
{
	int64		calendar_id;
	PullRun    *run;
} LeaseWork;

/*
 * Begin with nothing in hand.
 */
void
booking_pull_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&runs);
	nruns = 0;
}

/*
 * Begin what is due, as far as limits allow, within the caller's transaction.
 * If that fails, booking_pull_forget() must follow.
 */
void
booking_pull_lease(BookingCall *call)
{
	TimestampTz now = booking_call_hold_clock();
	List	   *due;
	ListCell   *cell;

	if (nruns >= PULL_LIMIT)
		return;
	due = booking_store_cursors_due(now, PATIENCE,
									booking_sync_interval > 0, busy_accounts(),
									running_calendars(), PULL_LIMIT - nruns);
	foreach(cell, due)
	{
		LeaseWork	work = {*(int64 *) lfirst(cell), NULL};
		ErrorData  *error = booking_session_item(call, lease_item, &work);

		if (error == NULL)
			continue;
		ereport(LOG,
				(errmsg("booking: calendar " INT64_FORMAT " could not be read: %s",
						work.calendar_id, error->message)));
		if (work.run != NULL)
			free_run(work.run);
		error = booking_session_item(call, give_up, &work.calendar_id);
		contended |= error != NULL;
	}
}

/*
 * The transaction of the lease failed: nothing of it happened.
 */
void
booking_pull_forget(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &runs)
	{
		PullRun    *run = dlist_container(PullRun, node, iter.cur);

		if (run->at.wait == PULL_START)
			free_run(run);
	}
}

/*
 * The leases are committed, and so are parts of rounds: send what they ask for,
 * and again what was too large, as far as its turn has come.
 */
void
booking_pull_start(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &runs)
	{
		PullRun    *run = dlist_container(PullRun, node, iter.cur);

		if (run->at.wait == PULL_START)
			ask_listing(run);
		else if (run->at.wait == PULL_AGAIN)
			ask_again(run);
	}
}

/*
 * Does a round wait for a transaction?
 */
bool
booking_pull_ready(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &runs)
	{
		if (dlist_container(PullRun, node, iter.cur)->at.wait == PULL_WORK)
			return true;
	}
	return false;
}

/*
 * Did something have to wait for a caller's lock?
 */
bool
booking_pull_contended(void)
{
	return contended;
}

/*
 * Rounds in hand.
 */
int
booking_pull_in_flight(void)
{
	return nruns;
}

/*
 * When something is due that is not in hand; false if nothing ever is.
 */
bool
booking_pull_next_due(TimestampTz *next_at)
{
	return booking_store_cursor_next_due(booking_call_hold_clock(), PATIENCE,
										 booking_sync_interval > 0,
										 running_calendars(), next_at);
}

/*
 * Begin one round, in a subtransaction.
 */
static void
lease_item(BookingCall *call, void *arg)
{
	LeaseWork  *work = arg;
	BookingCursorLease *lease = booking_store_cursor_lease(work->calendar_id);
	BookingSigninAccount account = {0};
	BookingSigninState state;
	const char *problem;
	PullRun    *run;

	if (lease == NULL)
		return;
	account.provider = booking_provider_find(lease->provider);
	account.tenant = cstring_to_text(lease->tenant);
	account.account = cstring_to_text(lease->account);
	account.secret = lease->secret;
	account.sealed = lease->sealed;
	run = work->run = make_run(lease);
	state = booking_load_full(run->account_key) ? BOOKING_SIGNIN_WAITING :
		booking_signin_fill(call, &account, run->arena, &run->auth, &problem);
	if (state == BOOKING_SIGNIN_WAITING || state == BOOKING_SIGNIN_SEALED)
	{
		free_run(run);
		work->run = NULL;
		return;
	}
	booking_round_begin(call, lease, &run->round);
	run->round.suspects = &run->suspects;
	run->job.from = booking_unix_microseconds(run->round.from);
	run->job.until = booking_unix_microseconds(run->round.until);
	run->job.token = booking_arena_copy_text(run->arena, lease->cursor.token);
	run->job.page = booking_arena_copy_text(run->arena, lease->cursor.page);
	if (state == BOOKING_SIGNIN_UNUSABLE)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the account has no credential that can be used")));
	run->load = booking_load_take(run->account_key,
								  run->provider->max_in_flight);
}

/*
 * A round that cannot even begin is put off.
 */
static void
give_up(BookingCall *call, void *arg)
{
	BookingCursorLease *lease = booking_store_cursor_lease(*(int64 *) arg);
	BookingPullResult result = {.kind = BOOKING_PULL_FAILED,
	.retry_after = -1,.problem = "cannot_begin"};
	BookingRound round;

	if (lease == NULL)
		return;
	booking_round_begin(call, lease, &round);
	booking_round_fail(call, &round, &result);
}

/*
 * Everything a round needs, copied out of the transaction, and in the list.
 */
static PullRun *
make_run(const BookingCursorLease *lease)
{
	BookingArena *arena = booking_arena_create(LOT_LIMIT);
	PullRun    *run = booking_arena_alloc(arena, sizeof(PullRun));

	if (run == NULL)
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	run->arena = arena;
	run->at.wait = PULL_START;
	run->at.lot_size = LOT_SIZE;
	run->tenant = booking_arena_copy_text(arena, lease->tenant);
	run->account = booking_arena_copy_text(arena, lease->account);
	run->account_key = booking_arena_copy_text(arena, psprintf("%s\n%s", lease->tenant,
												   lease->account));
	run->provider = booking_provider_find(lease->provider);
	run->job.base_url = booking_arena_copy_text(arena, lease->base_url);
	run->job.collection = booking_arena_copy_text(arena, lease->remote_id);
	run->job.failures = lease->cursor.failures;
	run->pull.job = &run->job;
	dlist_push_tail(&runs, &run->node);
	nruns++;
	return run;
}

/*
 * Ask for the next page of the listing.
 */
static void
ask_listing(PullRun *run)
{
	BookingArena *last = run->listing;

	free_lot(run);
	run->listing = booking_turn_listing(run);
	if (run->at.page != NULL)
		run->job.page = booking_arena_copy_text(run->listing, run->at.page);
	booking_arena_free(last);
	run->pull.arena = run->listing;
	run->provider->pull_list(&run->pull, &run->request);
	send_request(run);
}

/*
 * Ask for the next objects.
 */
static void
ask_lot(PullRun *run)
{
	free_lot(run);
	run->lot = booking_arena_create(LOT_LIMIT);
	run->pull.arena = run->lot;
	run->nasked = Min(run->at.lot_size, run->at.nwanted - run->at.nfetched);
	run->provider->pull_fetch(&run->pull, run->objects + run->at.nfetched,
							  run->nasked, &run->request);
	send_request(run);
}

/*
 * An answer was larger than one of several may be: ask for fewer objects, or for the
 * same when no other round has a large answer; for a large listing now, or in a
 * round that is to come.
 */
static void
ask_again(PullRun *run)
{
	if (run->pull.arena == run->lot && run->nasked > 1)
	{
		run->provider->pull_abandon(&run->pull);
		run->at.lot_size = run->nasked / 2;
		ask_lot(run);
	}
	else if (!booking_arena_failed(run->pull.arena))
	{
		if (booking_turn_take(BOOKING_TURN_ANSWER, run))
			send_request(run);
	}
	else if (booking_turn_relist(run, run->round.calendar_id))
		ask_listing(run);
	else
		free_run(run);
}

/*
 * Let go of what was fetched: it is another round's turn.
 */
static void
free_lot(PullRun *run)
{
	booking_arena_free(run->lot);
	run->lot = NULL;
	booking_turn_leave(BOOKING_TURN_ANSWER, run);
}

/*
 * Send what the adapter asked for.
 */
static void
send_request(PullRun *run)
{
	run->at.wait = PULL_ANSWER;
	booking_arena_free(run->answer);
	run->answer = booking_arena_create(LOT_LIMIT);
	booking_http_start(http_engine, &run->request, &run->auth,
					   booking_turn_has(BOOKING_TURN_ANSWER, run) ?
					   booking_http_limits() : booking_http_limits_shared(),
					   run->answer, on_answer, run);
}

/*
 * Ask about events that the listing does not show.
 */
static void
ask_about_suspects(PullRun *run)
{
	BookingProof *proof = &run->proof;

	run->at.wait = PULL_ANSWER;
	proof->engine = http_engine;
	proof->provider = run->provider;
	proof->base_url = run->job.base_url;
	proof->collection = run->job.collection;
	proof->auth = &run->auth;
	proof->suspects = &run->suspects;
	proof->done = on_proof;
	proof->arg = run;
	booking_proof_start(proof);
}

/*
 * All about them is said: the round goes on where it was.
 */
static void
on_proof(void *arg)
{
	PullRun    *run = arg;

	run->at.asking = false;
	run->at.wait = PULL_WORK;
}

/*
 * An answer came: ask the adapter what follows.  Called by the HTTP engine; no
 * transaction, and nothing here throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	PullRun    *run = arg;

	if (response->transport == BOOKING_TRANSPORT_TOO_LARGE &&
		!booking_turn_has(BOOKING_TURN_ANSWER, run) && run->request.sink == NULL)
		run->at.wait = PULL_AGAIN;
	else if (run->provider->pull_next(&run->pull, response, &run->request))
		send_request(run);
	else
	{
		run->at.wait = run->pull.arena == run->listing &&
			booking_turn_listed(run, run->listing) ? PULL_AGAIN : PULL_WORK;
		run->at.listing = false;
		booking_arena_free(run->answer);
		run->answer = NULL;
	}
}

/*
 * Do the transactions that rounds wait for, one for each.  If the worker is not
 * to go on, rounds are let go of instead; they are resumed some time.
 */
void
booking_pull_work(bool go_on)
{
	dlist_mutable_iter iter;

	contended = false;
	dlist_foreach_modify(iter, &runs)
	{
		PullRun    *run = dlist_container(PullRun, node, iter.cur);

		if (run->at.wait != PULL_WORK)
			continue;
		if (go_on)
			work_run(run);
		if (run->at.over || !go_on)
			free_run(run);
		else if (run->at.wait == PULL_WORK)
			continue;
		else if (run->at.asking)
			ask_about_suspects(run);
		else if (run->at.nfetched < run->at.nwanted)
			ask_lot(run);
		else
			ask_listing(run);
	}
}

/*
 * One transaction of a round.  If it fails the round does; the transaction
 * then says that.
 */
static void
work_run(PullRun *run)
{
	BookingCall call;
	ErrorData  *error;
	PullProgress before = run->at;
	BookingRound round = run->round;
	char		activity[128];

	snprintf(activity, sizeof(activity), "synchronizing calendar " INT64_FORMAT,
			 run->round.calendar_id);
	booking_session_begin(&call, activity);
	error = booking_session_item(&call, work_step, run);
	if (error != NULL)
	{
		run->at = before;
		run->round = round;
		step_failed(&call, run, error);
	}
	booking_session_commit(&call);
}

/*
 * What the transaction does, in a subtransaction.
 */
static void
work_step(BookingCall *call, void *arg)
{
	PullRun    *run = arg;

	if (!booking_round_enter(&run->round))
	{
		run->at.over = true;
		return;
	}
	if (run->at.listing)
		listed_more(call, run);
	else if (run->pull.result.kind == BOOKING_PULL_LISTED)
		listed(call, run);
	else if (run->pull.result.kind == BOOKING_PULL_FETCHED ||
			 run->pull.result.kind == BOOKING_PULL_TOO_LARGE)
		fetched(call, run);
	else
		failed(call, run);
}

/*
 * A page of the listing has come.
 */
static void
listed(BookingCall *call, PullRun *run)
{
	const BookingPullResult *result = &run->pull.result;

	run->round.whole = result->whole;
	run->at.chunk = result->items;
	run->at.page = result->page;
	run->at.token = result->token;
	listed_more(call, run);
}

/*
 * Work on a part of the listing; without one, go on to the next page or finish.
 */
static void
listed_more(BookingCall *call, PullRun *run)
{
	const BookingPullChunk *chunk = run->at.chunk;

	run->at.nwanted = run->at.nfetched = 0;
	run->at.listing = false;
	if (chunk == NULL)
	{
		if (run->at.page == NULL)
			finish(call, run);
		else if (booking_round_page(&run->round, run->at.page, &run->pull.result))
			run->at.wait = PULL_START;
		else
			failed(call, run);
		return;
	}
	run->at.nwanted = booking_projection_list(&run->round, chunk, run->wanted);
	run->at.nwanted = booking_lot_store_brought(call, &run->round, run->wanted,
												run->at.nwanted);
	for (int i = 0; i < run->at.nwanted; i++)
		run->objects[i] = run->wanted[i]->object;
	run->at.chunk = chunk->next;
	/* the next part in a transaction of its own */
	run->at.listing = run->at.nwanted == 0 && run->at.chunk != NULL;
	if (run->at.nwanted > 0)
		run->at.wait = PULL_START;
	else if (run->at.chunk == NULL)
		listed_more(call, run);
}

/*
 * All that was listed is stored.  What follows is done in further transactions,
 * as long as the round is not over.
 */
static void
finish(BookingCall *call, PullRun *run)
{
	BookingRoundStep step;

	booking_outage_over(run->account_key);
	booking_signin_accept(cstring_to_text(run->tenant),
						  cstring_to_text(run->account), &run->auth);
	if (run->proof.retry_after > 0)
		booking_outage_block(call, run->account_key, run->proof.retry_after,
							 run->suspects.stopped);
	step = booking_round_finish(call, &run->round, run->at.token);
	run->at.over = step == BOOKING_ROUND_OVER;
	run->at.listing = !run->at.over;
	run->at.asking = step == BOOKING_ROUND_ASKS;
	if (run->at.asking)
		run->at.wait = PULL_START;
}

/*
 * Objects have come, or there were too many of them for one answer.
 */
static void
fetched(BookingCall *call, PullRun *run)
{
	if (run->pull.result.kind == BOOKING_PULL_TOO_LARGE)
	{
		run->at.lot_size = Max(1, run->nasked / 2);
		run->at.wait = PULL_START;
		return;
	}
	if (!booking_lot_store_fetched(call, &run->round, run->pull.result.items,
								   run->wanted + run->at.nfetched, run->nasked,
								   &run->at.nstored))
		return;					/* the rest in a transaction of its own */
	run->at.nstored = 0;
	run->at.nfetched += run->nasked;
	run->at.lot_size = Min(run->at.lot_size * 2, LOT_SIZE);
	if (run->at.nfetched < run->at.nwanted)
		run->at.wait = PULL_START;
	else
		listed_more(call, run);
}

/*
 * The provider did not tell.
 */
static void
failed(BookingCall *call, PullRun *run)
{
	BookingPullResult *result = &run->pull.result;
	text	   *tenant = cstring_to_text(run->tenant);
	text	   *account = cstring_to_text(run->account);

	if (result->problem == NULL)
		result->problem = "failed";
	/* a token that was refused is got anew, once; then it is the credential */
	if (result->kind == BOOKING_PULL_AUTH &&
		booking_signin_renew(tenant, account, &run->auth))
	{
		result->kind = BOOKING_PULL_FAILED;
		result->problem = "token_refused";
	}
	booking_round_fail(call, &run->round, result);
	if (result->kind == BOOKING_PULL_AUTH)
		booking_store_account_park(tenant, account,
								   cstring_to_text(result->problem), call->now);
	else
		booking_outage_unread(call, run->account_key, run->round.calendar_id, result);
	run->at.over = true;
}

/*
 * A transaction of a round failed.  If a caller's lock was in its way it is
 * tried again, else the round is.
 */
static void
step_failed(BookingCall *call, PullRun *run, ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
	{
		contended = true;
		run->round.impatient = true;
		return;
	}
	ereport(LOG,
			(errmsg("booking: calendar " INT64_FORMAT " could not be stored: %s",
					run->round.calendar_id, error->message)));
	run->at.over = true;
	if (booking_session_item(call, give_up, &run->round.calendar_id) != NULL)
		contended = true;
}

/*
 * Let go of a round; its credential is wiped.
 */
static void
free_run(PullRun *run)
{
	if (run->provider != NULL)
		run->provider->pull_abandon(&run->pull);
	booking_auth_wipe(&run->auth);
	booking_load_release(run->load);
	dlist_delete(&run->node);
	nruns--;
	booking_proof_end(&run->proof);
	booking_arena_free(run->suspects.arena);
	booking_arena_free(run->listing);
	booking_turn_leave(BOOKING_TURN_LISTING, run);
	free_lot(run);
	booking_arena_free(run->answer);
	booking_arena_free(run->arena);
}

/*
 * Calendars that are being read, or wait for one that is.
 */
static ArrayType *
running_calendars(void)
{
	int64	   *ids = palloc_array(int64, nruns + BOOKING_TURN_MISSED);
	int			count = booking_turn_missed(ids);
	dlist_iter	iter;

	dlist_foreach(iter, &runs)
		ids[count++] = dlist_container(PullRun, node, iter.cur)->round.calendar_id;
	return booking_record_make_int8_array(ids, count);
}

/*
 * Keys of the accounts that take no more rounds for now: half of what an
 * account takes stays for writing.
 */
static ArrayType *
busy_accounts(void)
{
	text	  **keys = palloc_array(text *, nruns + BOOKING_SIGNIN_LIMIT + 1);
	int			count = booking_signin_pending(keys);
	dlist_iter	iter;

	dlist_foreach(iter, &runs)
	{
		PullRun    *run = dlist_container(PullRun, node, iter.cur);

		if (rounds_of_account(run->account_key) >=
			Max(1, run->provider->max_in_flight / 2))
			keys[count++] = cstring_to_text(run->account_key);
	}
	return booking_record_make_text_array(keys, count);
}

/*
 * Rounds of an account in hand; each has one request out at most.
 */
static int
rounds_of_account(const char *account_key)
{
	dlist_iter	iter;
	int			count = 0;

	dlist_foreach(iter, &runs)
	{
		count += strcmp(dlist_container(PullRun, node, iter.cur)->account_key,
						account_key) == 0;
	}
	return count;
}

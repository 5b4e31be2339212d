/*-------------------------------------------------------------------------
 *
 * people.c
 *	  asking when attendees are busy whose calendars are not synchronized
 *
 * Where the settings of the account that a booking is written through wish it,
 * its provider is asked about the attendees that have no calendar here, before
 * the event is created or moved.  fresh.c has the questions of operations that
 * are being checked; this file asks them and judges the answers.
 *
 * When a booking is decided nobody can be asked, so there is nothing to compare
 * an answer with: whatever is in the way is news, once.  It is put down with
 * the operation, and no news to a later version of the intent, whose proposer
 * has been told.
 *
 * What is not known of somebody is never taken for free: it is asked for again.
 * But people whom the provider does not know would keep a booking for ever, so
 * after some tries it goes ahead, and that is put down as evidence.
 *
 * IDENTIFICATION
 *	  booking/src/controller/people.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/builtins.h"

#include "compat.h"
#include "controller/credential.h"
#include "controller/event.h"
#include "controller/limits.h"
#include "controller/load.h"
#include "controller/people.h"
#include "controller/signin.h"
#include "ledger/detail.h"
#include "provider/provider.h"
#include "store/account.h"
#include "store/people.h"
#include "store/store.h"

#define ARENA_LIMIT (4 * 1024 * 1024)

/* tries of an operation after which it does without an answer */
#define ASK_TRIES 3

/* longest that an account is left alone because of a question */
#define RETRY_AFTER_LAST_SECS 3600

struct BookingQuestion
{
	BookingArena *arena;		/* which it is in, and no transaction touches */
	BookingLoad *load;			/* its account's share, NULL when answered */
	const BookingProvider *provider;
	BookingHttpAuth auth;
	BookingHttpRequest request;
	BookingBusyJob job;			/* about some at a time */
	BookingBusy busy;
	const char **people;		/* addresses, in lower case */
	int			npeople;
	int			asked;			/* those before this one are answered */
	BookingBusyAnswer *answers; /* one for each */
	bool		started;
	bool		over;
	bool		forgotten;		/* nobody waits for the answer any more */
};

static BookingQuestion *make_question(const BookingLease *lease,
									  char **people, int npeople);
static const char *copy_string(BookingArena *arena, const char *string);
static void ask_next(BookingQuestion *question);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void finish(BookingQuestion *question);
static void free_question(BookingQuestion *question);
static void note_failure(BookingCall *call, const BookingLease *lease,
						 BookingQuestion *question);
static bool read_own_time(const BookingLease *lease,
						  const BookingIdentity *identity,
						  BookingBusySpan *own);
static bool in_the_way(const BookingQuestion *question,
					   const BookingBusySpan *span, const BookingBusySpan *own);
static int64 digest_of(const char *person, const BookingBusySpan *span);
static Jsonb *find_news(const BookingLease *lease,
						const BookingIdentity *identity,
						const BookingQuestion *question);
static const char *find_unknown(const BookingQuestion *question);
static TimestampTz instant(int64 unix_microseconds);

static BookingHttpEngine *http_engine = NULL;

/*
 * Begin with nothing in hand.
 */
void
booking_people_init(BookingHttpEngine *engine)
{
	http_engine = engine;
}

/*
 * Is somebody to be asked about before an operation is sent?
 */
bool
booking_people_concern(const BookingLease *lease)
{
	const BookingProvider *provider = booking_provider_find(lease->provider);
	int			npeople;

	if (provider == NULL || !provider->tells_busy)
		return false;
	(void) booking_store_people_to_ask(&lease->operation, lease->payload.terms,
									   &npeople);
	return npeople > 0;
}

/*
 * Make the question for an operation, within a transaction.  Without a
 * credential that would do there is none; what is wrong with it is told when the
 * operation itself is to be sent.
 */
BookingAsking
booking_people_ask(BookingCall *call, const BookingLease *lease,
				   BookingQuestion **question)
{
	const BookingOperation *operation = &lease->operation;
	const char *key = psprintf("%s\n%s", operation->tenant, operation->account);
	BookingSigninAccount account = {
		booking_provider_find(lease->provider),
		cstring_to_text(operation->tenant), cstring_to_text(operation->account),
		lease->secret, lease->sealed
	};
	BookingSigninState state = BOOKING_SIGNIN_UNUSABLE;
	const char *problem;
	char	  **people;
	int			npeople;

	*question = NULL;
	people = booking_store_people_to_ask(operation, lease->payload.terms,
										 &npeople);
	if (npeople == 0)
		return BOOKING_ASKING_NOBODY;
	if (booking_load_full(key))
		return BOOKING_ASKING_LATER;
	*question = make_question(lease, people, npeople);
	PG_TRY();
	{
		state = booking_signin_fill(call, &account, (*question)->arena,
									&(*question)->auth, &problem);
	}
	PG_CATCH();
	{
		free_question(*question);
		*question = NULL;
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (state == BOOKING_SIGNIN_READY)
	{
		(*question)->load = booking_load_take(key, account.provider->max_in_flight);
		return BOOKING_ASKING_READY;
	}
	free_question(*question);
	*question = NULL;
	return state == BOOKING_SIGNIN_WAITING ? BOOKING_ASKING_LATER :
		BOOKING_ASKING_NOBODY;
}

/*
 * Everything a question needs, copied out of the transaction.
 */
static BookingQuestion *
make_question(const BookingLease *lease, char **people, int npeople)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingQuestion *question = arena == NULL ? NULL :
		booking_arena_alloc(arena, sizeof(BookingQuestion));

	if (question != NULL)
	{
		question->arena = arena;
		question->provider = booking_provider_find(lease->provider);
		question->job.base_url = copy_string(arena, lease->base_url);
		question->job.collection = copy_string(arena, lease->remote_id);
		question->job.from = booking_unix_microseconds(lease->payload.start);
		question->job.until = booking_unix_microseconds(lease->payload.end);
		question->people = booking_arena_alloc(arena, npeople * sizeof(char *));
		question->answers = booking_arena_alloc(arena, npeople *
												sizeof(BookingBusyAnswer));
		question->npeople = npeople;
		for (int i = 0; i < npeople && question->people != NULL; i++)
			question->people[i] = copy_string(arena, people[i]);
	}
	if (question == NULL || booking_arena_failed(arena))
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	return question;
}

/*
 * A copy of a string in an arena.
 */
static const char *
copy_string(BookingArena *arena, const char *string)
{
	return booking_arena_copy(arena, string, strlen(string));
}

/*
 * The transaction committed: send the question, unless that was done.
 */
void
booking_people_start(BookingQuestion *question)
{
	if (question->started)
		return;
	question->started = true;
	ask_next(question);
}

/*
 * Ask about the next of them, as many as one request may name.
 */
static void
ask_next(BookingQuestion *question)
{
	BookingBusyJob *job = &question->job;

	job->calendars = &question->people[question->asked];
	job->ncalendars = Min(question->npeople - question->asked, BOOKING_MAX_BUSY);
	memset(&question->busy, 0, sizeof(question->busy));
	question->busy.job = job;
	question->busy.arena = question->arena;
	question->provider->busy_start(&question->busy, &question->request);
	if (question->request.method == NULL)
		finish(question);
	else
		booking_http_start(http_engine, &question->request, &question->auth,
						   booking_http_limits(), question->arena, on_answer,
						   question);
}

/*
 * An answer came.  Called by the HTTP engine; no transaction, and nothing here
 * throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	BookingQuestion *question = arg;

	if (question->forgotten)
	{
		free_question(question);
		return;
	}
	if (question->provider->busy_next(&question->busy, response,
									  &question->request))
	{
		booking_http_start(http_engine, &question->request, &question->auth,
						   booking_http_limits(), question->arena, on_answer,
						   question);
		return;
	}
	if (question->busy.kind == BOOKING_BUSY_TOLD)
	{
		memcpy(&question->answers[question->asked], question->busy.calendars,
			   question->job.ncalendars * sizeof(BookingBusyAnswer));
		question->asked += question->job.ncalendars;
		if (question->asked < question->npeople)
		{
			ask_next(question);
			return;
		}
	}
	finish(question);
}

/*
 * All that will be answered has been.
 */
static void
finish(BookingQuestion *question)
{
	question->over = true;
	booking_load_release(question->load);
	question->load = NULL;
}

/*
 * Is a question answered, or will never be?
 */
bool
booking_people_answered(const BookingQuestion *question)
{
	return question->over;
}

/*
 * Nobody waits for an answer any more.  A request that is out cannot be called
 * back; the question is let go of when it ends.
 */
void
booking_people_forget(BookingQuestion *question)
{
	if (question->started && !question->over)
		question->forgotten = true;
	else
		free_question(question);
}

/*
 * Let go of a question; its credential is wiped.
 */
static void
free_question(BookingQuestion *question)
{
	booking_load_release(question->load);
	booking_auth_wipe(&question->auth);
	booking_arena_free(question->arena);
}

/*
 * What follows from an answer, within a transaction: nothing, if nobody is in
 * the way; something is, and that is put down as told; or not everything is
 * known.
 */
void
booking_people_judge(BookingCall *call, const BookingLease *lease,
					 const BookingIdentity *identity, BookingQuestion *question,
					 BookingFreshVerdict *verdict)
{
	const BookingOperation *operation = &lease->operation;
	const char *unknown;

	if (question->busy.kind == BOOKING_BUSY_TOLD)
		booking_signin_accept(cstring_to_text(operation->tenant),
							  cstring_to_text(operation->account),
							  &question->auth);
	else
		note_failure(call, lease, question);
	verdict->detail = find_news(lease, identity, question);
	if (verdict->detail != NULL)
	{
		verdict->freshness = BOOKING_FRESH_STALE;
		return;
	}
	unknown = find_unknown(question);
	if (unknown == NULL)
		return;
	if (operation->tries + 1 < ASK_TRIES)
	{
		verdict->freshness = BOOKING_FRESH_UNREAD;
		verdict->message = unknown;
		return;
	}
	booking_store_attempt(operation->operation_id, operation->epoch, "lookup",
						  "failed", question->busy.status, "attendee_unknown",
						  unknown, call->now);
}

/*
 * The provider did not answer: as for every request, a token that was refused is
 * got anew, and an account is left alone for as long as the provider wants.
 */
static void
note_failure(BookingCall *call, const BookingLease *lease,
			 BookingQuestion *question)
{
	text	   *tenant = cstring_to_text(lease->operation.tenant);
	text	   *account = cstring_to_text(lease->operation.account);
	const BookingBusy *busy = &question->busy;

	if (busy->kind == BOOKING_BUSY_AUTH)
	{
		if (!booking_signin_renew(tenant, account, &question->auth))
			booking_store_account_park(tenant, account,
									   cstring_to_text("auth_refused"),
									   call->now);
	}
	else if (busy->retry_after > 0)
		booking_store_account_block(tenant, account,
									booking_call_hold_clock() +
									Min(busy->retry_after, RETRY_AFTER_LAST_SECS) *
									USECS_PER_SEC,
									cstring_to_text("the provider asked to wait"),
									call->now);
}

/*
 * Somebody who is busy at the time of an operation, and of whom that was not told
 * before; NULL if there is nobody.  All that was found is put down as told.
 */
static Jsonb *
find_news(const BookingLease *lease, const BookingIdentity *identity,
		  const BookingQuestion *question)
{
	int			nknown;
	int64	   *known = booking_store_people_told(lease->operation.intent_id, &nknown);
	int64	   *told;
	int			ntold = 0;
	int			nspans = 0;
	BookingBusySpan own;
	Jsonb	   *news = NULL;

	if (!read_own_time(lease, identity, &own))
		own.start = own.end = question->job.from;
	for (int i = 0; i < question->asked; i++)
		nspans += question->answers[i].nspans;
	told = palloc_array(int64, nspans + 1);
	for (int i = 0; i < question->asked; i++)
	{
		const BookingBusyAnswer *answer = &question->answers[i];

		for (int j = 0; answer->known && j < answer->nspans; j++)
		{
			const BookingBusySpan *span = &answer->spans[j];
			int64		digest = digest_of(question->people[i], span);
			bool		old = !in_the_way(question, span, &own);
			BookingDetail detail;

			for (int k = 0; k < nknown && !old; k++)
				old = known[k] == digest;
			if (old)
				continue;
			told[ntold++] = digest;
			if (news != NULL)
				continue;
			booking_detail_begin(&detail);
			booking_detail_word(&detail, "reason", "calendar_changed");
			booking_detail_word(&detail, "attendee", question->people[i]);
			booking_detail_instant(&detail, "from", instant(span->start));
			booking_detail_instant(&detail, "until", instant(span->end));
			news = booking_detail_end(&detail);
		}
	}
	if (ntold > 0)
		booking_store_people_tell(lease->operation.operation_id, told, ntold);
	return news;
}

/*
 * When attendees are busy because of the event that is to be replaced; false if
 * there is none.
 */
static bool
read_own_time(const BookingLease *lease, const BookingIdentity *identity,
			  BookingBusySpan *own)
{
	BookingIdentity name = *identity;
	BookingIntent *predecessor;

	if (lease->payload.supersedes == NULL)
		return false;
	name.intent = lease->payload.supersedes;
	predecessor = booking_store_intent_read(&name);
	if (predecessor == NULL)
		return false;
	own->start = booking_unix_microseconds(lease->previous_moved ?
										   lease->previous_start :
										   predecessor->payload.start);
	own->end = booking_unix_microseconds(lease->previous_moved ?
										 lease->previous_end :
										 predecessor->payload.end);
	return true;
}

/*
 * Does a busy time meet what is asked for, but for our own event there?
 */
static bool
in_the_way(const BookingQuestion *question, const BookingBusySpan *span,
		   const BookingBusySpan *own)
{
	int64		start = Max(span->start, question->job.from);
	int64		end = Min(span->end, question->job.until);

	if (start >= end)
		return false;
	if (own->start >= own->end)
		return true;
	return start < Min(end, own->start) || Max(start, own->end) < end;
}

/*
 * Which busy time of whom it is.
 */
static int64
digest_of(const char *person, const BookingBusySpan *span)
{
	char	   *key = psprintf("%s\n" INT64_FORMAT "\n" INT64_FORMAT, person,
							   span->start, span->end);

	return (int64) hash_bytes_extended((const unsigned char *) key,
									   (int) strlen(key), 0);
}

/*
 * Of whom something is not known, and why; NULL if all is.
 */
static const char *
find_unknown(const BookingQuestion *question)
{
	for (int i = 0; i < question->asked; i++)
	{
		if (!question->answers[i].known)
			return psprintf("attendee %s: %s", question->people[i],
							question->answers[i].problem);
	}
	if (question->asked < question->npeople)
		return psprintf("attendee %s: %s", question->people[question->asked],
						question->busy.problem != NULL ?
						question->busy.problem : "failed");
	return NULL;
}

/*
 * An instant as the server counts.
 */
static TimestampTz
instant(int64 unix_microseconds)
{
	return unix_microseconds -
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

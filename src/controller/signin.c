/*-------------------------------------------------------------------------
 *
 * signin.c
 *	  access tokens for accounts that sign in for them
 *
 * Whoever is to send a request asks for the token of its account.  If there is
 * none that lives for a while longer, one sign-in begins, and all who need it
 * come back when it has ended:
 *
 *	fill	in a transaction: is there a token?  Else take the lock of the
 *			account, look again, and queue a sign-in
 *	start	no transaction: the request goes to the token endpoint
 *	record	one transaction: the token is stored, with the refresh token that
 *			came with it, before anybody uses either
 *
 * The lock is held from before the token was found wanting until after the new
 * one is committed, so of many workers one signs in.  A refresh token is good
 * for one use at some providers: who is told that it is void looks whether
 * another one is stored meanwhile before the account is parked.
 *
 * IDENTIFICATION
 *	  booking/src/controller/signin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "lib/ilist.h"
#include "utils/builtins.h"

#include "codec/json_write.h"
#include "compat.h"
#include "controller/credential.h"
#include "controller/event.h"
#include "controller/limits.h"
#include "controller/signin.h"
#include "ledger/lock.h"
#include "store/account.h"
#include "store/token.h"

#define ARENA_LIMIT (4 * 1024 * 1024)

/* a token is replaced so long before it ends, or a fifth of its life */
#define EARLY_SECS 300

#define BACKOFF_FIRST_SECS 5
#define BACKOFF_LAST_SECS 3600

/* until a credential is tried again that was sealed with another key */
#define SEALED_SECS 60

/* who asks right after a failure is told of it */
#define RECENT (5 * USECS_PER_SEC)

/* times that what was granted is tried to be stored */
#define STORE_TRIES 10

/* one sign-in; lives in its arena, which no transaction touches */
typedef struct SignIn
{
	dlist_node	node;
	BookingArena *arena;
	const char *tenant;
	const char *account;
	TimestampTz credential_at;	/* which credential it uses */
	bool		started;
	bool		finished;
	bool		recorded;
	int			tries;			/* to record it */
	bool		replaced;		/* its refresh token is not the credential's */
	BookingSignin signin;
	BookingHttpRequest request;
	BookingSigninResult result;
} SignIn;

static bool fill_token(BookingCall *call, const BookingSigninAccount *account,
					   BookingArena *arena, BookingHttpAuth *auth,
					   const char **problem);
static char *token_context(text *tenant, text *account);
static SignIn *find(text *tenant, text *account);
static bool queue(const BookingSigninAccount *account);
static void fill_defaults(BookingSignin *signin,
						  const BookingProvider *provider);
static SignIn *make(const BookingSigninAccount *account);
static const char *copy(BookingArena *arena, const char *string);
static void use_stored_refresh(SignIn *item, text *tenant, text *account);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void record_item(BookingCall *call, void *arg);
static void store_token(BookingCall *call, SignIn *item, text *tenant,
						text *account);
static bool is_outdated(SignIn *item, text *tenant, text *account);
static void record_failure(BookingCall *call, SignIn *item, text *tenant,
						   text *account);
static void free_item(SignIn *item);

static BookingHttpEngine *http_engine = NULL;
static dlist_head items;
static int	nitems = 0;

/*
 * Begin with nothing in hand.
 */
void
booking_signin_init(BookingHttpEngine *engine)
{
	http_engine = engine;
	dlist_init(&items);
	nitems = 0;
}

/*
 * Fill in how requests of an account sign in, within a transaction.  Unless it
 * is ready, problem says why, in words or as a code, for people; NULL if a
 * token is on its way.  If the credential was sealed with another key the account
 * is left alone for a while, so that whatever is due for it waits without a try.
 */
BookingSigninState
booking_signin_fill(BookingCall *call, const BookingSigninAccount *account,
					BookingArena *arena, BookingHttpAuth *auth,
					const char **problem)
{
	BookingSignin signin;
	bool		plain;

	memset(auth, 0, sizeof(*auth));
	*problem = NULL;
	if (account->secret == NULL)
		return BOOKING_SIGNIN_UNUSABLE;
	if (!booking_credential_open(account->secret, account->sealed,
								 booking_seal_context(account->tenant, account->account),
								 arena, auth, &signin))
	{
		*problem = BOOKING_PROBLEM_SEALED;
		booking_store_account_block(account->tenant, account->account,
									booking_call_hold_clock() +
									SEALED_SECS * USECS_PER_SEC,
									cstring_to_text(*problem), call->now);
		return BOOKING_SIGNIN_SEALED;
	}
	booking_credential_wipe(signin.client_secret);
	booking_credential_wipe(signin.refresh_token);
	booking_credential_wipe(signin.private_key);
	plain = auth->bearer != NULL ||
		(auth->username != NULL && auth->password != NULL);
	if (signin.grant == BOOKING_GRANT_NONE)
		return plain ? BOOKING_SIGNIN_READY : BOOKING_SIGNIN_UNUSABLE;

	if (find(account->tenant, account->account) != NULL)
		return BOOKING_SIGNIN_WAITING;
	if (fill_token(call, account, arena, auth, problem))
		return BOOKING_SIGNIN_READY;
	if (*problem != NULL)
		return BOOKING_SIGNIN_UNUSABLE;
	if (nitems >= BOOKING_SIGNIN_LIMIT)
		return BOOKING_SIGNIN_WAITING;
	if (!booking_lock_signin_try(account->tenant, account->account))
		return BOOKING_SIGNIN_WAITING;

	/* it may have been got before we had the lock */
	if (!fill_token(call, account, arena, auth, problem) && *problem == NULL &&
		queue(account))
		return BOOKING_SIGNIN_WAITING;
	booking_unlock_signin(account->tenant, account->account);
	return auth->bearer != NULL ? BOOKING_SIGNIN_READY : BOOKING_SIGNIN_UNUSABLE;
}

/*
 * Fill in the token that is stored, if it lives for a while; else problem says
 * why there is none, if getting one has just failed.
 */
static bool
fill_token(BookingCall *call, const BookingSigninAccount *account,
		   BookingArena *arena, BookingHttpAuth *auth, const char **problem)
{
	BookingToken token;
	const char *refresh_token;

	if (!booking_store_token_read(account->tenant, account->account, &token))
		return false;
	if (token.secret == NULL || token.renew_at <= booking_call_hold_clock())
	{
		if (token.problem != NULL && token.failed_at + RECENT > call->now)
			*problem = token.problem;
		return false;
	}
	booking_credential_token(token.secret, token.sealed,
							 token_context(account->tenant, account->account),
							 arena, &auth->bearer, &refresh_token);
	booking_credential_wipe(refresh_token);
	auth->serial = token.serial;
	auth->writes = account->writes;
	auth->renewed = auth->writes ? token.write_renewed : token.renewed;
	return auth->bearer != NULL;
}

/*
 * What a token is bound to when it is sealed.
 */
static char *
token_context(text *tenant, text *account)
{
	return psprintf("%s\ntoken", booking_seal_context(tenant, account));
}

/*
 * A token was refused.  Returns whether a request that nothing came of is to be
 * sent again, with another one; else the account's credential is no good.
 */
bool
booking_signin_renew(text *tenant, text *account, const BookingHttpAuth *auth)
{
	return auth->serial != 0 &&
		booking_store_token_refuse(tenant, account, auth->writes, auth->serial);
}

/*
 * A token was accepted.
 */
void
booking_signin_accept(text *tenant, text *account, BookingHttpAuth *auth)
{
	if (!auth->renewed)
		return;
	booking_store_token_accept(tenant, account, auth->writes, auth->serial);
	auth->renewed = false;
}

/*
 * The sign-in of an account that is under way; NULL if there is none.
 */
static SignIn *
find(text *tenant, text *account)
{
	dlist_iter	iter;

	dlist_foreach(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);

		if (booking_text_is(tenant, item->tenant) &&
			booking_text_is(account, item->account))
			return item;
	}
	return NULL;
}

/*
 * Queue a sign-in; false if the credential is gone or changed just now.
 */
static bool
queue(const BookingSigninAccount *account)
{
	SignIn	   *item = NULL;

	PG_TRY();
	{
		item = make(account);
	}
	PG_CATCH();
	{
		booking_unlock_signin(account->tenant, account->account);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (item == NULL)
		return false;
	dlist_push_tail(&items, &item->node);
	nitems++;
	return true;
}

/*
 * Everything a sign-in needs, copied out of the transaction.
 */
static SignIn *
make(const BookingSigninAccount *account)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	SignIn	   *item = booking_arena_alloc(arena, sizeof(*item));
	BookingHttpAuth auth;
	bytea	   *secret;
	bool		sealed;
	volatile bool opened = false;

	if (item == NULL)
	{
		booking_arena_free(arena);
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	}
	item->arena = arena;
	if (!booking_store_credential_read(account->tenant, account->account,
									   &sealed, &secret, &item->credential_at))
	{
		booking_arena_free(arena);
		return NULL;
	}
	PG_TRY();
	{
		opened = booking_credential_open(secret, sealed,
										 booking_seal_context(account->tenant, account->account),
										 arena, &auth, &item->signin);
		if (opened)
			use_stored_refresh(item, account->tenant, account->account);
	}
	PG_CATCH();
	{
		booking_arena_free(arena);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (!opened)
	{
		booking_arena_free(arena);
		return NULL;
	}
	item->tenant = copy(arena, text_to_cstring(account->tenant));
	item->account = copy(arena, text_to_cstring(account->account));
	fill_defaults(&item->signin, account->provider);
	item->signin.now = booking_unix_microseconds(GetCurrentTimestamp()) /
		USECS_PER_SEC;
	if (!booking_signin_request(&item->signin, arena, &item->request))
	{
		item->started = item->finished = true;
		item->result.kind = BOOKING_SIGNIN_REFUSED;
		item->result.retry_after = -1;
		item->result.problem = "credential_incomplete";
	}
	return item;
}

/*
 * What a credential leaves to its provider.
 */
static void
fill_defaults(BookingSignin *signin, const BookingProvider *provider)
{
	if (signin->token_url == NULL && provider->token_url[0] != '\0')
		signin->token_url = provider->token_url;

	/* a consent has its scope, which only Microsoft wants to be told again */
	if (signin->scope == NULL && provider->scope[0] != '\0' &&
		signin->grant != BOOKING_GRANT_REFRESH)
		signin->scope = provider->scope;
}

/*
 * A copy of a string in an arena.
 */
static const char *
copy(BookingArena *arena, const char *string)
{
	return booking_arena_copy(arena, string, strlen(string));
}

/*
 * The refresh token that came with the last access token replaces that of the
 * credential.
 */
static void
use_stored_refresh(SignIn *item, text *tenant, text *account)
{
	BookingToken token;
	const char *access_token;
	const char *refresh_token;

	if (!booking_store_token_read(tenant, account, &token) ||
		token.secret == NULL)
		return;
	booking_credential_token(token.secret, token.sealed,
							 token_context(tenant, account), item->arena,
							 &access_token, &refresh_token);
	booking_credential_wipe(access_token);
	if (refresh_token == NULL)
		return;
	booking_credential_wipe(item->signin.refresh_token);
	item->signin.refresh_token = refresh_token;
	item->replaced = true;
}

/*
 * Send what was queued.  The token endpoint gets no other credential than the
 * body has.
 */
void
booking_signin_start(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);

		if (item->started)
			continue;
		item->started = true;
		booking_http_start(http_engine, &item->request, NULL,
						   booking_http_limits(), item->arena, on_answer, item);
	}
}

/*
 * The answer of the token endpoint.  Called by the HTTP engine; no transaction,
 * and nothing here throws.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	SignIn	   *item = arg;

	booking_signin_judge(response, item->arena, &item->result);
	item->finished = true;
}

/*
 * Is there something to record?
 */
bool
booking_signin_finished(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &items)
	{
		if (dlist_container(SignIn, node, iter.cur)->finished)
			return true;
	}
	return false;
}

/*
 * Record what came, within the caller's transaction, each by itself.
 */
void
booking_signin_record(BookingCall *call)
{
	dlist_iter	iter;

	dlist_foreach(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);
		ErrorData  *error;

		if (!item->finished)
			continue;
		error = booking_session_item(call, record_item, item);
		item->recorded = error == NULL || ++item->tries >= STORE_TRIES;
		if (error != NULL)
			ereport(LOG,
					(errmsg("booking: a sign-in could not be recorded: %s",
							error->message)));
	}
}

/*
 * The transaction of booking_signin_record() committed: let go of what it
 * recorded.
 */
void
booking_signin_recorded(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);

		if (item->recorded)
			free_item(item);
	}
}

/*
 * Record one sign-in, in a subtransaction.  If the credential is another one by
 * now, what came of the old one does not matter.
 */
static void
record_item(BookingCall *call, void *arg)
{
	SignIn	   *item = arg;
	text	   *tenant = cstring_to_text(item->tenant);
	text	   *account = cstring_to_text(item->account);
	TimestampTz changed_at;
	bytea	   *secret;
	bool		sealed;

	if (!booking_store_credential_read(tenant, account, &sealed, &secret,
									   &changed_at) ||
		changed_at != item->credential_at)
		return;
	if (item->result.kind == BOOKING_SIGNIN_GRANTED)
		store_token(call, item, tenant, account);
	else if (item->result.kind != BOOKING_SIGNIN_DENIED ||
			 !is_outdated(item, tenant, account))
		record_failure(call, item, tenant, account);
}

/*
 * Store a token.  A refresh token that replaces the credential's is kept with
 * it, so that the next sign-in has it whatever happens.  The credential's own is
 * not: it may be in a file, and another one there the next time.
 */
static void
store_token(BookingCall *call, SignIn *item, text *tenant, text *account)
{
	const BookingSigninResult *result = &item->result;
	const char *refresh_token = result->refresh_token;
	BookingJsonWriter writer;
	char	   *plain;
	size_t		len;
	bytea	   *secret;
	bool		sealed;
	int64		early = Min(EARLY_SECS, result->lifetime / 5);

	if (refresh_token == NULL && item->replaced)
		refresh_token = item->signin.refresh_token;
	booking_json_begin(&writer, item->arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "access_token", result->access_token);
	if (item->signin.grant == BOOKING_GRANT_REFRESH && refresh_token != NULL)
		booking_json_put_text(&writer, "refresh_token", refresh_token);
	booking_json_close(&writer, '}');
	plain = booking_json_end(&writer, &len);
	if (plain == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	secret = booking_seal(plain, len, token_context(tenant, account), &sealed);
	booking_credential_wipe(plain);
	booking_store_token_put(tenant, account, sealed, secret,
							booking_call_hold_clock() +
							(result->lifetime - early) * USECS_PER_SEC,
							call->now);
}

/*
 * Is the refresh token that was refused another one than the one that is
 * stored now?
 */
static bool
is_outdated(SignIn *item, text *tenant, text *account)
{
	BookingToken token;
	const char *access_token;
	const char *refresh_token;

	if (item->signin.refresh_token == NULL ||
		!booking_store_token_read(tenant, account, &token) ||
		token.secret == NULL)
		return false;
	booking_credential_token(token.secret, token.sealed,
							 token_context(tenant, account), item->arena,
							 &access_token, &refresh_token);
	booking_credential_wipe(access_token);
	return refresh_token != NULL &&
		strcmp(refresh_token, item->signin.refresh_token) != 0;
}

/*
 * No token.  If only a person can help, the account is parked until the
 * credential is put anew; else it is left alone for a while.
 */
static void
record_failure(BookingCall *call, SignIn *item, text *tenant, text *account)
{
	const BookingSigninResult *result = &item->result;
	BookingToken token;
	double		seconds = BACKOFF_FIRST_SECS;
	text	   *problem = cstring_to_text(psprintf("sign-in: %s", result->problem));

	booking_store_token_fail(tenant, account, result->problem, call->now);
	if (result->kind != BOOKING_SIGNIN_LATER)
	{
		booking_store_account_park(tenant, account, problem, call->now);
		return;
	}
	(void) booking_store_token_read(tenant, account, &token);
	for (int i = 1; i < token.failures && seconds < BACKOFF_LAST_SECS; i++)
		seconds *= 2;
	seconds = Max(seconds, Min(result->retry_after, BACKOFF_LAST_SECS));
	seconds = Min(seconds, BACKOFF_LAST_SECS) *
		(1 + 0.25 * pg_prng_double(&pg_global_prng_state));
	booking_store_account_block(tenant, account, booking_call_hold_clock() +
								(TimestampTz) (seconds * USECS_PER_SEC),
								problem, call->now);
}

/*
 * Let go of a sign-in, so that others may begin one; its secrets are wiped.
 */
static void
free_item(SignIn *item)
{
	booking_unlock_signin(cstring_to_text(item->tenant),
						  cstring_to_text(item->account));
	booking_credential_wipe(item->signin.client_secret);
	booking_credential_wipe(item->signin.refresh_token);
	booking_credential_wipe(item->signin.private_key);
	booking_credential_wipe(item->request.body);
	booking_credential_wipe(item->result.access_token);
	booking_credential_wipe(item->result.refresh_token);
	dlist_delete(&item->node);
	nitems--;
	booking_arena_free(item->arena);
}

/*
 * Keys of the accounts that wait for a token, at most BOOKING_SIGNIN_LIMIT, so
 * that what is due for them does not hide what is due for others.
 */
int
booking_signin_pending(text **keys)
{
	dlist_iter	iter;
	int			count = 0;

	dlist_foreach(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);

		keys[count++] = cstring_to_text(psprintf("%s\n%s", item->tenant,
												 item->account));
	}
	return count;
}

/*
 * Does an account, by its key, wait for a token?
 */
bool
booking_signin_waits(const char *account_key)
{
	dlist_iter	iter;

	dlist_foreach(iter, &items)
	{
		SignIn	   *item = dlist_container(SignIn, node, iter.cur);

		if (strcmp(psprintf("%s\n%s", item->tenant, item->account),
				   account_key) == 0)
			return true;
	}
	return false;
}

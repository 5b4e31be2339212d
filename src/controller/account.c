/*-------------------------------------------------------------------------
 *
 * account.c
 *	  booking_account_put, booking_account_remove, booking_credential_put,
 *	  booking_credential_remove, booking_calendar_put, booking_calendar_remove
 *
 * IDENTIFICATION
 *	  booking/src/controller/account.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "controller/credential.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/site.h"
#include "ledger/wake.h"
#include "provider/provider.h"
#include "provider/url.h"
#include "store/conflict.h"
#include "store/cursor.h"
#include "store/effect.h"
#include "store/store.h"
#include "store/token.h"

PG_FUNCTION_INFO_V1(booking_account_put);
PG_FUNCTION_INFO_V1(booking_account_remove);
PG_FUNCTION_INFO_V1(booking_credential_put);
PG_FUNCTION_INFO_V1(booking_credential_remove);
PG_FUNCTION_INFO_V1(booking_calendar_put);
PG_FUNCTION_INFO_V1(booking_calendar_remove);

#define MAX_JSONB_BYTES BOOKING_CREDENTIAL_LIMIT

static text *url_arg(FunctionCallInfo fcinfo, int n, const char *name);
static text *remote_id_arg(FunctionCallInfo fcinfo, int n);
static void check_settings(Jsonb *settings);
static void check_word(Jsonb *settings, const char *key,
					   const char *const *words, int nwords, const char *hint);
static void check_size(Jsonb *value, const char *name);
static char *check_credential(Jsonb *credential,
							  const BookingCredentialType **type);
static void check_members(const BookingCredentialType *type,
						  const Jsonb *credential);
static void check_file(const BookingCall *call,
					   const BookingCredentialType *type, const char *file);
static void check_app(const BookingCall *call, const BookingCredentialType *type,
					  Jsonb *credential, const char *provider);
static void check_token_url(const Jsonb *credential, const char *provider);
static bool same_server(const text *base_url, const text *present_url);
static void forget_credential(text *tenant, text *account, TimestampTz now);
static void demand_account(text *tenant, text *account, text **provider);
static bool lock_calendar(text *tenant, const BookingCalendar *wanted,
						  BookingCalendar *present, bool *elsewhere);
static void demand_settled(text *tenant, text *account, text *calendar);
static void demand_resource(text *tenant, const BookingCalendar *calendar);
static const BookingProvider *find_provider(text *name);
static void detach_resource(text *tenant, const BookingCalendar *calendar);
static void audit(const BookingCall *call, const char *action, text *tenant,
				  const char *key, text *name);

/*
 * booking_account_put(tenant, account, provider, base_url, settings) returns
 * void
 *
 * A credential is for one server.  Whoever may point an account elsewhere need
 * not be one who knows it, so it does not go there.
 */
Datum
booking_account_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *account = booking_arg_label(fcinfo, 1, "account");
	text	   *provider = booking_arg_label(fcinfo, 2, "provider");
	text	   *base_url = PG_ARGISNULL(3) ? NULL : url_arg(fcinfo, 3, "base_url");
	Jsonb	   *settings = PG_ARGISNULL(4) ? NULL : PG_GETARG_JSONB_P(4);
	text	   *present_provider = NULL;
	text	   *present_url = NULL;
	Jsonb	   *present_settings = NULL;
	const BookingProvider *known;
	BookingCall call;
	bool		moved;

	known = find_provider(provider);
	if (settings != NULL)
		check_settings(settings);

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	booking_lock_place(tenant, account);
	(void) booking_store_account_read(tenant, account, &present_provider,
									  &present_url, &present_settings);
	if (base_url == NULL)
		base_url = present_url;
	if (base_url == NULL && known->base_url[0] != '\0')
		base_url = cstring_to_text(known->base_url);
	if (base_url == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", "base_url"),
				 errhint("Give the URL of the calendar server.")));
	moved = present_url != NULL &&
		(booking_text_compare(base_url, present_url) != 0 ||
		 booking_text_compare(provider, present_provider) != 0);
	if (moved)
		demand_settled(tenant, account, NULL);
	if (settings == NULL)
		settings = present_settings != NULL ? present_settings : booking_detail_empty();
	booking_store_account_put(tenant, account, provider, base_url, settings,
							  call.now);
	if (moved)
	{
		booking_store_cursors_restart(tenant, account, booking_call_hold_clock());
		booking_store_events_disconnect(tenant, account, NULL, "account_put",
										call.now);
	}
	if (moved && (booking_text_compare(provider, present_provider) != 0 ||
				  !same_server(base_url, present_url)))
		forget_credential(tenant, account, call.now);
	booking_site_arm(call.now, false);
	audit(&call, "account_put", tenant, "account", account);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * The provider of this name.
 */
static const BookingProvider *
find_provider(text *name)
{
	const BookingProvider *provider = booking_provider_find(text_to_cstring(name));

	if (provider == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" names no provider", "provider"),
				 errhint("Known providers: %s.", booking_provider_names())));
	return provider;
}

/*
 * booking_account_remove(tenant, account) returns void
 */
Datum
booking_account_remove(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *account = booking_arg_label(fcinfo, 1, "account");
	text	   *calendars;
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	demand_account(tenant, account, NULL);
	calendars = booking_store_account_calendars(tenant, account);
	if (calendars != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the account is in use"),
				 errdetail("Calendars: %s.", text_to_cstring(calendars)),
				 errhint("Remove its calendars first.")));
	booking_store_token_remove(tenant, account);
	(void) booking_store_credential_remove(tenant, account);
	(void) booking_store_account_remove(tenant, account);
	audit(&call, "account_remove", tenant, "account", account);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_credential_put(tenant, account, credential) returns void
 *
 * The credential is sealed, or stored plain with a WARNING, unless it only names
 * a file.  Putting it lets a parked account be used again.
 */
Datum
booking_credential_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *account = booking_arg_label(fcinfo, 1, "account");
	Jsonb	   *credential;
	const BookingCredentialType *type;
	char	   *file;
	text	   *provider;
	char	   *plain;
	bytea	   *secret;
	bool		sealed;
	BookingCall call;

	booking_arg_require(fcinfo, 2, "credential");
	credential = PG_GETARG_JSONB_P(2);
	file = check_credential(credential, &type);

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	demand_account(tenant, account, &provider);
	if (file != NULL)
		check_file(&call, type, file);
	else if (booking_credential_app(type, credential) != NULL)
		check_app(&call, type, credential, text_to_cstring(provider));
	else
		check_token_url(credential, text_to_cstring(provider));
	plain = JsonbToCString(NULL, &credential->root, VARSIZE(credential));
	secret = booking_seal(plain, strlen(plain),
						  booking_seal_context(tenant, account), &sealed);
	explicit_bzero(plain, strlen(plain));
	if (!sealed && file == NULL)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("the credential is stored unencrypted"),
				 errhint("Set booking.secret_key_file, and put the credential again.")));
	booking_store_token_remove(tenant, account);
	booking_store_credential_put(tenant, account, sealed, secret, call.now);
	booking_store_account_unpark(tenant, account, call.now);
	booking_store_cursors_hasten(tenant, account, booking_call_hold_clock());
	audit(&call, "credential_put", tenant, "account", account);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_credential_remove(tenant, account) returns void
 */
Datum
booking_credential_remove(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *account = booking_arg_label(fcinfo, 1, "account");
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	demand_account(tenant, account, NULL);
	booking_store_token_remove(tenant, account);
	(void) booking_store_credential_remove(tenant, account);
	audit(&call, "credential_remove", tenant, "account", account);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_calendar_put(tenant, calendar, account, remote_id, resource, role,
 * address) returns void
 *
 * A resource has at most one write calendar.  Two resources may share one
 * calendar of the provider under two names here; each claim is its own event.
 */
Datum
booking_calendar_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	BookingCalendar wanted = {0};
	BookingCalendar present = {0};
	BookingCall call;
	bool		known;
	bool		elsewhere;

	wanted.calendar = booking_arg_label(fcinfo, 1, "calendar");
	wanted.account = booking_arg_label(fcinfo, 2, "account");
	wanted.remote_id = remote_id_arg(fcinfo, 3);
	wanted.resource = booking_arg_label_optional(fcinfo, 4, "resource");
	wanted.role = booking_arg_label(fcinfo, 5, "role");
	wanted.address = booking_arg_label_optional(fcinfo, 6, "address");
	if (!booking_text_is(wanted.role, "write") && !booking_text_is(wanted.role, "busy"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is invalid", "role"),
				 errhint("Give write or busy.")));

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	demand_account(tenant, wanted.account, NULL);
	known = lock_calendar(tenant, &wanted, &present, &elsewhere);
	if (elsewhere)
		demand_settled(tenant, present.account, wanted.calendar);
	if (known)
		detach_resource(tenant, &present);
	demand_resource(tenant, &wanted);
	booking_store_calendar_put(tenant, &wanted, call.now);
	booking_store_cursor_put(tenant, wanted.calendar, elsewhere,
							 booking_call_hold_clock());
	if (elsewhere)
		booking_store_events_disconnect(tenant, wanted.account, wanted.calendar,
										"calendar_put", call.now);
	if (wanted.resource != NULL && booking_text_is(wanted.role, "write"))
		booking_store_resource_calendar(tenant, wanted.resource, wanted.calendar);
	audit(&call, "calendar_put", tenant, "calendar", wanted.calendar);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_calendar_remove(tenant, calendar) returns void
 */
Datum
booking_calendar_remove(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "calendar");
	BookingCalendar calendar;
	text	   *open;
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	if (!booking_store_calendar_read(tenant, name, &calendar))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("calendar does not exist"),
				 errhint("Check the spelling.")));
	detach_resource(tenant, &calendar);
	open = booking_store_calendar_open_operations(tenant, name);
	if (open != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the calendar has operations that are not settled"),
				 errdetail("Intents: %s.", text_to_cstring(open)),
				 errhint("Wait for the worker, or see booking.recovery.")));
	booking_store_conflicts_close(tenant, name, call.now);
	booking_store_events_missing(tenant, name, call.now);
	booking_store_cursor_remove(tenant, name);
	booking_store_calendar_remove(tenant, name);
	audit(&call, "calendar_remove", tenant, "calendar", name);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * What a credential is bound to when it is sealed.
 */
char *
booking_seal_context(const text *tenant, const text *account)
{
	/* no label contains a control character */
	return psprintf("%s\n%s", text_to_cstring(tenant), text_to_cstring(account));
}

/*
 * An absolute http or https URL without user, query and fragment.  Whether
 * http is allowed is judged when it is used, by booking.insecure_hosts.
 */
static text *
url_arg(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (!booking_credential_is_url(text_to_cstring(PG_GETARG_TEXT_PP(n))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no valid URL", name),
				 errhint("Give https://host/path without user, query and fragment; credentials go to booking_credential_put.")));
	return PG_GETARG_TEXT_PP(n);
}

/*
 * What the provider calls a calendar.
 */
static text *
remote_id_arg(FunctionCallInfo fcinfo, int n)
{
	text	   *remote_id;
	int			length;
	bool		valid;

	booking_arg_require(fcinfo, n, "remote_id");
	remote_id = PG_GETARG_TEXT_PP(n);
	length = VARSIZE_ANY_EXHDR(remote_id);
	valid = length > 0 && length <= BOOKING_URL_LIMIT;
	for (int i = 0; valid && i < length; i++)
		valid = (unsigned char) VARDATA_ANY(remote_id)[i] >= ' ' &&
			VARDATA_ANY(remote_id)[i] != 0x7f;
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is invalid", "remote_id"),
				 errhint("Give 1 to %d bytes without control characters: for CalDAV the path or URL of the collection, for Google the id of the calendar.",
						 BOOKING_URL_LIMIT)));
	return remote_id;
}

/*
 * Settings are an object, and hold no secret, however deep.
 */
static void
check_settings(Jsonb *settings)
{
	static const char *const secrets[] = {
		"password", "token", "secret", "client_secret", "refresh_token",
		"private_key", "credential", "authorization"
	};
	static const char *const blocks[] = {"all", "one", "none"};
	static const char *const asked[] = {"none", "attendees"};
	static const char *const push[] = {"on", "off"};
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(settings))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be an object", "settings"),
				 errhint("Give {} for none.")));
	check_size(settings, "settings");
	check_word(settings, "busy_blocks", blocks, lengthof(blocks),
			   "Give \"all\" (an event takes all units of its resource), \"one\" or \"none\".");
	check_word(settings, "free_busy", asked, lengthof(asked),
			   "Give \"attendees\" (the provider is asked about those without a calendar here) or \"none\".");
	check_word(settings, "push", push, lengthof(push),
			   "Give \"on\" (changes are told to booking.push_url, where it is set) or \"off\".");
	iterator = JsonbIteratorInit(&settings->root);
	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		if (token != WJB_KEY)
			continue;
		for (int i = 0; i < lengthof(secrets); i++)
			if (value.val.string.len == strlen(secrets[i]) &&
				pg_strncasecmp(value.val.string.val, secrets[i],
							   value.val.string.len) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("argument \"%s\" must not hold a secret", "settings"),
						 errhint("Settings can be read; give \"%s\" to booking_credential_put.",
								 secrets[i])));
	}
}

/*
 * A setting that every account knows is one of some words, if it is there.
 */
static void
check_word(Jsonb *settings, const char *key, const char *const *words,
		   int nwords, const char *hint)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(&settings->root, key, strlen(key),
									 &value) == NULL)
		return;
	for (int i = 0; value.type == jbvString && i < nwords; i++)
	{
		if (value.val.string.len == strlen(words[i]) &&
			memcmp(value.val.string.val, words[i], value.val.string.len) == 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" has an invalid \"%s\"", "settings", key),
			 errhint("%s", hint)));
}

/*
 * Settings and credentials are small.
 */
static void
check_size(Jsonb *value, const char *name)
{
	if (VARSIZE(value) > MAX_JSONB_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument \"%s\" is too large", name),
				 errhint("The limit is %d kB.", MAX_JSONB_BYTES / 1024)));
}

/*
 * A credential has a type and what the type needs, or the name of a file that
 * has it; returns that name, or NULL.  What an app has to add is not known here.
 * Its values are not repeated in any message.
 */
static char *
check_credential(Jsonb *credential, const BookingCredentialType **type)
{
	check_size(credential, "credential");
	if (!JB_ROOT_IS_OBJECT(credential) ||
		!booking_credential_has(credential, "type"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be an object with a type", "credential"),
				 errhint("For example {\"type\": \"basic\", \"username\": ..., \"password\": ...}.")));
	*type = booking_credential_type(credential);
	if (*type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("argument \"%s\" has a type that is not supported", "credential"),
				 errhint("Supported types: basic, bearer, refresh_token, client_credentials, service_account.")));
	if (JsonContainerSize(&credential->root) == 2 &&
		booking_credential_has(credential, "file"))
		return booking_credential_string(credential, "file");
	if (booking_credential_app(*type, credential) == NULL)
		check_members(*type, credential);
	return NULL;
}

/*
 * A credential has what its type needs.
 */
static void
check_members(const BookingCredentialType *type, const Jsonb *credential)
{
	const char *lack = booking_credential_lack(type, credential);

	if (lack != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" lacks a valid \"%s\"", "credential", lack),
				 errhint("%s Or give a type and a \"file\" alone.",
						 booking_credential_hint(lack))));
}

/*
 * Where a credential signs in must be told unless the account's provider has one
 * place for all.
 */
static void
check_token_url(const Jsonb *credential, const char *provider)
{
	const BookingProvider *known = booking_provider_find(provider);

	if (booking_signin_grant(booking_credential_string(credential, "type")) == BOOKING_GRANT_NONE ||
		booking_credential_has(credential, "token_url"))
		return;
	if (known != NULL && known->token_url[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" lacks a valid \"%s\"", "credential", "token_url"),
				 errhint("The provider %s has none for all; Microsoft's is https://login.microsoftonline.com/TENANT/oauth2/v2.0/token.",
						 known->name)));
}

/*
 * A credential may name a file if whoever puts it may read all of them: its
 * content goes to the server of the account.  What is there now must be of use.
 */
static void
check_file(const BookingCall *call, const BookingCredentialType *type,
		   const char *file)
{
	Jsonb	   *content;

	booking_access_demand_owner(call);
	content = booking_credential_read_file(type, file);
	explicit_bzero(VARDATA(content), VARSIZE(content) - VARHDRSZ);
}

/*
 * The same of a credential that names the file of an app: with what is there now
 * it must be of use.
 */
static void
check_app(const BookingCall *call, const BookingCredentialType *type,
		  Jsonb *credential, const char *provider)
{
	Jsonb	   *copy = palloc(VARSIZE(credential));
	Jsonb	   *joined;

	booking_access_demand_owner(call);
	memcpy(copy, credential, VARSIZE(credential));
	joined = booking_credential_join_app(copy,
										 booking_credential_app(type, credential));
	check_members(type, joined);
	check_token_url(joined, provider);
	explicit_bzero(VARDATA(joined), VARSIZE(joined) - VARHDRSZ);
}

/*
 * Are two URLs of accounts at one server?
 */
static bool
same_server(const text *base_url, const text *present_url)
{
	return booking_url_same_origin(text_to_cstring(base_url),
								   text_to_cstring(present_url));
}

/*
 * An account is at another server now, or speaks to it in another way: what it
 * signed in with is gone, and it is not used until there is something new.
 */
static void
forget_credential(text *tenant, text *account, TimestampTz now)
{
	booking_store_token_remove(tenant, account);
	if (!booking_store_credential_remove(tenant, account))
		return;
	booking_store_account_park(tenant, account,
							   cstring_to_text("the credential was for another server"),
							   now);
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("the credential of the account was for another server, and is removed"),
			 errhint("Put the one for this server with booking_credential_put; nothing is sent until then.")));
}

/*
 * Raise an error unless the account exists.  provider may be NULL.
 */
static void
demand_account(text *tenant, text *account, text **provider)
{
	if (!booking_store_account_read(tenant, account, provider, NULL, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("account does not exist"),
				 errhint("Create it with booking_account_put first.")));
}

/*
 * Read a calendar as it is; returns whether there is one.  If it is to be
 * elsewhere, nothing is on its way any more, uncommitted, to where it is.
 */
static bool
lock_calendar(text *tenant, const BookingCalendar *wanted,
			  BookingCalendar *present, bool *elsewhere)
{
	text	   *locked = NULL;

	for (;;)
	{
		bool		known = booking_store_calendar_read(tenant, wanted->calendar,
														present);

		*elsewhere = known &&
			(booking_text_compare(wanted->account, present->account) != 0 ||
			 booking_text_compare(wanted->remote_id, present->remote_id) != 0);
		if (!*elsewhere ||
			(locked != NULL && booking_text_compare(locked, present->account) == 0))
			return known;

		/* it may have moved before we had the lock */
		locked = present->account;
		booking_lock_place(tenant, locked);
	}
}

/*
 * Raise an error if something was sent through an account, or to one of its
 * calendars, and is not settled: it would be looked up in the new place, not be
 * found, and be sent there again.
 */
static void
demand_settled(text *tenant, text *account, text *calendar)
{
	text	   *sent = booking_store_operations_sent(tenant, account, calendar);

	if (sent != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("what was sent there is not settled"),
				 errdetail("Intents: %s.", text_to_cstring(sent)),
				 errhint("Wait for the worker, or see booking.recovery.")));
}

/*
 * Raise an error unless the resource of a calendar exists and, for a write
 * calendar, has no other one.  The exclusive lock waits for claims that read
 * the resource as it was, and for another calendar on its way.
 */
static void
demand_resource(text *tenant, const BookingCalendar *calendar)
{
	BookingResource resource;
	text	   *writer;

	if (calendar->resource == NULL)
		return;
	if (!booking_store_resource_lookup(tenant, calendar->resource, &resource,
									   NULL))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("resource does not exist"),
				 errhint("Create it with booking_resource_put first, and check the spelling.")));
	booking_lock_resource(resource.resource_id, ExclusiveLock);
	if (!booking_text_is(calendar->role, "write"))
		return;
	writer = booking_store_calendar_writer(tenant, calendar->resource);
	if (writer != NULL && booking_text_compare(writer, calendar->calendar) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the resource has another write calendar"),
				 errdetail("Calendar: %s.", text_to_cstring(writer)),
				 errhint("Remove that calendar or its resource first, or give this one the role busy.")));
}

/*
 * Take a calendar off its resource, under the lock that claims wait for.
 */
static void
detach_resource(text *tenant, const BookingCalendar *calendar)
{
	BookingResource resource;

	if (calendar->resource == NULL ||
		!booking_store_resource_lookup(tenant, calendar->resource, &resource,
									   NULL))
		return;
	booking_lock_resource(resource.resource_id, ExclusiveLock);
	if (!booking_text_is(calendar->role, "write"))
		return;
	booking_store_resource_calendar(tenant, calendar->resource, NULL);
}

/*
 * Record who did what.
 */
static void
audit(const BookingCall *call, const char *action, text *tenant,
	  const char *key, text *name)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, key, name);
	booking_store_audit(action, call->role, tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call->now);
}

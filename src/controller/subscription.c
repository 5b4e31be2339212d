/*-------------------------------------------------------------------------
 *
 * subscription.c
 *	  booking_subscription_put, booking_subscription_secret_put,
 *	  booking_subscription_secret_retire, booking_subscription_disable,
 *	  booking_subscription_remove, booking_subscription_replay,
 *	  booking_subscriptions
 *
 * A subscription that is enabled is a consumer of the feed, whose name begins
 * with a line feed, so that no caller can give it.
 *
 * Order of locks: role binding, feed, subscription.
 *
 * IDENTIFICATION
 *	  booking/src/controller/subscription.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "codec/webhook_signature.h"
#include "compat.h"
#include "controller/credential.h"
#include "controller/subscription.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "ledger/site.h"
#include "ledger/wake.h"
#include "store/seal.h"
#include "store/store.h"

PG_FUNCTION_INFO_V1(booking_subscription_put);
PG_FUNCTION_INFO_V1(booking_subscription_secret_put);
PG_FUNCTION_INFO_V1(booking_subscription_secret_retire);
PG_FUNCTION_INFO_V1(booking_subscription_disable);
PG_FUNCTION_INFO_V1(booking_subscription_remove);
PG_FUNCTION_INFO_V1(booking_subscription_replay);
PG_FUNCTION_INFO_V1(booking_subscriptions);

/* the new one, the old one, and one that somebody forgot */
#define MAX_SECRETS 3
#define MAX_SECRET_BYTES 200
#define MAX_FILTERED 100
#define KEY_BYTES 12

static text *url_arg(FunctionCallInfo fcinfo);
static char *secret_arg(FunctionCallInfo fcinfo, bool required);
static void check_filter(Jsonb *filter);
static bool is_filter_list(const JsonbValue *key, JsonbValue *list);
static bool is_type(const JsonbValue *value);
static void raise_filter(void) pg_attribute_noreturn();
static void begin(BookingCall *call, FunctionCallInfo fcinfo, text *tenant);
static void demand_subscription(text *tenant, text *name,
								BookingSubscription *found);
static void first_put(BookingSubscription *row, const char *secret);
static void feed(const BookingSubscription *subscription, TimestampTz now);
static int32 add_secret(int64 subscription_id, char *plain, TimestampTz now);
static bool has_secret(int64 subscription_id, const char *plain);
static void audit(const BookingCall *call, const char *action,
				  const BookingSubscription *subscription);
static void return_row(void *arg, Datum *columns, bool *nulls);

/*
 * booking_subscription_put(tenant, name, url, secret, filter) returns void
 */
Datum
booking_subscription_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	text	   *url = url_arg(fcinfo);
	char	   *secret = secret_arg(fcinfo, false);
	Jsonb	   *filter = PG_ARGISNULL(4) ? NULL :
		booking_arg_jsonb(fcinfo, 4, "filter");
	BookingSubscription row = {0};
	BookingCall call;
	bool		known;
	bool		fed;

	if (filter != NULL)
		check_filter(filter);
	begin(&call, fcinfo, tenant);
	booking_lock_feed(tenant);
	known = booking_store_subscription_read(tenant, name, &row);
	fed = known && row.enabled;
	row.tenant = tenant;
	row.name = name;
	row.url = url != NULL ? url : row.url;
	row.filter = filter != NULL ? filter :
		known ? row.filter : booking_detail_empty();
	if (!known)
		first_put(&row, secret);
	row.subscription_id = booking_store_subscription_put(&row, call.now);
	if (!fed)
	{
		(void) booking_store_subscription_read(tenant, name, &row);
		feed(&row, call.now);
	}
	if (secret != NULL)
	{
		if (!has_secret(row.subscription_id, secret))
			(void) add_secret(row.subscription_id, secret, call.now);
		explicit_bzero(secret, strlen(secret));
	}
	booking_site_arm(call.now, false);
	audit(&call, "subscription_put", &row);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_subscription_secret_put(tenant, name, secret) returns integer
 */
Datum
booking_subscription_secret_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	char	   *secret = secret_arg(fcinfo, true);
	BookingSubscription subscription;
	BookingCall call;
	int32		number;

	begin(&call, fcinfo, tenant);
	demand_subscription(tenant, name, &subscription);
	number = add_secret(subscription.subscription_id, secret, call.now);
	explicit_bzero(secret, strlen(secret));
	audit(&call, "subscription_secret_put", &subscription);
	booking_call_end(&call);
	PG_RETURN_INT32(number);
}

/*
 * booking_subscription_secret_retire(tenant, name, number) returns integer
 *
 * The last one stays: what is not signed would not be believed.
 */
Datum
booking_subscription_secret_retire(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	int32		number = booking_arg_positive(fcinfo, 2, "number");
	BookingSubscription subscription;
	BookingCall call;
	int			count;

	begin(&call, fcinfo, tenant);
	demand_subscription(tenant, name, &subscription);
	if (!booking_store_subscription_secret_remove(subscription.subscription_id,
												  number))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the subscription has no such secret"),
				 errhint("See secret_numbers of booking_subscriptions().")));
	(void) booking_store_subscription_secrets(subscription.subscription_id, &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the last secret of a subscription cannot be retired"),
				 errhint("Put another one with booking_subscription_secret_put first.")));
	audit(&call, "subscription_secret_retire", &subscription);
	booking_call_end(&call);
	PG_RETURN_INT32(count);
}

/*
 * booking_subscription_disable(tenant, name) returns void
 */
Datum
booking_subscription_disable(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	BookingSubscription subscription;
	BookingCall call;

	begin(&call, fcinfo, tenant);
	booking_lock_feed(tenant);
	demand_subscription(tenant, name, &subscription);
	booking_subscription_unfeed(&subscription);
	booking_store_subscription_disable(subscription.subscription_id,
									   "disabled", booking_call_hold_clock());
	audit(&call, "subscription_disable", &subscription);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_subscription_remove(tenant, name) returns void
 */
Datum
booking_subscription_remove(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	BookingSubscription subscription;
	BookingCall call;

	begin(&call, fcinfo, tenant);
	booking_lock_feed(tenant);
	demand_subscription(tenant, name, &subscription);
	booking_subscription_unfeed(&subscription);
	booking_store_subscription_remove(subscription.subscription_id);
	audit(&call, "subscription_remove", &subscription);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_subscription_replay(tenant, name, position) returns bigint
 */
Datum
booking_subscription_replay(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "name");
	int64		position;
	BookingSubscription subscription;
	BookingCall call;
	int64		count;

	booking_arg_require(fcinfo, 2, "position");
	position = PG_GETARG_INT64(2);
	if (position < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be negative", "position"),
				 errhint("Give the position of the first change that is to be sent again.")));
	begin(&call, fcinfo, tenant);
	demand_subscription(tenant, name, &subscription);
	if (!subscription.enabled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the subscription is disabled"),
				 errhint("Enable it with booking_subscription_put first.")));
	count = booking_store_outbox_replay(subscription.subscription_id, position,
										booking_call_hold_clock());
	audit(&call, "subscription_replay", &subscription);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_INT64(count);
}

/*
 * booking_subscriptions(tenant) returns setof record
 */
Datum
booking_subscriptions(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	BookingCall call;

	InitMaterializedSRF(fcinfo, 0);
	booking_call_begin(&call, fcinfo, false);
	booking_access_demand(&call, tenant);
	booking_store_subscriptions_list(tenant, return_row, fcinfo->resultinfo);
	booking_call_end(&call);
	return (Datum) 0;
}

/*
 * Add a row to the result.
 */
static void
return_row(void *arg, Datum *columns, bool *nulls)
{
	ReturnSetInfo *rsinfo = arg;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, columns, nulls);
}

/*
 * What a secret of a subscription is bound to when it is sealed: unlike anything
 * else that is.
 */
char *
booking_subscription_seal_context(int64 subscription_id)
{
	/* no label contains a control character */
	return psprintf("\nsubscription\n" INT64_FORMAT, subscription_id);
}

/*
 * A subscription reads the feed no more.  The lock of the feed is held.
 */
void
booking_subscription_unfeed(const BookingSubscription *subscription)
{
	if (booking_store_consumer_delete(subscription->tenant,
									  subscription->consumer) &&
		!booking_store_consumer_any(subscription->tenant, false))
		booking_store_changes_forget(subscription->tenant);
}

/*
 * It reads the feed, from now on.  The lock of the feed is held.
 */
static void
feed(const BookingSubscription *subscription, TimestampTz now)
{
	/* what transactions wrote that outlived the last consumer */
	if (!booking_store_consumer_any(subscription->tenant, false))
		booking_store_changes_forget(subscription->tenant);
	booking_store_consumer_insert(subscription->tenant, subscription->consumer,
								  booking_store_consumer_any(subscription->tenant, true),
								  now);
}

/*
 * The URL, which may be NULL.  Whether http is allowed is judged when it is
 * used, by booking.insecure_hosts.
 */
static text *
url_arg(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(2))
		return NULL;
	if (!booking_credential_is_url(text_to_cstring(PG_GETARG_TEXT_PP(2))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no valid URL", "url"),
				 errhint("Give https://host/path without user, query and fragment; the signature says who sends.")));
	return PG_GETARG_TEXT_PP(2);
}

/*
 * The secret, an argument that is never repeated; NULL if it need not be given
 * and is not.
 */
static char *
secret_arg(FunctionCallInfo fcinfo, bool required)
{
	int			n = required ? 2 : 3;
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];
	text	   *secret;
	char	   *plain = NULL;

	if (required)
		booking_arg_require(fcinfo, n, "secret");
	if (PG_ARGISNULL(n))
		return NULL;
	secret = PG_GETARG_TEXT_PP(n);
	if (VARSIZE_ANY_EXHDR(secret) <= MAX_SECRET_BYTES)
		plain = text_to_cstring(secret);
	if (plain == NULL || booking_signature_standard_key(plain, key) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no secret of Standard Webhooks", "secret"),
				 errhint("Give whsec_ and %d to %d random bytes in base64.",
						 BOOKING_WEBHOOK_KEY_LEAST, BOOKING_WEBHOOK_KEY_MOST)));
	explicit_bzero(key, sizeof(key));
	return plain;
}

/*
 * Raise an error unless a filter is one: a name that is misspelt would let
 * everything pass.
 */
static void
check_filter(Jsonb *filter)
{
	JsonbIterator *it = JsonbIteratorInit(&filter->root);
	JsonbValue	key;
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(filter))
		raise_filter();
	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&it, &value, true);
		if (!is_filter_list(&key, &value))
			raise_filter();
	}
}

/*
 * Is it a member of a filter, with a list of what that may name?
 */
static bool
is_filter_list(const JsonbValue *key, JsonbValue *list)
{
	static const char *const members[] = {
		"types", "resources", "principals", "intents"
	};
	int			member = 0;
	JsonbIterator *it;
	JsonbValue	value;

	while (member < lengthof(members) &&
		   (key->val.string.len != strlen(members[member]) ||
			strncmp(key->val.string.val, members[member], key->val.string.len) != 0))
		member++;
	if (member == lengthof(members) || list->type != jbvBinary ||
		!JsonContainerIsArray(list->val.binary.data) ||
		JsonContainerSize(list->val.binary.data) < 1 ||
		JsonContainerSize(list->val.binary.data) > MAX_FILTERED)
		return false;
	it = JsonbIteratorInit(list->val.binary.data);
	(void) JsonbIteratorNext(&it, &value, true);
	while (JsonbIteratorNext(&it, &value, true) == WJB_ELEM)
	{
		if (value.type != jbvString || (member == 0 && !is_type(&value)))
			return false;
	}
	return true;
}

/*
 * Is it a type of an event?
 */
static bool
is_type(const JsonbValue *value)
{
	static const char *const types[] = {
		"booking.recorded", "booking.proposed", "booking.changed",
		"booking.moved", "booking.alarm"
	};

	for (int i = 0; i < lengthof(types); i++)
	{
		if (value->val.string.len == strlen(types[i]) &&
			strncmp(value->val.string.val, types[i], value->val.string.len) == 0)
			return true;
	}
	return false;
}

/*
 * The error about filters.
 */
static void
raise_filter(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is invalid", "filter"),
			 errhint("Give an object with types (booking.recorded, booking.proposed, booking.changed, booking.moved, booking.alarm), resources, principals and intents, or some of them, each a list of 1 to %d strings.",
					 MAX_FILTERED)));
}

/*
 * Begin a call of a role that may act for the tenant.
 */
static void
begin(BookingCall *call, FunctionCallInfo fcinfo, text *tenant)
{
	booking_call_begin(call, fcinfo, true);
	booking_access_demand(call, tenant);
}

/*
 * Read and lock a subscription, or raise an error.
 */
static void
demand_subscription(text *tenant, text *name, BookingSubscription *found)
{
	if (!booking_store_subscription_read(tenant, name, found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("subscription does not exist"),
				 errhint("Create it with booking_subscription_put first, and check the spelling.")));
}

/*
 * What a subscription has to begin with, or an error.
 */
static void
first_put(BookingSubscription *row, const char *secret)
{
	uint8		random[KEY_BYTES];
	char		key[2 * KEY_BYTES + 1];

	if (row->url == NULL || secret == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null",
						row->url == NULL ? "url" : "secret"),
				 errhint("A subscription begins with a URL and a secret; later each may be left out to stay as it is.")));
	if (!pg_strong_random(random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	hex_encode((const char *) random, KEY_BYTES, key);
	row->key = cstring_to_text_with_len(key, 2 * KEY_BYTES);
}

/*
 * Store one more secret, sealed if that can be; returns its number.
 */
static int32
add_secret(int64 subscription_id, char *plain, TimestampTz now)
{
	bool		sealed;
	bytea	   *secret;
	int			count;

	(void) booking_store_subscription_secrets(subscription_id, &count);
	if (count >= MAX_SECRETS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the subscription has too many secrets"),
				 errhint("Retire some of them; there may be %d.", MAX_SECRETS)));
	secret = booking_seal(plain, strlen(plain),
						  booking_subscription_seal_context(subscription_id),
						  &sealed);
	if (!sealed)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("the secret is stored unencrypted"),
				 errhint("Set booking.secret_key_file, and put the secret again.")));
	return booking_store_subscription_secret_put(subscription_id, sealed, secret,
												 now);
}

/*
 * Has a subscription a secret?  One that was sealed with another key counts as
 * none.
 */
static bool
has_secret(int64 subscription_id, const char *plain)
{
	int			count;
	BookingSubscriptionSecret *secrets =
		booking_store_subscription_secrets(subscription_id, &count);
	bool		found = false;

	for (int i = 0; i < count; i++)
	{
		char	   *stored = booking_unseal_try(secrets[i].secret, secrets[i].sealed,
												booking_subscription_seal_context(subscription_id));

		if (stored == NULL)
			continue;
		found |= strcmp(stored, plain) == 0;
		explicit_bzero(stored, strlen(stored));
	}
	return found;
}

/*
 * Record who did what to a subscription.
 */
static void
audit(const BookingCall *call, const char *action,
	  const BookingSubscription *subscription)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "name", subscription->name);
	booking_store_audit(action, call->role, subscription->tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call->now);
}

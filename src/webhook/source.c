/*-------------------------------------------------------------------------
 *
 * source.c
 *	  booking_webhook_source_put, booking_webhook_source_remove,
 *	  booking_webhook_secret_put, booking_webhook_secret_retire,
 *	  booking_webhook_secret_retire_number, booking_webhook_map
 *
 * IDENTIFICATION
 *	  booking/src/webhook/source.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "codec/json_read.h"
#include "codec/webhook_signature.h"
#include "compat.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/detail.h"
#include "ledger/terms.h"
#include "store/channel.h"
#include "store/seal.h"
#include "store/store.h"
#include "webhook/source.h"
#include "webhook/verify.h"

PG_FUNCTION_INFO_V1(booking_webhook_source_put);
PG_FUNCTION_INFO_V1(booking_webhook_source_remove);
PG_FUNCTION_INFO_V1(booking_webhook_secret_put);
PG_FUNCTION_INFO_V1(booking_webhook_secret_retire);
PG_FUNCTION_INFO_V1(booking_webhook_secret_retire_number);
PG_FUNCTION_INFO_V1(booking_webhook_map);

#define MAX_SECRETS 10
#define MAX_SECRET_BYTES 1000

/* settings that are true or false */
static const char *const switches[] = {"by_calendar", "organization"};

/* settings that are whole numbers, and what they may be */
static const struct
{
	const char *key;
	int64		least;
	int64		most;
}			numbers[] = {
	{"tolerance", 1, 7 * SECS_PER_DAY},
	{"pair_wait", 0, 30 * SECS_PER_DAY},
	{"max_bytes", 1, BOOKING_JSON_BYTES}
};

static void check_kind(const text *kind);
static void check_settings(Jsonb *settings);
static bool is_switch_setting(const JsonbValue *key, const JsonbValue *value);
static bool is_number_setting(const JsonbValue *key, const JsonbValue *value);
static bool is_true(PGFunction compare, Datum a, Datum b);
pg_noreturn static void raise_settings(void);
static char *secret_arg(FunctionCallInfo fcinfo);
static int	secrets_left(text *source);

/*
 * booking_webhook_source_put(tenant, source, kind, settings) returns void
 */
Datum
booking_webhook_source_put(PG_FUNCTION_ARGS)
{
	text	   *tenant = booking_arg_label(fcinfo, 0, "tenant");
	text	   *name = booking_arg_label(fcinfo, 1, "source");
	text	   *kind = PG_ARGISNULL(2) ? NULL : PG_GETARG_TEXT_PP(2);
	Jsonb	   *settings = PG_ARGISNULL(3) ? NULL :
		booking_arg_jsonb(fcinfo, 3, "settings");
	BookingWebhookSource source;
	BookingCall call;
	bool		known;

	if (kind != NULL)
		check_kind(kind);
	if (settings != NULL)
		check_settings(settings);

	booking_call_begin(&call, fcinfo, true);
	booking_access_demand(&call, tenant);
	known = booking_store_webhook_source_read(name, &source);
	if (known && booking_text_compare(source.tenant, tenant) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("argument \"%s\" names a source of another tenant", "source"),
				 errhint("Make a name that cannot be guessed, and use it for one tenant.")));
	if (known && kind != NULL && booking_text_compare(source.kind, kind) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the kind of a webhook source does not change"),
				 errhint("Put another source.")));
	if (!known && kind == NULL)
		booking_arg_require(fcinfo, 2, "kind");

	/* it would take what is sent to the channel; its own are long and random */
	if (!known && booking_store_channel_known(name))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("argument \"%s\" is the name of a channel", "source"),
				 errhint("Make a name that cannot be guessed.")));
	if (!known)
	{
		source.source = name;
		source.tenant = tenant;
		source.kind = kind;
		source.settings = booking_detail_empty();
	}
	booking_store_webhook_source_put(tenant, name, source.kind,
									 settings != NULL ? settings : source.settings,
									 call.now);
	booking_webhook_audit(&call, "webhook_source_put", &source);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_webhook_source_remove(source) returns void
 */
Datum
booking_webhook_source_remove(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	BookingWebhookSource source;
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	if (booking_store_inbox_waiting(name))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("deliveries of the webhook source wait for their other half"),
				 errhint("See booking.inbox where state is waiting; they are settled after pair_wait seconds.")));
	booking_store_webhook_source_remove(name, call.now);
	booking_webhook_audit(&call, "webhook_source_remove", &source);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_webhook_secret_put(source, secret) returns integer
 */
Datum
booking_webhook_secret_put(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	char	   *plain = secret_arg(fcinfo);
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];
	BookingWebhookSource source;
	BookingCall call;
	bytea	   *secret;
	bool		sealed;
	int32		number;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	if (booking_text_is(source.kind, "standard") &&
		booking_signature_standard_key(plain, key) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no secret of Standard Webhooks", "secret"),
				 errhint("Give whsec_ and %d to %d random bytes in base64.",
						 BOOKING_WEBHOOK_KEY_LEAST, BOOKING_WEBHOOK_KEY_MOST)));
	explicit_bzero(key, sizeof(key));
	if (secrets_left(name) >= MAX_SECRETS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the webhook source has too many secrets"),
				 errhint("Retire some of them; there may be %d.", MAX_SECRETS)));
	secret = booking_seal(plain, strlen(plain),
						  booking_verify_seal_context(name), &sealed);
	explicit_bzero(plain, strlen(plain));
	if (!sealed)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("the secret is stored unencrypted"),
				 errhint("Set booking.secret_key_file, and put the secret again.")));
	number = booking_store_webhook_secret_put(name, sealed, secret, call.now);
	booking_webhook_audit(&call, "webhook_secret_put", &source);
	booking_call_end(&call);
	PG_RETURN_INT32(number);
}

/*
 * booking_webhook_secret_retire(source, secret) returns integer
 */
Datum
booking_webhook_secret_retire(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	char	   *plain = secret_arg(fcinfo);
	BookingWebhookSource source;
	BookingWebhookSecret *secrets;
	BookingCall call;
	int			count;
	int			found = 0;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	secrets = booking_store_webhook_secrets(name, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *stored = booking_unseal_try(secrets[i].secret,
												secrets[i].sealed,
												booking_verify_seal_context(name));
		bool		equal;

		/* sealed with another key, it can be retired by its number alone */
		if (stored == NULL)
			continue;
		equal = booking_verify_equal(stored, plain);
		explicit_bzero(stored, strlen(stored));
		if (equal && booking_store_webhook_secret_remove(name, secrets[i].number))
			found++;
	}
	explicit_bzero(plain, strlen(plain));
	if (found == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the webhook source has no such secret"),
				 errhint("See the numbers in booking.webhook_secret.")));
	booking_webhook_audit(&call, "webhook_secret_retire", &source);
	count -= found;
	booking_call_end(&call);
	PG_RETURN_INT32(count);
}

/*
 * booking_webhook_secret_retire_number(source, number) returns integer
 */
Datum
booking_webhook_secret_retire_number(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	int32		number = booking_arg_positive(fcinfo, 1, "number");
	BookingWebhookSource source;
	BookingCall call;
	int			count;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	if (!booking_store_webhook_secret_remove(name, number))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the webhook source has no such secret"),
				 errhint("See the numbers in booking.webhook_secret.")));
	booking_webhook_audit(&call, "webhook_secret_retire", &source);
	count = secrets_left(name);
	booking_call_end(&call);
	PG_RETURN_INT32(count);
}

/*
 * booking_webhook_map(source, remote_key, resource) returns void
 *
 * The source is the principal of its bookings: it is permitted the resource.
 */
Datum
booking_webhook_map(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	text	   *remote_key = booking_arg_label(fcinfo, 1, "remote_key");
	text	   *resource = booking_arg_label_optional(fcinfo, 2, "resource");
	BookingResource found;
	text	   *time_zone;
	BookingWebhookSource source;
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	if (resource == NULL)
		booking_store_webhook_map_remove(name, remote_key);
	else
	{
		if (!booking_store_resource_lookup(source.tenant, resource, &found,
										   &time_zone))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("resource does not exist"),
					 errhint("Create it with booking_resource_put first, and check the spelling.")));
		booking_store_permission_put(source.tenant, name, resource, true);
		booking_store_webhook_map_put(name, remote_key, resource);
	}
	booking_webhook_audit(&call, "webhook_map", &source);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * Raise an error unless the kind is known.
 */
static void
check_kind(const text *kind)
{
	static const char *const kinds[] = {
		"calendly", "calcom", "acuity", "standard"
	};

	for (int i = 0; i < lengthof(kinds); i++)
	{
		if (booking_text_is(kind, kinds[i]))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" names no kind of source", "kind"),
			 errhint("Give calendly, calcom, acuity or standard; what providers of calendars tell comes by booking.push_url.")));
}

/*
 * Raise an error unless the settings are those there are: a name that is
 * misspelt would do nothing.
 */
static void
check_settings(Jsonb *settings)
{
	JsonbIterator *it = JsonbIteratorInit(&settings->root);
	JsonbValue	key;
	JsonbValue	value;

	if (!JB_ROOT_IS_OBJECT(settings))
		raise_settings();
	(void) JsonbIteratorNext(&it, &key, true);
	while (JsonbIteratorNext(&it, &key, true) == WJB_KEY)
	{
		(void) JsonbIteratorNext(&it, &value, true);
		if (key.val.string.len == 5 &&
			strncmp(key.val.string.val, "terms", 5) == 0 &&
			value.type == jbvBinary)
		{
			Jsonb	   *terms = JsonbValueToJsonb(&value);

			if (!JB_ROOT_IS_OBJECT(terms))
				raise_settings();
			booking_terms_check(terms);
		}
		else if (!is_switch_setting(&key, &value) &&
				 !is_number_setting(&key, &value))
			raise_settings();
	}
}

/*
 * Is it a setting that is true or false?
 */
static bool
is_switch_setting(const JsonbValue *key, const JsonbValue *value)
{
	for (int i = 0; i < lengthof(switches); i++)
	{
		if (key->val.string.len == strlen(switches[i]) &&
			strncmp(key->val.string.val, switches[i], key->val.string.len) == 0)
			return value->type == jbvBool;
	}
	return false;
}

/*
 * Is it a setting with a whole number in its bounds?
 */
static bool
is_number_setting(const JsonbValue *key, const JsonbValue *value)
{
	for (int i = 0; i < lengthof(numbers); i++)
	{
		Numeric		least = int64_to_numeric(numbers[i].least);
		Numeric		most = int64_to_numeric(numbers[i].most);
		Datum		number;

		if (key->val.string.len != strlen(numbers[i].key) ||
			strncmp(key->val.string.val, numbers[i].key, key->val.string.len) != 0)
			continue;
		if (value->type != jbvNumeric)
			return false;
		number = NumericGetDatum(value->val.numeric);
		return is_true(numeric_ge, number, NumericGetDatum(least)) &&
			is_true(numeric_le, number, NumericGetDatum(most)) &&
			is_true(numeric_eq, number, DirectFunctionCall1(numeric_floor, number));
	}
	return false;
}

/*
 * Does a comparison hold?
 */
static bool
is_true(PGFunction compare, Datum a, Datum b)
{
	return DatumGetBool(DirectFunctionCall2(compare, a, b));
}

/*
 * The error about settings.
 */
static void
raise_settings(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is invalid", "settings"),
			 errhint("Give an object with tolerance (1 to 604800 seconds), pair_wait (0 to 2592000 seconds), max_bytes (1 to %d), by_calendar and organization (true or false) and terms (an object), or some of them.",
					 BOOKING_JSON_BYTES)));
}

/*
 * Read a source that the caller may manage, or raise an error.  To others none
 * exists.
 */
void
booking_webhook_demand_source(const BookingCall *call, text *name,
							  BookingWebhookSource *source)
{
	bool		known = booking_store_webhook_source_read(name, source);

	if (!known && !call->privileged)
		booking_access_raise_denied();
	if (known)
		booking_access_demand(call, source->tenant);
	if (!known || source->removed)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("webhook source does not exist"),
				 errhint("Put it with booking_webhook_source_put first, and check the spelling.")));
}

/*
 * The secret, an argument that is never repeated.
 */
static char *
secret_arg(FunctionCallInfo fcinfo)
{
	text	   *secret;

	booking_arg_require(fcinfo, 1, "secret");
	secret = PG_GETARG_TEXT_PP(1);
	if (VARSIZE_ANY_EXHDR(secret) == 0 ||
		VARSIZE_ANY_EXHDR(secret) > MAX_SECRET_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" has an invalid length", "secret"),
				 errhint("Give 1 to %d bytes.", MAX_SECRET_BYTES)));
	return text_to_cstring(secret);
}

/*
 * How many secrets a source has.
 */
static int
secrets_left(text *source)
{
	int			count;

	(void) booking_store_webhook_secrets(source, &count);
	return count;
}

/*
 * Record who did what to a source.
 */
void
booking_webhook_audit(const BookingCall *call, const char *action,
					  const BookingWebhookSource *source)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_text(&detail, "source", source->source);
	booking_store_audit(action, call->role, source->tenant, NULL, NULL,
						booking_detail_end(&detail), NULL, call->now);
}

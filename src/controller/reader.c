/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  booking_webhook_credential_put, booking_webhook_credential_remove
 *
 * A credential is for one server: it is put together with the URL, bound to it
 * when it is sealed, and gone when either is put anew.
 *
 * IDENTIFICATION
 *	  booking/src/controller/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "codec/webhook_reading.h"
#include "compat.h"
#include "controller/credential.h"
#include "controller/reading.h"
#include "ledger/access.h"
#include "ledger/args.h"
#include "ledger/site.h"
#include "ledger/wake.h"
#include "store/reader.h"
#include "webhook/source.h"

PG_FUNCTION_INFO_V1(booking_webhook_credential_put);
PG_FUNCTION_INFO_V1(booking_webhook_credential_remove);

static void demand_sender(const BookingWebhookSource *source,
						  BookingReadingSender *sender);
static text *url_arg(FunctionCallInfo fcinfo, BookingReadingSender sender);
static bool check_credential(const BookingCall *call, Jsonb *credential,
							 BookingReadingSender sender);

/*
 * booking_webhook_credential_put(source, credential, base_url) returns void
 */
Datum
booking_webhook_credential_put(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	Jsonb	   *credential;
	BookingReadingSender sender;
	BookingWebhookSource source;
	BookingCall call;
	text	   *base_url;
	char	   *plain;
	bytea	   *secret;
	bool		sealed;
	bool		file;

	booking_arg_require(fcinfo, 1, "credential");
	credential = PG_GETARG_JSONB_P(1);

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	demand_sender(&source, &sender);
	base_url = url_arg(fcinfo, sender);
	file = check_credential(&call, credential, sender);
	plain = JsonbToCString(NULL, &credential->root, VARSIZE(credential));
	secret = booking_seal(plain, strlen(plain),
						  booking_reading_seal_context(text_to_cstring(name),
													   text_to_cstring(base_url)),
						  &sealed);
	explicit_bzero(plain, strlen(plain));
	if (!sealed && !file)
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("the credential is stored unencrypted"),
				 errhint("Set booking.secret_key_file, and put the credential again.")));
	booking_store_reader_put(name, base_url, sealed, secret,
							 booking_call_hold_clock(), call.now);
	booking_site_arm(call.now, false);
	booking_webhook_audit(&call, "webhook_credential_put", &source);
	booking_wake_at_commit();
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * booking_webhook_credential_remove(source) returns void
 */
Datum
booking_webhook_credential_remove(PG_FUNCTION_ARGS)
{
	text	   *name = booking_arg_label(fcinfo, 0, "source");
	BookingWebhookSource source;
	BookingCall call;

	booking_call_begin(&call, fcinfo, true);
	booking_webhook_demand_source(&call, name, &source);
	if (!booking_store_reader_remove(name))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the webhook source has no credential"),
				 errhint("See booking.webhook_reader.")));
	booking_webhook_audit(&call, "webhook_credential_remove", &source);
	booking_call_end(&call);
	PG_RETURN_VOID();
}

/*
 * What a credential of a source is bound to when it is sealed.  No label
 * contains a control character.
 */
char *
booking_reading_seal_context(const char *source, const char *base_url)
{
	return psprintf("\nreading\n%s\n%s", source, base_url);
}

/*
 * Raise an error unless a source can be read.
 */
static void
demand_sender(const BookingWebhookSource *source, BookingReadingSender *sender)
{
	*sender = booking_reading_sender(text_to_cstring(source->kind));
	if (*sender == BOOKING_READING_NOBODY)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a source of kind \"%s\" cannot be read",
						text_to_cstring(source->kind)),
				 errhint("Acuity, Cal.com and Calendly can; for others see booking_webhook_replay.")));
}

/*
 * Where the API answers: that of the sender, unless something else is given.
 */
static text *
url_arg(FunctionCallInfo fcinfo, BookingReadingSender sender)
{
	if (PG_ARGISNULL(2))
		return cstring_to_text(booking_reading_base_url(sender));
	if (!booking_credential_is_url(text_to_cstring(PG_GETARG_TEXT_PP(2))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no valid URL", "base_url"),
				 errhint("Give https://host/path without user, query and fragment.")));
	return PG_GETARG_TEXT_PP(2);
}

/*
 * Raise an error unless a credential is what the sender wants; its values are
 * not repeated.  Returns whether it only names a file, which whoever puts it
 * must be allowed to read: its content goes to the server.
 */
static bool
check_credential(const BookingCall *call, Jsonb *credential,
				 BookingReadingSender sender)
{
	const char *wanted = sender == BOOKING_READING_ACUITY ? "basic" : "bearer";
	const BookingCredentialType *type = booking_credential_type(credential);
	const char *lack;
	Jsonb	   *content;

	if (VARSIZE(credential) > BOOKING_CREDENTIAL_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("argument \"%s\" is too large", "credential"),
				 errhint("The limit is %d kB.", BOOKING_CREDENTIAL_LIMIT / 1024)));
	if (type == NULL && JB_ROOT_IS_OBJECT(credential) &&
		booking_credential_has(credential, "type"))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("argument \"%s\" has a type that is not supported", "credential"),
				 errhint("Give one of type %s.", wanted)));
	if (type == NULL || strcmp(type->name, wanted) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be an object of type %s", "credential",
						wanted),
				 errhint(sender == BOOKING_READING_ACUITY ?
						 "Give {\"type\": \"basic\", \"username\": user id, \"password\": API key}." :
						 "Give {\"type\": \"bearer\", \"token\": API key or personal access token}.")));
	if (JsonContainerSize(&credential->root) == 2 &&
		booking_credential_has(credential, "file"))
	{
		booking_access_demand_owner(call);
		content = booking_credential_read_file(type,
											   booking_credential_string(credential, "file"));
		explicit_bzero(VARDATA(content), VARSIZE(content) - VARHDRSZ);
		return true;
	}
	lack = booking_credential_lack(type, credential);
	if (lack != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" lacks a valid \"%s\"", "credential", lack),
				 errhint("%s Or give a type and a \"file\" alone.",
						 booking_credential_hint(lack))));
	return false;
}

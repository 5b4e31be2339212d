/*-------------------------------------------------------------------------
 *
 * credential.c
 *	  signing in with a stored credential, or one in a file
 *
 * A credential is plain only while a request needs it.
 *
 * IDENTIFICATION
 *	  booking/src/controller/credential.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "codec/jwt.h"
#include "controller/credential.h"

static bool is_valid_member(const Jsonb *credential, const char *key);
static char *member(const Jsonb *credential, const char *key);
static const char *copy_member(const Jsonb *object, const char *key,
							   BookingArena *arena);
static Jsonb *read_json(char *plain);

static const BookingCredentialType types[] = {
	{"basic", {"username", "password"}, {NULL}},
	{"bearer", {"token"}, {NULL}},
	{"refresh_token", {"client_id", "refresh_token"},
	{"client_secret", "token_url", "scope"}},
	{"client_credentials", {"client_id", "client_secret"},
	{"token_url", "scope"}},
	{"service_account", {"client_email", "private_key"},
	{"subject", "token_url", "scope"}}
};

/* what the file of an app has, which types with a client may name */
static const BookingCredentialType app_type = {
	"app", {"client_id", "client_secret"}, {"token_url", "scope"}
};

/*
 * The type of a credential, NULL if it has none that is known.
 */
const BookingCredentialType *
booking_credential_type(const Jsonb *credential)
{
	char	   *name;

	if (!JB_ROOT_IS_OBJECT(credential) ||
		(name = booking_credential_string(credential, "type")) == NULL)
		return NULL;
	for (int i = 0; i < lengthof(types); i++)
	{
		if (strcmp(name, types[i].name) == 0)
			return &types[i];
	}
	return NULL;
}

/*
 * Has a credential a valid member of this name: a string that is not empty and
 * has no control characters, which would end a header line?
 */
bool
booking_credential_has(const Jsonb *credential, const char *key)
{
	JsonbValue	value;
	bool		valid;

	valid = getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &credential->root),
										 key, strlen(key), &value) != NULL &&
		value.type == jbvString && value.val.string.len > 0;
	for (int i = 0; valid && i < value.val.string.len; i++)
		valid = (unsigned char) value.val.string.val[i] >= ' ' &&
			value.val.string.val[i] != 0x7f;
	return valid;
}

/*
 * A valid member that is no secret, NULL if there is none.
 */
char *
booking_credential_string(const Jsonb *credential, const char *key)
{
	JsonbValue	value;

	if (!booking_credential_has(credential, key))
		return NULL;
	(void) getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &credential->root),
										key, strlen(key), &value);
	return pnstrdup(value.val.string.val, value.val.string.len);
}

/*
 * The first member that a credential of a type lacks, or that is of no use;
 * NULL if there is none.  Where tokens come from need not be told where the
 * provider says it; whether plain http is allowed there is judged when it is
 * used.
 */
const char *
booking_credential_lack(const BookingCredentialType *type,
						const Jsonb *credential)
{
	for (int i = 0; type->optional[i] != NULL; i++)
	{
		const char *key = type->optional[i];

		if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &credential->root),
										 key, strlen(key), NULL) != NULL &&
			!is_valid_member(credential, key))
			return key;
	}
	for (int i = 0; type->members[i] != NULL; i++)
	{
		if (!is_valid_member(credential, type->members[i]))
			return type->members[i];
	}
	return NULL;
}

/*
 * May a member be sent, or used?
 */
static bool
is_valid_member(const Jsonb *credential, const char *key)
{
	char	   *text;
	bool		valid;

	if (strcmp(key, "private_key") != 0 && strcmp(key, "token_url") != 0)
		return booking_credential_has(credential, key);
	text = member(credential, key);
	if (text == NULL)
		return false;
	valid = strcmp(key, "token_url") == 0 ? booking_credential_is_url(text) :
		booking_jwt_key_is_valid(text);
	booking_credential_wipe(text);
	return valid;
}

/*
 * The file of the app whose client a credential uses; NULL if it names none.
 */
char *
booking_credential_app(const BookingCredentialType *type,
					   const Jsonb *credential)
{
	return strcmp(type->members[0], "client_id") != 0 ? NULL :
		booking_credential_string(credential, "app");
}

/*
 * A credential with what the file of its app has, which is kept in one place for
 * all accounts that use it: what the file says counts.  The caller wipes it; the
 * credential that is given is wiped here.
 */
Jsonb *
booking_credential_join_app(Jsonb *credential, const char *app)
{
	Jsonb	   *client = booking_credential_read_file(&app_type, app);
	Jsonb	   *joined = DatumGetJsonbP(DirectFunctionCall2(jsonb_concat,
															JsonbPGetDatum(credential),
															JsonbPGetDatum(client)));

	explicit_bzero(VARDATA(client), VARSIZE(client) - VARHDRSZ);
	explicit_bzero(VARDATA(credential), VARSIZE(credential) - VARHDRSZ);
	return joined;
}

/*
 * A string member, whatever is in it; NULL if there is none.
 */
static char *
member(const Jsonb *credential, const char *key)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &credential->root),
									 key, strlen(key), &value) == NULL ||
		value.type != jbvString)
		return NULL;
	return pnstrdup(value.val.string.val, value.val.string.len);
}

/*
 * What a member has to be.
 */
const char *
booking_credential_hint(const char *key)
{
	if (strcmp(key, "token_url") == 0)
		return "Give https://host/path without user, query and fragment.";
	if (strcmp(key, "private_key") == 0)
		return "Give an RSA key of 2048 bits or more in PEM, without a passphrase.";
	return "Give a string that is not empty and has no control characters.";
}

/*
 * Is a text an absolute http or https URL without user, query and fragment?
 */
bool
booking_credential_is_url(const char *url)
{
	const char *rest = NULL;
	bool		valid;

	if (strncmp(url, "https://", 8) == 0)
		rest = url + 8;
	else if (strncmp(url, "http://", 7) == 0)
		rest = url + 7;
	valid = rest != NULL && rest[0] != '\0' && rest[0] != '/' &&
		strlen(url) <= BOOKING_URL_LIMIT;
	for (const char *p = rest; valid && *p != '\0'; p++)
		valid = (unsigned char) *p > ' ' && (unsigned char) *p < 0x7f &&
			strchr("@?#\"<>\\^`{|}", *p) == NULL;
	return valid;
}

/*
 * Open a stored credential into an arena: what a request signs in with, or what
 * a token is asked for with.  What it does not have stays NULL.  False if it was
 * sealed with another key.  One that names a file, or that of an app, is read from
 * there each time, so that what is changed there counts from the next request on;
 * that there is none is an error.
 */
bool
booking_credential_open(const bytea *secret, bool sealed, const char *context,
						BookingArena *arena, BookingHttpAuth *auth,
						BookingSignin *signin)
{
	char	   *plain = booking_unseal_try(secret, sealed, context);
	Jsonb	   *credential;
	const BookingCredentialType *type;
	char	   *file;
	char	   *app;

	memset(auth, 0, sizeof(*auth));
	memset(signin, 0, sizeof(*signin));
	if (plain == NULL)
		return false;
	credential = read_json(plain);
	type = booking_credential_type(credential);
	file = booking_credential_string(credential, "file");
	if (file != NULL && type != NULL)
		credential = booking_credential_read_file(type, file);
	else if (type != NULL &&
			 (app = booking_credential_app(type, credential)) != NULL)
		credential = booking_credential_join_app(credential, app);
	auth->username = copy_member(credential, "username", arena);
	auth->password = copy_member(credential, "password", arena);
	auth->bearer = copy_member(credential, "token", arena);
	signin->grant = type == NULL ? BOOKING_GRANT_NONE :
		booking_signin_grant(type->name);
	signin->token_url = copy_member(credential, "token_url", arena);
	signin->client_id = copy_member(credential, "client_id", arena);
	signin->client_secret = copy_member(credential, "client_secret", arena);
	signin->refresh_token = copy_member(credential, "refresh_token", arena);
	signin->scope = copy_member(credential, "scope", arena);
	signin->client_email = copy_member(credential, "client_email", arena);
	signin->private_key = copy_member(credential, "private_key", arena);
	signin->subject = copy_member(credential, "subject", arena);
	explicit_bzero(VARDATA(credential), VARSIZE(credential) - VARHDRSZ);
	return true;
}

/*
 * Open a stored token.
 */
void
booking_credential_token(const bytea *secret, bool sealed, const char *context,
						 BookingArena *arena, const char **access_token,
						 const char **refresh_token)
{
	Jsonb	   *token = read_json(booking_unseal(secret, sealed, context));

	*access_token = copy_member(token, "access_token", arena);
	*refresh_token = copy_member(token, "refresh_token", arena);
	explicit_bzero(VARDATA(token), VARSIZE(token) - VARHDRSZ);
}

/*
 * Read a JSON object that was unsealed, and wipe its text.
 */
static Jsonb *
read_json(char *plain)
{
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
														  CStringGetDatum(plain)));

	booking_credential_wipe(plain);
	return json;
}

/*
 * Wipe it when the last request has ended.
 */
void
booking_auth_wipe(BookingHttpAuth *auth)
{
	booking_credential_wipe(auth->password);
	booking_credential_wipe(auth->bearer);
}

/*
 * A string member, NULL if there is none.
 */
static const char *
copy_member(const Jsonb *object, const char *key, BookingArena *arena)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &object->root),
									 key, strlen(key), &value) == NULL ||
		value.type != jbvString)
		return NULL;
	return booking_arena_copy(arena, value.val.string.val, value.val.string.len);
}

/*
 * Overwrite a string, if there is one.
 */
void
booking_credential_wipe(const char *secret)
{
	if (secret != NULL)
		explicit_bzero(unconstify(char *, secret), strlen(secret));
}

/*-------------------------------------------------------------------------
 *
 * credential.c
 *	  signing in with a stored credential
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

#include "controller/credential.h"

static const char *copy_member(JsonbContainer *object, const char *key,
							   BookingArena *arena);
static Jsonb *open_json(const bytea *secret, bool sealed,
						const char *context);

/*
 * Open a stored credential into an arena: what a request signs in with, or what
 * a token is asked for with.  What it does not have stays NULL.  Raises an
 * error when it was sealed with another key.
 */
void
booking_credential_open(const bytea *secret, bool sealed, const char *context,
						BookingArena *arena, BookingHttpAuth *auth,
						BookingSignin *signin)
{
	Jsonb	   *credential = open_json(secret, sealed, context);
	JsonbContainer *root = &credential->root;
	const char *type = copy_member(root, "type", arena);

	memset(auth, 0, sizeof(*auth));
	memset(signin, 0, sizeof(*signin));
	auth->username = copy_member(root, "username", arena);
	auth->password = copy_member(root, "password", arena);
	auth->bearer = copy_member(root, "token", arena);
	signin->grant = type == NULL ? BOOKING_GRANT_NONE : booking_signin_grant(type);
	signin->token_url = copy_member(root, "token_url", arena);
	signin->client_id = copy_member(root, "client_id", arena);
	signin->client_secret = copy_member(root, "client_secret", arena);
	signin->refresh_token = copy_member(root, "refresh_token", arena);
	signin->scope = copy_member(root, "scope", arena);
	signin->client_email = copy_member(root, "client_email", arena);
	signin->private_key = copy_member(root, "private_key", arena);
	signin->subject = copy_member(root, "subject", arena);
	explicit_bzero(VARDATA(credential), VARSIZE(credential) - VARHDRSZ);
}

/*
 * Open a stored token.
 */
void
booking_credential_token(const bytea *secret, bool sealed, const char *context,
						 BookingArena *arena, const char **access_token,
						 const char **refresh_token)
{
	Jsonb	   *token = open_json(secret, sealed, context);

	*access_token = copy_member(&token->root, "access_token", arena);
	*refresh_token = copy_member(&token->root, "refresh_token", arena);
	explicit_bzero(VARDATA(token), VARSIZE(token) - VARHDRSZ);
}

/*
 * Unseal a JSON object.
 */
static Jsonb *
open_json(const bytea *secret, bool sealed, const char *context)
{
	char	   *plain = booking_unseal(secret, sealed, context);
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
copy_member(JsonbContainer *object, const char *key, BookingArena *arena)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(object, key, strlen(key), &value) == NULL ||
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

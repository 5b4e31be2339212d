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
static void wipe(const char *secret);

/*
 * Open a stored credential into an arena; false if it is of no use.  Raises an
 * error when it was sealed with another key.
 */
bool
booking_auth_fill(BookingHttpAuth *auth, const bytea *secret, bool sealed,
				  const char *context, BookingArena *arena)
{
	char	   *plain = booking_unseal(secret, sealed, context);
	Jsonb	   *credential = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
																CStringGetDatum(plain)));

	wipe(plain);
	auth->username = copy_member(&credential->root, "username", arena);
	auth->password = copy_member(&credential->root, "password", arena);
	auth->bearer = copy_member(&credential->root, "token", arena);
	explicit_bzero(VARDATA(credential), VARSIZE(credential) - VARHDRSZ);
	return auth->bearer != NULL || (auth->username != NULL && auth->password != NULL);
}

/*
 * Wipe it when the last request has ended.
 */
void
booking_auth_wipe(BookingHttpAuth *auth)
{
	wipe(auth->password);
	wipe(auth->bearer);
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
static void
wipe(const char *secret)
{
	if (secret != NULL)
		explicit_bzero(unconstify(char *, secret), strlen(secret));
}

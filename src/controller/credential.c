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

#include "controller/credential.h"

static bool fill_members(BookingHttpAuth *auth, const Jsonb *credential,
						 BookingArena *arena);
static const char *copy_member(const Jsonb *object, const char *key,
							   BookingArena *arena);
static void wipe(const char *secret);

static const BookingCredentialType types[] = {
	{"basic", {"username", "password"}},
	{"bearer", {"token"}}
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
 * Open a stored credential into an arena; false if it is of no use.  Raises an
 * error when it was sealed with another key.  One that names a file is read
 * from there each time, so that what is changed there counts from the next
 * request on.
 */
bool
booking_auth_fill(BookingHttpAuth *auth, const bytea *secret, bool sealed,
				  const char *context, BookingArena *arena)
{
	char	   *plain = booking_unseal(secret, sealed, context);
	Jsonb	   *credential = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
																CStringGetDatum(plain)));
	const BookingCredentialType *type = booking_credential_type(credential);
	char	   *file = booking_credential_string(credential, "file");

	wipe(plain);
	if (file == NULL || type == NULL)
		return fill_members(auth, credential, arena);
	return fill_members(auth, booking_credential_read_file(type, file), arena);
}

/*
 * Copy what signs in, and wipe where it comes from.
 */
static bool
fill_members(BookingHttpAuth *auth, const Jsonb *credential,
			 BookingArena *arena)
{
	auth->username = copy_member(credential, "username", arena);
	auth->password = copy_member(credential, "password", arena);
	auth->bearer = copy_member(credential, "token", arena);
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
static void
wipe(const char *secret)
{
	if (secret != NULL)
		explicit_bzero(unconstify(char *, secret), strlen(secret));
}

/*-------------------------------------------------------------------------
 *
 * credential_file.c
 *	  credentials in files
 *
 * A credential may be in a file below booking.credential_directory, where
 * whatever rotates it puts it: {"type": "bearer", "file": "dav/token"}.  The
 * file has the members of the type as a JSON object, or, for a bearer token,
 * the token alone.
 *
 * The file must be inside the folder once all symbolic links are followed;
 * links within it, as container platforms make them, are fine.  Its owner and
 * mode are judged as those of the server's own private key.  No message tells
 * anything of what is in it.
 *
 * IDENTIFICATION
 *	  booking/src/controller/credential_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "storage/fd.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "compat.h"
#include "controller/credential.h"
#include "guc.h"

static void find_file(const char *name, char *path);
pg_noreturn static void raise_outside(const char *name);
static int	open_file(const char *name, const char *path);
static char *read_content(const char *name, const char *path);
static Jsonb *parse_content(const BookingCredentialType *type,
							const char *name, char *content);
static Jsonb *parse_object(char *content);
static Jsonb *make_object(const char *key, const char *value);
pg_noreturn static void raise_useless(const char *name, const char *hint);

/*
 * The credential in a file, as it is now; the caller wipes it.  Raises an error
 * if there is none of this type.
 */
Jsonb *
booking_credential_read_file(const BookingCredentialType *type,
							 const char *name)
{
	char		path[MAXPATHLEN];
	char	   *content;
	size_t		len;
	Jsonb	   *credential;

	find_file(name, path);
	content = read_content(name, path);
	len = strlen(content);
	credential = parse_content(type, name, content);
	explicit_bzero(content, len);
	return credential;
}

/*
 * The real path of a file; it is below the folder, and no link leads out.
 */
static void
find_file(const char *name, char *path)
{
	const char *folder = booking_credential_directory;
	char		real[MAXPATHLEN];
	char		joined[MAXPGPATH];
	bool		found;
	bool		loop;
	size_t		len;

	if (folder == NULL || folder[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("credentials cannot be in files"),
				 errhint("Set booking.credential_directory to the folder of these files, and reload.")));
	if (!is_absolute_path(folder) || realpath(folder, real) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("booking.credential_directory is no folder that can be used"),
				 errhint("It must be an absolute path that the server may enter.")));
	len = strlen(real);
	if (strlen(folder) + strlen(name) + 2 > sizeof(joined))
		raise_outside(name);
	if (is_absolute_path(name))
		strlcpy(joined, name, sizeof(joined));
	else
		snprintf(joined, sizeof(joined), "%s/%s", real, name);

	found = realpath(joined, path) != NULL;
	loop = !found && errno == ELOOP;
	if (!found)
		ereport(ERROR,
				(loop ? errcode(ERRCODE_UNDEFINED_FILE) :
				 errcode_for_file_access(),
				 errmsg("could not find credential file \"%s\": %m", name),
				 errhint("It must be in the folder of booking.credential_directory.")));
	if (strncmp(path, real, len) != 0 || path[len] != '/')
		raise_outside(name);
}

/*
 * The error for a file that is not in the folder.
 */
static void
raise_outside(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("credential file \"%s\" is outside booking.credential_directory", name),
			 errhint("Neither its path nor a symbolic link may lead out of the folder.")));
}

/*
 * Open a file and see that it is one, and private.  Opening does not wait for
 * whoever might write to a pipe.
 */
static int
open_file(const char *name, const char *path)
{
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open credential file \"%s\": %m", name),
				 errhint("The server must be able to read it.")));
	if (!S_ISREG(info.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("credential file \"%s\" is not a regular file", name),
				 errhint("Give the path of a file.")));
	if (!booking_seal_file_is_private(&info))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("credential file \"%s\" can be accessed by others", name),
				 errhint("It must be owned by the user of the server and have mode 0600 or less, or be owned by root and have mode 0640 or less.")));
	return fd;
}

/*
 * What is in a file, as a terminated string.
 */
static char *
read_content(const char *name, const char *path)
{
	char	   *content = palloc(BOOKING_CREDENTIAL_LIMIT + 2);
	int			fd = open_file(name, path);
	size_t		len = 0;
	ssize_t		got;

	while ((got = read(fd, content + len, BOOKING_CREDENTIAL_LIMIT + 1 - len)) > 0)
		len += got;
	if (got < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read credential file \"%s\": %m", name),
				 errhint("Look at the file system.")));
	CloseTransientFile(fd);
	content[len] = '\0';
	if (len > BOOKING_CREDENTIAL_LIMIT || strlen(content) != len ||
		!pg_verifymbstr(content, len, true))
	{
		explicit_bzero(content, len);
		raise_useless(name, "It must be text in the encoding of the database, of 16 kB at most.");
	}
	while (len > 0 && strchr(" \t\r\n", content[len - 1]) != NULL)
		content[--len] = '\0';
	return content;
}

/*
 * Make a credential of what is in a file, and see that it has all that the type
 * needs.
 */
static Jsonb *
parse_content(const BookingCredentialType *type, const char *name,
			  char *content)
{
	Jsonb	   *credential;
	const BookingCredentialType *told;
	const char *lack;

	if (content[strspn(content, " \t\r\n")] != '{' && type->members[1] == NULL)
		credential = make_object(type->members[0], content);
	else
		credential = parse_object(content);
	if (credential == NULL || !JB_ROOT_IS_OBJECT(credential))
		raise_useless(name, "It must hold a JSON object, or for the type bearer a token alone.");

	told = booking_credential_type(credential);
	if (told != type && booking_credential_has(credential, "type"))
		raise_useless(name, "It holds a credential of another type.");
	lack = booking_credential_lack(type, credential);
	if (lack != NULL)
		raise_useless(name, psprintf("It lacks a valid \"%s\". %s", lack,
									 booking_credential_hint(lack)));
	return credential;
}

/*
 * A JSON value, NULL if it is none.  The error of the parser would tell a part
 * of it, so nobody gets to see that.
 */
static Jsonb *
parse_object(char *content)
{
	MemoryContext context = CurrentMemoryContext;
	Jsonb	   *volatile value = NULL;

	PG_TRY();
	{
		value = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
												   CStringGetDatum(content)));
	}
	PG_CATCH();
	{
		if (geterrcode() == ERRCODE_QUERY_CANCELED ||
			geterrcode() == ERRCODE_OUT_OF_MEMORY)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return value;
}

/*
 * An object with one member.
 */
static Jsonb *
make_object(const char *key, const char *value)
{
	JsonbParseState *state = NULL;
	JsonbValue	item;

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	item.type = jbvString;
	item.val.string.val = unconstify(char *, key);
	item.val.string.len = strlen(key);
	(void) pushJsonbValue(&state, WJB_KEY, &item);
	item.val.string.val = unconstify(char *, value);
	item.val.string.len = strlen(value);
	(void) pushJsonbValue(&state, WJB_VALUE, &item);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

/*
 * The error for a file that holds no credential of the type.
 */
static void
raise_useless(const char *name, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("credential file \"%s\" holds no valid credential", name),
			 errhint("%s", hint)));
}

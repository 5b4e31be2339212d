/*-------------------------------------------------------------------------
 *
 * seal.c
 *	  credentials at rest
 *
 * AES-256-GCM by OpenSSL.  The key is the SHA-256 of the file that
 * booking.secret_key_file names, which lies outside the data directory, and
 * which nobody else can read, as the server demands of its own private key; the
 * tenant and account are bound as additional data, so that a sealed credential
 * cannot be moved to another account.  Stored: 12 bytes of nonce, the
 * ciphertext, 16 bytes of tag.
 *
 * IDENTIFICATION
 *	  booking/src/store/seal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "storage/fd.h"

#include "compat.h"
#include "guc.h"
#include "store/seal.h"

#define NONCE_LEN 12
#define TAG_LEN 16
#define KEY_FILE_LIMIT 4096
#define KEY_FILE_LEAST 16

/* what may be wrong with the key file; errno has more of the first two */
typedef enum KeyFault
{
	KEY_USABLE,
	KEY_NOT_OPENED,
	KEY_NOT_READ,
	KEY_NOT_REGULAR,
	KEY_NOT_OWNED,
	KEY_NOT_PRIVATE,
	KEY_SHORT
} KeyFault;

static KeyFault load_key_file(uint8 *buffer, size_t *len);
static KeyFault judge_key_file(int fd);
static void read_key(uint8 *key);
pg_noreturn static void raise_fault(KeyFault fault);
pg_noreturn static void raise_crypto(void);

/*
 * Seal a secret, or return it as it is, with *sealed false, when no key file
 * is configured.
 */
bytea *
booking_seal(const char *plain, size_t len, const char *context, bool *sealed)
{
	bytea	   *result = palloc(VARHDRSZ + NONCE_LEN + len + TAG_LEN);
	uint8	   *out = (uint8 *) VARDATA(result);
	uint8		key[PG_SHA256_DIGEST_LENGTH];
	EVP_CIPHER_CTX *cipher;
	int			outlen;
	bool		ok;

	*sealed = booking_secret_key_file != NULL && booking_secret_key_file[0] != '\0';
	if (!*sealed)
	{
		SET_VARSIZE(result, VARHDRSZ + len);
		memcpy(VARDATA(result), plain, len);
		return result;
	}

	read_key(key);
	cipher = EVP_CIPHER_CTX_new();
	ok = cipher != NULL && pg_strong_random(out, NONCE_LEN) &&
		EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, out) == 1 &&
		EVP_EncryptUpdate(cipher, NULL, &outlen, (const uint8 *) context,
						  strlen(context)) == 1 &&
		EVP_EncryptUpdate(cipher, out + NONCE_LEN, &outlen,
						  (const uint8 *) plain, len) == 1 &&
		EVP_EncryptFinal_ex(cipher, out + NONCE_LEN + outlen, &outlen) == 1 &&
		EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_LEN,
							out + NONCE_LEN + len) == 1;
	EVP_CIPHER_CTX_free(cipher);
	OPENSSL_cleanse(key, sizeof(key));
	if (!ok)
		raise_crypto();
	SET_VARSIZE(result, VARHDRSZ + NONCE_LEN + len + TAG_LEN);
	return result;
}

/*
 * The secret as a terminated string, which the caller wipes.  Raises an error
 * when it was sealed with another key or for another account.
 */
char *
booking_unseal(const bytea *secret, bool sealed, const char *context)
{
	char	   *plain = booking_unseal_try(secret, sealed, context);

	if (plain == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PASSWORD),
				 errmsg("could not open a sealed credential"),
				 errhint("booking.secret_key_file must name the file it was sealed with; else put the credential anew.")));
	return plain;
}

/*
 * The same, but NULL instead of that error.  That the key file is of no use is
 * an error still.
 */
char *
booking_unseal_try(const bytea *secret, bool sealed, const char *context)
{
	const uint8 *in = (const uint8 *) VARDATA_ANY(secret);
	int			len = VARSIZE_ANY_EXHDR(secret);
	char	   *plain = palloc(len + 1);
	uint8		key[PG_SHA256_DIGEST_LENGTH];
	EVP_CIPHER_CTX *cipher;
	int			outlen = 0;
	bool		ok;

	if (!sealed)
	{
		memcpy(plain, in, len);
		plain[len] = '\0';
		return plain;
	}
	if (len < NONCE_LEN + TAG_LEN)
		return NULL;

	read_key(key);
	len -= NONCE_LEN + TAG_LEN;
	cipher = EVP_CIPHER_CTX_new();
	ok = cipher != NULL &&
		EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, in) == 1 &&
		EVP_DecryptUpdate(cipher, NULL, &outlen, (const uint8 *) context,
						  strlen(context)) == 1 &&
		EVP_DecryptUpdate(cipher, (uint8 *) plain, &outlen, in + NONCE_LEN,
						  len) == 1 &&
		EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_LEN,
							unconstify(uint8 *, in + NONCE_LEN + len)) == 1 &&
		EVP_DecryptFinal_ex(cipher, (uint8 *) plain + outlen, &outlen) == 1;
	EVP_CIPHER_CTX_free(cipher);
	OPENSSL_cleanse(key, sizeof(key));
	if (!ok)
	{
		pfree(plain);
		return NULL;
	}
	plain[len] = '\0';
	return plain;
}

/*
 * What is wrong with the file of booking.secret_key_file, in words for
 * booking_worker_status(); NULL if nothing is, or none is set.  Raises no
 * error.
 */
const char *
booking_seal_hindrance(void)
{
	uint8		buffer[KEY_FILE_LIMIT];
	size_t		len;
	KeyFault	fault;

	if (booking_secret_key_file == NULL || booking_secret_key_file[0] == '\0')
		return NULL;
	fault = load_key_file(buffer, &len);
	OPENSSL_cleanse(buffer, sizeof(buffer));
	switch (fault)
	{
		case KEY_USABLE:
			break;
		case KEY_NOT_OPENED:
		case KEY_NOT_READ:
			return "the file of booking.secret_key_file cannot be read";
		case KEY_NOT_REGULAR:
			return "booking.secret_key_file does not name a file";
		case KEY_NOT_OWNED:
			return "the file of booking.secret_key_file belongs to somebody else";
		case KEY_NOT_PRIVATE:
			return "the file of booking.secret_key_file can be accessed by others";
		case KEY_SHORT:
			return "the file of booking.secret_key_file is too short";
	}
	return NULL;
}

/*
 * The key: the SHA-256 of the key file.
 */
static void
read_key(uint8 *key)
{
	uint8		buffer[KEY_FILE_LIMIT];
	size_t		len;
	KeyFault	fault = load_key_file(buffer, &len);
	pg_cryptohash_ctx *hash;
	bool		ok;

	if (fault != KEY_USABLE)
	{
		OPENSSL_cleanse(buffer, sizeof(buffer));
		raise_fault(fault);
	}
	hash = pg_cryptohash_create(PG_SHA256);
	ok = hash != NULL && pg_cryptohash_init(hash) >= 0 &&
		pg_cryptohash_update(hash, buffer, len) >= 0 &&
		pg_cryptohash_final(hash, key, PG_SHA256_DIGEST_LENGTH) >= 0;
	pg_cryptohash_free(hash);
	OPENSSL_cleanse(buffer, sizeof(buffer));
	if (!ok)
		raise_crypto();
}

/*
 * Read the beginning of the key file, if it is one that nobody else can read.
 * Opening does not wait for whoever might write to a pipe.
 */
static KeyFault
load_key_file(uint8 *buffer, size_t *len)
{
	int			fd = OpenTransientFile(booking_secret_key_file,
									   O_RDONLY | O_NONBLOCK | PG_BINARY);
	KeyFault	fault;
	ssize_t		got = 0;
	int			save_errno;

	*len = 0;
	if (fd < 0)
		return KEY_NOT_OPENED;
	fault = judge_key_file(fd);
	while (fault == KEY_USABLE && *len < KEY_FILE_LIMIT &&
		   (got = read(fd, buffer + *len, KEY_FILE_LIMIT - *len)) > 0)
		*len += got;
	save_errno = errno;
	CloseTransientFile(fd);
	errno = save_errno;
	if (fault == KEY_USABLE && got < 0)
		return KEY_NOT_READ;
	return fault == KEY_USABLE && *len < KEY_FILE_LEAST ? KEY_SHORT : fault;
}

/*
 * Judge the key file as the server judges its own private key.
 */
static KeyFault
judge_key_file(int fd)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return KEY_NOT_READ;
	if (!S_ISREG(info.st_mode))
		return KEY_NOT_REGULAR;
	if (info.st_uid != geteuid() && info.st_uid != 0)
		return KEY_NOT_OWNED;
	return booking_seal_file_is_private(&info) ? KEY_USABLE : KEY_NOT_PRIVATE;
}

/*
 * Is a file owned and protected as a private key of the server has to be?
 */
bool
booking_seal_file_is_private(const struct stat *info)
{
	if (info->st_uid == geteuid())
		return (info->st_mode & (S_IRWXG | S_IRWXO)) == 0;
	return info->st_uid == 0 &&
		(info->st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) == 0;
}

/*
 * The error for a key file that is of no use.
 */
static void
raise_fault(KeyFault fault)
{
	switch (fault)
	{
		case KEY_NOT_OPENED:
		case KEY_NOT_READ:
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not open the file of booking.secret_key_file: %m"),
					 errhint("The server must be able to read it.")));
			break;
		case KEY_NOT_REGULAR:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIG_FILE_ERROR),
					 errmsg("the file of booking.secret_key_file is not a regular file"),
					 errhint("Give the path of a file.")));
			break;
		case KEY_NOT_OWNED:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIG_FILE_ERROR),
					 errmsg("the file of booking.secret_key_file must be owned by the user of the server or root"),
					 errhint("Give it to the user of the server with chown.")));
			break;
		case KEY_NOT_PRIVATE:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIG_FILE_ERROR),
					 errmsg("the file of booking.secret_key_file has group or world access"),
					 errhint("It must have mode 0600 or less if it is owned by the user of the server, or 0640 or less if it is owned by root.")));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIG_FILE_ERROR),
					 errmsg("the file of booking.secret_key_file is too short"),
					 errhint("Fill it with 32 random bytes or more, for example by \"openssl rand\".")));
	}
}

/*
 * The error when the library fails; it says nothing of what it worked on.
 */
static void
raise_crypto(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not process a credential")));
}

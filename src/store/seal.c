/*-------------------------------------------------------------------------
 *
 * seal.c
 *	  credentials at rest
 *
 * AES-256-GCM by OpenSSL.  The key is the SHA-256 of the file that
 * booking.secret_key_file names, which lies outside the data directory; the
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

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "storage/fd.h"

#include "compat.h"
#include "store/seal.h"
#include "guc.h"

#define NONCE_LEN 12
#define TAG_LEN 16
#define KEY_FILE_LIMIT 4096

static void read_key(uint8 *key);
static void raise_crypto(void) pg_attribute_noreturn();

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
		raise_crypto();

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
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PASSWORD),
				 errmsg("could not open a sealed credential"),
				 errhint("booking.secret_key_file must name the file it was sealed with; else put the credential anew.")));
	plain[len] = '\0';
	return plain;
}

/*
 * The key: the SHA-256 of the key file.
 */
static void
read_key(uint8 *key)
{
	uint8		buffer[KEY_FILE_LIMIT];
	FILE	   *file = AllocateFile(booking_secret_key_file, PG_BINARY_R);
	size_t		len;
	pg_cryptohash_ctx *hash;
	bool		ok;

	if (file == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open the file of booking.secret_key_file: %m"),
				 errhint("The server must be able to read it.")));
	len = fread(buffer, 1, sizeof(buffer), file);
	FreeFile(file);
	if (len < 16)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIG_FILE_ERROR),
				 errmsg("the file of booking.secret_key_file is too short"),
				 errhint("Fill it with 32 random bytes or more, for example by \"openssl rand\".")));

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
 * The error when the library fails; it says nothing of what it worked on.
 */
static void
raise_crypto(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not process a credential")));
}

/*-------------------------------------------------------------------------
 *
 * jwt.c
 *	  signed assertions (RFC 7515, RFC 7523)
 *
 * The signature is OpenSSL's.  Nothing is kept of a key once this returns.
 *
 * IDENTIFICATION
 *	  booking/src/codec/jwt.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "codec/buffer.h"
#include "codec/jwt.h"

/* RFC 7518, 3.3: a key of 2048 bits or larger must be used */
#define MIN_KEY_BITS 2048

#define HEADER "{\"alg\":\"RS256\",\"typ\":\"JWT\"}"

static EVP_PKEY *read_key(const char *private_key);
static int	no_passphrase(char *buffer, int size, int writing, void *arg);
static void add_base64url(BookingBuffer *buffer, const unsigned char *data,
						  size_t len);

/*
 * See jwt.h.
 */
char *
booking_jwt_sign(const char *claims, size_t len, const char *private_key,
				 BookingArena *arena)
{
	EVP_PKEY   *key = read_key(private_key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	BookingBuffer jwt;
	unsigned char *signature;
	size_t		size = 0;
	bool		good;

	booking_buffer_init(&jwt, arena);
	add_base64url(&jwt, (const unsigned char *) HEADER, strlen(HEADER));
	(void) booking_buffer_add(&jwt, ".", 1);
	add_base64url(&jwt, (const unsigned char *) claims, len);
	good = key != NULL && context != NULL && !booking_arena_failed(arena) &&
		EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
		EVP_DigestSign(context, NULL, &size, (const unsigned char *) jwt.data,
					   jwt.len) == 1;
	signature = good ? booking_arena_alloc(arena, size) : NULL;
	good = signature != NULL &&
		EVP_DigestSign(context, signature, &size,
					   (const unsigned char *) jwt.data, jwt.len) == 1;
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	ERR_clear_error();
	if (!good)
		return NULL;
	(void) booking_buffer_add(&jwt, ".", 1);
	add_base64url(&jwt, signature, size);
	return booking_arena_failed(arena) ? NULL : jwt.data;
}

/*
 * See jwt.h.
 */
bool
booking_jwt_key_is_valid(const char *private_key)
{
	EVP_PKEY   *key = read_key(private_key);

	EVP_PKEY_free(key);
	ERR_clear_error();
	return key != NULL;
}

/*
 * Read a key; NULL if it is none that we sign with.
 */
static EVP_PKEY *
read_key(const char *private_key)
{
	BIO		   *bio = BIO_new_mem_buf(private_key, -1);
	EVP_PKEY   *key = bio == NULL ? NULL :
		PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);

	BIO_free(bio);
	if (key != NULL && (EVP_PKEY_base_id(key) != EVP_PKEY_RSA ||
						EVP_PKEY_bits(key) < MIN_KEY_BITS))
	{
		EVP_PKEY_free(key);
		return NULL;
	}
	return key;
}

/*
 * Nobody is there to be asked for a passphrase.
 */
static int
no_passphrase(char *buffer, int size, int writing, void *arg)
{
	return -1;
}

/*
 * Add bytes in base64url, without padding (RFC 7515, 2).
 */
static void
add_base64url(BookingBuffer *buffer, const unsigned char *data, size_t len)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < len; i += 3)
	{
		unsigned int group = (unsigned int) data[i] << 16;
		char		quad[4];
		int			count = 2;

		if (i + 1 < len)
		{
			group |= (unsigned int) data[i + 1] << 8;
			count++;
		}
		if (i + 2 < len)
		{
			group |= data[i + 2];
			count++;
		}
		for (int j = 0; j < count; j++)
			quad[j] = letters[(group >> (18 - 6 * j)) & 0x3f];
		(void) booking_buffer_add(buffer, quad, count);
	}
}

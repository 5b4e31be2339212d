/*-------------------------------------------------------------------------
 *
 * webhook_signature.c
 *	  signatures of deliveries as the senders write them into headers
 *
 * Their form is judged, and whether a secret made them.  Whatever is not of the form as a whole is
 * refused as a whole: a part that is overlooked could be what somebody else
 * looks at.
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_signature.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <openssl/crypto.h>

#include "common/base64.h"
#include "common/hmac.h"
#include "common/sha2.h"

#include "codec/hex.h"
#include "codec/webhook_signature.h"

#define HEX_CHARS (2 * BOOKING_SIGNATURE_BYTES)
#define BASE64_CHARS 44

/* longest header that is looked at */
#define HEADER_BYTES 2000

static bool read_time(const char *text, size_t len, BookingSignature *signature);
static bool add_hex(const char *text, size_t len, BookingSignature *signature);
static bool add_base64(const char *text, size_t len,
					   BookingSignature *signature);
static void trim(const char **text, size_t *len);

/*
 * See webhook_signature.h.
 */
BookingSignatureFault
booking_signature_calendly(const char *header, BookingSignature *signature)
{
	const char *rest = header;

	memset(signature, 0, sizeof(*signature));
	if (strlen(header) > HEADER_BYTES)
		return BOOKING_SIGNATURE_MALFORMED;
	for (;;)
	{
		const char *part = rest;
		size_t		len = strcspn(rest, ",");
		const char *value;
		bool		good = true;

		rest += len;
		trim(&part, &len);
		value = memchr(part, '=', len);
		if (value == NULL)
			return BOOKING_SIGNATURE_MALFORMED;
		value++;
		if (value - part == 2 && part[0] == 't')
			good = !signature->has_time &&
				read_time(value, len - (value - part), signature);
		else if (value - part == 3 && strncmp(part, "v1", 2) == 0)
			good = add_hex(value, len - (value - part), signature);
		if (!good)
			return BOOKING_SIGNATURE_MALFORMED;
		if (*rest == '\0')
			break;
		rest++;
	}
	return signature->has_time && signature->count > 0 ? BOOKING_SIGNATURE_OK :
		BOOKING_SIGNATURE_MALFORMED;
}

/*
 * See webhook_signature.h.
 */
BookingSignatureFault
booking_signature_calcom(const char *header, BookingSignature *signature)
{
	size_t		len = strlen(header);

	memset(signature, 0, sizeof(*signature));
	trim(&header, &len);
	if (len == 18 && strncmp(header, "no-secret-provided", 18) == 0)
		return BOOKING_SIGNATURE_UNSIGNED;
	return add_hex(header, len, signature) ? BOOKING_SIGNATURE_OK :
		BOOKING_SIGNATURE_MALFORMED;
}

/*
 * See webhook_signature.h.
 */
BookingSignatureFault
booking_signature_acuity(const char *header, BookingSignature *signature)
{
	size_t		len = strlen(header);

	memset(signature, 0, sizeof(*signature));
	trim(&header, &len);
	return add_base64(header, len, signature) ? BOOKING_SIGNATURE_OK :
		BOOKING_SIGNATURE_MALFORMED;
}

/*
 * See webhook_signature.h.  A dot in the id would make two texts one.
 */
BookingSignatureFault
booking_signature_standard(const char *id, const char *timestamp,
						   const char *header, BookingSignature *signature)
{
	const char *rest = header;

	memset(signature, 0, sizeof(*signature));
	if (id[0] == '\0' || strchr(id, '.') != NULL || strlen(id) > HEADER_BYTES ||
		strlen(header) > HEADER_BYTES ||
		!read_time(timestamp, strlen(timestamp), signature))
		return BOOKING_SIGNATURE_MALFORMED;
	while (*(rest += strspn(rest, " ")) != '\0')
	{
		size_t		len = strcspn(rest, " ");
		const char *comma = memchr(rest, ',', len);

		if (comma == NULL)
			return BOOKING_SIGNATURE_MALFORMED;
		if (comma - rest == 2 && strncmp(rest, "v1", 2) == 0 &&
			!add_base64(comma + 1, len - 3, signature))
			return BOOKING_SIGNATURE_MALFORMED;
		rest += len;
	}
	return signature->count > 0 ? BOOKING_SIGNATURE_OK :
		BOOKING_SIGNATURE_MALFORMED;
}

/*
 * See webhook_signature.h.  header has room for BOOKING_SIGNATURE_HEADER_SIZE
 * bytes.
 */
void
booking_signature_standard_write(const BookingSignature *signature,
								 char *header)
{
	char	   *out = header;

	for (int i = 0; i < signature->count; i++)
	{
		if (i > 0)
			*out++ = ' ';
		memcpy(out, "v1,", 3);
		out += 3;
		(void) pg_b64_encode((const void *) signature->digests[i],
							 BOOKING_SIGNATURE_BYTES, out, BASE64_CHARS);
		out += BASE64_CHARS;
	}
	*out = '\0';
}

/*
 * See webhook_signature.h.  key has room for BOOKING_WEBHOOK_KEY_MOST bytes.
 */
int
booking_signature_standard_key(const char *secret, uint8 *key)
{
	char		decoded[BOOKING_WEBHOOK_KEY_MOST + 3];
	size_t		len;
	int			decoded_len;

	if (strncmp(secret, "whsec_", 6) != 0)
		return -1;
	secret += 6;
	len = strlen(secret);
	if (len == 0 || len % 4 != 0 || len > BOOKING_WEBHOOK_KEY_MOST / 3 * 4 + 4)
		return -1;
	decoded_len = pg_b64_decode(secret, (int) len, (void *) decoded, sizeof(decoded));
	if (decoded_len < BOOKING_WEBHOOK_KEY_LEAST ||
		decoded_len > BOOKING_WEBHOOK_KEY_MOST)
		return -1;
	memcpy(key, decoded, decoded_len);
	explicit_bzero(decoded, sizeof(decoded));
	return decoded_len;
}

/*
 * See webhook_signature.h.
 */
int
booking_signature_matches(const BookingSignature *signature, const char *id,
						  const char *body, size_t len, const char *secret)
{
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	const uint8 *secret_key = (const uint8 *) secret;
	int			key_len = (int) strlen(secret);
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);
	bool		ok;
	int			matches = 0;

	if (id != NULL)
	{
		secret_key = key;
		key_len = booking_signature_standard_key(secret, key);
	}
	ok = hmac != NULL && key_len > 0 &&
		pg_hmac_init(hmac, secret_key, key_len) >= 0;
	if (ok && id != NULL)
		ok = pg_hmac_update(hmac, (const uint8 *) id, strlen(id)) >= 0 &&
			pg_hmac_update(hmac, (const uint8 *) ".", 1) >= 0;
	if (ok && signature->has_time)
		ok = pg_hmac_update(hmac, (const uint8 *) signature->digits,
							strlen(signature->digits)) >= 0 &&
			pg_hmac_update(hmac, (const uint8 *) ".", 1) >= 0;
	ok = ok && pg_hmac_update(hmac, (const uint8 *) body, len) >= 0 &&
		pg_hmac_final(hmac, digest, sizeof(digest)) >= 0;
	pg_hmac_free(hmac);
	explicit_bzero(key, sizeof(key));
	if (!ok)
		return -1;
	for (int i = 0; i < signature->count; i++)
		matches += CRYPTO_memcmp(digest, signature->digests[i],
								 sizeof(digest)) == 0;
	return matches;
}

/*
 * Seconds from 1970 in digits, without a sign or blanks.
 */
static bool
read_time(const char *text, size_t len, BookingSignature *signature)
{
	if (len == 0 || len > BOOKING_SIGNATURE_DIGITS)
		return false;
	signature->time = 0;
	for (size_t i = 0; i < len; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		signature->time = signature->time * 10 + (text[i] - '0');
	}
	memcpy(signature->digits, text, len);
	signature->digits[len] = '\0';
	signature->has_time = true;
	return true;
}

/*
 * Add a signature in hex, of either case.
 */
static bool
add_hex(const char *text, size_t len, BookingSignature *signature)
{
	uint8	   *digest;

	if (len != HEX_CHARS || signature->count == BOOKING_SIGNATURES)
		return false;
	digest = signature->digests[signature->count];
	for (int i = 0; i < BOOKING_SIGNATURE_BYTES; i++)
	{
		int			high = booking_hex_digit(text[2 * i]);
		int			low = booking_hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		digest[i] = (uint8) (high << 4 | low);
	}
	signature->count++;
	return true;
}

/*
 * Add a signature in base64.
 */
static bool
add_base64(const char *text, size_t len, BookingSignature *signature)
{
	char		decoded[BOOKING_SIGNATURE_BYTES + 3];

	/* the decoder passes over blanks, which belong to no signature */
	if (len != BASE64_CHARS || signature->count == BOOKING_SIGNATURES ||
		text[len - 1] != '=' || text[len - 2] == '=')
		return false;
	for (size_t i = 0; i < len; i++)
	{
		if ((unsigned char) text[i] <= ' ')
			return false;
	}
	if (pg_b64_decode(text, (int) len, (void *) decoded, sizeof(decoded)) !=
		BOOKING_SIGNATURE_BYTES)
		return false;
	memcpy(signature->digests[signature->count++], decoded,
		   BOOKING_SIGNATURE_BYTES);
	return true;
}

/*
 * Leave the blanks around a text out.
 */
static void
trim(const char **text, size_t *len)
{
	while (*len > 0 && (**text == ' ' || **text == '\t'))
	{
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
		(*len)--;
}

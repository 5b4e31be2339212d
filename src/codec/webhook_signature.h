/*-------------------------------------------------------------------------
 *
 * webhook_signature.h
 *	  signatures of deliveries as the senders write them into headers
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_signature.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_SIGNATURE_H
#define BOOKING_WEBHOOK_SIGNATURE_H

#include "codec/arena.h"

/* bytes of an HMAC with SHA-256 */
#define BOOKING_SIGNATURE_BYTES 32

/* a sender changes its key one at a time */
#define BOOKING_SIGNATURES 8

/* digits of a timestamp, in seconds */
#define BOOKING_SIGNATURE_DIGITS 11

/* bytes of a key of Standard Webhooks */
#define BOOKING_WEBHOOK_KEY_LEAST 24
#define BOOKING_WEBHOOK_KEY_MOST 64

typedef enum BookingSignatureFault
{
	BOOKING_SIGNATURE_OK,
	BOOKING_SIGNATURE_MALFORMED,
	BOOKING_SIGNATURE_UNSIGNED	/* the sender says that it has no key */
} BookingSignatureFault;

/* what was read; of more than one signature any may be the right one */
typedef struct BookingSignature
{
	int			count;
	uint8		digests[BOOKING_SIGNATURES][BOOKING_SIGNATURE_BYTES];
	bool		has_time;
	int64		time;			/* seconds from 1970 */
	char		digits[BOOKING_SIGNATURE_DIGITS + 1];	/* as signed */
} BookingSignature;

/*
 * "t=<seconds>,v1=<hex>", with more than one v1 while a key changes; parts with
 * other names are passed over (Calendly, webhook signatures).
 */
extern BookingSignatureFault booking_signature_calendly(const char *header,
														BookingSignature *signature);

/* hex alone, or the word that there is none (Cal.com) */
extern BookingSignatureFault booking_signature_calcom(const char *header,
													  BookingSignature *signature);

/* base64 alone (Acuity) */
extern BookingSignatureFault booking_signature_acuity(const char *header,
													  BookingSignature *signature);

/*
 * "v1,<base64>" with blanks between several; those of other versions are
 * passed over.  id and timestamp are headers of their own (Standard Webhooks).
 */
extern BookingSignatureFault booking_signature_standard(const char *id,
														const char *timestamp,
														const char *header,
														BookingSignature *signature);

/* bytes of a header that is written, with the NUL */
#define BOOKING_SIGNATURE_HEADER_SIZE (BOOKING_SIGNATURES * 48 + 1)

/* write a header from digests, in their order */
extern void booking_signature_standard_write(const BookingSignature *signature,
											 char *header);

/* the key behind "whsec_"; returns its length, -1 if it is none */
extern int	booking_signature_standard_key(const char *secret, uint8 *key);

/*
 * How many of the signatures a secret made over a body, and -1 if that cannot be
 * computed.  id is that of a message of Standard Webhooks, else NULL.  It takes as
 * long wherever the difference is.
 */
extern int	booking_signature_matches(const BookingSignature *signature,
									  const char *id, const char *body,
									  size_t len, const char *secret);

#endif							/* BOOKING_WEBHOOK_SIGNATURE_H */

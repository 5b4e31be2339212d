/*
 * test/fuzz/webhook_sign.c
 *
 * Whatever a header says, it is signatures and perhaps a time, or nothing.  The
 * first byte picks the sender; for Standard Webhooks lines part the headers.
 */
#include "check.h"

#include "codec/webhook_signature.h"

static int
test_input(const uint8 *data, size_t size)
{
	BookingSignature signature;
	BookingSignatureFault fault;
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];
	char	   *text;
	char	   *second;
	char	   *third;

	if (size == 0)
		return 0;
	text = malloc(size);
	check(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	second = strchr(text, '\n');
	third = second == NULL ? NULL : strchr(second + 1, '\n');
	switch (data[0] % 4)
	{
		case 0:
			fault = booking_signature_calendly(text, &signature);
			break;
		case 1:
			fault = booking_signature_calcom(text, &signature);
			break;
		case 2:
			fault = booking_signature_acuity(text, &signature);
			break;
		default:
			if (third != NULL)
				*second++ = *third++ = '\0';
			fault = booking_signature_standard(text, second != NULL ? second : "1",
											   third != NULL ? third : text, &signature);
			break;
	}
	check(signature.count >= 0 && signature.count <= BOOKING_SIGNATURES);
	if (fault == BOOKING_SIGNATURE_OK)
	{
		check(signature.count > 0);
		check((data[0] % 4 == 0 || data[0] % 4 == 3) == signature.has_time);
		check(!signature.has_time || (signature.time >= 0 && signature.digits[0] != '\0'));
	}
	check(booking_signature_standard_key(text, key) <= BOOKING_WEBHOOK_KEY_MOST);
	free(text);
	return 0;
}

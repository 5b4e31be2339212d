/*
 * webhook.c
 *
 * Deliveries as they come.  What must hold: a signature header that is not of
 * its form as a whole is refused, and one that is gives the bytes it stands for;
 * a form is fields of valid text, or none; and what a body of each sender says
 * of a booking follows from the documented shapes, and from the status of the
 * booking more than from the name of the event.
 */
#include "tap.h"

#include "codec/delivery.h"
#include "codec/form.h"
#include "codec/webhook_event.h"
#include "codec/webhook_signature.h"

#define HEX "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"
#define BASE64 "ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8="

static BookingArena *arena;

/*
 * A fault as a word.
 */
static const char *
word_of(BookingSignatureFault fault)
{
	return fault == BOOKING_SIGNATURE_OK ? "ok" :
		fault == BOOKING_SIGNATURE_UNSIGNED ? "unsigned" : "malformed";
}

/*
 * Are the bytes of a signature those of HEX and BASE64?
 */
static bool
is_right(const BookingSignature *signature, int which)
{
	for (int i = 0; i < BOOKING_SIGNATURE_BYTES; i++)
	{
		if (signature->digests[which][i] != (i % 16) * 0x11)
			return false;
	}
	return true;
}

/*
 * Headers of Calendly and of Cal.com.
 */
static void
test_hex(void)
{
	static const struct
	{
		const char *header;
		const char *calendly;
		const char *calcom;
	}			headers[] = {
		{"t=1,v1=" HEX, "ok", "malformed"},
		{"v1=" HEX ",t=1", "ok", "malformed"},
		{" t=1 , v1=" HEX " ", "ok", "malformed"},
		{"t=1,v1=" HEX ",v1=" HEX, "ok", "malformed"},
		{"t=1,v0=x,v1=" HEX, "ok", "malformed"},
		{"t=1", "malformed", "malformed"},
		{"v1=" HEX, "malformed", "malformed"},
		{"t=1,t=2,v1=" HEX, "malformed", "malformed"},
		{"t=,v1=" HEX, "malformed", "malformed"},
		{"t=-1,v1=" HEX, "malformed", "malformed"},
		{"t= 1,v1=" HEX, "malformed", "malformed"},
		{"t=123456789012,v1=" HEX, "malformed", "malformed"},
		{"t=1,v1=" HEX "0", "malformed", "malformed"},
		{"t=1,v1=,v1=" HEX, "malformed", "malformed"},
		{"t=1,,v1=" HEX, "malformed", "malformed"},
		{"t=1,v1=" HEX ",", "malformed", "malformed"},
		{HEX, "malformed", "ok"},
		{"\t" HEX " ", "malformed", "ok"},
		{HEX HEX, "malformed", "malformed"},
		{"no-secret-provided", "malformed", "unsigned"},
		{"no-secret-provided2", "malformed", "malformed"},
		{"", "malformed", "malformed"}
	};

	for (int i = 0; i < (int) lengthof(headers); i++)
	{
		BookingSignature signature;

		tap_is_text(word_of(booking_signature_calendly(headers[i].header, &signature)),
					headers[i].calendly, headers[i].header);
		for (int j = 0; j < signature.count && strcmp(headers[i].calendly, "ok") == 0; j++)
			tap_ok(is_right(&signature, j) && signature.time == 1, "its bytes and time");
		tap_is_text(word_of(booking_signature_calcom(headers[i].header, &signature)),
					headers[i].calcom, headers[i].header);
		if (strcmp(headers[i].calcom, "ok") == 0)
			tap_ok(is_right(&signature, 0) && signature.count == 1, "its bytes");
	}
}

/*
 * The fault of a header of Acuity, as a word.
 */
static const char *
acuity(const char *header, BookingSignature *signature)
{
	return word_of(booking_signature_acuity(header, signature));
}

/*
 * The fault of headers of Standard Webhooks, as a word.
 */
static const char *
standard(const char *id, const char *timestamp, const char *header,
		 BookingSignature *signature)
{
	return word_of(booking_signature_standard(id, timestamp, header, signature));
}

/*
 * The length of a key, -1 if it is none.
 */
static int
key_length(const char *secret)
{
	uint8		key[BOOKING_WEBHOOK_KEY_MOST];

	return booking_signature_standard_key(secret, key);
}

/*
 * Headers of Acuity and of Standard Webhooks, and the keys of those.
 */
static void
test_base64(void)
{
	BookingSignature signature;

	tap_is_text(acuity(BASE64, &signature), "ok", "base64");
	tap_ok(is_right(&signature, 0), "its bytes");
	tap_is_text(acuity("A BEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v=", &signature),
				"malformed", "a blank within");
	tap_is_text(acuity("AAAA", &signature), "malformed", "short");
	tap_is_text(standard("m", "1", "v1," BASE64, &signature), "ok", "one");
	tap_is_text(signature.digits, "1", "the time as signed");
	tap_is_text(standard("m", "1", "v1a,x v1," BASE64 " v1," BASE64, &signature),
				"ok", "several");
	tap_is_int(signature.count, 2, "of which two are ours");
	tap_ok(is_right(&signature, 0) && is_right(&signature, 1), "their bytes");
	tap_is_text(standard("m.n", "1", "v1," BASE64, &signature), "malformed", "a dot");
	tap_is_text(standard("", "1", "v1," BASE64, &signature), "malformed", "no id");
	tap_is_text(standard("m", "1.5", "v1," BASE64, &signature), "malformed", "a fraction");
	tap_is_text(standard("m", "1", "v1" BASE64, &signature), "malformed", "no comma");
	tap_is_text(standard("m", "1", "v1,", &signature), "malformed", "nothing");
	tap_is_text(standard("m", "1", "", &signature), "malformed", "empty");

	tap_is_int(key_length("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 24, "a key");
	tap_is_int(key_length("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), -1, "without its name");
	tap_is_int(key_length("whsec_MfKQ"), -1, "a short one");
	tap_is_int(key_length("whsec_"), -1, "none");
	tap_is_int(key_length("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
						  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), -1, "a long one");
}

/*
 * Headers that are written are read as what they were written from.
 */
static void
test_written(void)
{
	BookingSignature read;
	BookingSignature written = {0};
	char		header[BOOKING_SIGNATURE_HEADER_SIZE];

	booking_signature_standard_write(&written, header);
	tap_is_text(header, "", "no signature");
	tap_is_text(standard("m", "1", "v1," BASE64, &written), "ok", "a signature");
	booking_signature_standard_write(&written, header);
	tap_is_text(header, "v1," BASE64, "is written");
	while (written.count < BOOKING_SIGNATURES)
	{
		memset(written.digests[written.count], written.count, BOOKING_SIGNATURE_BYTES);
		written.count++;
	}
	booking_signature_standard_write(&written, header);
	tap_is_int(strlen(header), BOOKING_SIGNATURE_HEADER_SIZE - 2, "as many as there may be");
	tap_is_text(standard("m", "1", header, &read), "ok", "are read");
	tap_is_int(read.count, BOOKING_SIGNATURES, "all of them");
	tap_ok(memcmp(read.digests, written.digests, sizeof(read.digests)) == 0,
		   "in their order");
}

/*
 * What becomes of a delivery that was answered, or was not.
 */
static void
test_answers(void)
{
	static const struct
	{
		BookingTransport transport;
		int			status;
		BookingDeliveryVerdict verdict;
		const char *problem;
	}			answers[] = {
		{BOOKING_TRANSPORT_COMPLETE, 200, BOOKING_DELIVERY_ACCEPTED, NULL},
		{BOOKING_TRANSPORT_COMPLETE, 204, BOOKING_DELIVERY_ACCEPTED, NULL},
		{BOOKING_TRANSPORT_COMPLETE, 299, BOOKING_DELIVERY_ACCEPTED, NULL},
		{BOOKING_TRANSPORT_TOO_LARGE, 200, BOOKING_DELIVERY_ACCEPTED, NULL},
		{BOOKING_TRANSPORT_LOST, 200, BOOKING_DELIVERY_FAILED, "no_answer"},
		{BOOKING_TRANSPORT_LOST, 0, BOOKING_DELIVERY_FAILED, "no_answer"},
		{BOOKING_TRANSPORT_LOST, 410, BOOKING_DELIVERY_FAILED, "no_answer"},
		{BOOKING_TRANSPORT_NOT_SENT, 0, BOOKING_DELIVERY_FAILED, "not_reached"},
		{BOOKING_TRANSPORT_REFUSED, 0, BOOKING_DELIVERY_FAILED, "not_allowed"},
		{BOOKING_TRANSPORT_COMPLETE, 302, BOOKING_DELIVERY_FAILED, "redirected"},
		{BOOKING_TRANSPORT_COMPLETE, 304, BOOKING_DELIVERY_FAILED, "redirected"},
		{BOOKING_TRANSPORT_COMPLETE, 400, BOOKING_DELIVERY_FAILED, "refused"},
		{BOOKING_TRANSPORT_COMPLETE, 404, BOOKING_DELIVERY_FAILED, "refused"},
		{BOOKING_TRANSPORT_COMPLETE, 410, BOOKING_DELIVERY_GONE, "gone"},
		{BOOKING_TRANSPORT_COMPLETE, 429, BOOKING_DELIVERY_FAILED, "rate_limited"},
		{BOOKING_TRANSPORT_COMPLETE, 500, BOOKING_DELIVERY_FAILED, "server_error"},
		{BOOKING_TRANSPORT_COMPLETE, 503, BOOKING_DELIVERY_FAILED, "server_error"},
		{BOOKING_TRANSPORT_TOO_LARGE, 503, BOOKING_DELIVERY_FAILED, "server_error"},
	};

	for (int i = 0; i < (int) lengthof(answers); i++)
	{
		BookingHttpResponse response = {answers[i].transport};
		const char *problem;

		response.status = answers[i].status;
		tap_is_int(booking_delivery_judge(&response, &problem), answers[i].verdict, "verdict");
		tap_is_text(problem, answers[i].problem, "problem");
	}
}

/*
 * How long it is waited.
 */
static void
test_pauses(void)
{
	tap_is_int(booking_delivery_pause(5, 1, 0), INT64CONST(2500000),
			   "half of the first at least");
	tap_is_int(booking_delivery_pause(5, 1, PG_UINT32_MAX), INT64CONST(5000000),
			   "the first at most");
	tap_is_int(booking_delivery_pause(5, 4, PG_UINT32_MAX), INT64CONST(40000000),
			   "doubled three times");
	tap_is_int(booking_delivery_pause(5, 11, PG_UINT32_MAX), INT64CONST(3600000000),
			   "up to an hour");
	tap_is_int(booking_delivery_pause(5, 1000000, 0), INT64CONST(1800000000),
			   "and no more, ever");
}

/*
 * Forms.
 */
static void
test_forms(void)
{
	static const char *const bad[] = {"a=%", "a=%4", "a=%4g", "a=%00", "a=%ff", "%c3=1", "a=\xff"};
	BookingForm form;

	tap_ok(booking_form_read("a=1&b=x+y%20z&c&=d&&e=%C3%a9%3D", 31, arena, &form), "a form");
	tap_is_int(form.count, 5, "five fields");
	tap_is_text(booking_form_value(&form, "a"), "1", "a value");
	tap_is_text(booking_form_value(&form, "b"), "x y z", "blanks");
	tap_is_text(booking_form_value(&form, "c"), "", "no value");
	tap_is_text(booking_form_value(&form, "e"), "\xc3\xa9=", "escapes");
	tap_ok(booking_form_value(&form, "f") == NULL, "no such field");
	tap_ok(booking_form_read("a=1&a=2", 7, arena, &form) && booking_form_value(&form,
		"a") == NULL, "two of a name");
	tap_ok(booking_form_read("", 0, arena, &form) && form.count == 0, "nothing");
	tap_ok(!booking_form_read("a=\0", 3, arena, &form), "a NUL");
	for (int i = 0; i < (int) lengthof(bad); i++)
		tap_ok(!booking_form_read(bad[i], strlen(bad[i]), arena, &form), bad[i]);
}

/*
 * What an event means, as a word.
 */
static const char *
meaning_of(const BookingWebhookEvent *event)
{
	switch (event->meaning)
	{
		case BOOKING_WEBHOOK_IGNORED:
			return "ignored";
		case BOOKING_WEBHOOK_UNUSABLE:
			return event->problem;
		case BOOKING_WEBHOOK_READ:
			return "read";
		case BOOKING_WEBHOOK_PENDING:
			return "pending";
		case BOOKING_WEBHOOK_LIVE:
			return "live";
		case BOOKING_WEBHOOK_ENDED:
			return "ended";
	}
	return "?";
}

#define SCHEDULED ",\"scheduled_event\":{\"event_type\":\"type\"," \
	"\"start_time\":\"2030-01-01T09:00:00.000000Z\"," \
	"\"end_time\":\"2030-01-01T10:00:00+00:00\",\"event_memberships\":[{\"user\":\"host\"}]}"
#define TIMES ",\"startTime\":\"2030-01-01T09:00:00Z\",\"endTime\":\"2030-01-01T10:00:00Z\""

/*
 * Bodies.
 */
static void
test_events(void)
{
	static const struct
	{
		void		(*read) (const char *data, size_t len, BookingArena *arena,
							 BookingWebhookEvent *event);
		const char *body;
		const char *meaning;
	}			bodies[] = {
		{booking_webhook_read_calendly,
			"{\"event\":\"invitee.created\",\"created_at\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uri\":\"i\"" SCHEDULED "}}", "live"},
		{booking_webhook_read_calendly,
			"{\"event\":\"invitee.created\",\"created_at\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uri\":\"i\",\"status\":\"canceled\"" SCHEDULED "}}", "ended"},
		{booking_webhook_read_calendly,
			"{\"event\":\"invitee.canceled\",\"created_at\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uri\":\"i\"}}", "ended"},
		{booking_webhook_read_calendly,
			"{\"event\":\"invitee.created\",\"payload\":{\"uri\":\"i\"" SCHEDULED "}}", "no_version"},
		{booking_webhook_read_calendly,
			"{\"event\":\"invitee.created\",\"created_at\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uri\":5" SCHEDULED "}}", "no_booking"},
		{booking_webhook_read_calendly,
			"{\"event\":5}", "no_type"},
		{booking_webhook_read_calendly,
			"{\"event\":\"contact.created\"}", "ignored"},
		{booking_webhook_read_calendly,
			"[]", "malformed"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"BOOKING_CREATED\",\"createdAt\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uid\":\"u\"" TIMES "}}", "live"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"BOOKING_REQUESTED\",\"createdAt\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uid\":\"u\"" TIMES "}}", "pending"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"BOOKING_REQUESTED\",\"createdAt\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uid\":\"u\",\"status\":\"ACCEPTED\"" TIMES "}}", "live"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"BOOKING_CREATED\",\"createdAt\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uid\":\"u\",\"status\":\"PENDING\"" TIMES "}}", "pending"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"BOOKING_REJECTED\",\"createdAt\":\"2029-01-01T00:00:00Z\",\"payload\":{\"uid\":\"u\"}}", "ended"},
		{booking_webhook_read_calcom,
			"{\"triggerEvent\":\"MEETING_ENDED\",\"uid\":\"u\"}", "ignored"},
		{booking_webhook_read_standard,
			"{\"type\":\"booking.created\",\"data\":{\"id\":\"s\",\"version\":1,\"start\":\"2030-01-01T09:00:00+01:00\",\"end\":\"2030-01-01T10:00:00+01:00\"}}", "live"},
		{booking_webhook_read_standard,
			"{\"type\":\"booking.created\",\"data\":{\"id\":\"s\",\"version\":1,\"start\":\"2030-01-01T09:00:00\",\"end\":\"2030-01-01T10:00:00\"}}", "no_time"},
		{booking_webhook_read_standard,
			"{\"type\":\"booking.created\",\"data\":{\"id\":\"s\",\"version\":\"1\",\"start\":\"2030-01-01T09:00:00Z\",\"end\":\"2030-01-01T10:00:00Z\"}}", "no_version"},
		{booking_webhook_read_standard,
			"{\"type\":\"booking.canceled\",\"data\":{\"id\":\"s\",\"version\":1}}", "ended"},
		{booking_webhook_read_acuity,
			"action=scheduled&id=1&calendarID=2", "read"},
		{booking_webhook_read_acuity,
			"action=scheduled&calendarID=2", "no_booking"},
		{booking_webhook_read_acuity,
			"action=scheduled.x&id=1", "ignored"},
		{booking_webhook_read_acuity,
			"id=1", "no_type"}
	};
	BookingWebhookEvent event;

	for (int i = 0; i < (int) lengthof(bodies); i++)
	{
		bodies[i].read(bodies[i].body, strlen(bodies[i].body), arena, &event);
		tap_is_text(meaning_of(&event), bodies[i].meaning, bodies[i].body);
	}
	bodies[0].read(bodies[0].body, strlen(bodies[0].body), arena, &event);
	tap_is_int(event.start, tap_utc(2030, 1, 1, 9, 0, 0), "start");
	tap_is_int(event.end, tap_utc(2030, 1, 1, 10, 0, 0), "end");
	tap_is_int(event.version, tap_utc(2029, 1, 1, 0, 0, 0), "version");
	tap_is_int(event.nkeys, 2, "two keys");
	tap_is_text(event.keys[0], "type", "its type");
	tap_is_text(event.keys[1], "host", "and its host");
}

/*
 * Links between bookings, and notifications of Microsoft Graph.
 */
static void
test_links(void)
{
	static const char moved[] =
		"{\"event\":\"invitee.canceled\",\"created_at\":\"2029-01-01T00:00:00Z\",\"payload\":"
		"{\"uri\":\"i\",\"rescheduled\":true,\"new_invitee\":\"j\",\"old_invitee\":\"i\"}}";
	static const char notes[] = "{\"value\":[{\"subscriptionId\":\"s\",\"clientState\":\"c\"},"
		"{\"subscriptionId\":\"s\",\"lifecycleEvent\":\"missed\"}]}";
	static const char broken[] = "{\"value\":[{\"subscriptionId\":\"s\"},{}]}";
	BookingWebhookEvent event;
	const BookingWebhookNote *found;
	int			count;

	booking_webhook_read_calendly(moved, strlen(moved), arena, &event);
	tap_ok(event.rescheduled, "half of a reschedule");
	tap_is_text(event.new_booking, "j", "to another");
	tap_ok(event.old_booking == NULL, "a booking is not moved from itself");
	found = booking_webhook_read_graph(notes, strlen(notes), arena, &count);
	tap_is_int(count, 2, "two notifications");
	tap_is_text(found[0].client_state, "c", "a word");
	tap_is_text(found[1].client_state, "", "and none");
	tap_ok(found[0].lifecycle == NULL, "a change");
	tap_is_text(found[1].lifecycle, "missed", "and what happened to the subscription");
	tap_ok(booking_webhook_read_graph(broken, strlen(broken), arena, &count) == NULL && count == 0,
		   "one that is broken breaks all");
}

int
main(void)
{
	arena = booking_arena_create(TAP_ARENA);
	test_hex();
	test_base64();
	test_written();
	test_answers();
	test_pauses();
	test_forms();
	test_events();
	test_links();
	booking_arena_free(arena);
	return tap_done();
}

/*-------------------------------------------------------------------------
 *
 * webhook_event.c
 *	  what a delivery says, whoever sent it
 *
 * Shapes: Calendly, webhook payloads of version 2; Cal.com, webhooks of
 * 2021-10-20; Acuity Scheduling, webhooks; Microsoft Graph, change
 * notifications; and for Standard Webhooks, which leave it open, our own (see
 * doc/webhooks.md).
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_event.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/form.h"
#include "codec/json_read.h"
#include "codec/label.h"
#include "codec/rfc3339.h"
#include "codec/utf8.h"
#include "codec/webhook_event.h"

/* first instant of the year 10000 */
#define LAST_INSTANT (INT64CONST(253402300800) * INT64CONST(1000000))

static const BookingJson *begin(const char *data, size_t len,
								BookingArena *arena,
								BookingWebhookEvent *event);
static const char *skip_blanks(const char *at, const char *end);
static void unusable(BookingWebhookEvent *event, const char *problem);
static bool is_one_of(const char *text, const char *const *words, int count);
static void add_key(BookingWebhookEvent *event, const char *key);
static const char *scalar(const BookingJson *json, const char *name);
static bool read_instant(const BookingJson *json, const char *name,
						 int64 *instant);
static void read_time(BookingWebhookEvent *event, const BookingJson *json,
					  const char *start, const char *end);
static void finish(BookingWebhookEvent *event);

/*
 * See webhook_event.h.
 */
void
booking_webhook_read_calendly(const char *data, size_t len,
							  BookingArena *arena, BookingWebhookEvent *event)
{
	static const char *const types[] = {"invitee.created", "invitee.canceled"};
	const BookingJson *json = begin(data, len, arena, event);
	const BookingJson *payload = booking_json_member(json, "payload");
	const BookingJson *scheduled = booking_json_member(payload, "scheduled_event");
	const char *status = booking_json_text(payload, "status");

	if (json == NULL)
		return;
	event->type = booking_json_text(json, "event");
	if (event->type == NULL)
		unusable(event, "no_type");
	if (event->type == NULL || !is_one_of(event->type, types, lengthof(types)))
		return;
	event->booking = booking_json_text(payload, "uri");
	event->has_version = read_instant(payload, "updated_at", &event->version) ||
		read_instant(json, "created_at", &event->version);
	event->rescheduled = booking_json_true(payload, "rescheduled");
	event->old_booking = booking_json_text(payload, "old_invitee");
	event->new_booking = booking_json_text(payload, "new_invitee");
	event->meaning = strcmp(event->type, "invitee.canceled") == 0 ||
		(status != NULL && strcmp(status, "canceled") == 0) ?
		BOOKING_WEBHOOK_ENDED : BOOKING_WEBHOOK_LIVE;
	add_key(event, booking_json_text(scheduled, "event_type"));
	for (const BookingJson *host = booking_json_elements(scheduled, "event_memberships");
		 host != NULL; host = host->next)
		add_key(event, booking_json_text(host, "user"));
	read_time(event, scheduled, "start_time", "end_time");
	finish(event);
}

/*
 * See webhook_event.h.  The status of a booking says more than the name of the
 * event, which for some reschedules is that of a request.
 */
void
booking_webhook_read_calcom(const char *data, size_t len, BookingArena *arena,
							BookingWebhookEvent *event)
{
	static const char *const types[] = {
		"BOOKING_CREATED", "BOOKING_RESCHEDULED", "BOOKING_REQUESTED",
		"BOOKING_CANCELLED", "BOOKING_REJECTED"
	};
	const BookingJson *json = begin(data, len, arena, event);
	const BookingJson *payload = booking_json_member(json, "payload");
	const BookingJson *organizer = booking_json_member(payload, "organizer");
	const char *status = booking_json_text(payload, "status");

	if (json == NULL)
		return;
	event->type = booking_json_text(json, "triggerEvent");
	if (event->type == NULL)
		unusable(event, "no_type");
	if (event->type == NULL || !is_one_of(event->type, types, lengthof(types)))
		return;
	event->booking = booking_json_text(payload, "uid");
	event->has_version = read_instant(json, "createdAt", &event->version);
	event->old_booking = booking_json_text(payload, "rescheduleUid");
	event->new_booking = NULL;
	if (is_one_of(event->type, types + 3, 2))
		event->meaning = BOOKING_WEBHOOK_ENDED;
	else if (status == NULL)
		event->meaning = strcmp(event->type, "BOOKING_REQUESTED") == 0 ?
			BOOKING_WEBHOOK_PENDING : BOOKING_WEBHOOK_LIVE;
	else if (strcmp(status, "ACCEPTED") == 0)
		event->meaning = BOOKING_WEBHOOK_LIVE;
	else if (strcmp(status, "CANCELLED") == 0 || strcmp(status, "REJECTED") == 0)
		event->meaning = BOOKING_WEBHOOK_ENDED;
	else
		event->meaning = BOOKING_WEBHOOK_PENDING;

	/* asking somebody to choose another time says of no other booking */
	event->rescheduled = false;
	add_key(event, scalar(payload, "eventTypeId"));
	add_key(event, booking_json_text(payload, "type"));
	add_key(event, booking_json_text(organizer, "email"));
	read_time(event, payload, "startTime", "endTime");
	finish(event);
}

/*
 * See webhook_event.h.  {"type", "timestamp", "data": {"id", "resource",
 * "start", "end", "version", "replaces", "replaced_by"}}.
 */
void
booking_webhook_read_standard(const char *data, size_t len,
							  BookingArena *arena, BookingWebhookEvent *event)
{
	static const char *const types[] = {
		"booking.created", "booking.rescheduled", "booking.canceled",
		"booking.requested"
	};
	const BookingJson *json = begin(data, len, arena, event);
	const BookingJson *payload = booking_json_member(json, "data");
	const BookingJson *version = booking_json_member(payload, "version");

	if (json == NULL)
		return;
	event->type = booking_json_text(json, "type");
	if (event->type == NULL)
		unusable(event, "no_type");
	if (event->type == NULL || !is_one_of(event->type, types, lengthof(types)))
		return;
	event->booking = booking_json_text(payload, "id");
	event->has_version = version != NULL ? version->kind == BOOKING_JSON_NUMBER :
		read_instant(json, "timestamp", &event->version);
	if (version != NULL)
		event->version = version->integer;
	event->old_booking = booking_json_text(payload, "replaces");
	event->new_booking = booking_json_text(payload, "replaced_by");
	event->rescheduled = event->new_booking != NULL ||
		booking_json_true(payload, "rescheduled");
	event->meaning = is_one_of(event->type, types, 2) ? BOOKING_WEBHOOK_LIVE :
		is_one_of(event->type, types + 2, 1) ? BOOKING_WEBHOOK_ENDED :
		BOOKING_WEBHOOK_PENDING;
	add_key(event, booking_json_text(payload, "resource"));
	read_time(event, payload, "start", "end");
	finish(event);
}

/*
 * See webhook_event.h.  A delivery has no times and no version, and a change
 * is told twice, so that all it is good for is to look.
 */
void
booking_webhook_read_acuity(const char *data, size_t len, BookingArena *arena,
							BookingWebhookEvent *event)
{
	static const char *const types[] = {
		"scheduled", "rescheduled", "canceled", "changed",
		"appointment.scheduled", "appointment.rescheduled",
		"appointment.canceled", "appointment.changed"
	};
	BookingForm form;

	memset(event, 0, sizeof(*event));
	if (!booking_form_read(data, len, arena, &form))
	{
		unusable(event, "malformed");
		return;
	}
	event->type = booking_form_value(&form, "action");
	if (event->type == NULL)
		unusable(event, "no_type");
	if (event->type == NULL || !is_one_of(event->type, types, lengthof(types)))
		return;
	event->meaning = BOOKING_WEBHOOK_READ;
	event->booking = booking_form_value(&form, "id");
	add_key(event, booking_form_value(&form, "appointmentTypeID"));
	add_key(event, booking_form_value(&form, "calendarID"));
	if (event->booking == NULL || !booking_webhook_is_label(event->booking))
		unusable(event, "no_booking");
}

/*
 * See webhook_event.h.
 */
const BookingWebhookNote *
booking_webhook_read_graph(const char *data, size_t len, BookingArena *arena,
						   int *count)
{
	const BookingJson *json;
	const BookingJson *values;
	BookingWebhookNote *notes;
	int			n = 0;

	*count = 0;
	if (booking_json_read(data, len, arena, &json) != BOOKING_JSON_OK)
		return NULL;
	values = booking_json_member(json, "value");
	if (values == NULL || values->kind != BOOKING_JSON_ARRAY ||
		values->count == 0 || values->count > BOOKING_WEBHOOK_NOTES)
		return NULL;
	notes = booking_arena_alloc(arena, sizeof(*notes) * values->count);
	if (notes == NULL)
		return NULL;
	for (const BookingJson *value = values->first; value != NULL; value = value->next)
	{
		BookingWebhookNote *note = &notes[n++];

		if (booking_json_text(value, "subscriptionId") == NULL)
			return NULL;
		note->client_state = booking_json_text(value, "clientState");
		note->lifecycle = booking_json_text(value, "lifecycleEvent");
		if (note->client_state == NULL)
			note->client_state = "";
	}
	*count = n;
	return notes;
}

/*
 * See webhook_event.h.  Secrets of ours have no character that JSON escapes.
 */
const char *
booking_webhook_peek_graph(const char *data, size_t len, size_t *state_len)
{
	static const char name[] = "\"clientState\"";
	const char *end = data + len;
	const char *at = data;

	*state_len = 0;
	while ((at = memchr(at, '"', end - at)) != NULL)
	{
		const char *close;

		if ((size_t) (end - at) < sizeof(name) - 1 ||
			memcmp(at, name, sizeof(name) - 1) != 0)
		{
			at++;
			continue;
		}
		at = skip_blanks(at + sizeof(name) - 1, end);
		if (at == end || *at != ':')
			continue;
		at = skip_blanks(at + 1, end);
		if (at == end || *at != '"')
			return at;
		at++;
		close = memchr(at, '"', end - at);
		*state_len = close == NULL ? 0 : close - at;
		return close == NULL ? NULL : at;
	}
	return NULL;
}

/*
 * The first byte that is no blank of JSON.
 */
static const char *
skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

/*
 * Read a body that is a JSON object; NULL, with the event unusable, if it is
 * none.
 */
static const BookingJson *
begin(const char *data, size_t len, BookingArena *arena,
	  BookingWebhookEvent *event)
{
	const BookingJson *json;
	BookingJsonFault fault = booking_json_read(data, len, arena, &json);

	memset(event, 0, sizeof(*event));
	if (fault == BOOKING_JSON_OK && json->kind == BOOKING_JSON_OBJECT)
		return json;
	unusable(event, fault == BOOKING_JSON_TOO_LARGE ? "too_large" : "malformed");
	return NULL;
}

/*
 * Nothing can be done with it.
 */
static void
unusable(BookingWebhookEvent *event, const char *problem)
{
	event->meaning = BOOKING_WEBHOOK_UNUSABLE;
	event->problem = problem;
}

/*
 * Is a text, as a whole, one of some words?
 */
static bool
is_one_of(const char *text, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Add a name of what is booked, if it is one.
 */
static void
add_key(BookingWebhookEvent *event, const char *key)
{
	if (key != NULL && booking_webhook_is_label(key) && event->nkeys < BOOKING_WEBHOOK_KEYS)
		event->keys[event->nkeys++] = key;
}

/*
 * A member that is a string or a number, as text.
 */
static const char *
scalar(const BookingJson *json, const char *name)
{
	const BookingJson *member = booking_json_member(json, name);

	return member != NULL && (member->kind == BOOKING_JSON_STRING ||
							  member->kind == BOOKING_JSON_NUMBER) ?
		member->text : NULL;
}

/*
 * A member that is a time with an offset.
 */
static bool
read_instant(const BookingJson *json, const char *name, int64 *instant)
{
	const char *text = booking_json_text(json, name);
	BookingTime time;

	return text != NULL && booking_rfc3339_read(text, &time) &&
		!time.is_date && time.has_offset &&
		booking_rfc3339_instant(&time, NULL, instant);
}

/*
 * When it is; only of what is booked that has to be known.
 */
static void
read_time(BookingWebhookEvent *event, const BookingJson *json,
		  const char *start, const char *end)
{
	if (event->meaning != BOOKING_WEBHOOK_LIVE)
		return;
	if (!read_instant(json, start, &event->start) ||
		!read_instant(json, end, &event->end) || event->start >= event->end ||
		event->start < 0 || event->end >= LAST_INSTANT)
		unusable(event, "no_time");
}

/*
 * What every booking must have, and what a link must look like.
 */
static void
finish(BookingWebhookEvent *event)
{
	if (event->booking == NULL || !booking_webhook_is_label(event->booking))
	{
		event->booking = NULL;
		unusable(event, "no_booking");
	}
	else if (!event->has_version)
		unusable(event, "no_version");
	if (event->old_booking != NULL && event->booking != NULL &&
		(!booking_webhook_is_label(event->old_booking) ||
		 strcmp(event->old_booking, event->booking) == 0))
		event->old_booking = NULL;
	if (event->new_booking != NULL && event->booking != NULL &&
		(!booking_webhook_is_label(event->new_booking) ||
		 strcmp(event->new_booking, event->booking) == 0))
		event->new_booking = NULL;
}

/*
 * See webhook_event.h.  A text in which a character was replaced could be that
 * of another.
 */
bool
booking_webhook_is_label(const char *text)
{
	size_t		len = strlen(text);

	return len <= BOOKING_LABEL_MAX_BYTES - 12 &&
		strstr(text, BOOKING_UTF8_REPLACEMENT) == NULL &&
		booking_label_check(text, len, true) == BOOKING_LABEL_OK;
}

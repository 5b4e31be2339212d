/*-------------------------------------------------------------------------
 *
 * webhook_reading.c
 *	  what senders of deliveries tell when they are asked
 *
 * Acuity Scheduling, API of version 1: appointments by their ids, with the time
 * of the start and a length in minutes.  Here are also the requests and what is
 * common to the pages of Cal.com and Calendly, which webhook_listing.c reads.
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_reading.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "codec/form.h"
#include "codec/json_read.h"
#include "codec/rfc3339.h"
#include "codec/webhook_listing.h"

/* longest appointment, in minutes */
#define LAST_MINUTES (366 * 24 * 60)

#define MICROSECONDS_A_MINUTE (INT64CONST(60) * 1000000)

/* first instant of the year 10000 */
#define LAST_INSTANT (INT64CONST(253402300800) * INT64CONST(1000000))

static bool read_start(const BookingJson *json, int64 *start);
static bool read_minutes(const BookingJson *json, int64 *minutes);
static const char *read_key(const BookingJson *json, const char *name);

static const struct
{
	const char *kind;
	BookingReadingSender sender;
	const char *base_url;
}			senders[] = {
	{"acuity", BOOKING_READING_ACUITY, "https://acuityscheduling.com/api/v1"},
	{"calcom", BOOKING_READING_CALCOM, "https://api.cal.com/v2"},
	{"calendly", BOOKING_READING_CALENDLY, "https://api.calendly.com"}
};

/*
 * See webhook_reading.h.
 */
BookingReadingSender
booking_reading_sender(const char *kind)
{
	for (int i = 0; i < (int) lengthof(senders); i++)
	{
		if (strcmp(kind, senders[i].kind) == 0)
			return senders[i].sender;
	}
	return BOOKING_READING_NOBODY;
}

/*
 * See webhook_reading.h.
 */
const char *
booking_reading_base_url(BookingReadingSender sender)
{
	for (int i = 0; i < (int) lengthof(senders); i++)
	{
		if (sender == senders[i].sender)
			return senders[i].base_url;
	}
	return NULL;
}

/*
 * See webhook_reading.h.
 */
bool
booking_reading_request(const BookingReading *reading, BookingArena *arena,
						BookingHttpRequest *request)
{
	BookingBuffer url;
	size_t		len = strlen(reading->base_url);
	bool		good = true;

	while (len > 0 && reading->base_url[len - 1] == '/')
		len--;
	memset(request, 0, sizeof(*request));
	booking_buffer_init(&url, arena);
	(void) booking_buffer_add(&url, reading->base_url, len);
	switch (reading->sender)
	{
		case BOOKING_READING_NOBODY:
			return false;
		case BOOKING_READING_ACUITY:
			(void) booking_buffer_add_text(&url, "/appointments/");
			booking_listing_add_encoded(&url, reading->booking);
			break;
		case BOOKING_READING_CALCOM:
			good = booking_listing_calcom_url(reading, &url);
			request->headers[request->nheaders++] =
				(BookingHeader) {"cal-api-version", "2024-08-13"};
			break;
		case BOOKING_READING_CALENDLY:
			good = booking_listing_calendly_url(reading, arena, &url);
			break;
	}
	if (!good || booking_arena_failed(arena))
		return false;
	request->headers[request->nheaders++] =
		(BookingHeader) {"Accept", "application/json"};
	request->method = "GET";
	request->url = url.data;
	request->read = true;
	return true;
}

/*
 * See webhook_reading.h.
 */
void
booking_reading_page(const BookingReading *reading, const char *data,
					 size_t len, BookingArena *arena,
					 BookingReadingAnswer *answer)
{
	const BookingJson *json;
	BookingJsonFault fault = booking_json_read(data, len, arena, &json);

	memset(answer, 0, sizeof(*answer));
	if (fault != BOOKING_JSON_OK)
		answer->problem = fault == BOOKING_JSON_TOO_LARGE ? "too_large" : "malformed";
	else if (reading->sender == BOOKING_READING_CALCOM)
		booking_listing_calcom(reading, json, arena, answer);
	else
		booking_listing_calendly(reading, json, arena, answer);
	if (answer->problem == NULL && booking_arena_failed(arena))
		answer->problem = "too_large";
	if (answer->problem == NULL && answer->position != NULL &&
		strlen(answer->position) > BOOKING_READING_POSITION)
		answer->problem = "too_large";
	if (answer->problem != NULL)
	{
		answer->count = 0;
		answer->position = NULL;
	}
}

/*
 * See webhook_reading.h.
 */
void
booking_reading_appointment(const BookingReading *reading, const char *data,
							size_t len, BookingArena *arena,
							BookingWebhookEvent *event)
{
	const BookingJson *json;
	const BookingJson *canceled;
	const char *id;
	const char *key;
	int64		minutes;

	memset(event, 0, sizeof(*event));
	event->meaning = BOOKING_WEBHOOK_UNUSABLE;
	event->problem = "malformed";
	if (booking_json_read(data, len, arena, &json) != BOOKING_JSON_OK)
		return;
	id = read_key(json, "id");
	canceled = booking_json_member(json, "canceled");
	if (id == NULL || strcmp(id, reading->booking) != 0 || canceled == NULL ||
		canceled->kind != BOOKING_JSON_BOOLEAN)
		return;
	event->booking = reading->booking;
	event->type = "appointment";
	if ((key = read_key(json, "appointmentTypeID")) != NULL)
		event->keys[event->nkeys++] = key;
	if ((key = read_key(json, "calendarID")) != NULL)
		event->keys[event->nkeys++] = key;
	if (canceled->boolean)
		event->meaning = BOOKING_WEBHOOK_ENDED;
	else if (read_start(json, &event->start) && read_minutes(json, &minutes) &&
			 event->start >= 0 &&
			 event->start < LAST_INSTANT - minutes * MICROSECONDS_A_MINUTE)
	{
		event->end = event->start + minutes * MICROSECONDS_A_MINUTE;
		event->meaning = BOOKING_WEBHOOK_LIVE;
	}
	else
	{
		event->start = 0;
		event->problem = "no_time";
		return;
	}
	event->problem = NULL;
}

/*
 * See webhook_reading.h.  A proxy, or another API at a wrong URL, answers 404
 * too, and says something else.
 */
bool
booking_reading_gone(const char *data, size_t len, BookingArena *arena)
{
	const BookingJson *json;

	return booking_json_read(data, len, arena, &json) == BOOKING_JSON_OK &&
		booking_json_integer(json, "status_code", 0) == 404 &&
		booking_json_text(json, "error") != NULL;
}

/*
 * The start of an appointment.  Its offset has no colon.
 */
static bool
read_start(const BookingJson *json, int64 *start)
{
	const char *text = booking_json_text(json, "datetime");
	size_t		len = text == NULL ? 0 : strlen(text);
	char		colon[BOOKING_RFC3339_SIZE + 8];
	BookingTime time;

	if (len < 6 || len + 2 > sizeof(colon))
		return false;
	if ((text[len - 5] == '+' || text[len - 5] == '-') && text[len - 3] != ':')
	{
		snprintf(colon, sizeof(colon), "%.*s:%s", (int) len - 2, text,
				 text + len - 2);
		text = colon;
	}
	return booking_rfc3339_read(text, &time) && !time.is_date &&
		time.has_offset && booking_rfc3339_instant(&time, NULL, start);
}

/*
 * The length of an appointment, in digits whether as a number or a string.
 */
static bool
read_minutes(const BookingJson *json, int64 *minutes)
{
	const char *text = booking_listing_scalar(json, "duration");

	*minutes = 0;
	if (text == NULL || text[0] == '\0')
		return false;
	for (; *text >= '0' && *text <= '9' && *minutes <= LAST_MINUTES; text++)
		*minutes = *minutes * 10 + (*text - '0');
	return *text == '\0' && *minutes > 0 && *minutes <= LAST_MINUTES;
}

/*
 * A member that names something; NULL if it can be no name.
 */
static const char *
read_key(const BookingJson *json, const char *name)
{
	const char *text = booking_listing_scalar(json, name);

	return text != NULL && booking_webhook_is_label(text) ? text : NULL;
}

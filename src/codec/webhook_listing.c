/*-------------------------------------------------------------------------
 *
 * webhook_listing.c
 *	  pages of bookings, for webhook_reading.c
 *
 * Cal.com, API of version 2, bookings of 2024-08-13: those that changed since a
 * time, in the order of their changes.  Where to go on is that of the last one,
 * and how many of that very time were seen.
 *
 * Calendly, API of version 2: scheduled events can be chosen and sorted by their
 * start alone, so all that begin from then on are listed, and the invitees are
 * asked for of those that changed.  Where to go on is an object: "who" is whose
 * they are, "page" the token of the next page of events, "events" those whose
 * invitees are still to be asked for, "invitees" the token of the next page of
 * those of the first.
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_listing.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "codec/rfc3339.h"
#include "codec/webhook_listing.h"

/* hosts of an event that are kept: no more are looked up than this */
#define HOSTS (BOOKING_WEBHOOK_KEYS - 1)

static void add_query(BookingBuffer *url, const char *name, const char *value);
static bool begin_bodies(const BookingJson *list, BookingArena *arena,
						 BookingReadingAnswer *answer);
static void add_body(BookingJsonWriter *writer, BookingReadingAnswer *answer);
static const char *calcom_changed(const BookingJson *booking);
static void calcom_body(const BookingJson *booking, BookingArena *arena,
						BookingReadingAnswer *answer);
static const char *calcom_position(const BookingReading *reading,
								   const BookingJson *list,
								   BookingArena *arena);
static bool read_position(const BookingReading *reading, BookingArena *arena,
						  const BookingJson **position);
static void calendly_self(const BookingReading *reading,
						  const BookingJson *json, BookingArena *arena,
						  BookingReadingAnswer *answer);
static void calendly_events(const BookingReading *reading,
							const BookingJson *position,
							const BookingJson *json, BookingArena *arena,
							BookingReadingAnswer *answer);
static void calendly_invitees(const BookingJson *position,
							  const BookingJson *json, BookingArena *arena,
							  BookingReadingAnswer *answer);
static void calendly_body(const BookingJson *event, const BookingJson *invitee,
						  BookingArena *arena, BookingReadingAnswer *answer);
static void put_event(BookingJsonWriter *writer, const BookingJson *event);
static void put_copy(BookingJsonWriter *writer, const BookingJson *json,
					 const char *name);
static bool is_recent(const BookingReading *reading, const BookingJson *json);
static const char *segment_of(const char *uri);

/*
 * See webhook_listing.h.
 */
const char *
booking_listing_scalar(const BookingJson *json, const char *name)
{
	const BookingJson *member = booking_json_member(json, name);

	return member != NULL && (member->kind == BOOKING_JSON_STRING ||
							  member->kind == BOOKING_JSON_NUMBER) ?
		member->text : NULL;
}

/*
 * See webhook_listing.h.
 */
void
booking_listing_add_encoded(BookingBuffer *url, const char *text)
{
	for (; *text != '\0'; text++)
	{
		unsigned char c = (unsigned char) *text;
		char		encoded[4];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
			c == '~')
			(void) booking_buffer_add(url, text, 1);
		else
		{
			snprintf(encoded, sizeof(encoded), "%%%02X", c);
			(void) booking_buffer_add_text(url, encoded);
		}
	}
}

/*
 * Add a parameter behind others.
 */
static void
add_query(BookingBuffer *url, const char *name, const char *value)
{
	(void) booking_buffer_add_text(url, "&");
	(void) booking_buffer_add_text(url, name);
	(void) booking_buffer_add_text(url, "=");
	booking_listing_add_encoded(url, value);
}

/*
 * Room for the bodies of a page; false if it has more than was asked for.
 */
static bool
begin_bodies(const BookingJson *list, BookingArena *arena,
			 BookingReadingAnswer *answer)
{
	if (list == NULL || list->kind != BOOKING_JSON_ARRAY ||
		list->count > BOOKING_READING_INVITEES)
	{
		answer->problem = "malformed";
		return false;
	}
	answer->bodies = booking_arena_alloc(arena, sizeof(char *) * (list->count + 1));
	return answer->bodies != NULL;
}

/*
 * Add a body that is written, if there was room for it.
 */
static void
add_body(BookingJsonWriter *writer, BookingReadingAnswer *answer)
{
	size_t		len;
	const char *body = booking_json_end(writer, &len);

	if (body != NULL)
		answer->bodies[answer->count++] = body;
}

/*
 * See webhook_listing.h.
 */
bool
booking_listing_calcom_url(const BookingReading *reading, BookingBuffer *url)
{
	char		since[BOOKING_RFC3339_SIZE];
	char		number[16];
	const char *skip = NULL;

	if (!booking_rfc3339_write(reading->since, since))
		return false;
	if (reading->position != NULL)
	{
		size_t		len = strcspn(reading->position, " ");

		skip = reading->position + len;
		if (len == 0 || len >= sizeof(since) || *skip != ' ')
			return false;
		strlcpy(since, reading->position, len + 1);
	}
	snprintf(number, sizeof(number), "%d", BOOKING_READING_PAGE);
	(void) booking_buffer_add_text(url, "/bookings?sortUpdatedAt=asc");
	add_query(url, "afterUpdatedAt", since);
	add_query(url, "take", number);
	if (skip != NULL && strcmp(skip, " 0") != 0)
		add_query(url, "skip", skip + 1);
	return true;
}

/*
 * See webhook_listing.h.
 */
void
booking_listing_calcom(const BookingReading *reading, const BookingJson *json,
					   BookingArena *arena, BookingReadingAnswer *answer)
{
	const BookingJson *list = booking_json_member(json, "data");
	const char *status = booking_json_text(json, "status");

	if (status == NULL || strcmp(status, "success") != 0)
	{
		answer->problem = "malformed";
		return;
	}
	if (!begin_bodies(list, arena, answer))
		return;
	for (const BookingJson *booking = list->first; booking != NULL; booking = booking->next)
		calcom_body(booking, arena, answer);
	if (booking_json_true(booking_json_member(json, "pagination"), "hasNextPage") &&
		list->count > 0)
	{
		answer->position = calcom_position(reading, list, arena);
		if (answer->position == NULL)
			answer->problem = "malformed";
	}
}

/*
 * When a booking changed.
 */
static const char *
calcom_changed(const BookingJson *booking)
{
	const char *changed = booking_json_text(booking, "updatedAt");

	return changed != NULL ? changed : booking_json_text(booking, "createdAt");
}

/*
 * A booking as it would have been delivered.  What is asked for and not decided
 * books nothing, so nothing of it is missed.
 */
static void
calcom_body(const BookingJson *booking, BookingArena *arena,
			BookingReadingAnswer *answer)
{
	static const char *const known[][3] = {
		{"accepted", "BOOKING_CREATED", "ACCEPTED"},
		{"cancelled", "BOOKING_CANCELLED", "CANCELLED"},
		{"rejected", "BOOKING_REJECTED", "REJECTED"}
	};
	const char *status = booking_json_text(booking, "status");
	const BookingJson *type = booking_json_member(booking, "eventType");
	const BookingJson *host = booking_json_elements(booking, "hosts");
	const BookingJson *type_id = booking_json_member(booking, "eventTypeId");
	int			which = 0;
	BookingJsonWriter writer;

	while (which < (int) lengthof(known) &&
		   (status == NULL || strcmp(status, known[which][0]) != 0))
		which++;
	if (which == (int) lengthof(known))
		return;
	if (booking_json_member(type, "id") != NULL)
		type_id = booking_json_member(type, "id");
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "triggerEvent", known[which][1]);
	booking_json_put_text(&writer, "createdAt", calcom_changed(booking));
	booking_json_open(&writer, "payload", '{');
	put_copy(&writer, booking, "uid");
	booking_json_put_text(&writer, "status", known[which][2]);
	booking_json_put_text(&writer, "startTime", booking_json_text(booking, "start"));
	booking_json_put_text(&writer, "endTime", booking_json_text(booking, "end"));
	if (type_id != NULL)
		booking_json_put_value(&writer, "eventTypeId", type_id);
	booking_json_put_text(&writer, "type", booking_json_text(type, "slug"));
	booking_json_open(&writer, "organizer", '{');
	put_copy(&writer, host, "email");
	booking_json_close(&writer, '}');
	booking_json_put_text(&writer, "rescheduleUid",
						  booking_json_text(booking, "rescheduledFromUid"));
	booking_json_close(&writer, '}');
	booking_json_close(&writer, '}');
	add_body(&writer, answer);
}

/*
 * Where the page behind this one begins: with the bookings of the last one's
 * time, but for those of that time that were seen if it was asked for already.
 */
static const char *
calcom_position(const BookingReading *reading, const BookingJson *list,
				BookingArena *arena)
{
	const BookingJson *last = list->first;
	const char *changed;
	size_t		len;
	long		skip = 0;
	BookingTime time;
	BookingBuffer position;
	char		number[24];

	while (last->next != NULL)
		last = last->next;
	changed = calcom_changed(last);
	if (changed == NULL || !booking_rfc3339_read(changed, &time) ||
		time.is_date || !time.has_offset ||
		strlen(changed) >= BOOKING_RFC3339_SIZE)
		return NULL;
	len = strlen(changed);
	if (reading->position != NULL &&
		strncmp(reading->position, changed, len) == 0 &&
		reading->position[len] == ' ')
		skip = Min(Max(strtol(reading->position + len, NULL, 10), 0),
				   PG_INT32_MAX / 2) + list->count;
	snprintf(number, sizeof(number), " %ld", skip);
	booking_buffer_init(&position, arena);
	(void) booking_buffer_add_text(&position, changed);
	(void) booking_buffer_add_text(&position, number);
	return position.data;
}

/*
 * Read where to go on; false if it is not ours.
 */
static bool
read_position(const BookingReading *reading, BookingArena *arena,
			  const BookingJson **position)
{
	*position = NULL;
	return reading->position == NULL ||
		(booking_json_read(reading->position, strlen(reading->position), arena,
						   position) == BOOKING_JSON_OK &&
		 booking_json_text(*position, "who") != NULL);
}

/*
 * See webhook_listing.h.
 */
bool
booking_listing_calendly_url(const BookingReading *reading,
							 BookingArena *arena, BookingBuffer *url)
{
	const BookingJson *position;
	const BookingJson *event;
	const char *token;
	char		since[BOOKING_RFC3339_SIZE];
	char		number[16];

	if (!read_position(reading, arena, &position) ||
		!booking_rfc3339_write(reading->since, since))
		return false;
	if (position == NULL)
	{
		(void) booking_buffer_add_text(url, "/users/me");
		return true;
	}
	event = booking_json_elements(position, "events");
	if (event != NULL)
	{
		const char *segment = segment_of(booking_json_text(event, "uri"));

		if (segment == NULL)
			return false;
		(void) booking_buffer_add_text(url, "/scheduled_events/");
		booking_listing_add_encoded(url, segment);
		(void) booking_buffer_add_text(url, "/invitees?sort=created_at%3Aasc");
		token = booking_json_text(position, "invitees");
	}
	else
	{
		(void) booking_buffer_add_text(url, "/scheduled_events?sort=start_time%3Aasc");
		add_query(url, reading->organization ? "organization" : "user",
				  booking_json_text(position, "who"));
		add_query(url, "min_start_time", since);
		token = booking_json_text(position, "page");
	}
	snprintf(number, sizeof(number), "%d", event != NULL ?
			 BOOKING_READING_INVITEES : BOOKING_READING_PAGE);
	add_query(url, "count", number);
	if (token != NULL)
		add_query(url, "page_token", token);
	return true;
}

/*
 * See webhook_listing.h.
 */
void
booking_listing_calendly(const BookingReading *reading,
						 const BookingJson *json, BookingArena *arena,
						 BookingReadingAnswer *answer)
{
	const BookingJson *position;

	if (!read_position(reading, arena, &position))
		answer->problem = "malformed";
	else if (position == NULL)
		calendly_self(reading, json, arena, answer);
	else if (booking_json_elements(position, "events") != NULL)
		calendly_invitees(position, json, arena, answer);
	else
		calendly_events(reading, position, json, arena, answer);
}

/*
 * Whose token it is.
 */
static void
calendly_self(const BookingReading *reading, const BookingJson *json,
			  BookingArena *arena, BookingReadingAnswer *answer)
{
	const char *who = booking_json_text(booking_json_member(json, "resource"),
										reading->organization ?
										"current_organization" : "uri");
	BookingJsonWriter writer;
	size_t		len;

	if (who == NULL)
	{
		answer->problem = "malformed";
		return;
	}
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "who", who);
	booking_json_close(&writer, '}');
	answer->position = booking_json_end(&writer, &len);
}

/*
 * Events, of which those that did not change since then are passed over.
 */
static void
calendly_events(const BookingReading *reading, const BookingJson *position,
				const BookingJson *json, BookingArena *arena,
				BookingReadingAnswer *answer)
{
	const BookingJson *list = booking_json_member(json, "collection");
	const char *page = booking_json_text(booking_json_member(json, "pagination"),
										 "next_page_token");
	bool		any = page != NULL;
	BookingJsonWriter writer;
	size_t		len;

	if (!begin_bodies(list, arena, answer))
		return;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	put_copy(&writer, position, "who");
	if (page != NULL)
		booking_json_put_text(&writer, "page", page);
	booking_json_open(&writer, "events", '[');
	for (const BookingJson *event = list->first; event != NULL; event = event->next)
	{
		if (!is_recent(reading, event) ||
			segment_of(booking_json_text(event, "uri")) == NULL)
			continue;
		put_event(&writer, event);
		any = true;
	}
	booking_json_close(&writer, ']');
	booking_json_close(&writer, '}');
	if (any)
		answer->position = booking_json_end(&writer, &len);
}

/*
 * Invitees of the first of the events.
 */
static void
calendly_invitees(const BookingJson *position, const BookingJson *json,
				  BookingArena *arena, BookingReadingAnswer *answer)
{
	const BookingJson *list = booking_json_member(json, "collection");
	const BookingJson *event = booking_json_elements(position, "events");
	const char *token = booking_json_text(booking_json_member(json, "pagination"),
										  "next_page_token");
	const BookingJson *left = token != NULL ? event : event->next;
	BookingJsonWriter writer;
	size_t		len;

	if (!begin_bodies(list, arena, answer))
		return;
	for (const BookingJson *invitee = list->first; invitee != NULL; invitee = invitee->next)
		calendly_body(event, invitee, arena, answer);
	if (left == NULL && booking_json_member(position, "page") == NULL)
		return;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	put_copy(&writer, position, "who");
	put_copy(&writer, position, "page");
	if (token != NULL)
		booking_json_put_text(&writer, "invitees", token);
	booking_json_open(&writer, "events", '[');
	for (; left != NULL; left = left->next)
		put_event(&writer, left);
	booking_json_close(&writer, ']');
	booking_json_close(&writer, '}');
	answer->position = booking_json_end(&writer, &len);
}

/*
 * An invitee as it would have been delivered.  Where the event is canceled its
 * invitees are.
 */
static void
calendly_body(const BookingJson *event, const BookingJson *invitee,
			  BookingArena *arena, BookingReadingAnswer *answer)
{
	const char *status = booking_json_text(invitee, "status");
	const char *event_status = booking_json_text(event, "status");
	bool		canceled = (status != NULL && strcmp(status, "canceled") == 0) ||
		(event_status != NULL && strcmp(event_status, "canceled") == 0);
	BookingJsonWriter writer;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "event", canceled ? "invitee.canceled" :
						  "invitee.created");
	booking_json_put_text(&writer, "created_at",
						  booking_json_text(invitee, "updated_at"));
	booking_json_open(&writer, "payload", '{');
	put_copy(&writer, invitee, "uri");
	booking_json_put_text(&writer, "status", canceled ? "canceled" : "active");
	put_copy(&writer, invitee, "rescheduled");
	put_copy(&writer, invitee, "old_invitee");
	put_copy(&writer, invitee, "new_invitee");
	put_copy(&writer, invitee, "updated_at");
	booking_json_put_value(&writer, "scheduled_event", event);
	booking_json_close(&writer, '}');
	booking_json_close(&writer, '}');
	add_body(&writer, answer);
}

/*
 * What of an event goes into the bodies of its invitees.
 */
static void
put_event(BookingJsonWriter *writer, const BookingJson *event)
{
	int			hosts = 0;

	booking_json_open(writer, NULL, '{');
	put_copy(writer, event, "uri");
	put_copy(writer, event, "status");
	put_copy(writer, event, "start_time");
	put_copy(writer, event, "end_time");
	put_copy(writer, event, "event_type");
	booking_json_open(writer, "event_memberships", '[');
	for (const BookingJson *host = booking_json_elements(event, "event_memberships");
		 host != NULL && hosts < HOSTS; host = host->next, hosts++)
	{
		booking_json_open(writer, NULL, '{');
		put_copy(writer, host, "user");
		booking_json_close(writer, '}');
	}
	booking_json_close(writer, ']');
	booking_json_close(writer, '}');
}

/*
 * A member as it is, if it is there.
 */
static void
put_copy(BookingJsonWriter *writer, const BookingJson *json, const char *name)
{
	const BookingJson *member = booking_json_member(json, name);

	if (member != NULL)
		booking_json_put_value(writer, name, member);
}

/*
 * Did an event change since then?  One that does not tell may have.
 */
static bool
is_recent(const BookingReading *reading, const BookingJson *json)
{
	const char *changed = booking_json_text(json, "updated_at");
	BookingTime time;
	int64		instant;

	return changed == NULL || !booking_rfc3339_read(changed, &time) ||
		!booking_rfc3339_instant(&time, NULL, &instant) ||
		instant >= reading->since;
}

/*
 * The last part of a URI, by which an event is asked for: never all of it,
 * since it comes from outside.  NULL if there is none.
 */
static const char *
segment_of(const char *uri)
{
	const char *slash = uri == NULL ? NULL : strrchr(uri, '/');

	if (slash == NULL || slash[1] == '\0' || strcmp(slash, "/.") == 0 ||
		strcmp(slash, "/..") == 0)
		return NULL;
	return slash + 1;
}

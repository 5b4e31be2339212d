/*
 * test/fuzz/webhook_reading.c
 *
 * Whatever a sender answers, and wherever a listing is said to go on: a page is
 * bodies that can be read as deliveries, at most as many as were asked for, and
 * a position that the next request can be made of; an appointment is the one
 * that was asked for; and no request leaves the URL that was configured.
 */
#include "check.h"

#include "codec/webhook_reading.h"

#define BASE "https://base.example.org/api"

static void check_page(BookingReading *reading, const char *text, size_t size,
					   BookingArena *arena);
static void check_request(const BookingReading *reading, BookingArena *arena);

static int
test_input(const uint8 *data, size_t size)
{
	const char *text = (const char *) data;
	const char *split = memchr(text, '\n', size);
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingReading reading = {BOOKING_READING_ACUITY, BASE, "7"};
	BookingWebhookEvent event;
	size_t		len;

	booking_reading_appointment(&reading, text, size, arena, &event);
	check(event.meaning == BOOKING_WEBHOOK_LIVE || event.meaning == BOOKING_WEBHOOK_ENDED ||
		  event.meaning == BOOKING_WEBHOOK_UNUSABLE);
	check((event.meaning == BOOKING_WEBHOOK_UNUSABLE) == (event.problem != NULL));
	if (event.meaning == BOOKING_WEBHOOK_LIVE)
		check(event.start >= 0 && event.start < event.end && event.booking == reading.booking);
	(void) booking_reading_gone(text, size, arena);
	(void) booking_webhook_peek_graph(text, size, &len);
	check(len <= size);

	for (int sender = BOOKING_READING_CALCOM; sender <= BOOKING_READING_CALENDLY; sender++)
	{
		memset(&reading, 0, sizeof(reading));
		reading.sender = sender;
		reading.base_url = BASE;
		check_page(&reading, text, size, arena);

		/* the first line is where it goes on, the rest the page */
		if (split == NULL)
			continue;
		reading.position = booking_arena_copy(arena, text, split - text);
		if (reading.position == NULL)
			continue;
		check_request(&reading, arena);
		check_page(&reading, split + 1, size - (split + 1 - text), arena);
	}
	booking_arena_free(arena);
	return 0;
}

/*
 * What holds for every page.
 */
static void
check_page(BookingReading *reading, const char *text, size_t size,
		   BookingArena *arena)
{
	BookingReadingAnswer answer;
	BookingReading next = *reading;

	booking_reading_page(reading, text, size, arena, &answer);
	check(answer.count >= 0 && answer.count <= BOOKING_READING_INVITEES);
	if (answer.problem != NULL)
		check(answer.count == 0 && answer.position == NULL);
	for (int i = 0; i < answer.count; i++)
	{
		const char *body = answer.bodies[i];
		BookingWebhookEvent event;

		check(is_text(body));
		if (reading->sender == BOOKING_READING_CALCOM)
			booking_webhook_read_calcom(body, strlen(body), arena, &event);
		else
			booking_webhook_read_calendly(body, strlen(body), arena, &event);
		check(booking_arena_failed(arena) ||
			  event.meaning == BOOKING_WEBHOOK_LIVE || event.meaning == BOOKING_WEBHOOK_ENDED ||
			  (event.meaning == BOOKING_WEBHOOK_UNUSABLE &&
			   strcmp(event.problem, "malformed") != 0));
	}
	if (answer.position == NULL)
		return;
	next.position = answer.position;
	check_request(&next, arena);
}

/*
 * No request goes elsewhere.
 */
static void
check_request(const BookingReading *reading, BookingArena *arena)
{
	BookingHttpRequest request;

	if (!booking_reading_request(reading, arena, &request))
		return;
	check(strncmp(request.url, BASE "/", strlen(BASE "/")) == 0);
	check(strstr(request.url, "/../") == NULL && strchr(request.url, '#') == NULL);
	for (const char *p = request.url; *p != '\0'; p++)
		check((unsigned char) *p > ' ' && (unsigned char) *p < 0x7f);
}

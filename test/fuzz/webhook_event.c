/*
 * test/fuzz/webhook_event.c
 *
 * Whatever a body says, it is a form of valid text or none, and a booking with
 * an identity, a version and a time that fits, or a word that says why not.
 */
#include "check.h"

#include "codec/form.h"
#include "codec/webhook_event.h"

static void check_event(const BookingWebhookEvent *event);

static int
test_input(const uint8 *data, size_t size)
{
	const char *text = (const char *) data;
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingWebhookEvent event;
	const BookingWebhookNote *notes;
	BookingForm form;
	int			count;

	if (booking_form_read(text, size, arena, &form))
	{
		check(form.count <= BOOKING_FORM_FIELDS);
		for (int i = 0; i < form.count; i++)
			check(is_text(form.fields[i].name) && is_text(form.fields[i].value));
	}
	booking_webhook_read_calendly(text, size, arena, &event);
	check_event(&event);
	booking_webhook_read_calcom(text, size, arena, &event);
	check_event(&event);
	booking_webhook_read_standard(text, size, arena, &event);
	check_event(&event);
	booking_webhook_read_acuity(text, size, arena, &event);
	check_event(&event);
	notes = booking_webhook_read_graph(text, size, arena, &count);
	check((notes != NULL) == (count > 0) && count <= BOOKING_WEBHOOK_NOTES);
	for (int i = 0; i < count; i++)
		check(is_text(notes[i].client_state) && is_text(notes[i].lifecycle));
	booking_arena_free(arena);
	return 0;
}

/*
 * What holds for every event.
 */
static void
check_event(const BookingWebhookEvent *event)
{
	check(is_text(event->type) && is_text(event->booking) &&
		  is_text(event->old_booking) && is_text(event->new_booking));
	check(event->nkeys >= 0 && event->nkeys <= BOOKING_WEBHOOK_KEYS);
	for (int i = 0; i < event->nkeys; i++)
		check(event->keys[i] != NULL && is_text(event->keys[i]));
	if (event->meaning == BOOKING_WEBHOOK_UNUSABLE)
		check(event->problem != NULL);
	else
		check(event->problem == NULL);
	if (event->meaning == BOOKING_WEBHOOK_LIVE)
		check(event->start >= 0 && event->start < event->end);
	if (event->meaning == BOOKING_WEBHOOK_LIVE || event->meaning == BOOKING_WEBHOOK_ENDED)
		check(event->booking != NULL && event->has_version &&
			  !same_text(event->booking, event->old_booking) &&
			  !same_text(event->booking, event->new_booking));
	if (event->meaning == BOOKING_WEBHOOK_READ)
		check(event->booking != NULL);
}

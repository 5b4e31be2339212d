/*-------------------------------------------------------------------------
 *
 * decode.c
 *	  what a delivery says, by the kind of its source
 *
 * IDENTIFICATION
 *	  booking/src/webhook/decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "codec/json_read.h"
#include "compat.h"
#include "webhook/apply.h"

/* what a body may come to when it is parsed */
#define ARENA_BYTES (64 * 1024 * 1024)

static void free_arena(void *arena);
static bool is_ascii(const char *text);

/*
 * What a body says.
 */
void
booking_webhook_decode(const BookingWebhookSource *source, const bytea *body,
					   BookingArena *arena, BookingWebhookEvent *event)
{
	const char *data = VARDATA_ANY(body);
	size_t		len = VARSIZE_ANY_EXHDR(body);

	if (booking_text_is(source->kind, "calendly"))
		booking_webhook_read_calendly(data, len, arena, event);
	else if (booking_text_is(source->kind, "calcom"))
		booking_webhook_read_calcom(data, len, arena, event);
	else if (booking_text_is(source->kind, "acuity"))
		booking_webhook_read_acuity(data, len, arena, event);
	else
		booking_webhook_read_standard(data, len, arena, event);
	if (!booking_webhook_can_store(event))
	{
		memset(event, 0, sizeof(*event));
		event->meaning = BOOKING_WEBHOOK_UNUSABLE;
		event->problem = "encoding";
	}
}

/*
 * An arena that is freed with the current memory context.
 */
BookingArena *
booking_webhook_arena(void)
{
	BookingArena *arena = booking_arena_create(ARENA_BYTES);
	MemoryContextCallback *callback;

	if (arena == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	callback = palloc_object(MemoryContextCallback);
	callback->func = free_arena;
	callback->arg = arena;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	return arena;
}

/*
 * Free it.
 */
static void
free_arena(void *arena)
{
	booking_arena_free(arena);
}

/*
 * Can the texts of an event, which are UTF-8, be text of this database?
 */
bool
booking_webhook_can_store(const BookingWebhookEvent *event)
{
	bool		good = true;

	if (GetDatabaseEncoding() == PG_UTF8)
		return true;
	good = is_ascii(event->type) && is_ascii(event->booking) &&
		is_ascii(event->old_booking) && is_ascii(event->new_booking);
	for (int i = 0; i < event->nkeys; i++)
		good = good && is_ascii(event->keys[i]);
	return good;
}

/*
 * Is a text, if there is one, of ASCII alone?
 */
static bool
is_ascii(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
	{
		if (IS_HIGHBIT_SET(*text))
			return false;
	}
	return true;
}

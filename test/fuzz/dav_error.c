/*
 * test/fuzz/dav_error.c
 *
 * Whatever comes from outside is the body of a refusal, of which what it names
 * is UTF-8, or nothing of it is believed.  The same bytes as a UID make a body
 * that libxml2 reads, or none.
 */
#include "check.h"

#include <libxml/parser.h>

#include "codec/dav.h"

static void ignore(void *context, const char *message,...) pg_attribute_printf(2, 3);

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingDavError error;
	char	   *body;

	if (booking_dav_read_error((const char *) data, size, arena, &error) != BOOKING_DAV_OK)
		check(!error.present);
	if (!error.present)
		check(!error.uid_conflict && !error.need_privileges && !error.valid_sync_token &&
			  error.condition == NULL && error.href == NULL);
	check(is_text(error.condition) && is_text(error.href));

	body = booking_dav_query_uid(arena, booking_arena_copy(arena, (const char *) data, size));
	if (body != NULL)
	{
		xmlDocPtr	document;

		xmlSetGenericErrorFunc(NULL, ignore);
		document = xmlReadMemory(body, strlen(body), NULL, NULL, XML_PARSE_NONET);
		check(document != NULL);
		xmlFreeDoc(document);
	}
	booking_arena_free(arena);
	return 0;
}

/*
 * libxml2's messages are not what is looked for.
 */
static void
ignore(void *context, const char *message,...)
{
}

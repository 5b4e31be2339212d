/*
 * test/fuzz/dav_multistatus.c
 *
 * Whatever comes from outside is a bounded list of resources with names and
 * statuses that are some, or a fault.
 */
#include "check.h"

#include "codec/dav.h"

static int
test_input(const uint8 *data, size_t size)
{
	BookingArena *arena = booking_arena_create(FUZZ_ARENA);
	BookingDavMultistatus result;

	if (booking_dav_read_multistatus((const char *) data, size, arena, &result) == BOOKING_DAV_OK)
	{
		check(result.nresources >= 0 && result.nresources <= 10000);
		check(is_text(result.sync_token));
		for (int i = 0; i < result.nresources; i++)
		{
			const BookingDavResource *resource = &result.resources[i];

			check(resource->href != NULL && *resource->href != '\0');
			check(resource->status == 0 || (resource->status >= 100 && resource->status < 600));
			check(resource->error_status == 0 ||
				  (resource->error_status / 100 != 2 && resource->error_status != 404));
			check(!resource->condition_uid_conflict || resource->condition_any);
			check(is_text(resource->href) && is_text(resource->etag) &&
				  is_text(resource->calendar_data) && is_text(resource->displayname) &&
				  is_text(resource->current_user_principal) && is_text(resource->calendar_home));
		}
	}
	booking_arena_free(arena);
	return 0;
}

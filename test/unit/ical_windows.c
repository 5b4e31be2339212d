/*
 * test/unit/ical_windows.c
 *
 * Each name that Windows gives to a time zone stands for one that the system has,
 * whatever older names it has left out, and is found whatever its case.  A name
 * that is missing would make every event that names it one without a time.
 */
#include "tap.h"

#include "codec/zoneinfo.h"

#include "../../src/codec/ical_windows.c"

int
main(void)
{
	tap_is_int(lengthof(zones), 139, "every zone of the list");
	for (int i = 0; i < lengthof(zones); i++)
	{
		char		upper[100];
		int			offset;
		int			len = 0;

		for (; zones[i][0][len] != '\0'; len++)
			upper[len] = pg_toupper((unsigned char) zones[i][0][len]);
		upper[len] = '\0';
		tap_is_text(booking_ical_windows_zone(upper), zones[i][1], zones[i][0]);
		tap_ok(booking_zoneinfo_offset(zones[i][1], 1900000000, &offset), zones[i][1]);
	}
	tap_ok(booking_ical_windows_zone("Mars Standard Time") == NULL, "and no other");
	return tap_done();
}

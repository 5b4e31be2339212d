/*
 * matches.c
 *
 * When an event that was found is the one that is meant.  What must hold:
 * interval, organizer and attendees decide; titles, spelling of addresses and
 * what servers add by themselves do not.
 */
#include "harness.h"

#include "provider/match.h"

static BookingAttendee two[] = {{.email = "ann@example.org"}, {.email = "bo@example.org"}};
static BookingAttendee two_again[] = {{.email = "BO@example.org", .name = "Bo"},
{.email = "Ann@Example.org", .optional = true}, {.email = "ann@example.org"}};
static BookingAttendee three[] = {{.email = "ann@example.org"}, {.email = "bo@example.org"},
{.email = "eve@example.org"}};
static BookingAttendee with_desk[] = {{.email = "desk@example.org"}, {.email = "ann@example.org"},
{.email = "bo@example.org"}};
static BookingAttendee nameless[] = {{.email = "ann@example.org"}, {.email = "bo@example.org"},
{.name = "Nobody"}};

/*
 * The event that others are compared with.
 */
static BookingEvent
base_event(void)
{
	BookingEvent event;

	memset(&event, 0, sizeof(event));
	event.uid = ID;
	event.marker = ID;
	event.start = 1000000;
	event.end = 2000000;
	event.summary = "Title";
	event.organizer_email = "desk@example.org";
	event.attendees = two;
	event.nattendees = 2;
	return event;
}

#define DIFFERS(what, change) \
	do { \
		BookingEvent found = base_event(); \
		change; \
		ok(!booking_match_material(&wanted, &found), "match: " what); \
	} while (0)
#define SAME(what, change) \
	do { \
		BookingEvent found = base_event(); \
		change; \
		ok(booking_match_material(&wanted, &found), "match: " what); \
	} while (0)

/*
 * Test all of provider/match.h.
 */
void
test_matches(void)
{
	BookingEvent wanted = base_event();
	BookingEvent previous;

	SAME("itself", found.uid = ID);
	SAME("another title", found.summary = "Other");
	SAME("another place", found.location = "Other");
	SAME("another sequence", found.sequence = 7);
	SAME("attendees in another order and spelling",
		 (found.attendees = two_again, found.nattendees = 3));
	SAME("the organizer among the attendees",
		 (found.attendees = with_desk, found.nattendees = 3));
	wanted.attendees = with_desk;
	wanted.nattendees = 3;
	SAME("the organizer no more among the attendees", found.nattendees = 2);
	wanted = base_event();
	SAME("an organizer in capitals", found.organizer_email = "DESK@EXAMPLE.ORG");
	DIFFERS("another start", found.start++);
	DIFFERS("another end", found.end++);
	DIFFERS("all day", found.all_day = true);
	DIFFERS("repeated", found.recurring = true);
	DIFFERS("called off", found.canceled = true);
	DIFFERS("another organizer", found.organizer_email = "eve@example.org");
	DIFFERS("no organizer", found.organizer_email = NULL);
	DIFFERS("one attendee more", (found.attendees = three, found.nattendees = 3));
	DIFFERS("one attendee less", found.nattendees = 1);
	DIFFERS("an attendee without an address",
			(found.attendees = nameless, found.nattendees = 3));
	wanted.organizer_email = NULL;
	SAME("any organizer where none is wanted", found.organizer_email = "desk@example.org");
	SAME("an organizer whom the server added, to the attendees too",
		 (found.attendees = with_desk, found.nattendees = 3));

	wanted = base_event();
	ok(booking_match_ours(&wanted, ID), "match: ours");
	wanted.marker = NULL;
	ok(!booking_match_ours(&wanted, ID), "match: no marker is not ours");
	wanted.marker = "other";
	ok(!booking_match_ours(&wanted, ID), "match: another marker is not ours");
	wanted.marker = ID;
	wanted.uid = ID "x";
	ok(!booking_match_ours(&wanted, ID), "match: a longer UID is not ours");
	wanted.uid = NULL;
	ok(!booking_match_ours(&wanted, ID), "match: no UID is not ours");

	wanted = base_event();
	wanted.sequence = 1;
	previous = base_event();
	{
		BookingEvent found = base_event();

		ok(!booking_match_update(&wanted, &previous, &found),
		   "match: an update of nothing material is told by its sequence");
		found.sequence = 2;
		ok(booking_match_update(&wanted, &previous, &found),
		   "match: a sequence that the server raised");
		found.summary = "Other";
		ok(!booking_match_update(&wanted, &previous, &found),
		   "match: and by its texts");
		previous.start = 0;
		ok(booking_match_update(&wanted, &previous, &found),
		   "match: which do not count if the time was changed");
		ok(booking_match_update(&wanted, NULL, &found),
		   "match: or if nothing is known of before");
	}
}

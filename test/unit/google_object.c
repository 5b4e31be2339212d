/*
 * google_object.c
 *
 * Objects of a Google calendar as occurrences.  What must hold: an event blocks
 * the time that Google would say it does, all-day events are days of the
 * calendar's zone, instances of a series keep their original start when they
 * move, and what cannot be understood is said to be so.
 */
#include "tap.h"

#include "codec/google_event.h"

/* 2030-05-01 00:00 UTC in seconds from 1970 */
#define MAY 1903824000

static BookingArena *arena;

/*
 * Occurrences of an object within May 2030, as text: hours from the 1st in UTC,
 * and what is not usual.
 */
static const char *
read_as(const char *data, const char *zone)
{
	BookingExpandRequest request = {
		INT64CONST(1000000) * MAY, INT64CONST(1000000) * (MAY + 31 * 86400), zone, 0
	};
	BookingExpansion expansion;
	static char text[1000];
	const char *fault = booking_google_object_read(data, strlen(data), &request, arena,
												   &expansion);

	if (fault != NULL)
		return fault;
	snprintf(text, sizeof(text), "%s", expansion.recurring ? "series" : "");
	for (int i = 0; i < expansion.noccurrences; i++)
	{
		const BookingOccurrence *at = &expansion.occurrences[i];
		size_t		len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "[%g %g%s%s%s%s",
				 at->has_time ? (at->start / 1e6 - MAY) / 3600 : 0,
				 at->has_time ? (at->end / 1e6 - MAY) / 3600 : 0,
				 at->busy ? "" : " free", at->all_day ? " day" : "",
				 at->problem ? " " : "", at->problem ? at->problem : "");
		len = strlen(text);
		if (at->original != BOOKING_OCCURRENCE_SINGLE)
			snprintf(text + len, sizeof(text) - len, " of %g",
					 (at->original / 1e6 - MAY) / 3600);
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "]");
	}
	return text;
}

#define AT(from, to) \
	"\"id\":\"x\",\"start\":{\"dateTime\":\"2030-05-" from "\"},\"end\":{\"dateTime\":\"2030-05-" to "\"}"
#define ONE AT("01T10:00:00Z", "01T11:00:00Z")

/*
 * UID of the first occurrence of an object.
 */
static const char *
uid_of(const char *data)
{
	BookingExpandRequest request = {0, PG_INT64_MAX, "UTC", 0};
	BookingExpansion expansion;

	if (booking_google_object_read(data, strlen(data), &request, arena, &expansion) != NULL)
		return NULL;
	return expansion.occurrences[0].detail->uid;
}

/*
 * Whose an event is.
 */
static void
test_identity(void)
{
#define MARK ",\"iCalUID\":\"x@google.com\"," \
	"\"extendedProperties\":{\"private\":{\"bookingId\":\"x\"}}"
	tap_is_text(uid_of("{" ONE MARK "}"), "x", "our event is known by our id");
	tap_is_text(uid_of("{" ONE ",\"iCalUID\":\"x@google.com\"}"), "x@google.com",
				"another's by its UID");
	tap_is_text(uid_of("{" ONE ",\"id\":\"copy\"" MARK "}"), "x@google.com",
				"a copy of ours is not ours");
	tap_is_text(uid_of("[{" ONE ",\"id\":\"x_1\",\"recurringEventId\":\"x\"" MARK "}]"), "x",
				"an instance of ours that was made to repeat is");
	tap_is_text(uid_of("{" ONE "}"), "x", "without a UID it is the id");
}

int
main(void)
{
	static const struct
	{
		const char *name;
		const char *data;
		const char *expected;
	}			objects[] = {
		{"an event", "{" ONE "}", "[10 11]"},
		{"with an offset", "{" AT("01T10:00:00+02:00", "01T10:00:00+01:00") "}", "[8 9]"},
		{"tentative blocks", "{" ONE ",\"status\":\"tentative\"}", "[10 11]"},
		{"canceled does not", "{" ONE ",\"status\":\"cancelled\"}", "[10 11 free]"},
		{"transparent does not", "{" ONE ",\"transparency\":\"transparent\"}", "[10 11 free]"},
		{"what its owner declined does not",
			"{" ONE ",\"attendees\":[{\"email\":\"a\",\"responseStatus\":\"declined\"},"
		"{\"email\":\"b\",\"self\":true,\"responseStatus\":\"declined\"}]}", "[10 11 free]"},
		{"what another one declined does",
		"{" ONE ",\"attendees\":[{\"email\":\"a\",\"responseStatus\":\"declined\"}]}", "[10 11]"},
		{"where somebody works does not", "{" ONE ",\"eventType\":\"workingLocation\"}",
			"[10 11 free]"},
		{"a birthday does not", "{" ONE ",\"eventType\":\"birthday\"}", "[10 11 free]"},
		{"being out of office does", "{" ONE ",\"eventType\":\"outOfOffice\"}", "[10 11]"},
		{"being focused does", "{" ONE ",\"eventType\":\"focusTime\"}", "[10 11]"},
		{"a day is one of the calendar's zone",
			"{\"id\":\"x\",\"start\":{\"date\":\"2030-05-02\"},\"end\":{\"date\":\"2030-05-03\"}}",
		"[22 46 day]"},
		{"outside of the window", "{" AT("01T10:00:00Z", "01T11:00:00Z") ",\"start\":"
		"{\"dateTime\":\"2029-05-01T10:00:00Z\"},\"end\":{\"dateTime\":\"2029-05-01T11:00:00Z\"}}", ""},
		{"of no length", "{" AT("01T10:00:00Z", "01T10:00:00Z") "}", "[10 10]"},
		{"a time that is none", "{\"id\":\"x\",\"start\":{\"dateTime\":\"soon\"}}",
		"[0 0 free a time in it cannot be understood]"},
		{"an end before its start", "{" AT("01T10:00:00Z", "01T09:00:00Z") "}",
		"[0 0 free a time in it cannot be understood]"},
		{"a start and an end of different kinds",
			"{\"id\":\"x\",\"start\":{\"date\":\"2030-05-02\"},\"end\":{\"dateTime\":\"2030-05-02T10:00:00Z\"}}",
		"[0 0 free a time in it cannot be understood]"},
		{"a series, not in order, one moved",
			"[{" AT("03T10:00:00Z", "03T11:00:00Z") ",\"originalStartTime\":{\"dateTime\":\"2030-05-03T10:00:00Z\"}},"
			"{" AT("02T15:00:00Z", "02T16:00:00Z") ",\"originalStartTime\":{\"dateTime\":\"2030-05-02T10:00:00Z\"}}]",
		"series[39 40 of 34][58 59 of 58]"},
		{"a series of days", "[{\"id\":\"x\",\"start\":{\"date\":\"2030-05-02\"},"
			"\"end\":{\"date\":\"2030-05-03\"},"
		"\"originalStartTime\":{\"date\":\"2030-05-02\"}}]", "series[22 46 day of 22]"},
		{"a series without instances", "[]", "series"},
		{"no event", "{\"a\":1}", "it is no event"},
		{"no JSON", "BEGIN:VCALENDAR", "it is no JSON"},
		{"nothing", "", "it is no JSON"},
	};

	arena = booking_arena_create(TAP_ARENA);
	for (int i = 0; i < (int) lengthof(objects); i++)
		tap_is_text(read_as(objects[i].data, "Europe/Berlin"), objects[i].expected,
					objects[i].name);
	tap_is_text(read_as("{\"id\":\"x\",\"start\":{\"date\":\"2030-05-02\"},"
		"\"end\":{\"date\":\"2030-05-03\"}}",
						"Nowhere/Else"),
				"[10 62 day the zone of the calendar is not known]",
				"a day of a zone that nobody knows spans all it can mean");
	tap_is_text(read_as("[{" ONE ",\"originalStartTime\":{\"dateTime\":\"2030-05-01T10:00:00Z\"}},"
						"{" ONE ",\"originalStartTime\":{\"dateTime\":\"2030-05-01T10:00:00Z\"}}]", "UTC"),
				"series[10 11 of 10][10 11 of 10]", "two that claim to be the same instance");
	test_identity();
	booking_arena_free(arena);
	return tap_done();
}

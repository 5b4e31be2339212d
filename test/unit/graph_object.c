/*
 * graph_object.c
 *
 * Objects of a calendar of Microsoft Graph as occurrences.  What must hold: an
 * event blocks the time that Outlook would say it does, all-day events are days
 * of the calendar's zone however their midnight is written, a sparse occurrence
 * has what its master has, ours are known and copies are not, and what cannot be
 * understood is said to be so.
 */
#include "tap.h"

#include "codec/graph_event.h"

/* 2030-05-01 00:00 UTC in seconds from 1970 */
#define MAY 1903824000

static BookingArena *arena;

/*
 * The occurrence of an object within May 2030, as text: hours from the 1st in
 * UTC, and what is not usual.
 */
static const char *
read_as(const char *data, const char *zone)
{
	BookingExpandRequest request = {
		INT64CONST(1000000) * MAY, INT64CONST(1000000) * (MAY + 31 * 86400), zone, 0
	};
	BookingExpansion expansion;
	const BookingOccurrence *at;
	static char text[1000];
	const char *fault = booking_graph_object_read(data, strlen(data), &request, arena,
												  &expansion);

	if (fault != NULL)
		return fault;
	at = expansion.occurrences;
	if (expansion.noccurrences == 0)
		return expansion.recurring ? "series" : "";
	snprintf(text, sizeof(text), "%s[%g %g%s%s%s%s", expansion.recurring ? "series" : "",
			 at->has_time ? (at->start / 1e6 - MAY) / 3600 : 0,
			 at->has_time ? (at->end / 1e6 - MAY) / 3600 : 0,
			 at->busy ? "" : " free", at->all_day ? " day" : "",
			 at->problem ? " " : "", at->problem ? at->problem : "");
	if (at->original != BOOKING_OCCURRENCE_SINGLE)
		snprintf(text + strlen(text), 50, " of %g", (at->original / 1e6 - MAY) / 3600);
	strlcat(text, "]", sizeof(text));
	return text;
}

/*
 * UID and marker of an object.
 */
static const char *
identity_of(const char *data)
{
	BookingExpandRequest request = {0, PG_INT64_MAX, "UTC", 0};
	BookingExpansion expansion;
	static char text[200];

	if (booking_graph_object_read(data, strlen(data), &request, arena, &expansion) != NULL)
		return NULL;
	snprintf(text, sizeof(text), "%s %s", expansion.occurrences[0].detail->uid,
			 expansion.occurrences[0].detail->marker ?
			 expansion.occurrences[0].detail->marker : "-");
	return text;
}

/*
 * What is kept of an occurrence and its master.
 */
static const char *
kept(const char *data, const char *master)
{
	const BookingJson *json;
	const BookingJson *from = NULL;
	size_t		len;

	if (booking_json_read(data, strlen(data), arena, &json) != BOOKING_JSON_OK ||
		(master != NULL &&
		 booking_json_read(master, strlen(master), arena, &from) != BOOKING_JSON_OK))
		return NULL;
	return booking_graph_object_write(json, from, arena, &len);
}

#define IN(zone, from, to) \
	"\"start\":{\"dateTime\":\"2030-05-" from "\",\"timeZone\":\"" zone "\"}," \
	"\"end\":{\"dateTime\":\"2030-05-" to "\",\"timeZone\":\"" zone "\"}"
#define ONE "\"id\":\"x\"," IN("UTC", "01T10:00:00.0000000", "01T11:00:00.0000000")
#define DAY(from, to) "\"id\":\"x\",\"isAllDay\":true," IN("UTC", from, to)
#define MARK \
	",\"singleValueExtendedProperties\":[{\"id\":" \
	"\"String {D0CAB8B5-48E5-43CA-8591-90D542674ED2} Name bookingId\",\"value\":\"ours\"}]"

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
		{"in a zone of Windows",
		"{\"id\":\"x\"," IN("Pacific Standard Time", "01T10:00:00", "01T11:00:00") "}", "[17 18]"},
		{"in a zone of the IANA database",
		"{\"id\":\"x\"," IN("Asia/Kathmandu", "01T10:00:00", "01T11:00:00") "}", "[4.25 5.25]"},
		{"in a zone that nobody knows",
			"{\"id\":\"x\"," IN("tzone://Microsoft/Custom", "01T10:00:00", "01T11:00:00") "}",
		"[0 0 free a time in it cannot be understood]"},
		{"busy blocks", "{" ONE ",\"showAs\":\"busy\"}", "[10 11]"},
		{"tentative blocks", "{" ONE ",\"showAs\":\"tentative\"}", "[10 11]"},
		{"out of office blocks", "{" ONE ",\"showAs\":\"oof\"}", "[10 11]"},
		{"unknown blocks", "{" ONE ",\"showAs\":\"unknown\"}", "[10 11]"},
		{"free does not", "{" ONE ",\"showAs\":\"free\"}", "[10 11 free]"},
		{"working elsewhere does not", "{" ONE ",\"showAs\":\"workingElsewhere\"}", "[10 11 free]"},
		{"called off does not", "{" ONE ",\"isCancelled\":true}", "[10 11 free]"},
		{"declined by the owner does not",
		"{" ONE ",\"responseStatus\":{\"response\":\"declined\"}}", "[10 11 free]"},
		{"a day is one of the calendar's zone", "{" DAY("02T00:00:00", "03T00:00:00") "}",
		"[22 46 day]"},
		{"a day whose midnight was moved to UTC",
			"{" DAY("01T22:00:00", "02T22:00:00") ",\"originalStartTimeZone\":"
			"\"W. Europe Standard Time\",\"originalEndTimeZone\":\"W. Europe Standard Time\"}",
		"[22 46 day]"},
		{"a day whose midnight is nowhere", "{" DAY("01T22:00:00", "02T22:00:00") "}",
		"[0 0 free a time in it cannot be understood]"},
		{"outside of the window", "{\"id\":\"x\",\"start\":{\"dateTime\":\"2029-05-01T10:00:00\","
			"\"timeZone\":\"UTC\"},\"end\":{\"dateTime\":\"2029-05-01T11:00:00\",\"timeZone\":\"UTC\"}}",
		""},
		{"an end before its start", "{\"id\":\"x\"," IN("UTC", "01T10:00:00", "01T09:00:00") "}",
		"[0 0 free a time in it cannot be understood]"},
		{"an occurrence", "{" ONE ",\"type\":\"occurrence\",\"seriesMasterId\":\"m\"}",
		"series[10 11 of 10]"},
		{"an exception keeps its place",
			"{" ONE ",\"type\":\"exception\",\"seriesMasterId\":\"m\","
		"\"originalStart\":\"2030-05-01T08:00:00Z\"}", "series[10 11 of 8]"},
		{"a master blocks nothing itself", "{" ONE ",\"type\":\"seriesMaster\"}",
		"series[10 11 free of 10]"},
		{"no event", "{\"a\":1}", "it is no event"},
		{"a list", "[]", "it is no event"},
		{"no JSON", "BEGIN:VCALENDAR", "it is no JSON"},
		{"nothing", "", "it is no JSON"},
	};

	arena = booking_arena_create(TAP_ARENA);
	for (int i = 0; i < (int) lengthof(objects); i++)
		tap_is_text(read_as(objects[i].data, "Europe/Berlin"), objects[i].expected,
					objects[i].name);
	tap_is_text(read_as("{" DAY("02T00:00:00", "03T00:00:00") "}", "Nowhere/Else"),
				"[10 62 day the zone of the calendar is not known]",
				"a day of a zone that nobody knows spans all it can mean");
	tap_is_text(identity_of("{" ONE ",\"iCalUId\":\"u\",\"transactionId\":\"ours\"" MARK "}"),
				"ours ours", "our event");
	tap_is_text(identity_of("{" ONE ",\"iCalUId\":\"u\",\"transactionId\":\"ours\"}"),
				"ours ours", "our event in a listing, which has no properties");
	tap_is_text(identity_of("{" ONE ",\"iCalUId\":\"u\"" MARK "}"), "u ours", "a copy of ours");
	tap_is_text(identity_of("{" ONE ",\"iCalUId\":\"u\"}"), "u -", "another's");
	tap_is_text(kept("{\"id\":\"o\",\"type\":\"occurrence\",\"seriesMasterId\":\"m\",\"start\":1}",
					 "{\"id\":\"m\",\"type\":\"seriesMaster\",\"start\":2,\"showAs\":\"free\","
					 "\"subject\":\"private\",\"body\":{},\"isAllDay\":true,\"iCalUId\":\"u\"}"),
				"{\"id\":\"o\",\"type\":\"occurrence\",\"seriesMasterId\":\"m\",\"start\":1,"
				"\"isAllDay\":true,\"showAs\":\"free\",\"iCalUId\":\"u\"}",
				"an occurrence has what its master has, and nothing that people wrote");
	tap_is_text(kept("{\"id\":\"e\",\"showAs\":\"busy\"}", "{\"showAs\":\"free\"}"),
				"{\"id\":\"e\",\"showAs\":\"busy\"}", "what an exception says itself counts");
	booking_arena_free(arena);
	return tap_done();
}

/*
 * test/bench/plain_sync.c
 *
 * The rival of a first reading of a calendar: the same answers, which lie in a
 * file, through libxml2 and libical, as lines for COPY.  It checks nothing, caps
 * nothing, and remembers nothing; what it prints has the columns object,
 * occurrence, during, busy, all_day, recurring, status, transparency, sequence,
 * uid, etag, zone, organizer and attendees of booking.event.
 *
 *	plain_sync <ANSWERS
 *
 * ANSWERS is what listing_stub -d writes.
 */
#include <libical/ical.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * End with a message.
 */
static void
die(const char *what)
{
	fprintf(stderr, "plain_sync: %s\n", what);
	exit(1);
}

/*
 * The first element of a name at or below a node.
 */
static xmlNode *
find(xmlNode *node, const char *name)
{
	for (; node; node = node->next)
	{
		xmlNode    *found;

		if (node->type != XML_ELEMENT_NODE)
			continue;
		if (strcmp((const char *) node->name, name) == 0)
			return node;
		found = find(node->children, name);
		if (found)
			return found;
	}
	return NULL;
}

/*
 * Print a text for COPY, "\N" for none.
 */
static void
put_text(const char *text)
{
	if (!text)
		fputs("\\N", stdout);
	for (; text && *text; text++)
	{
		if (*text == '\\')
			fputs("\\\\", stdout);
		else
			putchar(*text);
	}
	putchar('\t');
}

/*
 * Seconds of a time, in the zone of that name that the machine has if there is
 * one: libical reads it once, but the rules of a VTIMEZONE anew for each object.
 */
static time_t
seconds_of(struct icaltimetype time)
{
	const char *name = time.zone ? icaltimezone_get_tzid((icaltimezone *) time.zone) : NULL;
	icaltimezone *known = name ? icaltimezone_get_builtin_timezone(name) : NULL;

	return icaltime_as_timet_with_zone(time, known ? known : time.zone);
}

/*
 * Print the time of an event as a range.
 */
static void
put_range(struct icaltimetype start, struct icaltimetype end)
{
	time_t		from = seconds_of(start);
	time_t		until = seconds_of(end);
	struct tm	parts;
	char		text[64];

	gmtime_r(&from, &parts);
	strftime(text, sizeof(text), "[%Y-%m-%d %H:%M:%S+00", &parts);
	fputs(text, stdout);
	gmtime_r(&until, &parts);
	strftime(text, sizeof(text), ",%Y-%m-%d %H:%M:%S+00)\t", &parts);
	fputs(text, stdout);
}

/*
 * Address without its scheme.
 */
static const char *
address_of(const char *value)
{
	return strncmp(value, "mailto:", 7) == 0 ? value + 7 : value;
}

/*
 * A word of iCalendar as it is stored.
 */
static const char *
status_of(icalparameter *parameter)
{
	switch (parameter ? icalparameter_get_partstat(parameter) : ICAL_PARTSTAT_NEEDSACTION)
	{
		case ICAL_PARTSTAT_ACCEPTED:
			return "accepted";
		case ICAL_PARTSTAT_DECLINED:
			return "declined";
		case ICAL_PARTSTAT_TENTATIVE:
			return "tentative";
		default:
			return "needs-action";
	}
}

/*
 * Print attendees as JSON.
 */
static void
put_attendees(icalcomponent *event)
{
	const char *comma = "";

	putchar('[');
	for (icalproperty *attendee = icalcomponent_get_first_property(event, ICAL_ATTENDEE_PROPERTY);
		 attendee;
		 attendee = icalcomponent_get_next_property(event, ICAL_ATTENDEE_PROPERTY))
	{
		icalparameter *role = icalproperty_get_first_parameter(attendee, ICAL_ROLE_PARAMETER);

		printf("%s{\"email\": \"%s\", \"status\": \"%s\", \"optional\": %s}", comma,
			   address_of(icalproperty_get_attendee(attendee)),
			   status_of(icalproperty_get_first_parameter(attendee, ICAL_PARTSTAT_PARAMETER)),
			   role && icalparameter_get_role(role) == ICAL_ROLE_OPTPARTICIPANT ? "true" : "false");
		comma = ", ";
	}
	puts("]");
}

/*
 * Print an event.
 */
static void
put_event(const char *href, const char *etag, const char *data)
{
	icalcomponent *calendar = icalparser_parse_string(data);
	icalcomponent *event = calendar ?
		icalcomponent_get_first_component(calendar, ICAL_VEVENT_COMPONENT) : NULL;
	icalproperty *property;
	struct icaltimetype start;
	const char *zone;
	bool		opaque;
	bool		canceled;

	if (!event)
		die("an object without an event");
	start = icalcomponent_get_dtstart(event);
	zone = start.zone ? icaltimezone_get_tzid((icaltimezone *) start.zone) : NULL;
	property = icalcomponent_get_first_property(event, ICAL_TRANSP_PROPERTY);
	opaque = !property || icalproperty_get_transp(property) == ICAL_TRANSP_OPAQUE;
	canceled = icalcomponent_get_status(event) == ICAL_STATUS_CANCELLED;

	put_text(href);
	fputs("-infinity\t", stdout);
	put_range(start, icalcomponent_get_dtend(event));
	printf("%c\t%c\tf\t%s\t%s\t%d\t", opaque && !canceled ? 't' : 'f',
		   start.is_date ? 't' : 'f', canceled ? "canceled" : "confirmed",
		   opaque ? "opaque" : "transparent", icalcomponent_get_sequence(event));
	put_text(icalcomponent_get_uid(event));
	put_text(etag);
	put_text(zone);
	property = icalcomponent_get_first_property(event, ICAL_ORGANIZER_PROPERTY);
	put_text(property ? address_of(icalproperty_get_organizer(property)) : NULL);
	put_attendees(event);
	icalcomponent_free(calendar);
}

/*
 * Print all events of an answer.  Returns how many members it has.
 */
static long
put_answer(const char *data, size_t len)
{
	xmlDoc	   *document = xmlReadMemory(data, (int) len, NULL, NULL,
										 XML_PARSE_NONET | XML_PARSE_HUGE);
	xmlNode    *response = document ? xmlDocGetRootElement(document)->children : NULL;
	long		members = 0;

	if (!document)
		die("an answer that cannot be read");
	for (; response; response = response->next)
	{
		xmlNode    *object;
		xmlChar    *href;
		xmlChar    *etag;
		xmlChar    *text;

		if (strcmp((const char *) response->name, "response") != 0)
			continue;
		members++;
		object = find(response->children, "calendar-data");
		if (!object)
			continue;
		href = xmlNodeGetContent(find(response->children, "href"));
		etag = xmlNodeGetContent(find(response->children, "getetag"));
		text = xmlNodeGetContent(object);
		put_event((const char *) href, (const char *) etag, (const char *) text);
		xmlFree(href);
		xmlFree(etag);
		xmlFree(text);
	}
	xmlFreeDoc(document);
	return members;
}

/*
 * Read all answers.
 */
int
main(void)
{
	size_t		len;
	char	   *data = NULL;

	while (scanf("%zu", &len) == 1)
	{
		data = realloc(data, len + 1);
		if (!data || getchar() != '\n' || fread(data, 1, len, stdin) != len)
			die("the input is cut short");
		data[len] = '\0';
		if (put_answer(data, len) == 0)
			die("an answer without members");
	}
	return 0;
}

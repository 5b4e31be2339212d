/*
 * harness.c
 *
 * Plays scenarios; see harness.h.
 */
#include "postgres_fe.h"

#include "codec/dav.h"
#include "harness.h"

static BookingAttendee people[] = {
	{.email = "Bo@example.org", .name = "Bo"},
	{.email = "ann@example.org"},
	{.email = "cy@example.org", .optional = true},
};

const Fixture caldav_fixture = {
	&booking_provider_caldav, BASE, "joe/work/", "https://cal.example.org/", false
};
const Fixture google_fixture = {
	&booking_provider_google, "https://www.googleapis.com/calendar/v3",
	"room1@group.calendar.google.com", "https://www.googleapis.com/", true
};
const Fixture graph_fixture = {
	&booking_provider_graph, "https://graph.microsoft.com/v1.0",
	"desk@example.org/AQMkCal=", "https://graph.microsoft.com/v1.0/", true,
	"AAMkEv1="
};
const Fixture *fixture = &caldav_fixture;

const char *const kinds[] = {
	[BOOKING_OUTCOME_DONE] = "DONE",
	[BOOKING_OUTCOME_REJECTED] = "REJECTED",
	[BOOKING_OUTCOME_NOT_EXECUTED] = "NOT_EXECUTED",
	[BOOKING_OUTCOME_UNKNOWN] = "UNKNOWN",
	[BOOKING_OUTCOME_EQUAL] = "EQUAL",
	[BOOKING_OUTCOME_DIFFERENT] = "DIFFERENT",
	[BOOKING_OUTCOME_FOREIGN] = "FOREIGN",
	[BOOKING_OUTCOME_ABSENT] = "ABSENT",
	[BOOKING_OUTCOME_AUTH] = "AUTH",
	[BOOKING_OUTCOME_CALENDAR_GONE] = "CALENDAR_GONE",
	[BOOKING_OUTCOME_FAILED] = "FAILED",
};

/*
 * Report a test.
 */
void
ok(bool passed, const char *format,...)
{
	char		name[300];
	va_list		args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	if (tap_ok(passed, name))
		note_passed(name);
}

/*
 * Print a text of several lines as a comment.
 */
void
note(const char *what, const char *text)
{
	printf("# %s: ", what);
	for (; *text != '\0'; text++)
	{
		if (*text == '\r')
			continue;
		putchar(*text);
		if (*text == '\n')
			printf("#   ");
	}
	printf("\n");
}

/*
 * Event that a booking is meant to be, at an hour of the day.
 */
BookingEvent
event_at(int hour, int sequence, const char *summary)
{
	BookingEvent event;

	memset(&event, 0, sizeof(event));
	event.uid = ID;
	event.marker = ID;
	event.start = DAY + hour * HOUR;
	event.end = event.start + HOUR / 2;
	event.sequence = sequence;
	event.summary = summary;
	event.organizer_email = "desk@example.org";
	event.nattendees = 2;
	event.attendees = people;
	return event;
}

/*
 * Write a request as text.
 */
void
render_request(const BookingHttpRequest *request, BookingArena *arena,
			   char *text, size_t size)
{
	size_t		len;
	const char *body = request->body;

	snprintf(text, size, "%s %s%s%s\n", request->method, request->url,
			 request->read ? " read" : "", request->follow ? " follow" : "");
	for (int i = 0; i < request->nheaders; i++)
	{
		len = strlen(text);
		snprintf(text + len, size - len, "%s: %s\n", request->headers[i].name,
				 request->headers[i].value);
	}
	len = strlen(text);
	if (body == NULL)
	{
		snprintf(text + len, size - len, "\n");
		return;
	}
	if (request->body_len != strlen(body))
		body = "(length and text differ)";
	else if (strcmp(body, booking_dav_propfind_etag(arena)) == 0)
		body = "{etag}";
	else if (strcmp(body, booking_dav_propfind_discovery(arena)) == 0)
		body = "{discovery}";
	else if (strcmp(body, booking_dav_query_uid(arena, ID)) == 0)
		body = "{query}";
	snprintf(text + len, size - len, "\n%s", body);
}

/*
 * If a line begins with a word, the rest of the line, in the arena.
 */
static const char *
rest_after(const char *line, const char *word, BookingArena *arena)
{
	size_t		len = strlen(word);

	if (strncmp(line, word, len) != 0)
		return NULL;
	return booking_arena_copy(arena, line + len, strcspn(line + len, "\n"));
}

/*
 * Read an answer from text.
 */
void
parse_answer(const char *text, BookingArena *arena,
			 BookingHttpResponse *response)
{
	static const struct
	{
		const char *word;
		BookingTransport transport;
	}			transports[] = {
		{"lost ", BOOKING_TRANSPORT_LOST},
		{"not sent ", BOOKING_TRANSPORT_NOT_SENT},
		{"refused ", BOOKING_TRANSPORT_REFUSED},
		{"too large", BOOKING_TRANSPORT_TOO_LARGE},
	};

	memset(response, 0, sizeof(*response));
	response->retry_after = -1;
	for (int i = 0; i < (int) lengthof(transports); i++)
	{
		response->problem = rest_after(text, transports[i].word, arena);
		response->transport = transports[i].transport;
		if (response->problem != NULL)
			return;
	}

	response->transport = BOOKING_TRANSPORT_COMPLETE;
	response->status = strtol(text, NULL, 10);
	for (text += strcspn(text, "\n") + 1; *text != '\n';
		 text += strcspn(text, "\n") + 1)
	{
		const char *value;

		if ((value = rest_after(text, "ETag: ", arena)) != NULL)
			response->etag = value;
		else if ((value = rest_after(text, "Location: ", arena)) != NULL)
			response->location = value;
		else if ((value = rest_after(text, "Content-Type: ", arena)) != NULL)
			response->content_type = value;
		else if ((value = rest_after(text, "DAV: ", arena)) != NULL)
			response->dav = value;
		else if ((value = rest_after(text, "Retry-After: ", arena)) != NULL)
			response->retry_after = strtol(value, NULL, 10);
		else
			abort();			/* a scenario is misspelt */
	}
	response->body = text + 1;
	response->body_len = strlen(text + 1);
}

/*
 * Write an outcome as text.
 */
void
render_outcome(const BookingOutcome *outcome, char *text, size_t size)
{
	size_t		len;

	snprintf(text, size, "%s%s%s%s%s%s%s%s%s", kinds[outcome->kind],
			 outcome->problem ? " " : "",
			 outcome->problem ? outcome->problem : "",
			 outcome->href ? " href=" : "", outcome->href ? outcome->href : "",
			 outcome->etag ? " etag=" : "", outcome->etag ? outcome->etag : "",
			 outcome->conference ? " conference=" : "",
			 outcome->conference ? outcome->conference : "");
	len = strlen(text);
	if (outcome->retry_after >= 0)
		snprintf(text + len, size - len, " retry=%lld",
				 (long long) outcome->retry_after);
	len = strlen(text);
	if (outcome->status != 0)
		snprintf(text + len, size - len, " status=%d", outcome->status);
}

/*
 * Is a message what may be shown and kept?
 */
bool
is_harmless(const char *message)
{
	if (message == NULL)
		return true;
	if (strlen(message) > 200 || strstr(message, BODY) != NULL ||
		strstr(message, "secret") != NULL)
		return false;
	for (; *message != '\0'; message++)
	{
		if (*message < 0x20 || *message > 0x7e)
			return false;
	}
	return true;
}

/*
 * Fill in the job of a scenario.
 */
static void
make_job(const Scenario *scenario, BookingJob *job, BookingEvent *wanted,
		 BookingEvent *previous)
{
	*previous = event_at(10, 0, "Before");
	*wanted = event_at(scenario->same_time ? 10 : 11, 1, "After");
	wanted->conference = (scenario->besides & CONFERENCE) != 0;
	if (scenario->besides & NOTIFY_ALL)
		wanted->notify = BOOKING_NOTIFY_ALL;
	if (scenario->besides & NOTIFY_EXTERNAL)
		wanted->notify = BOOKING_NOTIFY_EXTERNAL;
	if (scenario->besides & INVITE_MORE)
		wanted->nattendees = lengthof(people);
	memset(job, 0, sizeof(*job));
	job->kind = scenario->kind;
	job->looked_up = scenario->looked_up;
	job->base_url = scenario->base_url ? scenario->base_url :
		fixture->base;
	job->collection = scenario->collection ? scenario->collection :
		fixture->collection;
	if (job->collection[0] == '\0')
		job->collection = NULL;
	job->event_id = ID;
	job->href = scenario->href ? scenario->href :
		scenario->etag ? fixture->href : NULL;
	job->etag = scenario->etag;
	job->wanted = wanted;
	job->previous = scenario->no_previous ? NULL : previous;
	job->body = BODY;
	job->body_len = strlen(BODY);
}

/*
 * Is there a finding that reads like the first len bytes of a text: "subject:
 * text", or "subject! text" if it is not good?
 */
static bool
has_finding(const BookingTask *task, const char *wanted, size_t len)
{
	for (int i = 0; i < task->nfindings; i++)
	{
		char		text[400];

		snprintf(text, sizeof(text), "%s%s %s", task->findings[i].subject,
				 task->findings[i].ok ? ":" : "!", task->findings[i].text);
		if (strlen(text) == len && strncmp(text, wanted, len) == 0)
			return true;
	}
	return false;
}

/*
 * Are there findings for all lines of a text?
 */
static bool
has_findings(const BookingTask *task, const char *wanted)
{
	for (;;)
	{
		size_t		len = strcspn(wanted, "\n");

		if (!has_finding(task, wanted, len))
			return false;
		if (wanted[len] == '\0')
			return true;
		wanted += len + 1;
	}
}

/*
 * Begin a scenario.
 */
void
begin(Play *play, const Scenario *scenario, BookingArena *arena)
{
	memset(play, 0, sizeof(*play));
	make_job(scenario, &play->job, &play->wanted, &play->previous);
	/* nothing may depend on what was in these before */
	memset(&play->task, 0x5a, sizeof(play->task));
	memset(&play->request, 0x5a, sizeof(play->request));
	play->task.job = &play->job;
	play->task.arena = arena;
	fixture->provider->start(&play->task, &play->request);
	play->more = play->request.method != NULL;
}

/*
 * Answer the request.
 */
void
answer(Play *play, const char *text, BookingArena *arena)
{
	BookingHttpResponse response;

	parse_answer(text, arena, &response);
	if (!play->request.read)
	{
		play->nwrites++;
		play->last_status = response.status;
	}
	memset(&play->request, 0x5a, sizeof(play->request));
	play->more = fixture->provider->next(&play->task, &response,
										 &play->request);
	if (play->more != (play->request.method != NULL))
		abort();				/* says one thing and does another */
}

/*
 * Complain about an outcome or a finding; returns false if there is nothing
 * to complain about.
 */
static bool
complain(const Play *play, const Scenario *scenario)
{
	const BookingTask *task = &play->task;
	char		text[4096];

	render_outcome(&task->outcome, text, sizeof(text));
	if (strcmp(text, scenario->outcome) == 0 &&
		is_harmless(task->outcome.message) &&
		(scenario->message == NULL ||
		 (task->outcome.message != NULL &&
		  strcmp(task->outcome.message, scenario->message) == 0)) &&
		(scenario->finding == NULL || has_findings(task, scenario->finding)))
		return false;

	note("outcome", text);
	note("expected", scenario->outcome);
	note("message", task->outcome.message ? task->outcome.message : "(none)");
	for (int i = 0; i < task->nfindings; i++)
		tap_note("%s%s %s", task->findings[i].subject,
				 task->findings[i].ok ? ":" : "!", task->findings[i].text);
	return true;
}

/*
 * Play one scenario; what goes wrong is said above its line.
 */
static bool
play_one(const Scenario *scenario)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	const Turn *turn = scenario->turns;
	Play		play;
	char		text[4096] = "(none)";
	bool		good = true;

	begin(&play, scenario, arena);
	while (good && play.more)
	{
		render_request(&play.request, arena, text, sizeof(text));
		good = turn->request != NULL && strcmp(text, turn->request) == 0;
		if (good)
		{
			answer(&play, turn->answer, arena);
			turn++;
			strlcpy(text, "(none)", sizeof(text));
		}
	}
	if (!good || turn->request != NULL)
	{
		note("request", text);
		note("expected", turn->request ? turn->request : "(none)");
		good = false;
	}
	if (!play.more && complain(&play, scenario))
		good = false;
	booking_arena_free(arena);
	return good;
}

/*
 * Play a table of scenarios.
 */
void
play_all(const char *table, const Scenario *scenarios)
{
	for (int i = 0; scenarios[i].name != NULL; i++)
		ok(play_one(&scenarios[i]), "%s: %s", table, scenarios[i].name);
}

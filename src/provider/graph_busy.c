/*-------------------------------------------------------------------------
 *
 * graph_busy.c
 *	  asks Microsoft Graph when people are busy
 *
 * getSchedule (learn.microsoft.com/graph/api/calendar-getschedule) tells of people
 * and rooms by their address.  Inside a success an entry may have an "error"
 * (graph/api/resources/scheduleinformation): then nothing is known of it, and it
 * is never taken for free.
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_busy.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "codec/rfc3339.h"
#include "provider/graph.h"
#include "provider/report.h"

static bool end(BookingBusy *busy, BookingBusyKind kind, const char *problem,
				const BookingHttpResponse *response);
static char *write_question(const BookingBusyJob *job, BookingArena *arena,
							size_t *len);
static bool write_time(BookingJsonWriter *writer, const char *name,
					   int64 instant);
static const BookingJson *find_schedule(const BookingJson *json,
										const char *address);
static void read_schedule(BookingBusy *busy, const BookingJson *json,
						  BookingBusyAnswer *calendar);
static bool blocks(const BookingJson *json);

/*
 * Build the request; without one the kind is set.  It is asked in the name of
 * the owner of the job's calendar, if one is given, else of whoever signed in.
 */
void
booking_graph_busy_start(BookingBusy *busy, BookingHttpRequest *request)
{
	const BookingBusyJob *job = busy->job;
	const char *problem = "bad_url";
	const char *base = booking_graph_base(busy->arena, job->base_url, &problem);
	const char *calendar;
	const char *url;
	char	   *body;
	size_t		len;

	memset(request, 0, sizeof(*request));
	busy->calendars = NULL;
	if (base == NULL || job->ncalendars < 1 ||
		job->ncalendars > BOOKING_MAX_BUSY || job->from >= job->until)
	{
		(void) end(busy, BOOKING_BUSY_FAILED,
				   base == NULL ? problem : "incomplete_job", NULL);
		return;
	}
	url = booking_graph_mailbox(busy->arena, base, job->collection, &calendar);
	if (url != NULL)
		url = booking_graph_join(busy->arena, url, "/calendar/getSchedule", "");
	body = url == NULL ? NULL : write_question(job, busy->arena, &len);
	if (body == NULL)
	{
		(void) end(busy, BOOKING_BUSY_FAILED,
				   booking_arena_failed(busy->arena) ? "out_of_memory" :
				   "incomplete_job", NULL);
		return;
	}
	request->method = "POST";
	request->url = url;
	request->read = true;		/* it changes nothing */
	booking_rest_header(request, "Prefer", BOOKING_GRAPH_PREFER);
	booking_rest_header(request, "Content-Type", BOOKING_GRAPH_JSON);
	request->body = body;
	request->body_len = len;
}

/*
 * Judge the answer.
 */
bool
booking_graph_busy_next(BookingBusy *busy, const BookingHttpResponse *response,
						BookingHttpRequest *request)
{
	const BookingBusyJob *job = busy->job;
	const BookingJson *json;

	memset(request, 0, sizeof(*request));
	if (booking_rest_answered(response, 401))
		return end(busy, BOOKING_BUSY_AUTH, NULL, response);
	if (!booking_rest_answered(response, 200))
		return end(busy, BOOKING_BUSY_FAILED, NULL, response);
	if (booking_json_read(response->body, response->body_len, busy->arena,
						  &json) != BOOKING_JSON_OK)
		return end(busy, BOOKING_BUSY_FAILED, "answer_unreadable", response);
	busy->calendars = booking_arena_alloc(busy->arena, job->ncalendars *
										  sizeof(BookingBusyAnswer));
	if (busy->calendars == NULL)
		return end(busy, BOOKING_BUSY_FAILED, "out_of_memory", response);
	for (int i = 0; i < job->ncalendars; i++)
		read_schedule(busy, find_schedule(json, job->calendars[i]),
					  &busy->calendars[i]);
	if (booking_arena_failed(busy->arena))
		return end(busy, BOOKING_BUSY_FAILED, "out_of_memory", response);
	(void) end(busy, BOOKING_BUSY_TOLD, "", response);
	busy->problem = NULL;
	return false;
}

/*
 * End with a kind; without a problem it is named after the answer.
 */
static bool
end(BookingBusy *busy, BookingBusyKind kind, const char *problem,
	const BookingHttpResponse *response)
{
	busy->kind = kind;
	busy->retry_after = response == NULL ? -1 : response->retry_after;
	busy->status = response == NULL ? 0 : response->status;
	busy->problem = problem != NULL ? problem :
		booking_report_problem(busy->arena, response);
	return false;
}

/*
 * The body of the question; NULL if it cannot be written.
 */
static char *
write_question(const BookingBusyJob *job, BookingArena *arena, size_t *len)
{
	BookingJsonWriter writer;

	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_open(&writer, "schedules", '[');
	for (int i = 0; i < job->ncalendars; i++)
		booking_json_put_text(&writer, NULL, job->calendars[i]);
	booking_json_close(&writer, ']');
	if (!write_time(&writer, "startTime", job->from) ||
		!write_time(&writer, "endTime", job->until))
		return NULL;
	booking_json_close(&writer, '}');
	return booking_json_end(&writer, len);
}

/*
 * An instant; false for a year without four digits.
 */
static bool
write_time(BookingJsonWriter *writer, const char *name, int64 instant)
{
	char		text[BOOKING_RFC3339_SIZE];

	if (!booking_rfc3339_write(instant, text))
		return false;
	text[strlen(text) - 1] = '\0';
	booking_json_open(writer, name, '{');
	booking_json_put_text(writer, "dateTime", text);
	booking_json_put_text(writer, "timeZone", "UTC");
	booking_json_close(writer, '}');
	return true;
}

/*
 * What is said of an address; NULL if nothing is.
 */
static const BookingJson *
find_schedule(const BookingJson *json, const char *address)
{
	for (const BookingJson *at = booking_json_elements(json, "value");
		 at != NULL; at = at->next)
	{
		const char *id = booking_json_text(at, "scheduleId");

		if (id != NULL && pg_strcasecmp(id, address) == 0)
			return at;
	}
	return NULL;
}

/*
 * What the answer says of one address; json is NULL if it says nothing.
 */
static void
read_schedule(BookingBusy *busy, const BookingJson *json,
			  BookingBusyAnswer *calendar)
{
	const BookingJson *error = booking_json_member(json, "error");
	const BookingJson *items = booking_json_member(json, "scheduleItems");

	calendar->problem = "not_told";
	if (error != NULL)
	{
		calendar->problem =
			booking_report_code(busy->arena,
								booking_json_text(error, "responseCode"),
								"not_told");
		return;
	}
	if (items == NULL || items->kind != BOOKING_JSON_ARRAY)
		return;
	calendar->spans = booking_arena_alloc(busy->arena, (items->count + 1) *
										  sizeof(BookingBusySpan));
	if (calendar->spans == NULL)
		return;
	for (const BookingJson *at = items->first; at != NULL; at = at->next)
	{
		BookingBusySpan *span = &calendar->spans[calendar->nspans];

		if (!booking_graph_instant(booking_json_member(at, "start"),
								   &span->start) ||
			!booking_graph_instant(booking_json_member(at, "end"),
								   &span->end) || span->start > span->end)
		{
			calendar->nspans = 0;
			calendar->problem = "answer_unreadable";
			return;
		}
		if (blocks(at))
			calendar->nspans++;
	}
	calendar->known = true;
	calendar->problem = NULL;
}

/*
 * Does an item block its time?  What its status means is not known if it is none
 * of these two.
 */
static bool
blocks(const BookingJson *json)
{
	const char *status = booking_json_text(json, "status");

	return status == NULL || (pg_strcasecmp(status, "free") != 0 &&
							  pg_strcasecmp(status, "workingElsewhere") != 0);
}

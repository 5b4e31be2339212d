/*-------------------------------------------------------------------------
 *
 * google_busy.c
 *	  asks Google when calendars are busy
 *
 * freebusy.query (G-REF): up to 50 calendars at a time.  An answer of 200 may
 * say for each calendar that it could not be found, or was too large, or that
 * something broke (FreeBusyCalendar.errors); such a one is not known, which is
 * not the same as free.  So is one that the answer leaves out.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_busy.c
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
#include "provider/google.h"
#include "provider/report.h"

static bool end(BookingBusy *busy, BookingBusyKind kind, const char *problem,
				const BookingHttpResponse *response);
static char *write_question(const BookingBusyJob *job, BookingArena *arena,
							size_t *len);
static void read_calendar(BookingBusy *busy, const BookingJson *json,
						  BookingBusyAnswer *calendar);
static bool read_span(const BookingJson *json, BookingBusySpan *span);

/*
 * Build the request; without one the kind is set.
 */
void
booking_google_busy_start(BookingBusy *busy, BookingHttpRequest *request)
{
	const BookingBusyJob *job = busy->job;
	const char *problem = "bad_url";
	const char *base = booking_google_base(busy->arena, job->base_url, &problem);
	BookingBuffer url;
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
	booking_buffer_init(&url, busy->arena);
	(void) booking_buffer_add_text(&url, base);
	(void) booking_buffer_add_text(&url, "/freeBusy");
	body = write_question(job, busy->arena, &len);
	if (body == NULL)
	{
		(void) end(busy, BOOKING_BUSY_FAILED,
				   booking_arena_failed(busy->arena) ? "out_of_memory" :
				   "incomplete_job", NULL);
		return;
	}
	request->method = "POST";
	request->url = url.data;
	request->read = true;		/* it changes nothing */
	request->headers[0].name = "Content-Type";
	request->headers[0].value = "application/json; charset=utf-8";
	request->nheaders = 1;
	request->body = body;
	request->body_len = len;
}

/*
 * Judge the answer.
 */
bool
booking_google_busy_next(BookingBusy *busy, const BookingHttpResponse *response,
						 BookingHttpRequest *request)
{
	const BookingBusyJob *job = busy->job;
	const BookingJson *json;
	const BookingJson *calendars;

	memset(request, 0, sizeof(*request));
	if (booking_rest_answered(response, 401))
		return end(busy, BOOKING_BUSY_AUTH, NULL, response);
	if (!booking_rest_answered(response, 200))
		return end(busy, BOOKING_BUSY_FAILED, NULL, response);
	if (booking_json_read(response->body, response->body_len, busy->arena,
						  &json) != BOOKING_JSON_OK)
		return end(busy, BOOKING_BUSY_FAILED, "answer_unreadable", response);
	calendars = booking_json_member(json, "calendars");
	busy->calendars = booking_arena_alloc(busy->arena, job->ncalendars *
										  sizeof(BookingBusyAnswer));
	if (busy->calendars == NULL)
		return end(busy, BOOKING_BUSY_FAILED, "out_of_memory", response);
	for (int i = 0; i < job->ncalendars; i++)
		read_calendar(busy, booking_json_member(calendars, job->calendars[i]),
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
	busy->problem = problem;
	if (problem != NULL)
		return false;
	busy->problem = booking_report_problem(busy->arena, response);
	if (booking_rest_answered(response, 403) &&
		booking_google_refusal(busy->arena, response,
							   &busy->problem) == BOOKING_GOOGLE_QUOTA)
		busy->retry_after = Max(busy->retry_after, BOOKING_GOOGLE_QUOTA_PAUSE);
	return false;
}

/*
 * The body of the question; NULL if it cannot be written.
 */
static char *
write_question(const BookingBusyJob *job, BookingArena *arena, size_t *len)
{
	BookingJsonWriter writer;
	char		from[BOOKING_RFC3339_SIZE];
	char		until[BOOKING_RFC3339_SIZE];

	if (!booking_rfc3339_write(job->from, from) ||
		!booking_rfc3339_write(job->until, until))
		return NULL;
	booking_json_begin(&writer, arena);
	booking_json_open(&writer, NULL, '{');
	booking_json_put_text(&writer, "timeMin", from);
	booking_json_put_text(&writer, "timeMax", until);
	booking_json_open(&writer, "items", '[');
	for (int i = 0; i < job->ncalendars; i++)
	{
		booking_json_open(&writer, NULL, '{');
		booking_json_put_text(&writer, "id", job->calendars[i]);
		booking_json_close(&writer, '}');
	}
	booking_json_close(&writer, ']');
	booking_json_close(&writer, '}');
	return booking_json_end(&writer, len);
}

/*
 * What the answer says of one calendar; json is NULL if it says nothing.
 */
static void
read_calendar(BookingBusy *busy, const BookingJson *json,
			  BookingBusyAnswer *calendar)
{
	const BookingJson *errors = booking_json_member(json, "errors");
	const BookingJson *spans = booking_json_member(json, "busy");

	calendar->problem = "not_told";
	if (errors != NULL)
	{
		const char *reason = booking_json_text(errors->first, "reason");

		calendar->problem = booking_report_code(busy->arena, reason, "not_told");
		return;
	}
	if (spans == NULL || spans->kind != BOOKING_JSON_ARRAY)
		return;
	calendar->spans = booking_arena_alloc(busy->arena, (spans->count + 1) *
										  sizeof(BookingBusySpan));
	if (calendar->spans == NULL)
		return;
	for (const BookingJson *at = spans->first; at != NULL; at = at->next)
	{
		if (!read_span(at, &calendar->spans[calendar->nspans++]))
		{
			calendar->nspans = 0;
			calendar->problem = "answer_unreadable";
			return;
		}
	}
	calendar->known = true;
	calendar->problem = NULL;
}

/*
 * One span; false if it cannot be understood.
 */
static bool
read_span(const BookingJson *json, BookingBusySpan *span)
{
	BookingTime start;
	BookingTime finish;

	return booking_rfc3339_read(booking_json_text(json, "start"), &start) &&
		booking_rfc3339_read(booking_json_text(json, "end"), &finish) &&
		booking_rfc3339_instant(&start, NULL, &span->start) &&
		booking_rfc3339_instant(&finish, NULL, &span->end) &&
		span->start <= span->end;
}

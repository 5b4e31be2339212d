/*-------------------------------------------------------------------------
 *
 * report.c
 *	  how adapters end a task, and what they say of it
 *
 * Messages are read by people and kept in tables, so nothing gets into one but
 * short words of ours, numbers, and codes and paths that were made harmless:
 * never a body, a header or a URL as it came.
 *
 * IDENTIFICATION
 *	  booking/src/provider/report.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/report.h"

/* what people are told of problems that no single answer explains */
static const struct
{
	const char *problem;
	const char *text;
}			explanations[] = {
	{"answer_incomplete", "the server left a part out of its answer to a query"},
	{"answer_unreadable", "the answer of the server cannot be read"},
	{"bad_url", "the URL of the calendar or event is malformed"},
	{"body_not_read", "the body of the answer is no event of ours"},
	{"calendar_gone", "there is no calendar at this path any more"},
	{"conference_failed", "the provider could not make the conference"},
	{"conference_pending", "the provider has not made the conference yet"},
	{"deleted_at_provider", "the event was deleted at the provider"},
	{"event_changed", "the event was changed by others"},
	{"event_moved", "the event was moved by others"},
	{"event_unreadable", "the event at the server cannot be read"},
	{"foreign_event", "an event that is not ours is stored under our id"},
	{"incomplete_job", "the job does not say which calendar or event it is about"},
	{"no_progress", "the server answers with the same page again and again"},
	{"need_privileges", "the account may not write to the calendar"},
	{"no_etag", "the server tells no strong ETag, so nothing can be written safely"},
	{"not_a_calendar", "what is at the path of the calendar is no calendar"},
	{"not_updated", "the event is as it was before the update"},
	{"origin_mismatch", "the calendar or event is not on the server of base_url"},
	{"other_calendar", "our event is in another calendar of the account"},
	{"out_of_memory", "the limit of memory for one task is exhausted"},
	{"precondition_failed", "the event changed again while it was written"},
	{"other_event", "an event that carries our id has another one at the provider"},
	{"several_events", "several events in the calendar carry our id"},
	{"still_present", "the event is still there"},
	{"too_many_steps", "the limit of requests for one task is exhausted"},
	{"uid_conflict", "the server says that our id is taken, but shows no such event"},
};

/* codes of statuses that have a meaning of their own */
static const struct
{
	int			status;
	const char *problem;
}			statuses[] = {
	{400, "bad_request"},
	{401, "auth_refused"},
	{403, "forbidden"},
	{404, "not_found"},
	{405, "method_not_allowed"},
	{408, "server_timeout"},
	{409, "conflict"},
	{410, "not_found"},
	{412, "precondition_failed"},
	{413, "too_large"},
	{415, "unsupported_media_type"},
	{423, "locked"},
	{429, "rate_limited"},
	{503, "unavailable"},
	{507, "insufficient_storage"},
};

/*
 * A message in the arena, cut at BOOKING_MAX_MESSAGE bytes and printable ASCII
 * throughout.  NULL when the arena is exhausted, which outcomes put up with.
 */
char *
booking_report_text(BookingArena *arena, const char *format,...)
{
	char		text[BOOKING_MAX_MESSAGE + 1];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	for (char *p = text; *p != '\0'; p++)
	{
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
	}
	return booking_arena_copy(arena, text, strlen(text));
}

/*
 * Make a code, such as address_not_allowed, of a few words that came from
 * elsewhere: letters, digits and underscores remain.  Returns otherwise if
 * there is nothing to make one of.
 */
const char *
booking_report_code(BookingArena *arena, const char *words,
					const char *otherwise)
{
	char		code[BOOKING_MAX_PROBLEM + 1];
	const char *result;
	int			len = 0;

	for (const char *p = words == NULL ? "" : words; *p != '\0'; p++)
	{
		char		c = *p;

		if (c >= 'A' && c <= 'Z')
		{
			/* words that are told apart by a capital */
			if (p > words && p[-1] >= 'a' && p[-1] <= 'z' && len > 0 &&
				len < BOOKING_MAX_PROBLEM)
				code[len++] = '_';
			c += 'a' - 'A';
		}
		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
		{
			if (len == 0 || code[len - 1] == '_')
				continue;
			c = '_';
		}
		if (len == BOOKING_MAX_PROBLEM)
			break;
		code[len++] = c;
	}
	while (len > 0 && code[len - 1] == '_')
		len--;
	if (len == 0)
		return otherwise;
	result = booking_arena_copy(arena, code, len);
	return result == NULL ? otherwise : result;
}

/*
 * End a task.  From the response, NULL if it follows from none, come status
 * and Retry-After.  Problem and message may be NULL; where the event is must
 * be set after this.
 */
void
booking_report_end(BookingTask *task, BookingOutcomeKind kind,
				   const char *problem, const BookingHttpResponse *response,
				   const char *message)
{
	BookingOutcome *outcome = &task->outcome;

	memset(outcome, 0, sizeof(*outcome));
	outcome->kind = kind;
	outcome->problem = problem;
	outcome->message = message;
	outcome->status = response == NULL ? 0 : response->status;
	outcome->retry_after = response == NULL ? -1 : response->retry_after;
}

/*
 * Add a line to the findings of a check; what does not fit, or could not be
 * written for want of memory, is left out.
 */
void
booking_report_find(BookingTask *task, const char *subject, bool ok,
					const char *text)
{
	BookingFinding *finding;

	if (task->nfindings >= BOOKING_MAX_FINDINGS || text == NULL)
		return;
	finding = &task->findings[task->nfindings++];
	finding->subject = subject;
	finding->ok = ok;
	finding->text = text;
}

/*
 * Code for an answer that is not what was hoped for.
 */
const char *
booking_report_problem(BookingArena *arena, const BookingHttpResponse *response)
{
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
			return booking_report_code(arena, response->problem,
									   "not_sent");
		case BOOKING_TRANSPORT_REFUSED:
			return booking_report_code(arena, response->problem,
									   "refused");
		case BOOKING_TRANSPORT_LOST:
			return booking_report_code(arena, response->problem,
									   "lost");
		case BOOKING_TRANSPORT_TOO_LARGE:
			return "answer_too_large";
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	for (int i = 0; i < (int) lengthof(statuses); i++)
	{
		if (statuses[i].status == response->status)
			return statuses[i].problem;
	}
	if (response->status >= 500)
		return "server_error";
	if (response->status >= 400)
		return "refused_by_server";
	if (response->status >= 300)
		return "redirected";
	return "unexpected_answer";
}

/*
 * What people are told of a problem, in the arena or for ever.  response may be
 * NULL; method is that of the request it answers.
 */
const char *
booking_report_explain(BookingArena *arena,
					   const BookingHttpResponse *response,
					   const char *method, const char *problem)
{
	const char *words;

	for (int i = 0; i < (int) lengthof(explanations); i++)
	{
		if (strcmp(explanations[i].problem, problem) == 0)
			return explanations[i].text;
	}
	if (response == NULL)
		return NULL;

	words = response->problem == NULL ? "no reason known" : response->problem;
	switch (response->transport)
	{
		case BOOKING_TRANSPORT_NOT_SENT:
		case BOOKING_TRANSPORT_REFUSED:
			return booking_report_text(arena, "%s was not sent: %s",
									   method, words);
		case BOOKING_TRANSPORT_LOST:
			return booking_report_text(arena,
									   "no complete answer to %s: %s",
									   method, words);
		case BOOKING_TRANSPORT_TOO_LARGE:
			return booking_report_text(arena,
									   "the answer to %s is too large",
									   method);
		case BOOKING_TRANSPORT_COMPLETE:
			break;
	}
	return booking_report_text(arena, "the server answered %d to %s: %s",
							   response->status, method, problem);
}

/*
 * There is no question to ask.
 */
void
booking_report_busy_start(BookingBusy *busy, BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	busy->kind = BOOKING_BUSY_NOT_TOLD;
	busy->calendars = NULL;
	busy->retry_after = -1;
	busy->problem = "not_told";
	busy->status = 0;
}

/*
 * Nor is there an answer.
 */
bool
booking_report_busy_next(BookingBusy *busy,
						 const BookingHttpResponse *response,
						 BookingHttpRequest *request)
{
	booking_report_busy_start(busy, request);
	return false;
}

/*
 * End a task about a channel; without a problem it is named after the answer.
 */
void
booking_report_channel_end(BookingChannelTask *task, BookingChannelKind kind,
						   const char *problem,
						   const BookingHttpResponse *response)
{
	task->kind = kind;
	task->retry_after = response == NULL ? -1 : response->retry_after;
	task->status = response == NULL ? 0 : response->status;
	task->problem = NULL;
	if (kind != BOOKING_CHANNEL_MADE)
		task->problem = problem != NULL || response == NULL ? problem :
			booking_report_problem(task->arena, response);
}

/*
 * There are no channels.
 */
void
booking_report_channel_start(BookingChannelTask *task,
							 BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	booking_report_channel_end(task, BOOKING_CHANNEL_REFUSED, "no_channels", NULL);
}

/*
 * Nor is there an answer.
 */
void
booking_report_channel_judge(BookingChannelTask *task,
							 const BookingHttpResponse *response)
{
	booking_report_channel_end(task, BOOKING_CHANNEL_REFUSED, "no_channels", NULL);
}

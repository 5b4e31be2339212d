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
			c += 'a' - 'A';
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

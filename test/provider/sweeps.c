/*
 * sweeps.c
 *
 * What must hold of every task, whatever is answered and whatever runs out:
 * jobs with anything left out, every status there can be, any answer to any
 * request, and every amount of memory.
 */
#include "postgres_fe.h"

#include "harness.h"
#include "provider/match.h"

/*
 * The body of an event is read as the event that was written, and another
 * program's is not ours.
 */
void
play_bodies(void)
{
	static const char foreign[] = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
		"BEGIN:VEVENT\r\nUID:x\r\nDTSTAMP:20300101T000000Z\r\n"
		"DTSTART:20300105T110000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingEvent event = event_at(11, 1, "After");
	BookingEvent back;
	char	   *body;
	size_t		len;

	ok(fixture->provider->write_body(&event, DAY, arena, &body, &len) &&
	   fixture->provider->read_body(body, len, arena, &back) &&
	   booking_match_ours(&back, ID) && booking_match_update(&event, NULL, &back) &&
	   strcmp(back.summary, "After") == 0, "bodies: written and read");
	ok(!fixture->provider->read_body(foreign, strlen(foreign), arena, &back),
	   "bodies: another program's is not ours");
	ok(!fixture->provider->read_body("rubbish", 7, arena, &back),
	   "bodies: nor is rubbish");
	event.end = event.start - HOUR;
	event.uid = NULL;
	ok(!fixture->provider->write_body(&event, DAY, arena, &body, &len),
	   "bodies: an event without an identity cannot be written");
	booking_arena_free(arena);
}

/*
 * Jobs that do not say all that they need are refused before anything is sent,
 * whatever is left out.
 */
void
play_incomplete(void)
{
	static const Scenario jobs[] = {
		{"create", BOOKING_JOB_CREATE},
		{"update", BOOKING_JOB_UPDATE},
		{"cancel", BOOKING_JOB_CANCEL},
		{"lookup of a create", BOOKING_JOB_LOOKUP, BOOKING_JOB_CREATE},
		{"lookup of an update", BOOKING_JOB_LOOKUP, BOOKING_JOB_UPDATE},
		{"lookup of a cancel", BOOKING_JOB_LOOKUP, BOOKING_JOB_CANCEL},
	};

	for (int i = 0; i < (int) lengthof(jobs); i++)
	{
		BookingJobKind kind = jobs[i].kind == BOOKING_JOB_LOOKUP ?
			jobs[i].looked_up : jobs[i].kind;

		for (int missing = 0; missing < 6; missing++)
		{
			BookingArena *arena = booking_arena_create(ARENA_LIMIT);
			bool		needed = missing < 4 ||
				(missing == 4 && kind != BOOKING_JOB_CANCEL) ||
				(missing == 5 && jobs[i].kind < BOOKING_JOB_CANCEL);
			Play		play;
			char		text[200];
			const char *expected;
			BookingHttpResponse response;
			bool		begun;

			begin(&play, &jobs[i], arena);
			if (missing == 0)
				play.job.base_url = NULL;
			else if (missing == 1)
				play.job.collection = NULL;
			else if (missing == 2)
				play.job.event_id = NULL;
			else if (missing == 3)
				play.job.event_id = "";
			else if (missing == 4)
				play.job.wanted = NULL;
			else
				play.job.body = NULL;
			fixture->provider->start(&play.task, &play.request);

			if (!needed)
				ok(play.request.method != NULL,
				   "incomplete: %s needs no member %d", jobs[i].name, missing);
			else
			{
				expected = jobs[i].kind == BOOKING_JOB_LOOKUP ?
					"FAILED incomplete_job" : "REJECTED incomplete_job";
				/* an engine that is given the request refuses it */
				begun = play.request.method != NULL;
				parse_answer("refused bad method", arena, &response);
				begun |= fixture->provider->next(&play.task, &response,
												 &play.request);
				render_outcome(&play.task.outcome, text, sizeof(text));
				ok(!begun && strcmp(text, expected) == 0,
				   "incomplete: %s without member %d", jobs[i].name, missing);
			}
			booking_arena_free(arena);
		}
	}
}

/*
 * What a task may come to when memory runs out at some point: what it would
 * have come to, or that this is not known.  Never anything that is not true:
 * after a success "not executed" would be a lie, too.
 */
static bool
may_become(const Play *play, const Scenario *scenario)
{
	BookingOutcomeKind kind = play->task.outcome.kind;
	bool		stored = play->last_status == 200 || play->last_status == 201 ||
		play->last_status == 204;

	if (strncmp(scenario->outcome, kinds[kind],
				strcspn(scenario->outcome, " ")) == 0)
		return true;
	if (scenario->kind == BOOKING_JOB_LOOKUP ||
		scenario->kind == BOOKING_JOB_CHECK)
		return kind == BOOKING_OUTCOME_FAILED;
	return kind == BOOKING_OUTCOME_UNKNOWN ||
		(kind == BOOKING_OUTCOME_NOT_EXECUTED && !stored);
}

/*
 * Play scenarios again with an arena that is exhausted early, then later and
 * later.  Answers are in another arena, as they are in the worker.
 */
void
play_without_memory(const char *table, const Scenario *scenarios)
{
	int			nplayed = 0;
	bool		good = true;

	for (const Scenario *scenario = scenarios; scenario->name; scenario++)
	{
		for (size_t limit = 0; limit < 40 * 1024 && good; limit += 80)
		{
			BookingArena *arena = booking_arena_create(limit);
			BookingArena *answers = booking_arena_create(ARENA_LIMIT);
			const Turn *turn = scenario->turns;
			Play		play;

			begin(&play, scenario, arena);
			for (; play.more && turn->request != NULL; turn++)
				answer(&play, turn->answer, answers);
			good = play.more || may_become(&play, scenario);
			if (!good)
			{
				char		text[4096];

				render_outcome(&play.task.outcome, text, sizeof(text));
				note(scenario->name, text);
			}
			nplayed++;
			booking_arena_free(answers);
			booking_arena_free(arena);
		}
	}
	ok(good && nplayed > 0, "%s: the truth even without memory", table);
}

/*
 * Is an outcome right if every answer, whatever was asked, had this status?
 */
static bool
is_right(const Play *play, int status)
{
	BookingOutcomeKind kind = play->task.outcome.kind;
	bool		success = status == 200 || status == 204 ||
		(status == 201 && !fixture->wants_body);
	bool		gone = fixture->wants_body && status == 410;
	bool		proves_nothing = status < 300 || status == 408 ||
		status == 499 || (status >= 500 && status != 507);

	if (play->more || play->nwrites > 2)
		return false;
	if (play->nwrites > 0 && proves_nothing && !success)
		return kind == BOOKING_OUTCOME_UNKNOWN;
	switch (kind)
	{
		case BOOKING_OUTCOME_DONE:
			return play->nwrites > 0 && (success || gone);
		case BOOKING_OUTCOME_REJECTED:
			return play->nwrites > 0 &&
				((status >= 300 && status < 500) || status == 507) &&
				status != 421 && status != 423 && status != 424 &&
				status != 425 && status != 429;
		case BOOKING_OUTCOME_AUTH:
			return status == 401;
		case BOOKING_OUTCOME_CALENDAR_GONE:
			return status == 404 || status == 410;
		case BOOKING_OUTCOME_NOT_EXECUTED:
			return play->nwrites == 0 || status == 421 || status == 423 ||
				status == 424 || status == 425 || status == 429 || status == 403 ||
				status == 405 || status == 409;
		case BOOKING_OUTCOME_UNKNOWN:
			return play->nwrites > 0 && (!success || fixture->wants_body);
		case BOOKING_OUTCOME_FAILED:
			return play->job.kind == BOOKING_JOB_LOOKUP ||
				play->job.kind == BOOKING_JOB_CHECK;
		case BOOKING_OUTCOME_EQUAL:
		case BOOKING_OUTCOME_DIFFERENT:
		case BOOKING_OUTCOME_FOREIGN:
		case BOOKING_OUTCOME_ABSENT:
			break;
	}
	return false;
}

/*
 * Answer every request with the same status, for each status there can be,
 * with a body that says nothing.
 */
void
play_statuses(void)
{
	static const Scenario jobs[] = {
		{"create", BOOKING_JOB_CREATE},
		{"update", BOOKING_JOB_UPDATE, .etag = "\"e1\""},
		{"update without an ETag", BOOKING_JOB_UPDATE},
		{"cancel", BOOKING_JOB_CANCEL, .etag = "\"e1\""},
		{"cancel without an ETag", BOOKING_JOB_CANCEL},
		{"lookup of a create", BOOKING_JOB_LOOKUP, BOOKING_JOB_CREATE},
		{"lookup of an update", BOOKING_JOB_LOOKUP, BOOKING_JOB_UPDATE},
		{"lookup of a cancel", BOOKING_JOB_LOOKUP, BOOKING_JOB_CANCEL},
	};
	static const char *const bodies[] = {"", "<html>Nothing to see.</html>"};

	for (int i = 0; i < (int) (lengthof(jobs) * lengthof(bodies)); i++)
	{
		const Scenario *scenario = &jobs[i / lengthof(bodies)];
		const char *body = bodies[i % lengthof(bodies)];
		bool		good = true;

		for (int status = 0; status < 1000 && good; status++)
		{
			BookingArena *arena = booking_arena_create(ARENA_LIMIT);
			Play		play;
			char		text[200];

			snprintf(text, sizeof(text), "%d\n\n%s", status, body);
			begin(&play, scenario, arena);
			for (int n = 0; play.more && n <= BOOKING_MAX_STEPS; n++)
				answer(&play, text, arena);
			good = is_right(&play, status);
			if (!good)
			{
				note("answer", text);
				render_outcome(&play.task.outcome, text, sizeof(text));
				note("outcome", text);
			}
			booking_arena_free(arena);
		}
		ok(good, "every status, %s body: %s",
		   body[0] == '\0' ? "no" : "a strange", scenario->name);
	}
}

/*
 * The next of a fixed sequence of numbers that look random, below a limit.
 */
static int
pick(uint64 *seed, int limit)
{
	*seed = *seed * UINT64CONST(6364136223846793005) + UINT64CONST(1442695040888963407);
	return (int) ((*seed >> 33) % limit);
}

/*
 * Did this answer to a write leave no doubt?
 */
static bool
is_definite(const BookingHttpResponse *response)
{
	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
		return response->transport == BOOKING_TRANSPORT_NOT_SENT ||
			response->transport == BOOKING_TRANSPORT_REFUSED;
	return response->status != 202 && response->status != 303 &&
		response->status != 408 &&
		(response->status < 500 || response->status == 507);
}

/*
 * Play a job against a server that answers with anything from any scenario.
 * Whatever it says, a task makes few requests, all to its own origin, writes
 * only if it is a write, and stops at the first answer to a write that leaves
 * doubt; and nothing is refused or put off after a write that succeeded.
 */
static bool
play_at_random(const Scenario *scenario, const char *const *answers,
			   int nanswers, uint64 *seed)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	const char *origin = scenario->base_url ? scenario->base_url :
		fixture->origin;
	Play		play;
	bool		good = true;

	begin(&play, scenario, arena);
	while (good && play.more)
	{
		bool		write = !play.request.read;
		const char *text = answers[pick(seed, nanswers)];
		BookingHttpResponse response;

		good = strncmp(play.request.url, origin, strlen(origin)) == 0 &&
			play.task.nsteps <= BOOKING_MAX_STEPS &&
			(!write || scenario->kind < BOOKING_JOB_LOOKUP);
		parse_answer(text, arena, &response);
		answer(&play, text, arena);
		if (write && !is_definite(&response))
			good = good && !play.more &&
				play.task.outcome.kind == BOOKING_OUTCOME_UNKNOWN;
		if (write && !play.more && response.status >= 200 &&
			response.status < 206 && response.status != 202 &&
			!fixture->wants_body)
			good = good && play.task.outcome.kind == BOOKING_OUTCOME_DONE;
	}
	good = good && play.nwrites <= 2 &&
		is_harmless(play.task.outcome.message);
	booking_arena_free(arena);
	return good;
}

/*
 * Play every scenario's job many times against such a server.
 */
void
play_random(const Scenario *const *tables, int ntables)
{
	const char *answers[1000];
	int			nanswers = 0;
	uint64		seed = 1;

	for (int i = 0; i < ntables; i++)
	{
		for (const Scenario *scenario = tables[i]; scenario->name; scenario++)
		{
			for (const Turn *turn = scenario->turns; turn->request; turn++)
			{
				if (nanswers < (int) lengthof(answers))
					answers[nanswers++] = turn->answer;
			}
		}
	}
	for (int i = 0; i < ntables; i++)
	{
		bool		good = true;

		for (const Scenario *scenario = tables[i]; scenario->name; scenario++)
		{
			for (int n = 0; n < 200 && good; n++)
				good = play_at_random(scenario, answers, nanswers, &seed);
			if (!good)
			{
				note("scenario", scenario->name);
				break;
			}
		}
		ok(good, "any answer to anything: %s", tables[i][0].name);
	}
}

/*-------------------------------------------------------------------------
 *
 * proof.c
 *	  asks the provider about events that a listing does not show
 *
 * Each event is looked up by its identity, as after an uncertain cancel: the
 * adapter says "absent" only if the provider says that there is none and its
 * calendar answers.  Where so many are missing that it looks like a fault, the
 * calendar is checked by itself first, as booking_account_check() does.
 *
 * The questions of a round are put one at a time, so they take no more of the
 * account's share than the round has.  A calendar or account that does not
 * answer is asked no more in this round.  No transaction is there, and nothing
 * throws: most of this runs when an answer has come.
 *
 * IDENTIFICATION
 *	  booking/src/controller/proof.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "controller/limits.h"
#include "controller/proof.h"
#include "sync/suspects.h"

/* memory of one question: the answers of its requests */
#define QUESTION_LIMIT (16 * 1024 * 1024)

/* so many in a row that could not be answered are enough */
#define FAILURE_LIMIT 3

static void ask_next(BookingProof *proof);
static bool ask(BookingProof *proof, BookingJobKind kind,
				const BookingSuspect *suspect);
static void on_answer(void *arg, const BookingHttpResponse *response);
static void note_calendar(BookingProof *proof);
static void note_event(BookingProof *proof, BookingSuspect *suspect);
static void stop(BookingProof *proof, const char *reason);
static void doubt(BookingSuspect *suspect, const char *reason);

/*
 * Ask about those in hand.  done is called when all is said, which may be at
 * once.
 */
void
booking_proof_start(BookingProof *proof)
{
	proof->place = 0;
	proof->failures = 0;
	ask_next(proof);
}

/*
 * Let go of what answers are in.
 */
void
booking_proof_end(BookingProof *proof)
{
	booking_arena_free(proof->arena);
	booking_arena_free(proof->last);
	proof->arena = proof->last = NULL;
}

/*
 * Put the next question, or be done.
 */
static void
ask_next(BookingProof *proof)
{
	BookingSuspects *suspects = proof->suspects;

	if (suspects->many && !suspects->vouched && suspects->stopped[0] == '\0')
	{
		if (ask(proof, BOOKING_JOB_CHECK, NULL))
			return;
	}
	for (; proof->place < suspects->count; proof->place++)
	{
		BookingSuspect *suspect = &suspects->items[proof->place];

		if (suspect->event_id == NULL)
			continue;
		suspects->capped |= suspects->nasked >= BOOKING_MAX_ASKED;
		if (suspects->stopped[0] == '\0' && !suspects->capped &&
			ask(proof, BOOKING_JOB_LOOKUP, suspect))
			return;
		doubt(suspect, suspects->stopped);
	}
	proof->done(proof->arg);
}

/*
 * Put a question; false if there is none, or no memory for it.
 */
static bool
ask(BookingProof *proof, BookingJobKind kind, const BookingSuspect *suspect)
{
	booking_arena_free(proof->last);
	proof->last = proof->arena;
	proof->arena = booking_arena_create(QUESTION_LIMIT);
	if (proof->arena == NULL)
	{
		stop(proof, "out_of_memory");
		return false;
	}
	memset(&proof->job, 0, sizeof(proof->job));
	memset(&proof->task, 0, sizeof(proof->task));
	proof->job.kind = kind;
	proof->job.looked_up = BOOKING_JOB_CANCEL;
	proof->job.base_url = proof->base_url;
	proof->job.collection = proof->collection;
	if (suspect != NULL)
	{
		proof->job.event_id = suspect->event_id;
		proof->job.href = suspect->href;
		proof->suspects->nasked++;
	}
	proof->task.job = &proof->job;
	proof->task.arena = proof->arena;
	proof->provider->start(&proof->task, &proof->request);
	if (proof->request.method == NULL)
	{
		/* not even a question: nothing is proven */
		stop(proof, proof->task.outcome.problem != NULL ?
			 proof->task.outcome.problem : "lookup_failed");
		return false;
	}
	booking_http_start(proof->engine, &proof->request, proof->auth,
					   booking_http_limits(), proof->arena, on_answer, proof);
	return true;
}

/*
 * An answer came: the adapter asks on, or has an outcome.
 */
static void
on_answer(void *arg, const BookingHttpResponse *response)
{
	BookingProof *proof = arg;

	if (proof->provider->next(&proof->task, response, &proof->request))
	{
		booking_http_start(proof->engine, &proof->request, proof->auth,
						   booking_http_limits(), proof->arena, on_answer, proof);
		return;
	}
	if (proof->job.kind == BOOKING_JOB_CHECK)
		note_calendar(proof);
	else
		note_event(proof, &proof->suspects->items[proof->place++]);
	ask_next(proof);
}

/*
 * What the calendar says of itself.
 */
static void
note_calendar(BookingProof *proof)
{
	const BookingOutcome *outcome = &proof->task.outcome;

	if (outcome->kind == BOOKING_OUTCOME_DONE)
		proof->suspects->vouched = true;
	else
		stop(proof, outcome->problem != NULL ? outcome->problem :
			 "calendar_unproven");
	if (outcome->kind == BOOKING_OUTCOME_FAILED)
		proof->retry_after = Max(proof->retry_after, outcome->retry_after);
}

/*
 * What is said of an event.  Only one outcome proves that it is gone.
 */
static void
note_event(BookingProof *proof, BookingSuspect *suspect)
{
	const BookingOutcome *outcome = &proof->task.outcome;
	const char *problem = outcome->problem != NULL ? outcome->problem :
		"lookup_failed";

	if (booking_arena_failed(proof->arena))
	{
		doubt(suspect, "out_of_memory");
		return;
	}
	switch (outcome->kind)
	{
		case BOOKING_OUTCOME_ABSENT:
			suspect->absent = true;
			proof->suspects->nabsent++;
			proof->failures = 0;
			return;
		case BOOKING_OUTCOME_EQUAL:
		case BOOKING_OUTCOME_DIFFERENT:
			/* as the adapters call what a cancel should have removed */
			if (outcome->problem == NULL ||
				strcmp(problem, "still_present") == 0)
				problem = "not_listed";
			proof->failures = 0;
			break;
		case BOOKING_OUTCOME_FOREIGN:
			proof->failures = 0;
			break;
		case BOOKING_OUTCOME_AUTH:
		case BOOKING_OUTCOME_CALENDAR_GONE:
			stop(proof, problem);
			break;
		case BOOKING_OUTCOME_DONE:
		case BOOKING_OUTCOME_REJECTED:
		case BOOKING_OUTCOME_NOT_EXECUTED:
		case BOOKING_OUTCOME_UNKNOWN:
		case BOOKING_OUTCOME_FAILED:
			proof->retry_after = Max(proof->retry_after, outcome->retry_after);
			if (outcome->retry_after > 0 || outcome->status == 429 ||
				++proof->failures >= FAILURE_LIMIT)
				stop(proof, problem);
			break;
	}
	doubt(suspect, problem);
}

/*
 * Ask about no more events in this round.
 */
static void
stop(BookingProof *proof, const char *reason)
{
	strlcpy(proof->suspects->stopped, reason,
			sizeof(proof->suspects->stopped));
}

/*
 * Whether an event is gone is not proven.
 */
static void
doubt(BookingSuspect *suspect, const char *reason)
{
	strlcpy(suspect->doubt, reason, sizeof(suspect->doubt));
}

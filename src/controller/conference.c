/*-------------------------------------------------------------------------
 *
 * conference.c
 *	  where to take part in the conferences of bookings
 *
 * A provider makes a conference after the event that asks for it.  An event that
 * is there is a booking that is done, whatever becomes of its conference; so a
 * link that did not come with the event is asked for by itself, for a while,
 * and told in the detail of the booking when it is there.
 *
 * IDENTIFICATION
 *	  booking/src/controller/conference.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/conference.h"
#include "controller/errand.h"
#include "ledger/detail.h"
#include "ledger/lock.h"
#include "store/conference.h"
#include "store/store.h"

/* the first question comes so long after the event, each next one later */
#define FIRST_SECS 5
#define LAST_SECS 3600

/* questions, over some hours; then there will be no conference */
#define MOST_TRIES 12

/* the question about one event */
typedef struct Question
{
	BookingErrand errand;
	int			tries;			/* so far */
	BookingJob	job;
	BookingTask task;
} Question;

static bool next(BookingErrand *errand, const BookingHttpResponse *response);
static bool record(BookingCall *call, BookingErrand *errand);
static TimestampTz later(int tries);

static const BookingErrandKind kind = {next, record};

/*
 * Does an outcome say something of a conference?
 */
bool
booking_conference_told(const BookingOutcome *outcome)
{
	return outcome->conference != NULL ||
		(outcome->problem != NULL &&
		 strncmp(outcome->problem, "conference_", strlen("conference_")) == 0);
}

/*
 * Note what the outcome of a write says of the event's conference.  Returns what
 * the booking is to say of it, NULL for nothing.
 */
Jsonb *
booking_conference_note(BookingCall *call, const BookingOperation *operation,
						const BookingOutcome *outcome)
{
	BookingConferenceChange change = {operation->operation_id};
	BookingDetail detail;

	if (!booking_conference_told(outcome))
		return NULL;
	change.link = outcome->conference;
	change.problem = outcome->problem;
	change.state = outcome->conference != NULL ? "made" :
		strcmp(outcome->problem, "conference_pending") == 0 ? "pending" :
		"failed";
	change.next_at = later(0);
	change.now = call->now;
	booking_store_conference_put(&change);
	if (outcome->conference == NULL)
		return NULL;
	booking_detail_begin(&detail);
	booking_detail_word(&detail, "conference", outcome->conference);
	return booking_detail_end(&detail);
}

/*
 * Take the questions that are due in hand.
 */
void
booking_conference_lease(BookingCall *call)
{
	int			count;
	BookingConference *due =
		booking_store_conferences_due(booking_call_hold_clock(),
									  booking_load_full_keys(NIL),
									  booking_errand_ids(&kind),
									  booking_errand_room(), &count);

	for (int i = 0; i < count; i++)
	{
		BookingErrandAccount account = {
			due[i].provider, due[i].tenant, due[i].account, due[i].sealed,
			due[i].secret
		};
		Question   *question = (Question *)
			booking_errand_make(call, &kind, due[i].operation_id,
								sizeof(Question), &account);
		BookingJob *job;

		if (question == NULL)
			continue;
		job = &question->job;
		question->tries = due[i].tries;
		job->kind = BOOKING_JOB_CONFERENCE;
		job->base_url = booking_errand_copy(&question->errand, due[i].base_url);
		job->collection = booking_errand_copy(&question->errand, due[i].remote_id);
		job->event_id = booking_errand_copy(&question->errand, due[i].event_id);
		job->href = booking_errand_copy(&question->errand, due[i].href);
		question->task.job = job;
		question->task.arena = question->errand.arena;
		question->errand.provider->start(&question->task,
										 &question->errand.request);
	}
}

/*
 * When the next question is due; false if none is.
 */
bool
booking_conference_next_due(TimestampTz *next_at)
{
	return booking_store_conference_next_due(booking_errand_ids(&kind), next_at);
}

/*
 * Judge an answer.
 */
static bool
next(BookingErrand *errand, const BookingHttpResponse *response)
{
	Question   *question = (Question *) errand;

	return errand->provider->next(&question->task, response, &errand->request);
}

/*
 * Record what is known now; false while a caller has the lock of the booking.
 */
static bool
record(BookingCall *call, BookingErrand *errand)
{
	Question   *question = (Question *) errand;
	const BookingOutcome *outcome = &question->task.outcome;
	BookingConferenceChange change = {errand->id};
	BookingOperation *operation = booking_store_operation_read(errand->id);
	BookingIdentity identity;

	if (operation == NULL ||
		booking_store_intent_by_id(operation->intent_id, &identity) == NULL)
		return true;
	if (!booking_lock_intent_try(&identity))
		return false;
	change.state = "pending";
	change.tries = question->tries + 1;
	change.problem = outcome->problem;
	change.next_at = later(change.tries);
	change.now = call->now;
	booking_errand_hold_off(call, errand, outcome->retry_after);
	if (outcome->kind == BOOKING_OUTCOME_AUTH)
	{
		if (booking_errand_refused(call, errand))
			change.tries = question->tries;
	}
	else if (outcome->kind == BOOKING_OUTCOME_ABSENT)
	{
		change.state = "failed";
		change.problem = "event_gone";
	}
	else if (outcome->kind == BOOKING_OUTCOME_DONE)
	{
		booking_errand_accepted(errand);
		if (outcome->conference != NULL)
		{
			change.state = "made";
			change.link = outcome->conference;
			booking_store_conference_tell(operation->intent_id, outcome->conference);
		}
		else if (strcmp(outcome->problem, "conference_failed") == 0)
			change.state = "failed";
	}
	if (strcmp(change.state, "pending") == 0 && change.tries >= MOST_TRIES)
		change.state = "failed";
	booking_store_conference_put(&change);
	return true;
}

/*
 * When to ask again after some questions.
 */
static TimestampTz
later(int tries)
{
	int64		seconds = FIRST_SECS;

	for (int i = 0; i < tries && seconds < LAST_SECS; i++)
		seconds *= 2;
	return booking_call_hold_clock() + Min(seconds, LAST_SECS) * USECS_PER_SEC;
}

/*-------------------------------------------------------------------------
 *
 * reading.c
 *	  asking senders of deliveries for their bookings
 *
 * Acuity's deliveries have no times, so the appointment that one names is asked
 * for.  Deliveries of Cal.com and Calendly can get lost, so from time to time
 * their bookings that changed lately are listed.  What comes out is applied as
 * deliveries are: see webhook/found.c.
 *
 * A source has one request out at a time, for one appointment or one page; where
 * a listing goes on is kept in its row, so that no more than a page is in memory
 * and whoever goes on may be another worker.  A request that was lost is
 * repeated.  A credential that is refused parks the reading of its source, and
 * nothing else.
 *
 * IDENTIFICATION
 *	  booking/src/controller/reading.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "codec/webhook_reading.h"
#include "compat.h"
#include "controller/credential.h"
#include "controller/errand.h"
#include "controller/event.h"
#include "controller/reading.h"
#include "guc.h"
#include "store/reader.h"
#include "webhook/apply.h"

/* requests out at one time; the rest of the errands is for calendars */
#define READING_LIMIT 8

/* answers to one listing; then it is given up as too long */
#define PAGES_LIMIT 1000

/* until a request that nothing was recorded of is repeated */
#define LEASE_SECS 60

#define BACKOFF_FIRST_SECS 5
#define BACKOFF_LAST_SECS SECS_PER_HOUR

/* how an answer is to be taken */
typedef enum Verdict
{
	VERDICT_READ,				/* there is something */
	VERDICT_GONE,				/* there is no such appointment any more */
	VERDICT_AUTH,				/* the credential is refused */
	VERDICT_REFUSED,			/* the request is, and would be again */
	VERDICT_LATER				/* not now */
} Verdict;

/* a request about one source */
typedef struct ReadingErrand
{
	BookingErrand errand;
	const char *source;
	int64		delivery;		/* of Acuity, the one that is looked into */
	int			tries;			/* so far */
	int			pages;
	BookingReading reading;
	Verdict		verdict;
	const char *problem;
	int64		retry_after;	/* seconds, -1: not told */
	BookingReadingAnswer answer;	/* a page */
	BookingWebhookEvent event;	/* or an appointment */
} ReadingErrand;

/* a source that is to be taken in hand */
typedef struct Lease
{
	const BookingReader *reader;
	ReadingErrand *item;
	const char *problem;		/* why it cannot be */
} Lease;

/* a booking of a page */
typedef struct Found
{
	const char *source;
	const char *body;
	bool		news;
} Found;

static BookingReaderTimes times_now(void);
static void lease(BookingCall *call, const BookingReader *reader);
static void lease_item(BookingCall *call, void *arg);
static bool sign_in(Lease *work);
static void put_off_item(BookingCall *call, void *arg);
static bool is_set(const Jsonb *settings, const char *key);
static bool next(BookingErrand *errand, const BookingHttpResponse *response);
static Verdict judge(ReadingErrand *item, const BookingHttpResponse *response);
static void read_answer(ReadingErrand *item, const BookingHttpResponse *response);
static bool record(BookingCall *call, BookingErrand *errand);
static void record_read(BookingCall *call, ReadingErrand *item,
						BookingReaderChange *change);
static void take_found(BookingCall *call, void *arg);
static void record_refused(BookingCall *call, ReadingErrand *item,
						   BookingReaderChange *change);
static void record_failure(BookingCall *call, ReadingErrand *item,
						   BookingReaderChange *change);
static void raise_alarm(BookingCall *call, const ReadingErrand *item,
						int failures, const char *problem);
static int64 backoff(int tries);

static const BookingErrandKind kind = {next, record};

/*
 * Take sources in hand that are to be read.
 */
void
booking_reading_lease(BookingCall *call)
{
	BookingReaderTimes times = times_now();
	ArrayType  *in_hand = booking_errand_ids(&kind);
	int			room = Min(booking_errand_room(), READING_LIMIT -
						   ArrayGetNItems(ARR_NDIM(in_hand), ARR_DIMS(in_hand)));
	BookingReader *due;
	int			count;

	if (room <= 0)
		return;
	due = booking_store_readers_due(&times, in_hand, room, &count);
	for (int i = 0; i < count; i++)
		lease(call, &due[i]);
}

/*
 * When a source is to be read that is not in hand; false if none is.
 */
bool
booking_reading_next_due(TimestampTz *next_at)
{
	BookingReaderTimes times = times_now();

	return booking_store_reader_next_due(&times, booking_errand_ids(&kind),
										 next_at);
}

/*
 * The clock, and how often bookings are listed.
 */
static BookingReaderTimes
times_now(void)
{
	BookingReaderTimes times = {
		booking_call_hold_clock(), (int64) booking_webhook_list_interval * USECS_PER_SEC
	};

	return times;
}

/*
 * Take one in hand.  What is wrong with its credential must not keep the round
 * from all else.
 */
static void
lease(BookingCall *call, const BookingReader *reader)
{
	Lease		work = {reader};
	ErrorData  *error = booking_session_item(call, lease_item, &work);

	if (error == NULL && work.problem == NULL)
		return;
	if (work.item != NULL)
		booking_errand_drop(&work.item->errand);
	if (error != NULL)
	{
		ereport(LOG,
				(errmsg("booking: a source of webhooks could not be read: %s",
						error->message)));
		work.problem = "no credential can be used";
	}
	error = booking_session_item(call, put_off_item, &work);
	if (error != NULL)
		ereport(LOG,
				(errmsg("booking: the reading of a source of webhooks could not be put off: %s",
						error->message)));
}

/*
 * Build the request, in a subtransaction.
 */
static void
lease_item(BookingCall *call, void *arg)
{
	Lease	   *work = arg;
	const BookingReader *reader = work->reader;
	TimestampTz now = booking_call_hold_clock();
	TimestampTz since = reader->since;
	BookingWebhookDue *reads = NULL;
	BookingReadingSender sender = booking_reading_sender(reader->kind);
	ReadingErrand *item;
	int			count = 0;

	if (sender == BOOKING_READING_ACUITY)
	{
		reads = booking_store_inbox_reads(reader->source, 1, &count);
		if (count == 0)
			return;
	}
	else if (reader->position == NULL)
	{
		since = now - (int64) booking_webhook_list_past * USECS_PER_SEC;
		booking_store_reader_begin(reader->reader_id, since, now);
	}
	item = work->item = (ReadingErrand *)
		booking_errand_begin(&kind, reader->reader_id, sizeof(ReadingErrand));
	item->source = booking_errand_copy(&item->errand, text_to_cstring(reader->source));
	item->tries = reader->tries;
	item->pages = reader->position == NULL ? 0 : reader->pages;
	item->reading.sender = sender;
	item->reading.base_url = booking_errand_copy(&item->errand, reader->base_url);
	item->reading.position = booking_errand_copy(&item->errand, reader->position);
	item->reading.organization = is_set(reader->settings, "organization");
	item->reading.since = booking_unix_microseconds(since);
	if (reads != NULL)
	{
		item->delivery = reads[0].delivery;
		item->reading.booking = booking_errand_copy(&item->errand,
													text_to_cstring(reads[0].booking));
	}
	booking_store_reader_lease(reader->reader_id,
							   now + LEASE_SECS * USECS_PER_SEC);
	if (!sign_in(work))
		work->problem = "the credential was sealed with another key";
	else if (!booking_reading_request(&item->reading, item->errand.arena,
									  &item->errand.request))
		work->problem = "no request can be made";
}

/*
 * Open the credential; false if that cannot be.
 */
static bool
sign_in(Lease *work)
{
	const BookingReader *reader = work->reader;
	BookingSignin signin;

	return booking_credential_open(reader->secret, reader->sealed,
								   booking_reading_seal_context(text_to_cstring(reader->source),
																reader->base_url),
								   work->item->errand.arena,
								   &work->item->errand.auth, &signin);
}

/*
 * Leave a source alone for a while, in a subtransaction.  A listing begins anew
 * then.
 */
static void
put_off_item(BookingCall *call, void *arg)
{
	Lease	   *work = arg;
	BookingReaderChange change = {work->reader->reader_id};

	change.tries = work->reader->tries + 1;
	change.next_at = booking_call_hold_clock() +
		backoff(work->reader->tries) * USECS_PER_SEC;
	change.problem = work->problem;
	change.now = call->now;
	(void) booking_store_reader_change(&change);
}

/*
 * Is a setting true?
 */
static bool
is_set(const Jsonb *settings, const char *key)
{
	JsonbValue	value;

	return getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &settings->root),
										key, strlen(key), &value) != NULL &&
		value.type == jbvBool && value.val.boolean;
}

/*
 * Judge an answer.  No transaction, and nothing here throws.
 */
static bool
next(BookingErrand *errand, const BookingHttpResponse *response)
{
	ReadingErrand *item = (ReadingErrand *) errand;

	item->retry_after = response->retry_after;
	item->verdict = judge(item, response);
	if (item->verdict == VERDICT_READ)
		read_answer(item, response);
	return false;
}

/*
 * What a status means; with a problem, a word or a few, where it is none that is
 * hoped for.
 */
static Verdict
judge(ReadingErrand *item, const BookingHttpResponse *response)
{
	char		problem[32];

	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
	{
		item->problem = response->problem != NULL ? response->problem : "no answer";
		return VERDICT_LATER;
	}
	if (response->status >= 200 && response->status < 300)
		return VERDICT_READ;
	snprintf(problem, sizeof(problem), "status_%d", response->status);
	item->problem = booking_errand_copy(&item->errand, problem);
	if (item->problem == NULL)
		item->problem = "refused";
	if (response->status == 401 || response->status == 403)
		return VERDICT_AUTH;
	if (response->status == 404 && item->reading.sender == BOOKING_READING_ACUITY)
		return booking_reading_gone(response->body, response->body_len,
									item->errand.arena) ? VERDICT_GONE : VERDICT_LATER;
	return response->status == 429 || response->status == 408 ||
		response->status >= 500 ? VERDICT_LATER : VERDICT_REFUSED;
}

/*
 * Read what was answered.  What cannot be understood is none of a sender that
 * works, so it is asked for again, but for an appointment that is clear and of
 * no use.
 */
static void
read_answer(ReadingErrand *item, const BookingHttpResponse *response)
{
	if (item->reading.sender == BOOKING_READING_ACUITY)
	{
		booking_reading_appointment(&item->reading, response->body,
									response->body_len, item->errand.arena,
									&item->event);
		if (item->event.meaning == BOOKING_WEBHOOK_UNUSABLE &&
			item->event.booking == NULL)
			item->problem = "answer_unreadable";
	}
	else
	{
		booking_reading_page(&item->reading, response->body, response->body_len,
							 item->errand.arena, &item->answer);
		if (item->answer.problem != NULL)
			item->problem = "answer_unreadable";
	}
	if (item->problem != NULL)
		item->verdict = VERDICT_LATER;
}

/*
 * Record what came of it.
 */
static bool
record(BookingCall *call, BookingErrand *errand)
{
	ReadingErrand *item = (ReadingErrand *) errand;
	BookingReaderChange change = {errand->id};

	change.now = call->now;
	change.next_at = booking_call_hold_clock();
	change.pages = item->pages + 1;
	switch (item->verdict)
	{
		case VERDICT_GONE:
			item->event.meaning = BOOKING_WEBHOOK_ENDED;
			item->event.type = "appointment";
			item->event.booking = item->reading.booking;
			record_read(call, item, &change);
			break;
		case VERDICT_READ:
			record_read(call, item, &change);
			break;
		case VERDICT_AUTH:
			change.parked = true;
			record_failure(call, item, &change);
			break;
		case VERDICT_REFUSED:
			record_refused(call, item, &change);
			break;
		case VERDICT_LATER:
			change.position = item->reading.position;
			change.next_at += (item->retry_after > 0 ?
							   Min(item->retry_after, BACKOFF_LAST_SECS) :
							   backoff(item->tries)) * USECS_PER_SEC;
			record_failure(call, item, &change);
			break;
	}
	return true;
}

/*
 * Apply what was read, each booking by itself.
 */
static void
record_read(BookingCall *call, ReadingErrand *item, BookingReaderChange *change)
{
	BookingWebhookSource source;

	if (item->reading.sender == BOOKING_READING_ACUITY)
	{
		if (booking_store_webhook_source_read(cstring_to_text(item->source), &source) &&
			!source.removed)
			(void) booking_webhook_read(call, &source, item->delivery, &item->event);
		(void) booking_store_reader_change(change);
		return;
	}
	for (int i = 0; i < item->answer.count; i++)
	{
		Found		found = {item->source, item->answer.bodies[i]};
		ErrorData  *error = booking_session_item(call, take_found, &found);

		if (error != NULL)
			ereport(LOG,
					(errmsg("booking: what a source of webhooks told could not be applied: %s",
							error->message)));
		else if (found.news)
			change->found++;
	}
	change->position = item->answer.position;
	if (change->position != NULL && change->pages >= PAGES_LIMIT)
	{
		change->position = NULL;
		change->problem = "too_many_pages";
	}
	(void) booking_store_reader_change(change);
}

/*
 * Apply one booking of a page, in a subtransaction.
 */
static void
take_found(BookingCall *call, void *arg)
{
	Found	   *found = arg;
	BookingWebhookSource source;

	if (booking_store_webhook_source_read(cstring_to_text(found->source), &source) &&
		!source.removed)
		found->news = booking_webhook_found(call, &source, found->body);
}

/*
 * A request is refused that would be refused again.  Of Acuity that is about one
 * appointment, whose delivery is left to a person; a listing begins anew.
 */
static void
record_refused(BookingCall *call, ReadingErrand *item,
			   BookingReaderChange *change)
{
	if (item->reading.sender != BOOKING_READING_ACUITY)
	{
		change->next_at += backoff(item->tries) * USECS_PER_SEC;
		record_failure(call, item, change);
		return;
	}
	item->event.meaning = BOOKING_WEBHOOK_UNUSABLE;
	item->event.problem = "read_refused";
	record_read(call, item, change);
}

/*
 * Nothing was read.
 */
static void
record_failure(BookingCall *call, ReadingErrand *item,
			   BookingReaderChange *change)
{
	change->tries = item->tries + 1;
	change->problem = item->problem;
	if (booking_store_reader_change(change))
		raise_alarm(call, item, change->tries, item->problem);
}

/*
 * Raise the alarm, when it is time.
 */
static void
raise_alarm(BookingCall *call, const ReadingErrand *item, int failures,
			const char *problem)
{
	BookingWebhookSource source;

	if (booking_store_webhook_source_read(cstring_to_text(item->source), &source))
		booking_webhook_alarm(call, &source, "a webhook source cannot be read",
							  failures, problem);
}

/*
 * Seconds until the next try, and some by chance, so that sources do not come
 * all at once.
 */
static int64
backoff(int tries)
{
	int64		seconds = BACKOFF_FIRST_SECS;

	for (int i = 0; i < tries && seconds < BACKOFF_LAST_SECS; i++)
		seconds *= 2;
	seconds = Min(seconds, BACKOFF_LAST_SECS);
	return (int64) (seconds * (0.75 + 0.5 * pg_prng_double(&pg_global_prng_state)));
}

/*-------------------------------------------------------------------------
 *
 * provider.h
 *	  the interface of provider adapters
 *
 * An adapter is a step machine without I/O, clock or database: given a job it
 * builds the first request, and from each answer the next one or the outcome.
 * The controller persists what must be known before a request goes out, and
 * records the outcome.  An adapter never repeats a write by itself; a read it
 * may follow with the one conditional write that its contract proves safe.
 *
 * IDENTIFICATION
 *	  booking/src/provider/provider.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PROVIDER_H
#define BOOKING_PROVIDER_H

#include "codec/event.h"
#include "codec/exchange.h"
#include "codec/ical_expand.h"

/* what is to be done; CREATE, UPDATE and CANCEL write, the rest reads */
typedef enum BookingJobKind
{
	BOOKING_JOB_CREATE,
	BOOKING_JOB_UPDATE,
	BOOKING_JOB_CANCEL,
	BOOKING_JOB_LOOKUP,			/* what became of an uncertain write? */
	BOOKING_JOB_CHECK,			/* account and calendar: does it all work? */
	BOOKING_JOB_CONFERENCE		/* has the event's conference been made? */
} BookingJobKind;

typedef enum BookingOutcomeKind
{
	BOOKING_OUTCOME_DONE,		/* the write took effect; href, etag */
	BOOKING_OUTCOME_REJECTED,	/* certainly not, and never will as it is */
	BOOKING_OUTCOME_NOT_EXECUTED,	/* certainly not; later, same id */
	BOOKING_OUTCOME_UNKNOWN,	/* may have taken effect */
	BOOKING_OUTCOME_EQUAL,		/* lookup: ours, materially as wanted */
	BOOKING_OUTCOME_DIFFERENT,	/* ours, but not as wanted */
	BOOKING_OUTCOME_FOREIGN,	/* somebody else's event under our id */
	BOOKING_OUTCOME_ABSENT,		/* not there, and the calendar is; of a create
								 * with deleted_at_provider: its id is burnt */
	BOOKING_OUTCOME_AUTH,		/* credentials refused: park the account */
	BOOKING_OUTCOME_CALENDAR_GONE,	/* the calendar itself is not there */
	BOOKING_OUTCOME_FAILED		/* lookup or check: could not find out */
} BookingOutcomeKind;

typedef struct BookingOutcome
{
	BookingOutcomeKind kind;
	const char *href;			/* where the event is, NULL unchanged */
	const char *etag;			/* NULL: not known */
	const char *conference;		/* where to take part; NULL: nothing new is
								 * known, or nowhere */
	int64		retry_after;	/* seconds, -1 unless the provider said */
	const char *problem;		/* code, such as precondition_failed; NULL if none */
	const char *message;		/* capped, without secrets; NULL if none */
	int			status;			/* HTTP status it follows from, 0 none */
	bool		unreached;		/* it follows from a request that found no server */
} BookingOutcome;

/* everything a job needs, owned by the caller for the life of the job */
typedef struct BookingJob
{
	BookingJobKind kind;
	BookingJobKind looked_up;	/* LOOKUP: kind of the uncertain write */
	const char *base_url;		/* of the account; never leave this origin */
	const char *collection;		/* path or URL of the calendar, with slash */
	const char *event_id;		/* our single-use id */
	const char *href;			/* where the event is, NULL: where the id says */
	const char *etag;			/* as last known, NULL: not known */
	const BookingEvent *wanted; /* what the event must be materially */
	const BookingEvent *previous;	/* UPDATE, CANCEL: what we last left there */
	const char *body;			/* exact bytes to store */
	size_t		body_len;
} BookingJob;

/* lines of an account check, for people */
typedef struct BookingFinding
{
	const char *subject;
	bool		ok;
	const char *text;
} BookingFinding;

#define BOOKING_MAX_FINDINGS 16
#define BOOKING_MAX_STEPS 8

/* a job under way */
typedef struct BookingTask
{
	const BookingJob *job;
	BookingArena *arena;		/* of the task; outcome and requests are in it */
	int			step;			/* the adapter's own */
	int			nsteps;			/* requests made, at most BOOKING_MAX_STEPS */
	void	   *state;			/* the adapter's own, in the arena */
	BookingOutcome outcome;		/* valid when the task is finished */
	int			nfindings;
	BookingFinding findings[BOOKING_MAX_FINDINGS];
} BookingTask;

/*
 * Pulling: what a calendar holds, or what changed in it since a token.
 *
 * A listing comes first.  It names objects, and where the provider lists by
 * content brings them; whoever pulls then has those fetched, some at a time,
 * that it does not know in this version.  A listing of several pages goes on
 * at a page link; its token is valid only after the last page.
 */
typedef struct BookingPullJob
{
	const char *base_url;		/* of the account; never leave this origin */
	const char *collection;		/* path or URL of the calendar */
	const char *token;			/* of the last finished round; NULL: list all */
	const char *page;			/* link to go on at; NULL: from the start */
	int			failures;		/* earlier tries of this listing that failed */
	int64		from;			/* window [from, until) inside which the */
	int64		until;			/* occurrences of series are wanted */
} BookingPullJob;

typedef struct BookingPullItem
{
	const char *object;			/* the provider's identity of it */
	const char *etag;			/* NULL: not known */
	const char *data;			/* the object; NULL: not brought */
	size_t		data_len;
	bool		removed;
	bool		doubted;		/* gone, or out of sight: to be fetched if known */
	const char *problem;		/* why it cannot be brought, NULL if it can */
} BookingPullItem;

#define BOOKING_PULL_CHUNK 500

/* items of a listing, some at a time, since there may be very many */
typedef struct BookingPullChunk
{
	struct BookingPullChunk *next;
	int			nitems;
	BookingPullItem items[BOOKING_PULL_CHUNK];
} BookingPullChunk;

typedef enum BookingPullKind
{
	BOOKING_PULL_LISTED,		/* items, page or token, whole */
	BOOKING_PULL_FETCHED,		/* items, one for each that was asked for */
	BOOKING_PULL_TOO_LARGE,		/* ask for fewer objects at a time */
	BOOKING_PULL_EXPIRED,		/* token or page is not known any more */
	BOOKING_PULL_AUTH,			/* credentials refused: park the account */
	BOOKING_PULL_FAILED			/* later again, as it was */
} BookingPullKind;

/* bytes of a page's name, with its end; longer ones make a listing fail */
#define BOOKING_PULL_PAGE 8001

typedef struct BookingPullResult
{
	BookingPullKind kind;
	BookingPullChunk *items;	/* NULL: none */
	const char *page;			/* the listing goes on there; NULL: it is over */
	const char *token;			/* for the next round; with the last page */
	bool		whole;			/* what was not listed since its start is gone */
	int64		retry_after;	/* seconds, -1 unless the provider said */
	const char *problem;		/* code; NULL if none */
	int			status;			/* HTTP status it follows from, 0 none */
} BookingPullResult;

/* a pull under way; one request at a time */
typedef struct BookingPull
{
	const BookingPullJob *job;
	BookingArena *arena;		/* of the request and the result */
	int			step;			/* the adapter's own */
	int			nsteps;
	void	   *state;			/* the adapter's own, in the arena */
	BookingPullResult result;	/* valid when no request follows */
} BookingPull;

/*
 * Asking when calendars are busy, without their events.  What is not known of a
 * calendar must never be taken for free.
 */
typedef struct BookingBusyJob
{
	const char *base_url;		/* of the account; never leave this origin */
	const char *const *calendars;	/* addresses or names, as the provider has */
	int			ncalendars;		/* 1 to BOOKING_MAX_BUSY */
	int64		from;			/* asked for is [from, until) */
	int64		until;
	const char *collection;		/* a calendar of the account, in whose owner's
								 * name it is asked; NULL: of who signed in */
} BookingBusyJob;

#define BOOKING_MAX_BUSY 50

typedef struct BookingBusySpan
{
	int64		start;
	int64		end;
} BookingBusySpan;

typedef struct BookingBusyAnswer
{
	bool		known;			/* else the rest says nothing */
	const char *problem;		/* why it is not known; NULL if it is */
	int			nspans;
	BookingBusySpan *spans;
} BookingBusyAnswer;

typedef enum BookingBusyKind
{
	BOOKING_BUSY_TOLD,			/* calendars, in the order of the job */
	BOOKING_BUSY_NOT_TOLD,		/* the provider has no such question */
	BOOKING_BUSY_AUTH,			/* credentials refused: park the account */
	BOOKING_BUSY_FAILED			/* later again */
} BookingBusyKind;

typedef struct BookingBusy
{
	const BookingBusyJob *job;
	BookingArena *arena;		/* of the request and what is told */
	BookingBusyKind kind;		/* valid when no request follows */
	BookingBusyAnswer *calendars;
	int64		retry_after;	/* seconds, -1 unless the provider said */
	const char *problem;		/* code; NULL if none */
	int			status;			/* HTTP status it follows from, 0 none */
} BookingBusy;

/*
 * Being told at once that a calendar has changed.  What is told is nothing but a
 * reason to read it.
 */
typedef enum BookingChannelWish
{
	BOOKING_CHANNEL_OPEN,
	BOOKING_CHANNEL_RENEW,		/* where renews_channels says that it can be */
	BOOKING_CHANNEL_CLOSE
} BookingChannelWish;

typedef struct BookingChannelJob
{
	BookingChannelWish wish;
	const char *base_url;		/* of the account; never leave this origin */
	const char *collection;		/* path or URL of the calendar */
	const char *push_url;		/* where to be told, and of troubles, too */
	const char *channel;		/* our name for it, hexadecimal digits */
	const char *secret;			/* which comes with whatever is told */
	const char *remote;			/* the provider's name for it; NULL to open */
	int64		until;			/* when it may end */
} BookingChannelJob;

typedef enum BookingChannelKind
{
	BOOKING_CHANNEL_MADE,		/* it is open; remote, until */
	BOOKING_CHANNEL_GONE,		/* it is not, or not any more */
	BOOKING_CHANNEL_REFUSED,	/* and will be for a long while */
	BOOKING_CHANNEL_AUTH,		/* credentials refused: park the account */
	BOOKING_CHANNEL_LATER		/* not known what came of it: try again */
} BookingChannelKind;

typedef struct BookingChannelTask
{
	const BookingChannelJob *job;
	BookingArena *arena;		/* of the request and what is told */
	BookingChannelKind kind;	/* valid when no request follows */
	const char *remote;
	int64		until;			/* when it ends, by the provider; 0: not told */
	int64		retry_after;	/* seconds, -1 unless the provider said */
	const char *problem;		/* code; NULL if none */
	int			status;			/* HTTP status it follows from, 0 none */
} BookingChannelTask;

typedef struct BookingProvider
{
	const char *name;			/* as in booking_account_put */
	const char *base_url;		/* of accounts that name none; "": they must */
	const char *token_url;		/* of credentials that name none; "": likewise */
	const char *scope;			/* likewise */
	bool		names_events;	/* the id of an event is ours, known before it is */
	bool		tells_busy;		/* knows when calendars are busy by itself */
	bool		always_notifies;	/* attendees are mailed, whatever is wished */
	bool		lists_window;	/* a listing holds only what meets the window */
	bool		create_is_idempotent;	/* same id again makes no second event */
	bool		absence_is_proof;	/* lookup ABSENT allows sending again */
	bool		writes_in_series;	/* one write of a calendar at a time */
	bool		pushes;			/* tells at once of changes, if it is wished */
	bool		renews_channels;	/* else a new one is opened in time */
	int			max_in_flight;	/* requests of one account at a time */

	/*
	 * Body to store for an event; generated once, before the first send.
	 * Returns false when the event cannot be expressed.
	 */
	bool		(*write_body) (const BookingEvent *event, int64 stamp,
							   BookingArena *arena, char **body, size_t *len);

	/* Event of a stored body; false when it is not one of ours. */
	bool		(*read_body) (const char *body, size_t len,
							  BookingArena *arena, BookingEvent *event);

	/* Build the first request. */
	void		(*start) (BookingTask *task, BookingHttpRequest *request);

	/*
	 * Judge an answer.  Returns true with the next request, or false with
	 * task->outcome set.
	 */
	bool		(*next) (BookingTask *task, const BookingHttpResponse *response,
						 BookingHttpRequest *request);

	/*
	 * Begin a listing, or fetch objects that it named.  The arena is the
	 * caller's choice for each; what the strings of an earlier one are in may
	 * be gone.  Answers are judged by pull_next(), which returns true with
	 * the next request, or false with pull->result set.  A pull that is given
	 * up before that ends with pull_abandon().
	 */
	void		(*pull_list) (BookingPull *pull, BookingHttpRequest *request);
	void		(*pull_fetch) (BookingPull *pull, const char *const *objects,
							   int count, BookingHttpRequest *request);
	bool		(*pull_next) (BookingPull *pull,
							  const BookingHttpResponse *response,
							  BookingHttpRequest *request);
	void		(*pull_abandon) (BookingPull *pull);

	/*
	 * Occurrences of an object that a pull brought, in a window: see
	 * booking_ical_expand().  Returns NULL, or why nothing can be known, in
	 * words for people that say nothing of the event.  What is no event at all
	 * has no occurrences.
	 */
	const char *(*read_object) (const char *data, size_t len,
								const BookingExpandRequest *request,
								BookingArena *arena,
								BookingExpansion *expansion);

	/*
	 * Ask when calendars are busy, like start() and next().  Where tells_busy
	 * is false there is no request, and the kind is BOOKING_BUSY_NOT_TOLD.
	 */
	void		(*busy_start) (BookingBusy *busy, BookingHttpRequest *request);
	bool		(*busy_next) (BookingBusy *busy,
							  const BookingHttpResponse *response,
							  BookingHttpRequest *request);

	/*
	 * Open, renew or close a channel: one request, and what its answer means.
	 * Where pushes is false there is no request, and the kind is
	 * BOOKING_CHANNEL_REFUSED.
	 */
	void		(*channel_start) (BookingChannelTask *task,
								  BookingHttpRequest *request);
	void		(*channel_judge) (BookingChannelTask *task,
								  const BookingHttpResponse *response);
} BookingProvider;

extern const BookingProvider booking_provider_caldav;
extern const BookingProvider booking_provider_google;
extern const BookingProvider booking_provider_graph;

extern const BookingProvider *booking_provider_find(const char *name);
extern const BookingProvider *booking_provider_get(int place);
extern const char *booking_provider_names(void);

#endif							/* BOOKING_PROVIDER_H */

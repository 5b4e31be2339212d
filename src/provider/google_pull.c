/*-------------------------------------------------------------------------
 *
 * google_pull.c
 *	  lists what changed in a calendar of Google
 *
 * A listing is events.list, since a token or since ever, with singleEvents off:
 * events, recurring ones as themselves, and their exceptions.  With it on, a
 * series is a row for each instance until far beyond 2040, again with every
 * change of it, and of a series that was deleted only some instances are told
 * (googleapis/google-api-ruby-client#860), so that others would stay for ever.
 *
 * - An event that does not repeat comes with the listing.  Only what is kept is
 *	 asked for ("fields"), so titles and texts of others are not read at all.
 * - A recurring event, and the one that an exception belongs to, is named, and
 *	 its instances in the window are fetched: see google_series.c.
 * - What is "cancelled" is gone, but for an exception, which its series tells.
 *
 * The parameters are the same in every listing, as G-SYNC demands; "showDeleted"
 * is left out, because with a token deleted events are told in any case, and
 * without one they are not wanted (G-REF).  The token comes with the last page
 * only.  It is kept with a word in front that stands for the parameters, so
 * that one of another version of ours is not used with these.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_pull.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_write.h"
#include "provider/google.h"
#include "provider/report.h"
#include "provider/url.h"

#define TOKEN_KIND "events1:"

#define LIST_QUERY \
	"?fields=nextPageToken,nextSyncToken,items(" \
	"id,etag,status,start,end,transparency,sequence,iCalUID,eventType," \
	"recurringEventId,originalStartTime,recurrence," \
	"organizer%2Femail,attendees(email,responseStatus,optional,self)," \
	"extendedProperties%2Fprivate)&maxResults=250&singleEvents=false"

/* longer ones are no token of Google, and do not fit into a URL */
#define MAX_TOKEN 2000

/* longer ids do not fit into an index: at most 1024 are allowed (G-REF, id) */
#define MAX_OBJECT 1024

typedef enum PullStep
{
	STEP_NONE,					/* no request could be made */
	STEP_LIST,
	STEP_SERIES
} PullStep;

/* series that a page named, each once */
typedef struct Series
{
	struct Series *next;
	const char *id;
} Series;

/* a page that comes in */
typedef struct Page
{
	BookingArena *arena;
	BookingPullChunk *first;
	BookingPullChunk *last;
	Series	   *series;
} Page;

static const char *find_events(BookingPull *pull);
static const char *known_token(const char *token);
static bool listed(BookingPull *pull, const BookingHttpResponse *response);
static bool has_items(const BookingJson *json);
static bool not_listed(BookingPull *pull, const BookingHttpResponse *response);
static bool take_page(BookingPull *pull, const BookingJson *json, Page *page);
static void note_series(Page *page, const BookingJson *items);
static bool is_noted(const Page *page, const char *id);
static bool take_item(Page *page, const BookingJson *json);
static const char *keep_token(BookingPull *pull, const char *token);

/*
 * Begin a listing, or go on with it at a page.  A page is asked for with all
 * the parameters of the first one, its token among them (G-REF, pageToken).
 */
void
booking_google_pull_list(BookingPull *pull, BookingHttpRequest *request)
{
	const BookingPullJob *job = pull->job;
	const char *token = known_token(job->token);
	const char *events = find_events(pull);
	BookingBuffer url;

	memset(request, 0, sizeof(*request));
	if (events == NULL)
		return;
	if (job->token != NULL && token == NULL)
	{
		(void) booking_google_pull_fail(pull, NULL, "token_expired");
		pull->result.kind = BOOKING_PULL_EXPIRED;
		return;
	}
	booking_buffer_init(&url, pull->arena);
	(void) booking_buffer_add_text(&url, events);
	(void) booking_buffer_add_text(&url, LIST_QUERY);
	for (int i = 0; i < 2; i++)
	{
		const char *value = i == 0 ? token : job->page;
		char	   *encoded;

		if (value == NULL)
			continue;
		encoded = booking_rest_segment(pull->arena, value);
		if (encoded == NULL)
			break;
		(void) booking_buffer_add_text(&url, i == 0 ? "&syncToken=" :
									   "&pageToken=");
		(void) booking_buffer_add_text(&url, encoded);
	}
	if (booking_arena_failed(pull->arena))
	{
		(void) booking_google_pull_fail(pull, NULL, "out_of_memory");
		return;
	}
	pull->step = STEP_LIST;
	request->method = "GET";
	request->url = url.data;
	request->read = true;
}

/*
 * Begin to fetch series that a listing named.
 */
void
booking_google_pull_fetch(BookingPull *pull, const char *const *objects,
						  int count, BookingHttpRequest *request)
{
	const char *events = find_events(pull);

	memset(request, 0, sizeof(*request));
	if (events == NULL)
		return;
	pull->step = STEP_SERIES;
	booking_google_series_begin(pull, events, objects, count, request);
	if (request->method == NULL)
		pull->step = STEP_NONE;
}

/*
 * Judge an answer by the step it belongs to.
 */
bool
booking_google_pull_next(BookingPull *pull, const BookingHttpResponse *response,
						 BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	switch ((PullStep) pull->step)
	{
		case STEP_NONE:
			return false;
		case STEP_LIST:
			return listed(pull, response);
		case STEP_SERIES:
			return booking_google_series_next(pull, response, request);
	}
	return false;
}

/*
 * Everything is in the arena.
 */
void
booking_google_pull_abandon(BookingPull *pull)
{
	pull->step = STEP_NONE;
}

/*
 * URL of the events of the calendar; NULL, and the pull has failed, if there is
 * none.  Begins with nothing.
 */
static const char *
find_events(BookingPull *pull)
{
	const char *problem = "bad_url";
	const char *base;
	const char *calendar;
	char	   *url;

	memset(&pull->result, 0, sizeof(pull->result));
	pull->step = STEP_NONE;
	pull->nsteps = 0;
	pull->state = NULL;
	base = booking_google_base(pull->arena, pull->job->base_url, &problem);
	if (base == NULL || pull->job->collection == NULL)
	{
		(void) booking_google_pull_fail(pull, NULL, problem);
		return NULL;
	}
	calendar = booking_google_calendar(pull->arena, base,
									   pull->job->collection);
	if (calendar == NULL ||
		booking_url_member(calendar, "events", "", pull->arena,
						   &url) != BOOKING_URL_OK)
	{
		(void) booking_google_pull_fail(pull, NULL, "out_of_memory");
		return NULL;
	}
	return url;
}

/*
 * What Google called a token that is kept; NULL if it is of another kind.
 */
static const char *
known_token(const char *token)
{
	size_t		len = strlen(TOKEN_KIND);

	return token != NULL && strncmp(token, TOKEN_KIND, len) == 0 ?
		token + len : NULL;
}

/*
 * The answer to a listing.
 */
static bool
listed(BookingPull *pull, const BookingHttpResponse *response)
{
	const BookingJson *json;
	const char *next;
	const char *token;
	Page		page;

	if (!booking_rest_answered(response, 200))
		return not_listed(pull, response);
	if (booking_json_read(response->body, response->body_len, pull->arena,
						  &json) != BOOKING_JSON_OK ||
		json->kind != BOOKING_JSON_OBJECT || !has_items(json))
		return booking_google_pull_fail(pull, response, "answer_unreadable");
	next = booking_json_text(json, "nextPageToken");
	token = booking_json_text(json, "nextSyncToken");

	/* a page is one or the other; without both the listing was cut somewhere */
	if ((next == NULL) == (token == NULL) ||
		strlen(next != NULL ? next : token) > MAX_TOKEN)
		return booking_google_pull_fail(pull, response, "answer_incomplete");
	if (next != NULL && pull->job->page != NULL &&
		strcmp(next, pull->job->page) == 0)
		return booking_google_pull_fail(pull, response, "no_progress");

	memset(&page, 0, sizeof(page));
	page.arena = pull->arena;
	if (!take_page(pull, json, &page))
		return booking_google_pull_fail(pull, response, "listing_too_large");
	pull->result.kind = BOOKING_PULL_LISTED;
	pull->result.retry_after = -1;
	pull->result.items = page.first;
	pull->result.whole = pull->job->token == NULL;
	pull->result.page = next;
	pull->result.token = token == NULL ? NULL : keep_token(pull, token);
	if (booking_arena_failed(pull->arena))
		return booking_google_pull_fail(pull, response, "listing_too_large");
	return false;
}

/*
 * Has a page a list of items, or at least nothing else by that name?  Part of a
 * response may be left out where it is empty.
 */
static bool
has_items(const BookingJson *json)
{
	const BookingJson *items = booking_json_member(json, "items");

	return items == NULL || items->kind == BOOKING_JSON_ARRAY;
}

/*
 * A listing was refused.  410 says that the token is dead (G-ERR,
 * fullSyncRequired; updatedMinTooLongAgo is its twin for another parameter),
 * unless it says "deleted", which is about the calendar.  400 with a token or a
 * page means that Google does not know it, or not with these parameters.
 */
static bool
not_listed(BookingPull *pull, const BookingHttpResponse *response)
{
	bool		ours = pull->job->token != NULL || pull->job->page != NULL;
	const char *reason = NULL;

	if (booking_rest_answered(response, 410))
		reason = booking_google_reason(response->body, response->body_len,
									   pull->arena);
	if ((booking_rest_answered(response, 410) &&
		 (reason == NULL || strcmp(reason, "deleted") != 0)) ||
		(booking_rest_answered(response, 400) && ours))
	{
		(void) booking_google_pull_fail(pull, response, "token_expired");
		pull->result.kind = BOOKING_PULL_EXPIRED;
		return false;
	}
	return booking_google_pull_fail(pull, response, NULL);
}

/*
 * The pull failed; response is NULL if no answer is to blame.
 */
bool
booking_google_pull_fail(BookingPull *pull, const BookingHttpResponse *response,
						 const char *problem)
{
	BookingPullResult *result = &pull->result;

	memset(result, 0, sizeof(*result));
	result->kind = BOOKING_PULL_FAILED;
	result->retry_after = response == NULL ? -1 : response->retry_after;
	result->status = response == NULL ? 0 : response->status;
	result->problem = problem;
	if (response == NULL || problem != NULL)
		return false;
	result->problem = booking_report_problem(pull->arena, response);
	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
		return false;
	if (response->status == 401)
		result->kind = BOOKING_PULL_AUTH;
	else if (response->status == 404 || response->status == 410)
		result->problem = "calendar_gone";
	else if (response->status == 403)
	{
		if (booking_google_refusal(pull->arena, response,
								   &result->problem) == BOOKING_GOOGLE_QUOTA)
			result->retry_after = Max(result->retry_after,
									  BOOKING_GOOGLE_QUOTA_PAUSE);
	}
	return false;
}

/*
 * Take in the items of a page; false when they do not fit.
 */
static bool
take_page(BookingPull *pull, const BookingJson *json, Page *page)
{
	const BookingJson *items = booking_json_elements(json, "items");

	note_series(page, items);
	for (const BookingJson *at = items; at != NULL; at = at->next)
	{
		if (!take_item(page, at))
			return false;
	}
	for (const Series *at = page->series; at != NULL; at = at->next)
	{
		BookingPullItem *item = booking_google_item(page->arena, &page->first,
													&page->last);

		if (item == NULL)
			return false;
		item->object = at->id;
	}
	return !booking_arena_failed(page->arena);
}

/*
 * Note the series that exceptions of a page belong to.  Of these no version is
 * known: that of the recurring event need not have changed with them.
 */
static void
note_series(Page *page, const BookingJson *items)
{
	for (const BookingJson *at = items; at != NULL; at = at->next)
	{
		const char *id = booking_json_text(at, "recurringEventId");
		Series	   *series;

		if (id == NULL || strlen(id) > MAX_OBJECT || is_noted(page, id))
			continue;
		series = booking_arena_alloc(page->arena, sizeof(*series));
		if (series == NULL)
			return;
		series->id = id;
		series->next = page->series;
		page->series = series;
	}
}

/*
 * Is a series noted?
 */
static bool
is_noted(const Page *page, const char *id)
{
	for (const Series *at = page->series; at != NULL; at = at->next)
	{
		if (strcmp(at->id, id) == 0)
			return true;
	}
	return false;
}

/*
 * Take in one event.  An exception is told with its series, and so is a
 * recurring event that has exceptions on this page.
 */
static bool
take_item(Page *page, const BookingJson *json)
{
	const char *id = booking_json_text(json, "id");
	const char *status = booking_json_text(json, "status");
	bool		gone = status != NULL && strcmp(status, "cancelled") == 0;
	BookingPullItem *item;
	BookingJsonWriter writer;

	if (id == NULL || strlen(id) > MAX_OBJECT ||
		booking_json_text(json, "recurringEventId") != NULL ||
		(!gone && is_noted(page, id)))
		return true;
	item = booking_google_item(page->arena, &page->first, &page->last);
	if (item == NULL)
		return false;
	item->object = id;
	item->removed = gone;
	if (gone)
		return true;
	item->etag = booking_rest_etag(booking_json_text(json, "etag"));
	if (booking_json_elements(json, "recurrence") != NULL)
		return true;
	booking_json_begin(&writer, page->arena);
	booking_json_put_value(&writer, NULL, json);
	item->data = booking_json_end(&writer, &item->data_len);
	return item->data != NULL;
}

/*
 * A token as it is kept; NULL when memory is short.
 */
static const char *
keep_token(BookingPull *pull, const char *token)
{
	BookingBuffer buffer;

	booking_buffer_init(&buffer, pull->arena);
	(void) booking_buffer_add_text(&buffer, TOKEN_KIND);
	return booking_buffer_add_text(&buffer, token) ? buffer.data : NULL;
}

/*
 * Room for one more item; NULL when memory is short.
 */
BookingPullItem *
booking_google_item(BookingArena *arena, BookingPullChunk **first,
					BookingPullChunk **last)
{
	BookingPullChunk *chunk = *last;

	if (chunk == NULL || chunk->nitems == BOOKING_PULL_CHUNK)
	{
		BookingPullChunk *more = booking_arena_alloc(arena, sizeof(*more));

		if (more == NULL)
			return NULL;
		if (chunk == NULL)
			*first = more;
		else
			chunk->next = more;
		*last = chunk = more;
	}
	return &chunk->items[chunk->nitems++];
}

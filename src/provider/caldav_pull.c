/*-------------------------------------------------------------------------
 *
 * caldav_pull.c
 *	  lists what changed in a CalDAV calendar, and fetches it
 *
 * A listing is a sync-collection report (RFC 6578): since a token, or since
 * ever, which names all members and brings a token that fits them.  A server
 * that knows no such report is asked for the tag of its collection and, when
 * that has changed, for all members.  Tokens are kept with a word in front that
 * says which kind they are, so that a round knows how the last one was made.
 *
 * Objects are fetched with calendar-multiget, by the names that the listing
 * brought.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_pull.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/buffer.h"
#include "codec/dav.h"
#include "provider/caldav.h"
#include "provider/report.h"
#include "provider/url.h"

#define XML_TYPE "application/xml; charset=utf-8"

#define SYNC_TOKEN "sync:"
#define TAG_TOKEN "ctag:"

/* longer ones are no token of a server that means well */
#define MAX_TOKEN 2000

/* a chunk with room for one item */
#define BAD_SIZE (offsetof(BookingPullChunk, items) + sizeof(BookingPullItem))

/* which request an answer belongs to; kept in BookingPull.step */
typedef enum PullStep
{
	STEP_NONE,					/* no request could be made */
	STEP_SYNC,
	STEP_TAG,
	STEP_MEMBERS,
	STEP_FETCH
} PullStep;

/* kept in BookingPull.state */
typedef struct PullState
{
	const char *collection;		/* URL, ends in a slash */
	const char *sent;			/* sync token that was sent, "" for none */
	const char *tag;			/* of the collection, "" if it has none */
	BookingCaldavListing *listing;	/* NULL: none comes in */
	bool		refused;		/* the last one, by us, before it had ended */
	const char *const *objects; /* that are fetched */
	int			nobjects;
	BookingPullChunk *last;		/* of the items fetched */
	BookingPullChunk *bad;		/* room to say that one cannot be had */
} PullState;

static PullState *begin(BookingPull *pull, BookingHttpRequest *request);
static bool find_collection(BookingPull *pull, PullState *state);
static bool ask(BookingPull *pull, PullStep step, const char *depth,
				char *body, BookingHttpRequest *request);
static bool ask_sync(BookingPull *pull, const char *token,
					 BookingHttpRequest *request);
static bool ask_tag(BookingPull *pull, BookingHttpRequest *request);
static bool ask_members(BookingPull *pull, BookingHttpRequest *request);
static bool listen(BookingPull *pull, BookingHttpRequest *request);
static BookingDavFault end_listing(BookingPull *pull, const char **token);
static const char *listing_problem(const BookingPull *pull,
								   BookingDavFault fault);
static bool fail(BookingPull *pull, const BookingHttpResponse *response,
				 const char *problem);
static bool expire(BookingPull *pull, const BookingHttpResponse *response);
static bool synced(BookingPull *pull, const BookingHttpResponse *response,
				   BookingHttpRequest *request);
static bool not_synced(BookingPull *pull, const BookingHttpResponse *response,
					   BookingHttpRequest *request);
static bool tagged(BookingPull *pull, const BookingHttpResponse *response,
				   BookingHttpRequest *request);
static bool members_told(BookingPull *pull, const BookingHttpResponse *response);
static bool fetched(BookingPull *pull, const BookingHttpResponse *response);
static bool fetch_less(BookingPull *pull, const BookingHttpResponse *response,
					   const char *problem);
static bool bring(BookingPull *pull, const char *object,
				  const BookingDavMultistatus *multistatus, int *hint);
static bool answered(const BookingHttpResponse *response);
static const char *token_of(BookingPull *pull, const char *kind,
							const char *value);
static const char *value_of(const char *token, const char *kind);

/*
 * Begin a listing.
 */
void
booking_caldav_pull_list(BookingPull *pull, BookingHttpRequest *request)
{
	const BookingPullJob *job = pull->job;
	const char *from = job->page != NULL ? job->page : job->token;
	PullState  *state = begin(pull, request);

	if (state == NULL || !find_collection(pull, state))
		return;
	if (from != NULL && value_of(from, TAG_TOKEN) != NULL)
		(void) ask_tag(pull, request);
	else
		(void) ask_sync(pull, from == NULL ? "" : value_of(from, SYNC_TOKEN),
						request);
}

/*
 * Begin to fetch objects that a listing named.
 */
void
booking_caldav_pull_fetch(BookingPull *pull, const char *const *objects,
						  int count, BookingHttpRequest *request)
{
	PullState  *state = begin(pull, request);

	if (state == NULL || !find_collection(pull, state))
		return;
	state->objects = objects;
	state->nobjects = count;
	state->bad = booking_arena_alloc(pull->arena, BAD_SIZE);
	(void) ask(pull, STEP_FETCH, "1",
			   booking_dav_multiget(pull->arena, objects, count), request);
}

/*
 * Judge an answer by the step it belongs to.
 */
bool
booking_caldav_pull_next(BookingPull *pull, const BookingHttpResponse *response,
						 BookingHttpRequest *request)
{
	memset(request, 0, sizeof(*request));
	switch ((PullStep) pull->step)
	{
		case STEP_NONE:
			return false;
		case STEP_SYNC:
			return synced(pull, response, request);
		case STEP_TAG:
			return tagged(pull, response, request);
		case STEP_MEMBERS:
			return members_told(pull, response);
		case STEP_FETCH:
			return fetched(pull, response);
	}
	return false;
}

/*
 * Let go of what is not in the arena.
 */
void
booking_caldav_pull_abandon(BookingPull *pull)
{
	PullState  *state = pull->state;
	const char *token;

	if (state != NULL && state->listing != NULL)
		(void) end_listing(pull, &token);
}

/*
 * Begin with nothing; NULL, and the pull has failed, when memory is short.
 */
static PullState *
begin(BookingPull *pull, BookingHttpRequest *request)
{
	PullState  *state = booking_arena_alloc(pull->arena, sizeof(*state));

	memset(request, 0, sizeof(*request));
	memset(&pull->result, 0, sizeof(pull->result));
	pull->step = STEP_NONE;
	pull->nsteps = 0;
	pull->state = state;
	if (state == NULL)
		(void) fail(pull, NULL, "out_of_memory");
	return state;
}

/*
 * Find the URL of the calendar, on the account's own origin.
 */
static bool
find_collection(BookingPull *pull, PullState *state)
{
	char	   *url;
	BookingUrlFault fault = booking_url_join(pull->job->base_url,
											 pull->job->collection,
											 pull->arena, &url);

	if (fault == BOOKING_URL_OK)
		fault = booking_url_member(url, "", "", pull->arena, &url);
	if (fault != BOOKING_URL_OK)
		return fail(pull, NULL,
					fault == BOOKING_URL_ORIGIN ? "origin_mismatch" :
					fault == BOOKING_URL_MEMORY ? "out_of_memory" : "bad_url");
	state->collection = url;
	return true;
}

/*
 * Build a request for the collection.  Reading twice does no harm, so an open
 * connection will do.
 */
static bool
ask(BookingPull *pull, PullStep step, const char *depth, char *body,
	BookingHttpRequest *request)
{
	PullState  *state = pull->state;

	memset(request, 0, sizeof(*request));
	if (body == NULL)
		return fail(pull, NULL, "out_of_memory");
	if (pull->nsteps++ >= BOOKING_MAX_STEPS)
		return fail(pull, NULL, "too_many_steps");
	pull->step = step;
	request->method = step == STEP_SYNC || step == STEP_FETCH ? "REPORT" :
		"PROPFIND";
	request->url = state->collection;
	request->read = true;
	request->follow = true;
	request->headers[0].name = "Depth";
	request->headers[0].value = depth;
	request->headers[1].name = "Content-Type";
	request->headers[1].value = XML_TYPE;
	request->nheaders = 2;
	request->body = body;
	request->body_len = strlen(body);
	return true;
}

/*
 * Ask what changed since a sync token; "" for all.
 */
static bool
ask_sync(BookingPull *pull, const char *token, BookingHttpRequest *request)
{
	PullState  *state = pull->state;

	state->sent = token == NULL ? "" : token;
	return ask(pull, STEP_SYNC, "0",
			   booking_dav_sync(pull->arena, state->sent), request) &&
		listen(pull, request);
}

/*
 * Ask for the tag of the collection.
 */
static bool
ask_tag(BookingPull *pull, BookingHttpRequest *request)
{
	return ask(pull, STEP_TAG, "0", booking_dav_propfind_ctag(pull->arena),
			   request);
}

/*
 * Ask for all members.
 */
static bool
ask_members(BookingPull *pull, BookingHttpRequest *request)
{
	return ask(pull, STEP_MEMBERS, "1",
			   booking_dav_propfind_members(pull->arena), request) &&
		listen(pull, request);
}

/*
 * Have the answer's body taken in as it comes.
 */
static bool
listen(BookingPull *pull, BookingHttpRequest *request)
{
	PullState  *state = pull->state;

	state->listing = booking_caldav_listing_begin(pull->arena,
												  pull->job->base_url,
												  state->collection);
	if (state->listing == NULL)
	{
		memset(request, 0, sizeof(*request));
		return fail(pull, NULL, "out_of_memory");
	}
	request->sink = booking_caldav_listing_sink;
	request->sink_arg = state->listing;
	return true;
}

/*
 * The listing is over: its items are the result's.
 */
static BookingDavFault
end_listing(BookingPull *pull, const char **token)
{
	PullState  *state = pull->state;
	BookingDavFault fault = booking_caldav_listing_end(state->listing, token);

	pull->result.items = state->listing->first;
	state->refused = state->listing->refused;
	state->listing = NULL;
	return fault;
}

/*
 * What was wrong with a listing that is no whole answer, if we are to say; NULL
 * if that is known of the way it came.
 */
static const char *
listing_problem(const BookingPull *pull, BookingDavFault fault)
{
	const PullState *state = pull->state;

	if (fault == BOOKING_DAV_TOO_LARGE)
		return "listing_too_large";
	return state->refused ? "answer_unreadable" : NULL;
}

/*
 * The pull failed; response is NULL if no answer is to blame.
 */
static bool
fail(BookingPull *pull, const BookingHttpResponse *response,
	 const char *problem)
{
	memset(&pull->result, 0, sizeof(pull->result));
	pull->result.kind = BOOKING_PULL_FAILED;
	pull->result.retry_after = response == NULL ? -1 : response->retry_after;
	pull->result.status = response == NULL ? 0 : response->status;
	if (response != NULL && response->transport == BOOKING_TRANSPORT_COMPLETE)
	{
		if (response->status == 401)
			pull->result.kind = BOOKING_PULL_AUTH;
		else if (response->status == 404 && problem == NULL)
			problem = "calendar_gone";
	}
	pull->result.problem = problem != NULL || response == NULL ? problem :
		booking_report_problem(pull->arena, response);
	return false;
}

/*
 * The server does not know the token any more.
 */
static bool
expire(BookingPull *pull, const BookingHttpResponse *response)
{
	(void) fail(pull, response, "token_expired");
	pull->result.kind = BOOKING_PULL_EXPIRED;
	return false;
}

/*
 * The answer to a sync-collection report.
 */
static bool
synced(BookingPull *pull, const BookingHttpResponse *response,
	   BookingHttpRequest *request)
{
	PullState  *state = pull->state;
	bool		truncated;
	const char *token = NULL;
	BookingDavFault fault;

	truncated = state->listing->truncated;
	fault = end_listing(pull, &token);
	if (!answered(response))
	{
		if (response->transport == BOOKING_TRANSPORT_COMPLETE)
			return not_synced(pull, response, request);
		return fail(pull, response, listing_problem(pull, fault));
	}
	if (fault == BOOKING_DAV_TOO_LARGE)
		return fail(pull, response, "listing_too_large");
	if (fault == BOOKING_DAV_MALFORMED)
		return fail(pull, response, "answer_unreadable");
	if (token == NULL || token[0] == '\0' || strlen(token) > MAX_TOKEN)
		return ask_tag(pull, request);	/* it is no such server */

	pull->result.kind = BOOKING_PULL_LISTED;
	pull->result.whole = pull->job->token == NULL;
	if (!truncated)
		pull->result.token = token_of(pull, SYNC_TOKEN, token);
	else if (strcmp(token, state->sent) == 0)
		return fail(pull, response, "no_progress");
	else
		pull->result.page = token_of(pull, SYNC_TOKEN, token);
	if (booking_arena_failed(pull->arena))
		return fail(pull, response, "listing_too_large");
	return false;
}

/*
 * A sync-collection report was refused.  RFC 6578 names the condition for a
 * token that is not known any more, but not the status; Xandikos breaks down
 * over one.  Whoever knows no such report says so in many ways, and top-level
 * 507 means that all at once is too much for it.
 */
static bool
not_synced(BookingPull *pull, const BookingHttpResponse *response,
		   BookingHttpRequest *request)
{
	PullState  *state = pull->state;
	BookingDavError error;

	memset(&error, 0, sizeof(error));
	if (response->status >= 400 && response->body_len > 0)
		(void) booking_dav_read_error(response->body, response->body_len,
									  pull->arena, &error);
	if (error.valid_sync_token || response->status == 410)
		return expire(pull, response);
	if (error.need_privileges)
		return fail(pull, response, "need_privileges");
	switch (response->status)
	{
		case 400:
		case 403:
		case 405:
		case 415:
		case 501:
		case 507:
			return ask_tag(pull, request);
		case 500:
			if (state->sent[0] != '\0' && pull->job->failures > 0)
				return expire(pull, response);
			break;
		default:
			break;
	}
	return fail(pull, response, NULL);
}

/*
 * The answer to the question for the tag of the collection.
 */
static bool
tagged(BookingPull *pull, const BookingHttpResponse *response,
	   BookingHttpRequest *request)
{
	PullState  *state = pull->state;
	const char *known = pull->job->token == NULL ? NULL :
		value_of(pull->job->token, TAG_TOKEN);
	BookingDavMultistatus multistatus;

	if (!answered(response))
		return fail(pull, response, NULL);
	if (booking_dav_read_multistatus(response->body, response->body_len,
									 pull->arena,
									 &multistatus) != BOOKING_DAV_OK)
		return fail(pull, response, "answer_unreadable");

	state->tag = "";
	for (int i = 0; i < multistatus.nresources; i++)
	{
		const char *tag = multistatus.resources[i].ctag;

		if (tag != NULL && strlen(tag) <= MAX_TOKEN)
			state->tag = tag;
	}
	if (known == NULL || known[0] == '\0' || strcmp(known, state->tag) != 0)
		return ask_members(pull, request);

	pull->result.kind = BOOKING_PULL_LISTED;
	pull->result.token = pull->job->token;
	return false;
}

/*
 * The answer to the question for all members.  What is no calendar has no
 * members that could be gone.
 */
static bool
members_told(BookingPull *pull, const BookingHttpResponse *response)
{
	PullState  *state = pull->state;
	bool		is_calendar = state->listing->seen_calendar;
	const char *token;
	BookingDavFault fault = end_listing(pull, &token);

	if (fault == BOOKING_DAV_TOO_LARGE)
		return fail(pull, response, "listing_too_large");
	if (!answered(response))
		return fail(pull, response, listing_problem(pull, fault));
	if (fault != BOOKING_DAV_OK)
		return fail(pull, response, "answer_unreadable");
	if (!is_calendar)
		return fail(pull, response, "not_a_calendar");

	pull->result.kind = BOOKING_PULL_LISTED;
	pull->result.whole = true;
	pull->result.token = token_of(pull, TAG_TOKEN, state->tag);
	if (pull->result.token == NULL)
		return fail(pull, response, "listing_too_large");
	return false;
}

/*
 * The answer with the objects.  One that makes it unreadable must not keep the
 * others away, so fewer are asked for until it is alone.
 */
static bool
fetched(BookingPull *pull, const BookingHttpResponse *response)
{
	PullState  *state = pull->state;
	BookingDavMultistatus multistatus;
	int			hint = 0;

	if (response->transport == BOOKING_TRANSPORT_TOO_LARGE)
		return fetch_less(pull, response, "object_too_large");
	if (!answered(response))
		return fail(pull, response, NULL);
	switch (booking_dav_read_multistatus(response->body, response->body_len,
										 pull->arena, &multistatus))
	{
		case BOOKING_DAV_OK:
			break;
		case BOOKING_DAV_TOO_LARGE:
			return fetch_less(pull, response, "object_too_large");
		case BOOKING_DAV_MALFORMED:
			return fetch_less(pull, response, "answer_unreadable");
	}

	for (int i = 0; i < multistatus.nresources; i++)
		multistatus.resources[i].href =
			booking_caldav_object(pull->arena, pull->job->base_url,
								  state->collection,
								  multistatus.resources[i].href);
	for (int i = 0; i < state->nobjects; i++)
	{
		if (!bring(pull, state->objects[i], &multistatus, &hint))
			return fetch_less(pull, response, "object_too_large");
	}
	pull->result.kind = BOOKING_PULL_FETCHED;
	return false;
}

/*
 * The objects cannot be had together; if it is one alone, it is bad.
 */
static bool
fetch_less(BookingPull *pull, const BookingHttpResponse *response,
		   const char *problem)
{
	PullState  *state = pull->state;

	(void) fail(pull, response, problem);
	pull->result.kind = BOOKING_PULL_TOO_LARGE;
	if (state->nobjects > 1)
		return false;

	/* the arena may have failed, so room was made before */
	state->bad->nitems = 1;
	state->bad->items[0].object = state->objects[0];
	state->bad->items[0].problem = problem;
	pull->result.kind = BOOKING_PULL_FETCHED;
	pull->result.items = state->bad;
	return false;
}

/*
 * Add an item for an object that was asked for.  Servers answer in the order
 * of the question, so the search begins behind the last one found.  What the
 * answer leaves out is bad, not gone: only a status says that.
 */
static bool
bring(BookingPull *pull, const char *object,
	  const BookingDavMultistatus *multistatus, int *hint)
{
	PullState  *state = pull->state;
	BookingPullItem *item = booking_caldav_item_add(pull->arena,
													&pull->result.items,
													&state->last);
	const BookingDavResource *found = NULL;

	if (item == NULL)
		return false;
	item->object = object;
	for (int i = 0; i < multistatus->nresources && found == NULL; i++)
	{
		int			at = (*hint + i) % multistatus->nresources;
		const char *href = multistatus->resources[at].href;

		if (href != NULL && strcmp(href, object) == 0)
		{
			found = &multistatus->resources[at];
			*hint = at + 1;
		}
	}
	if (found == NULL)
		item->problem = "not_delivered";
	else if (found->status == 404 || found->status == 410)
		item->removed = true;
	else if (found->status >= 300 || found->calendar_data == NULL)
		item->problem = "not_delivered";
	else
	{
		item->data = found->calendar_data;
		item->data_len = strlen(found->calendar_data);
		item->etag = found->etag;
	}
	return true;
}

/*
 * Is it a whole multistatus?
 */
static bool
answered(const BookingHttpResponse *response)
{
	return response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status == 207;
}

/*
 * A token as it is kept; NULL when memory is short.
 */
static const char *
token_of(BookingPull *pull, const char *kind, const char *value)
{
	BookingBuffer buffer;

	booking_buffer_init(&buffer, pull->arena);
	(void) booking_buffer_add_text(&buffer, kind);
	return booking_buffer_add_text(&buffer, value) ? buffer.data : NULL;
}

/*
 * What a server said, of a token of a kind; NULL if it is of another kind.
 */
static const char *
value_of(const char *token, const char *kind)
{
	size_t		len = strlen(kind);

	return strncmp(token, kind, len) == 0 ? token + len : NULL;
}

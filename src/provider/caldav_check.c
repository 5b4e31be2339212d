/*-------------------------------------------------------------------------
 *
 * caldav_check.c
 *	  examines account and calendar, and says in words what is wrong
 *
 * Every finding is one sentence for the person who configured the account.  It
 * names what to change where that can be known.  A check goes on after a
 * finding that is not good as long as more can be learnt: who asks for a
 * calendar that is not there is told which ones there are.
 *
 * The order is that of RFC 6764, 6: the calendar (or the base URL, or what the
 * well-known path leads to), the principal, its calendars.  The outcome is
 * DONE if all that a booking needs is there.
 *
 * IDENTIFICATION
 *	  booking/src/provider/caldav_check.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/dav.h"
#include "provider/caldav.h"
#include "provider/report.h"
#include "provider/url.h"

#define WELL_KNOWN "/.well-known/caldav"

/* bytes of the paths listed in one finding */
#define LIST_BYTES 150

static bool find_url(BookingTask *task, const char *reference,
					 const char **url);
static bool reached(BookingTask *task, const BookingHttpResponse *response);
static bool stop(BookingTask *task, BookingOutcomeKind kind,
				 const char *problem, const BookingHttpResponse *response);
static void blame(BookingTask *task, BookingOutcomeKind kind,
				  const char *problem, const BookingHttpResponse *response);
static void find_redirect(BookingTask *task,
						  const BookingHttpResponse *response);
static const BookingDavResource *first_resource(BookingTask *task,
												const BookingHttpResponse *response,
												int *status);
static bool checked_target(BookingTask *task,
						   const BookingHttpResponse *response,
						   BookingHttpRequest *request);
static bool is_redirect(int status);
static void find_calendar(BookingTask *task,
						  const BookingDavResource *resource,
						  const BookingHttpResponse *response);
static void find_no_calendar(BookingTask *task, int status,
							 const BookingHttpResponse *response);
static void note_principal(BookingTask *task,
						   const BookingDavResource *resource);
static bool go_on(BookingTask *task, BookingHttpRequest *request);
static bool checked_principal(BookingTask *task,
							  const BookingHttpResponse *response,
							  BookingHttpRequest *request);
static bool checked_home(BookingTask *task,
						 const BookingHttpResponse *response,
						 BookingHttpRequest *request);
static bool checked_options(BookingTask *task,
							const BookingHttpResponse *response);
static bool announces(const char *dav, const char *capability);

/*
 * Build the first request of a check.
 */
bool
booking_caldav_check(BookingTask *task, BookingHttpRequest *request)
{
	const BookingJob *job = task->job;
	BookingCaldavState *state = booking_caldav_state(task);
	bool		calendar = job->collection != NULL && job->collection[0] != '\0';

	booking_caldav_pend(task, &state->verdict, BOOKING_OUTCOME_DONE, NULL,
						NULL);
	if (!find_url(task, calendar ? job->collection : "", &state->target))
		return false;
	return booking_caldav_discover(task, calendar ?
								   BOOKING_CALDAV_CHECK_CALENDAR :
								   BOOKING_CALDAV_CHECK_ACCOUNT,
								   state->target, "0", request);
}

/*
 * Judge an answer during a check.
 */
bool
booking_caldav_checked(BookingTask *task, const BookingHttpResponse *response,
					   BookingHttpRequest *request)
{
	/* only the first request tells whether there is a way to the server */
	if (task->nsteps == 1 && !reached(task, response))
		return false;
	switch ((BookingCaldavStep) task->step)
	{
		case BOOKING_CALDAV_CHECK_PRINCIPAL:
			return checked_principal(task, response, request);
		case BOOKING_CALDAV_CHECK_HOME:
			return checked_home(task, response, request);
		case BOOKING_CALDAV_CHECK_OPTIONS:
			return checked_options(task, response);
		default:
			return checked_target(task, response, request);
	}
}

/*
 * URL of a folder on the account's origin, or a finding and the end.
 */
static bool
find_url(BookingTask *task, const char *reference, const char **url)
{
	BookingUrlFault fault = BOOKING_URL_MALFORMED;
	char	   *found;

	if (task->job->base_url != NULL)
		fault = booking_url_join(task->job->base_url, reference, task->arena,
								 &found);
	if (fault == BOOKING_URL_OK)
		fault = booking_url_member(found, "", "", task->arena, &found);
	switch (fault)
	{
		case BOOKING_URL_OK:
			*url = found;
			return true;
		case BOOKING_URL_ORIGIN:
			booking_report_find(task, "calendar", false,
								"The calendar is on another server than base_url. Add an account for that server.");
			return stop(task, BOOKING_OUTCOME_REJECTED, "origin_mismatch",
						NULL);
		case BOOKING_URL_MALFORMED:
			booking_report_find(task, "connection", false,
								"base_url or the path of the calendar is malformed. Give http or https URLs without user, query and fragment.");
			return stop(task, BOOKING_OUTCOME_REJECTED, "bad_url", NULL);
		case BOOKING_URL_MEMORY:
			break;
	}
	return booking_caldav_fail(task, NULL, "out_of_memory");
}

/*
 * Did the first request reach a server that lets us in?
 */
static bool
reached(BookingTask *task, const BookingHttpResponse *response)
{
	BookingCaldavState *state = booking_caldav_state(task);
	const char *words = response->problem == NULL ? "no reason known" :
		response->problem;

	switch (response->transport)
	{
		case BOOKING_TRANSPORT_COMPLETE:
			break;
		case BOOKING_TRANSPORT_REFUSED:
			booking_report_find(task, "connection", false,
								booking_report_text(task->arena,
													"The request was not sent: %s. See booking.insecure_hosts and booking.allowed_networks.",
													words));
			return stop(task, BOOKING_OUTCOME_REJECTED, NULL, response);
		case BOOKING_TRANSPORT_NOT_SENT:
			booking_report_find(task, "connection", false,
								booking_report_text(task->arena,
													"The server could not be reached: %s. See base_url.",
													words));
			return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
		case BOOKING_TRANSPORT_LOST:
		case BOOKING_TRANSPORT_TOO_LARGE:
			booking_report_find(task, "connection", false,
								booking_report_text(task->arena,
													"The server gave no complete answer: %s.",
													words));
			return stop(task, BOOKING_OUTCOME_FAILED, NULL, response);
	}
	booking_report_find(task, "connection", true, "The server answers.");
	booking_report_find(task, "encryption", true,
						booking_url_encrypted(state->target) ?
						"The connection is encrypted." :
						"The connection is not encrypted, as its host is in booking.insecure_hosts.");
	if (response->status == 401)
	{
		booking_report_find(task, "sign-in", false,
							"The server refuses the credential of the account. Store another one with booking_credential_put.");
		return stop(task, BOOKING_OUTCOME_AUTH, NULL, response);
	}
	return true;
}

/*
 * End the check with this outcome.
 */
static bool
stop(BookingTask *task, BookingOutcomeKind kind, const char *problem,
	 const BookingHttpResponse *response)
{
	booking_caldav_pend(task, &task->outcome, kind, problem, response);
	return false;
}

/*
 * Remember the first thing that is wrong, which will be the outcome.
 */
static void
blame(BookingTask *task, BookingOutcomeKind kind, const char *problem,
	  const BookingHttpResponse *response)
{
	BookingCaldavState *state = booking_caldav_state(task);
	const char *href = state->verdict.href;

	if (state->verdict.kind != BOOKING_OUTCOME_DONE)
		return;
	booking_caldav_pend(task, &state->verdict, kind, problem, response);
	state->verdict.href = href;
}

/*
 * The server sends us elsewhere.  Redirects on its own origin were followed,
 * so this one leads to another, where the credential must not go by itself.
 */
static void
find_redirect(BookingTask *task, const BookingHttpResponse *response)
{
	char	   *url;

	if (response->location != NULL &&
		booking_url_join(response->location, response->location, task->arena,
						 &url) == BOOKING_URL_OK)
		booking_report_find(task, "calendar", false,
							booking_report_text(task->arena,
												"The server redirects to another one. If that is right, make this the base_url: %s",
												url));
	else
		booking_report_find(task, "calendar", false,
							"The server redirects to another place. See base_url.");
}

/*
 * The resource that an answer with depth 0 is about, NULL if it tells of none;
 * then *status says why, 0 if the answer cannot be read.
 */
static const BookingDavResource *
first_resource(BookingTask *task, const BookingHttpResponse *response,
			   int *status)
{
	BookingDavMultistatus multistatus;

	*status = 0;
	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
		return NULL;
	*status = response->status;
	if (response->status != 207)
		return NULL;

	*status = 0;
	if (booking_dav_read_multistatus(response->body, response->body_len,
									 task->arena,
									 &multistatus) != BOOKING_DAV_OK ||
		multistatus.nresources == 0)
		return NULL;
	*status = multistatus.resources[0].status;
	return *status >= 300 ? NULL : &multistatus.resources[0];
}

/*
 * The answer about the calendar, or about the base URL of the account.
 */
static bool
checked_target(BookingTask *task, const BookingHttpResponse *response,
			   BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);
	bool		calendar = task->step == BOOKING_CALDAV_CHECK_CALENDAR;
	const BookingDavResource *resource;
	char	   *url;
	int			status;

	resource = first_resource(task, response, &status);
	if (calendar && resource != NULL)
		find_calendar(task, resource, response);
	else if (calendar)
		find_no_calendar(task, status, response);
	if (resource != NULL)
		note_principal(task, resource);
	if (state->principal != NULL || state->usable)
		return go_on(task, request);

	/* who the user is may be told elsewhere */
	if (calendar)
		return find_url(task, "", &state->target) &&
			booking_caldav_discover(task, BOOKING_CALDAV_CHECK_ACCOUNT,
									state->target, "0", request);
	if (!state->well_known &&
		booking_url_join(state->target, WELL_KNOWN, task->arena,
						 &url) == BOOKING_URL_OK)
	{
		state->well_known = true;
		return booking_caldav_discover(task, BOOKING_CALDAV_CHECK_ACCOUNT,
									   url, "0", request);
	}
	if (is_redirect(status))
	{
		find_redirect(task, response);
		blame(task, BOOKING_OUTCOME_REJECTED, "redirected", response);
	}
	return go_on(task, request);
}

/*
 * Does a status send us elsewhere?
 */
static bool
is_redirect(int status)
{
	return status == 301 || status == 302 || status == 307 || status == 308;
}

/*
 * Something answers where the calendar should be: is it one, and may we write
 * events to it?
 */
static void
find_calendar(BookingTask *task, const BookingDavResource *resource,
			  const BookingHttpResponse *response)
{
	BookingCaldavState *state = booking_caldav_state(task);
	char	   *url;

	booking_report_find(task, "sign-in", true,
						"The server accepts the credential.");
	if (!resource->is_calendar)
	{
		booking_report_find(task, "calendar", false,
							"There is something at this path, but it is no calendar.");
		blame(task, BOOKING_OUTCOME_REJECTED, "not_a_calendar", response);
		return;
	}
	booking_report_find(task, "calendar", true,
						"The path leads to a calendar.");
	if (resource->href != NULL &&
		booking_url_resolve(task->job->base_url, resource->href, task->arena,
							&url) == BOOKING_URL_OK)
		state->verdict.href = booking_url_path(url);

	booking_report_find(task, "events", resource->supports_events,
						resource->supports_events ?
						"The calendar takes events." :
						"The calendar does not take events. It may be a list of tasks.");
	if (!resource->supports_events)
		blame(task, BOOKING_OUTCOME_REJECTED, "no_events", response);
	booking_report_find(task, "write access", resource->may_write,
						resource->may_write ?
						"The account may write to the calendar." :
						"The account may only read the calendar. Have it shared with the right to write.");
	if (!resource->may_write)
		blame(task, BOOKING_OUTCOME_REJECTED, "need_privileges", response);
	state->usable = resource->supports_events && resource->may_write;
}

/*
 * Nothing that can be used answers where the calendar should be.
 */
static void
find_no_calendar(BookingTask *task, int status,
				 const BookingHttpResponse *response)
{
	switch (status)
	{
		case 0:
			booking_report_find(task, "calendar", false,
								"The answer of the server cannot be read. It may be no CalDAV server.");
			blame(task, BOOKING_OUTCOME_FAILED, "answer_unreadable", response);
			return;
		case 403:
			booking_report_find(task, "calendar", false,
								"The account may not read the calendar. Have it shared with this account.");
			blame(task, BOOKING_OUTCOME_REJECTED, "forbidden", response);
			return;
		case 404:
		case 410:
			booking_report_find(task, "calendar", false,
								"There is nothing at this path. The calendar was removed, or is hidden from this account.");
			blame(task, BOOKING_OUTCOME_CALENDAR_GONE, "calendar_gone",
				  response);
			return;
	}
	if (is_redirect(status))
	{
		find_redirect(task, response);
		blame(task, BOOKING_OUTCOME_REJECTED, "redirected", response);
		return;
	}
	booking_report_find(task, "calendar", false,
						booking_report_text(task->arena,
											"The server answers %d to PROPFIND. It may be no CalDAV server, or not work at present.",
											status));
	blame(task, BOOKING_OUTCOME_FAILED, NULL, response);
}

/*
 * Note who the server says we are (RFC 5397), and where that user's calendars
 * are.  What is on another origin counts as not told.
 */
static void
note_principal(BookingTask *task, const BookingDavResource *resource)
{
	BookingCaldavState *state = booking_caldav_state(task);
	const char *base = task->job->base_url;
	char	   *url;

	if (resource->current_user_principal != NULL &&
		booking_url_resolve(base, resource->current_user_principal,
							task->arena, &url) == BOOKING_URL_OK)
		state->principal = url;
	if (resource->calendar_home != NULL &&
		booking_url_resolve(base, resource->calendar_home, task->arena,
							&url) == BOOKING_URL_OK)
		state->home = url;
}

/*
 * Ask for what is not known yet and worth it: the calendars of the user if the
 * one we were given is of no use.
 */
static bool
go_on(BookingTask *task, BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);

	if (task->step == BOOKING_CALDAV_CHECK_ACCOUNT && state->principal == NULL)
	{
		booking_report_find(task, "account", false,
							"The server does not tell who is signed in. Give base_url the path of the CalDAV service.");
		blame(task, BOOKING_OUTCOME_FAILED, "no_principal", NULL);
	}
	if (state->principal != NULL && state->home == NULL &&
		task->step != BOOKING_CALDAV_CHECK_PRINCIPAL)
		return booking_caldav_discover(task, BOOKING_CALDAV_CHECK_PRINCIPAL,
									   state->principal, "0", request);
	if (state->principal != NULL)
		booking_report_find(task, "account", true,
							booking_report_text(task->arena,
												"Signed in as %s.",
												booking_url_path(state->principal)));
	if (state->home != NULL && !state->usable)
		return booking_caldav_discover(task, BOOKING_CALDAV_CHECK_HOME,
									   state->home, "1", request);
	return booking_caldav_options(task, state->target, request);
}

/*
 * The answer about the principal.
 */
static bool
checked_principal(BookingTask *task, const BookingHttpResponse *response,
				  BookingHttpRequest *request)
{
	const BookingDavResource *resource;
	int			status;

	resource = first_resource(task, response, &status);
	if (resource != NULL)
		note_principal(task, resource);
	return go_on(task, request);
}

/*
 * The list of what is in the home of the user's calendars.
 */
static bool
checked_home(BookingTask *task, const BookingHttpResponse *response,
			 BookingHttpRequest *request)
{
	BookingCaldavState *state = booking_caldav_state(task);
	BookingDavMultistatus multistatus;
	char		list[LIST_BYTES + 1] = "";
	int			ncalendars = 0;
	int			nlisted = 0;

	memset(&multistatus, 0, sizeof(multistatus));
	if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status == 207)
		(void) booking_dav_read_multistatus(response->body,
											response->body_len, task->arena,
											&multistatus);
	for (int i = 0; i < multistatus.nresources; i++)
	{
		const BookingDavResource *resource = &multistatus.resources[i];
		char	   *url;

		if (!resource->is_calendar || !resource->supports_events ||
			resource->href == NULL ||
			booking_url_resolve(task->job->base_url, resource->href,
								task->arena, &url) != BOOKING_URL_OK)
			continue;
		ncalendars++;
		if (strlen(list) + 1 + strlen(booking_url_path(url)) > LIST_BYTES)
			continue;
		strlcat(list, " ", sizeof(list));
		strlcat(list, booking_url_path(url), sizeof(list));
		nlisted++;
	}
	booking_report_find(task, "calendars", ncalendars > 0, ncalendars == 0 ?
						"The account has no calendar that takes events." :
						booking_report_text(task->arena, nlisted < ncalendars ?
											"The account has %d calendars, among them%s" :
											"Calendars of the account (%d):%s",
											ncalendars, list));
	return booking_caldav_options(task, state->target, request);
}

/*
 * The answer to OPTIONS, which ends the check.
 */
static bool
checked_options(BookingTask *task, const BookingHttpResponse *response)
{
	BookingCaldavState *state = booking_caldav_state(task);
	const char *dav = response->dav;

	if (response->transport == BOOKING_TRANSPORT_COMPLETE &&
		response->status < 300 && dav != NULL)
	{
		bool		access = announces(dav, "calendar-access");

		booking_report_find(task, "server", access, access ?
							"The server announces CalDAV." :
							"The server does not announce CalDAV for this path.");
		booking_report_find(task, "invitations", true,
							announces(dav, "calendar-auto-schedule") ?
							"The server can invite attendees, and does for bookings with notify." :
							"The server does not invite attendees. It stores them.");
	}
	else
		booking_report_find(task, "server", state->usable,
							"The server does not say what it can do.");
	return booking_caldav_finish(task, &state->verdict);
}

/*
 * Is a capability in a DAV header, a list with commas (RFC 4918, 10.1)?
 */
static bool
announces(const char *dav, const char *capability)
{
	size_t		len = strlen(capability);

	while (*dav != '\0')
	{
		size_t		end;

		dav += strspn(dav, ", \t");
		end = strcspn(dav, ", \t");
		if (end == len && pg_strncasecmp(dav, capability, len) == 0)
			return true;
		dav += end;
	}
	return false;
}

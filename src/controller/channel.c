/*-------------------------------------------------------------------------
 *
 * channel.c
 *	  channels by which providers tell that a calendar has changed
 *
 * Where booking.push_url says where to deliver it, calendars whose provider can
 * tell of changes have a channel.  A delivery, which webhook/channel.c takes, is
 * only a reason to read the calendar now; polling goes on, and is all there is
 * where none is wished.
 *
 * A channel has a name and a secret of ours, on disk before the provider is
 * asked, because Microsoft calls back while it is asked.  It is renewed when half
 * of its time is over, in place or, where that cannot be, by another one beside
 * it; the old one is closed when the new one is known to be open, so that there
 * always is one.  What is told twice does no harm.
 *
 * IDENTIFICATION
 *	  booking/src/controller/channel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "controller/channel.h"
#include "controller/errand.h"
#include "controller/event.h"
#include "guc.h"
#include "store/cursor.h"
#include "store/seal.h"
#include "webhook/channel.h"

#define NAME_BYTES 16
#define SECRET_BYTES 32

/* asked for; Microsoft grants less than three days, Google a week or more */
#define LIFE_SECS (4200 * SECS_PER_MINUTE)

/* granted, where the provider does not tell */
#define UNTOLD_LIFE_SECS SECS_PER_DAY

/* between looks whether there is a channel for each calendar */
#define LOOK_SECS 60

#define BACKOFF_FIRST_SECS 5
#define BACKOFF_LAST_SECS SECS_PER_HOUR
#define REFUSED_SECS SECS_PER_DAY

/* tries to close one; then it ends by itself */
#define CLOSE_TRIES 5

/* a request about one channel */
typedef struct ChannelErrand
{
	BookingErrand errand;
	int			tries;			/* so far */
	BookingChannelJob job;
	BookingChannelTask task;
} ChannelErrand;

static void look(TimestampTz now);
static ArrayType *providers(bool renewing);
static void lease(BookingCall *call, const BookingChannel *channel);
static void name_channel(BookingCall *call, const BookingChannel *channel,
						 ChannelErrand *item);
static char *address(const char *channel);
static bool next(BookingErrand *errand, const BookingHttpResponse *response);
static bool record(BookingCall *call, BookingErrand *errand);
static void record_made(BookingCall *call, ChannelErrand *item);
static void record_failure(BookingCall *call, ChannelErrand *item);
static int64 backoff(int tries);

static const BookingErrandKind kind = {next, record};

/*
 * Take in hand what is to be done about channels.
 */
void
booking_channel_lease(BookingCall *call)
{
	TimestampTz now = booking_call_hold_clock();
	BookingChannel *due;
	int			count;

	look(now);
	due = booking_store_channels_due(now, booking_load_full_keys(NIL),
									 booking_errand_ids(&kind),
									 booking_errand_room(), &count);
	for (int i = 0; i < count; i++)
		lease(call, &due[i]);
}

/*
 * From time to time, and when the setting changes, see that there is a channel
 * for each calendar that is to have one.
 */
static void
look(TimestampTz now)
{
	static TimestampTz looked_at = 0;
	static char looked_url[MAXPGPATH] = "";
	const char *url = booking_push_url == NULL ? "" : booking_push_url;

	if (looked_at != 0 && strcmp(url, looked_url) == 0 &&
		now < looked_at + Min(LOOK_SECS, booking_poll_interval) * USECS_PER_SEC)
		return;
	booking_store_channels_match(url, providers(false), providers(true), now);
	looked_at = now;
	strlcpy(looked_url, url, sizeof(looked_url));
}

/*
 * Names of the providers that push, or of those whose channels can be renewed.
 */
static ArrayType *
providers(bool renewing)
{
	text	   *names[16];
	int			count = 0;
	const BookingProvider *provider;

	for (int i = 0; (provider = booking_provider_get(i)) != NULL; i++)
	{
		if ((renewing ? provider->renews_channels : provider->pushes) &&
			count < (int) lengthof(names))
			names[count++] = cstring_to_text(provider->name);
	}
	return booking_record_make_text_array(names, count);
}

/*
 * Take one in hand.  One that is open and cannot be renewed has come to its end.
 */
static void
lease(BookingCall *call, const BookingChannel *channel)
{
	BookingErrandAccount account = {
		channel->provider, pstrdup(text_to_cstring(channel->tenant)),
		channel->account, channel->sealed, channel->credential
	};
	bool		open = strcmp(channel->state, "open") == 0;
	ChannelErrand *item;
	BookingChannelJob *job;

	if (open && !booking_provider_find(channel->provider)->renews_channels)
	{
		booking_store_channel_remove(channel->channel_id);
		return;
	}
	item = (ChannelErrand *)
		booking_errand_make(call, &kind, channel->channel_id,
							sizeof(ChannelErrand), &account);
	if (item == NULL)
		return;
	job = &item->job;
	job->wish = open ? BOOKING_CHANNEL_RENEW :
		strcmp(channel->state, "closing") == 0 ? BOOKING_CHANNEL_CLOSE :
		BOOKING_CHANNEL_OPEN;
	job->base_url = booking_errand_copy(&item->errand, channel->base_url);
	job->collection = booking_errand_copy(&item->errand, channel->remote_id);
	job->remote = booking_errand_copy(&item->errand, channel->remote);
	job->channel = booking_errand_copy(&item->errand, channel->channel);
	job->until = booking_unix_microseconds(booking_call_hold_clock()) +
		(int64) LIFE_SECS * USECS_PER_SEC;
	item->tries = channel->tries;
	item->task.job = job;
	item->task.arena = item->errand.arena;
	if (job->wish == BOOKING_CHANNEL_OPEN)
		name_channel(call, channel, item);
	item->errand.provider->channel_start(&item->task, &item->errand.request);
}

/*
 * Think of a name and a secret, and store them before they are sent.
 */
static void
name_channel(BookingCall *call, const BookingChannel *channel,
			 ChannelErrand *item)
{
	uint8		random[NAME_BYTES + SECRET_BYTES];
	char		name[2 * NAME_BYTES + 1];
	char		secret[2 * SECRET_BYTES + 1];
	bytea	   *stored;
	bool		sealed;

	if (!pg_strong_random(random, sizeof(random)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	hex_encode((const char *) random, NAME_BYTES, name);
	hex_encode((const char *) random + NAME_BYTES, SECRET_BYTES, secret);
	name[2 * NAME_BYTES] = secret[2 * SECRET_BYTES] = '\0';
	stored = booking_seal(secret, strlen(secret),
						  booking_channel_seal_context(name), &sealed);
	booking_store_channel_name(channel->channel_id, name, sealed, stored,
							   call->now);
	item->job.channel = booking_errand_copy(&item->errand, name);
	item->job.secret = booking_errand_copy(&item->errand, secret);
	item->job.push_url = booking_errand_copy(&item->errand, address(name));
	explicit_bzero(secret, sizeof(secret));
}

/*
 * Where a channel is to deliver.  The setting may end with a slash or not.
 */
static char *
address(const char *channel)
{
	int			len = strlen(booking_push_url);

	while (len > 0 && booking_push_url[len - 1] == '/')
		len--;
	return psprintf("%.*s/%s", len, booking_push_url, channel);
}

/*
 * When something is to be done that is not in hand; false if never.
 */
bool
booking_channel_next_due(TimestampTz *next_at)
{
	return booking_store_channel_next_due(booking_errand_ids(&kind), next_at);
}

/*
 * Judge an answer.
 */
static bool
next(BookingErrand *errand, const BookingHttpResponse *response)
{
	ChannelErrand *item = (ChannelErrand *) errand;

	errand->provider->channel_judge(&item->task, response);
	return false;
}

/*
 * Record what came of it.
 */
static bool
record(BookingCall *call, BookingErrand *errand)
{
	ChannelErrand *item = (ChannelErrand *) errand;

	booking_errand_hold_off(call, errand, item->task.retry_after);
	switch (item->task.kind)
	{
		case BOOKING_CHANNEL_MADE:
			booking_errand_accepted(errand);
			record_made(call, item);
			break;

		case BOOKING_CHANNEL_GONE:
			booking_errand_accepted(errand);
			if (item->job.wish == BOOKING_CHANNEL_CLOSE)
				booking_store_channel_remove(errand->id);
			else
				booking_store_channel_hasten(errand->id, true,
											 booking_call_hold_clock());
			break;

		case BOOKING_CHANNEL_AUTH:
			(void) booking_errand_refused(call, errand);
			record_failure(call, item);
			break;

		case BOOKING_CHANNEL_REFUSED:
		case BOOKING_CHANNEL_LATER:
			record_failure(call, item);
			break;
	}
	return true;
}

/*
 * It is open, for a while.  What changed before it was is found by reading.
 */
static void
record_made(BookingCall *call, ChannelErrand *item)
{
	TimestampTz now = booking_call_hold_clock();
	int64		life = item->task.until == 0 ?
		(int64) UNTOLD_LIFE_SECS * USECS_PER_SEC :
		Max(item->task.until - booking_unix_microseconds(now),
			(int64) SECS_PER_MINUTE * USECS_PER_SEC);
	BookingChannelChange change = {item->errand.id, "open"};
	BookingChannel channel;

	change.remote = item->task.remote;
	change.ends_at = now + life;
	change.renew_at = now + life / 2;
	change.next_at = item->errand.provider->renews_channels ? change.renew_at :
		change.ends_at;
	change.now = call->now;
	if (!booking_store_channel_change(&change))
		return;
	booking_store_channels_replace(item->errand.id, now);
	if (item->job.wish == BOOKING_CHANNEL_OPEN &&
		booking_store_channel_find(cstring_to_text(item->job.channel), &channel))
		(void) booking_store_sync_ask(channel.tenant, channel.calendar, now);
}

/*
 * It could not be opened, renewed or closed: try again, later each time.
 */
static void
record_failure(BookingCall *call, ChannelErrand *item)
{
	BookingChannelChange change = {item->errand.id};
	TimestampTz now = booking_call_hold_clock();
	bool		refused = item->task.kind == BOOKING_CHANNEL_REFUSED;

	if (item->job.wish == BOOKING_CHANNEL_CLOSE &&
		(refused || item->tries + 1 >= CLOSE_TRIES))
	{
		booking_store_channel_remove(item->errand.id);
		return;
	}
	if (item->job.wish == BOOKING_CHANNEL_RENEW && refused)
	{
		booking_store_channel_hasten(item->errand.id, true, now);
		return;
	}
	change.state = item->job.wish == BOOKING_CHANNEL_OPEN ? "opening" :
		item->job.wish == BOOKING_CHANNEL_RENEW ? "open" : "closing";
	change.tries = item->tries + 1;
	change.next_at = now +
		(refused ? (int64) REFUSED_SECS : backoff(item->tries)) * USECS_PER_SEC;
	change.renew_at = change.next_at;
	change.problem = item->task.problem;
	change.now = call->now;
	(void) booking_store_channel_change(&change);
}

/*
 * Seconds until the next try.
 */
static int64
backoff(int tries)
{
	int64		seconds = BACKOFF_FIRST_SECS;

	for (int i = 0; i < tries && seconds < BACKOFF_LAST_SECS; i++)
		seconds *= 2;
	return Min(seconds, BACKOFF_LAST_SECS);
}

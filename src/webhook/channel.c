/*-------------------------------------------------------------------------
 *
 * channel.c
 *	  what providers tell of changes in calendars
 *
 * The worker opens channels and thinks of their names and secrets (see
 * controller/channel.c); what comes to the name of one is taken here.  Google
 * sends the secret in a header, Microsoft in every notification of a body.
 * Neither signs, so what is said beside the secret is believed only in so far as
 * it is harmless: that the calendar is to be read, and that the channel is to be
 * renewed or opened anew.
 *
 * Nothing is kept but the wish to read, which is one however often it is told:
 * a body of Microsoft holds the secret.
 *
 * IDENTIFICATION
 *	  booking/src/webhook/channel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/string.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "codec/form.h"
#include "compat.h"
#include "ledger/wake.h"
#include "store/channel.h"
#include "store/cursor.h"
#include "store/seal.h"
#include "webhook/apply.h"
#include "webhook/channel.h"

#define MAX_TOKEN_BYTES 2000

/* what a channel may tell, the one that matters most last */
typedef enum Ring
{
	RING_NOTHING,				/* it was opened */
	RING_CHANGED,				/* something in the calendar, or was missed */
	RING_RENEW,					/* it wants to be renewed before its time */
	RING_LOST					/* the provider has dropped it */
} Ring;

static bool is_handshake(const BookingRawDelivery *raw, BookingArena *arena,
						 BookingReply *reply);
static const char *hear(const BookingChannel *channel,
						const BookingRawDelivery *raw, BookingArena *arena,
						Ring *what);
static void replace_channel(const BookingChannel *channel);
static const char *hear_google(const BookingRawDelivery *raw,
							   const char *secret, Ring *what);
static const char *hear_graph(const BookingRawDelivery *raw,
							  const char *secret, BookingArena *arena,
							  Ring *what);
static Ring ring_of(const char *lifecycle);
static void ring(const BookingChannel *channel, Ring what);
static void refuse(const BookingChannel *channel, int status,
				   const char *verdict, BookingReply *reply);

/*
 * Take what was sent to a channel; false if there is none of that name, or not
 * any more.
 */
bool
booking_channel_receive(BookingCall *call, text *name,
						const BookingRawDelivery *raw, BookingReply *reply)
{
	BookingChannel channel;
	BookingArena *arena;
	const char *problem;
	bool		graph;
	Ring		what;

	if (!booking_store_channel_find(name, &channel))
		return false;

	/* from here on it works for the tenant, whoever hands the delivery in */
	call->privileged = true;
	graph = strcmp(channel.provider, "graph") == 0;
	if (VARSIZE_ANY_EXHDR(raw->body) > BOOKING_WEBHOOK_BYTES)
	{
		refuse(&channel, 413, "too_large", reply);
		return true;
	}
	arena = booking_webhook_arena();
	if (graph && is_handshake(raw, arena, reply))
		return true;
	problem = hear(&channel, raw, arena, &what);
	if (problem != NULL)
	{
		refuse(&channel, 401, problem, reply);
		return true;
	}
	ring(&channel, what);
	*reply = (BookingReply) {graph ? 202 : 200, "ok\n",
		what == RING_NOTHING ? "handshake" : "accepted"};
	return true;
}

/*
 * See channel.h.  No label contains a control character, so that no account has
 * the same.
 */
char *
booking_channel_seal_context(const char *channel)
{
	return psprintf("\nchannel\n%s", channel);
}

/*
 * Microsoft asks before it subscribes: the token in the query is the answer.
 */
static bool
is_handshake(const BookingRawDelivery *raw, BookingArena *arena,
			 BookingReply *reply)
{
	BookingForm form;
	const char *token;

	if (!booking_form_read(raw->query, strlen(raw->query), arena, &form))
		return false;
	token = booking_form_value(&form, "validationToken");
	if (token == NULL || strlen(token) > MAX_TOKEN_BYTES)
		return false;

	/* it is UTF-8, and must be text of this database */
	if (GetDatabaseEncoding() != PG_UTF8 && !pg_is_ascii(token))
		return false;
	*reply = (BookingReply) {200, token, "handshake"};
	return true;
}

/*
 * What a channel tells; a verdict if that is not to be believed.
 */
static const char *
hear(const BookingChannel *channel, const BookingRawDelivery *raw,
	 BookingArena *arena, Ring *what)
{
	char	   *secret;
	const char *problem;

	if (channel->secret == NULL)
		return "no_secret";
	secret = booking_unseal_try(channel->secret, channel->secret_sealed,
								booking_channel_seal_context(channel->channel));
	if (secret == NULL)
	{
		replace_channel(channel);
		return "no_secret";
	}
	problem = secret[0] == '\0' ? "no_secret" :
		strcmp(channel->provider, "graph") == 0 ?
		hear_graph(raw, secret, arena, what) :
		hear_google(raw, secret, what);
	explicit_bzero(secret, strlen(secret));
	return problem;
}

/*
 * The secret was sealed with another key, so that nothing can be verified any
 * more: have the channel opened anew, with another secret.
 */
static void
replace_channel(const BookingChannel *channel)
{
	booking_store_channel_hasten(channel->channel_id, true,
								 booking_call_hold_clock());
	booking_wake_at_commit();
}

/*
 * Google: a header has the secret, another one says what there is.  The first
 * message of a channel tells of no change.
 */
static const char *
hear_google(const BookingRawDelivery *raw, const char *secret, Ring *what)
{
	char	   *token;
	char	   *state;
	const char *problem = booking_verify_one_header(raw, "x-goog-channel-token",
													&token);

	if (problem != NULL)
		return problem;
	if (!booking_verify_equal(token, secret))
		return "bad_signature";
	*what = booking_verify_header(raw, "x-goog-resource-state", &state) == 1 &&
		strcmp(state, "sync") == 0 ? RING_NOTHING : RING_CHANGED;
	return NULL;
}

/*
 * Microsoft: every notification has the secret.  Of a body that does not show it
 * first nothing is parsed.  All of them are compared, whatever came out before.
 */
static const char *
hear_graph(const BookingRawDelivery *raw, const char *secret,
		   BookingArena *arena, Ring *what)
{
	const BookingWebhookNote *notes;
	const char *shown;
	size_t		shown_len;
	int			count;
	int			matches = 0;

	shown = booking_webhook_peek_graph(VARDATA_ANY(raw->body),
									   VARSIZE_ANY_EXHDR(raw->body), &shown_len);
	if (shown == NULL)
		return "malformed_signature";
	if (!booking_verify_equal(pnstrdup(shown, shown_len), secret))
		return "bad_signature";
	notes = booking_webhook_read_graph(VARDATA_ANY(raw->body),
									   VARSIZE_ANY_EXHDR(raw->body), arena,
									   &count);
	if (notes == NULL)
		return "malformed_signature";
	*what = RING_CHANGED;
	for (int i = 0; i < count; i++)
	{
		matches += booking_verify_equal(notes[i].client_state, secret);
		*what = Max(*what, ring_of(notes[i].lifecycle));
	}
	return matches == count ? NULL : "bad_signature";
}

/*
 * What an event in the life of a subscription asks for.  After "missed", and
 * after what is not known yet, it is to be read.
 */
static Ring
ring_of(const char *lifecycle)
{
	if (lifecycle == NULL)
		return RING_CHANGED;
	return strcmp(lifecycle, "subscriptionRemoved") == 0 ? RING_LOST :
		strcmp(lifecycle, "reauthorizationRequired") == 0 ? RING_RENEW :
		RING_CHANGED;
}

/*
 * A channel, which was verified, has told something.  Whatever it is, the calendar
 * is read: before it was lost something may have been missed.
 */
static void
ring(const BookingChannel *channel, Ring what)
{
	TimestampTz now = booking_call_hold_clock();

	if (what == RING_NOTHING)
		return;
	if (what != RING_CHANGED)
		booking_store_channel_hasten(channel->channel_id, what == RING_LOST, now);
	(void) booking_store_sync_ask(channel->tenant, channel->calendar, now);
	booking_wake_at_commit();
}

/*
 * Count what is not from the provider, and keep nothing of it.  The name of the
 * channel is no secret any more: somebody else knows it.
 */
static void
refuse(const BookingChannel *channel, int status, const char *verdict,
	   BookingReply *reply)
{
	int64		refused = booking_store_channel_refuse(channel->channel_id);

	*reply = (BookingReply) {status, status == 413 ? "too large\n" :
		"not verified\n", verdict};
	if (refused == 1 || refused == 5 || refused == 20)
		ereport(LOG,
				(errmsg("deliveries to a channel are refused"),
				 errdetail("Tenant \"%s\", calendar \"%s\": %lld so far, the last one with %s.",
						   text_to_cstring(channel->tenant),
						   text_to_cstring(channel->calendar),
						   (long long) refused, verdict)));
}

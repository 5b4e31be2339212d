/*-------------------------------------------------------------------------
 *
 * count_words.c
 *	  what is counted, and by which names
 *
 * The counters of a family are in the order of its words, and families follow
 * each other.  Where a counter is stored it has a key of its words, so that a
 * library with other families finds those that it knows.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/count_words.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/cryptohash.h"
#include "common/sha2.h"

#include "compat.h"
#include "ledger/count_internal.h"

/* on the way of every claim, so the most frequent ones come first */
static const char *const dispositions[] = {"committed", "historical_retry",
	"resource_conflict", "inventory_conflict", "canceled", "denied", "proposed",
	"held", "needs_proposal", "stale_proposal", "failed", "intent_conflict",
"unknown_intent", "predecessor_unresolved", "other"};
static const char *const truths[] = {"false", "true"};
static const char *const places[] = {"approval", "send"};
static const char *const kinds[] = {"create", "update", "cancel"};
static const char *const outcomes[] = {"done", "rejected", "not_executed",
	"unknown", "equal", "different", "foreign", "absent", "auth",
"calendar_gone", "failed"};
static const char *const reasons[] = {"first", "periodic", "window", "no_token",
	"token_expired", "token_refused", "calendar_put", "account_put",
"listing_doubtful", "other"};
static const char *const rounds[] = {"finished", "failed"};
static const char *const starts[] = {"begun", "failed"};
static const char *const verdicts[BOOKING_COUNT_VERDICTS] = {"accepted",
"duplicate", "ignored", "unusable"};

#define WORDS(words) words, lengthof(words)
#define ONE_LABEL {NULL, NULL, 1}

typedef struct Label
{
	const char *name;			/* NULL: there is none */
	const char *const *words;
	int			count;			/* of words, 1 where there is no label */
} Label;

typedef struct Family
{
	const char *metric;
	Label		labels[BOOKING_COUNT_LABELS];
} Family;

static const Family families[BOOKING_COUNT_FAMILIES] =
{
	[BOOKING_COUNT_ANSWERS] = {"booking_answers_total",
		{{"disposition", WORDS(dispositions)}, {"replayed", WORDS(truths)}}},
	[BOOKING_COUNT_STALE] = {"booking_stale_proposals_total",
		{{"at", WORDS(places)}, ONE_LABEL}},
	[BOOKING_COUNT_SENDS] = {"booking_sends_total",
		{{"kind", WORDS(kinds)}, {"outcome", WORDS(outcomes)}}},
	[BOOKING_COUNT_LOOKUPS] = {"booking_reconciliations_total",
		{{"kind", WORDS(kinds)}, {"outcome", WORDS(outcomes)}}},
	[BOOKING_COUNT_FULL_SYNCS] = {"booking_full_syncs_total",
		{{"reason", WORDS(reasons)}, ONE_LABEL}},
	[BOOKING_COUNT_ROUNDS] = {"booking_sync_rounds_total",
		{{"result", WORDS(rounds)}, ONE_LABEL}},
	[BOOKING_COUNT_WORKERS] = {"booking_worker_starts_total",
		{{"result", WORDS(starts)}, ONE_LABEL}}
};

StaticAssertDecl(lengthof(dispositions) * lengthof(truths) + lengthof(places) +
				 2 * lengthof(kinds) * lengthof(outcomes) + lengthof(reasons) +
				 lengthof(rounds) + lengthof(starts) == BOOKING_COUNTERS,
				 "BOOKING_COUNTERS does not fit the families");

#define DELIVERIES "booking_deliveries_total"

static int	word_index(const Label *label, const char *word);
static void split(int index, const Family **family, const char **words);

/*
 * The counter of a family for its words; second is NULL where there is one
 * label.  A word that is not known counts as the last one, which is "other" where
 * that can be.
 */
int
booking_count_index(BookingCountFamily family, const char *first,
					const char *second)
{
	const Family *this = &families[family];
	int			index = word_index(&this->labels[0], first) *
		this->labels[1].count;

	for (int i = 0; i < family; i++)
		index += families[i].labels[0].count * families[i].labels[1].count;
	if (second != NULL)
		index += word_index(&this->labels[1], second);
	return index;
}

/*
 * Where a word is among those of a label.
 */
static int
word_index(const Label *label, const char *word)
{
	int			last = label->count - 1;

	for (int i = 0; i < last; i++)
	{
		if (strcmp(label->words[i], word) == 0)
			return i;
	}
	return last;
}

/*
 * The family of a counter, and its words.
 */
static void
split(int index, const Family **family, const char **words)
{
	const Family *this = families;

	while (index >= this->labels[0].count * this->labels[1].count)
	{
		index -= this->labels[0].count * this->labels[1].count;
		this++;
	}
	*family = this;
	words[0] = this->labels[0].words[index / this->labels[1].count];
	words[1] = this->labels[1].name == NULL ? NULL :
		this->labels[1].words[index % this->labels[1].count];
}

/*
 * The key of a counter: its metric and words, with "/" between them.
 */
void
booking_count_key(int index, char *key)
{
	const Family *family;
	const char *words[BOOKING_COUNT_LABELS];

	split(index, &family, words);
	snprintf(key, BOOKING_COUNT_KEY_LEN, "%s/%s%s%s", family->metric, words[0],
			 words[1] != NULL ? "/" : "", words[1] != NULL ? words[1] : "");
}

/*
 * The counter of a key, -1 if there is none.
 */
int
booking_count_find(const char *key)
{
	char		other[BOOKING_COUNT_KEY_LEN];

	for (int i = 0; i < BOOKING_COUNTERS; i++)
	{
		booking_count_key(i, other);
		if (strcmp(key, other) == 0)
			return i;
	}
	return -1;
}

/*
 * Which of the verdicts that are counted for each source, -1 for another one.
 */
int
booking_count_verdict(const char *verdict)
{
	for (int i = 0; i < BOOKING_COUNT_VERDICTS; i++)
	{
		if (strcmp(verdicts[i], verdict) == 0)
			return i;
	}
	return -1;
}

/*
 * The key of a verdict of a source.
 */
void
booking_count_source_key(uint64 source, int verdict, char *key)
{
	snprintf(key, BOOKING_COUNT_KEY_LEN, DELIVERIES "/" UINT64_FORMAT "/%s",
			 source, verdicts[verdict]);
}

/*
 * Source and verdict of a key; false if it is not of that kind.
 */
bool
booking_count_find_source(const char *key, uint64 *source, int *verdict)
{
	const char *rest = key + sizeof(DELIVERIES);
	char	   *end;

	if (strncmp(key, DELIVERIES "/", sizeof(DELIVERIES)) != 0)
		return false;
	*source = strtou64(rest, &end, 10);
	*verdict = *end == '/' ? booking_count_verdict(end + 1) : -1;
	return *verdict >= 0;
}

/*
 * How the counter of a key is shown; false if it is none of this library's.
 */
bool
booking_count_describe(const char *key, BookingCountLabel *label)
{
	int			index = booking_count_find(key);
	uint64		source;
	int			verdict;
	const Family *family;

	memset(label, 0, sizeof(*label));
	if (index >= 0)
	{
		split(index, &family, label->values);
		label->metric = family->metric;
		for (int i = 0; i < BOOKING_COUNT_LABELS; i++)
			label->names[i] = family->labels[i].name;
		return true;
	}
	if (!booking_count_find_source(key, &source, &verdict))
		return false;
	label->metric = DELIVERIES;
	booking_count_source_name(source, label->source);
	label->names[0] = "source";
	label->values[0] = label->source;
	label->names[1] = "verdict";
	label->values[1] = verdicts[verdict];
	return true;
}

/*
 * How a source is shown: by the first digits of its name's digest, because the
 * name is the end of the address that deliveries are sent to.
 */
void
booking_count_source_name(uint64 source, char *name)
{
	if (source == 0)
		strlcpy(name, "other", BOOKING_COUNT_SOURCE_LEN);
	else
		snprintf(name, BOOKING_COUNT_SOURCE_LEN, "%012llx",
				 (unsigned long long) source);
}

/*
 * A source by the first six bytes of its name's SHA-256, never 0 unless that
 * cannot be computed.
 */
uint64
booking_count_digest(const text *source)
{
	pg_cryptohash_ctx *hash = pg_cryptohash_create(PG_SHA256);
	uint8		digest[PG_SHA256_DIGEST_LENGTH] = {0};
	uint64		result = 0;

	if (hash == NULL || pg_cryptohash_init(hash) < 0 ||
		pg_cryptohash_update(hash, (const uint8 *) VARDATA_ANY(source),
							 VARSIZE_ANY_EXHDR(source)) < 0 ||
		pg_cryptohash_final(hash, digest, sizeof(digest)) < 0)
		memset(digest, 0, sizeof(digest));
	pg_cryptohash_free(hash);
	for (int i = 0; i < 6; i++)
		result = result << 8 | digest[i];
	return result;
}

/*-------------------------------------------------------------------------
 *
 * cache.c
 *	  rows that every call reads and few change
 *
 * Each backend remembers resources, permissions, bindings and rules of
 * tenants.  A change of one empties the caches of all backends, by the
 * server's own invalidation messages.  That is as safe as the system caches
 * are, by the same argument: a writer sends its messages before it gives its
 * locks back, and a reader that has the lock accepts messages before it looks
 * (booking_cache_accept).  Without a lock what is found is at most as old as a
 * snapshot taken a moment ago.  What the own transaction changes is seen after
 * the command, and is forgotten if it is rolled back.
 *
 * The message says that the view booking.audit changed.  Nothing depends on
 * that view, so no plan and no relation cache entry is thrown away with ours.
 *
 * IDENTIFICATION
 *	  booking/src/store/cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "store/cache.h"

/* more entries than this, and the cache begins anew */
#define CACHE_LIMIT 50000

typedef struct CacheEntry
{
	const char *key;
	uint32		hash;
	char		status;
	void	   *value;
} CacheEntry;

#define SH_PREFIX cache
#define SH_ELEMENT_TYPE CacheEntry
#define SH_KEY_TYPE const char *
#define SH_KEY key
#define SH_HASH_KEY(tb, key) \
	hash_bytes((const unsigned char *) (key), strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) (a)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* a kind, three labels and what stands between them */
#define KEY_SIZE (1 + 3 * 201 + 1)

static void on_invalidation(Datum arg, Oid relid);
static Oid	signal_relation(void);
static bool make_key(const BookingCacheKey *key, char *buffer);

static MemoryContext cache_context = NULL;
static cache_hash *cache_table = NULL;
static bool cache_stale = false;
static uint64 cache_generation = 0;
static Oid	cache_signal = InvalidOid;

/*
 * Take note of what other backends changed.  Called before a decision reads
 * anything, and again after it has locked.  Returns a number that differs from
 * an earlier one if the cache began anew in between.
 */
uint64
booking_cache_accept(void)
{
	AcceptInvalidationMessages();
	if (cache_table != NULL && !cache_stale && cache_table->members < CACHE_LIMIT)
		return cache_generation;

	if (cache_context == NULL)
	{
		cache_context = AllocSetContextCreate(CacheMemoryContext,
											  "booking cache",
											  ALLOCSET_DEFAULT_SIZES);
		CacheRegisterRelcacheCallback(on_invalidation, (Datum) 0);
	}
	cache_table = NULL;
	cache_stale = false;
	MemoryContextReset(cache_context);
	cache_signal = signal_relation();
	cache_table = cache_create(cache_context, 256, NULL);
	return ++cache_generation;
}

/*
 * Is a key known?  If so, value is what was added; it lives until the next
 * booking_cache_accept().
 */
bool
booking_cache_find(const BookingCacheKey *key, void **value)
{
	char		buffer[KEY_SIZE];
	CacheEntry *entry;

	if (cache_table == NULL || cache_stale)
		return false;
	if (!make_key(key, buffer))
		return false;
	entry = cache_lookup(cache_table, buffer);
	if (entry == NULL)
		return false;
	*value = entry->value;
	return true;
}

/*
 * Remember a value, NULL included, made with booking_cache_alloc().
 */
void
booking_cache_add(const BookingCacheKey *key, void *value)
{
	char		buffer[KEY_SIZE];
	bool		found;
	CacheEntry *entry;

	/* what would not be found again is not kept */
	if (cache_table == NULL || cache_stale || !make_key(key, buffer))
		return;
	entry = cache_insert(cache_table, MemoryContextStrdup(cache_context, buffer),
						 &found);
	entry->value = value;
}

/*
 * Memory of the cache.
 */
void *
booking_cache_alloc(Size size)
{
	/* before the first booking_cache_accept() nothing is remembered */
	return MemoryContextAllocZero(cache_context != NULL ? cache_context :
								  CurrentMemoryContext, size);
}

/*
 * A copy of a text in memory of the cache, NULL for NULL.
 */
text *
booking_cache_text(const text *value)
{
	text	   *copy;

	if (value == NULL)
		return NULL;
	copy = booking_cache_alloc(VARSIZE_ANY(value));
	memcpy(copy, value, VARSIZE_ANY(value));
	return copy;
}

/*
 * Empty the caches of all backends if the current transaction commits, and our
 * own after the current command.  Called by the triggers of what is cached.
 */
void
booking_cache_signal(void)
{
	CacheInvalidateRelcacheByRelid(signal_relation());
}

/*
 * A relation changed, or with InvalidOid messages were lost.  The cache may be
 * in use, so it is only marked.
 */
static void
on_invalidation(Datum arg, Oid relid)
{
	if (relid == cache_signal || !OidIsValid(relid))
		cache_stale = true;
}

/*
 * The relation whose changes stand for ours.
 */
static Oid
signal_relation(void)
{
	return get_relname_relid("audit", get_namespace_oid("booking", false));
}

/*
 * A key as a string.  No label has control characters.  False if the labels are
 * too long to be labels: such rows can only have come by direct DML.
 */
static bool
make_key(const BookingCacheKey *key, char *buffer)
{
	char	   *end = buffer;

	*end++ = (char) key->kind;
	for (int i = 0; i < lengthof(key->parts) && key->parts[i] != NULL; i++)
	{
		int			len = VARSIZE_ANY_EXHDR(key->parts[i]);

		if (len + 2 > buffer + KEY_SIZE - end)
			return false;
		memcpy(end, VARDATA_ANY(key->parts[i]), len);
		end += len;
		*end++ = '\001';
	}
	*end = '\0';
	return true;
}

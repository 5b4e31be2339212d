/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  memory of the codec
 *
 * Blocks double in size up to a bound, so a small answer costs little and a
 * large one few calls of malloc.  What is larger than a block gets a block of
 * its own.  The limit counts what was asked for, rounded up for alignment, and
 * not what malloc keeps beside it.
 *
 * IDENTIFICATION
 *	  booking/src/codec/arena.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/arena.h"

#define ARENA_FIRST_BLOCK ((size_t) 4 * 1024)
#define ARENA_MAX_BLOCK ((size_t) 256 * 1024)

typedef struct ArenaBlock
{
	struct ArenaBlock *next;
	size_t		size;			/* bytes behind this header */
	size_t		used;
} ArenaBlock;

struct BookingArena
{
	ArenaBlock *blocks;			/* the newest first; only it has room */
	size_t		next_size;
	size_t		limit;
	size_t		total;			/* handed out so far */
	bool		failed;
};

#define ARENA_HEADER MAXALIGN(sizeof(ArenaBlock))

static ArenaBlock *add_block(BookingArena *arena, size_t size);

/*
 * Make an arena that hands out at most limit bytes.  Returns NULL when memory
 * is out; all other functions take that NULL for an arena that has failed, so
 * one check at the end is enough.
 */
BookingArena *
booking_arena_create(size_t limit)
{
	BookingArena *arena = malloc(sizeof(BookingArena));

	if (arena == NULL)
		return NULL;
	memset(arena, 0, sizeof(BookingArena));

	/* so that rounding up cannot wrap around */
	arena->limit = Min(limit, SIZE_MAX / 2);
	arena->next_size = ARENA_FIRST_BLOCK;
	return arena;
}

/*
 * Free an arena and all that is in it.
 */
void
booking_arena_free(BookingArena *arena)
{
	ArenaBlock *block;

	if (arena == NULL)
		return;
	while ((block = arena->blocks) != NULL)
	{
		arena->blocks = block->next;
		free(block);
	}
	free(arena);
}

/*
 * Take back all that an arena has handed out, but keep its newest block, so
 * that whoever reads many small things one after the other needs the memory of
 * one.  An arena that has failed stays so.
 */
void
booking_arena_reset(BookingArena *arena)
{
	ArenaBlock *kept;

	if (arena == NULL || arena->blocks == NULL)
		return;
	kept = arena->blocks;
	while (kept->next != NULL)
	{
		ArenaBlock *block = kept->next;

		kept->next = block->next;
		free(block);
	}
	kept->used = 0;
	arena->total = 0;
}

/*
 * Memory for size bytes, zeroed and aligned for any type; also for 0 bytes a
 * pointer of its own.  Returns NULL, and marks the arena as failed, when memory
 * is out or the limit would be passed.
 */
void *
booking_arena_alloc(BookingArena *arena, size_t size)
{
	char	   *result = booking_arena_reserve(arena, size);

	if (result != NULL)
		memset(result, 0, size);
	return result;
}

/*
 * The same, but not zeroed: what is never written costs an address only.
 */
char *
booking_arena_reserve(BookingArena *arena, size_t size)
{
	size_t		rounded;
	ArenaBlock *block;
	char	   *result;

	if (arena == NULL || arena->failed)
		return NULL;

	if (size > arena->limit - arena->total)
	{
		arena->failed = true;
		return NULL;
	}
	rounded = MAXALIGN(Max(size, 1));

	block = arena->blocks;
	if (block == NULL || block->size - block->used < rounded)
		block = add_block(arena, rounded);
	if (block == NULL)
	{
		arena->failed = true;
		return NULL;
	}

	result = (char *) block + ARENA_HEADER + block->used;
	block->used += rounded;
	arena->total = Min(arena->total + rounded, arena->limit);
	return result;
}

/*
 * A copy of len bytes with a NUL behind them.  Absent data stays absent.
 */
char *
booking_arena_copy(BookingArena *arena, const char *data, size_t len)
{
	char	   *copy;

	if (data == NULL)
		return NULL;
	if (len == SIZE_MAX)
	{
		if (arena != NULL)
			arena->failed = true;
		return NULL;
	}
	copy = booking_arena_reserve(arena, len + 1);
	if (copy != NULL)
	{
		memcpy(copy, data, len);
		copy[len] = '\0';
	}
	return copy;
}

/*
 * A copy of a terminated string.
 */
char *
booking_arena_copy_text(BookingArena *arena, const char *text)
{
	return text == NULL ? NULL : booking_arena_copy(arena, text, strlen(text));
}

/*
 * Has any request been refused?  Then results that seem complete may lack what
 * was asked for last.
 */
bool
booking_arena_failed(const BookingArena *arena)
{
	return arena == NULL || arena->failed;
}

/*
 * Have an arena hand out less in all; what it has handed out stays.
 */
void
booking_arena_restrict(BookingArena *arena, size_t limit)
{
	if (arena != NULL)
		arena->limit = Min(arena->limit, Max(limit, arena->total));
}

/*
 * Bytes that were handed out.
 */
size_t
booking_arena_total(const BookingArena *arena)
{
	return arena == NULL ? 0 : arena->total;
}

/*
 * Add a block with room for size bytes.  A large one goes behind the newest,
 * whose room would be lost otherwise.
 */
static ArenaBlock *
add_block(BookingArena *arena, size_t size)
{
	size_t		room = Max(size, arena->next_size);
	ArenaBlock *block;

	block = malloc(ARENA_HEADER + room);
	if (block == NULL)
		return NULL;
	block->size = room;
	block->used = 0;

	if (size > ARENA_MAX_BLOCK && arena->blocks != NULL)
	{
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	}
	else
	{
		block->next = arena->blocks;
		arena->blocks = block;
		arena->next_size = Min(arena->next_size * 2, ARENA_MAX_BLOCK);
	}
	return block;
}

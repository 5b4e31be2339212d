/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  memory of the codec
 *
 * The codec is built into the extension and, with -DFRONTEND, into unit tests
 * and fuzz targets, so it has neither memory contexts nor ereport.  An arena
 * is a list of blocks from malloc; whoever made it frees it as a whole.  In
 * the extension its owner registers that with a memory context
 * (MemoryContextRegisterResetCallback), so an error frees it too.
 *
 * Running out of memory, or over the arena's limit, is a fault like any other:
 * functions return NULL and the arena says so for ever after.
 *
 * IDENTIFICATION
 *	  booking/src/codec/arena.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ARENA_H
#define BOOKING_ARENA_H

#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

typedef struct BookingArena BookingArena;

extern BookingArena *booking_arena_create(size_t limit);
extern void booking_arena_free(BookingArena *arena);
extern void booking_arena_reset(BookingArena *arena);
extern void *booking_arena_alloc(BookingArena *arena, size_t size);
extern char *booking_arena_reserve(BookingArena *arena, size_t size);
extern char *booking_arena_copy(BookingArena *arena, const char *data,
								size_t len);
extern char *booking_arena_copy_text(BookingArena *arena, const char *text);
extern bool booking_arena_failed(const BookingArena *arena);
extern void booking_arena_restrict(BookingArena *arena, size_t limit);
extern size_t booking_arena_total(const BookingArena *arena);

#endif							/* BOOKING_ARENA_H */

/*
 * test/unit/tap.h
 *
 * What the unit tests share: one line of TAP a check, and beneath one that
 * fails what was got and what was expected.  Any failure is also the exit code.
 */
#ifndef TAP_H
#define TAP_H

#include "postgres_fe.h"

#include "codec/arena.h"

/* enough for every test that is not about running out of it */
#define TAP_ARENA ((size_t) 64 * 1024 * 1024)

extern bool tap_ok(bool good, const char *name);
extern bool tap_is_int(int64 got, int64 expected, const char *name);
extern bool tap_is_text(const char *got, const char *expected, const char *name);
extern void tap_note(const char *format,...) pg_attribute_printf(1, 2);
extern int	tap_done(void);

/* write a text at out, where there is room until end; returns the place behind */
extern char *tap_put(char *out, char *end, const char *format,...) pg_attribute_printf(3, 4);

/* microseconds from 1970 to a time in UTC, by the C library's reckoning */
extern int64 tap_utc(int year, int month, int day, int hour, int minute,
					 int second);

#endif							/* TAP_H */

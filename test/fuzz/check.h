/*
 * test/fuzz/check.h
 *
 * What the fuzz targets share.  A property that does not hold ends the process,
 * which is how libFuzzer learns of it.
 */
#ifndef CHECK_H
#define CHECK_H

#include "postgres_fe.h"

#include <time.h>

#include "codec/utf8.h"

/* enough for any input that libFuzzer makes, so that a refusal is rare */
#define FUZZ_ARENA ((size_t) 32 * 1024 * 1024)

/*
 * Seconds of a processor's time that an input may take, several times what the
 * worst one takes that is known.  libFuzzer's own limit goes by the clock, which
 * on a machine that others load says nothing.
 */
#define FUZZ_SECONDS 30

#define check(property) \
	do { \
		if (!(property)) \
		{ \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property); \
			abort(); \
		} \
	} while (0)

/* of the target */
static int	test_input(const uint8 *data, size_t size);

extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

/*
 * What libFuzzer calls for each input.
 */
int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	clock_t		begin = clock();
	int			result = test_input(data, size);

	check((clock() - begin) / CLOCKS_PER_SEC < FUZZ_SECONDS);
	return result;
}

/*
 * Is a string, if there is one, valid UTF-8?
 */
static inline bool
is_text(const char *text)
{
	while (text != NULL && *text != '\0')
	{
		int			len = booking_utf8_length(text, strnlen(text, 4));

		if (len == 0)
			return false;
		text += len;
	}
	return true;
}

/*
 * Are two strings equal, or both absent?
 */
static inline bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

#endif							/* CHECK_H */

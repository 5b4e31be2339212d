/*
 * test/unit/tap.c
 *
 * What the unit tests share, as tap.h says: a check that does not hold must be
 * seen in the output and in the exit code, and so must a test without checks.
 */
#include "tap.h"

#include <stdarg.h>
#include <time.h>

static int	tests = 0;
static int	failures = 0;

static void print_text(const char *label, const char *text);

/*
 * One check.
 */
bool
tap_ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
	if (!good)
		failures++;
	fflush(stdout);
	return good;
}

/*
 * Two numbers must be equal.
 */
bool
tap_is_int(int64 got, int64 expected, const char *name)
{
	if (!tap_ok(got == expected, name))
		printf("#   got " INT64_FORMAT ", expected " INT64_FORMAT "\n", got,
			   expected);
	return got == expected;
}

/*
 * Two strings must be equal; NULL is equal to NULL alone.
 */
bool
tap_is_text(const char *got, const char *expected, const char *name)
{
	bool		good = got == NULL || expected == NULL ? got == expected :
		strcmp(got, expected) == 0;

	if (!tap_ok(good, name))
	{
		print_text("got", got);
		print_text("expected", expected);
	}
	return good;
}

/*
 * Show a string so that every byte of it can be told.
 */
static void
print_text(const char *label, const char *text)
{
	printf("#   %s ", label);
	if (text == NULL)
		printf("nothing");
	else
	{
		for (; *text != '\0'; text++)
		{
			unsigned char byte = (unsigned char) *text;

			if (byte < 0x20 || byte >= 0x7f || byte == '\\')
				printf("\\x%02x", byte);
			else
				printf("%c", byte);
		}
	}
	printf("\n");
}

/*
 * A remark beneath the last check.
 */
void
tap_note(const char *format,...)
{
	va_list		arguments;

	printf("#   ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/*
 * See tap.h.  A text that does not fit is a mistake of the test.
 */
char *
tap_put(char *out, char *end, const char *format,...)
{
	va_list		arguments;
	int			len;

	va_start(arguments, format);
	len = vsnprintf(out, end - out, format, arguments);
	va_end(arguments);
	if (len < 0 || len >= end - out)
	{
		printf("Bail out!  a text of the tests does not fit\n");
		exit(1);
	}
	return out + len;
}

/*
 * The plan, and the exit code.
 */
int
tap_done(void)
{
	printf("1..%d\n", tests);
	return failures == 0 && tests > 0 ? 0 : 1;
}

/*
 * See tap.h.
 */
int64
tap_utc(int year, int month, int day, int hour, int minute, int second)
{
	struct tm	tm = {0};

	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	tm.tm_hour = hour;
	tm.tm_min = minute;
	tm.tm_sec = second;
	return (int64) timegm(&tm) * 1000000;
}

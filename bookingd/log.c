/*-------------------------------------------------------------------------
 *
 * log.c
 *	  log lines of bookingd
 *
 * Each line, on standard error:
 *
 * 	2030-03-01 10:00:00.000 UTC [pid] LEVEL:  message
 *
 * LEVEL is LOG, WARNING or ERROR.  A line never has a part of a request: neither
 * headers, body nor query, nor the name of a source, which is a secret of its
 * address; and no text of an error of the database, which may quote them.
 *
 * IDENTIFICATION
 *	  booking/bookingd/log.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <time.h>
#include <unistd.h>

#include "bookingd/log.h"

/* longer messages are cut */
#define LOG_LINE 1024

static void write_line(const char *level, const char *fmt, va_list args)
			__attribute__((format(printf, 2, 0)));

/*
 * Write one line with one system call, so that lines of several processes on
 * one file stay whole.  Line feeds of a message of libpq become blanks.
 */
static void
write_line(const char *level, const char *fmt, va_list args)
{
	char		line[LOG_LINE];
	struct timespec now;
	struct tm	utc;
	size_t		len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	len = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &utc);
	len += snprintf(line + len, sizeof(line) - len, ".%03d UTC [%d] %s:  ",
					(int) (now.tv_nsec / 1000000), (int) getpid(), level);
	vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);

	len = strlen(line);
	while (len > 0 && line[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len; i++)
	{
		if ((unsigned char) line[i] < ' ')
			line[i] = ' ';
	}
	line[len++] = '\n';

	/* there is nobody to tell that the log cannot be written */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

/*
 * Say what happened in the ordinary course of things.
 */
void
log_info(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	write_line("LOG", fmt, args);
	va_end(args);
}

/*
 * Say what an operator should look at, if it goes on.
 */
void
log_warning(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	write_line("WARNING", fmt, args);
	va_end(args);
}

/*
 * Say what keeps bookingd from its work.
 */
void
log_error(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	write_line("ERROR", fmt, args);
	va_end(args);
}

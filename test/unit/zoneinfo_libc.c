/*
 * test/unit/zoneinfo_libc.c
 *
 * The rules of time zones for unit tests and fuzzing, from the C library, which
 * reads the same files as the server does.
 */
#include "postgres_fe.h"

#include <time.h>
#include <unistd.h>

#include "codec/zoneinfo.h"

#define FOLDER "/usr/share/zoneinfo/"

/*
 * See zoneinfo.h.
 */
bool
booking_zoneinfo_offset(const char *name, int64 instant, int *offset)
{
	static char current[300];
	time_t		time = instant;
	struct tm	tm;

	/* this is asked a million times of one zone */
	if (current[0] == '\0' || strcmp(name, current) != 0)
	{
		char		path[sizeof(current) + sizeof(":" FOLDER)];
		char		magic[4];
		FILE	   *file;
		bool		is_zone;

		snprintf(path, sizeof(path), ":" FOLDER "%s", name);
		file = strlen(name) < sizeof(current) ? fopen(path + 1, "rb") : NULL;
		is_zone = file != NULL &&
			fread(magic, sizeof(magic), 1, file) == 1 &&
			memcmp(magic, "TZif", sizeof(magic)) == 0;
		if (file != NULL)
			fclose(file);
		if (!is_zone)
			return false;
		setenv("TZ", path, 1);
		tzset();
		strlcpy(current, name, sizeof(current));
	}
	if (localtime_r(&time, &tm) == NULL)
		return false;
	*offset = (int) tm.tm_gmtoff;
	return true;
}

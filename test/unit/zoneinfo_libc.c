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
	char		path[300];
	time_t		time = instant;
	struct tm	tm;

	snprintf(path, sizeof(path), ":" FOLDER "%s", name);
	if (strcmp(path, current) != 0)
	{
		char		magic[4];
		FILE	   *file = fopen(path + 1, "rb");
		bool		is_zone = file != NULL &&
			fread(magic, sizeof(magic), 1, file) == 1 &&
			memcmp(magic, "TZif", sizeof(magic)) == 0;

		if (file != NULL)
			fclose(file);
		if (!is_zone)
			return false;
		setenv("TZ", path, 1);
		tzset();
		strlcpy(current, path, sizeof(current));
	}
	if (localtime_r(&time, &tm) == NULL)
		return false;
	*offset = (int) tm.tm_gmtoff;
	return true;
}

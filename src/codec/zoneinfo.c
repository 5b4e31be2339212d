/*-------------------------------------------------------------------------
 *
 * zoneinfo.c
 *	  rules of the time zones of the IANA database, from the server
 *
 * Not libical's, which reads the same files: the rules that its version 3.0.16
 * makes of them are wrong for 27 of 597 zones at some time after 2014, for most
 * of these in every year from 2038 on.  And an event must not be at another
 * time than booking_at() says.
 *
 * IDENTIFICATION
 *	  booking/src/codec/zoneinfo.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef FRONTEND

#include "postgres.h"

#include "pgtime.h"

#include "codec/zoneinfo.h"

static bool is_in_database(pg_tz *zone);

/*
 * See zoneinfo.h.  The server remembers each zone for the life of the process,
 * some 20 kB for each that exists.
 */
bool
booking_zoneinfo_offset(const char *name, int64 instant, int *offset)
{
	pg_time_t	time = instant;
	pg_tz	   *zone;
	struct pg_tm *tm;

	if (strlen(name) > TZ_STRLEN_MAX)
		return false;
	zone = pg_tzset(name);
	if (zone == NULL || !is_in_database(zone))
		return false;
	tm = pg_localtime(&time, zone);
	if (tm == NULL)
		return false;
	*offset = (int) tm->tm_gmtoff;
	return true;
}

/*
 * Does the zone come from the database?  The server takes any other word for a
 * rule of POSIX, which without digits is UTC under that name.  Such a zone
 * keeps its name in upper case, while one of the database is called as its file
 * is.  Those that are all in upper case there have an offset, but for a few.
 */
static bool
is_in_database(pg_tz *zone)
{
	static const char *const zero[] = {"UTC", "UCT", "GMT", "GMT0", "GMT+0", "GMT-0"};
	const char *name = pg_get_timezone_name(zone);
	long		offset;

	for (const char *p = name; *p != '\0'; p++)
	{
		if (*p >= 'a' && *p <= 'z')
			return true;
	}
	for (int i = 0; i < lengthof(zero); i++)
	{
		if (strcmp(name, zero[i]) == 0)
			return true;
	}
	return !pg_get_timezone_offset(zone, &offset) || offset != 0;
}

#endif							/* FRONTEND */

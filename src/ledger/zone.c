/*-------------------------------------------------------------------------
 *
 * zone.c
 *	  booking_at, and time zones by name
 *
 * IDENTIFICATION
 *	  booking/src/ledger/zone.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/zone.h"

PG_FUNCTION_INFO_V1(booking_at);

/* no zone is further from UTC, and none changes more often than this */
#define ZONE_REACH_SECS (26 * SECS_PER_HOUR)
#define ZONE_MAX_OFFSETS 8

pg_noreturn static void raise_out_of_range(void);
static bool is_known(const char *name);
static int	zone_offsets(pg_tz *zone, pg_time_t around, long *offsets);
static int	instants_of(pg_tz *zone, pg_time_t local, pg_time_t *instants);

/*
 * booking_at(local, zone, fold) returns timestamptz
 *
 * The instant at which clocks in the zone show a wall time.  A time that the
 * clocks skip is refused; one that they show twice is refused or chosen.
 */
Datum
booking_at(PG_FUNCTION_ARGS)
{
	static const char *const folds[] = {"error", "first", "second"};
	Timestamp	local;
	pg_tz	   *zone;
	text	   *fold;
	int			choice = -1;
	pg_time_t	seconds;
	int64		fraction;
	pg_time_t	instants[ZONE_MAX_OFFSETS];
	int			count;

	booking_arg_require(fcinfo, 0, "local");
	local = PG_GETARG_TIMESTAMP(0);
	if (local < BOOKING_FIRST_INSTANT || local >= BOOKING_INSTANT_LIMIT)
		raise_out_of_range();
	booking_arg_require(fcinfo, 1, "zone");
	zone = booking_zone_lookup(PG_GETARG_TEXT_PP(1), "zone");
	booking_arg_require(fcinfo, 2, "fold");
	fold = PG_GETARG_TEXT_PP(2);
	for (int i = 0; i < lengthof(folds); i++)
	{
		if (booking_text_is(fold, folds[i]))
			choice = i;
	}
	if (choice < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is invalid", "fold"),
				 errhint("Give error, first or second.")));

	fraction = local % USECS_PER_SEC;
	if (fraction < 0)
		fraction += USECS_PER_SEC;
	seconds = (local - fraction) / USECS_PER_SEC +
		(pg_time_t) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	count = instants_of(zone, seconds, instants);

	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is a time that clocks in the zone skip",
						"local"),
				 errhint("Choose a time before or after the gap.")));
	if (count > 1 && choice == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("argument \"%s\" is a time that clocks in the zone show more than once",
						"local"),
				 errhint("Give first or second as \"fold\".")));

	seconds = instants[choice == 2 ? count - 1 : 0] -
		(pg_time_t) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	local = seconds * USECS_PER_SEC + fraction;
	if (local < BOOKING_FIRST_INSTANT || local >= BOOKING_INSTANT_LIMIT)
		raise_out_of_range();
	PG_RETURN_TIMESTAMPTZ(local);
}

/*
 * The error for a time, or the instant it is, beyond what can be booked.
 */
static void
raise_out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" is out of range", "local"),
			 errhint("Give a time in the years 1970 to 9999, in the zone and in UTC.")));
}

/*
 * The zone of a name in the server's list.  The server itself would take much
 * more: "UTC+3" is three hours *behind* UTC by the rules of POSIX, and any
 * unknown word is UTC under another name.
 */
pg_tz *
booking_zone_lookup(const text *name, const char *argument)
{
	char	   *word = text_to_cstring(name);
	pg_tz	   *zone = strlen(word) <= TZ_STRLEN_MAX ? pg_tzset(word) : NULL;

	if (zone == NULL || !is_known(pg_get_timezone_name(zone)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" is no known time zone", argument),
				 errhint("Give a name from pg_timezone_names, such as Europe/Berlin.")));
	return zone;
}

/*
 * Is the name in the server's list?  Reading the list takes milliseconds, so
 * what it contained is remembered for the life of the backend.
 */
static bool
is_known(const char *name)
{
	static HTAB *known = NULL;
	char		key[TZ_STRLEN_MAX + 1] = {0};
	bool		found;

	if (known == NULL)
	{
		HASHCTL		control = {0};

		control.keysize = TZ_STRLEN_MAX + 1;
		control.entrysize = TZ_STRLEN_MAX + 1;
		known = hash_create("booking time zones", 16, &control,
							HASH_ELEM | HASH_STRINGS);
	}

	strlcpy(key, name, sizeof(key));
	(void) hash_search(known, key, HASH_FIND, &found);
	if (!found)
	{
		pg_tzenum  *list = pg_tzenumerate_start();
		pg_tz	   *zone;

		while ((zone = pg_tzenumerate_next(list)) != NULL && !found)
			found = strcmp(pg_get_timezone_name(zone), key) == 0;
		pg_tzenumerate_end(list);
		if (found)
			(void) hash_search(known, key, HASH_ENTER, NULL);
	}
	return found;
}

/*
 * The instants at which clocks show local, a wall time counted as if it were
 * UTC, in order: for each offset in use around it, the instant it would be,
 * kept if that offset is in use then.
 */
static int
instants_of(pg_tz *zone, pg_time_t local, pg_time_t *instants)
{
	long		offsets[ZONE_MAX_OFFSETS];
	int			noffsets = zone_offsets(zone, local, offsets);
	int			count = 0;

	for (int i = 0; i < noffsets; i++)
	{
		pg_time_t	instant = local - offsets[i];
		struct pg_tm *tm = pg_localtime(&instant, zone);
		int			place;

		if (tm == NULL || tm->tm_gmtoff != offsets[i])
			continue;
		for (place = count; place > 0 && instants[place - 1] > instant; place--)
			instants[place] = instants[place - 1];
		instants[place] = instant;
		count++;
	}
	return count;
}

/*
 * The distinct offsets from UTC, in seconds, in use around a time.
 */
static int
zone_offsets(pg_tz *zone, pg_time_t around, long *offsets)
{
	pg_time_t	at = around - ZONE_REACH_SECS;
	int			count = 0;

	for (;;)
	{
		long		before;
		long		after;
		int			before_isdst;
		int			after_isdst;
		pg_time_t	boundary;
		int			known;
		int			i;

		known = pg_next_dst_boundary(&at, &before, &before_isdst, &boundary,
									 &after, &after_isdst, zone);
		if (known < 0)
			return count;
		for (i = 0; i < count && offsets[i] != before; i++)
			;
		if (i == count && count < ZONE_MAX_OFFSETS)
			offsets[count++] = before;
		if (known == 0 || boundary > around + ZONE_REACH_SECS)
			return count;
		at = boundary;
	}
}

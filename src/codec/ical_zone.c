/*-------------------------------------------------------------------------
 *
 * ical_zone.c
 *	  from local times of iCalendar to instants
 *
 * A zone is a list of observances, each with the offset before it, the offset
 * from it on, and the instants at which it begins.  Which zone a TZID means:
 *
 * 1. A name of the IANA database with a slash in it, such as Europe/Berlin,
 *	  means that zone as the server knows it: what senders embed is often cut
 *	  down to the present rules, or out of date.
 * 2. A name that Windows gives to a zone means the zone of the database that
 *	  the CLDR assigns to it, for the same reason; see ical_windows.c.
 * 3. Else the embedded VTIMEZONE of that TZID, also for EST or GMT, which
 *	  some programs send with the rules of New York or London.
 * 4. Else a name of the database without a slash, such as UTC.
 * 5. Else a TZID that begins with a slash and ends in a name of the database,
 *	  as Mozilla and libical make them.
 *
 * Anything else is unknown, and a time in it too.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_zone.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_rule.h"
#include "codec/ical_windows.h"
#include "codec/ical_zone.h"
#include "codec/zoneinfo.h"

/* far more than any zone of the database needs */
#define MAX_OBSERVANCES 500
#define MAX_RULES 100
#define MAX_RDATES 1000
#define MAX_NAME_LENGTH 48

/*
 * No offset is larger, and in the database none is in force for a shorter time:
 * the shortest stretch of all since its beginning is one of 95 hours.
 */
#define MAX_OFFSET (24 * 3600)
#define MIN_STRETCH (24 * 3600)

/*
 * How many onsets are looked at for one object.  Two years of daily events in
 * a zone with a century of changes take a tenth; beyond, somebody wants to keep
 * a processor busy.
 */
#define MAX_WORK (INT64CONST(20) * 1000 * 1000)

/* an instant may have several local times within this reach, but not so many */
#define MAX_OFFSETS 8

/* rules for a 29th of February strike at the latest every eighth year */
#define YEARS_BACK 9

typedef BookingIcalZoneMeaning Zone;

typedef struct Rdate
{
	struct Rdate *next;
	int64		local;
} Rdate;

typedef struct Observance
{
	struct Observance *next;
	bool		has_start;
	bool		has_from;
	bool		has_to;
	const char *rule_text;
	int64		start;			/* local, by the offset before */
	int			from;
	int			to;
	Rdate	   *rdates;
	bool		has_rule;
	BookingIcalRule rule;
} Observance;

struct BookingIcalZone
{
	BookingIcalZone *next;
	const char *tzid;
	bool		bad;			/* cannot be reckoned with */
	bool		finished;
	int			nobservances;
	int			nrules;
	int			nrdates;
	Observance *observances;	/* the last one first */
};

static void add_to_observance(BookingIcalZones *zones, BookingIcalZone *zone,
							  const BookingContentLine *line);
static void add_rdates(BookingIcalZones *zones, BookingIcalZone *zone,
					   const BookingContentLine *line);
static bool parse_start(BookingIcalZones *zones, const BookingContentLine *line,
						int64 *start);
static bool parse_offset(BookingIcalZones *zones,
						 const BookingContentLine *line, int *offset);
static bool finish_zone(BookingIcalZone *zone);
static bool find_zone(BookingIcalZones *zones, const char *tzid, Zone *zone);
static bool look_up_zone(BookingIcalZones *zones, const char *tzid, Zone *zone);
static bool find_embedded(BookingIcalZones *zones, const char *tzid,
						  Zone *zone);
static bool find_named(const char *name, Zone *zone);
static bool is_database_name(const char *name);
static bool find_offsets(BookingIcalZones *zones, const Zone *zone, int64 local,
						 int *offsets, int *count);
static bool offset_at(BookingIcalZones *zones, const Zone *zone, int64 instant,
					  int *offset);
static int	embedded_offset(const BookingIcalZone *zone, int64 instant);
static bool last_onset(const Observance *observance, int64 limit, int year,
					   int64 *onset);
static int64 next_onset(const BookingIcalZone *zone, int64 after);
static int	offset_before_all(const BookingIcalZone *zone);

/*
 * Prepare for an object whose zones will live in arena.
 */
void
booking_ical_zones_init(BookingIcalZones *zones, BookingArena *arena)
{
	memset(zones, 0, sizeof(BookingIcalZones));
	zones->arena = arena;
}

/*
 * A VTIMEZONE begins.
 */
void
booking_ical_zone_begin(BookingIcalZones *zones)
{
	BookingIcalZone *zone = booking_arena_alloc(zones->arena,
												sizeof(BookingIcalZone));

	if (zone == NULL)
		return;
	zone->next = zones->embedded;
	zones->embedded = zone;
}

/*
 * STANDARD or DAYLIGHT begins within the last VTIMEZONE.
 */
void
booking_ical_zone_begin_observance(BookingIcalZones *zones)
{
	BookingIcalZone *zone = zones->embedded;
	Observance *observance;

	if (zone == NULL)
		return;
	observance = booking_arena_alloc(zones->arena, sizeof(Observance));
	if (observance == NULL || ++zone->nobservances > MAX_OBSERVANCES)
	{
		zone->bad = true;
		return;
	}
	observance->next = zone->observances;
	zone->observances = observance;
}

/*
 * A property of the last VTIMEZONE or of its last observance.
 */
void
booking_ical_zone_add(BookingIcalZones *zones, const BookingContentLine *line,
					  bool in_observance)
{
	BookingIcalZone *zone = zones->embedded;

	if (zone == NULL || zone->bad)
		return;
	if (in_observance)
	{
		if (zone->observances != NULL)
			add_to_observance(zones, zone, line);
	}
	else if (booking_contentline_is(line, "TZID"))
	{
		if (zone->tzid != NULL)
			zone->bad = true;
		zone->tzid = booking_contentline_text(line, zones->arena);
	}
}

/*
 * A property of the last observance.  Whatever is wrong with one that matters
 * makes the zone unusable; the others are not read.
 */
static void
add_to_observance(BookingIcalZones *zones, BookingIcalZone *zone,
				  const BookingContentLine *line)
{
	Observance *observance = zone->observances;
	bool		good = true;

	if (booking_contentline_is(line, "DTSTART"))
	{
		good = !observance->has_start &&
			parse_start(zones, line, &observance->start);
		observance->has_start = true;
	}
	else if (booking_contentline_is(line, "TZOFFSETFROM"))
	{
		good = !observance->has_from &&
			parse_offset(zones, line, &observance->from);
		observance->has_from = true;
	}
	else if (booking_contentline_is(line, "TZOFFSETTO"))
	{
		good = !observance->has_to &&
			parse_offset(zones, line, &observance->to);
		observance->has_to = true;
	}
	else if (booking_contentline_is(line, "RRULE"))
	{
		good = observance->rule_text == NULL;
		observance->rule_text = booking_contentline_word(line, zones->arena);
	}
	else if (booking_contentline_is(line, "RDATE"))
		add_rdates(zones, zone, line);
	else if (booking_contentline_is(line, "EXDATE") ||
			 booking_contentline_is(line, "EXRULE"))
		good = false;			/* RFC 5545 knows none here */
	if (!good)
		zone->bad = true;
}

/*
 * Read when an observance begins: a local time.
 */
static bool
parse_start(BookingIcalZones *zones, const BookingContentLine *line,
			int64 *start)
{
	char	   *word = booking_contentline_word(line, zones->arena);
	bool		is_date;
	bool		is_utc;

	return word != NULL &&
		booking_ical_local_time(word, start, &is_date, &is_utc) &&
		!is_date && !is_utc;
}

/*
 * Read UTC-OFFSET (RFC 5545 section 3.3.14), in seconds east of UTC.
 */
static bool
parse_offset(BookingIcalZones *zones, const BookingContentLine *line,
			 int *offset)
{
	char	   *word = booking_contentline_word(line, zones->arena);
	size_t		len = word == NULL ? 0 : strlen(word);
	int			parts[3] = {0};

	if ((len != 5 && len != 7) || (word[0] != '+' && word[0] != '-') ||
		strspn(word + 1, "0123456789") != len - 1)
		return false;
	for (size_t i = 1; i < len; i++)
		parts[(i - 1) / 2] = parts[(i - 1) / 2] * 10 + (word[i] - '0');
	if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59)
		return false;
	*offset = parts[0] * 3600 + parts[1] * 60 + parts[2];
	if (word[0] == '-')
		*offset = -*offset;
	return true;
}

/*
 * The further dates on which the last observance begins.
 */
static void
add_rdates(BookingIcalZones *zones, BookingIcalZone *zone,
		   const BookingContentLine *line)
{
	char	   *word = booking_contentline_word(line, zones->arena);

	while (word != NULL && !zone->bad)
	{
		char	   *comma = strchr(word, ',');
		Rdate	   *rdate = booking_arena_alloc(zones->arena, sizeof(Rdate));
		bool		is_date;
		bool		is_utc;

		if (comma != NULL)
			*comma = '\0';
		if (rdate == NULL || ++zone->nrdates > MAX_RDATES ||
			!booking_ical_local_time(word, &rdate->local, &is_date, &is_utc) ||
			is_date || is_utc)
		{
			zone->bad = true;
			return;
		}
		rdate->next = zone->observances->rdates;
		zone->observances->rdates = rdate;
		word = comma == NULL ? NULL : comma + 1;
	}
}

/*
 * Read DATE or DATE-TIME (RFC 5545 sections 3.3.4 and 3.3.5).  A leap second
 * is the second that follows.
 */
bool
booking_ical_local_time(const char *word, int64 *local, bool *is_date,
						bool *is_utc)
{
	static const int widths[] = {4, 2, 2, 2, 2, 2};
	int			parts[6] = {0};
	size_t		len = strlen(word);
	const char *p = word;

	*is_date = len == 8;
	*is_utc = len == 16 && word[15] == 'Z';
	if (!*is_date && !*is_utc && len != 15)
		return false;
	for (int i = 0; i < (*is_date ? 3 : 6); i++)
	{
		if (i == 3 && *p++ != 'T')
			return false;
		for (int j = 0; j < widths[i]; j++, p++)
		{
			if (*p < '0' || *p > '9')
				return false;
			parts[i] = parts[i] * 10 + (*p - '0');
		}
	}
	if (parts[0] < 1 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 ||
		parts[2] > booking_civil_month_days(parts[0], parts[1]) ||
		parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
		return false;
	*local = booking_civil_days(parts[0], parts[1], parts[2]) * BOOKING_CIVIL_DAY +
		parts[3] * 3600 + parts[4] * 60 + parts[5];
	return true;
}

/*
 * Make a zone ready once all its lines have come.  Returns whether it can be
 * reckoned with.
 */
static bool
finish_zone(BookingIcalZone *zone)
{
	if (zone->finished)
		return !zone->bad;
	zone->finished = true;
	if (zone->observances == NULL)
		zone->bad = true;
	for (Observance *o = zone->observances; o != NULL && !zone->bad; o = o->next)
	{
		if (!o->has_start || !o->has_from || !o->has_to)
			zone->bad = true;
		else if (o->rule_text != NULL)
		{
			o->has_rule = booking_ical_rule_parse(o->rule_text, o->start, &o->rule);
			if (!o->has_rule || ++zone->nrules > MAX_RULES)
				zone->bad = true;
		}
	}
	return !zone->bad;
}

/*
 * The instant, in seconds from 1970-01-01 00:00 UTC, at which clocks in a zone
 * show a local time (RFC 5545 section 3.3.5): in a fold, the first one; in a
 * gap, the one that the offset before the gap gives.  Returns false if the zone
 * is unknown.
 *
 * Every offset in force around that time is tried.  It is the right one if it
 * is in force at the instant that it gives.  Where none is, the two offsets of
 * the gap are those that each give an instant at which the other is in force.
 */
bool
booking_ical_zone_instant(BookingIcalZones *zones, const char *tzid,
						  int64 local, int64 *instant)
{
	Zone		zone;
	int			offsets[MAX_OFFSETS];
	int			count = 0;
	bool		found = false;

	if (!find_zone(zones, tzid, &zone) ||
		!find_offsets(zones, &zone, local, offsets, &count))
		return false;
	for (int i = 0; i < count; i++)
	{
		int			offset;

		if (!offset_at(zones, &zone, local - offsets[i], &offset))
			return false;
		if (offset == offsets[i] && (!found || local - offset < *instant))
		{
			*instant = local - offset;
			found = true;
		}
	}
	for (int i = 1; i < count && !found; i++)
	{
		int			before;
		int			after;

		if (!offset_at(zones, &zone, local - offsets[i], &before) ||
			!offset_at(zones, &zone, local - offsets[i - 1], &after))
			return false;
		if (before == offsets[i - 1] && after == offsets[i])
		{
			*instant = local - before;
			found = true;
		}
	}
	return found;
}

/*
 * The offsets in force around a local time, in their order.  Returns false if
 * there are too many.
 */
static bool
find_offsets(BookingIcalZones *zones, const Zone *zone, int64 local,
			 int *offsets, int *count)
{
	int64		at = local - MAX_OFFSET;

	while (at <= local + MAX_OFFSET)
	{
		int			offset;

		if (!offset_at(zones, zone, at, &offset))
			return false;
		if (*count == 0 || offsets[*count - 1] != offset)
		{
			if (*count == MAX_OFFSETS)
				return false;
			offsets[(*count)++] = offset;
		}
		at = zone->embedded == NULL ? at + MIN_STRETCH : next_onset(zone->embedded, at);
	}
	return true;
}

/*
 * What clocks in a zone show at an instant, both in seconds.  Returns false if
 * the zone is unknown.
 */
bool
booking_ical_zone_local(BookingIcalZones *zones, const char *tzid,
						int64 instant, int64 *local)
{
	Zone		zone;
	int			offset;

	if (!find_zone(zones, tzid, &zone) ||
		!offset_at(zones, &zone, instant, &offset))
		return false;
	*local = instant + offset;
	return true;
}

/*
 * The name in the database of the zone that a TZID means; NULL if the zone is
 * unknown or the object's own.
 */
const char *
booking_ical_zone_name(BookingIcalZones *zones, const char *tzid)
{
	Zone		zone;

	return find_zone(zones, tzid, &zone) ? zone.name : NULL;
}

/*
 * What a TZID means, looked up once while it is remembered.
 */
static bool
find_zone(BookingIcalZones *zones, const char *tzid, Zone *zone)
{
	BookingIcalZoneKept *kept;

	for (int i = 0; i < BOOKING_ICAL_ZONES_KEPT && zones->kept[i].tzid != NULL; i++)
	{
		kept = &zones->kept[i];
		if (strcmp(kept->tzid, tzid) == 0)
		{
			*zone = kept->meaning;
			return kept->found;
		}
	}

	kept = &zones->kept[zones->next_kept];
	zones->next_kept = (zones->next_kept + 1) % BOOKING_ICAL_ZONES_KEPT;
	memset(kept, 0, sizeof(*kept));
	kept->tzid = tzid;
	kept->found = look_up_zone(zones, tzid, &kept->meaning);
	*zone = kept->meaning;
	return kept->found;
}

/*
 * What a TZID means; see the top.  Returns false if it is unknown.
 */
static bool
look_up_zone(BookingIcalZones *zones, const char *tzid, Zone *zone)
{
	bool		has_slash = strchr(tzid, '/') != NULL;
	const char *windows = booking_ical_windows_zone(tzid);

	if ((has_slash && find_named(tzid, zone)) ||
		(windows != NULL && find_named(windows, zone)) ||
		find_embedded(zones, tzid, zone) ||
		(!has_slash && find_named(tzid, zone)))
		return true;
	if (tzid[0] != '/')
		return false;
	for (const char *p = tzid; p != NULL; p = strchr(p + 1, '/'))
	{
		if (find_named(p + 1, zone))
			return true;
	}
	return false;
}

/*
 * A zone that the object brings, if it can be reckoned with.
 */
static bool
find_embedded(BookingIcalZones *zones, const char *tzid, Zone *zone)
{
	BookingIcalZone *embedded = zones->embedded;

	while (embedded != NULL &&
		   (embedded->tzid == NULL || strcmp(embedded->tzid, tzid) != 0))
		embedded = embedded->next;
	if (embedded == NULL || !finish_zone(embedded))
		return false;
	zone->name = NULL;
	zone->embedded = embedded;
	return true;
}

/*
 * A zone of the database.
 */
static bool
find_named(const char *name, Zone *zone)
{
	int			offset;

	if (!is_database_name(name) || !booking_zoneinfo_offset(name, 0, &offset))
		return false;
	zone->name = name;
	zone->embedded = NULL;
	return true;
}

/*
 * May a name be looked for in the database?  A file's name is made of it, so it
 * must not lead out of the folder; and not all that lies there is a zone for
 * everyone: localtime is this machine's, those under right count leap seconds.
 * Digits make a rule of POSIX of any name whatever, so they are let pass only
 * where the rule means the same as the zone of that name.
 */
static bool
is_database_name(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static const char *const others[] = {"localtime", "posixrules", "Factory"};
	static const char *const with_digits[] = {
		"EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
		"GMT0", "GMT+0", "GMT-0", "Etc/GMT0"
	};
	const char *p = name;

	for (int i = 0; i < lengthof(with_digits); i++)
	{
		if (strcmp(name, with_digits[i]) == 0)
			return true;
	}
	if (strncmp(name, "Etc/GMT", 7) == 0 && (name[7] == '+' || name[7] == '-'))
	{
		int			hours = 0;

		for (p = name + 8; *p >= '0' && *p <= '9' && hours <= 14; p++)
			hours = hours * 10 + (*p - '0');
		return p > name + 8 && *p == '\0' && hours <= 14;
	}

	for (int i = 0; i < lengthof(others); i++)
	{
		if (pg_strcasecmp(name, others[i]) == 0)
			return false;
	}
	if (strlen(name) > MAX_NAME_LENGTH || pg_strncasecmp(name, "posix/", 6) == 0 ||
		pg_strncasecmp(name, "right/", 6) == 0)
		return false;
	for (;;)
	{
		size_t		len = strspn(p, letters);

		if (len == 0)
			return false;
		p += len;
		while ((*p == '_' || *p == '-') && strspn(p + 1, letters) > 0)
			p += 1 + strspn(p + 1, letters);
		if (*p == '\0')
			return true;
		if (*p++ != '/')
			return false;
	}
}

/*
 * The offset of a zone at an instant.
 */
static bool
offset_at(BookingIcalZones *zones, const Zone *zone, int64 instant, int *offset)
{
	if (zone->embedded == NULL)
		return booking_zoneinfo_offset(zone->name, instant, offset);
	zones->work += zone->embedded->nobservances + zone->embedded->nrdates +
		zone->embedded->nrules * YEARS_BACK;
	if (zones->work > MAX_WORK)
		return false;
	*offset = embedded_offset(zone->embedded, instant);
	return true;
}

/*
 * The offset of an embedded zone at an instant: that of the observance which
 * began last.
 */
static int
embedded_offset(const BookingIcalZone *zone, int64 instant)
{
	const Observance *current = NULL;
	int64		current_onset = 0;
	BookingCivil civil;
	int			year;

	/* beyond the ends of the calendar rules are those of its last year */
	if (booking_civil_split(instant, &civil))
		year = civil.year;
	else
		year = instant < 0 ? 1 : 9999;

	for (Observance *o = zone->observances; o != NULL; o = o->next)
	{
		int64		onset = 0;

		if (last_onset(o, instant, year, &onset) &&
			(current == NULL || onset > current_onset))
		{
			current = o;
			current_onset = onset;
		}
	}
	return current != NULL ? current->to : offset_before_all(zone);
}

/*
 * The last instant, at or before limit, at which an observance begins; year is
 * that of limit.
 */
static bool
last_onset(const Observance *observance, int64 limit, int year, int64 *onset)
{
	int64		first = observance->start - observance->from;
	bool		found = first <= limit;

	if (found)
		*onset = first;
	for (Rdate *rdate = observance->rdates; rdate != NULL; rdate = rdate->next)
	{
		int64		at = rdate->local - observance->from;

		if (at <= limit && (!found || at > *onset))
		{
			*onset = at;
			found = true;
		}
	}
	if (observance->has_rule)
	{
		int			newest = Min(year + 1, observance->rule.last_year);

		for (int y = newest; y > newest - YEARS_BACK; y--)
		{
			int64		at;

			if (booking_ical_rule_onset(&observance->rule, observance->start,
										observance->from, y, &at) && at <= limit)
			{
				if (!found || at > *onset)
					*onset = at;
				return true;
			}
		}
	}
	return found;
}

/*
 * The first instant after another one, and within a year of it, at which some
 * observance begins; if there is none, one that is beyond all.
 */
static int64
next_onset(const BookingIcalZone *zone, int64 after)
{
	int64		next = PG_INT64_MAX;
	BookingCivil civil;
	int			year;

	if (booking_civil_split(after, &civil))
		year = civil.year;
	else
		year = after < 0 ? 1 : 9999;
	for (const Observance *o = zone->observances; o != NULL; o = o->next)
	{
		if (o->start - o->from > after)
			next = Min(next, o->start - o->from);
		for (const Rdate *rdate = o->rdates; rdate != NULL; rdate = rdate->next)
		{
			if (rdate->local - o->from > after)
				next = Min(next, rdate->local - o->from);
		}
		for (int y = year - 1; y <= year + 1 && o->has_rule; y++)
		{
			int64		at;

			if (booking_ical_rule_onset(&o->rule, o->start, o->from, y, &at) && at > after)
				next = Min(next, at);
		}
	}
	return next;
}

/*
 * The offset before the first change of all.
 */
static int
offset_before_all(const BookingIcalZone *zone)
{
	const Observance *first = zone->observances;

	for (const Observance *o = first->next; o != NULL; o = o->next)
	{
		if (o->start - o->from < first->start - first->from)
			first = o;
	}
	return first->from;
}

/*-------------------------------------------------------------------------
 *
 * ical_zone.h
 *	  from local times of iCalendar to instants
 *
 * Local times are seconds from 1970-01-01 00:00 on the clocks of their zone.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_zone.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_ZONE_H
#define BOOKING_ICAL_ZONE_H

#include "codec/contentline.h"

typedef struct BookingIcalZone BookingIcalZone;

/* what a TZID means: one of the two */
typedef struct BookingIcalZoneMeaning
{
	const char *name;			/* in the database */
	const BookingIcalZone *embedded;
} BookingIcalZoneMeaning;

/*
 * Meanings that are remembered: the zones of a series and of its changes are
 * asked for in turn, and to find that one is unknown costs a search for a file.
 */
#define BOOKING_ICAL_ZONES_KEPT 16

typedef struct BookingIcalZoneKept
{
	const char *tzid;			/* NULL: free */
	bool		found;
	BookingIcalZoneMeaning meaning;
} BookingIcalZoneKept;

/* zones that one object brings */
typedef struct BookingIcalZones
{
	BookingArena *arena;
	BookingIcalZone *embedded;	/* the last one first */
	int			next_kept;		/* place of the next meaning */
	BookingIcalZoneKept kept[BOOKING_ICAL_ZONES_KEPT];
	int64		work;			/* onsets looked at so far */
} BookingIcalZones;

extern void booking_ical_zones_init(BookingIcalZones *zones,
									BookingArena *arena);

/* as the lines of a VTIMEZONE come */
extern void booking_ical_zone_begin(BookingIcalZones *zones);
extern void booking_ical_zone_begin_observance(BookingIcalZones *zones);
extern void booking_ical_zone_add(BookingIcalZones *zones,
								  const BookingContentLine *line,
								  bool in_observance);

/* once all have come */
extern bool booking_ical_zone_instant(BookingIcalZones *zones, const char *tzid,
									  int64 local, int64 *instant);
extern bool booking_ical_zone_local(BookingIcalZones *zones, const char *tzid,
									int64 instant, int64 *local);
extern const char *booking_ical_zone_name(BookingIcalZones *zones,
										  const char *tzid);

extern bool booking_ical_local_time(const char *word, int64 *local,
									bool *is_date, bool *is_utc);

#endif							/* BOOKING_ICAL_ZONE_H */

/*-------------------------------------------------------------------------
 *
 * rfc3339.h
 *	  dates and times as web services write them (RFC 3339)
 *
 * IDENTIFICATION
 *	  booking/src/codec/rfc3339.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_RFC3339_H
#define BOOKING_RFC3339_H

#include "codec/arena.h"

/* bytes of a time that is written, with the NUL */
#define BOOKING_RFC3339_SIZE 32

/* a time that was read */
typedef struct BookingTime
{
	int64		local;			/* microseconds from 1970-01-01 on its clock */
	bool		is_date;		/* midnight, and no time was given */
	bool		has_offset;
	int			offset;			/* seconds east of UTC, if there is one */
} BookingTime;

/*
 * Read a date, or a date and time with or without offset; false if it is
 * neither.  Fractions of a second beyond microseconds are cut.
 */
extern bool booking_rfc3339_read(const char *text, BookingTime *time);

/*
 * The instant of a time: by its offset, else by a zone of the IANA database.
 * False if there is neither, or no such zone.
 */
extern bool booking_rfc3339_instant(const BookingTime *time, const char *zone,
									int64 *instant);

/* write an instant, in UTC; or the date of a local midnight */
extern bool booking_rfc3339_write(int64 instant, char *text);
extern bool booking_rfc3339_write_date(int64 local, char *text);

#endif							/* BOOKING_RFC3339_H */

/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  sources whose bookings are read
 *
 * IDENTIFICATION
 *	  booking/src/store/reader.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_STORE_READER_H
#define BOOKING_STORE_READER_H

#include "store/record.h"

/* a row of booking.webhook_reader, with what a request needs */
typedef struct BookingReader
{
	int64		reader_id;
	text	   *source;
	char	   *kind;
	Jsonb	   *settings;
	char	   *base_url;
	char	   *position;		/* NULL: at the beginning */
	TimestampTz since;			/* 0: none yet */
	int			tries;
	int			pages;
	bool		sealed;
	bytea	   *secret;
} BookingReader;

/* what came of a request */
typedef struct BookingReaderChange
{
	int64		reader_id;
	const char *position;		/* replaces the column, NULL included */
	int			tries;
	int			pages;
	int64		found;			/* more */
	bool		parked;
	TimestampTz next_at;
	const char *problem;		/* replaces the column, NULL included */
	TimestampTz now;
} BookingReaderChange;

/* how often bookings are listed */
typedef struct BookingReaderTimes
{
	TimestampTz now;
	int64		interval;		/* microseconds; 0: never */
} BookingReaderTimes;

extern void booking_store_reader_put(text *source, text *base_url,
									 bool sealed, bytea *secret,
									 TimestampTz due, TimestampTz now);
extern bool booking_store_reader_remove(text *source);
extern BookingReader *booking_store_readers_due(const BookingReaderTimes *times,
												ArrayType *in_hand, int limit,
												int *count);
extern bool booking_store_reader_next_due(const BookingReaderTimes *times,
										  ArrayType *in_hand,
										  TimestampTz *next_at);
extern void booking_store_reader_begin(int64 reader_id, TimestampTz since,
									   TimestampTz now);
extern void booking_store_reader_lease(int64 reader_id, TimestampTz until);
extern bool booking_store_reader_change(const BookingReaderChange *change);

#endif							/* BOOKING_STORE_READER_H */

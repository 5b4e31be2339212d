/*-------------------------------------------------------------------------
 *
 * channel.h
 *	  channels by which providers tell that a calendar has changed
 *
 * IDENTIFICATION
 *	  booking/src/store/channel.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_CHANNEL_STORE_H
#define BOOKING_CHANNEL_STORE_H

#include "store/record.h"

/* a row of booking.channel, with what a request about it needs */
typedef struct BookingChannel
{
	int64		channel_id;
	text	   *tenant;
	char	   *account;
	text	   *calendar;		/* NULL: it was removed */
	char	   *state;			/* opening, open or closing */
	char	   *channel;		/* its name; NULL: none was made yet */
	char	   *remote;			/* the provider's; NULL: none was told yet */
	bool		secret_sealed;
	bytea	   *secret;			/* that comes with what is told, or NULL */
	int			tries;
	char	   *remote_id;		/* of the calendar, or NULL */
	char	   *provider;
	char	   *base_url;
	bool		sealed;
	bytea	   *credential;		/* NULL: none */
} BookingChannel;

/* what is known of a channel after a request */
typedef struct BookingChannelChange
{
	int64		channel_id;
	const char *state;
	const char *remote;			/* NULL: as it was */
	TimestampTz next_at;
	TimestampTz renew_at;
	TimestampTz ends_at;		/* 0: as it was */
	int			tries;
	const char *problem;		/* replaces the column, NULL included */
	TimestampTz now;
} BookingChannelChange;

/*
 * What is delivered names a channel: whose it is, and its secret; false if there
 * is no such channel, or not any more.
 */
extern bool booking_store_channel_find(text *channel, BookingChannel *found);

/* is it the name of a channel, open or not? */
extern bool booking_store_channel_known(text *channel);

extern void booking_store_channels_match(const char *push_url,
										 ArrayType *pushing,
										 ArrayType *renewing, TimestampTz now);
extern BookingChannel *booking_store_channels_due(TimestampTz now,
												  ArrayType *without,
												  ArrayType *in_hand,
												  int limit, int *count);
extern bool booking_store_channel_next_due(ArrayType *in_hand,
										   TimestampTz *next_at);
extern void booking_store_channel_name(int64 channel_id, const char *channel,
									   bool sealed, bytea *secret,
									   TimestampTz now);
extern bool booking_store_channel_change(const BookingChannelChange *change);
extern void booking_store_channels_replace(int64 channel_id, TimestampTz now);
extern void booking_store_channel_remove(int64 channel_id);
extern void booking_store_channel_hasten(int64 channel_id, bool lost,
										 TimestampTz now);
extern int64 booking_store_channel_refuse(int64 channel_id);

#endif							/* BOOKING_CHANNEL_STORE_H */

/*-------------------------------------------------------------------------
 *
 * webhook_event.h
 *	  what a delivery says, whoever sent it
 *
 * The names of events are hints: what a booking is follows from its own status
 * and times, where the body has them.
 *
 * IDENTIFICATION
 *	  booking/src/codec/webhook_event.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_WEBHOOK_EVENT_H
#define BOOKING_WEBHOOK_EVENT_H

#include "codec/arena.h"

/* names a source may have for what is booked, the most special one first */
#define BOOKING_WEBHOOK_KEYS 8

/* notifications in one delivery of Microsoft Graph */
#define BOOKING_WEBHOOK_NOTES 1000

typedef enum BookingWebhookMeaning
{
	BOOKING_WEBHOOK_IGNORED,	/* of a type that means nothing here */
	BOOKING_WEBHOOK_UNUSABLE,	/* see problem */
	BOOKING_WEBHOOK_READ,		/* something has changed: look */
	BOOKING_WEBHOOK_PENDING,	/* asked for, and not decided */
	BOOKING_WEBHOOK_LIVE,		/* booked, at these times */
	BOOKING_WEBHOOK_ENDED		/* canceled or refused */
} BookingWebhookMeaning;

/*
 * Texts are of the arena and NULL where there is none.  Instants are
 * microseconds from 1970.
 */
typedef struct BookingWebhookEvent
{
	BookingWebhookMeaning meaning;
	const char *problem;		/* a word */
	const char *type;
	const char *booking;
	bool		has_version;
	int64		version;
	int			nkeys;
	const char *keys[BOOKING_WEBHOOK_KEYS];
	int64		start;
	int64		end;
	bool		rescheduled;	/* ended because it was moved to another id */
	const char *old_booking;	/* that this one was moved from */
	const char *new_booking;	/* that this one was moved to, if it is told */
} BookingWebhookEvent;

/* one notification of Microsoft Graph */
typedef struct BookingWebhookNote
{
	const char *client_state;	/* "" if there is none */
	const char *lifecycle;		/* what happened to the subscription, or NULL */
} BookingWebhookNote;

extern void booking_webhook_read_calendly(const char *data, size_t len,
										  BookingArena *arena,
										  BookingWebhookEvent *event);
extern void booking_webhook_read_calcom(const char *data, size_t len,
										BookingArena *arena,
										BookingWebhookEvent *event);
extern void booking_webhook_read_standard(const char *data, size_t len,
										  BookingArena *arena,
										  BookingWebhookEvent *event);
extern void booking_webhook_read_acuity(const char *data, size_t len,
										BookingArena *arena,
										BookingWebhookEvent *event);

/*
 * The first clientState that bytes show, without reading them as JSON, and how
 * long it is, 0 if it is no string; NULL if there is none.  What is read
 * afterwards is compared again.
 */
extern const char *booking_webhook_peek_graph(const char *data, size_t len,
											  size_t *state_len);

/* can a text be an identity, with room for a generation behind it? */
extern bool booking_webhook_is_label(const char *text);

/* notifications of a delivery; NULL, with *count 0, if it is none */
extern const BookingWebhookNote *booking_webhook_read_graph(const char *data,
															size_t len,
															BookingArena *arena,
															int *count);

#endif							/* BOOKING_WEBHOOK_EVENT_H */

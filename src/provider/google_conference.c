/*-------------------------------------------------------------------------
 *
 * google_conference.c
 *	  where to take part in a conference of Google
 *
 * A conference is made after the event that asks for it (G-REF,
 * createRequest.status), so that its link comes with a later reading.
 *
 * IDENTIFICATION
 *	  booking/src/provider/google_conference.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/google.h"

static void read_conference(const BookingJson *json, BookingArena *arena,
							BookingRestConference *conference);

/*
 * The answer to the question whether it is made by now.
 */
bool
booking_google_conference_got(BookingTask *task,
							  const BookingHttpResponse *response)
{
	return booking_rest_conference_got(task, response,
									   task->job->event_id, read_conference);
}

/*
 * What an event says of it.
 */
static void
read_conference(const BookingJson *json, BookingArena *arena,
				BookingRestConference *conference)
{
	BookingGoogleEvent event;

	booking_google_event_read(json, arena, &event);
	conference->event = event.id;
	conference->canceled = event.event.canceled;
	conference->link = event.link;
	conference->none = event.conference == BOOKING_GOOGLE_CONFERENCE_FAILED ||
		event.conference == BOOKING_GOOGLE_CONFERENCE_NONE;
}

/*-------------------------------------------------------------------------
 *
 * graph_conference.c
 *	  where to take part in an online meeting of Microsoft
 *
 * The link is in the answer to the create, as a rule; it may come later
 * (resources/event, onlineMeeting).
 *
 * IDENTIFICATION
 *	  booking/src/provider/graph_conference.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/graph.h"

static void read_conference(const BookingJson *json, BookingArena *arena,
							BookingRestConference *conference);

/*
 * The answer to the question whether it is made by now.
 */
bool
booking_graph_conference_got(BookingTask *task,
							 const BookingHttpResponse *response)
{
	return booking_rest_conference_got(task, response,
									   booking_graph_state(task)->id, read_conference);
}

/*
 * What an event says of it.
 */
static void
read_conference(const BookingJson *json, BookingArena *arena,
				BookingRestConference *conference)
{
	BookingGraphEvent event;

	booking_graph_event_read(json, arena, &event);
	conference->event = event.id;
	conference->link = event.link;
	conference->none = !event.event.conference;
}

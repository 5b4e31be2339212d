/*-------------------------------------------------------------------------
 *
 * match.c
 *	  is the event at the provider the one that we mean?
 *
 * Providers rewrite what they store: they reorder and refold, add the state of
 * invitations, bump SEQUENCE and DTSTAMP (RFC 6638, 3.2).  So an event is
 * judged by what it means: whose it is, when it is, and who takes part.  A
 * title is no identifier and no part of that.
 *
 * IDENTIFICATION
 *	  booking/src/provider/match.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "provider/match.h"

static bool same_text(const char *a, const char *b);
static bool same_address(const char *a, const char *b);
static bool covers(const BookingEvent *a, const BookingEvent *b);

/*
 * Did we make the event?  Both the identifier that every calendar knows and
 * the property that only we write must say so; an invitation copied by a
 * person may keep the first.
 */
bool
booking_match_ours(const BookingEvent *event, const char *id)
{
	return event->uid != NULL && strcmp(event->uid, id) == 0 &&
		event->marker != NULL && strcmp(event->marker, id) == 0;
}

/*
 * Do two events block the same time?  One that repeats blocks more than what
 * its first occurrence says.
 */
bool
booking_match_interval(const BookingEvent *a, const BookingEvent *b)
{
	return a->start == b->start && a->end == b->end &&
		a->all_day == b->all_day && a->recurring == b->recurring;
}

/*
 * Is the event that was found materially what is wanted: interval, organizer
 * and attendees, and not called off?  Where no organizer is wanted any will
 * do, because servers name the owner of the calendar by themselves; for the
 * same reason an organizer does not count as an attendee.
 */
bool
booking_match_material(const BookingEvent *wanted, const BookingEvent *found)
{
	return booking_match_interval(wanted, found) &&
		wanted->canceled == found->canceled &&
		(wanted->organizer_email == NULL ||
		 same_address(wanted->organizer_email, found->organizer_email)) &&
		covers(wanted, found) && covers(found, wanted);
}

/*
 * Is an update already in the event that was found?  An update may change
 * nothing material, such as the title.  Then the old event and the new one
 * match alike, and only SEQUENCE and texts tell whether it arrived; when a
 * server changed the texts the answer is no, which costs a repeated write.
 */
bool
booking_match_update(const BookingEvent *wanted, const BookingEvent *previous,
					 const BookingEvent *found)
{
	if (!booking_match_material(wanted, found))
		return false;
	if (previous == NULL || !booking_match_material(previous, found))
		return true;
	return found->sequence >= wanted->sequence &&
		same_text(wanted->summary, found->summary) &&
		same_text(wanted->description, found->description) &&
		same_text(wanted->location, found->location);
}

/*
 * Are two texts the same, an absent one being empty?
 */
static bool
same_text(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

/*
 * Are two addresses the same?  Letters of ASCII compare without case, in the
 * local part too: no server that calendars invite people on tells them apart.
 */
static bool
same_address(const char *a, const char *b)
{
	return a != NULL && b != NULL && pg_strcasecmp(a, b) == 0;
}

/*
 * Is every attendee of a one of b, organizers aside?  Somebody without an
 * address is like nobody else.
 */
static bool
covers(const BookingEvent *a, const BookingEvent *b)
{
	for (int i = 0; i < a->nattendees; i++)
	{
		const char *email = a->attendees[i].email;
		bool		found;

		found = same_address(email, a->organizer_email) ||
			same_address(email, b->organizer_email);
		for (int j = 0; j < b->nattendees && !found; j++)
			found = same_address(email, b->attendees[j].email);
		if (!found)
			return false;
	}
	return true;
}

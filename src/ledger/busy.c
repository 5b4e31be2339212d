/*-------------------------------------------------------------------------
 *
 * busy.c
 *	  what is in calendars takes time of resources
 *
 * An event that is busy and not of our own making blocks its resource as a
 * booking of all units would, buffers included; or one unit, if the settings
 * of the calendar's account say so.  Of a resource of one unit that is the
 * same.  Nothing is locked: an event that comes while a claim is decided is
 * found by the look at the calendar before the booking's own event is written.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/busy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/busy.h"
#include "ledger/detail.h"
#include "ledger/site.h"
#include "store/busy.h"

static BookingSpan *spans_in_scope(const BookingBusyScope *within,
								   const BookingResource *resource, bool whole,
								   int *count);
static bool events_of(const BookingResource *resource,
					  const BookingBusyCalendar *calendar, bool whole,
					  BookingBusyWhich *which);
static void scope_of(const BookingWish *wish, const BookingResource *resource,
					 BookingBusyScope *scope);
static char *own_event_id(const BookingWish *wish);
static Jsonb *collision_detail(const BookingResource *resource,
							   const BookingBusyCalendar *calendar,
							   TimestampTz start, TimestampTz end);

/*
 * The first event that blocks a whole resource of a wish; NULL if there is
 * none, or the wish does not heed calendars.
 */
Jsonb *
booking_busy_collision(const BookingWish *wish)
{
	if (wish->heedless || wish->override)
		return NULL;
	for (int i = 0; i < wish->nresources; i++)
	{
		const BookingResource *resource = wish->resources[i];

		for (int j = 0; j < resource->nbusy; j++)
		{
			BookingBusyScope scope;
			BookingBusyEvent *events;
			int			count;

			scope_of(wish, resource, &scope);
			if (!events_of(resource, &resource->busy[j], true, &scope.which))
				continue;
			events = booking_store_busy_events(&scope,
											   resource->busy[j].calendar_id, 1,
											   &count);

			/* seldom, and dear to know before */
			if (count > 0 && (scope.own_event_id = own_event_id(wish)) != NULL)
				events = booking_store_busy_events(&scope,
												   resource->busy[j].calendar_id,
												   1, &count);
			if (count > 0)
				return collision_detail(resource, &resource->busy[j],
										events[0].start, events[0].end);
		}
	}
	return NULL;
}

/*
 * Can there be events of a resource's calendars that take one unit each?
 */
bool
booking_busy_counts_units(const BookingResource *resource)
{
	return resource->capacity > 1 && resource->nbusy > 0;
}

/*
 * What is held, and what such events take within the time of a wish, buffers
 * included.
 */
BookingSpan *
booking_busy_join(const BookingWish *wish, const BookingResource *resource,
				  BookingSpan *held, int nheld, int *count)
{
	BookingBusyScope scope;
	BookingSpan *events;
	int			nevents;

	*count = nheld;
	if (wish->heedless || !booking_busy_counts_units(resource))
		return held;
	scope_of(wish, resource, &scope);
	events = spans_in_scope(&scope, resource, false, &nevents);

	/* seldom, and dear to know before */
	if (nevents > 0 && (scope.own_event_id = own_event_id(wish)) != NULL)
		events = spans_in_scope(&scope, resource, false, &nevents);
	held = repalloc(held, sizeof(BookingSpan) * (nheld + nevents + 1));
	memcpy(held + nheld, events, sizeof(BookingSpan) * nevents);
	*count = nheld + nevents;
	return held;
}

/*
 * The explanation of a span that is too full with them; NULL if none lies in
 * it.
 */
Jsonb *
booking_busy_units_collision(const BookingWish *wish,
							 const BookingResource *resource,
							 const BookingSpan *span)
{
	BookingBusyScope scope;

	scope_of(wish, resource, &scope);
	scope.own_event_id = own_event_id(wish);
	scope.start = Max(scope.start, span->start - resource->buffer_after);
	scope.end = Min(scope.end, span->end + resource->buffer_before);
	for (int i = 0; i < resource->nbusy; i++)
	{
		int			count;

		if (!events_of(resource, &resource->busy[i], false, &scope.which))
			continue;
		(void) booking_store_busy_events(&scope, resource->busy[i].calendar_id,
										 1, &count);
		if (count > 0)
			return collision_detail(resource, &resource->busy[i], span->start,
									span->end);
	}
	return NULL;
}

/*
 * What events take of a resource within a window, buffers included: with whole
 * those that block it, without those that take one unit.
 */
BookingSpan *
booking_busy_blocked(text *tenant, const BookingResource *resource,
					 const BookingSpan *within, bool whole, int *count)
{
	int64		buffers = resource->buffer_before + resource->buffer_after;
	BookingBusyScope scope = {0};

	scope.tenant = tenant;
	scope.resource_id = resource->resource_id;
	scope.start = within->start - buffers;
	scope.end = within->end + buffers;
	return spans_in_scope(&scope, resource, whole, count);
}

/*
 * What events take of a resource within a scope.
 */
static BookingSpan *
spans_in_scope(const BookingBusyScope *within, const BookingResource *resource,
			   bool whole, int *count)
{
	BookingSpan *spans = palloc_array(BookingSpan, 1);
	int64	   *counted = palloc_array(int64, resource->nbusy + 1);
	BookingBusyScope scope = *within;

	*count = 0;
	scope.counted = counted;
	for (int i = 0; i < resource->nbusy; i++)
	{
		BookingBusyEvent *events;
		int			nevents;

		if (!events_of(resource, &resource->busy[i], whole, &scope.which))
			continue;
		events = booking_store_busy_events(&scope, resource->busy[i].calendar_id,
										   0, &nevents);
		counted[scope.ncounted++] = resource->busy[i].calendar_id;
		spans = repalloc(spans, sizeof(BookingSpan) * (*count + nevents + 1));
		for (int j = 0; j < nevents; j++)
		{
			BookingSpan *span = &spans[(*count)++];

			span->start = (TIMESTAMP_IS_NOBEGIN(events[j].start) ?
						   scope.start : events[j].start) - resource->buffer_before;
			span->end = (TIMESTAMP_IS_NOEND(events[j].end) ?
						 scope.end : events[j].end) + resource->buffer_after;
			span->count = 1;
		}
	}
	return spans;
}

/*
 * Which events of a calendar block the whole resource, or else take one unit of
 * several; false if none do.  An orphan takes one, wherever others block all: it
 * is the event of a booking that this database has lost, and what was booked
 * beside it must find room when it is booked again.
 */
static bool
events_of(const BookingResource *resource, const BookingBusyCalendar *calendar,
		  bool whole, BookingBusyWhich *which)
{
	if (resource->capacity == 1 || calendar->one_unit)
	{
		*which = BOOKING_BUSY_ALL;
		return (resource->capacity == 1) == whole;
	}
	*which = whole ? BOOKING_BUSY_OTHERS : BOOKING_BUSY_ORPHANS;
	return true;
}

/*
 * Where to look for events that a wish would meet.  An event has the buffers
 * of the resource as a booking has, and both add up between neighbours.
 */
static void
scope_of(const BookingWish *wish, const BookingResource *resource,
		 BookingBusyScope *scope)
{
	memset(scope, 0, sizeof(*scope));
	scope->tenant = wish->tenant;
	scope->resource_id = resource->resource_id;
	scope->own[0] = wish->intent_id;
	scope->own[1] = wish->predecessor;
	scope->start = wish->start - resource->buffer_after;
	scope->end = wish->end + resource->buffer_before;
	if (!wish->widened)
	{
		scope->start -= resource->buffer_before;
		scope->end += resource->buffer_after;
	}
}

/*
 * The id that the event of a new booking gets, NULL if it gets none.
 */
static char *
own_event_id(const BookingWish *wish)
{
	if (wish->identity == NULL || wish->resources[0]->calendar == NULL)
		return NULL;
	return booking_site_event_id(wish->identity, wish->resources[0]->calendar,
								 1);
}

/*
 * What was in the way: that a calendar shows something, and when.  Not what.
 */
static Jsonb *
collision_detail(const BookingResource *resource,
				 const BookingBusyCalendar *calendar, TimestampTz start,
				 TimestampTz end)
{
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", "calendar_busy");
	booking_detail_text(&detail, "resource", resource->name);
	booking_detail_text(&detail, "calendar", calendar->calendar);
	if (!TIMESTAMP_NOT_FINITE(start))
		booking_detail_instant(&detail, "from", start);
	if (!TIMESTAMP_NOT_FINITE(end))
		booking_detail_instant(&detail, "until", end);
	return booking_detail_end(&detail);
}

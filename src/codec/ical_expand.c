/*-------------------------------------------------------------------------
 *
 * ical_expand.c
 *	  one iCalendar object as the occurrences it has within a window
 *
 * All lines are read first.  Then the events are put in order, each master
 * before its changes, since a VTIMEZONE or a master may stand behind what needs
 * it; ical_series.c says what an event comes to.  An object is one event (RFC
 * 4791 section 4.1); where it holds more, all of them are there and those
 * behind the first have a problem.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_expand.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_expand.h"
#include "codec/ical_series.h"
#include "codec/ical_walk.h"

/* as many as an object of a hundred thousand dates has; the arena says no first */
#define MAX_LINES 1000000

/* days and times that the rules of one object may make us look at */
#define MAX_STEPS 2000000

typedef struct Expander
{
	BookingArena *arena;
	BookingIcalTimes times;
	BookingIcalOutput output;
	int64		steps_left;
	int			nparts;
	BookingIcalPart *first;		/* as they stand there */
	BookingIcalPart **sorted;	/* each event's together */
} Expander;

static BookingIcalFault read_parts(Expander *expander, const char *data, size_t len);
static bool sort_parts(Expander *expander);
static int	event_end(const Expander *expander, int begin);
static bool is_first_event(const Expander *expander, int begin);
static void expand_event(Expander *expander, int begin, const char *problem);
static void expand_master(Expander *expander, BookingIcalPart *master,
						  BookingIcalPart **changes, int nchanges);
static void start_series(Expander *expander, BookingIcalSeries *series);
static void add_single(Expander *expander, const BookingIcalSeries *series);
static void add_untimed(Expander *expander, const BookingIcalPart *part);
static bool is_recurring(const BookingIcalPart *part);
static int	compare_parts(const void *a, const void *b);
static int	compare_uids(const BookingIcalPart *first, const BookingIcalPart *second);

/*
 * See ical_expand.h.
 */
BookingIcalFault
booking_ical_expand(const char *data, size_t len,
					const BookingExpandRequest *request, BookingArena *arena,
					BookingExpansion *expansion)
{
	Expander   *expander = booking_arena_alloc(arena, sizeof(Expander));
	BookingIcalFault fault;

	memset(expansion, 0, sizeof(BookingExpansion));
	if (expander == NULL)
		return BOOKING_ICAL_TOO_LARGE;
	expander->arena = arena;
	expander->steps_left = MAX_STEPS;
	booking_ical_output_start(&expander->output, request, arena);
	fault = read_parts(expander, data, len);
	if (fault != BOOKING_ICAL_OK)
		return fault;
	expander->times.calendar.tzid = request->zone;
	if (!sort_parts(expander))
		return BOOKING_ICAL_TOO_LARGE;

	/* the event that stands first in the object is what the object is */
	for (int begin = 0; begin < expander->nparts; begin = event_end(expander, begin))
	{
		if (is_first_event(expander, begin))
			expand_event(expander, begin, NULL);
	}
	for (int begin = 0; begin < expander->nparts; begin = event_end(expander, begin))
	{
		if (!is_first_event(expander, begin))
			expand_event(expander, begin, "the object holds another event as well");
	}
	for (int i = 0; i < expander->nparts; i++)
		expansion->recurring |= is_recurring(expander->sorted[i]);
	booking_ical_output_finish(&expander->output, expansion);
	return booking_arena_failed(arena) ? BOOKING_ICAL_TOO_LARGE : BOOKING_ICAL_OK;
}

/*
 * What a fault means, for people.
 */
const char *
booking_ical_fault_text(BookingIcalFault fault)
{
	switch (fault)
	{
		case BOOKING_ICAL_OK:
			return "the object was read";
		case BOOKING_ICAL_MALFORMED:
			return "the object is not a whole iCalendar object";
		case BOOKING_ICAL_NO_EVENT:
			return "the object holds no event";
		case BOOKING_ICAL_BAD_TIME:
			return "a time is not understood";
		case BOOKING_ICAL_TOO_LARGE:
			return "the object is too large";
	}
	return "the object is not understood";
}

/*
 * Take all events out of the object.
 */
static BookingIcalFault
read_parts(Expander *expander, const char *data, size_t len)
{
	BookingIcalPart **next = &expander->first;
	BookingIcalPart *part = NULL;
	BookingIcalWalk walk;
	BookingIcalStep step;
	BookingContentLine line;

	booking_ical_walk_start(&walk, booking_contentline_unfold(data, len, expander->arena, NULL),
							MAX_LINES, expander->arena, &expander->times.zones);
	while ((step = booking_ical_walk_next(&walk, &line)) != BOOKING_ICAL_STOPPED)
	{
		if (step == BOOKING_ICAL_EVENT_BEGINS)
		{
			part = booking_arena_alloc(expander->arena, sizeof(BookingIcalPart));
			if (part == NULL)
				return BOOKING_ICAL_TOO_LARGE;
			part->place = expander->nparts++;
			*next = part;
			next = &part->next;
		}
		else if (step == BOOKING_ICAL_EVENT_LINE)
			booking_ical_part_add(part, &line, expander->arena);
		else
			booking_ical_part_end(part);
	}
	if (walk.fault == BOOKING_ICAL_OK && expander->nparts == 0)
		return BOOKING_ICAL_NO_EVENT;
	return walk.fault;
}

/*
 * Put each event's master before its changes.
 */
static bool
sort_parts(Expander *expander)
{
	int			count = 0;

	expander->sorted = booking_arena_alloc(expander->arena,
										   expander->nparts * sizeof(BookingIcalPart *));
	if (expander->sorted == NULL)
		return false;
	for (BookingIcalPart *part = expander->first; part != NULL; part = part->next)
		expander->sorted[count++] = part;
	qsort(expander->sorted, count, sizeof(BookingIcalPart *), compare_parts);
	return true;
}

/*
 * Where the next event begins.
 */
static int
event_end(const Expander *expander, int begin)
{
	int			end = begin + 1;

	while (end < expander->nparts &&
		   compare_uids(expander->sorted[begin], expander->sorted[end]) == 0)
		end++;
	return end;
}

/*
 * Does the event that begins there stand first in the object?
 */
static bool
is_first_event(const Expander *expander, int begin)
{
	return compare_uids(expander->sorted[begin], expander->first) == 0;
}

/*
 * One event: all that has the same UID.  Of several masters each is expanded;
 * the newest has the changes.
 */
static void
expand_event(Expander *expander, int begin, const char *problem)
{
	BookingIcalPart **parts = expander->sorted + begin;
	int			nparts = event_end(expander, begin) - begin;
	int			nmasters = 0;
	BookingIcalSeries series;

	while (nmasters < nparts && parts[nmasters]->original.count == 0)
		nmasters++;
	for (int i = 0; i < nparts; i++)
	{
		const char *own = i > 0 && i < nmasters ? "the object holds the event twice" : problem;

		if (parts[i]->problem == NULL)
			parts[i]->problem = own;
	}

	if (nmasters == 0)
	{
		start_series(expander, &series);
		booking_ical_series_changes(&series, parts, nparts);
		booking_ical_series_add_changes(&series);
	}
	else
		expand_master(expander, parts[0], parts + nmasters, nparts - nmasters);
	for (int i = 1; i < nmasters; i++)
		expand_master(expander, parts[i], NULL, 0);
	booking_ical_output_end_event(&expander->output);
}

/*
 * A master and its changes.
 */
static void
expand_master(Expander *expander, BookingIcalPart *master,
			  BookingIcalPart **changes, int nchanges)
{
	BookingIcalSeries series;

	start_series(expander, &series);
	series.master = master;
	if (!booking_ical_series_start(&series))
	{
		add_untimed(expander, master);
		start_series(expander, &series);
	}
	else if (nchanges == 0 && !is_recurring(master))
	{
		add_single(expander, &series);
		return;
	}
	booking_ical_series_changes(&series, changes, nchanges);
	if (series.master != NULL)
		booking_ical_series_expand(&series);
	booking_ical_series_add_changes(&series);
}

/*
 * An event of which nothing is known yet.
 */
static void
start_series(Expander *expander, BookingIcalSeries *series)
{
	memset(series, 0, sizeof(BookingIcalSeries));
	series->arena = expander->arena;
	series->times = &expander->times;
	series->output = &expander->output;
	series->steps_left = &expander->steps_left;
}

/*
 * An event that does not recur.
 */
static void
add_single(Expander *expander, const BookingIcalSeries *series)
{
	BookingOccurrence occurrence = {0};

	occurrence.detail = &series->master->detail;
	occurrence.original = series->master == expander->first ? BOOKING_OCCURRENCE_SINGLE :
		series->start.instant * BOOKING_CIVIL_SECOND;
	occurrence.problem = series->problem;
	if (!booking_ical_span(series->times, &series->start, &series->length, &occurrence) &&
		occurrence.problem == NULL)
		occurrence.problem = BOOKING_PROBLEM_ZONE;
	booking_ical_output_add(&expander->output, &occurrence);
}

/*
 * An event that says nothing of when it is, or nothing that is understood.
 */
static void
add_untimed(Expander *expander, const BookingIcalPart *part)
{
	BookingOccurrence occurrence = {0};

	occurrence.detail = &part->detail;
	occurrence.original = part == expander->first ? BOOKING_OCCURRENCE_SINGLE : 0;
	occurrence.problem = part->start.count == 0 ? "the event does not say when it begins" :
		"when the event begins is not understood";
	booking_ical_output_add(&expander->output, &occurrence);
}

/*
 * Is an event, or a part of one, more than one occurrence?
 */
static bool
is_recurring(const BookingIcalPart *part)
{
	return part->original.count > 0 || part->rules.first != NULL ||
		part->rules_out.first != NULL || part->dates.first != NULL ||
		part->dates_out.first != NULL;
}

/*
 * For qsort: by UID, masters first, the newest of them first, then as they
 * stand there.
 */
static int
compare_parts(const void *a, const void *b)
{
	const BookingIcalPart *first = *(BookingIcalPart *const *) a;
	const BookingIcalPart *second = *(BookingIcalPart *const *) b;
	bool		is_change = first->original.count > 0;
	int			order = compare_uids(first, second);

	if (order != 0)
		return order;
	if (is_change != (second->original.count > 0))
		return is_change ? 1 : -1;
	if (!is_change && first->detail.sequence != second->detail.sequence)
		return first->detail.sequence > second->detail.sequence ? -1 : 1;
	return first->place - second->place;
}

/*
 * Events without a UID are one.
 */
static int
compare_uids(const BookingIcalPart *first, const BookingIcalPart *second)
{
	if (first->detail.uid == NULL || second->detail.uid == NULL)
		return (first->detail.uid == NULL) - (second->detail.uid == NULL);
	return strcmp(first->detail.uid, second->detail.uid);
}

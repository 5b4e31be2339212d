/*-------------------------------------------------------------------------
 *
 * ical_series.c
 *	  the occurrences of one event, inside the codec
 *
 * The occurrences are the start, the times of RRULE and those of RDATE, without
 * those of EXRULE and EXDATE, and each only once (RFC 5545 section 3.8.5.3).
 * Rules are expanded on the clocks of the start's zone, and each time is made
 * an instant by itself.  An occurrence that was changed gives way to the
 * change, wherever that has moved it; one behind a change for all that follow
 * is moved by as much on the clocks.
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_series.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/civil.h"
#include "codec/ical_series.h"
#include "codec/ical_value.h"

#define MAX_RULES 5

/* times that rules may leave out */
#define MAX_LEFT_OUT 200000

/* a date or a period, with room for what programs add */
#define MAX_WORD 100

static void find_reach(BookingIcalSeries *series);
static void take_out_dates(BookingIcalSeries *series);
static void take_out_rules(BookingIcalSeries *series, int64 from, int64 to);
static void add_rules(BookingIcalSeries *series, int64 from, int64 to);
static void add_dates(BookingIcalSeries *series);
static void add_date(BookingIcalSeries *series, char *word, const char *tzid);
static bool receive(void *context, int64 local);
static bool receive_out(void *context, int64 local);
static bool is_past_until(const BookingIcalSeries *series, int64 local,
						  int64 instant);
static void add_one(BookingIcalSeries *series, const BookingIcalMoment *moment,
					const BookingIcalLength *length, const char *problem);
static void add_in_range(BookingIcalSeries *series, const BookingIcalChange *range,
						 const BookingIcalMoment *moment,
						 BookingOccurrence *occurrence);
static const BookingIcalChange *find_range(const BookingIcalSeries *series,
										   int64 instant);
static bool is_changed(const BookingIcalSeries *series, int64 instant);
static void add_span(BookingIcalSeries *series, int64 from, const char *problem);
static bool next_word(const char **cursor, char *word);
static void add_instant(BookingIcalSeries *series, BookingIcalInstants *list,
						int64 at);
static bool has_instant(const BookingIcalInstants *list, int64 at);
static int	compare_instants(const void *a, const void *b);

/*
 * Understand when the master is.  Returns false if that is not possible.
 */
bool
booking_ical_series_start(BookingIcalSeries *series)
{
	BookingIcalPart *master = series->master;

	if (!booking_ical_moment(series->times, master->start.word, master->start.tzid,
							 &series->times->calendar, &series->start))
		return false;
	master->detail.zone = booking_ical_series_zone(series->times, &series->start);
	series->problem = booking_ical_length(series->times, master, &series->start,
										  &series->length);
	if (master->start.count > 1)
		series->problem = "the event says twice when it begins";
	if (series->problem == NULL)
		series->problem = master->problem;
	return true;
}

/*
 * What the zone of a start is called; see ical_expand.h.
 */
const char *
booking_ical_series_zone(BookingIcalTimes *times, const BookingIcalMoment *start)
{
	const char *name;

	if (start->is_date || start->is_floating)
		return NULL;
	if (start->clock.tzid == NULL)
		return "UTC";
	name = booking_ical_zone_name(&times->zones, start->clock.tzid);
	return name != NULL ? name : start->clock.tzid;
}

/*
 * Find the occurrences of the master, if its start is understood, and then add
 * those that were changed.
 */
void
booking_ical_series_expand(BookingIcalSeries *series)
{
	BookingIcalPart *master = series->master;
	int64		from;
	int64		to;

	find_reach(series);
	take_out_dates(series);
	from = series->output->from / BOOKING_CIVIL_SECOND - series->reach_before;
	to = series->output->to / BOOKING_CIVIL_SECOND + series->reach_after;
	take_out_rules(series, from, to);
	if (series->out.count > 1)
		qsort(series->out.at, series->out.count, sizeof(int64), compare_instants);
	if (series->out_days.count > 1)
		qsort(series->out_days.at, series->out_days.count, sizeof(int64), compare_instants);

	add_one(series, &series->start, NULL, NULL);
	if (master->rules.first != NULL)
		add_rules(series, from, to);
	if (master->dates.first != NULL)
		add_dates(series);
}

/*
 * How far from the window may an occurrence start that is in it?  As far as it
 * is long, or has been moved.
 */
static void
find_reach(BookingIcalSeries *series)
{
	series->reach_before = booking_ical_reach(&series->length, false);
	series->reach_after = booking_ical_reach(&series->length, true);
	for (int i = 0; i < series->nranges; i++)
	{
		const BookingIcalChange *range = series->ranges[i];
		int64		shift = range->start.local - range->original_local;

		series->reach_before = Max(series->reach_before, shift +
								   booking_ical_reach(&range->length, false));
		series->reach_after = Max(series->reach_after, -shift +
								  booking_ical_reach(&range->length, true));
	}
}

/*
 * EXDATE.  A date takes out whatever begins on that day.
 */
static void
take_out_dates(BookingIcalSeries *series)
{
	char		word[MAX_WORD];

	for (BookingIcalLines *l = series->master->dates_out.first; l != NULL; l = l->next)
	{
		const char *cursor = l->line.value;
		const char *tzid = booking_contentline_param(&l->line, "TZID", series->arena);

		while (next_word(&cursor, word))
		{
			BookingIcalMoment moment;
			int64		instant;
			int64		local;

			if (!booking_ical_moment(series->times, word, tzid, &series->start.clock,
									 &moment) ||
				!booking_ical_series_original(series, &moment, &instant, &local))
				series->problem = "a date that is left out is not understood";
			else if (moment.is_date && !series->start.is_date)
				add_instant(series, &series->out_days, moment.local);
			else
				add_instant(series, &series->out, instant);
		}
	}
}

/*
 * EXRULE, which RFC 5545 has given up and some programs have not.  The start
 * stays, and so does what lies behind too many that are left out.
 */
static void
take_out_rules(BookingIcalSeries *series, int64 from, int64 to)
{
	int			nrules = 0;

	for (BookingIcalLines *l = series->master->rules_out.first; l != NULL; l = l->next)
	{
		const char *word = booking_contentline_word(&l->line, series->arena);
		BookingIcalRecur *recur = word == NULL || ++nrules > MAX_RULES ? NULL :
			booking_ical_recur_parse(word, series->start.local, series->start.is_date,
									 series->arena);

		if (recur != NULL)
			series->until = booking_ical_recur_until(recur);
		if (recur == NULL ||
			booking_ical_recur_expand(recur, from, to, series->steps_left, receive_out,
									  series) == BOOKING_RECUR_TOO_LONG ||
			series->out.count >= MAX_LEFT_OUT)
			series->problem = "a rule that leaves out occurrences is not understood";
	}
}

/*
 * RRULE.  What a rule that is not understood may mean is any time from the start
 * on; of one that is too long, from where it has come to.
 */
static void
add_rules(BookingIcalSeries *series, int64 from, int64 to)
{
	int			nrules = 0;

	for (BookingIcalLines *l = series->master->rules.first; l != NULL; l = l->next)
	{
		const char *word = booking_contentline_word(&l->line, series->arena);
		BookingIcalRecur *recur = word == NULL || ++nrules > MAX_RULES ? NULL :
			booking_ical_recur_parse(word, series->start.local, series->start.is_date,
									 series->arena);

		if (recur == NULL)
		{
			add_span(series, series->start.instant, "the rule of the series is not understood");
			return;
		}
		series->until = booking_ical_recur_until(recur);
		series->last = series->start.instant;
		switch (booking_ical_recur_expand(recur, from, to, series->steps_left, receive,
										  series))
		{
			case BOOKING_RECUR_DONE:
				break;
			case BOOKING_RECUR_STOPPED:
				if (series->output->nrest > 1)
					booking_ical_output_extend_rest(series->output);
				break;
			case BOOKING_RECUR_TOO_LONG:
				add_span(series, series->last, "the rule of the series takes too long");
				return;
		}
	}
}

/*
 * RDATE.
 */
static void
add_dates(BookingIcalSeries *series)
{
	char		word[MAX_WORD];

	for (BookingIcalLines *l = series->master->dates.first; l != NULL; l = l->next)
	{
		const char *cursor = l->line.value;
		const char *tzid = booking_contentline_param(&l->line, "TZID", series->arena);

		while (next_word(&cursor, word))
			add_date(series, word, tzid);
	}
}

/*
 * One value of RDATE: a time, a date or a period.  In a series of times a date
 * is that day at the time of the start, and the other way round a time is its
 * day.
 */
static void
add_date(BookingIcalSeries *series, char *word, const char *tzid)
{
	char	   *slash = strchr(word, '/');
	BookingIcalMoment moment;
	BookingIcalPart period = {0};
	BookingIcalLength length;
	const char *problem = NULL;
	bool		same_kind;

	if (slash != NULL)
		*slash++ = '\0';
	if (!booking_ical_moment(series->times, word, tzid, &series->start.clock, &moment))
	{
		booking_ical_output_problem(series->output, "a date of the series is not understood");
		return;
	}
	same_kind = moment.is_date == series->start.is_date;
	if (slash != NULL && same_kind)
	{
		BookingIcalStamp *stamp = *slash == 'P' ? &period.duration : &period.end;

		stamp->count = 1;
		stamp->word = slash;
		stamp->tzid = tzid;
		problem = booking_ical_length(series->times, &period, &moment, &length);
	}
	if (!same_kind)
	{
		problem = "a date of the series is of another kind";
		if (!booking_ical_series_original(series, &moment, &moment.instant, &moment.local))
		{
			booking_ical_output_problem(series->output, problem);
			return;
		}
		moment.clock = series->start.clock;
		moment.is_date = series->start.is_date;
		moment.is_unknown = series->start.is_unknown;
	}
	add_one(series, &moment, slash != NULL && same_kind ? &length : NULL, problem);
}

/*
 * A time of a rule.
 */
static bool
receive(void *context, int64 local)
{
	BookingIcalSeries *series = context;
	BookingIcalMoment moment = series->start;

	moment.local = local;
	moment.instant = booking_ical_instant(series->times, &moment.clock, local,
										  &moment.is_unknown);
	if (is_past_until(series, local, moment.instant))
		return false;
	series->last = moment.instant;
	add_one(series, &moment, NULL, NULL);
	return series->output->nrest < 2;
}

/*
 * A time of a rule that leaves out.
 */
static bool
receive_out(void *context, int64 local)
{
	BookingIcalSeries *series = context;
	bool		is_unknown;
	int64		instant = booking_ical_instant(series->times, &series->start.clock, local,
											   &is_unknown);

	if (is_past_until(series, local, instant) || series->out.count >= MAX_LEFT_OUT)
		return false;
	add_instant(series, &series->out, instant);
	return true;
}

/*
 * Does a time lie behind the end of its rule (RFC 5545 section 3.3.10)?  The
 * end should be in UTC for times and a date for dates.  A date includes its
 * whole day; a time without a zone is told by the series' clocks; and for a
 * series of dates midnight in UTC is the date that stands there.
 */
static bool
is_past_until(const BookingIcalSeries *series, int64 local, int64 instant)
{
	const BookingIcalUntil *until = series->until;

	if (!until->given)
		return false;
	if (until->is_date)
		return local >= until->at + BOOKING_CIVIL_DAY;
	if (!until->is_utc ||
		(series->start.is_date && booking_ical_day(until->at) == until->at))
		return local > until->at;

	/* in an unknown zone it may be up to so much earlier */
	if (series->start.is_unknown)
		instant -= BOOKING_CIVIL_DAY;
	return instant > until->at;
}

/*
 * One occurrence as the series has it, of its usual length if length is NULL,
 * unless it is left out or was changed.
 */
static void
add_one(BookingIcalSeries *series, const BookingIcalMoment *moment,
		const BookingIcalLength *length, const char *problem)
{
	BookingOccurrence occurrence = {0};
	const BookingIcalChange *range;
	bool		is_known;

	if (has_instant(&series->out, moment->instant) ||
		(series->out_days.count > 0 &&
		 has_instant(&series->out_days, booking_ical_day(moment->local))) ||
		is_changed(series, moment->instant))
		return;

	occurrence.original = moment->instant * BOOKING_CIVIL_SECOND;
	occurrence.detail = &series->master->detail;
	occurrence.problem = problem != NULL ? problem : series->problem;
	range = find_range(series, moment->instant);
	if (range != NULL)
		add_in_range(series, range, moment, &occurrence);
	else
	{
		is_known = booking_ical_span(series->times, moment,
									 length != NULL ? length : &series->length, &occurrence);
		if (!is_known && occurrence.problem == NULL)
			occurrence.problem = BOOKING_PROBLEM_ZONE;
		booking_ical_output_add(series->output, &occurrence);
	}
}

/*
 * One occurrence behind a change for all that follow: it is what the change
 * says, and as far from its original on the clocks.
 */
static void
add_in_range(BookingIcalSeries *series, const BookingIcalChange *range,
			 const BookingIcalMoment *moment, BookingOccurrence *occurrence)
{
	BookingIcalMoment moved = range->start;
	int64		local = moment->local;

	/* a date of RDATE may be told by other clocks */
	if (moment->clock.tzid != series->start.clock.tzid)
		local = booking_ical_local(series->times, &series->start.clock, moment->instant);
	moved.local = local + range->start.local - range->original_local;
	if (moved.is_date)
		moved.local = booking_ical_day(moved.local);
	moved.instant = booking_ical_instant(series->times, &moved.clock, moved.local,
										 &moved.is_unknown);
	occurrence->detail = &range->part->detail;
	if (range->problem != NULL)
		occurrence->problem = range->problem;
	if (!booking_ical_span(series->times, &moved, &range->length, occurrence) &&
		occurrence->problem == NULL)
		occurrence->problem = BOOKING_PROBLEM_ZONE;
	booking_ical_output_add(series->output, occurrence);
}

/*
 * The change for all that follow which is in force at an instant; NULL if there
 * is none.
 */
static const BookingIcalChange *
find_range(const BookingIcalSeries *series, int64 instant)
{
	int			low = 0;
	int			high = series->nranges;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (series->ranges[middle]->original <= instant)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : series->ranges[low - 1];
}

/*
 * Was the occurrence of an instant changed?
 */
static bool
is_changed(const BookingIcalSeries *series, int64 instant)
{
	int			low = 0;
	int			high = series->nchanges;

	/* what is not understood comes first and has no instant */
	while (low < high)
	{
		int			middle = (low + high) / 2;
		const BookingIcalChange *change = &series->changes[middle];

		if (!change->has_original || change->original < instant)
			low = middle + 1;
		else
			high = middle;
	}
	return low < series->nchanges && series->changes[low].original == instant;
}

/*
 * All that may still come of a series, from an instant to the end of the window
 * or of the rule, as one occurrence.
 */
static void
add_span(BookingIcalSeries *series, int64 from, const char *problem)
{
	BookingIcalOutput *output = series->output;
	BookingOccurrence occurrence = {0};
	const BookingIcalUntil *until = series->until;
	int64		end = output->to;

	if (until != NULL && until->given)
		end = Min(end, (until->at + booking_ical_reach(&series->length, false)) *
				  BOOKING_CIVIL_SECOND);
	occurrence.original = from * BOOKING_CIVIL_SECOND;
	occurrence.detail = &series->master->detail;
	occurrence.has_time = true;
	occurrence.start = Max(from * BOOKING_CIVIL_SECOND, output->from);
	occurrence.end = Max(occurrence.start, end);
	occurrence.problem = problem;
	booking_ical_output_add(output, &occurrence);
}

/*
 * The next of the values between commas, without blanks; one that is too long
 * is cut, so that it is no time.  Returns false at the end.
 */
static bool
next_word(const char **cursor, char *word)
{
	const char *begin = *cursor;
	size_t		len;

	if (begin == NULL)
		return false;
	len = strcspn(begin, ",");
	*cursor = begin[len] == '\0' ? NULL : begin + len + 1;
	while (len > 0 && strchr(" \t\r", *begin) != NULL)
	{
		begin++;
		len--;
	}
	while (len > 0 && strchr(" \t\r", begin[len - 1]) != NULL)
		len--;
	len = Min(len, MAX_WORD - 1);
	memcpy(word, begin, len);
	word[len] = '\0';
	return true;
}

/*
 * Add to a list that grows.
 */
static void
add_instant(BookingIcalSeries *series, BookingIcalInstants *list, int64 at)
{
	if (list->count == list->size)
	{
		int			size = Max(list->size * 2, 16);
		int64	   *grown = booking_arena_alloc(series->arena, size * sizeof(int64));

		if (grown == NULL)
			return;
		if (list->count > 0)
			memcpy(grown, list->at, list->count * sizeof(int64));
		list->at = grown;
		list->size = size;
	}
	list->at[list->count++] = at;
}

/*
 * Is an instant in a list, which is in order?
 */
static bool
has_instant(const BookingIcalInstants *list, int64 at)
{
	return list->count > 0 &&
		bsearch(&at, list->at, list->count, sizeof(int64), compare_instants) != NULL;
}

/*
 * For qsort and bsearch.
 */
static int
compare_instants(const void *a, const void *b)
{
	int64		first = *(const int64 *) a;
	int64		second = *(const int64 *) b;

	return first < second ? -1 : first > second;
}

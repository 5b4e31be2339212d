/*-------------------------------------------------------------------------
 *
 * drift.c
 *	  what calendars said when a proposal was made, and what they say now
 *
 * A proposal's snapshot names, for each calendar that matters, the watermark:
 * how many readings of it were complete.  A greater one at the approval says
 * that the calendar was read again, not that anything in it has changed; so
 * whoever approves is told, and only an overlap stands in the way.
 *
 * The calendars of the resources count as they do for every claim.  Those of
 * attendees block nothing, since people may accept two invitations; but an
 * overlap that was not there when the booking was decided means that it was
 * decided on what is no longer so.  Which overlaps were there is remembered as
 * digests, in the snapshot and in the operation.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/drift.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "compat.h"
#include "ledger/drift.h"
#include "store/attendee.h"
#include "store/busy.h"

static bool names_attendees(const BookingPayload *payload);
static BookingBusyEvent *attendee_events(text *tenant,
										 const BookingPayload *payload,
										 int64 intent_id, int64 predecessor_id,
										 const int64 *known, int nknown,
										 int *count);
static int64 *digests_of(const BookingBusyEvent *events, int count);
static JsonbContainer *member(JsonbContainer *object, const char *key);
static int64 number_of(JsonbContainer *object, const text *key);
static int64 *known_overlaps(const BookingProposal *proposal, int *count);

/*
 * Add to a snapshot what calendars say: nothing where no calendar matters.
 */
void
booking_drift_snapshot(BookingDetail *detail, text *tenant,
					   const BookingPayload *payload, int64 intent_id,
					   int64 predecessor_id)
{
	BookingRelevantCalendar *calendars;
	BookingBusyEvent *events;
	int			count;

	calendars = booking_store_relevant_calendars(tenant, payload, &count);
	if (count == 0)
		return;
	booking_detail_object(detail, "calendars");
	for (int i = 0; i < count; i++)
		booking_detail_integer(detail, text_to_cstring(calendars[i].calendar),
							   calendars[i].watermark);
	booking_detail_object_end(detail);

	events = attendee_events(tenant, payload, intent_id, predecessor_id, NULL, 0,
							 &count);
	if (count == 0)
		return;
	booking_detail_integers(detail, "overlaps", digests_of(events, count), count);
}

/*
 * Calendars that were read again since a proposal was made, as an object with
 * both watermarks of each; NULL if none was.
 */
Jsonb *
booking_drift_read(text *tenant, const BookingProposal *proposal)
{
	JsonbContainer *proposed = member(&proposal->snapshot->root, "calendars");
	BookingRelevantCalendar *calendars;
	BookingDetail detail;
	bool		moved = false;
	int			count;

	if (proposed == NULL)
		return NULL;
	calendars = booking_store_relevant_calendars(tenant, &proposal->payload,
												 &count);
	booking_detail_begin(&detail);
	booking_detail_object(&detail, "drift");
	for (int i = 0; i < count; i++)
	{
		int64		watermark = number_of(proposed, calendars[i].calendar);

		if (watermark == calendars[i].watermark)
			continue;
		moved = true;
		booking_detail_object(&detail, text_to_cstring(calendars[i].calendar));
		booking_detail_integer(&detail, "proposed", watermark);
		booking_detail_integer(&detail, "present", calendars[i].watermark);
		booking_detail_object_end(&detail);
	}
	booking_detail_object_end(&detail);
	return moved ? booking_detail_end(&detail) : NULL;
}

/*
 * An overlap in an attendee's calendar that was not there when the proposal was
 * made; NULL if there is none.
 */
Jsonb *
booking_drift_overlap(text *tenant, const BookingProposal *proposal,
					  int64 intent_id, int64 predecessor_id)
{
	int			nknown;
	int64	   *known = known_overlaps(proposal, &nknown);

	return booking_drift_new_overlap(tenant, &proposal->payload, intent_id,
									 predecessor_id, known, nknown);
}

/*
 * Why a proposal is not valid any more, from what collided and from what has
 * drifted.  An event in a calendar that was read since is news; one that was
 * known when the proposal was made stays what it was.
 */
Jsonb *
booking_drift_explain(Jsonb *collision, Jsonb *drift)
{
	JsonbContainer *moved = drift != NULL ? member(&drift->root, "drift") : NULL;
	JsonbValue	calendar;
	JsonbValue	ignored;
	BookingDetail detail;

	booking_detail_begin(&detail);
	booking_detail_members(&detail, collision);
	if (drift != NULL)
		booking_detail_members(&detail, drift);
	if (moved != NULL &&
		strcmp(booking_detail_reason_of(collision), "attendees_changed") != 0 &&
		getKeyJsonValueFromContainer(&collision->root, "calendar", 8,
									 &calendar) != NULL &&
		getKeyJsonValueFromContainer(moved, calendar.val.string.val,
									 calendar.val.string.len, &ignored) != NULL)
		booking_detail_word(&detail, "reason", "calendar_changed");
	return booking_detail_end(&detail);
}

/*
 * An overlap of a payload in an attendee's calendar, or a change of who is on
 * the event, that is not known; NULL if there is none.
 */
Jsonb *
booking_drift_new_overlap(text *tenant, const BookingPayload *payload,
						  int64 intent_id, int64 predecessor_id,
						  const int64 *known, int nknown)
{
	BookingBusyEvent *events;
	BookingDetail detail;
	int			count;

	events = attendee_events(tenant, payload, intent_id, predecessor_id, known,
							 nknown, &count);
	if (count == 0)
		return NULL;
	booking_detail_begin(&detail);
	booking_detail_word(&detail, "reason", events[0].people ?
						"attendees_changed" : "calendar_changed");
	booking_detail_text(&detail, "calendar", events[0].calendar);
	if (events[0].people)
		return booking_detail_end(&detail);
	if (!TIMESTAMP_NOT_FINITE(events[0].start))
		booking_detail_instant(&detail, "from", events[0].start);
	if (!TIMESTAMP_NOT_FINITE(events[0].end))
		booking_detail_instant(&detail, "until", events[0].end);
	return booking_detail_end(&detail);
}

/*
 * Note with the operation of an intent which overlaps in attendees' calendars
 * are there as it is decided.
 */
void
booking_drift_note_known(text *tenant, const BookingPayload *payload,
						 int64 intent_id, int64 predecessor_id)
{
	BookingBusyEvent *events;
	int			count;

	events = attendee_events(tenant, payload, intent_id, predecessor_id, NULL, 0,
							 &count);
	if (count > 0)
		booking_store_operation_know(intent_id, digests_of(events, count), count);
}

/*
 * Which events they are.
 */
static int64 *
digests_of(const BookingBusyEvent *events, int count)
{
	int64	   *digests = palloc_array(int64, count);

	for (int i = 0; i < count; i++)
		digests[i] = events[i].digest;
	return digests;
}

/*
 * Do the terms name attendees?
 */
static bool
names_attendees(const BookingPayload *payload)
{
	JsonbContainer *event = member(&payload->terms->root, "event");

	return event != NULL && member(event, "attendees") != NULL;
}

/*
 * What attendees' calendars hold at the time of a payload, and who else is on
 * the event that it changes, but for what is known.
 */
static BookingBusyEvent *
attendee_events(text *tenant, const BookingPayload *payload, int64 intent_id,
				int64 predecessor_id, const int64 *known, int nknown,
				int *count)
{
	BookingBusyScope scope = {0};

	BookingBusyEvent *events = palloc0_array(BookingBusyEvent, 1);
	BookingBusyEvent change;

	*count = 0;
	scope.tenant = tenant;
	scope.own[0] = intent_id;
	scope.own[1] = predecessor_id;
	scope.start = payload->start;
	scope.end = payload->end;
	if (names_attendees(payload))
		events = booking_store_attendee_events(&scope, payload->terms, known,
											   nknown, count);
	if (predecessor_id != 0 &&
		booking_store_attendees_changed(predecessor_id, known, nknown, &change))
	{
		events = repalloc(events, sizeof(BookingBusyEvent) * (*count + 1));
		events[(*count)++] = change;
	}
	return events;
}

/*
 * A member that is an object or array; NULL if there is none.
 */
static JsonbContainer *
member(JsonbContainer *object, const char *key)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(object, key, strlen(key), &value) == NULL ||
		value.type != jbvBinary)
		return NULL;
	return value.val.binary.data;
}

/*
 * A member that is a number, 0 if there is none.
 */
static int64
number_of(JsonbContainer *object, const text *key)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(object, VARDATA_ANY(key),
									 VARSIZE_ANY_EXHDR(key), &value) == NULL ||
		value.type != jbvNumeric)
		return 0;
	return DatumGetInt64(DirectFunctionCall1(numeric_int8,
											 NumericGetDatum(value.val.numeric)));
}

/*
 * Digests of the overlaps in a proposal's snapshot.
 */
static int64 *
known_overlaps(const BookingProposal *proposal, int *count)
{
	JsonbContainer *overlaps = member(&proposal->snapshot->root, "overlaps");
	int64	   *known;

	*count = overlaps != NULL ? (int) JsonContainerSize(overlaps) : 0;
	known = palloc_array(int64, *count + 1);
	for (int i = 0; i < *count; i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(overlaps, i);

		known[i] = DatumGetInt64(DirectFunctionCall1(numeric_int8,
													 NumericGetDatum(value->val.numeric)));
	}
	return known;
}

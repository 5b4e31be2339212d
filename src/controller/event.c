/*-------------------------------------------------------------------------
 *
 * event.c
 *	  the event that a booking wants
 *
 * Interval and terms.event, which the ledger checked when they were bound, as
 * the model that adapters share.
 *
 * IDENTIFICATION
 *	  booking/src/controller/event.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "controller/event.h"

static const char *copy_string(JsonbContainer *object, const char *key,
							   BookingArena *arena);
static bool get_bool(JsonbContainer *object, const char *key);
static bool copy_attendees(JsonbContainer *event, BookingArena *arena,
						   BookingEvent *wanted);

/*
 * Fill an event from an operation's intent; false if memory ran out.
 */
bool
booking_wanted_event(const BookingLease *lease, BookingArena *arena,
					 BookingEvent *event)
{
	JsonbValue	value;
	JsonbContainer *object;
	const char *word;

	memset(event, 0, sizeof(*event));
	event->uid = booking_arena_copy(arena, lease->operation.event_id,
									strlen(lease->operation.event_id));
	event->marker = event->uid;
	event->start = booking_unix_microseconds(lease->payload.start);
	event->end = booking_unix_microseconds(lease->payload.end);
	event->sequence = lease->operation.sequence;

	if (!JB_ROOT_IS_OBJECT(lease->payload.terms) ||
		getKeyJsonValueFromContainer(&lease->payload.terms->root, "event", 5,
									 &value) == NULL ||
		value.type != jbvBinary)
		return !booking_arena_failed(arena);

	object = value.val.binary.data;
	event->summary = copy_string(object, "summary", arena);
	event->description = copy_string(object, "description", arena);
	event->location = copy_string(object, "location", arena);
	event->conference = get_bool(object, "conference");
	word = copy_string(object, "transparency", arena);
	event->transparent = word != NULL && strcmp(word, "transparent") == 0;
	word = copy_string(object, "notify", arena);
	if (word != NULL && strcmp(word, "all") == 0)
		event->notify = BOOKING_NOTIFY_ALL;
	else if (word != NULL && strcmp(word, "external") == 0)
		event->notify = BOOKING_NOTIFY_EXTERNAL;
	if (getKeyJsonValueFromContainer(object, "organizer", 9, &value) != NULL &&
		value.type == jbvBinary)
	{
		event->organizer_email = copy_string(value.val.binary.data, "email", arena);
		event->organizer_name = copy_string(value.val.binary.data, "name", arena);
	}
	return copy_attendees(object, arena, event) && !booking_arena_failed(arena);
}

/*
 * Microseconds from 1970, as the codec counts.
 */
int64
booking_unix_microseconds(TimestampTz instant)
{
	return instant +
		(int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

/*
 * A string member, NULL if there is none.
 */
static const char *
copy_string(JsonbContainer *object, const char *key, BookingArena *arena)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(object, key, strlen(key), &value) == NULL ||
		value.type != jbvString)
		return NULL;
	return booking_arena_copy(arena, value.val.string.val, value.val.string.len);
}

/*
 * A boolean member, false if there is none.
 */
static bool
get_bool(JsonbContainer *object, const char *key)
{
	JsonbValue	value;

	return getKeyJsonValueFromContainer(object, key, strlen(key),
										&value) != NULL &&
		value.type == jbvBool && value.val.boolean;
}

/*
 * Copy the attendees; false if memory ran out.
 */
static bool
copy_attendees(JsonbContainer *event, BookingArena *arena,
			   BookingEvent *wanted)
{
	JsonbValue	value;

	if (getKeyJsonValueFromContainer(event, "attendees", 9, &value) == NULL ||
		value.type != jbvBinary)
		return true;
	return booking_event_attendees(value.val.binary.data, arena, wanted);
}

/*
 * Make the members of an array, which are objects, the attendees of an event;
 * false if memory ran out.
 */
bool
booking_event_attendees(JsonbContainer *array, BookingArena *arena,
						BookingEvent *event)
{
	uint32		count = JsonContainerSize(array);

	event->nattendees = 0;
	if (count == 0)
		return true;
	event->attendees = booking_arena_alloc(arena, count * sizeof(BookingAttendee));
	if (event->attendees == NULL)
		return false;
	for (uint32 i = 0; i < count; i++)
	{
		JsonbContainer *attendee =
			getIthJsonbValueFromContainer(array, i)->val.binary.data;

		event->attendees[i].email = copy_string(attendee, "email", arena);
		event->attendees[i].name = copy_string(attendee, "name", arena);
		event->attendees[i].optional = get_bool(attendee, "optional");
	}
	event->nattendees = count;
	return !booking_arena_failed(arena);
}

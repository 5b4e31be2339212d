/*-------------------------------------------------------------------------
 *
 * terms.c
 *	  what terms may wish of a provider's event
 *
 * terms.event is checked when it is bound, not when it is sent: a wish that no
 * provider can be given must not be approved, nor one that the provider of the
 * resource's calendar cannot be given.  All other keys are the caller's.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/terms.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "ledger/terms.h"
#include "store/account.h"

typedef enum TermsType
{
	TERMS_TEXT,
	TERMS_BOOLEAN,
	TERMS_ATTENDEES,
	TERMS_ORGANIZER,
	TERMS_NOTIFY,
	TERMS_TRANSPARENCY
} TermsType;

typedef struct TermsKey
{
	const char *name;
	TermsType	type;
	bool		required;
} TermsKey;

static const TermsKey event_keys[] = {
	{"summary", TERMS_TEXT, false},
	{"description", TERMS_TEXT, false},
	{"location", TERMS_TEXT, false},
	{"attendees", TERMS_ATTENDEES, false},
	{"organizer", TERMS_ORGANIZER, false},
	{"conference", TERMS_BOOLEAN, false},
	{"notify", TERMS_NOTIFY, false},
	{"transparency", TERMS_TRANSPARENCY, false}
};

static const TermsKey attendee_keys[] = {
	{"email", TERMS_TEXT, true},
	{"name", TERMS_TEXT, false},
	{"optional", TERMS_BOOLEAN, false}
};

static const TermsKey organizer_keys[] = {
	{"email", TERMS_TEXT, true},
	{"name", TERMS_TEXT, false}
};

static void check_object(JsonbContainer *object, const TermsKey *keys,
						 int nkeys, const char *path);
static void check_value(const JsonbValue *value, TermsType type,
						const char *path);
static void check_attendees(const JsonbValue *value, const char *path);
static bool is_container(const JsonbValue *value, bool object);
static bool is_one_of(const JsonbValue *value, const char *const *words,
					  int count);
pg_noreturn static void refuse(const char *path, const char *rule);
static bool invites_in_silence(Jsonb *terms);

static bool (*provider_always_notifies) (const char *provider) = NULL;

/*
 * Say how the ledger learns of a provider that mails attendees whatever is
 * wished.  Once a process, from _PG_init.
 */
void
booking_terms_init(bool (*always_notifies) (const char *provider))
{
	provider_always_notifies = always_notifies;
}

/*
 * Raise an error unless terms.event, if present, has known keys with values of
 * their types.
 */
void
booking_terms_check(Jsonb *terms)
{
	JsonbValue	event;

	if (!JB_ROOT_IS_OBJECT(terms) ||
		getKeyJsonValueFromContainer(&terms->root, "event", 5, &event) == NULL)
		return;
	if (!is_container(&event, true))
		refuse("terms.event", "an object");
	check_object(event.val.binary.data, event_keys, lengthof(event_keys),
				 "terms.event");
}

/*
 * Check the members of an object.  A key that is not known is refused: a
 * misspelt wish must not be dropped in silence.
 */
static void
check_object(JsonbContainer *object, const TermsKey *keys, int nkeys,
			 const char *path)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue	value;
	int			known = 0;

	for (int i = 0; i < nkeys; i++)
	{
		JsonbValue	member;
		char	   *name = psprintf("%s.%s", path, keys[i].name);

		if (getKeyJsonValueFromContainer(object, keys[i].name,
										 strlen(keys[i].name), &member) != NULL)
		{
			check_value(&member, keys[i].type, name);
			known++;
		}
		else if (keys[i].required)
			refuse(name, "given");
		pfree(name);
	}

	token = JsonbIteratorNext(&iterator, &value, true);
	if (token == WJB_BEGIN_OBJECT && value.val.object.nPairs != known)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" has an unknown key", path),
				 errhint("terms.event knows summary, description, location, attendees (email, name, optional), organizer (email, name), conference, notify and transparency; keep other values beside it in terms.")));
}

/*
 * Check one value.
 */
static void
check_value(const JsonbValue *value, TermsType type, const char *path)
{
	static const char *const notify[] = {"none", "external", "all"};
	static const char *const transparency[] = {"opaque", "transparent"};

	switch (type)
	{
		case TERMS_TEXT:
			if (value->type != jbvString)
				refuse(path, "a string");
			break;
		case TERMS_BOOLEAN:
			if (value->type != jbvBool)
				refuse(path, "true or false");
			break;
		case TERMS_ATTENDEES:
			check_attendees(value, path);
			break;
		case TERMS_ORGANIZER:
			if (!is_container(value, true))
				refuse(path, "an object with email and, optionally, name");
			check_object(value->val.binary.data, organizer_keys,
						 lengthof(organizer_keys), path);
			break;
		case TERMS_NOTIFY:
			if (!is_one_of(value, notify, lengthof(notify)))
				refuse(path, "none, external or all");
			break;
		case TERMS_TRANSPARENCY:
			if (!is_one_of(value, transparency, lengthof(transparency)))
				refuse(path, "opaque or transparent");
			break;
	}
}

/*
 * Check the list of attendees.
 */
static void
check_attendees(const JsonbValue *value, const char *path)
{
	JsonbContainer *array;
	uint32		count;

	if (!is_container(value, false))
		refuse(path, "an array of objects");
	array = value->val.binary.data;
	count = JsonContainerSize(array);
	for (uint32 i = 0; i < count; i++)
	{
		JsonbValue *element = getIthJsonbValueFromContainer(array, i);
		char	   *name = psprintf("%s[%u]", path, i);

		if (!is_container(element, true))
			refuse(name, "an object with email and, optionally, name and optional");
		check_object(element->val.binary.data, attendee_keys,
					 lengthof(attendee_keys), name);
		pfree(name);
	}
}

/*
 * Is the value an object or, without object, an array?
 */
static bool
is_container(const JsonbValue *value, bool object)
{
	if (value->type != jbvBinary)
		return false;
	return object ? JsonContainerIsObject(value->val.binary.data) :
		JsonContainerIsArray(value->val.binary.data) &&
		!JsonContainerIsScalar(value->val.binary.data);
}

/*
 * Is the value one of these strings?
 */
static bool
is_one_of(const JsonbValue *value, const char *const *words, int count)
{
	if (value->type != jbvString)
		return false;
	for (int i = 0; i < count; i++)
	{
		if (value->val.string.len == (int) strlen(words[i]) &&
			memcmp(value->val.string.val, words[i], value->val.string.len) == 0)
			return true;
	}
	return false;
}

/*
 * Refuse what stands at path.
 */
static void
refuse(const char *path, const char *rule)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" must be %s", path, rule),
			 errhint("See the reference of terms.event.")));
}

/*
 * Raise an error if terms.event wishes what the provider of a calendar cannot
 * grant.
 */
void
booking_terms_check_calendar(Jsonb *terms, text *tenant, text *calendar)
{
	BookingCalendar target;

	if (calendar == NULL || !invites_in_silence(terms) ||
		!booking_store_calendar_read(tenant, calendar, &target) ||
		!provider_always_notifies(text_to_cstring(target.provider)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" must be %s", "terms.event.notify", "all"),
			 errdetail("The resource's calendar is at a provider that mails every attendee."),
			 errhint("Wish \"notify\": \"all\", or leave attendees out of terms.event and tell them yourself.")));
}

/*
 * Does terms.event, which is checked, have attendees some of whom are not to be
 * told?
 */
static bool
invites_in_silence(Jsonb *terms)
{
	static const char *const all[] = {"all"};
	JsonbValue	event;
	JsonbValue	value;

	if (terms == NULL || !JB_ROOT_IS_OBJECT(terms) ||
		getKeyJsonValueFromContainer(&terms->root, "event", 5, &event) == NULL ||
		getKeyJsonValueFromContainer(event.val.binary.data, "attendees", 9,
									 &value) == NULL ||
		JsonContainerSize(value.val.binary.data) == 0)
		return false;
	return getKeyJsonValueFromContainer(event.val.binary.data, "notify", 6,
										&value) == NULL ||
		!is_one_of(&value, all, lengthof(all));
}

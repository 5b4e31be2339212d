/*-------------------------------------------------------------------------
 *
 * payload.c
 *	  the exact values an intent is bound to
 *
 * doc/design.md says which values are bound and when two payloads are equal;
 * the README shows it as a table.
 *
 * IDENTIFICATION
 *	  booking/src/ledger/payload.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "ledger/args.h"
#include "ledger/digest.h"
#include "ledger/payload.h"

static void versions_from_args(FunctionCallInfo fcinfo, int n,
							   BookingPayload *payload);
static int	compare_members(const void *a, const void *b);
static bool equals_purged(const BookingPayload *purged,
						  const BookingPayload *payload, bool with_supersedes,
						  BookingDifference *difference);
static bool texts_equal(const text *a, const text *b);
static bool resources_equal(const BookingPayload *a, const BookingPayload *b);
static bool versions_equal(const BookingPayload *a, const BookingPayload *b);

/*
 * Read resource(s), interval or slot, version(s), units and terms, arguments n
 * to n + 4, and return the number of the next argument.
 */
int
booking_payload_from_args(FunctionCallInfo fcinfo, int n, BookingShape shape,
						  BookingPayload *payload)
{
	memset(payload, 0, sizeof(*payload));

	if (shape == BOOKING_SHAPE_ALL)
		booking_arg_labels(fcinfo, n, "resources", &payload->resources,
						   &payload->nresources);
	else
	{
		payload->nresources = 1;
		payload->resources = palloc_object(text *);
		payload->resources[0] = booking_arg_label(fcinfo, n, "resource");
	}

	if (shape == BOOKING_SHAPE_SLOT)
		payload->slot = booking_arg_label(fcinfo, n + 1, "slot");
	else
	{
		payload->has_during = true;
		booking_arg_during(fcinfo, n + 1, "during",
						   &payload->start, &payload->end);
	}

	if (shape == BOOKING_SHAPE_ALL)
	{
		if (!PG_ARGISNULL(n + 2))
			versions_from_args(fcinfo, n + 2, payload);
	}
	else if (shape == BOOKING_SHAPE_SLOT || !PG_ARGISNULL(n + 2))
	{
		payload->versions = palloc_object(int64);
		payload->versions[0] = booking_arg_version(fcinfo, n + 2,
												   "expected_version");
	}

	payload->units = booking_arg_positive(fcinfo, n + 3, "units");
	payload->terms = booking_arg_terms(fcinfo, n + 4);
	return n + 5;
}

/*
 * Are two payloads equal in every bound field?  With difference, all fields
 * are compared and the names of those that differ are noted.  Without
 * with_supersedes that field is left out.  Of a, what is recorded, the values may
 * have been purged.
 */
bool
booking_payload_equal(const BookingPayload *a, const BookingPayload *b,
					  bool with_supersedes, BookingDifference *difference)
{
	struct
	{
		const char *field;
		bool		equal;
	}			fields[BOOKING_PAYLOAD_FIELDS] = {
		{"resources", resources_equal(a, b)},
		{"during", a->slot != NULL || b->slot != NULL ||
		(a->start == b->start && a->end == b->end)},
		{"slot", texts_equal(a->slot, b->slot)},
		{"expected_versions", versions_equal(a, b)},
		{"units", a->units == b->units},
		{"terms", compareJsonbContainers(&a->terms->root, &b->terms->root) == 0},
		{"supersedes", !with_supersedes ||
		texts_equal(a->supersedes, b->supersedes)}
	};
	bool		equal = true;

	if (a->digest != NULL)
		return equals_purged(a, b, with_supersedes, difference);
	if (difference != NULL)
		difference->count = 0;
	for (int i = 0; i < BOOKING_PAYLOAD_FIELDS; i++)
	{
		if (fields[i].equal)
			continue;
		equal = false;
		if (difference != NULL)
			difference->fields[difference->count++] = fields[i].field;
	}
	return equal;
}

/*
 * The same where values of the first were purged.  What is kept is compared as
 * ever.  Of the rest the digest tells whether all of it is equal, and not what
 * differs: that is noted as "purged".
 */
static bool
equals_purged(const BookingPayload *purged, const BookingPayload *payload,
			  bool with_supersedes, BookingDifference *difference)
{
	BookingDifference found = {0};

	if (!resources_equal(purged, payload))
		found.fields[found.count++] = "resources";
	if (purged->units != payload->units)
		found.fields[found.count++] = "units";
	if (with_supersedes && !texts_equal(purged->supersedes, payload->supersedes))
		found.fields[found.count++] = "supersedes";
	if (!booking_digest_fits(purged, payload))
		found.fields[found.count++] = "purged";
	if (difference != NULL)
		*difference = found;
	return found.count == 0;
}

/*
 * One version a resource.
 */
static void
versions_from_args(FunctionCallInfo fcinfo, int n, BookingPayload *payload)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(n);
	Datum	   *values;
	bool	   *nulls;
	int			count;

	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &count);
	if (ARR_NDIM(array) != 1 || count != payload->nresources)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must have one element a resource",
						"expected_versions"),
				 errhint("Give as many versions as resources, in the same order, or NULL for none.")));

	payload->versions = palloc_array(int64, count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not contain nulls",
							"expected_versions"),
					 errhint("Give as many versions as resources, in the same order, or NULL for none.")));
		payload->versions[i] = DatumGetInt64(values[i]);
		if (payload->versions[i] < 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("elements of argument \"%s\" must be at least 1",
							"expected_versions"),
					 errhint("Versions count from 1.")));
	}
}

/*
 * Order members by name.
 */
static int
compare_members(const void *a, const void *b)
{
	return booking_text_compare(((const BookingMember *) a)->resource,
								((const BookingMember *) b)->resource);
}

/*
 * The resources after the first in the order of their names, each with its
 * version, 0 when none was demanded.
 */
BookingMember *
booking_payload_members(const BookingPayload *payload)
{
	int			count = payload->nresources - 1;
	BookingMember *members = palloc_array(BookingMember, count + 1);

	for (int i = 0; i < count; i++)
	{
		members[i].resource = payload->resources[i + 1];
		members[i].version = payload->versions != NULL ?
			payload->versions[i + 1] : 0;
	}
	qsort(members, count, sizeof(BookingMember), compare_members);
	return members;
}

/*
 * Byte for byte; two absent texts are equal.
 */
static bool
texts_equal(const text *a, const text *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return booking_text_compare(a, b) == 0;
}

/*
 * The first as such, the rest as a set.
 */
static bool
resources_equal(const BookingPayload *a, const BookingPayload *b)
{
	BookingMember *left;
	BookingMember *right;

	if (a->nresources != b->nresources ||
		!texts_equal(a->resources[0], b->resources[0]))
		return false;
	if (a->nresources == 1)
		return true;

	left = booking_payload_members(a);
	right = booking_payload_members(b);
	for (int i = 0; i < a->nresources - 1; i++)
	{
		if (compare_members(&left[i], &right[i]) != 0)
			return false;
	}
	return true;
}

/*
 * The versions follow their resources.  Compared in the order of names, so the
 * answer is only about versions when the resources are equal too.
 */
static bool
versions_equal(const BookingPayload *a, const BookingPayload *b)
{
	BookingMember *left;
	BookingMember *right;

	if (a->versions == NULL || b->versions == NULL)
		return a->versions == b->versions;
	if (a->nresources != b->nresources || a->versions[0] != b->versions[0])
		return false;
	if (a->nresources == 1)
		return true;

	left = booking_payload_members(a);
	right = booking_payload_members(b);
	for (int i = 0; i < a->nresources - 1; i++)
	{
		if (left[i].version != right[i].version)
			return false;
	}
	return true;
}

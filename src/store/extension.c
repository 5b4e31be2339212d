/*-------------------------------------------------------------------------
 *
 * extension.c
 *	  which version the SQL objects in this database are of
 *
 * A package brings a new library at once, while the objects of a database stay
 * until ALTER EXTENSION.  Statements on columns that are not there yet would
 * fail in words that help nobody, or worse, half succeed.
 *
 * IDENTIFICATION
 *	  booking/src/store/extension.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "compat.h"
#include "store/extension.h"

/*
 * The version as pg_extension has it, NULL if the extension is not here.  A
 * schema of our name would prove nothing.
 */
char *
booking_store_extension_version(void)
{
	Relation	relation = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *version = NULL;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("booking"));
	scan = systable_beginscan(relation, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_extension_extversion,
										 RelationGetDescr(relation), &isnull);

		version = isnull ? pstrdup("") : TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return version;
}

/*
 * Raise an error unless library and objects fit.
 */
void
booking_store_extension_demand(void)
{
	char	   *version = booking_store_extension_version();

	if (version == NULL || strcmp(version, BOOKING_SQL_VERSION) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the objects of extension booking are of version %s, but its library is of version %s",
					version, BOOKING_SQL_VERSION),
			 booking_store_extension_newer(version) ?
			 errhint("Install the library of version %s, then restart the server, or reconnect where it is not preloaded.",
					 version) :
			 errhint("Run ALTER EXTENSION booking UPDATE in this database, or reconnect after the older library was replaced.")));
}

/*
 * Are objects of a version newer than the library?  Versions are numbers with
 * dots between them.
 */
bool
booking_store_extension_newer(const char *version)
{
	const char *ours = BOOKING_SQL_VERSION;

	while (*version != '\0' || *ours != '\0')
	{
		char	   *end;
		long		theirs = strtol(version, &end, 10);
		long		mine;

		version = end + strspn(end, ".");
		mine = strtol(ours, &end, 10);
		ours = end + strspn(end, ".");
		if (theirs != mine)
			return theirs > mine;
		if (*version != '\0' && !isdigit((unsigned char) *version))
			return true;
	}
	return false;
}

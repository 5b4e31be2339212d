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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
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
			 errhint("Run ALTER EXTENSION booking UPDATE in this database, or reconnect after the older library was replaced.")));
}

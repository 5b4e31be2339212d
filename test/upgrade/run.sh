#!/bin/bash
#
# test/upgrade/run.sh: pg_upgrade from each version to the next, in a matrix folder
#
# Run by tools/test-matrix, which has installed the extension into each of the
# servers that BOOKING_UPGRADE names, the oldest first.

set -eu
. "$(dirname "$0")/../../tools/lib.sh"

find_postgres
need prove perl
make_workdir upgrade
trap remove_workdir EXIT
trap 'exit 143' TERM INT HUP
copy_tree "$workdir/tree"
cd "$workdir/tree"
as_runner env PATH="$bindir:$PATH" PERL5LIB="$pgxsdir/src/test/perl" TMPDIR="$workdir" \
	PG_REGRESS="$pgxsdir/src/test/regress/pg_regress" TESTDIR="$workdir/tree" \
	TESTDATADIR="$workdir/tree/tmp_check" TESTLOGDIR="$workdir/tree/tmp_check/log" \
	BOOKING_UPGRADE="$BOOKING_UPGRADE" prove -v --timer test/upgrade/majors.pl

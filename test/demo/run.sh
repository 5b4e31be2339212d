#!/bin/bash
#
# test/demo/run.sh: a story of what booking does
#
# Runs under tools/with-cluster with the library preloaded (make demo), in a
# database of its own and with a calendar server of its own, which are gone
# afterwards.  Every answer is compared with the one the story needs, so
# the demo is a test too: the exit status is 1 if one differs.

set -eu
export LC_ALL=C.UTF-8 PGTZ=Europe/Berlin PGDATESTYLE='ISO, YMD' PGOPTIONS='-c client_min_messages=warning'

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/demo/lib.sh
. "$here/lib.sh"
# shellcheck source=test/demo/ledger.sh
. "$here/ledger.sh"
# shellcheck source=test/demo/server.sh
. "$here/server.sh"
# shellcheck source=test/demo/calendar.sh
. "$here/calendar.sh"

[ -n "${PGHOST:-}" ] || die "start it with tools/with-cluster (make demo)"
command -v psql >/dev/null || die "psql is missing; install the Debian package postgresql-client"

scratch=$(mktemp -d)
database=booking_demo
interrupted=
cleanup()
{
	# whoever presses Ctrl-C waits for nothing that goes with the cluster anyway
	[ -n "$interrupted" ] ||
		psql -X -q -d postgres -c "DROP DATABASE IF EXISTS $database WITH (FORCE)" || true
	stop_server
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'interrupted=yes; exit 130' INT
trap 'interrupted=yes; exit 143' TERM

psql -X -q -d postgres -c "CREATE DATABASE $database"
for name in owner phone chat desk; do
	open_session $name
done

chapter_inventory
chapter_race
chapter_redial
chapter_changed_payload
chapter_cancel
chapter_late_retry
chapter_class
chapter_move
chapter_proposal

start_server
seal_credentials
chapter_account
chapter_event
chapter_event_redial
chapter_lost_answer
chapter_reconcile
chapter_move_event
chapter_cancel_event
chapter_check

close_sessions
if [ "$wrong" -ne 0 ]; then
	printf '%d of the answers above were not as promised.\n' "$wrong"
	exit 1
fi
printf 'All answers were as promised.\n'

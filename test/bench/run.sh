#!/bin/bash
#
# test/bench/run.sh: what a claim costs, beside what else one could do, how fast
# the worker makes events of bookings, and reads calendars, and what the time of
# a verification tells
#
# Runs under tools/with-cluster with the lines of postgresql.conf.  All rivals
# are measured in one run, in interleaved rounds whose order alternates; each
# ratio is the median of the rounds' ratios.  After each run the database is
# asked whether what was timed is really there.  Speed is reported and never
# fails: misses are marked, and the exit status is about the measuring alone.
#
#	BENCH_ROUNDS	rounds (5)
#	BENCH_SECONDS	length of a run (5)
#	BENCH_QUICK=1	3 rounds of 2 seconds, without the million bookings and
#					without the settings that have no bound
#	BENCH_ONLY		"claims", "controller", "sync", "verify" or "retention": measure only these;
#					several have blanks between them
#	BENCH_OUTPUT	where the table is written (doc/benchmarks.md); with
#					BENCH_QUICK or BENCH_ONLY nowhere unless given

set -eu
export LC_ALL=C.UTF-8 PGOPTIONS='-c client_min_messages=warning'

here=$(cd "$(dirname "$0")" && pwd)
topdir=$(cd "$here/../.." && pwd)
# shellcheck source=test/bench/lib.sh
. "$here/lib.sh"
# shellcheck source=test/bench/controller.sh
. "$here/controller.sh"
# shellcheck source=test/bench/sync.sh
. "$here/sync.sh"
# shellcheck source=test/bench/retention.sh
. "$here/retention.sh"

only=${BENCH_ONLY:-claims controller sync verify retention}
for part in $only; do
	case $part in
		claims | controller | sync | verify | retention) ;;
		*) die "BENCH_ONLY is claims, controller, sync, verify or retention" ;;
	esac
done

# wanted PART: is it to be measured?
wanted()
{
	case " $only " in
		*" $1 "*) return 0 ;;
	esac
	return 1
}
quick=${BENCH_QUICK:-}
if [ -n "$quick" ]; then
	rounds=${BENCH_ROUNDS:-3} seconds=${BENCH_SECONDS:-2} cpu_calls=10000
	output=${BENCH_OUTPUT:-}
else
	rounds=${BENCH_ROUNDS:-5} seconds=${BENCH_SECONDS:-5} cpu_calls=20000
	output=${BENCH_OUTPUT:-$topdir/doc/benchmarks.md}
fi
[ -z "${BENCH_ONLY:-}" ] || output=${BENCH_OUTPUT:-}
# shellcheck source=test/bench/verify.sh
. "$here/verify.sh"
others_seconds=2
hot=0
million=1000000
million_next=$million

[ -n "${PGHOST:-}" ] || die "start it with tools/with-cluster (make bench)"
[ -r /proc/self/schedstat ] || die "CPU time is read from /proc/self/schedstat, which this kernel does not have"
pgbench=$(command -v pgbench) || die "pgbench is missing; install the Debian package postgresql-15"
bindir=$(dirname "$pgbench")

# Refuse a server with other settings than those that will be reported.
while IFS='= ' read -r name value; do
	case $name in
		'' | '#'*) continue ;;
	esac
	expect "setting $name, as in test/bench/postgresql.conf" "$(query postgres "SELECT current_setting('$name')::text")" "$(sed "s/^'\(.*\)'$/\1/" <<<"$value")"
done <"$here/postgresql.conf"

scratch=$(mktemp -d)
main=bench_main
big=bench_million
cleanup()
{
	query postgres "DROP DATABASE IF EXISTS $main WITH (FORCE)" || true
	query postgres "DROP DATABASE IF EXISTS $big WITH (FORCE)" || true
	query postgres "DROP DATABASE IF EXISTS $busy WITH (FORCE)" || true
	query postgres "DROP DATABASE IF EXISTS $reading WITH (FORCE)" || true
	query postgres "DROP DATABASE IF EXISTS $foreign WITH (FORCE)" || true
	query postgres "DROP DATABASE IF EXISTS $kept WITH (FORCE)" || true
	query postgres "DROP ROLE IF EXISTS bench_app" || true
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

postmaster=$(query postgres "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)")
[ -r "/proc/$postmaster/stat" ] || die "the server does not run on this machine"

# make_database NAME: extension, rivals, resources and permissions
make_database()
{
	query postgres "CREATE DATABASE $1"
	"$bindir/psql" -X -q -o /dev/null -d "$1" -f "$here/schema.sql" -f "$here/rival.sql" ||
		die "the database could not be prepared"
}

# load DATABASE FIRST LAST: claims with these numbers, in one transaction
load()
{
	local committed

	committed=$(PGUSER=bench_app PGOPTIONS='-c synchronous_commit=off' query "$1" "
		SELECT count(*) FROM (
			SELECT ($claim_call).disposition AS d FROM generate_series($2, $3) n) c
		 WHERE d = 'committed'")
	expect "claims loaded" "$committed" $(($3 - $2 + 1))
}

claim_call="booking_claim('bench', 'p' || n % 100, 'i' || n,
	'r' || rival.resource_of(n), rival.during_of(n),
	terms => '{\"purpose\": \"bench\"}')"
rival_call="rival.claim('bench', 'p' || n % 100, 'i' || n,
	'r' || rival.resource_of(n), rival.during_of(n),
	a_terms => '{\"purpose\": \"bench\"}')"
# ten bookings that overlap everything on each resource of capacity 20
seats_call="booking_claim('bench', 'p1', 'long' || n, 'seats' || n / 10,
	'[2029-12-01 00:00:00+00,2090-01-01 00:00:00+00)')"

load_before=$(cut -d ' ' -f 1 /proc/loadavg)
progress "preparing (load of the machine: $load_before)"

# The databases of the claims, with what each run begins from.
prepare_claims()
{
	make_database "$main"
	hot=$(query "$main" "SELECT resource_id FROM booking.resource WHERE resource = 'hot'")
	PGUSER=bench_app "$bindir/psql" -X -q -d "$main" -f "$here/same.sql" ||
		die "the plpgsql rival does not keep the promises of booking_claim"
	load "$main" 0 9999
	query "$main" "CREATE SCHEMA kept;
		CREATE TABLE kept.plain_intent AS SELECT * FROM booking.intent;
		CREATE TABLE kept.plain_reservation AS SELECT * FROM booking.reservation"
	query "$main" "SELECT count(*) FROM (SELECT ($seats_call).disposition AS d
		FROM generate_series(0, 9999) n) c WHERE d = 'committed'" | {
		read -r n
		expect "long bookings" "$n" 10000
	}
	query "$main" "CREATE TABLE kept.seats_intent AS SELECT * FROM booking.intent;
		CREATE TABLE kept.seats_reservation AS SELECT * FROM booking.reservation"

	# The unchecked statement must write what a claim writes.
	reset_rival
	query "$main" "SELECT rival.insert_two(10000)" >/dev/null
	columns="SELECT string_agg(key, ' ' ORDER BY key)
		FROM jsonb_object_keys((SELECT jsonb_strip_nulls(to_jsonb(i)) FROM"
	expect "columns of the unchecked statement" \
		"$(query "$main" "$columns rival.intent i WHERE intent = 'i10000')) key")" \
		"$(query "$main" "$columns booking.intent i WHERE intent = 'i1')) key")"

	if [ -z "$quick" ]; then
		progress "loading $million bookings"
		make_database "$big"
		# one session: two transactions with that many claims would meet in the
		# locks of intents, each holding what the other wants
		step=100000
		for ((first = 0; first < million; first += step)); do
			load "$big" $first $((first + step - 1))
			progress "  $((first + step))"
		done
		query "$big" "ANALYZE"
	fi
}

# One round of the claims and their rivals.
measure_claim_round()
{
	local runs run setting name bounded others

	# what all others are compared with is neither the first nor the last: the
	# first finds buffers free that the databases of the last round have left
	bounded="statements:8 plpgsql:8 replay:8 two_rows:8 claim:8"
	[ -n "$quick" ] || bounded="$bounded million:8"
	bounded="$bounded one_row:8 seats:8 hot_claim:16 hot_insert:16 hot_row_lock:16"
	others="claim plpgsql statements two_rows one_row"

	runs=$bounded
	# back and forth, so that a machine that drifts favours nobody
	[ $((round % 2)) -eq 1 ] || runs=$(printf '%s\n' $bounded | tac)
	for run in $runs; do
		measure "${run%:*}" "${run#*:}" "$seconds" on
	done
	measure_cpu claim "($claim_call).disposition = 'committed'" reset_ledger plain
	measure_cpu plpgsql "($rival_call).disposition = 'committed'" reset_rival
	measure_cpu two_rows "rival.insert_two(n)" reset_rival
	measure_cpu one_row "rival.insert_one(n)" reset_rival
	if [ -z "$quick" ]; then
		for setting in on:1 on:32 off:1 off:8 off:32; do
			for name in $others; do
				measure "$name" "${setting#*:}" $others_seconds "${setting%:*}"
			done
		done
	fi
}

# What the rounds left must be without fault.
check_claims()
{
	reset_ledger plain
	expect "violations found by booking_check()" "$(query "$main" 'SELECT count(*) FROM booking_check()')" 0
	[ -n "$quick" ] ||
		expect "violations found by booking_check() among a million" \
			"$(query "$big" 'SELECT count(*) FROM booking_check()')" 0
}

# no_faults DATABASE WHERE: what was measured must have left none
no_faults()
{
	expect "violations found by booking_check() $2" \
		"$(query "$1" 'SELECT count(*) FROM booking_check()')" 0
}

! wanted claims || prepare_claims
! wanted controller || prepare_controller
! wanted sync || prepare_sync
! wanted verify || prepare_verify
! wanted retention || prepare_retention
for ((round = 1; round <= rounds; round++)); do
	! wanted claims || measure_claim_round
	! wanted controller || measure_controller
	! wanted sync || measure_sync
	! wanted verify || measure_verify
	! wanted retention || measure_retention
done
! wanted claims || check_claims
! wanted controller || no_faults "$busy" "among events"
! wanted sync || no_faults "$reading" "among calendars"
! wanted sync || no_faults "$foreign" "among other people's events"
! wanted retention || no_faults "$kept" "among purged intents"

# shellcheck source=test/bench/report.sh
. "$here/report.sh"
report >"$scratch/report"
cat "$scratch/report"
if [ -n "$output" ]; then
	cp "$scratch/report" "$output"
	progress "written to $output"
fi

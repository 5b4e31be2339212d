# test/bench/lib.sh
#
# Measuring: one run of one pgbench script, with the CPU time of the server's
# processes, and what must be true of the database afterwards.  Sourced by
# run.sh, which sets bindir, scratch and the lengths of the runs.

die()
{
	printf 'bench: %s\n' "$*" >&2
	exit 1
}

progress()
{
	printf '%s\n' "$*" >&2
}

# query DATABASE SQL: one value, or the rows with tabs between the columns
query()
{
	"$bindir/psql" -X -q -v ON_ERROR_STOP=1 -At -F $'\t' -d "$1" -c "$2"
}

# Clock ticks that all processes of the server have used since its start: those
# alive, and through the postmaster's count of its children those that ended.
server_ticks()
{
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v postmaster="$postmaster" '
		{
			pid = $1
			sub(/^.*\) /, "")
			if (pid == postmaster)
				ticks += $12 + $13 + $14 + $15
			else if ($2 == postmaster)
				ticks += $12 + $13
		}
		END { print ticks + 0 }'
}

# Backends must be gone before their statistics and CPU time are complete.
wait_until_idle()
{
	local tries

	for tries in $(seq 200); do
		[ "$(query postgres "SELECT count(*) FROM pg_stat_activity
			WHERE usename = 'bench_app'")" != 0 ] || return 0
		sleep 0.05
	done
	die "sessions of the last run did not end after $tries looks"
}

# reset_ledger KIND: the ledger with the bookings that setup kept under KIND.
# The guard refuses TRUNCATE, which is what makes it a guard.
reset_ledger()
{
	query "$main" "
		ALTER TABLE booking.intent DISABLE TRIGGER guard_truncate;
		ALTER TABLE booking.reservation DISABLE TRIGGER guard_truncate;
		TRUNCATE booking.intent, booking.reservation;
		ALTER TABLE booking.intent ENABLE ALWAYS TRIGGER guard_truncate;
		ALTER TABLE booking.reservation ENABLE ALWAYS TRIGGER guard_truncate;
		INSERT INTO booking.intent SELECT * FROM kept.$1_intent;
		INSERT INTO booking.reservation SELECT * FROM kept.$1_reservation;
		ANALYZE booking.intent, booking.reservation" >/dev/null
}

reset_rival()
{
	query "$main" "
		TRUNCATE rival.intent, rival.reservation, rival.one_row;
		INSERT INTO rival.intent SELECT * FROM kept.plain_intent;
		INSERT INTO rival.reservation SELECT * FROM kept.plain_reservation;
		INSERT INTO rival.one_row (resource_id, during)
			SELECT resource_id, occupied FROM kept.plain_reservation;
		ANALYZE rival.intent, rival.reservation, rival.one_row" >/dev/null
}

# counts DATABASE SCHEMA: committed intents, all intents, reservations
counts()
{
	query "$1" "SELECT (SELECT count(*) FROM $2.intent WHERE state = 'committed'),
		(SELECT count(*) FROM $2.intent), (SELECT count(*) FROM $2.reservation)"
}

# pgbench_run DATABASE SCRIPT CLIENTS SECONDS SYNC BASE
# Sets done_transactions, tps, cpu_us and deadlocks.
pgbench_run()
{
	local output before after locks_before threads=$3

	[ "$threads" -le 2 ] || threads=2
	locks_before=$(query postgres "SELECT sum(deadlocks) FROM pg_stat_database")
	before=$(server_ticks)
	output=$(PGUSER=bench_app PGOPTIONS="-c synchronous_commit=$5" \
		"$bindir/pgbench" -n -M prepared -f "$here/scripts/$2.sql" \
		-c "$3" -j "$threads" -T "$4" -D n=0 -D clients="$3" -D base="$6" \
		-D hot="$hot" "$1" 2>&1) || {
		printf '%s\n' "$output" >&2
		die "$2 failed"
	}
	wait_until_idle
	after=$(server_ticks)
	deadlocks=$(($(query postgres "SELECT sum(deadlocks) FROM pg_stat_database") - locks_before))
	done_transactions=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' <<<"$output")
	tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' <<<"$output")
	if ! grep -q '^number of failed transactions: 0 ' <<<"$output" ||
		[ "${done_transactions:-0}" -eq 0 ]; then
		printf '%s\n' "$output" >&2
		die "$2 had failed transactions"
	fi
	cpu_us=$(awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" \
		-v n="$done_transactions" 'BEGIN { printf "%.1f", ticks * 1e6 / hz / n }')
}

# expect WHAT GOT WANTED: a run whose effect is not there measured nothing.
expect()
{
	[ "$2" = "$3" ] || die "$1: expected $3, found $2"
}

# measure NAME CLIENTS SECONDS SYNC: one run of one rival from its start state,
# verified, and recorded as a line of $scratch/runs.
measure()
{
	local name=$1 schema=rival database=$main base=10000 script=$1
	local committed intents reservations was_committed was_intents was_reservations

	case $name in
		claim | replay | hot_claim) schema=booking; reset_ledger plain ;;
		seats) schema=booking; reset_ledger seats ;;
		million)
			schema=booking database=$big base=$million_next script=claim
			;;
		*) reset_rival ;;
	esac
	case $name in
		hot_*) base=20000000 ;;
	esac

	IFS=$'\t' read -r was_committed was_intents was_reservations \
		<<<"$(counts "$database" "$schema")"
	pgbench_run "$database" "$script" "$2" "$3" "$4" "$base"
	IFS=$'\t' read -r committed intents reservations <<<"$(counts "$database" "$schema")"
	committed=$((committed - was_committed))
	intents=$((intents - was_intents))
	reservations=$((reservations - was_reservations))

	case $name in
		claim | seats | million | plpgsql | statements | two_rows)
			expect "$name: committed intents" "$committed" "$done_transactions"
			expect "$name: intents" "$intents" "$done_transactions"
			expect "$name: reservations" "$reservations" "$done_transactions"
			;;
		one_row)
			expect "$name: rows" "$(query "$main" 'SELECT count(*) FROM rival.one_row')" \
				$((10000 + done_transactions))
			;;
		replay)
			expect "$name: new intents and reservations" "$intents $reservations" "0 0"
			;;
		hot_claim)
			expect "$name: intents" "$intents" "$done_transactions"
			expect "$name: left committed" "$committed $reservations" "0 0"
			;;
		hot_*)
			expect "$name: rows left" "$reservations" 0
			;;
		*) die "nothing is known of $name" ;;
	esac
	if [ "$name" = million ]; then
		# numbers are dealt out client by client, and one may be ahead
		million_next=$((million_next + 2 * done_transactions + 1000))
	fi

	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$name" "$2" "$4" "$tps" \
		"$cpu_us" "$deadlocks" >>"$scratch/runs"
	progress "  round $round: $name, $2 clients, synchronous_commit $4: $tps tps, $cpu_us us CPU"
}

# measure_cpu NAME CALL SCHEMA-RESET: CPU time of one backend for one call
# inside one transaction; CALL is a boolean expression over n.
measure_cpu()
{
	local name=$1 call=$2 value

	"$3" ${4:+"$4"}
	value=$(PGUSER=bench_app "$bindir/psql" -X -q -At -v ON_ERROR_STOP=1 -d "$main" <<-SQL
		SELECT count(*) FROM (SELECT $call AS done FROM generate_series(9000000, 9000999) n) c WHERE done \g /dev/null
		BEGIN;
		SELECT rival.backend_cpu() AS before \gset
		SELECT count(*) AS done FROM (SELECT $call AS done FROM generate_series(10000, 9999 + $cpu_calls) n) c WHERE done \gset
		SELECT rival.backend_cpu() AS after \gset
		COMMIT;
		SELECT CASE WHEN :done = $cpu_calls THEN round((:after - :before) / 1000.0 / $cpu_calls, 2) END;
	SQL
	) || die "$name failed"
	[ -n "$value" ] || die "$name: not every call succeeded"
	printf '%s\t%s\t1\tone transaction\t0\t%s\t0\n' "$round" "cpu_$name" "$value" >>"$scratch/runs"
	progress "  round $round: $name in one transaction: $value us CPU"
}

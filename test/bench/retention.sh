# test/bench/retention.sh
#
# Measuring booking_retain: alone, and beside claims, which are measured alone
# too.  Sourced by run.sh.

kept=bench_retention
kept_next=1000000

# purged: intents whose values are gone
purged()
{
	query "$kept" "SELECT count(*) FROM booking.intent WHERE digest IS NOT NULL"
}

# claims_in_database: claims by 8 clients for as long as a run takes; prints tps
claims_in_database()
{
	local output

	output=$(PGUSER=bench_app "$bindir/pgbench" -n -M prepared -f "$here/scripts/claim.sql" \
		-c 8 -j 2 -T "$seconds" -D n=0 -D clients=8 -D base=$kept_next "$kept" 2>&1) || {
		printf '%s\n' "$output" >&2
		die "claims beside retention failed"
	}
	grep -q '^number of failed transactions: 0 ' <<<"$output" || die "claims beside retention failed"
	sed -n 's/^tps = \([0-9.]*\).*/\1/p' <<<"$output"
}

# start_retention: in the background, until it is canceled
start_retention()
{
	"$bindir/psql" -X -q -d "$kept" -c "CALL booking_retain('{\"intents\": \"0\"}')" >/dev/null 2>&1 &
	retention_job=$!
}

# stop_retention: it must not have come to its end
stop_retention()
{
	expect "calls of booking_retain that were at work to the end" "$(query "$kept" "SELECT count(pg_cancel_backend(pid))
		FROM pg_stat_activity WHERE datname = '$kept' AND query LIKE 'booking_retain: %'")" 1
	wait "$retention_job" 2>/dev/null || true
}

# One round of all of it.
measure_retention()
{
	local before began took rate

	record retain_claims_alone "$(claims_in_database)"
	kept_next=$((kept_next + 1000000))

	before=$(purged)
	began=$EPOCHREALTIME
	start_retention
	rate=$(claims_in_database)
	took=$(awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.3f", ended - began }')
	stop_retention
	record retain_claims_beside "$rate"
	record retain_rows_beside "$(awk -v n=$(($(purged) - before)) -v s="$took" 'BEGIN { printf "%.1f", n / s }')"
	kept_next=$((kept_next + 1000000))

	before=$(purged)
	began=$EPOCHREALTIME
	query "$kept" "CALL booking_retain('{\"intents\": \"0\", \"rate\": 0, \"max_rows\": $alone}')" >/dev/null
	took=$(awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.3f", ended - began }')
	expect "intents that were purged alone" "$(($(purged) - before >= alone))" 1
	record retain_rows_alone "$(awk -v n=$(($(purged) - before)) -v s="$took" 'BEGIN { printf "%.1f", n / s }')"
}

# The database with bookings that are over.
prepare_retention()
{
	local past=1500000

	alone=50000
	[ -z "$quick" ] || {
		past=200000
		alone=10000
	}
	make_database "$kept"
	"$bindir/psql" -X -q -o /dev/null -d "$kept" -v past=$past -f "$here/retention.sql" ||
		die "the bookings that are over could not be made"
	query "$kept" "SELECT c.relname, pg_relation_size(c.oid) / $past FROM pg_class c
		WHERE relnamespace = 'booking'::regnamespace AND relname ~ '^(intent|reservation)(_.*)?(key|pkey|excl)?$' ORDER BY 1" |
		while IFS=$'\t' read -r relation bytes; do
			progress "  $relation: $bytes bytes for each booking"
		done
}

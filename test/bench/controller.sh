# test/bench/controller.sh
#
# Measuring the worker: how fast operations become events on a calendar server
# that costs next to nothing, beside a program that sends the same requests and
# remembers nothing.  Sourced by run.sh.

busy=bench_controller
event_base=0
claim_base=0

# stub WHAT: ask the calendar server for something below /-/
stub()
{
	local socket answer

	exec {socket}<>"/dev/tcp/127.0.0.1/$stub_port"
	printf 'GET /-/%s HTTP/1.1\r\nConnection: close\r\n\r\n' "$1" >&"$socket"
	answer=$(cat <&"$socket")
	exec {socket}>&-
	printf '%s' "${answer##*$'\n'}"
}

# Compile the programs and start the server, which ends with this script.
start_stub()
{
	local cc=${CC:-gcc}

	"$cc" -O2 -o "$scratch/calendar_stub" "$here/calendar_stub.c" &&
		"$cc" -O2 -o "$scratch/plain_puts" "$here/plain_puts.c" -lcurl ||
		die "the calendar server and the rival do not compile"
	mkfifo "$scratch/stub_port"
	exec {stub_input}> >(exec "$scratch/calendar_stub" "$scratch/arrivals" >"$scratch/stub_port")
	read -r stub_port <"$scratch/stub_port"
}

# worker on|off: let the worker of the database send or not, and wait until it
# does as it is told
worker()
{
	local tries state wanted=paused

	[ "$1" = off ] || wanted='idle busy'
	query postgres "ALTER SYSTEM SET booking.worker = $1"
	query postgres "SELECT pg_reload_conf()" >/dev/null
	for tries in $(seq 500); do
		state=$(query "$busy" "SELECT state FROM booking_worker_status()")
		case " $wanted " in
			*" ${state:-none} "*) return 0 ;;
		esac
		sleep 0.02
	done
	die "the worker did not become $wanted after $tries looks"
}

# want_events COUNT: commit so many claims while nothing is sent
want_events()
{
	worker off
	expect "claims of events" "$(PGUSER=bench_app PGOPTIONS='-c synchronous_commit=off' query "$busy" "
		SELECT count(*) FROM (
			SELECT (booking_claim('bench', 'p0', 'event' || n, 'cal' || n % 64,
				tstzrange('2030-01-01 00:00:00+00'::timestamptz + n / 64 * interval '15 minutes',
					'2030-01-01 00:15:00+00'::timestamptz + n / 64 * interval '15 minutes'),
				terms => '{\"event\": {\"summary\": \"bench\", \"description\": \"An hour with the team, in the room on the second floor\"}}')).disposition AS d
			  FROM generate_series($event_base, $event_base + $1 - 1) n) c
		 WHERE d = 'committed'")" "$1"
	event_base=$((event_base + $1))
	query "$busy" "ANALYZE booking.operation, booking.intent" >/dev/null
}

# wait_until_sent: nothing is left to do
wait_until_sent()
{
	local tries

	for tries in $(seq 1200); do
		[ "$(query "$busy" "SELECT EXISTS (SELECT FROM booking.operation
			WHERE state IN ('waiting', 'sending', 'unknown', 'reconciling'))")" = t ] || return 0
		sleep 0.1
	done
	die "operations were left after $tries looks"
}

# events_made COUNT: all of them are confirmed, and there, once
events_made()
{
	expect "confirmed creates" "$(query "$busy" "SELECT count(*) FROM booking.operation o
		JOIN booking.intent i USING (intent_id)
		WHERE o.operation_id > $operations_before AND o.state = 'confirmed'
		  AND i.state = 'created' AND o.epoch = 1")" "$1"
	expect "requests, events, events twice, refusals" "$(stub figures | cut -d ' ' -f 1-4)" "$1 $1 0 0"
}

# record NAME VALUE: a line of $scratch/runs
record()
{
	printf '%s\t%s\t64\ton\t%s\t0\t0\n' "$round" "$1" "$2" >>"$scratch/runs"
	progress "  round $round: $1: $2"
}

# send_events NAME LATENCY COUNT: from the first lease to the last outcome, and
# from the first request to the last answer
send_events()
{
	stub reset
	stub "latency/$2"
	operations_before=$(query "$busy" "SELECT coalesce(max(operation_id), 0) FROM booking.operation")
	want_events "$3"
	worker on
	wait_until_sent
	events_made "$3"
	record "${1}_confirmed" "$(query "$busy" "
		SELECT round($3 / extract(epoch FROM max(at) - min(at)), 1)
		  FROM booking.attempt WHERE operation_id > $operations_before")"
	record "${1}_requests" "$(stub figures |
		awk -v n="$3" '{ printf "%.1f", n / $5 * 1e6 }')"
}

# plain NAME LATENCY keep|fresh: the rival sends what the last send_events sent
plain()
{
	[ -s "$scratch/bodies" ] || query "$busy" "
		SELECT '/' || calendar || '/' || event_id || '.ics ' || octet_length(body) || E'\n'
			|| convert_from(body, 'UTF8')
		  FROM booking.operation WHERE operation_id > $operations_before
		 ORDER BY operation_id" >"$scratch/bodies"
	stub reset
	stub "latency/$2"
	record "$1" "$("$scratch/plain_puts" "http://127.0.0.1:$stub_port" 64 "$3" <"$scratch/bodies")"
	expect "events of the rival, twice, refusals" "$(stub figures | cut -d ' ' -f 2-4)" \
		"$(grep -c '^/cal' "$scratch/bodies") 0 0"
}

# From the moment a client learns of its commit to the arrival of the request,
# with claims at random moments, 20 a second: p50 and p99 in milliseconds.  The
# request may be there before the client learns of the commit; that is 0.
measure_wire()
{
	local count=$((20 * seconds))

	stub reset
	stub latency/10
	operations_before=$(query "$busy" "SELECT coalesce(max(operation_id), 0) FROM booking.operation")
	rm -f "$scratch"/wire.*
	(cd "$scratch" && PGUSER=bench_app "$bindir/pgbench" -n -M prepared -c 1 -R 20 \
		-t "$count" -l --log-prefix=wire -D n=0 -D base="$event_base" \
		-f "$here/scripts/event_claim.sql" "$busy" >/dev/null 2>"$scratch/pgbench.err") || {
		cat "$scratch/pgbench.err" >&2
		die "event_claim failed"
	}
	wait_until_sent
	expect "requests" "$(stub figures | cut -d ' ' -f 1)" "$count"
	query "$busy" "SELECT event_id, substr(intent, 6)::bigint - $event_base
		FROM booking.operation JOIN booking.intent USING (intent_id)
		WHERE operation_id > $operations_before" >"$scratch/wire_events"
	event_base=$((event_base + count))
	awk '
		FILENAME ~ /wire_events$/ { number[$1] = $2; next }
		FILENAME ~ /arrivals$/ {
			split($2, part, /[\/.]/)
			if (part[3] in number)
				arrival[number[part[3]]] = $1
			next
		}
		$2 - 1 in arrival {
			delay = arrival[$2 - 1] - ($5 * 1000000 + $6)
			printf "%d\n", (delay > 0 ? delay : 0)
		}
	' "$scratch/wire_events" "$scratch/arrivals" "$scratch"/wire.[0-9]* | sort -n >"$scratch/delays"
	expect "delays" "$(wc -l <"$scratch/delays")" "$count"
	record wire_p50 "$(awk '{ d[NR] = $1 } END { printf "%.2f", d[int((NR + 1) / 2)] / 1000 }' "$scratch/delays")"
	record wire_p99 "$(awk '{ d[NR] = $1 } END { printf "%.2f", d[int(NR * 0.99 + 0.5)] / 1000 }' "$scratch/delays")"
}

# Claims of other resources, while the worker has nothing to do and while it
# keeps 64 requests in flight.
measure_claims()
{
	pgbench_run "$busy" claim 8 "$seconds" on "$claim_base"
	claim_base=$((claim_base + 2 * done_transactions + 1000))
	record claims_idle "$tps"

	stub reset
	stub latency/100
	want_events $((640 * (seconds + 5)))
	worker on
	pgbench_run "$busy" claim 8 "$seconds" on "$claim_base"
	claim_base=$((claim_base + 2 * done_transactions + 1000))
	expect "the worker was busy to the end" \
		"$(query "$busy" "SELECT state FROM booking_worker_status()")" busy
	record claims_busy "$tps"
	record claims_busy_requests "$(stub figures |
		awk '{ printf "%.1f", $1 / $5 * 1e6 }')"
	stub latency/0
	wait_until_sent
}

# One round of all of it.
measure_controller()
{
	send_events slow 100 $((640 * seconds))
	send_events fast 10 $((3000 * seconds))
	rm -f "$scratch/bodies"
	plain plain_keep 10 keep
	plain plain_fresh 10 fresh
	send_events bare 0 $((3000 * seconds))
	plain plain_bare 0 keep
	measure_wire
	measure_claims
}

# The database whose resources have calendars.
prepare_controller()
{
	start_stub
	make_database "$busy"
	"$bindir/psql" -X -q -o /dev/null -d "$busy" -v port="$stub_port" -f "$here/controller.sql" ||
		die "the calendars could not be made"
}

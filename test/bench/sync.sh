# test/bench/sync.sh
#
# Measuring the reading of calendars: a first reading beside a program that
# parses, copies and upserts the same bytes, ten changes in a small and in a large
# calendar, and claims of resources whose calendars are full of other people's
# events.  Sourced by run.sh.

reading=bench_sync
foreign=bench_foreign
large=100000
small=10000

# listing_stub WHAT: ask the server for something below /-/
listing_stub()
{
	local socket answer

	exec {socket}<>"/dev/tcp/127.0.0.1/$listing_port"
	printf 'GET /-/%s HTTP/1.1\r\nConnection: close\r\n\r\n' "$1" >&"$socket"
	answer=$(cat <&"$socket")
	exec {socket}>&-
	printf '%s' "${answer##*$'\n'}"
}

# Compile the programs, start the server, which ends with this script, and keep
# what it sends of the large calendar.
start_listing_stub()
{
	local cc=${CC:-gcc}

	"$cc" -O2 -pthread -o "$scratch/listing_stub" "$here/listing_stub.c" &&
		"$cc" -O2 $(xml2-config --cflags) -o "$scratch/plain_sync" "$here/plain_sync.c" -lical -lxml2 ||
		die "the calendar server and the rival do not compile"
	mkfifo "$scratch/listing_port"
	exec {listing_input}> >(exec "$scratch/listing_stub" >"$scratch/listing_port")
	read -r listing_port <"$scratch/listing_port"
	"$scratch/listing_stub" -d $large >"$scratch/answers"
}

# reader: process number of the worker of the database
reader()
{
	local tries pid

	for tries in $(seq 500); do
		pid=$(query "$reading" "SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'booking worker' AND datname = '$reading'")
		[ -z "$pid" ] || {
			printf '%s' "$pid"
			return
		}
		sleep 0.02
	done
	die "there is no worker after $tries looks"
}

# cpu_of PID: its CPU time so far, in microseconds
cpu_of()
{
	awk '{ printf "%d", $1 / 1000 }' "/proc/$1/schedstat"
}

# memory_of PID: memory of its own, in kB
memory_of()
{
	awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"
}

# seconds_of COMMAND...: how long it takes
seconds_of()
{
	local began=$EPOCHREALTIME

	"$@" >"$scratch/output" || die "$1 failed"
	awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { printf "%.6f", ended - began }'
}

# read_calendar CALENDAR: have it read, and not again by itself
read_calendar()
{
	query "$reading" "CALL booking_sync_wait('bench', 'c$1')"
	query "$reading" "UPDATE booking.cursor SET next_at = 'infinity'"
}

# attach_calendar CALENDAR: one of the server's, of which nothing is known
attach_calendar()
{
	query "$reading" "SELECT booking_calendar_put('bench', 'c$1', 'listed', '/$1/', 'room', 'busy')" >/dev/null
}

# A first reading, and the most memory that the worker has meanwhile.  Reads
# into fresh tables, as the rival does.
measure_first()
{
	local pid idle took watcher

	query "$reading" "TRUNCATE booking.event"
	query "$reading" "SELECT booking_calendar_remove('bench', calendar) FROM booking.calendar" >/dev/null
	listing_stub reset
	attach_calendar $small
	read_calendar $small >/dev/null
	pid=$(reader)
	idle=$(memory_of "$pid")
	: >"$scratch/memory"
	(while memory_of "$pid" >>"$scratch/memory"; do sleep 0.05; done) 2>/dev/null &
	watcher=$!
	attach_calendar $large
	took=$(seconds_of read_calendar $large)
	kill "$watcher"
	wait "$watcher" 2>/dev/null || true
	expect "events read" "$(query "$reading" "SELECT count(*), count(during), count(problem)
		FROM booking.event WHERE object LIKE '/$large/%'")" "$large"$'\t'"$large"$'\t'0
	record sync_first "$(awk -v n=$large -v s="$took" 'BEGIN { printf "%.1f", n / s }')"
	record sync_memory "$(awk -v idle="$idle" '$1 > most { most = $1 }
		END { printf "%.1f", (most - idle) / 1024 }' "$scratch/memory")"
}

# The rival: parse, copy, upsert.
plain_reading()
{
	"$scratch/plain_sync" <"$scratch/answers" |
		"$bindir/psql" -X -q -v ON_ERROR_STOP=1 -d "$reading" -f "$here/plain_sync.sql"
}

measure_plain_first()
{
	local took

	query "$reading" "TRUNCATE rival.event"
	took=$(seconds_of plain_reading)
	expect "events of the rival that differ" "$(query "$reading" "
		SELECT count(*) FROM (SELECT * FROM booking.event WHERE object LIKE '/$large/%') e
		  FULL JOIN rival.event r USING (object, occurrence)
		 WHERE (e.during, e.busy, e.status, e.uid, e.etag, e.organizer, e.attendees)
			IS DISTINCT FROM (r.during, r.busy, r.status, r.uid, r.etag, r.organizer, r.attendees)")" 0
	record plain_first "$(awk -v n=$large -v s="$took" 'BEGIN { printf "%.1f", n / s }')"
}

# measure_changes CALENDAR: ten changes at a time, as often as it takes to
# measure so little
measure_changes()
{
	local pid cpu before after times=20

	pid=$(reader)
	read_calendar "$1" >/dev/null
	before=$(listing_stub figures)
	cpu=$(cpu_of "$pid")
	for ((i = 0; i < times; i++)); do
		listing_stub "change/$1/10"
		read_calendar "$1" >/dev/null
	done
	cpu=$(($(cpu_of "$pid") - cpu))
	after=$(listing_stub figures)
	expect "events that changed last" "$(query "$reading" "SELECT count(*) FROM booking.event
		WHERE object LIKE '/$1/%' AND sequence = (SELECT max(sequence) FROM booking.event
			WHERE object LIKE '/$1/%')")" 10
	record "changes_$1_cpu" "$(awk -v us="$cpu" -v n=$times 'BEGIN { printf "%.1f", us / n }')"
	printf '%s\n' "$before" "$after" | awk -v n=$times '
		NR == 1 { requests = $1; bytes = $2 + $3 }
		NR == 2 { printf "%.1f\n%.1f\n", ($1 - requests) / n, ($2 + $3 - bytes) / n }' >"$scratch/changes"
	{
		read -r requests
		read -r bytes
	} <"$scratch/changes"
	record "changes_$1_requests" "$requests"
	record "changes_$1_bytes" "$bytes"
}

# claim_among KIND: claims of resources whose calendars are "full" of events or
# "free" of them; what was claimed before is gone
claim_among()
{
	query "$foreign" "
		ALTER TABLE booking.intent DISABLE TRIGGER guard_truncate;
		ALTER TABLE booking.reservation DISABLE TRIGGER guard_truncate;
		TRUNCATE booking.intent, booking.reservation;
		ALTER TABLE booking.intent ENABLE ALWAYS TRIGGER guard_truncate;
		ALTER TABLE booking.reservation ENABLE ALWAYS TRIGGER guard_truncate;
		ANALYZE booking.intent, booking.reservation" >/dev/null
	pgbench_run "$foreign" "claim_$1" 8 "$seconds" on 0
	expect "claims of $1 resources" "$(query "$foreign" "SELECT count(*) FROM booking.intent
		WHERE state = 'committed'")" "$done_transactions"
	record "claim_$1" "$tps"
}

# One round of all of it.
measure_sync()
{
	measure_first
	measure_plain_first
	measure_changes $small
	measure_changes $large
	if [ $((round % 2)) -eq 1 ]; then
		claim_among full
		claim_among free
	else
		claim_among free
		claim_among full
	fi
}

# The databases whose calendars are read, and whose are full.
prepare_sync()
{
	start_listing_stub
	make_database "$reading"
	make_database "$foreign"
	"$bindir/psql" -X -q -o /dev/null -d "$reading" -v port="$listing_port" -f "$here/sync.sql" &&
		"$bindir/psql" -X -q -o /dev/null -d "$foreign" -f "$here/foreign.sql" ||
		die "the calendars could not be made"
}

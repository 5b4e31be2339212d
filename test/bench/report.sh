# test/bench/report.sh
#
# The page with the table and all that one must know to judge it.  Sourced by
# run.sh after the runs.

# Microseconds of one write and sync with the server's method, on its disk.
sync_timing()
{
	local method file

	method=$(query postgres 'SHOW wal_sync_method')
	if [ -n "$quick" ] || ! [ -x "$bindir/pg_test_fsync" ]; then
		printf '%s, not timed' "$method"
		return
	fi
	# beside the cluster, so on the same disk
	file=$(mktemp "$PGHOST/sync.XXXXXX" 2>/dev/null || mktemp)
	printf '%s, %s µs for one 8 kB write and sync' "$method" "$(
		"$bindir/pg_test_fsync" -s 1 -f "$file" 2>/dev/null |
			awk -v method="$method" '
				/one 8kB write/ { wanted = 1 }
				/two 8kB writes/ { wanted = 0 }
				wanted && $1 == method && $3 == "ops/sec" { print $4 }')"
	rm -f "$file"
}

report()
{
	local cpu cores memory

	cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
	cores=$(nproc)
	memory=$(awk '/^MemTotal:/ { printf "%.0f GB", $2 / 1048576 }' /proc/meminfo)

	cat <<-PAGE
		# Benchmarks

		Written by \`make bench\` on $(date -u +%Y-%m-%d).

		* Machine: ${cpu:-unknown CPU}, $cores cores, $memory memory, Linux $(uname -r);
		  pgbench runs on the same cores.
		* PostgreSQL $(query postgres 'SHOW server_version'), booking $(sed -n "s/^default_version = '\(.*\)'/\1/p" "$topdir/booking.control").
		* Settings: $(sed -n '/^[a-z]/s/ = /=/p' "$here/postgresql.conf" | paste -sd ' ' | fold -s -w 75 | sed -e 's/ *$//' -e '2,$s/^/  /').
		* wal_sync_method: $(sync_timing).
		* Load of the machine before the first run: $load_before.
		* Rounds: $rounds, of $seconds s a run, all in one go. A ratio is the median of the
		  rounds' ratios, with the lowest and the highest; tps and µs are medians.

		$(LC_ALL=C awk -f "$here/report.awk" "$scratch/runs")

		How to read it: every claim is a new intent of a bound role on a quarter of an
		hour that is free, on one of 10,000 resources with 10,000 bookings present unless
		said otherwise, through \`pgbench -M prepared\`. After each run the rows were
		counted; a run whose transactions are not all there as committed intents with
		their reservations ends the bench. The plpgsql function gives the same answers as
		\`booking_claim\` to some 400 calls that are compared first. CPU is that of all the
		server's processes, divided by the transactions; inside one transaction it is
		that of one backend. The rivals are in \`test/bench\`.

		The worker's rows: operations that wait are carried out against a calendar
		server that answers each request a fixed time after it has arrived and takes
		some 20 µs for it (\`test/bench/calendar_stub.c\`); afterwards each event is there
		once and each operation confirmed at its first try. Requests a second are
		the server's count, from the first arrival to the last answer; confirmed
		creates are counted from the first lease to the last outcome, as
		\`booking.attempt\` has them. 64 requests that take 100 ms each are 640 a second
		at most. The program without database (\`test/bench/plain_puts.c\`) sends the very
		same bodies through libcurl, 64 at a time, over connections that it keeps, as
		the worker does; a second run makes a new one for each request. Server, program, worker
		and pgbench share the cores. Claims beside the worker are those of the first
		table, with 8 clients, while the server takes 100 ms and 64 requests are in
		flight. From commit to wire: one client claims at random moments, 20 a second;
		from its learning of the commit to the arrival of the request.

		The rows about calendars: \`test/bench/listing_stub.c\` makes up events of some
		1,200 bytes, every fourth with a VTIMEZONE. A first reading is timed from the
		request for it to the end of the wait for it, the server's work on the same cores
		included; the rival (\`test/bench/plain_sync.c\`) gets the same answers from a file,
		reads them with libxml2 and libical (zones that the machine knows are its own, not
		the VTIMEZONE, which libical reads anew for each object), and pipes the rows into psql, which copies
		them into a temporary table and upserts them into one with our columns and
		indexes; it has two processors where the worker has one. Afterwards both tables
		say the same. Ten changes at a time are read 20 times; CPU is the worker's, bytes
		and requests are the server's count. Claims are of 16 resources, 10,000 hours
		each with a foreign event in the first quarter, and one claim in the third.

		The rows about verification: $verify_samples wrong signatures a round, half with
		their first byte wrong and half with their last, in an order by chance, through
		the function that deliveries are verified by (\`test/bench/verify_time.c\`). Were
		the time to tell them apart, t would be beyond 4.5, as it is for a comparison
		that ends at the first difference, which is there to show that it would be found.
	PAGE
}

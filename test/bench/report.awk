# test/bench/report.awk
#
# The tables of ratios from the lines of measure() and record(): round, name,
# clients, synchronous_commit, tps (or what else was recorded), microseconds of
# CPU, deadlocks.  A ratio is taken within a round, where both sides met the
# same machine; the median of the rounds is reported, with the lowest and the
# highest.

BEGIN { FS = "\t"; OFS = "\t" }

{
	key = $2 ":" $3 ":" $4
	tps[key, $1] = $5
	cpu[key, $1] = $6
	seen[key] = 1
	if ($1 > rounds)
		rounds = $1
	if ($2 ~ /^hot_claim/)
		deadlocks += $7
}

# middle value of list[1..n], which it sorts; also sets lowest and highest
function median(list, n,    i, j, v)
{
	for (i = 2; i <= n; i++) {
		v = list[i]
		for (j = i - 1; j > 0 && list[j] > v; j--)
			list[j + 1] = list[j]
		list[j + 1] = v
	}
	lowest = list[1]
	highest = list[n]
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function middle(values, key,    i, list)
{
	for (i = 1; i <= rounds; i++)
		list[i] = values[key, i] + 0
	return median(list, rounds)
}

function ratio(values, over, under,    i, list)
{
	for (i = 1; i <= rounds; i++)
		list[i] = values[over, i] / values[under, i]
	return median(list, rounds)
}

function line(what, measured, bound, verdict)
{
	rows++
	cell[rows, 1] = what
	cell[rows, 2] = measured
	cell[rows, 3] = bound
	cell[rows, 4] = verdict
	for (i = 1; i <= 4; i++)
		if (width_of(cell[rows, i]) > width[i])
			width[i] = width_of(cell[rows, i])
}

# characters of a UTF-8 text; awk runs in the C locale, where it counts bytes
function width_of(text)
{
	return length(text) - gsub(/[\200-\277]/, "", text)
}

function pad(text, width, filler,    n)
{
	for (n = width_of(text); n < width; n++)
		text = text filler
	return text
}

function judge(value, bound, most)
{
	if (bound == "")
		return ""
	return (most ? value <= bound : value >= bound) ? "pass" : "**MISS**"
}

# a row about tps: over / under
function speed(what, over, under, bound,    r, spread)
{
	if (!seen[over] || !seen[under]) {
		line(what, "not run", bound == "" ? "" : "≥ " bound, "")
		return
	}
	r = ratio(tps, over, under)
	spread = sprintf("%.2f–%.2f", lowest, highest)
	line(what, sprintf("%.2f (%s; %d / %d tps)", r, spread, middle(tps, over),
		middle(tps, under)), bound == "" ? "" : "≥ " bound, judge(r, bound, 0))
}

# a row about CPU time: how many times what a claim costs
function cost(what, rival, claim, bound,    r, spread)
{
	r = ratio(cpu, rival, claim)
	spread = sprintf("%.2f–%.2f", lowest, highest)
	line(what, sprintf("%.2f (%s; %.1f / %.1f µs)", r, spread, middle(cpu, rival),
		middle(cpu, claim)), bound == "" ? "" : "≥ " bound, judge(r, bound, 0))
}

# a row about something recorded: its figure
function figure(what, name, format,    value)
{
	value = middle(tps, name ":64:on")
	line(what, sprintf(format " (" format "–" format ")", value, lowest, highest), "", "")
}

# a row about requests a second: over / under, or over / a number
function rate(what, over, under, bound,    i, list, r, spread)
{
	over = over ":64:on"
	for (i = 1; i <= rounds; i++)
		list[i] = tps[over, i] / (under + 0 > 0 ? under : tps[under ":64:on", i])
	r = median(list, rounds)
	spread = sprintf("%.2f–%.2f", lowest, highest)
	line(what, sprintf("%.2f (%s; %d / %d a second)", r, spread, middle(tps, over),
		under + 0 > 0 ? under : middle(tps, under ":64:on")),
		bound == "" ? "" : "≥ " bound, judge(r, bound, 0))
}

function controller_table()
{
	line("the worker, 64 calendars, 64 requests in flight", "measured", "bound", "")
	rate("requests at 100 ms ÷ the most there can be", "slow_requests", 640, 0.9)
	rate("confirmed creates at 10 ms ÷ a program without database", "fast_confirmed", "plain_keep", 0.5)
	rate("the same, with a connection for each", "fast_confirmed", "plain_fresh", "")
	rate("the same without latency, on bare loopback", "bare_confirmed", "plain_bare", "")
	rate("claims beside a busy worker ÷ beside an idle one", "claims_busy", "claims_idle", 0.7)
	figure("requests a second meanwhile", "claims_busy_requests", "%d")
	figure("commit to request on the wire, p50, ms", "wire_p50", "%.2f")
	figure("commit to request on the wire, p99, ms", "wire_p99", "%.2f")
	print_table()
}

# a row about something recorded that is to be at most so much
function limit(what, name, format, bound, unit,    value)
{
	value = middle(tps, name ":64:on")
	line(what, sprintf(format " (" format "–" format ")", value, lowest, highest),
		"≤ " bound unit, judge(value, bound, 1))
}

# a row about what is to be the same: over / under
function same(what, over, under, format, unit, bound,    r, spread)
{
	over = over ":64:on"
	under = under ":64:on"
	r = ratio(tps, over, under)
	spread = sprintf("%.2f–%.2f", lowest, highest)
	line(what, sprintf("%.2f (%s; " format " / " format "%s)", r, spread,
		middle(tps, over), middle(tps, under), unit), "≤ " bound, judge(r, bound, 1))
}

function sync_table()
{
	line("calendars of other people", "measured", "bound", "")
	rate("first reading of 100,000 events ÷ parse, COPY and upsert", "sync_first", "plain_first", 0.3)
	limit("the worker's memory above idle meanwhile, MB", "sync_memory", "%.1f", 64, "")
	same("ten changes among 100,000 events ÷ among 10,000, worker's CPU",
		"changes_100000_cpu", "changes_10000_cpu", "%.0f", " µs", 1.3)
	same("the same, requests", "changes_100000_requests", "changes_10000_requests", "%.1f", "", 1.3)
	same("the same, bytes", "changes_100000_bytes", "changes_10000_bytes", "%.0f", "", 1.3)
	rate("claims with 10,000 events on the resource ÷ with none", "claim_full", "claim_free", 0.8)
	print_table()
}

function verify_table()
{
	line("verification of a wrong signature", "measured", "bound", "")
	limit("first byte wrong against last byte wrong, Welch's t", "verify_t", "%.1f", 4.5, "")
	figure("the difference of the means, ns", "verify_ns", "%.2f")
	figure("beside it: a comparison that ends at the first difference, t", "leaky_t", "%.1f")
	figure("its difference, ns", "leaky_ns", "%.2f")
	print_table()
}

function retention_table()
{
	line("retention, intents with a reservation each", "measured", "bound", "")
	rate("intents purged a second ÷ 5,000", "retain_rows_alone", 5000, 1)
	rate("the same beside claims of 8 clients, at most 6,000", "retain_rows_beside", 5000, 1)
	rate("claims beside it ÷ claims alone", "retain_claims_beside", "retain_claims_alone", 0.8)
	print_table()
}

function print_table(    i)
{
	for (i = 1; i <= rows; i++) {
		print "| " pad(cell[i, 1], width[1], " ") " | " pad(cell[i, 2], width[2], " ") \
			" | " pad(cell[i, 3], width[3], " ") " | " pad(cell[i, 4], width[4], " ") " |"
		if (i == 1)
			print "|-" pad("", width[1], "-") "-|-" pad("", width[2], "-") "-|-" \
				pad("", width[3], "-") "-|-" pad("", width[4], "-") "-|"
	}
	rows = 0
	split("", width)
}

function claims_table()
{
	one = ":1:one transaction"
	line("new claim, 8 clients, ÷", "measured", "bound", "")
	speed("the same work as statements of a client", "claim:8:on", "statements:8:on", 1.5)
	speed("a careful plpgsql function", "claim:8:on", "plpgsql:8:on", 1)
	cost("server CPU of that function ÷ of a claim", "plpgsql:8:on", "claim:8:on", 1.1)
	cost("the same inside one transaction", "cpu_plpgsql" one, "cpu_claim" one, "")
	speed("a bare one-row insert", "claim:8:on", "one_row:8:on", 0.4)
	speed("one statement that inserts the same two rows unchecked", "claim:8:on", "two_rows:8:on", 0.9)
	value = middle(cpu, "cpu_claim" one)
	line("server CPU of a claim inside one transaction",
		sprintf("%.1f µs (%.1f–%.1f)", value, lowest, highest), "≤ 60 µs", judge(value, 60, 1))
	line("beside it: the same two rows unchecked",
		sprintf("%.1f µs", middle(cpu, "cpu_two_rows" one)), "", "")
	line("beside it: a one-row insert",
		sprintf("%.1f µs", middle(cpu, "cpu_one_row" one)), "", "")
	speed("one hot resource, 16 clients, claim and cancel ÷ bare insert and delete",
		"hot_claim:16:on", "hot_insert:16:on", 0.6)
	speed("the same ÷ under a lock of the resource's row", "hot_claim:16:on", "hot_row_lock:16:on", 2)
	line("deadlocks of claims and cancels on it", deadlocks + 0, "0", deadlocks ? "**MISS**" : "pass")
	speed("1,000,000 bookings present ÷ 10,000", "million:8:on", "claim:8:on", 0.85)
	speed("replay of a claim ÷ new claim", "replay:8:on", "claim:8:on", 2)
	speed("capacity 20 with 10 overlapping ÷ capacity 1", "seats:8:on", "claim:8:on", 0.6)
	print_table()
}

END {
	if (seen["claim:8:on"])
		claims_table()
	if (seen["claim:8:on"] && seen["slow_requests:64:on"])
		print ""
	if (seen["slow_requests:64:on"])
		controller_table()
	if ((seen["claim:8:on"] || seen["slow_requests:64:on"]) && seen["sync_first:64:on"])
		print ""
	if (seen["sync_first:64:on"])
		sync_table()
	if ((seen["claim:8:on"] || seen["slow_requests:64:on"] || seen["sync_first:64:on"]) &&
		seen["verify_t:64:on"])
		print ""
	if (seen["verify_t:64:on"])
		verify_table()
	if ((seen["claim:8:on"] || seen["slow_requests:64:on"] || seen["sync_first:64:on"] ||
		seen["verify_t:64:on"]) &&
		seen["retain_rows_alone:64:on"])
		print ""
	if (seen["retain_rows_alone:64:on"])
		retention_table()

	if (seen["claim:1:on"]) {
		print "\nWithout a bound, transactions a second:\n"
		for (k = 1; k <= 6; k++) {
			sync = k <= 3 ? "on" : "off"
			clients = k % 3 == 1 ? 1 : k % 3 == 2 ? 8 : 32
			if (k == 1)
				print "| synchronous_commit | clients | claim | plpgsql function | statements of a client | two rows unchecked | one-row insert |\n|---|---|---|---|---|---|---|"
			tail = ":" clients ":" sync
			printf "| %s | %d | %d | %d | %d | %d | %d |\n", sync, clients,
				middle(tps, "claim" tail), middle(tps, "plpgsql" tail),
				middle(tps, "statements" tail), middle(tps, "two_rows" tail),
				middle(tps, "one_row" tail)
		}
	}
}

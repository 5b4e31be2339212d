# test/t/071_storm_bulk.pl
#
# Everything at once: sixteen clients claim, cancel, reschedule, propose with
# and without holds, approve, reject, override, let holds expire, and claim as a
# bound role, while administrators change permissions, bindings, capacities,
# buffers, slots and four eyes under them, and others read and check.
#
# What must hold: no caller meets an error (40001 at the two stricter levels,
# where the retry ends right); every "committed" still stands with its receipt
# (R7); no instant exceeds the capacity but by overrides (R10, R11, R25); one
# approved version an intent (R2), no hold in the way after its end (R3); and
# booking_check() finds nothing, neither at the end nor in between, since an
# operator runs it on a living system.  Proves R18 for mixtures of all calls.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $clients = 16;
my $transactions = size(120, 1500);
my $seed = seed(71);

# At SERIALIZABLE the server notes what transactions read, and who wrote it, in
# tables of fixed size, for as long as one that ran beside them goes on;
# booking_check() reads everything, and on a busy machine takes its time.  The
# second table grows with max_connections.
my $node = booking_node('bulk',
	conf => "log_line_prefix = '%m [%p] %e '\n"
	  . "max_connections = 400\nmax_pred_locks_per_transaction = 2048");
my $session = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query(
	q{
CREATE TABLE answer (tenant text, principal text, intent text, disposition text,
	receipt text)});
$session->query(
	q{
CREATE FUNCTION span(start int, quarters int) RETURNS tstzrange
LANGUAGE sql STABLE AS
'SELECT tstzrange(t, t + quarters * interval ''15 minutes'')
   FROM (SELECT timestamptz ''2030-01-01 00:00+00'' + start * interval ''15 minutes'') s(t)'});
$session->query(
	q{
CREATE FUNCTION room(n int) RETURNS text LANGUAGE sql IMMUTABLE AS
'SELECT (ARRAY[''solo'', ''slots'', ''class'', ''buffer'', ''grow''])[n]'});
$session->query(
	q{
CREATE FUNCTION expect(disposition text, VARIADIC allowed text[]) RETURNS text
LANGUAGE plpgsql AS
'BEGIN
	IF disposition IS NULL OR disposition <> ALL (allowed) THEN
		RAISE EXCEPTION ''unexpected disposition %'', disposition;
	END IF;
	RETURN disposition;
END'});

# A capacity below present use is refused, which is no error of the storm.
$session->query(
	q{
CREATE FUNCTION resize(tenant text, capacity int) RETURNS bool
LANGUAGE plpgsql AS
'BEGIN
	PERFORM booking_resource_put(tenant, ''grow'', capacity);
	RETURN true;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RETURN false;
END'});
$session->query('CREATE ROLE storm_app');
$session->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO storm_app');
$session->query('GRANT INSERT ON answer TO storm_app');

# The scripts of a tenant, text => weight.  Intents are numbered per client and
# called c<client>-<n>; n is counted up at the end of a script, because pgbench
# repeats a script that failed from its beginning.
sub scripts
{
	my ($tenant) = @_;
	my %scripts;
	my $own = q{'c' || :client_id || '-' || :n};
	my $recent = q{'c' || :client_id || '-' || :k};
	my $other = q{'c' || :o || '-' || :k};
	my $draw =
	    "\\set k random(greatest(1, :n - 6), :n - 1)\n"
	  . "\\set o random(0, $clients - 1)\n"
	  . "\\set s random(0, 39)\n"
	  . "\\set l random(1, 4)\n"
	  . "\\set r random(1, 5)\n"
	  . "\\set q 1 + (:r + random(0, 3)) % 5\n"
	  . "\\set x random(0, 1)\n"
	  . "\\set p random(0, 3)\n";
	my $who = "'$tenant', 'p' || (:client_id % 4)";
	my $whose = "'$tenant', 'p' || (:o % 4)";
	my $when = 'span(:s, :l)';

	# One call whose answer is kept if it says that something was booked.
	my $call = sub {
		my ($weight, $call, $allowed, %opt) = @_;
		my $list = join(', ', map { "'$_'" } split(/ /, $allowed));
		my $receipt = $call =~ /^booking_propose/ ? 'NULL' : 'c.receipt';
		my $intent = $opt{intent} // $own;
		my $text = $draw . 'BEGIN;' . "\n";

		$text .= "SET LOCAL $_;\n" foreach @{ $opt{set} // [] };
		$text .=
		    "INSERT INTO answer SELECT "
		  . ($opt{owner} // $who)
		  . ", $intent, expect(c.disposition, $list), $receipt FROM $call AS c;\n"
		  . "COMMIT;\n";
		$text .= "\\set n :n + 1\n" if $intent eq $own;
		$scripts{$text} = $weight;
	};
	my $plain = sub {
		my ($weight, $sql) = @_;
		$scripts{"$draw$sql;\n"} = $weight;
	};

	# Claims.  With four eyes on they answer "proposed"; a tombstone may have
	# come before them.
	my $claimed = 'committed resource_conflict proposed canceled denied';
	$call->(12, "booking_claim($who, $own, room(:r), $when)", $claimed);
	$call->(
		3,
		"booking_claim($who, $own, 'class', $when, NULL, 2, jsonb_build_object('n', :n::int))",
		$claimed);
	$call->(
		3,
		"booking_claim($who, $own, 'grow', $when, 1 + :x::bigint)",
		"$claimed inventory_conflict");
	$call->(
		4, "booking_claim_all($who, $own, ARRAY[room(:r), room(:q)], $when)",
		$claimed);
	$call->(
		3,
		"booking_claim_slot($who, $own, 'slots', 's' || :s, (SELECT version FROM booking.slot WHERE tenant = '$tenant' AND slot = 's' || :s))",
		"$claimed inventory_conflict");
	$call->(
		5,
		"booking_claim($who, $own, room(:r), $when, supersedes => $recent)",
		"$claimed predecessor_unresolved unknown_intent");
	$call->(
		2, "booking_claim($who, $own, room(:r), $when)",
		$claimed, set => ["ROLE storm_app"]);
	$call->(
		3, "booking_claim($who, $own, room(:r), $when)",
		$claimed, set => ["booking.clock_offset = '2h'"]);
	$call->(
		2, "booking_override($who, $own, 'grow', $when, 1, jsonb_build_object(), 'storm')",
		'committed canceled denied');

	# Proposals and what becomes of them.
	my $known = 'historical_retry intent_conflict canceled denied proposed held '
	  . 'needs_proposal resource_conflict inventory_conflict stale_proposal';
	$call->(
		4, "booking_propose($who, $own, room(:r), $when, hold_for => '1 hour')",
		'held resource_conflict canceled denied');
	$call->(
		3,
		"booking_propose($who, $own, room(:r), $when, supersedes => $recent)",
		'proposed unknown_intent predecessor_unresolved canceled denied');
	$call->(
		3,
		"booking_propose($who, $recent, room(:r), $when, hold_for => '1 hour', after_version => 1)",
		"$known unknown_intent",
		intent => $recent);
	foreach my $case ([ $who, $recent ], [ $whose, $other ])
	{
		my ($owner, $intent) = @$case;
		my $args = $owner =~ s/^('[^']*'), /$1, 'p' || :p, /r;

		$call->(
			5, "booking_approve($args, $intent, 1 + :x::int)",
			"committed unknown_intent predecessor_unresolved $known",
			intent => $intent,
			owner => $owner);
		$call->(
			3, "booking_reject($args, $intent, 1 + :x::int, 'storm')",
			"committed unknown_intent $known",
			intent => $intent,
			owner => $owner);
		$call->(
			5, "booking_cancel($owner, $intent)",
			'canceled denied predecessor_unresolved',
			intent => $intent,
			owner => $owner);
	}

	# Administration.
	$plain->(2, "SELECT booking_permit('$tenant', 'p3', room(:r), :x::int = 1)");
	$plain->(1, "SELECT booking_permit_all('$tenant', 'p2', :x::int = 1)");
	$plain->(2, "SELECT resize('$tenant', 1 + :p::int)");
	$plain->(
		1,
		"SELECT booking_resource_put('$tenant', 'buffer', buffer_after => :p::int * interval '5 minutes')"
	);
	$plain->(2, "SELECT booking_slot_put('$tenant', 'slots', 's' || :s, $when)");
	$plain->(1, "SELECT booking_bind_role('storm_app', '$tenant')");
	$plain->(1, "SELECT booking_unbind_role('storm_app', '$tenant')");
	$plain->(1, "SELECT booking_tenant_put('$tenant', :p::int = 0)");

	# Readers.
	$plain->(2, "SELECT count(*) FROM booking_list('$tenant', 'p0')");
	$plain->(
		2,
		"SELECT count(*) FROM booking_free('$tenant', 'p0', ARRAY[room(:r), room(:q)], span(0, 40), '30 minutes')"
	);
	$plain->(2, "SELECT disposition FROM booking_status($whose, $other)");
	$plain->(
		1,
		"SELECT expect('violation: ' || c::text, 'none') FROM booking_check() c"
	);
	return \%scripts;
}

foreach my $level ('read committed', 'repeatable read', 'serializable')
{
	my $strict = $level ne 'read committed';
	my $tenant = $level =~ s/ /_/r;
	my $scripts = scripts($tenant);
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $offset = -s $node->logfile;
	my ($stdout, $stderr) = ('', '');
	my @files;

	$session->query("SELECT booking_permit_all('$tenant', 'p' || n) FROM generate_series(0, 3) n");
	$session->query("SELECT booking_resource_put('$tenant', room(n), CASE room(n) WHEN 'class' THEN 3 ELSE 1 END) FROM generate_series(1, 5) n");
	$session->query("SELECT booking_slot_put('$tenant', 'slots', 's' || n, span(n, 2)) FROM generate_series(0, 39) n");

	foreach my $text (sort keys %$scripts)
	{
		my $file = sprintf('%s/%02d.sql', $dir, scalar(@files) / 2);
		append_to_file($file, $text);
		push @files, '-f', "$file\@$scripts->{$text}";
	}

	local $ENV{PGOPTIONS} =
	  '-c client_min_messages=warning -c default_transaction_isolation='
	  . $level =~ s/ /\\ /r;
	my $ok = IPC::Run::run(
		[
			$node->installed_command('pgbench'),
			'-n', '-M', 'prepared',
			'-c', $clients, '-j', 2, '-t', $transactions,
			'-h', $node->host, '-p', $node->port,
			"--random-seed=$seed", '--failures-detailed',
			'--max-tries', $strict ? 10000 : 1,
			'-D', 'n=2', @files, 'postgres'
		],
		'>', \$stdout, '2>', \$stderr);

	ok($ok && $stderr !~ /abort/, "$level: no client stopped")
	  or diag(substr($stderr, 0, 2000));
	my ($processed) =
	  $stdout =~ /^number of transactions actually processed: (\S+)/m;
	is( $processed,
		join('/', ($clients * $transactions) x 2),
		"$level: every transaction came through");

	my %errors;
	my $log = slurp_file($node->logfile, $offset);
	$errors{$1}++
	  while $log =~ /^\S+ \S+ \S+ \[\d+\] (\w{5}) (?:ERROR|FATAL|PANIC):/mg;
	my $retries = $strict ? delete $errors{'40001'} // 0 : 0;
	is(join(' ', map { "$_=$errors{$_}" } sort keys %errors),
		'', "$level: no error" . ($strict ? ' but 40001' : ''));
	is($log =~ /^\S+ \S+ \S+ \[\d+\] \w{5} WARNING:  (.*)/m ? $1 : '',
		'', "$level: no warning");
	figure("storm_tps (everything, $level)", int($1))
	  if $stdout =~ /^tps = ([\d.]+)/m;
	figure(
		"storm_retries_percent (everything, $level)",
		sprintf('%.1f', 100 * $retries / ($clients * $transactions)))
	  if $strict;

	# From here on everybody may see everything again.
	$session->query("SELECT booking_tenant_put('$tenant', false)");
	$session->query("DELETE FROM booking.permission WHERE tenant = '$tenant'");
	$session->query("SELECT booking_permit_all('$tenant', 'p' || n) FROM generate_series(0, 3) n");

	is( $session->query(
			qq{
SELECT a.intent, a.receipt, s
  FROM (SELECT DISTINCT principal, intent, receipt FROM answer
		 WHERE tenant = '$tenant' AND disposition = 'committed') a,
	   booking_status('$tenant', a.principal, a.intent) s
 WHERE (s.receipt = a.receipt AND s.disposition IN ('historical_retry', 'canceled')) IS NOT TRUE}),
		'',
		"$level: every success still stands");
	is( $session->query(
			qq{
WITH booked AS (
	SELECT r.resource, i.during, i.units
	  FROM booking.intent i, unnest(i.resources) AS r(resource)
	 WHERE i.tenant = '$tenant' AND i.state = 'committed' AND i.override_reason IS NULL)
SELECT b.resource, lower(b.during), sum(o.units)
  FROM (SELECT DISTINCT resource, during FROM booked) b
  JOIN booked o ON o.resource = b.resource AND o.during \@> lower(b.during)
  JOIN booking.resource c ON c.tenant = '$tenant' AND c.resource = b.resource
 GROUP BY b.resource, b.during, c.capacity
HAVING sum(o.units) > c.capacity}),
		'',
		"$level: no instant over capacity but by overrides");
	is( $session->query(
			qq{
SELECT intent, count(*)
  FROM booking.proposal JOIN booking.intent USING (intent_id)
 WHERE tenant = '$tenant' AND proposal.state = 'approved'
 GROUP BY intent_id, intent HAVING count(*) > 1}),
		'',
		"$level: one approved version an intent");
	is_clean($session, $level);

	# A hold that has ended is in nobody's way.
	is( $session->query(
			qq{
BEGIN;
SET LOCAL booking.clock_offset = '3h';
SELECT h.intent_id, h.hold_until, c.disposition, c.detail
  FROM (SELECT DISTINCT ON (intent_id) intent_id, occupied, hold_until
		  FROM booking.reservation JOIN booking.resource USING (resource_id)
		 WHERE reservation.tenant = '$tenant' AND hold_until IS NOT NULL
		   AND resource = 'solo') h,
	   booking_claim('$tenant', 'p0', 'late-' || h.intent_id, 'solo', h.occupied) c
 WHERE c.disposition <> 'committed';
ROLLBACK}),
		'',
		"$level: expired holds give way");
}

# The storms must have been ones: every kind of answer was given.
my $given = $session->query(
	"SELECT string_agg(DISTINCT disposition, ' ' ORDER BY disposition) FROM answer"
);
is( $given,
	join(
		' ',
		qw(canceled committed denied held historical_retry intent_conflict
		  inventory_conflict needs_proposal predecessor_unresolved proposed
		  resource_conflict stale_proposal unknown_intent)),
	'every kind of answer was given');

$session->quit;
$node->stop;
done_testing();

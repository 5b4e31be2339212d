# test/t/180_metrics.pl
#
# booking_metrics() tells what its documentation says and nothing else; it counts
# what callers are told, over every end of the server: an orderly one loses nothing,
# a crash no more than what was counted since the worker stored it.  A role that may
# call it learns no name.  What it costs does not depend on how much is settled: it
# reads no large table, and neither does the first page of booking.recovery.
#
# Proves the acceptance for metrics of the issue on operation, in the size of
# BOOKING_TEST_LONG with ten million intents.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Metrics;
use Booking::Stub qw(worker_conf is_settled);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main',
	conf => worker_conf()
	  . "booking.poll_interval = '1s'\nrestart_after_crash = on\nautovacuum = off\n");
my $session = session($node);

my $committed = 'booking_answers_total{disposition="committed",replayed="false"}';
my $replayed = 'booking_answers_total{disposition="historical_retry",replayed="true"}';

sub claim
{
	my ($intent, $hour) = @_;
	return sprintf
	  "SELECT disposition FROM booking_claim('a secret tenant', 'a secret person', 'a secret intent %s', 'a secret room', "
	  . "tstzrange(timestamptz '2030-01-01 00:00+00' + interval '%d hours', timestamptz '2030-01-01 01:00+00' + interval '%d hours'))",
	  $intent, $hour, $hour;
}

# What the worker has stored of a counter.
sub stored
{
	my ($key) = @_;
	return $session->query("SELECT coalesce(sum(value), 0) FROM booking.counter WHERE counter = '$key'");
}

# ----------------------------------------------------------------------------
# What is told
# ----------------------------------------------------------------------------

$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_resource_put('a secret tenant', 'a secret room')");
$session->query("SELECT booking_permit_all('a secret tenant', 'a secret person')");
ok(!exists metrics($session)->{booking_armed}, 'a database without an account is not called disarmed');

$session->query(claim(1, 1));
$session->query(claim(1, 1)) for 1 .. 2;
$session->query(claim(2, 1));
$session->query("SELECT booking_status('a secret tenant', 'a secret person', 'a secret intent 1')");
$session->query('BEGIN');
$session->query(claim(3, 3));
$session->query('ROLLBACK');
$session->query("SELECT booking_cancel('a secret tenant', 'nobody', 'x')");
my $told = metrics($session);
is($told->{$committed}, 2, 'what was told is counted, also where it was rolled back');
is($told->{$replayed}, 2, 'so are replays, and a look at the status is none');
is($told->{'booking_answers_total{disposition="resource_conflict",replayed="false"}'}, 1, 'and conflicts');
is($told->{'booking_answers_total{disposition="denied",replayed="false"}'}, 1, 'and denials');
is($told->{'booking_intents{state="committed"}'}, 1, 'intents are by state');
is($told->{'booking_intents{state="conflict"}'}, 1, 'conflicts too');
is($told->{booking_intents_estimated}, 2, 'and together');
is($told->{booking_counters_complete}, 1, 'all sessions are counted');

$session->query("SELECT booking_propose('a secret tenant', 'a secret person', 'a secret plan', 'a secret room', '[2031-01-01 00:00+00, 2031-01-01 01:00+00)', hold_for => '1 hour')");
is(metric($session, 'booking_intents{state="proposed"}'), 1, 'a proposal is open');
is(metric($session, 'booking_expired_holds'), 0, 'its hold lives');
$session->query("SET booking.clock_offset = '2h'");
is(metric($session, 'booking_expired_holds'), 1, 'and runs out');
$session->query('RESET booking.clock_offset');
$session->query("SELECT booking_resource_put('a secret tenant', 'a secret room', 2)");
is( $session->query("SELECT disposition FROM booking_approve('a secret tenant', 'a secret person', 'a secret person', 'a secret plan', 1)"),
	'needs_proposal', 'it is stale');
is(metric($session, 'booking_stale_proposals_total{at="approval"}'), 1, 'which is counted');
is(metric($session, 'booking_intents{state="needs_proposal"}'), 1, 'and to be seen');

# A source of deliveries, an account and a worker, so that everything has something.
$session->query("SELECT booking_webhook_source_put('a secret tenant', 'a secret source', 'calcom')");
$session->query("SELECT booking_webhook_secret_put('a secret source', 'a secret of the source')");
my $digest = $session->query("SELECT left(encode(sha256('a secret source'), 'hex'), 12)");
$session->query("SELECT booking_webhook_receive('a secret source', '{}', 'x')");
$session->query("INSERT INTO booking.webhook_count VALUES (2, now(), 'a secret source', 'late_create')");
my $signature = $session->query(
	q{SELECT encode(hmac('{"triggerEvent":"PING"}', 'a secret of the source', 'sha256'), 'hex')})
  if $session->sqlstate('CREATE EXTENSION pgcrypto') eq '00000';
$session->query(
	qq{SELECT booking_webhook_receive('a secret source', '{"x-cal-signature-256": "$signature"}', '{"triggerEvent":"PING"}')})
  for 1 .. 2;
$session->query("SELECT booking_account_put('a secret tenant', 'a secret account', 'caldav', 'https://calendars.example.org/')");
wait_until('the worker shows itself',
	sub { return exists metrics($session)->{booking_worker_beat_age_seconds} });
$told = metrics($session);
is($told->{booking_armed}, 1, 'the first account arms the database');
is($told->{booking_worker_up}, 1, 'the worker is up');
cmp_ok($told->{booking_worker_beat_age_seconds}, '<', 60, 'and its last sign is not old');
is($told->{qq{booking_deliveries_total{source="$digest",verdict="missing_signature"}}}, 1, 'a refused delivery is counted, by its source');
my ($taken) = grep { /^booking_deliveries_total\{source="$digest",verdict="(?:ignored|unusable)"/ && $told->{$_} } keys %$told;
is($taken && $told->{$taken}, 2, 'and those that were taken');
is($told->{qq{booking_late_creations_total{source="$digest"}}}, 2, 'and creations that came late');

my $documented = documented();
my %emitted;
foreach my $name (keys %$told)
{
	my ($metric, $labels) = $name =~ /^(\w+)(?:\{(.*)\})?$/;

	$emitted{$metric} //= [
		$metric =~ /_total$/ ? 'counter' : 'gauge',
		join ' ', sort(($labels // '') =~ /(\w+)="/g) ];
}
is_deeply(\%emitted, $documented, 'what is told is what doc/metrics.md has, with type and labels');
is_deeply([ grep { $told->{$_} !~ /^[\d.e+]+$/ } keys %$told ], [], 'every value is a number and none is negative');

# ----------------------------------------------------------------------------
# Who may ask
# ----------------------------------------------------------------------------

$session->query('CREATE ROLE monitor LOGIN');
my $monitor = session($node, user => 'monitor');
is($monitor->sqlstate('SELECT * FROM booking_metrics()'), '42501', 'nobody may ask without a grant');
$session->query('GRANT EXECUTE ON FUNCTION booking_metrics() TO monitor');
is(scalar keys %{ metrics($monitor) }, scalar keys %$told, 'EXECUTE is enough');
unlike(join("\n", keys %{ metrics($monitor) }), qr/secret/, 'no name is told');
is($monitor->sqlstate($_), '42501', "and the role may no more: $_")
  for 'TABLE booking.counter', "SELECT booking_status('a secret tenant', 'a secret person', 'a secret intent 1')";
$monitor->quit;

# ----------------------------------------------------------------------------
# What the worker does
# ----------------------------------------------------------------------------

my $stub = Booking::Stub->new;
$stub->client($session, 'cal', 'store');
Booking::Stub::claim($session, 'cal', 'made');
is_settled($session, 'made', 'create confirmed', 'an event is made');
$told = metrics($session);
is($told->{'booking_sends_total{kind="create",outcome="done"}'}, 1, 'the send is counted');
is($told->{'booking_intents{state="created"}'}, 1, 'the intent is where it is');

# A reading of the calendar, whatever comes of it here.
$session->query("SELECT booking_sync('t', 'cal')");
wait_until('a round has ended',
	sub {
		my $told = metrics($session);
		return $told->{'booking_sync_rounds_total{result="finished"}'} + $told->{'booking_sync_rounds_total{result="failed"}'} > 0;
	});
cmp_ok(metric($session, 'booking_full_syncs_total{reason="first"}'), '>=', 1, 'why all was listed is counted');

# An answer that is lost, and the lookup that settles it.
$stub->behave('cal', 'swallow');
Booking::Stub::claim($session, 'cal', 'lost');
wait_until('a create is unknown', sub { return metric($session, 'booking_unknown_creates') == 1 });
$told = metrics($session);
cmp_ok($told->{'booking_sends_total{kind="create",outcome="unknown"}'}, '>=', 1, 'the outcome is counted');
is($told->{'booking_intents{state="unknown"}'}, 1, 'the intent is unknown');
$stub->behave('cal', 'store');
is_settled($session, 'lost', 'create confirmed', 'it is looked up, and settled');
$told = metrics($session);
cmp_ok($told->{'booking_reconciliations_total{kind="create",outcome="equal"}'}
	  + $told->{'booking_reconciliations_total{kind="create",outcome="absent"}'},
	'>=', 1, 'which is counted');
is($told->{booking_unknown_creates}, 0, 'no create is unknown any more');
$stub->stop;

# ----------------------------------------------------------------------------
# What is stored
# ----------------------------------------------------------------------------

# An orderly end loses nothing; what the worker has not stored yet is
# in the file, which is gone when it was read.
$session->query(claim(1, 1)) for 1 .. 7;
my $before = metrics($session);
$session->quit;
$node->stop('fast');
$node->start;
$session = session($node);
my $after = metrics($session);
is_deeply([ map { $after->{$_} } $committed, $replayed, $taken ],
	[ map { $before->{$_} } $committed, $replayed, $taken ], 'an orderly end loses nothing');
ok(!-e $node->data_dir . '/pg_stat/booking.counts', 'the file is gone');

# A server that ends at once, or crashes, may lose what was counted since.
foreach my $mode ('immediate', 'crash')
{
	$before = metric($session, $replayed);
	wait_until('the worker has stored it',
		sub { return stored('booking_answers_total/historical_retry/true') == $before });
	$session->query(claim(1, 1)) for 1 .. 5;
	if ($mode eq 'immediate')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		my $victim = session($node);

		kill 'KILL', $victim->backend_pid;
		$node->poll_query_until('postgres', 'SELECT true');
		wait_until('the server is back', sub { return eval { session($node)->query('SELECT 1') } });
	}
	$session = session($node);
	$after = metric($session, $replayed);
	cmp_ok($after, '>=', $before, "$mode: what was stored is there");
	cmp_ok($after, '<=', $before + 5, "$mode: nothing is counted twice");
	$session->query(claim(1, 1));
	is(metric($session, $replayed), $after + 1, "$mode: counting goes on");
}

# Each database counts for itself, and so does each extension.
$session->query('CREATE DATABASE other');
my $other = session($node, dbname => 'other');
$other->query('CREATE EXTENSION booking CASCADE');
is(metric($other, $replayed), 0, 'another database has its own counters');
$other->query("SELECT booking_cancel('t', 'p', 'x')");
is(metric($other, 'booking_answers_total{disposition="denied",replayed="false"}'), 1, 'and counts');
$other->query('DROP EXTENSION booking');
$other->query('CREATE EXTENSION booking');
is(metric($other, 'booking_answers_total{disposition="denied",replayed="false"}'), 0, 'another extension begins anew');
$other->quit;
$session->query('DROP DATABASE other');

# A dump has no counters.
unlike(
	(run_command([ 'pg_dump', '-d', $node->connstr('postgres'), '-a', '-t', 'booking.*' ]))[0],
	qr/^booking_answers_total|COPY booking.counter .*\n(?!\\\.)/m,
	'a dump leaves the counters out');

# Where what is stored cannot be written, the worker goes on and says so once.
my $offset = -s $node->logfile;
my $blocker = session($node);
$blocker->query('BEGIN');
$blocker->query('LOCK booking.counter IN SHARE MODE');
$session->query(claim(1, 1));
wait_until('the worker complains',
	sub { return slurp_file($node->logfile, $offset) =~ /could not store counters/ });
is(metric($session, 'booking_worker_up'), 1, 'the worker lives');
$blocker->query('COMMIT');
$blocker->quit;
wait_until('and stores it afterwards',
	sub { return stored('booking_answers_total/historical_retry/true') == metric($session, $replayed) });

# ----------------------------------------------------------------------------
# What it costs
# ----------------------------------------------------------------------------

$session->query('DROP EXTENSION booking');
$session->quit;
$node->append_conf('postgresql.conf',
	"booking.worker = off\nfsync = off\nmax_wal_size = '8GB'\ntrack_functions = all\n");
$node->restart;
$session = session($node);
$session->query('CREATE EXTENSION booking');
my ($intents, $open) = size(0, 1) ? (10000000, 10000) : (30000, 200);
fill($node, $intents, $open);
$session->query(q{SELECT booking_metrics(), count(*) FROM booking.recovery});

# Rows that were read of the tables that grow, by scanning them and by index.
sub rows_read
{
	$session->query('SELECT pg_stat_force_next_flush()');
	return $session->row(
		q{SELECT sum(seq_tup_read), sum(idx_tup_fetch) FROM pg_stat_user_tables
		   WHERE schemaname = 'booking'
			 AND relname IN ('intent', 'operation', 'attempt', 'proposal', 'reservation', 'inbox', 'conflict', 'event', 'change', 'audit_entry')});
}

foreach my $case (
	[ 'booking_metrics()', 'SELECT * FROM booking_metrics()', 50 ],
	[ 'the first page of booking.recovery', 'SELECT * FROM booking.recovery LIMIT 100', 20 ])
{
	my ($name, $sql, $most) = @$case;
	my ($scanned, $fetched) = rows_read();

	$session->query($sql);
	my ($scanned_after, $fetched_after) = rows_read();
	is($scanned_after - $scanned, 0, "$name scans no large table");
	cmp_ok($fetched_after - $fetched, '<', 30000, "$name reads few rows");
	my $time = median_ms($session, $sql);
	figure("$name at $intents intents, in ms", sprintf '%.1f', $time);
	cmp_ok($time, '<', size(1000, $most), "$name takes less than $most ms");
}
unlike(
	$session->query('EXPLAIN SELECT * FROM booking.recovery LIMIT 100'),
	qr/Seq Scan on (?:intent|operation|attempt|proposal|inbox|conflict|event)/,
	'nor would a plan for recovery');

# The estimates are near the truth, and what is open is exact.
$told = metrics($session);
my %true = map { @$_ } @{ $session->try('SELECT state, count(*) FROM booking.intent GROUP BY state')->{rows} };
is($told->{qq{booking_intents{state="$_"}}}, $true{$_}, "exactly so many are $_") for 'approved', 'unknown';
foreach my $state ('committed', 'created', 'canceled', 'conflict', 'failed')
{
	my $estimate = $told->{qq{booking_intents{state="$state"}}};

	cmp_ok(abs($estimate - $true{$state}), '<', 0.01 * $intents, "about so many are $state");
}
is($told->{'booking_operations{kind="create",state="parked"}'}, $open / 20, 'parked operations are counted');
is($told->{'booking_parked{object="operation"}'}, $open / 20, 'under both names');
is($told->{booking_unknown_creates}, $open / 2, 'so are unknown creates');
is($told->{booking_dead_letters}, 20, 'and dead letters');
is($told->{booking_events_without_intents}, 5, 'events without intents');
is($told->{booking_intents_without_events}, 5, 'and intents without events');
cmp_ok($told->{booking_queue_age_seconds}, '>=', 3600, 'the queue has its age');
cmp_ok($told->{booking_cursor_age_seconds}, '>=', 1000, 'the calendar that was read longest ago too');

# ----------------------------------------------------------------------------
# Without preload
# ----------------------------------------------------------------------------

$session->query("SELECT booking_cancel('t', 'p', 'x')");
my $denied = 'booking_answers_total{disposition="denied",replayed="false"}';
is(metric($session, $denied), 1, 'a denial is counted');
$session->quit;
$node->stop('fast');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->adjust_conf('postgresql.conf', 'booking.worker', 'on');
$node->start;
$session = session($node);
$told = metrics($session);
is($told->{booking_counters_complete}, 0, 'without preload it says that sessions are not counted');
is($told->{$denied} // 0, 0, 'and tells what was stored');
$session->query("SELECT booking_cancel('t', 'p', 'x')");
is(metric($session, $denied) // 0, 0, 'calls are not counted');
$session->query("DELETE FROM booking.operation WHERE state NOT IN ('confirmed', 'rejected', 'dropped')");
$session->query('UPDATE booking.account SET parked = true');
$session->query('SELECT booking_worker_start()');
wait_until('the worker stores what it does',
	sub { return (metric($session, 'booking_worker_starts_total{result="begun"}') // 0) > 0 });
is(metric($session, 'booking_worker_up'), 1, 'and it is seen');

done_testing();

# test/t/020_transactions.pl
#
# A call works in whatever transaction its caller has: it takes effect exactly
# with that transaction, and never holds more than it needs.  Savepoints,
# exception blocks, two-phase commit across a restart, forced parallel plans,
# replica role, read-only transactions, very many claims in one transaction,
# deadlock by crossed order, lock timeouts and the stricter isolation levels.
#
# Proves R8 (all isolation levels), R18 (which errors callers can see), R96
# (replica role), and the limits that the README documents.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $node = booking_node('main', conf => <<'EOC');
max_prepared_transactions = 5
deadlock_timeout = '100ms'
EOC
my $session = session($node);
my $other = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query(
	"SELECT booking_resource_put('acme', r) FROM unnest(ARRAY['room', 'hall', 'attic']) r");
$session->query("SELECT booking_permit_all('acme', p) FROM unnest(ARRAY['ada', 'bob']) p");

# Every case has a day of its own, so that cases do not meet.
my $day = 0;

sub next_day
{
	return ++$day;
}

sub claim
{
	my ($intent, $resource, $from, $to) = @_;
	my $date = sprintf('2030-%02d-%02d', 1 + int($day / 28), 1 + $day % 28);
	return
	  "SELECT disposition, replayed FROM booking_claim('acme', 'ada', '$intent', '$resource', "
	  . "tstzrange('$date $from+00', '$date $to+00'))";
}

sub cancel
{
	my ($intent) = @_;
	return "SELECT disposition, replayed FROM booking_cancel('acme', 'ada', '$intent')";
}

# ----------------------------------------------------------------------------
# Savepoints and exception blocks
# ----------------------------------------------------------------------------

next_day();
$session->query('BEGIN');
is_row($session, claim('kept', 'room', '08:00', '09:00'),
	[ 'committed', 'f' ], 'savepoint: before it');
$session->query('SAVEPOINT s');
is_row($session, claim('dropped', 'room', '09:00', '10:00'),
	[ 'committed', 'f' ], 'savepoint: within it');
is_row($session, cancel('kept'), [ 'canceled', 'f' ], 'savepoint: a cancel within it');
is_row($session, claim('taker', 'room', '08:00', '09:00'),
	[ 'committed', 'f' ], 'savepoint: the freed unit is taken within it');
$session->query('ROLLBACK TO s');
is_row($session, claim('dropped', 'room', '09:30', '10:30'),
	[ 'committed', 'f' ], 'savepoint: rolled back is as if never called');
is_row($session, claim('kept', 'room', '08:00', '09:00'),
	[ 'historical_retry', 't' ], 'savepoint: the cancel is undone');
$session->query('RELEASE s');
$session->query('COMMIT');
is( $session->query(
		"SELECT intent, state FROM booking.intent WHERE intent IN ('kept', 'dropped', 'taker') ORDER BY intent"
	),
	"dropped\x1fcommitted\nkept\x1fcommitted",
	'savepoint: what is on record after the commit');

# An error in the middle ends in the savepoint and the transaction goes on.
next_day();
$session->query('BEGIN');
$session->query('SAVEPOINT s');
fails_with(
	$session,
	"SELECT booking_claim('acme', 'ada', E'bad\\nname', 'room', tstzrange('2030-01-01 08:00+00', '2030-01-01 09:00+00'))",
	'22023',
	'savepoint: a bad call');
$session->query('ROLLBACK TO s');
is_row($session, claim('after-error', 'room', '08:00', '09:00'),
	[ 'committed', 'f' ], 'savepoint: the transaction goes on after a bad call');
$session->query('COMMIT');

next_day();
$session->query(<<'EOSQL');
CREATE FUNCTION try_claim(intent text, during tstzrange, fail boolean) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	got booking_result;
BEGIN
	got := booking_claim('acme', 'ada', intent, 'room', during);
	IF fail THEN
		RAISE EXCEPTION 'the rest failed';
	END IF;
	RETURN got.disposition;
EXCEPTION WHEN raise_exception THEN
	RETURN 'undone ' || got.disposition;
END
$$
EOSQL
{
	my $range = "tstzrange('2031-01-01 08:00+00', '2031-01-01 09:00+00')";
	is($session->query("SELECT try_claim('block', $range, true)"),
		'undone committed', 'exception block: the claim was made');
	is( $session->query("SELECT count(*) FROM booking.intent WHERE intent = 'block'"),
		'0',
		'exception block: and undone with it');
	is($session->query("SELECT try_claim('block', $range, false)"),
		'committed', 'exception block: the next one commits');
	is( $session->query(
			"SELECT string_agg(try_claim('block-' || i % 3, tstzrange('2031-01-02 00:00+00'::timestamptz + i % 3 * interval '1 hour', '2031-01-02 01:00+00'::timestamptz + i % 3 * interval '1 hour'), i < 3), ' ' ORDER BY i) FROM generate_series(0, 5) i"
		),
		'undone committed undone committed undone committed committed committed committed',
		'exception block: many in one statement');
}

# ----------------------------------------------------------------------------
# Two-phase commit
# ----------------------------------------------------------------------------

foreach my $end ('COMMIT', 'ROLLBACK')
{
	my $committed = $end eq 'COMMIT';

	foreach my $restart (0, 1)
	{
		my $when = lc($end) . ' prepared' . ($restart ? ' after a restart' : '');

		next_day();
		$session->query('BEGIN');
		is_row($session, claim("two-$day", 'room', '08:00', '09:00'),
			[ 'committed', 'f' ], "$when: a claim");
		is_row($session, cancel("early-$day"), [ 'canceled', 'f' ],
			"$when: a tombstone in the same transaction");
		$session->query("PREPARE TRANSACTION 'two'");
		if ($restart)
		{
			$node->restart;
			$session = session($node);
			$other = session($node);
		}

		# What was prepared is undecided: everyone who depends on it waits.
		$other->query("SET lock_timeout = '100ms'");
		fails_with($other, claim("three-$day", 'room', '08:30', '09:30'),
			'55P03', "$when: an overlapping claim waits for the outcome");
		fails_with($other, claim("two-$day", 'room', '08:00', '09:00'),
			'55P03', "$when: so does the same intent");
		fails_with($other, "SELECT booking_permit('acme', 'ada', 'room', false)",
			'55P03', "$when: so does a revocation that the claim relied on");
		is_row(
			$other,
			"SELECT disposition FROM booking_status('acme', 'ada', 'two-$day')",
			['unknown_intent'],
			"$when: status does not wait");
		$other->query('RESET lock_timeout');

		$other->query("$end PREPARED 'two'");
		is_row(
			$session,
			claim("two-$day", 'room', '08:00', '09:00'),
			$committed ? [ 'historical_retry', 't' ] : [ 'committed', 'f' ],
			"$when: the claim again");
		is_row(
			$session,
			claim("early-$day", 'room', '10:00', '11:00'),
			$committed ? [ 'canceled', 't' ] : [ 'committed', 'f' ],
			"$when: the tombstone's claim");
	}
}

# ----------------------------------------------------------------------------
# Parallel plans
# ----------------------------------------------------------------------------

# its name until 15, and since 16
my $forced = $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';

$session->query("SET $_")
  foreach ("$forced = on", 'parallel_setup_cost = 0',
	'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 2');
$session->query(<<'EOSQL');
CREATE TABLE wanted AS
	SELECT i, 'parallel-' || i AS intent,
		   tstzrange('2031-02-01 00:00+00'::timestamptz + i / 2 * interval '1 hour',
					 '2031-02-01 01:00+00'::timestamptz + i / 2 * interval '1 hour') AS during
	  FROM generate_series(0, 199) i
EOSQL
$session->query('ANALYZE wanted');
like(
	$session->query('EXPLAIN SELECT count(*) FROM wanted'),
	qr/Gather/,
	'parallel: plans are parallel');
is( $session->query(
		"SELECT (c).disposition, count(*) FROM (SELECT booking_claim('acme', 'ada', intent, 'room', during) AS c FROM wanted ORDER BY i) q GROUP BY 1 ORDER BY 1"
	),
	"committed\x1f100\nresource_conflict\x1f100",
	'parallel: claims over a table');
is( $session->query(
		"SELECT (s).disposition, count(*) FROM (SELECT booking_status('acme', 'ada', intent) AS s FROM wanted) q GROUP BY 1 ORDER BY 1"
	),
	"historical_retry\x1f100\nresource_conflict\x1f100",
	'parallel: status over a table');
is( $session->query(
		"SELECT count(*) FROM wanted WHERE booking_at('2031-02-01 00:00', 'UTC') <= lower(during)"
	),
	'200',
	'parallel: a parallel safe function in a worker');
is_clean($session, 'parallel');

# A function that somebody declared parallel safe although it claims must get
# an error in a worker, not a half-made booking.
$session->query(<<'EOSQL');
CREATE FUNCTION mislabelled(i int) RETURNS text LANGUAGE sql PARALLEL SAFE AS $$
	SELECT (booking_claim('acme', 'ada', 'mislabelled-' || i, 'attic',
						  tstzrange('2031-03-01 00:00+00', '2031-03-01 01:00+00'))).disposition
$$
EOSQL
fails_with($session, 'SELECT mislabelled(i) FROM wanted', '25000',
	'parallel: a mislabelled caller is refused');
is( $session->query("SELECT count(*) FROM booking.intent WHERE intent LIKE 'mislabelled%'"),
	'0',
	'parallel: and leaves nothing');
$session->query("RESET $_")
  foreach ($forced, 'parallel_setup_cost', 'parallel_tuple_cost',
	'min_parallel_table_scan_size', 'min_parallel_index_scan_size',
	'max_parallel_workers_per_gather');

# ----------------------------------------------------------------------------
# Replica role: no rule rests on an ordinary trigger
# ----------------------------------------------------------------------------

next_day();
$session->query('SET session_replication_role = replica');
is_row($session, claim('replica', 'room', '08:00', '09:00'),
	[ 'committed', 'f' ], 'replica role: a claim');
is_row($session, claim('replica', 'room', '08:00', '09:00'),
	[ 'historical_retry', 't' ], 'replica role: the same again');
is_row($session, claim('replica-2', 'room', '08:30', '09:30'),
	[ 'resource_conflict', 'f' ], 'replica role: an overlapping one');
is_row($session, cancel('replica'), [ 'canceled', 'f' ], 'replica role: cancel');
is( $session->sqlstate(
		"UPDATE booking.intent SET state = 'committed' WHERE intent = 'replica'"),
	'55000',
	'replica role: the guard keeps canceled terminal');
is( $session->sqlstate("DELETE FROM booking.intent WHERE intent = 'replica'"),
	'55000', 'replica role: the guard keeps intents');
$session->query('RESET session_replication_role');
is_clean($session, 'replica role');

# ----------------------------------------------------------------------------
# Read-only transactions
# ----------------------------------------------------------------------------

next_day();
$session->query(claim('present', 'room', '08:00', '09:00'));
$session->query('BEGIN READ ONLY');
foreach my $call (
	claim('present', 'room', '09:00', '10:00'),
	claim('new', 'room', '09:00', '10:00'),
	cancel('present'),
	"SELECT booking_propose('acme', 'ada', 'new', 'room', tstzrange('2031-05-01 08:00+00', '2031-05-01 09:00+00'))",
	"SELECT booking_approve('acme', 'bob', 'ada', 'present', 1)",
	"SELECT booking_permit('acme', 'ada', 'room')",
	"SELECT booking_resource_put('acme', 'room', 2)")
{
	my ($function) = $call =~ /(booking_\w+)/;

	$session->query('SAVEPOINT s');
	my $error = fails_with($session, $call, '25006',
		"read only: $function is refused");
	like($error->{message} // '', qr/read-only/, "read only: $function says why");
	$session->query('ROLLBACK TO s');
}
is_row(
	$session,
	"SELECT disposition, state FROM booking_status('acme', 'ada', 'present')",
	[ 'historical_retry', 'committed' ],
	'read only: status works');
is( $session->query("SELECT intent FROM booking_list('acme', 'ada', max => 1)"),
	'after-error', 'read only: list works');
is( $session->query(
		"SELECT lower(w) = '2031-05-01 00:00+00' FROM booking_free('acme', 'ada', '{room}', tstzrange('2031-05-01 00:00+00', '2031-05-02 00:00+00'), '1 hour') w"
	),
	't',
	'read only: free works');
is_clean($session, 'read only');
$session->query('COMMIT');

# ----------------------------------------------------------------------------
# Very many claims in one transaction
# ----------------------------------------------------------------------------

{
	# A lock for each of so many intents would not fit into the lock table at
	# its default size, which takes some 10,000.
	my $claims = size(30_000, 100_000);

	$session->query("SELECT booking_resource_put('bulk', 'r' || i) FROM generate_series(0, 49) i");
	$session->query("SELECT booking_permit_all('bulk', 'ada')");
	$session->query('BEGIN');
	my $start = time();
	is( $session->query(
			"SELECT count(*) FROM generate_series(0, $claims - 1) i, LATERAL booking_claim('bulk', 'ada', 'bulk-' || i, 'r' || i % 50, tstzrange('2032-01-01 00:00+00'::timestamptz + i / 50 * interval '1 hour', '2032-01-01 01:00+00'::timestamptz + i / 50 * interval '1 hour')) c WHERE c.disposition = 'committed'"
		),
		$claims,
		"$claims claims in one transaction");
	figure('claims in one transaction', $claims);
	figure('claims in one transaction, seconds', sprintf('%.1f', time() - $start));
	my $locks = $session->query(
		'SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()');
	figure('locks held at its end', $locks);
	cmp_ok($locks, '<', 6500, 'the number of locks is bounded');
	$session->query('COMMIT');
	is( $session->query("SELECT count(*) FROM booking.reservation WHERE tenant = 'bulk'"),
		$claims,
		'all of them hold their unit');
	is_clean($session, 'many claims');
}

# ----------------------------------------------------------------------------
# Waiting: crossed order, lock_timeout
# ----------------------------------------------------------------------------

# Two transactions that claim the same two units in crossed order: one of them
# is canceled as a deadlock, as with any SQL, and its repetition gets the
# outcome of the other.
next_day();
{
	$session->query('BEGIN');
	$other->query('BEGIN');
	is_row($session, claim('x-1', 'room', '08:00', '09:00'),
		[ 'committed', 'f' ], 'crossed order: first claims the room');
	is_row($other, claim('y-1', 'hall', '08:00', '09:00'),
		[ 'committed', 'f' ], 'crossed order: second claims the hall');
	$session->send(claim('x-2', 'hall', '08:00', '09:00'));
	$other->send(claim('y-2', 'room', '08:00', '09:00'));

	my @results = ($session->receive, $other->receive);
	my @failed = grep { $_->{error} } @results;
	is(join(' ', map { $_->{error}{sqlstate} } @failed),
		'40P01', 'crossed order: exactly one of them fails, as a deadlock');

	my ($winner, $loser, @again) =
	  $results[0]{error}
	  ? ($other, $session, claim('x-1', 'room', '08:00', '09:00'),
		claim('x-2', 'hall', '08:00', '09:00'))
	  : ($session, $other, claim('y-1', 'hall', '08:00', '09:00'),
		claim('y-2', 'room', '08:00', '09:00'));
	my ($won) = grep { !$_->{error} } @results;
	is_deeply($won->{rows}, [ [ 'committed', 'f' ] ],
		'crossed order: the other one commits');
	$loser->query('ROLLBACK');
	$winner->query('COMMIT');
	is_row($loser, $_, [ 'resource_conflict', 'f' ],
		'crossed order: repeated, the loser gets a conflict')
	  foreach @again;

	# The same wish in one call cannot deadlock.
	next_day();
	my $date = sprintf('2030-%02d-%02d', 1 + int($day / 28), 1 + $day % 28);
	my @both = map {
		"SELECT disposition FROM booking_claim_all('acme', 'ada', 'both-$_->[0]', '{$_->[1]}', tstzrange('$date 08:00+00', '$date 09:00+00'))"
	} ([ 'a', 'room,hall' ], [ 'b', 'hall,room' ]);
	$session->query('BEGIN');
	is_row($session, $both[0], ['committed'], 'one call: the first');
	$other->send($both[1]);
	wait_blocked($session, $other);
	$session->query('COMMIT');
	is_deeply($other->receive->{rows}, [ ['resource_conflict'] ],
		'one call: the second waits and gets a conflict');
}

next_day();
$session->query('BEGIN');
is_row($session, claim('slow', 'room', '08:00', '09:00'),
	[ 'committed', 'f' ], 'lock_timeout: a claim whose transaction stays open');
$other->query("SET lock_timeout = '100ms'");
fails_with($other, claim('impatient', 'room', '08:30', '09:30'),
	'55P03', 'lock_timeout: who needs its unit gives up');
fails_with($other, claim('slow', 'room', '08:00', '09:00'),
	'55P03', 'lock_timeout: who needs its outcome gives up');
is_row($other, claim('beside', 'room', '09:00', '10:00'),
	[ 'committed', 'f' ], 'lock_timeout: who needs neither does not wait');
$session->query('ROLLBACK');
is_row($other, claim('impatient', 'room', '08:30', '09:00'),
	[ 'committed', 'f' ], 'lock_timeout: what gave up has left no record');
$other->query('RESET lock_timeout');

# ----------------------------------------------------------------------------
# REPEATABLE READ and SERIALIZABLE: the only error is 40001, and the repeated
# transaction ends in the right answer
# ----------------------------------------------------------------------------

# Run statements as one transaction until it commits; returns the rows of the
# last one and how often it had to be repeated.  "meanwhile" runs once, after
# the transaction has its snapshot.
sub until_committed
{
	my ($level, $meanwhile, @sql) = @_;

	foreach my $repeated (0 .. 20)
	{
		$session->query("BEGIN ISOLATION LEVEL $level");
		$session->query('SELECT count(*) FROM booking.intent');
		$meanwhile->() if $repeated == 0;

		my $result;
		foreach my $sql (@sql, 'COMMIT')
		{
			my $now = $session->try($sql);
			$result = $now if $sql ne 'COMMIT' || $now->{error};
			last if $now->{error};
		}
		return ($result->{rows}[0], $repeated) unless $result->{error};
		$session->query('ROLLBACK');
		return ([ $result->{error}{text} ], $repeated)
		  if $result->{error}{sqlstate} ne '40001';
	}
	return (['never committed'], 20);
}

foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	my $name = lc($level);
	my $again = 0;
	my $case = sub {
		my ($what, $meanwhile, $sql, $expected) = @_;
		my ($row, $repeated) = until_committed($level, $meanwhile, $sql);

		is_deeply($row, $expected, "$name: $what");
		$again += $repeated;
	};

	next_day();
	$case->(
		'an overlapping claim committed after the snapshot',
		sub { $other->query(claim("o-$day", 'room', '08:00', '09:00')); },
		claim("p-$day", 'room', '08:30', '09:30'),
		[ 'resource_conflict', 'f' ]);
	$case->(
		'the same intent committed after the snapshot',
		sub { $other->query(claim("q-$day", 'room', '10:00', '11:00')); },
		claim("q-$day", 'room', '10:00', '11:00'),
		[ 'historical_retry', 't' ]);
	$case->(
		'the same intent with other values committed after the snapshot',
		sub { $other->query(claim("r-$day", 'room', '11:00', '12:00')); },
		claim("r-$day", 'room', '11:00', '13:00'),
		[ 'intent_conflict', 'f' ]);
	$other->query(claim("s-$day", 'room', '13:00', '14:00'));
	$case->(
		'canceled after the snapshot',
		sub { $other->query(cancel("s-$day")); },
		claim("s-$day", 'room', '13:00', '14:00'),
		[ 'canceled', 't' ]);
	$case->(
		'a unit freed after the snapshot',
		sub { $other->query(claim("t-$day", 'room', '15:00', '16:00'));
			$other->query(cancel("t-$day")); },
		claim("u-$day", 'room', '15:00', '16:00'),
		[ 'committed', 'f' ]);
	$other->query(claim("v-$day", 'room', '17:00', '18:00'));
	$case->(
		'cancel of what was canceled after the snapshot',
		sub { $other->query(cancel("v-$day")); },
		cancel("v-$day"),
		[ 'canceled', 't' ]);
	$case->(
		'permission revoked after the snapshot',
		sub { $other->query("SELECT booking_permit('acme', 'ada', 'hall', false)"); },
		claim("w-$day", 'hall', '08:00', '09:00'),
		[ 'denied', 'f' ]);
	$other->query("SELECT booking_permit('acme', 'ada', 'hall', true)");
	my $version = $other->query("SELECT booking_resource_put('acme', 'attic')");
	$case->(
		'the version changed after the snapshot',
		sub { $other->query(
				"SELECT booking_resource_put('acme', 'attic', buffer_after => '$version minutes')"
			); },
		"SELECT disposition, replayed FROM booking_claim('acme', 'ada', 'x-$day', 'attic', tstzrange('2031-06-01 08:00+00', '2031-06-01 09:00+00'), $version)",
		[ 'inventory_conflict', 'f' ]);
	figure("$name: transactions repeated", $again);
}
is_clean($session, 'isolation levels');

$session->quit;
$other->quit;
$node->stop;

done_testing();

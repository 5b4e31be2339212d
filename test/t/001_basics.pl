# test/t/001_basics.pl
#
# What was answered once is answered for ever: the contract of the ledger, and
# that a restart, the kill of a backend and the kill of the postmaster in the
# middle of a transaction change none of its answers.
#
# Proves R7 (a success is never taken back), R1 and R8 in the small (one winner
# a unit), R82 (ids go on after a crash).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Contract;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main', conf => 'restart_after_crash = on');
my $session = session($node);

# The extension brings what it needs with CASCADE and nothing else.
$session->query('CREATE EXTENSION booking CASCADE');
is( $session->query(
		"SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension WHERE extname <> 'plpgsql'"
	),
	'booking btree_gist',
	'installed with its one prerequisite');
is_clean($session, 'after installation');

my $record = contract_run($session, 'acme');
contract_again($session, $record, 'at once');

# Two sessions at once.  The second call waits for the first transaction and
# then sees its outcome, the commit as well as the rollback.
{
	my $second = session($node);
	my $claim = sub {
		my ($intent, $from, $to) = @_;
		return
			"SELECT disposition, replayed FROM booking_claim('acme', 'ada', '$intent', 'hall', "
		  . during($from, $to) . ')';
	};

	foreach my $case (
		[ 'twin', 'twin', 'COMMIT', 'historical_retry', 't' ],
		[ 'left', 'right', 'COMMIT', 'resource_conflict', 'f' ],
		[ 'abel', 'abel', 'ROLLBACK', 'committed', 'f' ],
		[ 'cain', 'seth', 'ROLLBACK', 'committed', 'f' ])
	{
		my ($first_intent, $second_intent, $end, @expected) = @$case;
		my $hour = { twin => 12, left => 13, abel => 14, cain => 15 }
		  ->{$first_intent};
		my @time = ("$hour:00", ($hour + 1) . ':00');

		$session->query('BEGIN');
		is_row(
			$session,
			$claim->($first_intent, @time),
			[ 'committed', 'f' ],
			"$first_intent/$second_intent: the first call commits");
		$second->send($claim->($second_intent, @time));
		wait_blocked($session, $second);
		$session->query($end);
		is_deeply($second->receive->{rows}, [ \@expected ],
			"$first_intent/$second_intent: after $end the second gets $expected[0]"
		);
	}
	is( $session->query(
			"SELECT count(*), count(receipt) FROM booking.intent WHERE intent IN ('twin', 'left', 'right', 'abel', 'seth')"
		),
		"5\x1f4",
		'one row an intent, one receipt a success');
	is( $session->query("SELECT count(*) FROM booking.intent WHERE intent = 'cain'"),
		'0',
		'what was rolled back left no trace');
	$second->quit;
}

# A failure after the reservation was written and before the intent is: neither
# stays, and the next try commits.
{
	my $call =
	  "SELECT disposition, replayed FROM booking_claim('acme', 'ada', 'fragile', 'hall', "
	  . during('17:00', '18:00') . ')';

	$session->query(
		"ALTER TABLE booking.intent ADD CONSTRAINT broken CHECK (intent <> 'fragile')"
	);
	fails_with($session, $call, '23514', 'a write that fails is an error');
	is( $session->query(
			"SELECT (SELECT count(*) FROM booking.intent WHERE intent = 'fragile'),
					(SELECT count(*) FROM booking.reservation
					  WHERE lower(occupied) = '2030-01-07 17:00+00')"
		),
		"0\x1f0",
		'neither intent nor reservation stays');
	$session->query('ALTER TABLE booking.intent DROP CONSTRAINT broken');
	is_row($session, $call, [ 'committed', 'f' ], 'the next try commits');
}

# Claims, cancels and a permission in the middle of a transaction that will not
# end: they must leave no trace.
my $unfinished = join(
	";\n",
	"BEGIN",
	"SELECT booking_claim('acme', 'ada', 'torn', 'room', "
	  . during('20:00', '21:00') . ')',
	"SELECT booking_cancel('acme', 'ada', 'one')",
	"SELECT booking_permit('acme', 'ada', 'hall', false)");

sub nothing_torn
{
	my ($observer, $when) = @_;

	is( $observer->query(
			"SELECT count(*) FROM booking.intent WHERE intent = 'torn'"),
		'0',
		"$when: the unfinished claim left no intent");
	is( $observer->query(
			"SELECT count(*) FROM booking.reservation WHERE lower(occupied) = '2030-01-07 20:00+00'"
		),
		'0',
		"$when: and no reservation");
	is( $observer->query(
			"SELECT allowed FROM booking.permission WHERE tenant = 'acme' AND principal = 'ada' AND resource = 'hall'"
		),
		't',
		"$when: the unfinished revocation is gone");
	return;
}

# After each of these a new claim must get a fresh id, too.
my $fresh = 0;

sub still_works
{
	my ($observer, $when) = @_;
	my ($from, $to) = ('20:00', '21:00');

	$fresh++;
	is_row(
		$observer,
		"SELECT disposition, replayed FROM booking_claim('acme', 'ada', 'fresh-$fresh', 'attic', "
		  . during($from, $to) . ')',
		[ 'denied', 'f' ],
		"$when: what was never permitted is denied");
	is_row(
		$observer,
		"SELECT disposition, replayed FROM booking_claim('acme', 'ada', 'fresh-$fresh', 'room', "
		  . "tstzrange('2030-02-0$fresh $from+00', '2030-02-0$fresh $to+00'))",
		[ 'committed', 'f' ],
		"$when: a new claim commits");
	is_clean($observer, $when);
	return;
}

# An ordinary restart.
$session->query($unfinished);
$node->restart;
$session = session($node);
nothing_torn($session, 'restart');
contract_again($session, $record, 'restart');
still_works($session, 'restart');

# kill -9 of a backend: the server restarts by crash recovery.
{
	my $victim = session($node);

	$victim->query($unfinished);
	kill('KILL', $victim->backend_pid)
	  or die "could not kill backend: $!";
	is($victim->sqlstate('SELECT 1'),
		'08006', 'the killed backend is gone');
	wait_until('the server is back', sub { $node->psql('postgres', 'SELECT 1') == 0; });
	$session = session($node);
	nothing_torn($session, 'kill -9 of a backend');
	contract_again($session, $record, 'kill -9 of a backend');
	still_works($session, 'kill -9 of a backend');
}

# kill -9 of the postmaster.
{
	my $victim = session($node);

	$victim->query($unfinished);
	$node->kill9;

	# Its children leave by themselves, and the new postmaster refuses to start
	# while one of them is attached to the shared memory.
	wait_until(
		'the server starts again',
		sub {
			return 1 if $node->start(fail_ok => 1);
			$node->stop('fast', fail_ok => 1);
			return 0;
		});
	$session = session($node);
	nothing_torn($session, 'kill -9 of the postmaster');
	contract_again($session, $record, 'kill -9 of the postmaster');
	still_works($session, 'kill -9 of the postmaster');
}

$session->quit;
$node->stop;

done_testing();

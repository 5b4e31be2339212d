# test/t/102_mock_recovery.pl
#
# A cursor that is dead: Google says so with 410 and a reason, Graph with 410 or
# another error of the forties whose code speaks of the state of synchronization.
# Everything is listed again.  Bookings stay linked to their events, those whose
# events have vanished without a trace are marked, other people's events that have
# vanished are gone, and that the worker is killed in the middle of it changes
# nothing.
#
# Proves R41 and R43 for both, with 20,000 events (fewer in the reduced run).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Mocked;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

# events, and bookings among them
my $events = size(400, 20_000);
my $ours = size(80, 10_000);
my $others = $events - $ours;
my $vanishing = $ours / 20;
my $page = size(50, 250);
my %dead = (
	google => [undef],
	graph => [ [ 410, 'SyncStateNotFound' ], [ 404, 'resyncRequired' ] ]);
my ($node, $session, $kind, $place, $mock);

sub sync
{
	return decode_json($session->query("CALL booking_sync_wait('t', 'room')"));
}

# Bookings and what they are linked to, by their names.
sub links
{
	my $result = $session->try(<<'EOQ');
SELECT i.intent, e.object, i.state FROM booking.intent i
  JOIN booking.event e USING (intent_id) ORDER BY i.intent
EOQ
	return { map { $_->[0] => "$_->[1] $_->[2]" } @{ $result->{rows} } };
}

# Wait until no booking is to be marked any more; returns how many are.
sub marked
{
	my ($expected) = @_;
	my $count;

	eval {
		wait_until(
			'all are marked',
			sub {
				$count = $session->query(<<'EOQ');
SELECT count(*) FROM booking.intent
 WHERE state = 'canceled' AND event = 'absent' AND detail ->> 'reason' = 'deleted_at_provider'
EOQ
				return 1 if $count >= $expected;

				# what is too much for one round is left for the next
				sync();
				return 0;
			});
	};
	return $count;
}

# Kill the worker, and open the session again.
sub kill_worker
{
	my $pid = $session->query(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'");

	kill('KILL', $pid) or die 'no worker';
	wait_until('the server notices',
		sub { !eval { $session->sqlstate('SELECT 1') eq '00000' } });
	$session = undef;
	wait_until('the server is back', sub { $session = eval { session($node) } });
	$session->query('SET client_min_messages = error');
	$place->reconnect($session);
	return;
}

# Let some events vanish with the cursor, and read the calendar.
sub recover
{
	my ($round, $dead, $killed) = @_;
	my $name = "$kind, " . ($killed ? 'killed in the middle' : 'undisturbed');
	my $before = links();
	my @gone = (sort keys %$before)[ 0 .. $vanishing - 1 ];
	my $there = $session->query('SELECT count(*) FROM booking.event WHERE intent_id IS NULL');

	$mock->vanish($place->{room}, map { $before->{$_} =~ /^(\S+)/ } @gone);
	$mock->vanish($place->{room}, map { sprintf('fill%06d', 10 * $_ + $round) } 0 .. $others / 10 - 1);
	$mock->set(kill_tokens => JSON::PP::true);
	$mock->set(dead => $dead) if $dead;
	my $begin = time();
	if ($killed)
	{
		my $held = $mock->brief->{held};

		$mock->fault($kind eq 'google' ? 'GET .*pageToken=' : 'GET .*skiptoken', 'slow_before', 1, 3);
		$session->query("SELECT booking_sync('t', 'room')");
		wait_until('the listing is in the middle', sub { $mock->brief->{held} > $held });
		kill_worker();
	}
	is(sync()->{problem}, undef, "$name: the calendar is read");
	figure("seconds for a full pass of $events events, $name", sprintf('%.1f', time() - $begin));
	is($session->query('SELECT full_reason FROM booking.cursor'), 'token_expired', "$name: whole");
	is(marked($vanishing * $round), $vanishing * $round, "$name: what has vanished is marked");

	my $after = links();
	is_deeply([ grep { exists $after->{$_} } @gone ], [], "$name: and linked to nothing");
	delete @$before{@gone};
	is_deeply($after, $before, "$name: all others are linked as before");
	is($session->query('SELECT count(*) FROM booking.event WHERE intent_id IS NULL'),
		$there - $others / 10, "$name: other people's events that have vanished are gone");
	return;
}

foreach (kinds())
{
	my $round = 0;

	$kind = $_;
	($node, $session) = provider_node($kind,
		conf => "restart_after_crash = on\nbooking.sync_future = '3000d'\n"
		  . "max_wal_size = 2GB\nfsync = off\n");
	$place = mocked($session, $kind);
	$mock = $place->mock;
	$mock->set(pause => 0, page_size => $page);
	$mock->fill($place->{room}, $others);
	$session->query("SELECT count(booking_claim('t', 'p', 'b-' || to_char(n, 'FM00000'), 'room',"
		  . " tstzrange(d, d + interval '15 min')))"
		  . " FROM generate_series(1, $ours) n, LATERAL (SELECT timestamptz '2030-05-01 00:00+00' +"
		  . " n * interval '15 min') x (d)");
	settle($node, $session);
	is( $session->query("SELECT count(*) FROM booking.intent WHERE state = 'created'"),
		$ours, "$kind: all bookings are events");
	is(sync()->{problem}, undef, "$kind: they are read");
	is(scalar keys %{ links() }, $ours, "$kind: each is linked");
	is($session->query('SELECT count(*) FROM booking.event'), $events, "$kind: among others");
	foreach my $dead (@{ $dead{$kind} })
	{
		recover(++$round, $dead, 0);
		recover(++$round, $dead, 1);
	}
	is_deeply($mock->complaints, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$session->quit;
	$node->stop;
}

done_testing();

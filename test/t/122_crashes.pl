# test/t/122_crashes.pl
#
# Exactly once, whoever dies: the worker is killed, terminated or shut down with
# its server while requests are out, while the server has done them and the
# answer is on its way, while an earlier loss is being looked up, and at any
# moment between.  Requests of the dead may arrive long after the living have
# sent them again.  After every round each booking has one event, or none if it
# was canceled, and no person was needed.
#
# Proves R26 (what a dead worker was sending is unknown, not lost and not done
# twice), R31, R38 (work resumes by itself) and R72 (the worker comes back).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $bookings = size(20, 200);
my $rounds = size(2, 10);

seed(122);
my ($node, $session) = provider_node('main', conf => "restart_after_crash = on\n");
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my %died;
my $slowest = 0;

# The worker, undef if there is none now.
sub worker
{
	my ($pid) = $session->row(
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'booking worker'"
	);
	return $pid;
}

# Wait for a worker: whatever the last one died of, it did something before, so
# the launcher brings the next one at once.
sub next_worker
{
	my ($pid, $begin) = (undef, time());

	wait_until('there is a worker', sub { defined($pid = worker()) });
	$slowest = time() - $begin if time() - $begin > $slowest;
	return $pid;
}

# Open the session again after a crash.
sub reconnect
{
	$session = undef;
	wait_until(
		'the server is back',
		sub {
			$session = eval { session($node) };
			return $session
			  && $session->sqlstate('SET client_min_messages = error') eq '00000';
		});
	return;
}

# Ways to die.
my @ways = (
	[
		'kill -9',
		sub {
			kill('KILL', worker()) or die 'no worker';
			wait_until('the server notices',
				sub { $session->sqlstate('SELECT 1') ne '00000' });
			reconnect();
		}
	],
	[ 'terminate', sub { $session->query("SELECT pg_terminate_backend(${\worker()})") } ],
	[
		'immediate shutdown',
		sub {
			$session->quit;
			$node->stop('immediate');
			$node->start;
			reconnect();
		}
	]);

# Make all calls, in the order of the list, with the worker dying in a way
# while requests of a kind are held at a place.  A call that was cut off is
# made again, as its caller would.
sub survive
{
	my ($way, $kind, $place, $path, @calls) = @_;
	my $held = sub {
		return $proxy->log(
			sub {
				($_[0]{fault} // '') eq $place
				  && ($place eq 'hold' || $_[0]{status});
			}) - $_[0];
	};
	my $already = $held->(0);

	$proxy->break($kind, $path, $place, 3);
	$session->query($_) foreach @calls;
	wait_until("three requests are held ($place)", sub { $held->($already) >= 3 });
	$way->[1]->();
	$died{ $way->[0] }++;
	$session->query($_) foreach @calls;
	return;
}

# Let the worker die at moments that nobody chose.
sub disturb
{
	for (1 .. 3)
	{
		my $pid = next_worker();

		$session->query('SELECT 1') for 1 .. rand(200);
		$session->query("SELECT pg_terminate_backend($pid)");
		$died{'any moment'}++;
		wait_until('it is gone', sub { (worker() // 0) != $pid });
	}
	return;
}

# Wait for the end, and let what was held go on before or after it.
sub finish
{
	my ($late) = @_;

	next_worker();
	$proxy->clear unless $late;
	settle($node, $session);
	$proxy->clear;
	wait_until('nothing is on its way to the server',
		sub { !$proxy->log(sub { !$_[0]{passed} && ($_[0]{fault} // 'hold') eq 'hold' }) });
	return;
}

sub claim
{
	my ($intent, $calendar, $hour, $more) = @_;
	return "SELECT booking_claim('t', 'p', '$intent', '$calendar',"
	  . " '[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)'"
	  . ($more // '') . ')';
}

sub cancel
{
	my ($intent) = @_;
	return "SELECT booking_cancel('t', 'p', '$intent')";
}

attach($session, $server, $proxy->url, 'account', map { "round-$_" } 1 .. $rounds);

foreach my $round (1 .. $rounds)
{
	my $calendar = "round-$round";
	my $path = "/user/$calendar/";
	my $place = $round % 2 ? 'hold_after' : 'hold';
	my @all = map { "$calendar-$_" } 0 .. $bookings - 1;
	my @moved = grep { /[02468]\z/ } @all;
	my @canceled = map { $all[$_] . ($_ % 2 ? '' : '-new') }
	  grep { $_ % 4 < 2 } 0 .. $#all;

	# create; those whose fate is unknown are looked up, and there it dies again:
	# the hold is set before the first death, for the next worker is quick
	$proxy->break('GET', $path, 'hold');
	survive($ways[ $round % 3 ], 'create', $place, $path,
		map { claim($_, $calendar, 10) } @all);
	wait_until(
		'a lookup is held',
		sub {
			Booking::Caldav::later($node, $session);
			$proxy->log(
				sub { $_[0]{kind} eq 'GET' && $_[0]{fault} && !$_[0]{status} });
		});
	$ways[ ($round + 1) % 3 ][1]->();
	$died{ $ways[ ($round + 1) % 3 ][0] }++;
	disturb();
	finish($place eq 'hold');

	# update
	survive(
		$ways[ ($round + 2) % 3 ],
		'update', $place, $path,
		map { claim("$_-new", $calendar, 14, ", supersedes => '$_'") } @moved);
	disturb();
	finish($place eq 'hold');

	# cancel
	survive($ways[ $round % 3 ],
		'DELETE', $place, $path, map { cancel($_) } @canceled);
	disturb();
	finish($place eq 'hold');

	# What is booked, by the rules above, and what is there.
	my %wanted;
	my %canceled = map { $_ => 1 } @canceled;
	foreach my $i (0 .. $#all)
	{
		my $intent = $all[$i] . ($i % 2 ? '' : '-new');

		$wanted{$intent} = ($i % 2 ? '20300501T100000Z 0' : '20300501T140000Z 1')
		  unless $canceled{$intent};
	}
	my $events = $server->list($path);
	my %found;
	my $rows = $session->try(<<"EOQ")->{rows};
SELECT DISTINCT ON (i.intent_id) i.intent, i.state, o.event_id, o.etag
  FROM booking.intent i JOIN booking.operation o USING (intent_id)
 WHERE o.calendar = '$calendar' ORDER BY i.intent_id, o.operation_id DESC
EOQ
	foreach my $row (@$rows)
	{
		my ($intent, $state, $uid, $etag) = @$row;

		next if $state eq 'canceled';
		my $event = delete $events->{$uid};

		$found{$intent} = $state ne 'created' ? $state : !$event ? 'no event' :
		  $event->{etag} ne ($etag // '') ? 'another version' :
		  "$event->{start} $event->{sequence}";
	}
	is_deeply(\%found, \%wanted, "round $round: no booking lost, each with its event");
	is_deeply($events, {}, "round $round: and no event without a booking");
	is(scalar keys %wanted, $bookings / 2, "round $round: that is half of them");
	is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'parked'"),
		0, "round $round: no operator is needed");
	is_clean($session, "round $round");
}

is_deeply(
	[ sort keys %died ],
	[ 'any moment', 'immediate shutdown', 'kill -9', 'terminate' ],
	'the worker died in every way');
figure('bookings whose worker died', $bookings * $rounds);
figure("deaths ($_)", $died{$_}) foreach sort keys %died;
done_testing();

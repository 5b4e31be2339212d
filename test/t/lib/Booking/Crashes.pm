# test/t/lib/Booking/Crashes.pm
#
# Workers that die while they write, the same for every provider: killed,
# terminated or shut down with the server while requests are out, while the
# provider has done them and the answer is on its way, while an earlier loss is
# being looked up, and at any moment between.  Requests of the dead may arrive
# long after the living have sent them again.

package Booking::Crashes;

use strict;
use warnings FATAL => 'all';

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use Exporter 'import';
use List::Util 'min';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

our @EXPORT = qw(
  crash_node
  crash_server
  crash_round
  crash_figures
);

my ($node, $session, $server, $proxy, $kind, $bookings);
my %died;
my $slowest = 0;

# Make the node of such a test.
sub crash_node
{
	my ($name) = @_;

	($node, $session) = provider_node($name, conf => "restart_after_crash = on\n");
	return;
}

# Put a server under its proxy, with a calendar for each round of so many bookings.
sub crash_server
{
	($kind, $server, $bookings, my $rounds) = @_;
	$proxy = Booking::FaultProxy->new($server);
	attach($session, $server, $proxy->url, $kind, map { "$kind-$_" } 1 .. $rounds);
	return;
}

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
	my $count = min(3, scalar @calls, $server->at_once);

	$proxy->break($kind, $path, $place, $count);
	$session->query($_) foreach @calls;
	wait_until("$count requests are held ($place)", sub { $held->($already) >= $count });
	$way->[1]->();
	$died{ $way->[0] }++;
	$session->query($_) foreach @calls;
	return;
}

# Let the worker die at moments that nobody chose.
sub disturb
{
	for (1 .. size(1, 3))
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

# A round of creates, updates and cancels, and what is there after it.
sub crash_round
{
	my ($round) = @_;
	my $calendar = "$kind-$round";
	my $path = $server->path($calendar);
	my $place = $round % 2 ? 'hold_after' : 'hold';
	my @all = map { "$calendar-$_" } 0 .. $bookings - 1;
	my @moved = grep { /[02468]\z/ } @all;
	my @canceled = map { $all[$_] . ($_ % 2 ? '' : '-new') }
	  grep { $_ % 4 < 2 } 0 .. $#all;

	# create; those whose fate is unknown are looked up, and there it dies again:
	# the hold is set before the first death, for the next worker is quick
	$proxy->break('GET,query', $path, 'hold');
	survive($ways[ $round % 3 ], 'create', $place, $path,
		map { claim($_, $calendar, 10) } @all);
	wait_until(
		'a lookup is held',
		sub {
			Booking::Caldav::later($node, $session);
			$proxy->log(
				sub { $_[0]{kind} =~ /^(GET|query)$/ && $_[0]{fault} && !$_[0]{status} });
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
	is_deeply(\%found, \%wanted, "$kind, round $round: no booking lost, each with its event");
	is_deeply($events, {}, "$kind, round $round: and no event without a booking");
	is(scalar keys %wanted, $bookings / 2, "$kind, round $round: that is half of them");
	is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'parked'"),
		0, "$kind, round $round: no operator is needed");
	is_clean($session, "$kind, round $round");
	return;
}

# In how many ways and how often workers died.
sub crash_figures
{
	is_deeply(
		[ sort keys %died ],
		[ 'any moment', 'immediate shutdown', 'kill -9', 'terminate' ],
		'the worker died in every way');
	figure("deaths ($_)", $died{$_}) foreach sort keys %died;
	return;
}

1;

# test/t/134_failover.pl
#
# The primary is killed after the server stored the event and before that was
# committed, while its asynchronous standby lags behind, and the standby is
# promoted.  Whatever the standby had heard of, there are never two events of
# one booking: ids follow from the identity, so a claim that was lost with the
# primary finds its event when it is claimed again.  Until then that event is an
# orphan, which nobody here can know of.
#
# The old primary comes back beside the new one and believes in itself, because
# a standby shares its identifier: all that it sends again has the same ids, so
# it makes no second event.  What it can do is to make an event again that the
# new primary has deleted; only fencing, or booking.arm_key, keeps it from that.
#
# Proves R73 and the failover promise of DESIGN.md section 6, on a real server.

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

my ($primary, $session) = provider_node('primary', init => { allows_streaming => 1 });
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my $path = '/user/room/';
my $more = 3;

attach($session, $server, $proxy->url, 'account', 'room');

# to the promoted server, events of what was lost are plans of somebody else
$session->query(
	"SELECT booking_account_put('t', 'account', 'caldav', settings => '{\"busy_blocks\": \"none\"}')"
);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub set_worker
{
	my ($value) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("booking.worker is $value",
		sub { $session->query('SHOW booking.worker') eq $value });
	return;
}

sub claim
{
	my ($in, $intent, $hour, $more) = @_;
	return $in->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)'"
		  . ($more // '') . ')');
}

sub is_state
{
	my ($in, $intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is(wait_state($in, $intent, $expected), $expected, $name);
}

# Events by summary, which is the intent: those that share one would be doubles.
sub events
{
	my $events = $server->list($path);
	my %found;

	push @{ $found{ $_->{summary} } }, $_->{start} foreach values %$events;
	return { map { $_ => join(' and ', @{ $found{$_} }) } keys %found };
}

sub writes
{
	return scalar $proxy->log(sub { $_[0]{kind} =~ /create|update|DELETE/ });
}

sub titled
{
	my ($intent) = @_;
	return ", terms => '{\"event\": {\"summary\": \"$intent\"}}'";
}

#
# What the standby gets to know
#
claim($session, $_, 10, titled($_)) foreach qw(settled moves stays);
settle($primary, $session);

# Being sent: known as such.
$proxy->break('create', $path, 'hold_after', 1000);
claim($session, 'sending', 10, titled('sending'));
wait_until('a create is done, its answer held',
	sub { $proxy->log(sub { ($_[0]{fault} // '') eq 'hold_after' && $_[0]{status} }) });

# Claimed: known as waiting.
set_worker('off');
claim($session, "waiting$_", 10, titled("waiting$_")) foreach 1 .. $more;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));

#
# And what not: it stops, and the primary goes on
#
$standby->stop;
claim($session, "lost$_", 10, titled("lost$_")) foreach 1 .. $more;
claim($session, 'lost-other', 10, titled('lost-other'));
claim($session, 'moved', 14, ", supersedes => 'moves'" . titled('moved'));
$session->query("SELECT booking_cancel('t', 'p', 'stays')");
$proxy->break('update,DELETE', $path, 'hold_after', 1000);
set_worker('on');
my $held = 1 + $more + $more + 1 + 1 + 1;
wait_until(
	'all is done at the server',
	sub {
		my $done = $proxy->log(sub { ($_[0]{fault} // '') eq 'hold_after' && $_[0]{status} });
		return $done == $held;
	});
is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'sending'"),
	$held, 'the primary knows of no answer');
$session->quit;
$primary->stop('immediate');
my $before = events();

#
# Promotion
#
$standby->start;
$standby->promote;
$proxy->clear;
$session = session($standby);
is_state($session, 'sending', 'created confirmed create confirmed',
	'what was known as being sent is found');
is_state($session, "waiting$_", 'created confirmed create confirmed',
	"what was known as waiting is sent, and meets its event ($_)")
  foreach 1 .. $more;
is($session->query("SELECT disposition FROM booking_status('t', 'p', 'lost1')"),
	'unknown_intent', 'a claim that was not replicated is lost');
is_state($session, 'moves', 'created confirmed create confirmed', 'so is a reschedule');
is_state($session, 'stays', 'created confirmed create confirmed', 'and a cancel');
my @doubled = grep { / and / } values %{ events() };
is_deeply(\@doubled, [], 'no booking has two events');
is_deeply(
	[ grep { !defined events()->{$_} } keys %$before ],
	[], 'events of what was lost stay at the server as orphans');

# Said again, by callers who got no answer: each finds what is there.
claim($session, "lost$_", 10, titled("lost$_")) foreach 1 .. $more;
claim($session, 'moved', 14, ", supersedes => 'moves'" . titled('moved'));
$session->query("SELECT booking_cancel('t', 'p', 'stays')");
is_state($session, "lost$_", 'created confirmed create confirmed',
	"claimed again, its event is adopted ($_)")
  foreach 1 .. $more;
is_state($session, 'moved', 'created confirmed update confirmed', 'a reschedule too');
is_state($session, 'stays', 'canceled confirmed cancel confirmed', 'and a cancel');

# With other values it is somebody else's decision: nothing is overwritten.
my $other = events()->{'lost-other'};
claim($session, 'lost-other', 16, titled('lost-other'));
is_state($session, 'lost-other',
	'unknown needs_operator create parked event_changed',
	'claimed again with other values, it waits for a person');
is(events()->{'lost-other'}, $other, 'and the event stays as it is');
my %expected = (
	settled => '20300501T100000Z',
	sending => '20300501T100000Z',
	moved => '20300501T140000Z',
	'lost-other' => '20300501T100000Z',
	map { ("waiting$_" => '20300501T100000Z', "lost$_" => '20300501T100000Z') } 1 .. $more);
is_deeply(events(), \%expected, 'each booking has one event');
is_clean($session, 'promoted');

#
# The old primary comes back
#
my $writes = writes();
$primary->start;
my $old = session($primary);
wait_until(
	'it has settled what it knew',
	sub {
		Booking::Caldav::later($primary, $old);
		return $old->query(
			"SELECT count(*) FROM booking.operation WHERE state NOT IN ('confirmed', 'rejected', 'dropped', 'parked')"
		) == 0;
	});
is_deeply(events(), \%expected, 'the old primary doubles nothing');
is(writes() - $writes, 0, 'it found all that it had sent');
claim($old, 'both', 10, titled('both'));
claim($session, 'both', 10, titled('both'));
is_state($_, 'both', 'created confirmed create confirmed', 'the same claim on both servers')
  foreach $old, $session;
is(events()->{both}, '20300501T100000Z', 'is one event');
is($old->query("SELECT event_id FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'both'"),
	$session->query("SELECT event_id FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'both'"),
	'under one id');

# The new primary goes on undisturbed.
claim($session, 'later', 10, titled('later'));
is_state($session, 'later', 'created confirmed create confirmed', 'the new primary works on');
is_clean($session, 'at the end');
is_clean($old, 'at the end, on the old one');
$old->quit;
$session->quit;
$primary->stop;
$standby->stop;

done_testing();

# test/t/149_race.pl
#
# Claims that race a foreign event on its way into the calendar: somebody puts it
# there, or moves it there, or makes a series that comes there, before, while and
# after the same time is claimed, read, checked and written, with readings and
# writes held up on their way and workers that die.  Either the claim sees the
# event, or the look before the write does, or, if it came between that look and
# the write, there is a conflict on record.  Whatever was in the calendar before
# the claim was made must have been seen: there is no record that makes up for it.

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

my $waves = size(4, 40);
my $hours = 24;

seed(149);
my ($node, $session) = provider_node('main', conf => "booking.sync_future = 3650d\n");
my @callers = map { session($node) } 1 .. 4;
my ($server, $proxy, $kind, $path);
my %ends;
my $foreign = 0;
my %deaths;

# An object with one event at an hour of a day of 2030.
sub object
{
	my ($uid, $date, $hour, @more) = @_;

	return join("\r\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT', "UID:$uid",
		'DTSTAMP:20300101T000000Z', sprintf("DTSTART:${date}T%02d0000Z", $hour),
		sprintf("DTEND:${date}T%02d3000Z", $hour), @more, 'END:VEVENT', 'END:VCALENDAR', '');
}

sub put
{
	my ($name, $body) = @_;

	$server->demand('PUT', "$path$name.ics", body => $body,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' });
	return;
}

# Ways for somebody to come to an hour; what is prepared before the wave, and what
# is done in it.  The last two do not take the time.
my %ways = (
	put => [ undef, sub { put($_[0], object(@_)) } ],
	move => [
		sub { put($_[0], object($_[0], '20310101', $_[2])) },
		sub { put($_[0], object(@_, 'SEQUENCE:1')) }
	],
	occupy => [
		sub { put($_[0], object(@_, 'TRANSP:TRANSPARENT')) },
		sub { put($_[0], object(@_)) }
	],
	series => [
		sub { put($_[0], object($_[0], '20300301', $_[2])) },
		sub { put($_[0], object($_[0], '20300301', $_[2], 'RRULE:FREQ=YEARLY;COUNT=1', sprintf("RDATE:$_[1]T%02d0000Z", $_[2]))) }
	],
	transparent => [ undef, sub { put($_[0], object(@_, 'TRANSP:TRANSPARENT')) } ],
	leave => [
		sub { put($_[0], object(@_)) },
		sub { $server->demand('DELETE', "$path$_[0].ics") }
	]);
my %takes = map { $_ => 1 } qw(put move occupy series);

# What a server does to requests on their way.
my @faults = (
	[ 'REPORT', 'hold' ], [ 'REPORT', 'hold_after' ], [ 'create', 'hold' ],
	[ 'create', 'hold' ], [ 'create', 'hold_after' ]);

sub hold_up
{
	my ($method, $fault) = @{ $faults[ rand(@faults) ] };

	$proxy->break($method, $path, $fault);
	return;
}

sub kill_worker
{
	$session->query(
		"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = 'booking worker'");
	$deaths{$kind}++;
	return;
}

# One day, an hour after the other, all at once.
sub wave
{
	my ($wave) = @_;
	my $date = sprintf('2030%02d%02d', 4 + int($wave / 28), 1 + $wave % 28);
	my (%way, %before, @steps);
	my @names = sort keys %ways;

	foreach my $hour (0 .. $hours - 1)
	{
		my $name = "$kind-$wave-$hour";
		my $way = $way{$hour} = $names[ rand(@names) ];
		my $time = sprintf('%s %02d:00+00', $date, $hour);
		my $come = sub { $ways{$way}[1]->($name, $date, $hour); $before{$hour} //= 1; };
		my $claim = sub {
			$before{$hour} //= 0;
			$callers[ $hour % @callers ]->send(
				"SELECT booking_claim('t', 'p', '$name', '$kind', tstzrange('$time', timestamptz '$time' + interval '30 min'))");
		};
		my @own = rand() < 0.5 ? ($come, $claim) : ($claim, $come);

		splice(@own, rand(3), 0, sub { $session->query("SELECT booking_sync('t', '$kind')") }) if rand() < 0.3;
		$ways{$way}[0]->($name, $date, $hour) if $ways{$way}[0];
		push @steps, \@own;
	}
	is($session->query("CALL booking_sync_wait('t', '$kind')") =~ /"problem": null/, 1, "$kind: wave $wave: known before");

	# the hours are mixed, the steps of an hour stay in order
	while (my @open = grep { @$_ } @steps)
	{
		my $own = $open[ rand(@open) ];

		hold_up() if rand() < 0.06;
		shift(@$own)->();
		$session->query('SELECT 1') for 1 .. rand(30);
		$proxy->clear if rand() < 0.1;
		kill_worker() if rand() < 0.01;
	}
	$proxy->clear;
	foreach my $hour (0 .. $hours - 1)
	{
		my $result = $callers[ $hour % @callers ]->receive;
		is($result->{error}{text}, undef, "$kind: a claim of wave $wave") if $result->{error};
	}
	settle($node, $session);
	is($session->query("CALL booking_sync_wait('t', '$kind')") =~ /"problem": null/, 1, "$kind: wave $wave: read at the end");
	judge($wave, \%way, \%before);
	return;
}

# What became of the hours of a wave.
sub judge
{
	my ($wave, $way, $before) = @_;
	my @wrong;
	my %ours;
	my $events = $server->list($path);
	my $result = $session->try(<<"EOQ");
SELECT i.intent, i.state, o.event_id,
	(SELECT count(*) FROM booking.conflict k WHERE k.intent_id = i.intent_id AND k.kind = 'overlap' AND k.resolved_at IS NULL)
  FROM booking.intent i LEFT JOIN booking.operation o USING (intent_id) WHERE i.intent LIKE '$kind-$wave-%'
EOQ
	my %allowed = (
		1 => { 'created 1' => 1, 'needs_proposal 0' => 1, 'conflict 0' => 1 },
		0 => { 'created 0' => 1, 'needs_proposal 0' => 1, 'conflict 0' => 1 });

	is(scalar @{ $result->{rows} }, $hours, "$kind: wave $wave: every claim is on record");
	foreach my $row (@{ $result->{rows} })
	{
		my ($intent, $state, $id, $record) = @$row;
		my ($hour) = $intent =~ /(\d+)\z/;
		my $taken = $takes{ $way->{$hour} } // 0;
		my $name = "$way->{$hour}, " . ($before->{$hour} ? 'before' : 'after') . ": $state $record";

		# a time that nobody takes is refused only to whoever came before it was left
		push @wrong, "$hour: $name" unless $allowed{$taken}{"$state $record"};
		push @wrong, "$hour: $name" if $way->{$hour} eq 'transparent' && $state ne 'created';
		push @wrong, "$hour: $name" if $before->{$hour} && $taken && $state eq 'created';

		# the create of a worker that died may come late, and is on record then
		push @wrong, "$hour: $name: events"
		  if ($state eq 'created') != (defined $id && exists $events->{$id}) && !($state eq 'needs_proposal' && orphans($intent));
		$ends{$kind}{ ($taken ? 'taken' : 'free') . " $state $record" }++;
		$foreign++;
	}
	ok(!@wrong, "$kind: wave $wave: each is what it may be") or diag(join("\n", @wrong));
	return;
}

# The create of a worker that died arrives when the next one has found that there
# is no event, and that the time is taken: nobody can prevent that, so it is on
# record.
sub late_create
{
	my $name = "$kind-late";
	my $held = sub { $proxy->log(sub { $_[0]{kind} eq 'create' && ($_[0]{fault} // '') eq 'hold' && !$_[0]{passed} }) };

	$proxy->break('create', $path, 'hold');
	$session->query(
		"SELECT booking_claim('t', 'p', '$name', '$kind', '[2030-03-01 10:00+00, 2030-03-01 10:30+00)')");
	wait_until('the create is held', sub { $held->() });
	kill_worker();
	put("$name-other", object("$name-other", '20300301', 10));
	settle($node, $session);
	like(Booking::Caldav::state($session, $name), qr/^needs_proposal /, "$kind: the time is taken, and there is no event");
	is(orphans($name), 0, "$kind: so there is no orphan");
	$proxy->clear;
	wait_until('the create has arrived', sub { !$held->() });
	$session->query("CALL booking_sync_wait('t', '$kind')");
	is(orphans($name), 1, "$kind: a create that comes late is on record");
	return;
}

# The same, but it arrives between the look for the event and the reading of the
# calendar, which therefore shows it while it is wanted; by what else that shows it
# is wanted no more.  Nothing changes it again, so what was seen must be recalled.
sub seen_create
{
	my $name = "$kind-seen";
	my $held = sub {
		my ($of) = @_;
		return scalar $proxy->log(
			sub { $_[0]{kind} eq $of && $_[0]{path} =~ /^\Q$path/ && ($_[0]{fault} // '') eq 'hold' && !$_[0]{passed} });
	};

	$proxy->break('create', $path, 'hold');
	$session->query(
		"SELECT booking_claim('t', 'p', '$name', '$kind', '[2030-03-02 10:00+00, 2030-03-02 10:30+00)')");
	wait_until('the create is held', sub { $held->('create') });
	$proxy->break('REPORT', $path, 'hold', 1000);
	kill_worker();
	wait_until(
		'the calendar is to be read for it',
		sub {
			return Booking::Caldav::state($session, $name) =~ /checking/ && $held->('REPORT');
		});
	$proxy->release('create');
	wait_until('the create has arrived', sub { !$held->('create') });
	put("$name-other", object("$name-other", '20300302', 10));
	$proxy->clear;
	settle($node, $session);
	like(Booking::Caldav::state($session, $name), qr/^needs_proposal /, "$kind: the time is taken by another event as well");
	$session->query("CALL booking_sync_wait('t', '$kind')");
	is(orphans($name), 1, "$kind: a create that came while its event was wanted is on record");
	return;
}

# Open records of an event that is there without its booking.
sub orphans
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT count(*) FROM booking.conflict k JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' AND k.kind = 'orphan' AND k.resolved_at IS NULL
EOQ
}

foreach my $name (qw(radicale xandikos))
{
	$kind = $name;
	$path = "/user/$kind/";
	$server = Booking::Caldav->new($kind);
	$proxy = Booking::FaultProxy->new($server);
	attach($session, $server, $proxy->url, $kind, $kind);
	$session->query("SELECT booking_resource_put('t', '$kind', 1)");
	late_create();
	seen_create();
	wave($_) foreach 0 .. $waves - 1;
	note(join(', ', map { "$ends{$kind}{$_} $_" } sort keys %{ $ends{$kind} }));
	cmp_ok($ends{$kind}{$_} // 0, '>', 0, "$kind: some are $_")
	  foreach 'taken created 1', 'taken needs_proposal 0', 'free created 0';
	is_clean($session, $kind);
	$_->stop foreach $proxy, $server;
}
figure('claims that raced a foreign event', $foreign);
figure("workers that died ($_)", $deaths{$_} // 0) foreach sort keys %ends;
$_->quit foreach @callers;
$node->stop;
done_testing();

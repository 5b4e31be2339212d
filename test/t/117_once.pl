# test/t/117_once.pl
#
# A write is sent once, and looked up where it was sent.
#
# Writes use connections that reads have left open, and a server may close such a
# connection when it has read the request: libcurl would send it again by itself.
# It must arrive once, count as unknown, and be looked up, whether the server did
# it or not.
#
# An account may be pointed elsewhere at any moment.  What is leased just then is
# either known as sent to where it was, and then the account stays there until it
# is settled; or it goes to the new place.
#
# Proves R31 (an uncertain write is looked up, never repeated by itself).

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

my ($node, $session) = provider_node('main', init => { allows_streaming => 1 });
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my $other = Booking::FaultProxy->new($server);

$session->query('SET synchronous_commit = local');

sub claim
{
	my ($intent, $room, $hour, $more) = @_;

	$session->query("SELECT booking_claim('t', 'p', '$intent', '$room',"
		  . " '[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)'"
		  . ($more // '') . ')');
	return;
}

# What came of the tries of an intent's newest operation.
sub marks
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT string_agg(a.phase || ' ' || a.mark, ', ' ORDER BY a.attempt_id)
  FROM booking.attempt a
 WHERE a.mark <> 'begun' AND a.operation_id =
	(SELECT max(o.operation_id) FROM booking.operation o
	   JOIN booking.intent i USING (intent_id) WHERE i.intent = '$intent')
EOQ
}

# Requests of a kind for a calendar that have come to a proxy.
sub requests
{
	my ($at, $kind, $room) = @_;
	return $at->log(sub { $_[0]{kind} eq $kind && $_[0]{path} =~ m{^/user/\Q$room\E/} });
}

#
# Connections that are closed when the request was read
#
my %done = (
	create => 'created confirmed create confirmed',
	update => 'created confirmed update confirmed',
	DELETE => 'canceled confirmed cancel confirmed');

foreach my $fault (qw(close reset close_after reset_after))
{
	my $after = $fault =~ /_after$/;

	attach($session, $server, $proxy->url, $fault, $fault);
	claim("$fault-old", $fault, 10);
	claim("$fault-cancel", $fault, 12);
	settle($node, $session);
	foreach my $kind (qw(create update DELETE))
	{
		my $name = "$kind, $fault";
		my $intent = "$fault-" . ($kind eq 'DELETE' ? 'cancel' : $kind);
		my $before = scalar requests($proxy, $kind, $fault);

		# a read leaves a connection open
		$session->query("CALL booking_account_check('t', '$fault')");
		$proxy->break($kind, "/user/$fault/", $fault);
		$kind eq 'create' ? claim($intent, $fault, 14) :
		  $kind eq 'update' ? claim($intent, $fault, 16, ", supersedes => '$fault-old'") :
		  $session->query("SELECT booking_cancel('t', 'p', '$intent')");
		settle($node, $session);

		my @all = $proxy->log;
		my @requests = requests($proxy, $kind, $fault);
		splice(@requests, 0, $before);
		is(scalar(grep { ($_->{fault} // '') eq $fault } @requests),
			1, "$name: the request that got no answer arrived once");
		is(scalar @requests, $after ? 1 : 2,
			"$name: what the server did is not sent again, what it did not is");
		my ($broken) = grep { ($_->{fault} // '') eq $fault } @requests;
		ok( (grep { $_->{connection} == $broken->{connection} && $_->{answered} } @all),
			"$name: it came on a connection that had been used before");
		like(marks($intent),
			$after ? qr/^send unknown, lookup \w+$/ : qr/^send unknown, lookup \w+, send done$/,
			"$name: it was unknown, and looked up");
		is(Booking::Caldav::state($session, $intent), $done{$kind}, "$name: and is settled");
	}
	is_deeply(
		[ sort map { $_->{start} } values %{ $server->list("/user/$fault/") } ],
		[qw(20300501T140000Z 20300501T160000Z)],
		"$fault: each booking that stands has one event");
	is_clean($session, $fault);
}

#
# An account that is pointed elsewhere while a lease is being committed.  That
# commit is held up by a standby that never answers.
#
foreach my $room (qw(moving staying))
{
	attach($session, $server, $proxy->url, $room, $room);
	$session->query(
		"SELECT booking_account_put('t', '$room', 'caldav', settings => '{\"busy_blocks\": \"none\"}')"
	);
	claim("$room-first", $room, 8);
}
settle($node, $session);
$session->query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
$session->query('SELECT pg_reload_conf()');
wait_until('commits wait for a standby', sub { $session->query('SHOW synchronous_standby_names') eq 'nobody' });
$proxy->break('create', '/user/moving/', 'reset_after');
claim('leased', 'moving', 10);
wait_until(
	'the lease is being committed',
	sub {
		$session->query(
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'booking worker' AND wait_event = 'SyncRep'"
		) == 1;
	});
is(Booking::Caldav::state($session, 'leased'), 'approved not_attempted create waiting',
	'nobody sees it yet');
my $url = $other->url;
$session->query("SET lock_timeout = '1s'");
fails_with($session, "SELECT booking_account_put('t', 'moving', 'caldav', '$url')", '55P03',
	'pointing the account elsewhere waits for it');
fails_with($session, "SELECT booking_calendar_put('t', 'moving', 'moving', '/user/staying/', 'moving')",
	'55P03', 'so does pointing its calendar elsewhere');
is(scalar requests($proxy, 'create', 'moving'), 1, 'nothing is sent before the commit');
$session->query('RESET lock_timeout');
$session->query('ALTER SYSTEM RESET synchronous_standby_names');
$session->query('SELECT pg_reload_conf()');
settle($node, $session);
is(Booking::Caldav::state($session, 'leased'), 'created confirmed create confirmed',
	'it is looked up where it was sent');
is(marks('leased'), 'send unknown, lookup equal', 'after its answer was lost');
is(scalar requests($proxy, 'create', 'moving'), 2, 'and not sent again');
is(scalar $other->log, 0, 'nothing is asked elsewhere');

# The other way round: the account is on its way, and nobody sees it yet.
my $mover = session($node);
$mover->query('BEGIN');
$mover->query('SET LOCAL client_min_messages = error');
$mover->query("SELECT booking_account_put('t', 'moving', 'caldav', '$url')");
sign_in($mover, $server, 'moving');
$session->query(<<'EOQ');
SELECT count(booking_claim('t', 'p', 'many' || i, 'moving', '[2030-05-01 14:00+00, 2030-05-01 14:30+00)'))
  FROM generate_series(1, 70) i
EOQ
claim('meanwhile', 'moving', 12);
claim('witness', 'staying', 12);
is(wait_state($session, 'witness', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'others are served meanwhile, however much is due there');
is(Booking::Caldav::state($session, 'meanwhile'), 'approved not_attempted create waiting',
	'what is to go there waits');
$mover->query('COMMIT');
is(wait_state($session, 'meanwhile', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'until it is known where');
is(scalar requests($proxy, 'create', 'moving'), 2, 'it does not go to the old place');
settle($node, $session);
is(scalar requests($other, 'create', 'moving'), 71, 'but to the new one, as all that waited');
is_clean($session, 'at the end');

$mover->quit;
$session->quit;
$node->stop;
$_->stop foreach $proxy, $other, $server;

done_testing();

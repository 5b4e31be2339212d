# test/t/162_webhook_locks.pl
#
# What others hold does not cost a delivery.  One about a room that somebody books
# in a transaction that does not end is stored and answered in time, and applied
# when the room is free; some senders never come again.  While signatures are
# verified nothing is locked, and deliveries that are refused wait for nobody's
# booking.  Bookings that deliveries move from room to room, and claims of both
# rooms at once, never wait for each other in a circle.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use Digest::SHA 'hmac_sha256_hex';
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main',
	conf => "shared_preload_libraries = 'booking'\nbooking.poll_interval = 1\ndeadlock_timeout = 100ms\nlog_lock_waits = on\n");
my $session = session($node);
my $holder = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_permit_all('t', 'ann')");
$session->query("SELECT booking_resource_put('t', r) FROM unnest(ARRAY['room', 'desk']) r");
$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom')");
$session->query("SELECT booking_webhook_secret_put('cal', 'key of cal')");
$session->query("SELECT booking_webhook_map('cal', r, r) FROM unnest(ARRAY['room', 'desk']) r");

# The status of a delivery that books a room at nine.
sub deliver
{
	my ($daemon, $uid, $room, $key) = @_;
	my $body =
		qq({"triggerEvent": "BOOKING_CREATED", "createdAt": "2029-01-01T00:00:00Z", "payload": )
	  . qq({"uid": "$uid", "type": "$room", "startTime": "2030-01-01T09:00:00Z", "endTime": "2030-01-01T10:00:00Z"}});

	return $daemon->post('/webhooks/cal', $body,
		'X-Cal-Signature-256: ' . hmac_sha256_hex($body, $key // 'key of cal'))->{status};
}

sub row
{
	my ($uid) = @_;
	return $session->query("SELECT concat_ws(' ', state, reason) FROM booking.inbox WHERE booking = '$uid'");
}

my $daemon = Booking::Daemon->start($node, args => ['--answer-timeout=2']);

$holder->query('BEGIN');
$holder->query("SELECT FROM booking_claim('t', 'ann', 'mine', 'room', tstzrange('2030-01-01 09:00+00', '2030-01-01 10:00+00'))");
is(deliver($daemon, 'late', 'room'), 200, 'a delivery about a room that is held is answered');
is(row('late'), 'failed sqlstate_55P03', 'stored');
is(deliver($daemon, 'other', 'desk'), 200, 'one about another room');
is(row('other'), 'applied', 'is applied');
is(deliver($daemon, 'forged', 'room', 'a guess'), 401, 'one that is refused waits for nobody');
$holder->query('ROLLBACK');
wait_until('the worker has applied it', sub { row('late') eq 'applied' });
is_row($session, "SELECT state FROM booking.intent WHERE principal = 'cal' AND intent = 'late'",
	['committed'], 'and it is applied when the room is free');

# Verifying and refusing hold nothing that a booking needs.
$holder->query('BEGIN');
$holder->query("SELECT FROM booking_webhook_receive('cal', '{}', 'x')");
is(deliver($daemon, 'beside', 'desk'), 200, 'a delivery beside one that is being refused');
is(row('beside'), 'applied resource_conflict', 'is applied');
$holder->query('ROLLBACK');

# What bookingd hands over is in no log.
unlike(slurp_file($node->logfile), qr/BOOKING_CREATED|startTime|key of cal/, 'the server\'s log has nothing of bodies');

# ----------------------------------------------------------------------------
# Moves between two rooms against claims of both
# ----------------------------------------------------------------------------

# The call that delivers what happened to a booking, in a version.
sub call
{
	my ($what, $uid, $version, $room) = @_;
	my $body =
		qq({"triggerEvent": "BOOKING_$what", "createdAt": "2029-01-01T00:00:0${version}Z", "payload": )
	  . qq({"uid": "$uid", "type": "$room", "startTime": "2030-01-02T09:00:00Z", "endTime": "2030-01-02T10:00:00Z"}});

	return sprintf(
		"SELECT status FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to('%s', 'UTF8'))",
		hmac_sha256_hex($body, 'key of cal'), $body);
}

my @sessions = map { session($node) } 1 .. 4;
my $rounds = size(50, 1000);
my $sent = 0;

for my $n (1 .. $rounds)
{
	for my $s (0, 1)
	{
		my @rooms = $s ? qw(room desk) : qw(desk room);

		$sessions[$s]->send($_)
		  for call('CREATED', "move $s $n", 1, $rooms[0]), call('RESCHEDULED', "move $s $n", 2, $rooms[1]),
		  call('CANCELLED', "move $s $n", 3, $rooms[1]);
	}
	for my $s (2, 3)
	{
		my $rooms = $s == 2 ? '{room,desk}' : '{desk,room}';

		$sessions[$s]->send($_)
		  for
		  "SELECT 200 FROM booking_claim_all('t', 'ann', 'both $s $n', '$rooms', tstzrange('2030-01-02 09:00+00', '2030-01-02 10:00+00'))",
		  "SELECT 200 FROM booking_cancel('t', 'ann', 'both $s $n')",
		  "SELECT 200 FROM booking_claim('t', 'ann', 'one $s $n', 'room', tstzrange('2030-01-03 09:00+00', '2030-01-03 10:00+00'))";
	}
	$sent += 3;
}
my %answers;
for my $n (1 .. $sent)
{
	for my $each (@sessions)
	{
		my $result = $each->receive;
		$answers{ $result->{error} ? $result->{error}{text} : $result->{rows}[0][0] }++;
	}
}
is_deeply(\%answers, { 200 => 4 * $sent }, 'every delivery and claim is answered');
is_row($session, "SELECT count(*) FILTER (WHERE state = 'failed'), count(*) FROM booking.inbox WHERE booking LIKE 'move %'",
	[ 0, 6 * $rounds ], 'every delivery is applied');
is_row($session, "SELECT count(*) FROM booking.intent WHERE principal = 'cal' AND intent LIKE 'move %' AND state <> 'canceled'",
	[0], 'and every booking of them has ended');
$_->quit for @sessions;

is($daemon->stop, 0, 'bookingd ends');
unlike(slurp_file($node->logfile), qr/deadlock/, 'nobody waited in a circle');
unlike($daemon->log, qr/BOOKING_CREATED|startTime|key of cal/, 'nor has that of bookingd');
is_clean($session, 'after all');

done_testing();

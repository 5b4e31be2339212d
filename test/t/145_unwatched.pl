# test/t/145_unwatched.pl
#
# Synchronization runs when nobody looks.  A worker that is killed between two
# batches of what others did, or told to pause there, has neither lost nor done
# anything twice; an object that cannot be read is recorded as such and stops
# nothing else; and what waits for a calendar that cannot be read, or for an
# account that is parked, is seen by whoever looks, and goes on by itself when
# that is repaired.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# more than one transaction takes
my $bookings = 70;

# after so many questions the next one is held: in the second batch
my $answered = 60;

my ($node, $session) =
  provider_node('main', conf => "booking.sync_future = '3650d'\nrestart_after_crash = on\n");
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my $created = 'created confirmed create confirmed';

sub sync
{
	my ($calendar) = @_;
	return decode_json($session->query("CALL booking_sync_wait('t', '$calendar')"))->{problem};
}

sub claim
{
	my ($intent, $calendar, $day) = @_;
	return $session->query(
		sprintf(
			"SELECT disposition FROM booking_claim('t', 'p', '%s', '%s', '[2030-05-%02d 09:00+00, 2030-05-%02d 10:00+00)',"
			  . " terms => '{\"event\": {\"summary\": \"x\"}}')",
			$intent, $calendar, $day, $day));
}

sub count
{
	my ($prefix, $state) = @_;
	return $session->query("SELECT count(*) FROM booking.intent WHERE intent LIKE '$prefix-%' AND state = '$state'");
}

sub worker
{
	return $session->query("SELECT pid FROM pg_stat_activity WHERE application_name = 'booking worker'");
}

sub set_worker
{
	my ($value, $state) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("the worker is $state",
		sub { $session->query("SELECT state = 'paused' FROM booking_worker_status()") eq ($state eq 'paused' ? 't' : 'f') });
	return;
}

# Requests that were held, and are.
sub held
{
	return scalar $proxy->log(sub { ($_[0]{fault} // '') eq 'hold' });
}

attach($session, $server, $proxy->url, 'main', 'room', 'other');
$session->query("SELECT booking_consumer_put('t', 'reader')");

#
# Stopped between two batches
#
foreach (
	[
		'kill',
		sub {
			kill('KILL', worker()) or die 'no worker';
			wait_until('the server notices', sub { $session->sqlstate('SELECT 1') ne '00000' });
			$session = undef;
			wait_until(
				'the server is back',
				sub {
					$session = eval { session($node) };
					return $session && $session->sqlstate('SET client_min_messages = error') eq '00000';
				});
		}
	],
	[
		'terminate',
		sub { $session->query("SELECT pg_terminate_backend(${\worker()}, 60000)") }
	],
	[
		'pause',
		sub {
			set_worker('off', 'paused');
			$proxy->clear;
			is(count('pause', 'created'), $bookings - 50, 'pause: nothing is judged meanwhile');
			set_worker('on', 'working');
		}
	])
{
	my ($way, $stop) = @$_;

	$session->query("SELECT booking_claim('t', 'p', '$way-' || n, 'room', '[2030-05-01 09:00+00, 2030-05-01 10:00+00)') FROM generate_series(1, $bookings) n");
	wait_until("$way: all are written", sub { count($way, 'created') == $bookings });
	is(sync('room'), undef, "$way: the calendar is read");
	$server->demand('DELETE', $_->{href}) foreach values %{ $server->list('/user/room/') };

	my $before = held();
	$proxy->break('GET', '/user/room/', 'interim', $answered);
	$proxy->break('GET', '/user/room/', 'hold');
	$session->query("SELECT booking_sync('t', 'room')");
	wait_until("$way: a question of the second batch is held", sub { held() > $before });
	is(count($way, 'canceled'), 50, "$way: the first batch is judged");
	$stop->();
	$proxy->clear;
	is(sync('room'), undef, "$way: the calendar is read again");
	is(count($way, 'canceled'), $bookings, "$way: all of them are judged");
	is($session->query('SELECT count(*) FROM booking.reservation'), '0', "$way: nothing is held");
	is( $session->query(
			"SELECT count(*) || ' ' || count(DISTINCT intent) FROM booking_changes('t', 'reader', 1000) WHERE intent LIKE '$way-%' AND state = 'canceled'"
		),
		"$bookings $bookings",
		"$way: each was told once");
	$session->query("SELECT booking_consumer_ack('t', 'reader', (SELECT max(position) FROM booking_changes('t', 'reader', 1000)))");
}

#
# Objects that cannot be read
#
is(claim("bad-$_", 'room', $_), 'committed', "bad-$_ is booked") foreach 1 .. 3;
is(wait_state($session, "bad-$_", $created), $created, "bad-$_ is written") foreach 1 .. 3;
sync('room');
my ($bad, $moved, $gone) = map {
	$session->query("SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'bad-$_'")
} 1 .. 3;
# a date that lasts for hours
$server->edit($bad, sub { s/^DTSTART[^\r\n]*/DTSTART;VALUE=DATE:20300501/m; s/^DTEND[^\r\n]*/DURATION:PT1H/m });
$server->edit($moved, sub { s/20300502T/20300512T/g });
$server->demand('DELETE', $gone);
is(sync('room'), undef, 'bad: the round is complete');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'bad-1'"), 'created', 'bad: its booking stands');
is( $session->query("SELECT problem IS NOT NULL FROM booking.event WHERE object = '$bad'"),
	't', 'bad: it is recorded as such');
is( $session->query("SELECT lower(during) = '2030-05-12 09:00+00' FROM booking_list('t', 'p') WHERE intent = 'bad-2'"),
	't', 'bad: the one beside it is followed');
is_row(
	$session,
	"SELECT detail -> 'moved_to' ->> 'start' FROM booking_status('t', 'p', 'bad-2')",
	['2030-05-12T09:00:00+00:00'],
	'bad: its status says where it is');
is( $session->query(
		"SELECT string_agg(intent, ' ') FROM booking_list('t', 'p', within => '[2030-05-12 00:00+00, 2030-05-13 00:00+00)')"),
	'bad-2', 'bad: and a list of that day has it');
is( $session->query(
		"SELECT count(*) FROM booking_list('t', 'p', within => '[2030-05-02 00:00+00, 2030-05-03 00:00+00)')"),
	'0', 'bad: but not one of the day that it left');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'bad-3'"), 'canceled', 'bad: the other one is canceled');

#
# A calendar that cannot be read
#
sub waiting
{
	my ($intent) = @_;
	return $session->query(
		"SELECT concat_ws(' ', operation_state, problem, message, array_to_string(calls, '; ')) FROM booking.recovery WHERE intent = '$intent'");
}

$proxy->break('REPORT,PROPFIND', '/user/other/', 'forbidden', 1000);
is(claim('unread', 'other', 1), 'committed', 'unread: booked');
my $unread = 'approved not_attempted create waiting calendar_unread';
is(wait_state($session, 'unread', $unread), $unread, 'unread: it waits');
is( waiting('unread'),
	"waiting calendar_unread calendar other: forbidden SELECT booking_sync('t', 'other'); SELECT booking_cancel('t', 'p', 'unread')",
	'unread: booking.recovery says why, and what may be done');
is_row(
	$session,
	"SELECT disposition, state, detail -> 'waits' ->> 'problem', detail -> 'waits' ->> 'message', detail -> 'waits' ? 'next_at' FROM booking_status('t', 'p', 'unread')",
	[ 'historical_retry', 'approved', 'calendar_unread', 'calendar other: forbidden', 't' ],
	'unread: so does its status');
like($session->query('SELECT reason FROM booking_worker_status()'),
	qr/^1 operations wait for a calendar or an account that cannot be used; see booking\.recovery$/,
	'unread: and that of the worker');

# whoever asks is not a reason to ask the provider each time
my $deadline = 0;
while ($session->query("SELECT failures FROM booking.cursor JOIN booking.calendar USING (calendar_id) WHERE calendar = 'other'") < 6)
{
	die 'no failures' if ++$deadline > 20;
	Booking::Caldav::later($node, $session);
	ok(sync('other'), 'unread: it fails again');
}
my $requests = sub { scalar $proxy->log(sub { $_[0]{path} =~ m{^/user/other/} }) };
my $before = $requests->();
foreach (1 .. 20)
{
	$session->query("SELECT booking_sync('t', 'other')");
	sync('room');
}
cmp_ok($requests->() - $before, '<=', 2, 'unread: it is not asked each time');

# repaired: the booking goes on with the reading, not at its own time
$session->query("UPDATE booking.operation SET next_at = next_at + interval '1 day' WHERE state = 'waiting'");
$proxy->clear;
$session->query(
	"SELECT booking_credential_put('t', 'main', '{\"type\": \"basic\", \"username\": \"$server->{user}\", \"password\": \"$server->{password}\"}')"
);
is(sync('other'), undef, 'repaired: it is read');
is(wait_state($session, 'unread', $created), $created, 'repaired: and the booking written');
is(waiting('unread'), '', 'repaired: nothing is left to recover');
is_row($session, "SELECT detail ? 'waits' FROM booking_status('t', 'p', 'unread')", ['f'], 'repaired: nor does it wait');
is($session->query('SELECT reason FROM booking_worker_status()'), '\N', 'repaired: nor is there anything to say of the worker');

#
# An account that is parked
#
$session->query(
	"SELECT booking_credential_put('t', 'main', '{\"type\": \"basic\", \"username\": \"$server->{user}\", \"password\": \"wrong\"}')"
);
$session->try("SELECT booking_sync('t', 'other')");
wait_until('the server has refused the account',
	sub { $session->query("SELECT parked FROM booking.account WHERE account = 'main'") eq 't' });
is(claim('parked', 'other', 2), 'committed', 'parked: booked');
is( waiting('parked'),
	"waiting account_parked account main: auth_refused SELECT booking_credential_put('t', 'main', :'credential'); SELECT booking_cancel('t', 'p', 'parked')",
	'parked: booking.recovery says why, and what may be done');
is_row(
	$session,
	"SELECT detail -> 'waits' ->> 'problem' FROM booking_status('t', 'p', 'parked')",
	['account_parked'],
	'parked: so does its status');
like($session->query('SELECT reason FROM booking_worker_status()'), qr/^1 operations wait/, 'parked: and that of the worker');
$session->query(
	"SELECT booking_credential_put('t', 'main', '{\"type\": \"basic\", \"username\": \"$server->{user}\", \"password\": \"$server->{password}\"}')"
);
is(wait_state($session, 'parked', $created), $created, 'parked: it goes on when the credential is right');
is(waiting('parked'), '', 'parked: nothing is left to recover');

#
# Others change who is on an event: whoever moves it must have known
#
my $people = 'created confirmed update confirmed';

# A claim, proposal or the like of a day with people, that supersedes another.
sub people
{
	my ($function, $intent, $day, $supersedes) = @_;

	return $session->query(
		sprintf(
			"SELECT disposition FROM %s('t', 'p', '%s', 'room', '[2030-06-%02d 09:00+00, 2030-06-%02d 10:00+00)',"
			  . " terms => '{\"event\": {\"summary\": \"x\", \"attendees\": [{\"email\": \"ann\@example.org\"}, {\"email\": \"bob\@example.org\"}]}}'%s)",
			$function, $intent, $day, $day, $supersedes ? ", supersedes => '$supersedes'" : ''));
}

# Start and people of the event, as the server has it.
sub on_event
{
	my ($href) = @_;
	my $body = $server->demand('GET', $href)->{content} =~ s/\r?\n[ \t]//gr;
	my ($start) = $body =~ /^DTSTART[^:]*:(\d+)/m;

	return join(' ', $start, sort map { lc } $body =~ /^ATTENDEE[^\r\n]*mailto:([^\@\r\n]+)/gim);
}

is(people('booking_claim', 'people-1', 1), 'committed', 'people: booked');
is(wait_state($session, 'people-1', $created), $created, 'people: written');
my $event = $session->query("SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'people-1'");
is(on_event($event), '20300601 ann bob', 'people: two of them');
sync('room');

# an answer changes nobody
$server->edit($event, sub { s/(ATTENDEE[^:]*):mailto:ann/$1;PARTSTAT=ACCEPTED:mailto:ann/i });
is(people('booking_claim', 'people-2', 2, 'people-1'), 'committed', 'people: moved after an answer');
is(wait_state($session, 'people-2', $people), $people, 'people: that is no reason to ask again');

# somebody is invited between the decision and the write
$server->edit($event, sub { s/^(ATTENDEE[^:]*:mailto:)ann(.*)$/$1ann$2\r\n${1}eve$2/im });
is(on_event($event), '20300602 ann bob eve', 'people: somebody invited a third one');
is(people('booking_claim', 'people-3', 3, 'people-2'), 'committed', 'people: moved by somebody who does not know');
my $again = 'needs_proposal not_attempted update dropped attendees_changed';
is(wait_state($session, 'people-3', $again), $again, 'people: that is to be decided again');
is_row(
	$session,
	"SELECT detail ->> 'reason', detail ->> 'calendar' FROM booking_status('t', 'p', 'people-3')",
	[ 'attendees_changed', 'room' ],
	'people: for that reason');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'people-2'"), 'created', 'people: the earlier booking stands');
is(on_event($event), '20300602 ann bob eve', 'people: and its event');

# decided again by somebody who can know
is(people('booking_propose', 'people-3', 13, 'people-2'), 'proposed', 'people: another day is proposed');
is($session->query("SELECT disposition FROM booking_approve('t', 'p', 'p', 'people-3', 2)"), 'committed', 'people: and approved');
is(wait_state($session, 'people-3', $people), $people, 'people: it is done');
is(on_event($event), '20300613 ann bob', 'people: with whom was approved');

# between the proposal and its approval
is(people('booking_propose', 'people-4', 4, 'people-3'), 'proposed', 'people: another move is proposed');
$server->edit($event, sub { s/^ATTENDEE[^\r\n]*bob[^\r\n]*\r\n//im });
is(on_event($event), '20300613 ann', 'people: somebody takes one off');
sync('room');
is_row(
	$session,
	"SELECT disposition, detail ->> 'reason' FROM booking_approve('t', 'p', 'p', 'people-4', 1)",
	[ 'needs_proposal', 'attendees_changed' ],
	'people: what was proposed before cannot be approved');

# known when it is claimed
is(people('booking_claim', 'people-5', 5, 'people-3'), 'committed', 'people: moved by somebody who can know');
is(wait_state($session, 'people-5', $people), $people, 'people: it is done at once');
is(on_event($event), '20300605 ann bob', 'people: as it was claimed');
is_clean($session, 'at the end');

done_testing();

# test/t/136_refusals.pl
#
# What a refusal means.  One that follows a send whose fate is unknown is
# judged once a lookup has told that fate: then it fails the booking, or a
# person decides on a cancel, and nothing is tried until patience ends.  A
# refusal because the id is that of a deleted event in the server's trash bin
# means that somebody deleted ours, if ours can have been made, and else only
# that another id is needed.  What can be refused without asking the server
# leaves no attempt.
#
# Proves the rows on definite rejections and on burnt ids in STATES.md.

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

my ($node, $session) = provider_node('main', conf => <<'EOC');
booking.http_timeout = 4s
booking.http_first_byte_timeout = 3s
EOC
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my $path = '/user/room/';

attach($session, $server, $proxy->url, 'account', 'room');

sub claim
{
	my ($intent, $hour, $more) = @_;
	return $session->query(
		"SELECT booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)'"
		  . ($more // '') . ')');
}

sub worker
{
	my ($value) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("booking.worker is $value",
		sub { $session->query('SHOW booking.worker') eq $value });
	return;
}

# Marks of the attempts of an intent's newest operation.
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

sub event_id
{
	my ($intent) = @_;
	return $session->query(
		"SELECT o.event_id FROM booking.operation o JOIN booking.intent i USING (intent_id)"
		  . " WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1");
}

sub units
{
	my ($intent) = @_;
	return $session->query(
		"SELECT count(*) FROM booking.reservation r JOIN booking.intent i USING (intent_id)"
		  . " WHERE i.intent = '$intent'");
}

sub is_state
{
	my ($intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	settle($node, $session);
	return is(Booking::Caldav::state($session, $intent), $expected, $name);
}

claim($_, 12) foreach qw(moves stays goes gone);
settle($node, $session);

#
# Refused after a send that was in doubt
#

# A create: it never arrived, and then the server does not want it.
$proxy->break('create', $path, $_) foreach qw(close refuse);
claim('unwanted', 10);
is_state('unwanted', 'failed rejected create rejected too_large',
	'a refused create fails once the lookup shows that nothing was made');
is(marks('unwanted'),
	'send unknown, lookup absent, send rejected, lookup absent',
	'one lookup after the refusal, and no third send');
is(units('unwanted'), 0, 'its units are free');
is($server->list($path)->{ event_id('unwanted') }, undef, 'there is no event');

# A create that arrives after all, late: the refusal of its double is no failure.
$proxy->break('create', $path, $_) foreach qw(hold refuse);
claim('late', 10);
wait_until('the double is refused',
	sub { (marks('late') // '') eq 'send unknown, lookup absent, send rejected' });
$proxy->clear;
wait_until('the first one arrives', sub { $server->list($path)->{ event_id('late') } });
is_state('late', 'created confirmed create confirmed',
	'a create that arrives late is confirmed, whatever was refused meanwhile');
is(marks('late'), 'send unknown, lookup absent, send rejected, lookup equal',
	'by the lookup after the refusal');

# An update.
$proxy->break('update', $path, $_) foreach qw(close refuse);
claim('moved', 14, ", supersedes => 'moves'");
is_state('moved', 'failed rejected update rejected too_large', 'so does a refused update');
is(marks('moved'),
	'send unknown, lookup absent, send rejected, lookup absent',
	'one lookup after the refusal');
is(Booking::Caldav::state($session, 'moves'),
	'created confirmed create confirmed', 'what was to be moved stands');
is($server->list($path)->{ event_id('moves') }{start},
	'20300501T120000Z', 'and its event too');

# A cancel.
$proxy->break('DELETE', $path, $_) foreach qw(close refuse);
$session->query("SELECT booking_cancel('t', 'p', 'stays')");
is_state(
	'stays',
	'canceling needs_operator cancel parked too_large',
	'a cancel that the server refuses waits for a person');
is(marks('stays'), 'send unknown, lookup different, send rejected, lookup different',
	'after one lookup');
is(units('stays'), 1, 'its units stay held');
$session->query(
	"SELECT booking_resolve('t', 'p', 'stays', 'exists', '{\"seen\": \"by hand\"}')");
is_state('stays', 'canceled confirmed cancel confirmed', 'told to go on, it is deleted');

# What a person says makes an old refusal void.
$proxy->break('DELETE', $path, $_) foreach qw(close refuse);
$session->query("SELECT booking_cancel('t', 'p', 'goes')");
is_state('goes', 'canceling needs_operator cancel parked too_large', 'refused again');
$proxy->break('DELETE', $path, 'close');
$session->query(
	"SELECT booking_resolve('t', 'p', 'goes', 'exists', '{\"seen\": \"by hand\"}')");
is_state('goes', 'canceled confirmed cancel confirmed',
	'after a word of a person the same way is gone again');
is_clean($session, 'after refusals');

#
# The id of a deleted event
#

# Never sent by this database as far as it knows: another id.
worker('off');
claim('burnt', 10);
my $first = event_id('burnt');
$proxy->break('create', "$path$first", 'trashed', 100);
worker('on');
is_state('burnt', 'created confirmed create confirmed', 'a burnt id is no obstacle');
isnt(event_id('burnt'), $first, 'there is another one');
is( $session->query(
		"SELECT generation, sequence, epoch FROM booking.operation WHERE event_id = '"
		  . event_id('burnt') . "'"),
	"2\x1f0\x1f2",
	'of the next generation');
is($server->list($path)->{ event_id('burnt') }{start},
	'20300501T100000Z', 'the event is there under the new one');
is($server->list($path)->{$first}, undef, 'and not under the old one');
is(marks('burnt'), 'send absent, send done', 'the old one was sent once');

# The new id is on disk before it is sent: the worker may die.
worker('off');
claim('interrupted', 10);
$first = event_id('interrupted');
$proxy->break('create', "$path$first", 'trashed', 100);
$proxy->break('create', $path, 'hold_after');
worker('on');
wait_until(
	'the second create is held',
	sub {
		Booking::Caldav::later($node, $session);
		$proxy->log(sub { ($_[0]{fault} // '') eq 'hold_after' && $_[0]{status} });
	});
my $second = event_id('interrupted');
isnt($second, $first, 'while the second create is out its id is known');
$session->query('SELECT pg_terminate_backend(pid) FROM booking_worker_status()');
is_state('interrupted', 'created confirmed create confirmed', 'the next worker finds it');
is(event_id('interrupted'), $second, 'under that id');
is($session->query("SELECT max(generation) FROM booking.operation"),
	2, 'and makes no third one');
$proxy->clear;

# Canceled meanwhile: nothing is made.
worker('off');
claim('called-off', 10);
$first = event_id('called-off');
$proxy->break('create', "$path$first", 'held_trashed');
worker('on');
wait_until('the create is held',
	sub { $proxy->log(sub { ($_[0]{fault} // '') eq 'held_trashed' }) });
$session->query("SELECT booking_cancel('t', 'p', 'called-off')");
$proxy->clear;
is_state('called-off', 'canceled confirmed create dropped', 'canceled while its id was burnt');

# Sent, made, its answer lost; and somebody deletes it before it is found.
$proxy->break('create', $path, 'reset_after');
worker('off');
claim('deleted', 10);
$first = event_id('deleted');
$proxy->break('GET', "$path$first", 'hold');
worker('on');
wait_until('it is looked for', sub { $proxy->log(sub { $_[0]{kind} eq 'GET' && $_[0]{path} =~ /$first/ }) });
$server->demand('DELETE', "$path$first.ics");
$proxy->clear;
$proxy->break('create', "$path$first", 'trashed', 100);
is_state('deleted', 'canceled rejected create rejected deleted_at_provider',
	'an event that may have been ours was deleted by somebody');
is( $session->query(
		"SELECT detail ->> 'reason', event FROM booking.intent WHERE intent = 'deleted'"),
	"deleted_at_provider\x1fabsent",
	'the intent says so');
is(units('deleted'), 0, 'its units are free');
is(event_id('deleted'), $first, 'it gets no other id');
is($server->list($path)->{$first}, undef, 'and is not made again');

# A server that says so of every id ends with a person, not in a loop.
$proxy->clear;
$session->query('ALTER SYSTEM SET booking.max_attempts = 3');
$session->query('SELECT pg_reload_conf()');
$proxy->break('create', $path, 'trashed', 100);
claim('always', 10);
is_state('always', 'unknown needs_operator create parked deleted_at_provider',
	'a server that has every id in its trash bin');
is($session->query("SELECT generation FROM booking.operation WHERE event_id = '" . event_id('always') . "'"),
	3, 'after booking.max_attempts');
$proxy->clear;
$session->query('ALTER SYSTEM RESET booking.max_attempts');
$session->query('SELECT pg_reload_conf()');
is_clean($session, 'after burnt ids');

#
# Nothing to ask.  The calendar is not looked at before, which would fail first.
#
$session->query(
	"SELECT booking_account_put('t', 'account', 'caldav', settings => '{\"busy_blocks\": \"none\"}')"
);
$session->query("SELECT booking_resource_put('t', 'elsewhere', 1000)");
$session->query(
	"SELECT booking_calendar_put('t', 'elsewhere', 'account', 'https://other.example.com/x/', 'elsewhere')"
);
my $seen = scalar $proxy->log;
$session->query(
	"SELECT booking_claim('t', 'p', 'elsewhere', 'elsewhere', '[2030-05-01 10:00+00,2030-05-01 11:00+00)')"
);
is_state('elsewhere', 'failed rejected create rejected origin_mismatch',
	'a calendar on another server is refused');
is( $session->query(
		"SELECT count(*) FROM booking.attempt a JOIN booking.operation o USING (operation_id) WHERE o.calendar = 'elsewhere'"
	),
	0,
	'without an attempt');
is(scalar $proxy->log, $seen, 'and without a request');
is(units('elsewhere'), 0, 'its units are free');
is_clean($session, 'at the end');

done_testing();

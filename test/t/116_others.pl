# test/t/116_others.pl
#
# What others do to our events, at Google and Microsoft as at a CalDAV server: a
# booking follows its event that was moved, one whose event was deleted is
# canceled, and a dead token loses neither.  An id that is burnt ends a booking
# whose event may have been made, and costs one that was never sent a generation.
#
# Proves R29 (an id that was deleted is not used again), R34 and R36 for both.

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

my ($node, $session, $kind, $place, $mock);
my $done = 'created confirmed create confirmed';

sub claim
{
	my ($intent, $day, $more) = @_;

	$session->query(
		"SELECT FROM booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-$day 10:00+00, 2030-05-$day 11:00+00)'"
		  . ($more // '') . ')');
	return;
}

sub book
{
	my ($intent, $day) = @_;

	claim($intent, $day);
	is(wait_state($session, $intent, $done), $done, "$kind: $intent is an event");
	return;
}

sub sync
{
	return decode_json($session->query("CALL booking_sync_wait('t', 'room')"));
}

# State, event and reason of a booking, and the time that it holds.
sub booking
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT concat_ws(' ', i.state, i.event, i.detail ->> 'reason',
	(SELECT to_char(lower(r.occupied) AT TIME ZONE 'UTC', 'DD HH24:MI') FROM booking.reservation r
	  WHERE r.intent_id = i.intent_id))
  FROM booking.intent i WHERE i.intent = '$intent'
EOQ
}

# Wait until the effects of a reading are there.
sub becomes
{
	my ($intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	eval { wait_until($name, sub { booking($intent) eq $expected }) };
	return is(booking($intent), $expected, "$kind: $name");
}

foreach (kinds())
{
	$kind = $_;
	($node, $session) =
	  provider_node($kind, conf => "booking.sync_future = '3000d'\n");
	$place = mocked($session, $kind);
	$mock = $place->mock;

	book('moved', '01');
	book('deleted', '02');
	book('stays', '03');
	book('vanishes', '04');
	book('full', '05');
	sync();
	is(booking('stays'), 'created present 03 10:00', "$kind: as it was booked");

	# moved, deleted, and something else of it changed
	$place->edit('moved', $place->times('2030-05-01T15:00', '2030-05-01T16:00'));
	$place->remove('deleted');
	$place->edit('stays', $kind eq 'google' ? 'summary' : 'subject', 'by hand');
	sync();
	becomes('moved', 'created present 01 15:00', 'moved: the booking follows');
	becomes('deleted', 'canceled absent deleted_at_provider', 'deleted: the booking is canceled');
	is(booking('stays'), 'created present 03 10:00', "$kind: another text is nothing");

	# moved to where there is no room: the old time is kept, and that is a conflict
	$session->query("SELECT booking_resource_put('t', 'room', 1)");
	$place->edit('full', $place->times('2030-05-03T10:00', '2030-05-03T11:00'));
	sync();
	is(booking('full'), 'created present 05 10:00', "$kind: no room: the booking keeps its time");
	is( $session->query(
			"SELECT count(*) > 0 FROM booking.conflict JOIN booking.intent USING (intent_id) WHERE intent = 'full'"),
		't', "$kind: and there is a conflict");
	$session->query("SELECT booking_resource_put('t', 'room', 1000)");

	# after what others did it can still be moved and canceled by us
	claim('again', '06', ", supersedes => 'moved'");
	is(wait_state($session, 'again', 'created confirmed update confirmed'),
		'created confirmed update confirmed', "$kind: what was moved is moved by us");
	is($place->start_of('again'), '2030-05-06T10:00', "$kind: and is there");
	$session->query("SELECT booking_cancel('t', 'p', 'again')");
	is(wait_state($session, 'again', 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed', "$kind: and canceled");
	is($place->start_of('again'), 'none', "$kind: and gone");

	# a dead token: what vanished meanwhile is marked, what is there stays linked
	$place->remove('vanishes');
	$mock->set(kill_tokens => JSON::PP::true);
	sync();
	becomes('vanishes', 'canceled absent deleted_at_provider',
		'vanished before a dead token: the booking is canceled');
	is( $session->query(
			"SELECT count(*) FROM booking.event e JOIN booking.intent i USING (intent_id) WHERE i.intent IN ('stays', 'full')"),
		2, "$kind: the others are linked as before");
	is(booking('stays'), 'created present 03 10:00', "$kind: and stand");

	# an event that may have been made, and was deleted before it was found
	$session->query('ALTER SYSTEM SET booking.max_attempts = 40');
	$session->query('SELECT pg_reload_conf()');
	$mock->fault($place->create, 'drop_after');
	$mock->fault('GET .*/events', 'gateway', 1000);
	$session->query(
		"SELECT booking_account_put('t', 'm', '$kind', settings => '{\"busy_blocks\": \"none\"}')");
	claim('burnt', '07');
	wait_until('its answer is lost',
		sub { Booking::Caldav::state($session, 'burnt') =~ /^unknown/ });
	my ($id) = $place->ids('burnt');
	my ($event) = $place->events->{$id};
	ok($event, "$kind: the event is there");
	$mock->delete_event($place->{room}, $event->{id});
	$mock->set(faults => []);
	settle($node, $session);
	becomes('burnt', 'canceled absent deleted_at_provider', 'deleted before it was found: canceled');
	is(($place->ids('burnt'))[0], $id, "$kind: it gets no other id");
	is($place->events->{$id}, undef, "$kind: and is not made again");

	# an id of another life: whoever has it deleted it long ago
	$session->query('ALTER SYSTEM SET booking.worker = off');
	$session->query('SELECT pg_reload_conf()');
	wait_until('the worker obeys',
		sub { $session->query('SELECT state FROM booking_worker_status()') eq 'paused' });
	claim('unsent', '08');
	($id) = $place->ids('unsent');
	if ($kind eq 'google')
	{
		$mock->edit($place->{room}, $id, $place->times('2030-05-08T10:00', '2030-05-08T11:00'));
		$mock->delete_event($place->{room}, $id);
	}
	$session->query('ALTER SYSTEM SET booking.worker = on');
	$session->query('SELECT pg_reload_conf()');
	settle($node, $session);
	is(wait_state($session, 'unsent', $done), $done, "$kind: one that was never sent is made");
	is( $session->query(
			"SELECT max(generation) FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'unsent'"),
		$kind eq 'google' ? 2 : 1, "$kind: under the next id, where its id was burnt");
	is($place->start_of('unsent'), '2030-05-08T10:00', "$kind: and is there");

	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();

# test/t/123_edits.pl
#
# People edit, move, rename and delete the events that we made.  What they did
# is never overwritten silently: an update or a cancel that meets it either does
# what was wanted to an event that materially is as we left it, or stops and
# says why, and then a person decides.
#
# Proves R33 (a changed event is not overwritten, and what is ours is known as
# such), that what a person deleted is not sent again, and that what a person
# decides is recorded with its evidence.

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

my ($node, $session) = provider_node('main');
my ($server, $proxy, $kind, $path);
my $count = 0;

# Book an event, and return its intent and where it is.
sub book
{
	my $intent = "$kind-" . ++$count;

	$session->query(
		"SELECT booking_claim('t', 'p', '$intent', '$kind', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)',"
		  . " terms => '{\"event\": {\"summary\": \"before\"}}')");
	wait_state($session, $intent, 'created confirmed create confirmed');
	return ($intent,
		$session->query(
			"SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$intent'"
		));
}

# Move a booking two hours on; returns the successor.
sub move
{
	my ($intent) = @_;

	$session->query(
		"SELECT booking_claim('t', 'p', '$intent-new', '$kind', '[2030-05-01 12:00+00, 2030-05-01 13:00+00)',"
		  . " supersedes => '$intent', terms => '{\"event\": {\"summary\": \"after\"}}')"
	);
	return "$intent-new";
}

sub cancel
{
	my ($intent) = @_;
	$session->query("SELECT booking_cancel('t', 'p', '$intent')");
	return $intent;
}

sub resolve
{
	my ($intent, $verdict) = @_;
	return $session->sqlstate(
		"SELECT booking_resolve('t', 'p', '$intent', '$verdict', '{\"seen by\": \"a person\"}')"
	);
}

# Start, SEQUENCE and summary of all events, those of this booking.
sub events
{
	my ($intent) = @_;
	my ($uid) = $session->query(
		"SELECT event_id FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$intent' LIMIT 1"
	);
	my $event = $server->list($path)->{$uid};

	return $event ? "$event->{start} $event->{summary}" : 'none';
}

# Wait for a state.
sub reaches
{
	my ($intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	settle($node, $session);
	return is(wait_state($session, $intent, $expected), $expected, "$kind: $name");
}

sub later { s/T100000Z/T150000Z/ and s/T110000Z/T160000Z/ }
sub rename_text { s/SUMMARY:before/SUMMARY:by hand/ }

# A row of booking.recovery.
sub recovery
{
	my ($intent) = @_;
	return $session->query(
		"SELECT concat_ws(' ', state, kind, operation_state, problem, verdicts, jsonb_array_length(attempts) > 0, authorized)"
		  . " FROM booking.recovery WHERE intent = '$intent'");
}

foreach my $server_kind (qw(radicale xandikos))
{
	$kind = $server_kind;
	$server = Booking::Caldav->new($kind);
	$proxy = Booking::FaultProxy->new($server);
	$path = "/user/$kind/";
	attach($session, $server, $proxy->url, $kind, $kind);

	my ($intent, $href, $new);

	# The text was edited: that is not material, so the event is ours to move
	# and to delete.
	($intent, $href) = book();
	$server->edit($href, \&rename_text);
	$new = move($intent);
	reaches($new, 'created confirmed update confirmed', 'text edited, then moved: it is moved');
	is(events($new), '20300501T120000Z after', "$kind: and is as wanted");
	$server->edit($href, sub { s/SUMMARY:after/SUMMARY:by hand/ });
	cancel($new);
	reaches($new, 'canceled confirmed cancel confirmed', 'text edited, then canceled: it is deleted');
	is(events($new), 'none', "$kind: and gone");

	# The time was edited: an update leaves it alone and fails, and the booking
	# stands.
	($intent, $href) = book();
	$server->edit($href, \&later);
	$new = move($intent);
	reaches($new, 'failed rejected update rejected event_changed', 'time edited, then moved: refused');
	is(Booking::Caldav::state($session, $intent),
		'created confirmed create confirmed', "$kind: the booking stands");
	is(events($intent), '20300501T150000Z before', "$kind: nothing was overwritten");

	# ... and a cancel asks.
	cancel($intent);
	reaches($intent, 'canceling needs_operator cancel parked event_moved',
		'time edited, then canceled: a person is asked');
	is(recovery($intent),
		'canceling cancel parked event_moved {exists,absent,adopt,abandon} t t',
		"$kind: booking.recovery says all that");
	is(events($intent), '20300501T150000Z before', "$kind: nothing was deleted");
	is(resolve($intent, 'absent'), '00000', "$kind: resolved: it is not ours any more");
	reaches($intent, 'canceled confirmed cancel confirmed', 'then it is canceled');
	is(recovery($intent), '', "$kind: and nothing is left to recover");
	is(events($intent), '20300501T150000Z before', "$kind: and the event is left alone");
	is(resolve($intent, 'absent'), '55000', "$kind: there is nothing more to resolve");

	# A person may also say that it is to go.
	($intent, $href) = book();
	$server->edit($href, \&later);
	cancel($intent);
	reaches($intent, 'canceling needs_operator cancel parked event_moved',
		'time edited, then canceled: a person is asked again');
	is(resolve($intent, 'exists'), '00000', "$kind: resolved: it is there and is to go");
	reaches($intent, 'canceled confirmed cancel confirmed', 'then it is deleted');
	is(events($intent), 'none', "$kind: really");

	# Renamed: found by its UID.
	($intent, $href) = book();
	my $body = $server->demand('GET', $href)->{content};
	$server->demand('DELETE', $href);
	$server->demand(
		'PUT', "/user/$kind/elsewhere-$intent.ics",
		body => $body,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' });
	$new = move($intent);
	reaches($new, 'created confirmed update confirmed', 'renamed, then moved: it is found');
	is(events($new), '20300501T120000Z after', "$kind: and is as wanted");
	is($session->query("SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$new'"),
		"/user/$kind/elsewhere-$intent.ics", "$kind: where it is now is known");
	cancel($new);
	reaches($new, 'canceled confirmed cancel confirmed', 'renamed, then canceled: it is deleted');
	is(events($new), 'none', "$kind: and gone");

	# Deleted.
	($intent, $href) = book();
	$server->demand('DELETE', $href);
	cancel($intent);
	reaches($intent, 'canceled confirmed cancel confirmed', 'deleted, then canceled: that is so');
	($intent, $href) = book();
	$server->demand('DELETE', $href);
	$new = move($intent);
	reaches($new, 'failed rejected update rejected deleted_at_provider',
		'deleted, then moved: it is not made anew');
	is_row(
		$session,
		"SELECT i.state, detail ->> 'reason', count(r.*) FROM booking.intent i LEFT JOIN booking.reservation r USING (intent_id)"
		  . " WHERE intent = '$intent' GROUP BY 1, 2",
		[ 'canceled', 'deleted_at_provider', 0 ],
		"$kind: and the booking is canceled, with the reason");
	is(events($intent), 'none', "$kind: no event");

	# An uncertain create whose event somebody edits before we look: a person
	# decides.  Each verdict once.
	foreach my $verdict (qw(exists adopt abandon absent))
	{
		$intent = "$kind-" . ++$count;
		$proxy->break('create', $path, 'reset_after');
		$session->query(
			"SELECT booking_claim('t', 'p', '$intent', '$kind', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)')"
		);
		wait_until('the answer is lost',
			sub { Booking::Caldav::state($session, $intent) =~ /^unknown/ });
		my $event_path = $path
		  . $session->query(
			"SELECT event_id || '.ics' FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$intent'"
		  );
		$proxy->break('GET', $event_path, 'hold');
		Booking::Caldav::later($node, $session);
		wait_until(
			'the lookup is held',
			sub {
				$proxy->log(sub { ($_[0]{fault} // '') eq 'hold' && $_[0]{path} eq $event_path });
			});
		my ($event) =
		  grep { $_->{start} eq '20300501T100000Z' } values %{ $server->list($path) };
		$server->edit($event->{href}, \&later);
		$proxy->clear;
		reaches($intent, 'unknown needs_operator create parked event_changed',
			"unknown, and edited before we looked ($verdict)");
		is(recovery($intent),
			'unknown create parked event_changed {exists,absent,adopt,abandon} t t',
			"$kind: booking.recovery has it");
		is($session->query(
				"SELECT count(*) FROM booking.reservation JOIN booking.intent USING (intent_id) WHERE intent = '$intent'"
			),
			1, "$kind: the units are held");
		$server->demand('DELETE', $event->{href}) if $verdict eq 'absent';
		is(resolve($intent, $verdict), '00000', "$kind: resolved: $verdict");
		my %after = (
			exists => 'created confirmed create confirmed',
			adopt => 'created confirmed create confirmed',
			abandon => 'failed rejected create rejected abandoned',
			absent => 'created confirmed create confirmed');
		reaches($intent, $after{$verdict}, "$verdict: what it leads to");
		is_row(
			$session,
			"SELECT detail ->> 'verdict', evidence ->> 'seen by' FROM booking.audit WHERE action = 'resolve' AND intent = '$intent'",
			[ $verdict, 'a person' ],
			"$kind: $verdict: who decided on what is recorded");
		is(scalar(grep { $_->{uid} eq $event->{uid} } values %{ $server->list($path) }),
			1, "$kind: $verdict: one event");
		$server->demand('DELETE', $_->{href}) foreach values %{ $server->list($path) };
	}
	is($session->sqlstate(
			"SELECT booking_resolve('t', 'p', '$intent', 'again', '{\"a\": 1}')"),
		'22023', "$kind: there is no other verdict");
	is_clean($session, $kind);
}

done_testing();

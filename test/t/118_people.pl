# test/t/118_people.pl
#
# Attendees who have no calendar here: where the settings of the account wish it,
# its provider is asked when they are busy, before a booking is written.
#
# What is in the way ends the booking, once: whoever proposes it again has been
# told.  An error inside a success is never taken for free, and keeps no booking
# for ever.  Our own event is in nobody's way when it is moved.

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

# Claim a time with attendees.
sub claim
{
	my ($intent, $from, $until, $people, $more) = @_;
	my $terms = encode_json(
		{ event => { notify => 'all', attendees => [ map { { email => $_ } } @$people ] } });

	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-01 $from+00, 2030-05-01 $until+00)', terms => '$terms'"
		  . ($more // '') . ')');
}

# Propose it again, as a person does who was told, and approve that.  The same
# payload would be the same proposal.
sub again
{
	my ($intent, $from, $until, $people) = @_;
	my $terms = encode_json(
		{ event => { notify => 'all', summary => 'again', attendees => [ map { { email => $_ } } @$people ] } });
	my $version = $session->query(
		"SELECT version FROM booking_propose('t', 'p', '$intent', 'room',"
		  . " '[2030-05-01 $from+00, 2030-05-01 $until+00)', terms => '$terms')");

	return $session->query(
		"SELECT disposition FROM booking_approve('t', 'p', 'p', '$intent', $version)");
}

# Questions that were asked, as the names in each.
sub questions
{
	return [
		map {
			my $body = decode_json($_->{body});
			join ' ', sort $body->{items} ? map { $_->{id} } @{ $body->{items} } :
			  @{ $body->{schedules} };
		} grep { $_->{path} =~ /freeBusy|getSchedule/ } @{ $mock->look->{requests} }
	];
}

sub at
{
	my ($from, $until) = @_;
	return [ "2030-05-01T$from:00Z", "2030-05-01T$until:00Z" ];
}

sub reaches
{
	my ($intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is(wait_state($session, $intent, $expected), $expected, "$kind: $name");
}

sub detail
{
	my ($intent) = @_;
	return $session->query(
		"SELECT concat_ws(' ', detail ->> 'reason', detail ->> 'attendee', detail ->> 'from')"
		  . " FROM booking_status('t', 'p', '$intent')");
}

sub units
{
	my ($intent) = @_;
	return $session->query(
		"SELECT count(*) FROM booking.reservation JOIN booking.intent USING (intent_id) WHERE intent = '$intent'"
	);
}

my $done = 'created confirmed create confirmed';

foreach (kinds())
{
	$kind = $_;
	($node, $session) = provider_node($kind);
	$session->query("SET TimeZone = 'UTC'");
	$place = mocked($session, $kind);
	$mock = $place->mock;
	$mock->set(people => { 'free@x' => [], 'busy@x' => [ at('10:00', '11:00') ] });

	# nobody is asked about unless it is wished
	claim('silent', '10:00', '10:30', ['busy@x']);
	reaches('silent', $done, 'not wished: written');
	is_deeply(questions(), [], "$kind: and nobody was asked about");
	fails_with(
		$session,
		"SELECT booking_account_put('t', 'm', '$kind', settings => '{\"free_busy\": \"some\"}')",
		'22023',
		"$kind: there is no other setting");
	$session->query(
		"SELECT booking_account_put('t', 'm', '$kind', settings => '{\"free_busy\": \"attendees\"}')");

	# free, busy, and beside the time
	claim('free', '10:00', '10:30', [qw(Free@X free@x)]);
	reaches('free', $done, 'free: written');
	is_deeply(questions(), ['free@x'], "$kind: after one question, about one person");
	my ($asked) = grep { $_->{path} =~ /freeBusy|getSchedule/ } @{ $mock->look->{requests} };
	is($asked->{method}, 'POST', "$kind: which is a POST");
	is_deeply(
		decode_json($asked->{body}),
		$kind eq 'google' ? {
			timeMin => '2030-05-01T10:00:00Z',
			timeMax => '2030-05-01T10:30:00Z',
			items => [ { id => 'free@x' } ]
		  } : {
			schedules => ['free@x'],
			startTime => { dateTime => '2030-05-01T10:00:00', timeZone => 'UTC' },
			endTime => { dateTime => '2030-05-01T10:30:00', timeZone => 'UTC' }
		  },
		"$kind: about the time of the booking, and nothing more");
	claim('beside', '11:00', '11:30', ['busy@x']);
	reaches('beside', $done, 'busy until then: written');
	claim('busy', '10:30', '11:30', [qw(busy@x free@x)]);
	reaches('busy', 'needs_proposal not_attempted create dropped calendar_changed',
		'busy: not written');
	like(detail('busy'), qr/^calendar_changed busy\@x 2030-05-01T10:00:00\+00:00/, "$kind: and says who is");
	is(units('busy'), 0, "$kind: the units are free");

	# whoever proposes it again has been told; what is new then is news again
	is(again('busy', '10:30', '11:30', [qw(busy@x free@x)]),
		'committed', "$kind: proposed again");
	reaches('busy', $done, 'what was told is no news');
	claim('twice', '10:30', '11:30', ['busy@x']);
	reaches('twice', 'needs_proposal not_attempted create dropped calendar_changed',
		'to another booking it is');
	$mock->set(people =>
		  { 'free@x' => [], 'busy@x' => [ at('10:00', '11:00'), at('11:15', '11:20') ] });
	again('twice', '10:30', '11:30', ['busy@x']);
	reaches('twice', 'needs_proposal not_attempted create dropped calendar_changed',
		'something else in the way is news');
	like(detail('twice'), qr/T11:15:00/, "$kind: and is what is told");

	# our own event is in nobody's way
	$mock->set(people => { 'free@x' => [ at('10:00', '10:30') ] });
	claim('moved', '10:15', '10:45', ['free@x'], ", supersedes => 'free'");
	reaches('moved', 'created confirmed update confirmed', 'moved over itself: written');
	$mock->set(people => { 'free@x' => [ at('10:15', '10:50') ] });
	claim('moved-2', '10:30', '11:00', ['free@x'], ", supersedes => 'moved'");
	reaches('moved-2', 'needs_proposal not_attempted update dropped calendar_changed',
		'busy beyond it: not moved');
	is(Booking::Caldav::state($session, 'moved'),
		'created confirmed update confirmed', "$kind: and the old booking stands");

	# not known is never free, and keeps nothing for ever
	my $before = @{ questions() };
	claim('stranger', '12:00', '12:30', [qw(nobody@x free@x)]);
	wait_until(
		'it is put off',
		sub { Booking::Caldav::state($session, 'stranger') =~ /waiting calendar_unread$/ });
	like($session->query("SELECT message FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'stranger'"),
		qr/^attendee nobody\@x: \w+/, "$kind: an error inside a success is not free");
	settle($node, $session);
	reaches('stranger', $done, 'and keeps no booking for ever');
	is(@{ questions() } - $before, 3, "$kind: after three questions");
	is( $session->query(
			"SELECT a.mark, a.problem FROM booking.attempt a JOIN booking.operation USING (operation_id) JOIN booking.intent USING (intent_id)"
			  . " WHERE intent = 'stranger' AND phase = 'lookup'"),
		"failed\x1fattendee_unknown", "$kind: that is on record");
	$mock->set(people => { 'busy@x' => [ at('12:00', '12:05') ] });
	claim('both', '12:00', '12:30', [qw(nobody@x busy@x)]);
	reaches('both', 'needs_proposal not_attempted create dropped calendar_changed',
		'who is busy counts though another one is not known');

	# no answer, an answer that is lost, and the account must wait
	my $question = 'POST .*(freeBusy|getSchedule)';
	$mock->set(people => { 'free@x' => [] });
	foreach my $action ('drop_before', 'gateway', 'broken_after', 'cut')
	{
		$mock->fault($question, $action);
		claim("lost-$action", '13:00', '13:30', ['free@x']);
		settle($node, $session);
		reaches("lost-$action", $done, "$action: asked again");
	}
	$mock->fault($question, $place->refusal(401));
	$place->credential($place->signing_in);
	claim('refused', '13:00', '13:30', ['free@x']);
	settle($node, $session);
	reaches('refused', $done, 'a token that is refused: asked again');

	# many people, some at a time; and those who have a calendar here are not asked about
	$mock->set(people => { map { ("p$_\@x" => []) } 10 .. 70 });
	$before = @{ questions() };
	claim('many', '14:00', '14:30', [ map { "p$_\@x" } 10 .. 70 ]);
	reaches('many', $done, 'many people');
	is_deeply(
		[ map { scalar split / / } @{ questions() }[ $before, $before + 1 ] ],
		[ 50, 11 ],
		"$kind: at most fifty a question");
	$session->query(
		"SELECT booking_calendar_put('t', 'ann', 'm', '$place->{room}', role => 'busy', address => 'p10\@x')"
	);
	$before = @{ questions() };
	claim('few', '15:00', '15:30', [ map { "p$_\@x" } 10 .. 11 ]);
	reaches('few', $done, 'one who has a calendar here');
	is_deeply([ @{ questions() }[ $before .. $#{ questions() } ] ],
		['p11@x'], "$kind: is not asked about");

	# the worker dies while a question is out
	$mock->fault($question, 'slow_before');
	$before = @{ questions() };
	claim('death', '16:00', '16:30', ['p12@x']);
	wait_until('the question is out', sub { @{ questions() } > $before });
	$session->query('SELECT pg_terminate_backend(pid) FROM booking_worker_status()');
	settle($node, $session);
	reaches('death', $done, 'the worker dies over a question: asked again');

	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	unlike(slurp_file($node->logfile), qr/SECRET/, "$kind: no secret is in the log");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();

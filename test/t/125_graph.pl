# test/t/125_graph.pl
#
# The whole way on Microsoft Graph, of which there is a mock that knows what is
# documented and is stricter where that is open: claims become events, move and
# go, whatever gets lost on the way, whether Graph recognizes a create that it has
# seen or refuses it, whether an event that was deleted can still be read or not;
# and what others do in a calendar comes back.
#
# Proves R26, R27 and R28 (a lost, cut or broken answer makes no second event),
# R30 (a transactionId that is taken), R31 (a throttled request is sent again),
# R41 and R43 (dead links), R44 (removals of what nobody knows), R45 (sparse
# occurrences) and R46 (what comes twice) for Microsoft Graph.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Graph;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session) =
  provider_node('main', conf => "booking.sync_future = '3000d'\n");
my $graph = Booking::Graph->new(qw(desk@x/room desk@x/other ann@x/busy));
my $url = $graph->url;
my $room = 'desk@x/room';
my $busy = 'ann@x/busy';

sub hour
{
	my ($day, $hour, $month) = @_;
	return sprintf(
		"[2030-%02d-%02d %02d:00+00, 2030-%02d-%02d %02d:30+00)",
		$month // 5, $day, $hour // 10, $month // 5, $day, $hour // 10);
}

sub claim
{
	my ($intent, $during, $more) = @_;

	$more //= '';
	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', 'room', '$during'$more)"
	);
}

sub cancel
{
	my ($intent) = @_;
	return $session->query(
		"SELECT disposition FROM booking_cancel('t', 'p', '$intent')");
}

# Our id and Graph's of the event of an intent.
sub ids
{
	my ($intent) = @_;
	return $session->row(<<"EOQ");
SELECT o.event_id, o.href FROM booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1
EOQ
}

# Events that the room shows on a day.
sub on_day
{
	my ($day) = @_;
	my $prefix = sprintf('2030-05-%02d', $day);
	return grep { $_->{start}{dateTime} =~ /^$prefix/ }
	  values %{ $graph->events($room) };
}

sub sync
{
	my ($calendar) = @_;
	return decode_json(
		$session->query("CALL booking_sync_wait('t', '$calendar')"));
}

# What is known of a calendar, a line a row.
sub known
{
	my ($calendar) = @_;
	my $result = $session->try(<<"EOQ");
SELECT concat_ws(' ', e.object, to_char(lower(e.during) AT TIME ZONE 'UTC', 'MM-DD HH24:MI'),
	CASE WHEN e.busy THEN 'busy' END, CASE WHEN e.recurring THEN 'series' END, e.problem)
  FROM booking.event e JOIN booking.calendar c USING (calendar_id)
 WHERE c.calendar = '$calendar' ORDER BY 1
EOQ
	return [ map { $_->[0] } @{ $result->{rows} } ];
}

# A start and an end, in UTC.
sub at
{
	my ($from, $until) = @_;
	return (
		start => { dateTime => "$from.0000000", timeZone => 'UTC' },
		end => { dateTime => "$until.0000000", timeZone => 'UTC' });
}

$session->query("SELECT booking_account_put('t', 'm', 'graph', '${url}v1.0')");
$session->query(
	q(SELECT booking_credential_put('t', 'm', '{"type": "bearer", "token": "static"}')));
$session->query("SELECT booking_permit_all('t', 'p')");
$session->query("SELECT booking_resource_put('t', '$_', 1000)") foreach qw(room ann);
$session->query("SELECT booking_calendar_put('t', 'room', 'm', '$room', 'room')");
$session->query("SELECT booking_calendar_put('t', 'busy', 'm', '$busy', 'ann', 'busy')");
my $findings = decode_json($session->query("CALL booking_account_check('t', 'm')"));
is_deeply([ grep { !$_->{ok} } @$findings ], [], 'the account check finds nothing wrong');

# create, again, move, cancel
my $wishes = q(, terms => '{"event": {"summary": "Görlitz", "description": "a < b",)
  . q( "location": "Room", "notify": "all", "conference": true,)
  . q( "attendees": [{"email": "ann@example.org", "name": "Ann"}]}}');
is(claim('a-1', hour(1), $wishes), 'committed', 'claim');
is(wait_state($session, 'a-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'the claim is an event');
my ($id, $href) = ids('a-1');
my $event = $graph->events($room)->{$href};
is_deeply(
	[ @$event{qw(transactionId subject)}, $event->{start}{dateTime} ],
	[ $id, "G\x{f6}rlitz", '2030-05-01T10:00:00.0000000' ],
	'it is what was wanted, under an id of Graph that is known');
is_deeply(
	{
		map { $_->{id} =~ /Name (\w+)$/ => $_->{value} }
		  @{ $event->{singleValueExtendedProperties} }
	},
	{ bookingId => $id, bookingSequence => '0' },
	'with our properties');
like($event->{onlineMeeting}{joinUrl}, qr/^https:/, 'and an online meeting');
claim('a-1', hour(1), $wishes) for 1 .. 3;
is($graph->count('POST'), 1, 'a redial makes nothing new');
my $silent = $session->sqlstate(
	"SELECT booking_claim('t', 'p', 'silent', 'room', '" . hour(1) . "', terms => '"
	  . q({"event": {"attendees": [{"email": "ann@example.org"}]}}) . "')");
is($silent, '22023', 'nobody can be invited in silence');

# a guest answers, which changes the ETag; then the claim moves
$graph->edit(
	$room, $href,
	attendees => [
		{
			type => 'required',
			status => { response => 'accepted' },
			emailAddress => { address => 'ann@example.org', name => 'Ann' }
		}
	]);
claim('a-2', hour(2), ", supersedes => 'a-1'$wishes");
is(wait_state($session, 'a-2', 'created confirmed update confirmed'),
	'created confirmed update confirmed', 'the event has moved');
$event = $graph->events($room)->{$href};
is($event->{start}{dateTime}, '2030-05-02T10:00:00.0000000', 'it is later');
is($event->{attendees}[0]{status}{response}, 'accepted', 'the answer of the guest is kept');
my ($patch) =
  reverse grep { $_->{method} eq 'PATCH' } @{ $graph->look->{requests} };
is_deeply(
	[ sort keys %{ decode_json($patch->{body}) } ],
	[qw(end isAllDay singleValueExtendedProperties start)],
	'the patch holds only what changes');
cancel('a-2');
is(wait_state($session, 'a-2', 'canceled confirmed cancel confirmed'),
	'canceled confirmed cancel confirmed', 'the event is gone');
is_deeply($graph->events($room), {}, 'the calendar is empty');
is_deeply([ map { $_->[0] } @{ $graph->look->{mails} } ],
	[qw(invite update cancel)], 'the guest got three mails');

# answers that get lost, before and after the event was made, under both readings
# of what Graph does with a create that it has seen, and of what a deleted event is
my $day = 3;
foreach my $reading ([ 'recognize', JSON::PP::true ], [ 400, JSON::PP::false ])
{
	my ($repeat, $trash) = @$reading;
	my @actions = $repeat eq 'recognize' ?
	  qw(drop_before drop_after broken_after other_id empty cut gateway partial) :
	  qw(drop_before drop_after partial);

	$graph->set(repeat => $repeat, trash => $trash);
	foreach my $action (@actions)
	{
		my $name = "$action, $repeat";
		my $intent = "b-$repeat-$action";

		$graph->fault('POST /v1.0/users/desk@x/calendars/room', $action);
		claim($intent, hour($day));
		settle($node, $session);
		is(wait_state($session, $intent, 'created confirmed create confirmed'),
			'created confirmed create confirmed', "$name: reconciled");
		is(scalar on_day($day), 1, "$name: one event");
		$day++;
	}
	foreach my $action (qw(drop_before drop_after broken_after))
	{
		my $name = "$action, $repeat";
		my $from = "b-$repeat-" . ($action eq 'broken_after' ? 'partial' : $action);
		my $intent = "c-$repeat-$action";

		$graph->fault('PATCH', $action);
		claim($intent, hour($day), ", supersedes => '$from'");
		settle($node, $session);
		is(wait_state($session, $intent, 'created confirmed update confirmed'),
			'created confirmed update confirmed', "$name: the update is reconciled");
		is(scalar on_day($day), 1, "$name: it is there, once");
		$graph->fault('DELETE', $action);
		cancel($intent);
		settle($node, $session);
		is(wait_state($session, $intent, 'canceled confirmed cancel confirmed'),
			'canceled confirmed cancel confirmed', "$name: the cancel is reconciled");
		is(scalar on_day($day), 0, "$name: it is gone");
		$day++;
	}
}
$graph->set(repeat => 409, trash => JSON::PP::true);

# the search does not see yet what was made, and the calendar does
$graph->set(lag => 1);
$graph->fault('POST /v1.0/users/desk@x/calendars/room', 'drop_after');
claim('lag', hour($day));
settle($node, $session);
is(wait_state($session, 'lag', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a search that is late');
is(scalar on_day($day), 1, 'and one event');
$day++;

# the server dies while a request is out, before and after the event is made
foreach my $action (qw(slow_before slow_after))
{
	$graph->fault('POST /v1.0/users/desk@x/calendars/room', $action);
	my $before = $graph->count('POST');

	claim("x-$action", hour($day));
	wait_until('the request is out', sub { $graph->count('POST') > $before });
	$session->quit;
	$node->stop('immediate');
	$node->start;
	$session = session($node);
	settle($node, $session);
	is(wait_state($session, "x-$action", 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$action: the crash is reconciled");
	is(scalar on_day($day), 1, "$action: one event");
	$day++;
}

# refusals by their code
$graph->fault('POST', [ 429, 'ApplicationThrottled', 'MailboxConcurrency', 20 ]);
claim('d-429', hour(1, 11));
wait_until('the account is left alone', sub {
		$session->query(<<'EOQ') eq 't' });
SELECT blocked_until > now() + current_setting('booking.clock_offset')::interval + '10 s'
  FROM booking.account
EOQ
pass('429: the account is left alone for as long as Retry-After says');
settle($node, $session);
is(wait_state($session, 'd-429', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'and then it is done');
$graph->fault('POST', [ 403, 'ErrorAccessDenied' ]);
claim('d-no', hour(1, 12));
is(wait_state($session, 'd-no', 'failed rejected create rejected error_access_denied'),
	'failed rejected create rejected error_access_denied', '403: failed');
$session->query('BEGIN');
claim("many-$_", hour(1, 13)) for 1 .. 12;
$session->query('COMMIT');
settle($node, $session);
is( $session->query(
		"SELECT count(*) FROM booking.intent WHERE intent LIKE 'many-%' AND state = 'created'"),
	12, 'twelve at once, four at a time');

# what people do to our events
claim('e-1', hour(2, 11));
wait_state($session, 'e-1', 'created confirmed create confirmed');
$graph->delete_event($room, (ids('e-1'))[1]);
claim('e-2', hour(2, 12), ", supersedes => 'e-1'");
is( wait_state(
		$session, 'e-2', 'failed rejected update rejected deleted_at_provider'),
	'failed rejected update rejected deleted_at_provider',
	'an event in Deleted Items is not updated, and not made anew');
claim('e-3', hour(3, 11));
wait_state($session, 'e-3', 'created confirmed create confirmed');
$graph->edit($room, (ids('e-3'))[1], at('2030-05-03T15:00:00', '2030-05-03T15:30:00'));
cancel('e-3');
is(wait_state($session, 'e-3', 'canceling needs_operator cancel parked event_moved'),
	'canceling needs_operator cancel parked event_moved', 'one that was moved is left alone');
claim('e-4', hour(4, 11));
wait_state($session, 'e-4', 'created confirmed create confirmed');
$graph->move_event($room, (ids('e-4'))[1], 'other');
cancel('e-4');
is(wait_state($session, 'e-4', 'canceled confirmed cancel confirmed'),
	'canceled confirmed cancel confirmed', 'one that is on another calendar is gone from ours');

# our own events come back as ours
is(sync('room')->{problem}, undef, 'the room is read');
is( $session->query(<<'EOQ'), 't', 'an event of ours is known by its transactionId');
SELECT bool_and(e.intent_id = i.intent_id) FROM booking.intent i
  JOIN booking.operation o USING (intent_id) JOIN booking.event e ON e.object = o.href
 WHERE i.intent IN ('lag', 'd-429', 'many-1')
EOQ

# what others do
is(sync('busy')->{watermark}, 1, 'the first round of an empty calendar');
my %at = at('2030-06-01T10:00:00', '2030-06-01T11:00:00');
$graph->edit($busy, "single$_", %at) for 1 .. 7;
$graph->edit($busy, 'single7', showAs => 'free');
$graph->edit($busy, 'single6', responseStatus => { response => 'declined' });
$graph->edit($busy, 'dayoff', isAllDay => JSON::PP::true,
	at('2030-06-02T00:00:00', '2030-06-03T00:00:00'));
$graph->edit($busy, 'away', at('2036-06-02T10:00:00', '2036-06-02T11:00:00'));
$graph->edit($busy, 'series', at('2030-06-04T12:00:00', '2030-06-04T13:00:00'), _daily => 4);
$graph->set(page_size => 3, twice => JSON::PP::true);
is(sync('busy')->{problem}, undef, 'they are read, page by page');
is_deeply(
	known('busy'),
	[
		'dayoff 06-02 00:00 busy',
		(map { "series.OID$_ 06-0@{[ 4 + $_ ]} 12:00 busy series" } 0 .. 3),
		(map { "single$_ 06-01 10:00 busy" } 1 .. 5),
		'single6 06-01 10:00',
		'single7 06-01 10:00'
	],
	'single, all-day, free, declined and recurring events, but none outside the window');
my $gets = $graph->count('GET');
$graph->set(page_size => undef);
sync('busy');
is($graph->count('GET') - $gets, 1, 'nothing changed: one request');
$graph->edit($busy, 'away', subject => 'SECRET-MESSAGE again');
$gets = $graph->count('GET');
sync('busy');
is($graph->count('GET') - $gets, 1, 'a removal of what nobody knows costs nothing');
$graph->delete_event($busy, 'single1');
$graph->edit($busy, 'single2', at('2030-06-09T08:00:00', '2030-06-09T09:00:00'));
$graph->edit($busy, 'single3', at('2041-06-09T08:00:00', '2041-06-09T09:00:00'));
$graph->edit($busy, 'series', showAs => 'free', _drop => 3);
sync('busy');
is_deeply(
	[ grep { /single[123]|series/ } @{ known('busy') } ],
	[
		(map { "series.OID$_ 06-0@{[ 4 + $_ ]} 12:00 series" } 0 .. 2),
		'single2 06-09 08:00 busy',
		'single3 06-09 08:00 busy'
	],
	'deleted, moved, moved out of the window, a change of the series, an occurrence less');
is( $session->query("SELECT extract(year FROM lower(during)) FROM booking.event WHERE object = 'single3'"),
	2041, 'what only moved is not gone');
$graph->delete_event($busy, 'series');
sync('busy');
is_deeply([ grep { /series/ } @{ known('busy') } ], [], 'a series that was deleted as a whole');

# dead links
$graph->delete_event($busy, 'single4');
$graph->set(kill_tokens => JSON::PP::true);
is(sync('busy')->{problem}, undef, 'a delta link that is dead');
is_deeply(
	[ map { s/ .*//r } @{ known('busy') } ],
	[qw(dayoff single2 single3 single5 single6 single7)],
	'what was deleted meanwhile is gone, what is outside of the window stays');
is( $session->query(
		"SELECT full_reason FROM booking.cursor JOIN booking.calendar USING (calendar_id)"
		  . " WHERE calendar = 'busy'"),
	'token_expired', 'the reason is told');

# the window rolls: a new listing, by a link of its own
$session->query("ALTER SYSTEM SET booking.sync_future = '3660d'");
$session->query('SELECT pg_reload_conf()');
wait_until('the session knows', sub { $session->query('SHOW booking.sync_future') eq '3660d' });
sync('busy');
is( $session->query(
		"SELECT full_reason FROM booking.cursor JOIN booking.calendar USING (calendar_id)"
		  . " WHERE calendar = 'busy'"),
	'window', 'another window, another listing');
is( $session->query("SELECT extract(year FROM lower(during)) FROM booking.event WHERE object = 'away'"),
	2036, 'which has what is in it now');

# a token for the app, got anew when it is refused in the middle of a round
$session->query("SELECT booking_credential_put('t', 'm', '"
	  . encode_json({
			type => 'client_credentials',
			client_id => 'client',
			client_secret => 'SECRET-CLIENT',
			token_url => "${url}tenant/oauth2/v2.0/token"
		})
	  . "')");
claim('k-1', hour(6, 11));
settle($node, $session);
is(wait_state($session, 'k-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'client credentials');
is($graph->look->{token_calls}[-1]{scope},
	'https://graph.microsoft.com/.default', 'with the scope of Graph');
$graph->set(page_size => 2);
$graph->edit($busy, "more$_", %at) for 1 .. 7;
$graph->fault('GET .*skiptoken', [ 401, 'InvalidAuthenticationToken' ]);
sync('busy');
wait_until('the round is finished', sub { grep { /^more7/ } @{ known('busy') } });
is(scalar(grep { /^more/ } @{ known('busy') }),
	7, 'a token that ends in the middle of a round: the round goes on');

# nothing that a client of Graph should not do, and no secret anywhere
is_deeply($graph->look->{complaints}, [], 'the mock has no complaint');
unlike(slurp_file($node->logfile), qr/SECRET/, 'no secret is in the log');
foreach my $table (qw(account operation attempt cursor intent event))
{
	unlike($session->query("SELECT string_agg(x::text, ' ') FROM booking.$table x"),
		qr/SECRET/, "no secret is in booking.$table");
}
is_clean($session, 'after all');
$node->stop;
done_testing();

# test/t/124_google.pl
#
# The whole way on Google Calendar, of which there is a mock that knows what is
# documented and is stricter where that is open: claims become events, move and
# go, whatever gets lost on the way; what others do in a calendar comes back; and
# access tokens are got, renewed, and got once for all who need one.
#
# Proves R26 and R27 (a lost or cut answer makes no second event), R29 (an id
# that was deleted is not used again), R41 (a dead sync token), R101 (one refresh
# for all) and R102 (a refusal is judged by its reason) for Google.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Google;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session) = provider_node('main');
my $google = Booking::Google->new(qw(room@x busy@x));
my $url = $google->url;

sub hour
{
	my ($day, $hour) = @_;
	return sprintf("[2030-05-%02d %02d:00+00, 2030-05-%02d %02d:30+00)",
		$day, $hour // 10, $day, $hour // 10);
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

sub event_id
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT o.event_id FROM booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1
EOQ
}

sub credential
{
	my (%credential) = @_;
	my $json = encode_json(\%credential);

	$session->query("SELECT booking_credential_put('t', 'g', '$json')");
	return;
}

# Write a credential into a file that is private.
sub put_file
{
	my ($name, %credential) = @_;

	unlink $name;
	PostgreSQL::Test::Utils::append_to_file($name, encode_json(\%credential));
	chmod(0600, $name) or die "chmod: $!";
	return;
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

$session->query("SELECT booking_account_put('t', 'g', 'google', '$url')");
credential(type => 'bearer', token => 'static');
$session->query("SELECT booking_permit_all('t', 'p')");
$session->query("SELECT booking_resource_put('t', '$_', 1000)") foreach qw(room other);
$session->query("SELECT booking_calendar_put('t', 'room', 'g', 'room\@x', 'room')");
$session->query("SELECT booking_calendar_put('t', 'busy', 'g', 'busy\@x', 'other', 'busy')");

# create, again, move, cancel
is( claim(
		'a-1', hour(1),
		q(, terms => '{"event": {"summary": "Görlitz", "notify": "all", "conference": true,)
		  . q( "attendees": [{"email": "ann@example.org"}]}}')),
	'committed',
	'claim');
is(wait_state($session, 'a-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'the claim is an event');
my $id = event_id('a-1');
my $event = $google->events('room@x')->{$id};
is_deeply(
	[ @$event{qw(id summary)}, $event->{start}{dateTime}, $event->{extendedProperties}{private} ],
	[ $id, "G\x{f6}rlitz", '2030-05-01T10:00:00Z', { bookingId => $id, bookingSequence => '0' } ],
	'it is what was wanted, under our id');
is($event->{conferenceData}{createRequest}{requestId}, "$id-meet-0",
	'the conference has a request id of its own');
is_deeply(
	[ map { "$_->{method} $_->{path}" } @{ $google->look->{requests} }[ -2, -1 ] ],
	[
		'POST /calendars/room%40x/events?conferenceDataVersion=1&sendUpdates=all',
		"GET /calendars/room%40x/events/$id"
	],
	'one insert, which says who is mailed, and one poll');
claim('a-1', hour(1),
	q(, terms => '{"event": {"summary": "Görlitz", "notify": "all", "conference": true,)
	  . q( "attendees": [{"email": "ann@example.org"}]}}'))
  for 1 .. 3;
is($google->count('POST'), 1, 'a redial makes nothing new');

# a guest answers, which changes the ETag; then the claim moves
$google->edit('room@x', $id,
	attendees => [ { email => 'ann@example.org', responseStatus => 'accepted' } ]);
claim('a-2', hour(2),
	q(, supersedes => 'a-1', terms => '{"event": {"summary": "Görlitz", "notify": "all",)
	  . q( "conference": true, "attendees": [{"email": "ann@example.org"}]}}'));
is(wait_state($session, 'a-2', 'created confirmed update confirmed'),
	'created confirmed update confirmed', 'the event has moved');
$event = $google->events('room@x')->{$id};
is($event->{start}{dateTime}, '2030-05-02T10:00:00Z', 'it is later');
is($event->{attendees}[0]{responseStatus}, 'accepted', 'the answer of the guest is kept');
my ($patch) =
  reverse grep { $_->{method} eq 'PATCH' } @{ $google->look->{requests} };
is_deeply([ sort keys %{ decode_json($patch->{body}) } ],
	[qw(end extendedProperties start)], 'the patch holds only what changes');
cancel('a-2');
is(wait_state($session, 'a-2', 'canceled confirmed cancel confirmed'),
	'canceled confirmed cancel confirmed', 'the event is gone');
is_deeply($google->events('room@x'), {}, 'the calendar is empty');
like($google->look->{requests}[-1]{path}, qr/\?sendUpdates=all$/,
	'and whoever was invited is told');

# answers that get lost, before and after the event was made
my $day = 3;
foreach my $action (qw(drop_before drop_after broken_after other_id empty cut gateway))
{
	$google->fault('POST /calendars/room@x', $action);
	claim("b-$action", hour($day));
	settle($node, $session);
	is(wait_state($session, "b-$action", 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$action: reconciled");
	is( scalar(
			grep { $_->{start}{dateTime} =~ sprintf('^2030-05-%02d', $day) }
			  values %{ $google->events('room@x') }),
		1,
		"$action: one event");
	$day++;
}
foreach my $action (qw(drop_before drop_after broken_after))
{
	$google->fault('PATCH', $action);
	claim("c-$action", hour(20, $day), ", supersedes => 'b-$action'");
	settle($node, $session);
	is(wait_state($session, "c-$action", 'created confirmed update confirmed'),
		'created confirmed update confirmed', "$action: the update is reconciled");
	$google->fault('DELETE', $action);
	cancel("c-$action");
	settle($node, $session);
	is(wait_state($session, "c-$action", 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed', "$action: the cancel is reconciled");
	$day++;
}

# the server dies while a request is out, before and after the event is made
foreach my $action (qw(slow_before slow_after))
{
	$google->fault('POST /calendars/room@x', $action);
	my $before = $google->count('POST');

	claim("x-$action", hour($day));
	wait_until('the request is out', sub { $google->count('POST') > $before });
	$session->quit;
	$node->stop('immediate');
	$node->start;
	$session = session($node);
	settle($node, $session);
	is(wait_state($session, "x-$action", 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$action: the crash is reconciled");
	is( scalar(
			grep { $_->{start}{dateTime} =~ sprintf('^2030-05-%02d', $day) }
			  values %{ $google->events('room@x') }),
		1,
		"$action: one event");
	$day++;
}

# refusals by their reason
$google->fault('POST /calendars/room@x', [ 403, 'rateLimitExceeded' ]);
claim('d-rate', hour(21));
settle($node, $session);
is(wait_state($session, 'd-rate', 'created confirmed create confirmed'),
	'created confirmed create confirmed', '403 that means too fast: later');
$google->fault('POST /calendars/room@x', [ 429, 'rateLimitExceeded', 2 ]);
claim('d-429', hour(22));
settle($node, $session);
is(wait_state($session, 'd-429', 'created confirmed create confirmed'),
	'created confirmed create confirmed', '429: later');
$google->fault('POST /calendars/room@x', [ 403, 'quotaExceeded' ]);
claim('d-quota', hour(23));
wait_until('the account is left alone', sub {
		$session->query(<<'EOQ') eq 't' });
SELECT blocked_until > now() + current_setting('booking.clock_offset')::interval + '20 min'
  FROM booking.account
EOQ
pass('403 that means too much: a long pause for the account');
settle($node, $session);
is(wait_state($session, 'd-quota', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'and then it is done');
$google->fault('POST /calendars/room@x', [ 403, 'forbidden' ]);
claim('d-no', hour(24));
is(wait_state($session, 'd-no', 'failed rejected create rejected forbidden'),
	'failed rejected create rejected forbidden', '403 that means no: failed');

# an id that was deleted by somebody between the insert and the look
claim('e-1', hour(25));
wait_state($session, 'e-1', 'created confirmed create confirmed');
$google->delete_event('room@x', event_id('e-1'));
claim('e-2', hour(26), ", supersedes => 'e-1'");
is( wait_state(
		$session, 'e-2', 'failed rejected update rejected deleted_at_provider'),
	'failed rejected update rejected deleted_at_provider',
	'an event that was deleted is not made anew');

# what others do
is(sync('busy')->{watermark}, 1, 'the first round of an empty calendar');
my %at = (
	start => { dateTime => '2030-06-01T10:00:00Z' },
	end => { dateTime => '2030-06-01T11:00:00Z' });
$session->query("ALTER SYSTEM SET booking.sync_future = '3000d'");
$session->query('SELECT pg_reload_conf()');
$google->edit('busy@x', "single$_", %at) for 1 .. 7;
$google->edit('busy@x', 'single7', transparency => 'transparent');
$google->edit('busy@x', 'dayoff',
	start => { date => '2030-06-02' }, end => { date => '2030-06-03' });
$google->edit('busy@x', 'series1', %at,
	recurrence => ['RRULE:FREQ=DAILY;COUNT=2'],
	_instances => [
		map {
			{
				id => "series1_$_",
				status => 'confirmed',
				recurringEventId => 'series1',
				originalStartTime => { dateTime => "2030-06-0${_}T10:00:00Z" },
				start => { dateTime => "2030-06-0${_}T12:00:00Z" },
				end => { dateTime => "2030-06-0${_}T13:00:00Z" }
			}
		} 4, 5
	]);
$google->set(page_size => 3);
is(sync('busy')->{events}, 10, 'they are read, page by page');
is_deeply(
	known('busy'),
	[
		'dayoff 06-02 00:00 busy',
		'series1 06-04 12:00 busy series',
		'series1 06-05 12:00 busy series',
		(map { "single$_ 06-01 10:00 busy" } 1 .. 6),
		'single7 06-01 10:00'
	],
	'single, all-day, transparent and recurring events');
my $gets = $google->count('GET');
sync('busy');
is($google->count('GET') - $gets, 1, 'nothing changed: one request');
$google->delete_event('busy@x', 'single1');
$google->delete_event('busy@x', 'series1');
$google->edit('busy@x', 'single2',
	start => { dateTime => '2030-06-09T10:00:00+02:00' },
	end => { dateTime => '2030-06-09T11:00:00+02:00' });
sync('busy');
is_deeply(
	[ grep { /single[12]|series/ } @{ known('busy') } ],
	['single2 06-09 08:00 busy'],
	'deleted, moved, and a series that was deleted as a whole');
$google->delete_event('busy@x', 'single3');
$google->set(kill_tokens => JSON::PP::true);
is(sync('busy')->{problem}, undef, 'a sync token that is dead');
is_deeply(
	[ grep { /single3/ } @{ known('busy') } ],
	[], 'and what was deleted meanwhile is gone');
is( $session->query(
		"SELECT full_reason FROM booking.cursor JOIN booking.calendar USING (calendar_id)"
		  . " WHERE calendar = 'busy'"),
	'token_expired', 'the reason is told');

# a dead token with much in the calendar: what is ours stays ours, and what has
# vanished without a trace is marked
my $many = size(1500, 20000);
claim("l-$_", hour($_, 12)) for 1 .. 3;
wait_state($session, "l-$_", 'created confirmed create confirmed') for 1 .. 3;
$google->set(page_size => undef);
$google->fill('room@x', $many);
sync('room');
my $linked =
  "SELECT string_agg(i.intent, ' ' ORDER BY i.intent) FROM booking.event e"
  . " JOIN booking.intent i USING (intent_id) WHERE i.intent LIKE 'l-%'";
is($session->query($linked), 'l-1 l-2 l-3', 'events of ours are known as such');
my ($before) = $session->row('SELECT count(*) FROM booking.event');
$google->fill('room@x', $many, 3);
$google->delete_event('room@x', event_id('l-2'));
$google->set(kill_tokens => JSON::PP::true);
my $began = time();
sync('room');
figure('seconds for a full pass of a Google calendar with ' . $many . ' events',
	time() - $began);
is($session->query($linked), 'l-1 l-3', 'after a dead token they still are');
is( $session->query('SELECT count(*) FROM booking.event'),
	$before - 1 - ($many - int(($many + 2) / 3)),
	'and what has vanished is gone');
is($session->query("SELECT event FROM booking.intent WHERE intent = 'l-2'"),
	'absent', 'the booking whose event has vanished says so');

# sign-in: a refresh token; many operations, one refresh
$google->set(rotate => JSON::PP::true, refresh => ['refresh-0'], token_delay => 0.3);
credential(
	type => 'refresh_token',
	client_id => 'client',
	client_secret => 'SECRET-CLIENT',
	refresh_token => 'refresh-0',
	token_url => "${url}token");
$session->query('BEGIN');
claim("f-$_", hour(1, 11)) for 1 .. 16;
$session->query('COMMIT');
settle($node, $session);
is( $session->query(
		"SELECT count(*) FROM booking.intent WHERE intent LIKE 'f-%' AND state = 'created'"),
	16, '16 operations that need a token are done');
is(scalar @{ $google->look->{token_calls} }, 1, 'with one refresh');
isnt($google->look->{refresh}[0], 'refresh-0', 'the refresh token was replaced');

# a token that is refused before its time, in the middle of a round as well
$google->set(expire_access => JSON::PP::true);
claim('g-1', hour(2, 11));
settle($node, $session);
is(wait_state($session, 'g-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a token that is refused is got anew');
is(scalar @{ $google->look->{token_calls} }, 2, 'by the refresh token that came last');
$google->edit('busy@x', "more$_", %at) for 1 .. 9;
$google->fault('GET /calendars/busy@x.*pageToken=page 3', [ 401, 'authError' ]);
sync('busy');
wait_until('the round is finished', sub { grep { /^more9/ } @{ known('busy') } });
is(scalar(grep { /^more/ } @{ known('busy') }),
	9, 'a token that ends in the middle of a round: the round goes on');

# refused again at once: it is the credential
$google->fault('[A-Z]+ /calendars', [ 401, 'authError' ], 1000);
claim('h-1', hour(3, 11));
wait_until('the account is parked',
	sub { $session->query('SELECT parked FROM booking.account') eq 't' });
pass('a new token that is refused parks the account');
$google->set(faults => []);
$google->set(refresh => ['refresh-new']);
credential(
	type => 'refresh_token',
	client_id => 'client',
	client_secret => 'SECRET-CLIENT',
	refresh_token => 'refresh-new',
	token_url => "${url}token");
settle($node, $session);
is(wait_state($session, 'h-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a new credential lets it go on');

# the token endpoint has trouble, then no grant
$google->set(token_error => [ 503, 'temporarily_unavailable' ], expire_access => JSON::PP::true);
claim('i-1', hour(4, 11));
wait_until('the failure is known',
	sub { $session->query("SELECT problem FROM booking.token") ne '' });
is($session->query('SELECT parked FROM booking.account'),
	'f', 'trouble at the token endpoint passes');
$google->set(token_error => undef);
settle($node, $session);
is(wait_state($session, 'i-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'and then it goes on');
$google->set(refresh => [], expire_access => JSON::PP::true);
claim('j-1', hour(5, 11));
wait_until('the account is parked',
	sub { $session->query('SELECT parked FROM booking.account') eq 't' });
is( $session->query('SELECT problem FROM booking.account'),
	'sign-in: invalid_grant', 'invalid_grant parks');
like(Booking::Caldav::state($session, 'j-1'),
	qr/^approved not_attempted create (?:waiting|checking) /, 'and nothing is lost');

# a service account
my $folder = PostgreSQL::Test::Utils::tempdir();
my $key = "$folder/key.pem";
system_or_bail('openssl', 'genpkey', '-quiet', '-algorithm', 'RSA', '-pkeyopt',
	'rsa_keygen_bits:2048', '-out', $key);
my ($modulus) = `openssl rsa -in $key -noout -modulus` =~ /Modulus=(\w+)/;
my $n = `python3 -c 'print(int("$modulus", 16))'`;
chomp $n;
$google->{http}->post($google->url . '_control/state',
	{ content => "{\"public_key\": [$n, 65537]}" });
credential(
	type => 'service_account',
	client_email => 'bot@project.example.org',
	private_key => slurp_file($key),
	token_url => "${url}token");
settle($node, $session);
is(wait_state($session, 'j-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a service account signs in by its key');

# credentials in files: a key as Google hands it out, with members that are of no
# use here, and a consent that is replaced in its file
$session->query("ALTER SYSTEM SET booking.credential_directory = '$folder'");
$session->query('SELECT pg_reload_conf()');
wait_until('the folder is set',
	sub { $session->query('SHOW booking.credential_directory') eq $folder });
put_file(
	"$folder/bot.json",
	type => 'service_account',
	project_id => 'project',
	private_key_id => 'key',
	client_email => 'bot@project.example.org',
	private_key => slurp_file($key),
	token_url => "${url}token");
credential(type => 'service_account', file => 'bot.json');
claim('j-2', hour(7, 12));
settle($node, $session);
is(wait_state($session, 'j-2', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a service account whose key is in a file');
$google->set(rotate => JSON::PP::false);
foreach my $round (1 .. 2)
{
	$google->set(refresh => ["refresh-$round"], expire_access => JSON::PP::true);
	put_file(
		"$folder/consent.json",
		client_id => 'client',
		client_secret => 'SECRET-CLIENT',
		refresh_token => "refresh-$round",
		token_url => "${url}token");
	credential(type => 'refresh_token', file => 'consent.json') if $round == 1;
	claim("j-file-$round", hour(7 + $round, 12));
	settle($node, $session);
	is(wait_state($session, "j-file-$round", 'created confirmed create confirmed'),
		'created confirmed create confirmed', "the refresh token of the file, $round");
}

# the client of an app in one place, for all accounts that use it
put_file(
	"$folder/app.json",
	client_id => 'client',
	client_secret => 'SECRET-CLIENT',
	token_url => "${url}token");
$google->set(refresh => [ 'refresh-app', 'refresh-other' ]);
credential(type => 'refresh_token', app => 'app.json', refresh_token => 'refresh-app');
$session->query("SELECT booking_account_put('t', 'h', 'google', '$url')");
$session->query(
	q|SELECT booking_credential_put('t', 'h', '{"type": "refresh_token", "app": "app.json", "refresh_token": "refresh-other"}')|
);
claim('app-1', hour(10, 12));
settle($node, $session);
is(wait_state($session, 'app-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'a consent to an app whose secret is in a file');
unlike($session->query("CALL booking_account_check('t', 'h')"), qr/"ok": false/, 'and another one to the same app');
put_file("$folder/app.json", client_id => 'client', client_secret => 'SECRET-OLD', token_url => "${url}token");
$google->set(expire_access => JSON::PP::true);
claim('app-2', hour(11, 12));
wait_until('the account is parked',
	sub { $session->query("SELECT parked FROM booking.account WHERE account = 'g'") eq 't' });
is( $session->query("SELECT problem FROM booking.account WHERE account = 'g'"),
	'sign-in: invalid_client', 'a secret that is wrong there is wrong for all');
put_file("$folder/app.json", client_id => 'client', client_secret => 'SECRET-CLIENT', token_url => "${url}token");
credential(type => 'refresh_token', app => 'app.json', refresh_token => 'refresh-app');
settle($node, $session);
is(wait_state($session, 'app-2', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'and right for all when it is changed');
my %wrong = (
	'58P01' => { app => 'missing.json' },
	'42501' => { app => '/etc/hostname' },
	'22023' => { app => 'app.json', refresh_token => '' });
foreach my $sqlstate (sort keys %wrong)
{
	my $json = encode_json({ type => 'refresh_token', refresh_token => 'x', %{ $wrong{$sqlstate} } });

	fails_with($session, "SELECT booking_credential_put('t', 'g', '$json')", $sqlstate, "refused: $json");
}
put_file("$folder/half.json", client_id => 'client');
my $told = fails_with($session,
	q|SELECT booking_credential_put('t', 'g', '{"type": "refresh_token", "app": "half.json", "refresh_token": "x"}')|,
	'22023', 'an app without a secret');
like($told->{text}, qr/lacks a valid "client_secret"/, 'says so');
$session->query('CREATE ROLE nobody LOGIN');
$session->query("SELECT booking_bind_role('nobody', 't')");
my $nobody = session($node, user => 'nobody');
fails_with($nobody,
	q|SELECT booking_credential_put('t', 'g', '{"type": "refresh_token", "app": "app.json", "refresh_token": "x"}')|,
	'42501', 'only who may read the file may name it');
$nobody->quit;
$session->query("SELECT booking_account_remove('t', 'h')");

# client credentials
credential(
	type => 'client_credentials',
	client_id => 'client',
	client_secret => 'SECRET-CLIENT',
	scope => 'calendars',
	token_url => "${url}token");
claim('k-1', hour(6, 11));
settle($node, $session);
is(wait_state($session, 'k-1', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'client credentials');
is($google->look->{token_calls}[-1]{scope}, 'calendars', 'with their scope');
my $findings = decode_json($session->query("CALL booking_account_check('t', 'g')"));
is_deeply([ grep { !$_->{ok} } @$findings ], [], 'the account check finds nothing wrong');

$google->set(expire_access => JSON::PP::true);
like($session->query("CALL booking_account_check('t', 'g')"),
	qr/another one is got/, 'a check meets a token that ended early, and says so');
$findings = decode_json($session->query("CALL booking_account_check('t', 'g')"));
is_deeply([ grep { !$_->{ok} } @$findings ], [], 'and the next one has another');
$google->set(token_error => [ 400, 'invalid_scope' ], expire_access => JSON::PP::true);
$session->query("CALL booking_account_check('t', 'g')");
like($session->query("CALL booking_account_check('t', 'g')"),
	qr/No access token could be got: invalid_scope/, 'a check says why there is none');

# nothing that a client of Google should not do, and no secret anywhere
is_deeply($google->look->{complaints}, [], 'the mock has no complaint');
unlike(slurp_file($node->logfile), qr/SECRET|refresh-|BEGIN PRIVATE/, 'no secret is in the log');
foreach my $table (qw(account operation attempt cursor intent event))
{
	unlike($session->query("SELECT string_agg(x::text, ' ') FROM booking.$table x"),
		qr/SECRET|refresh-\d/, "no secret is in booking.$table");
}
is_clean($session, 'after all');
$node->stop;
done_testing();

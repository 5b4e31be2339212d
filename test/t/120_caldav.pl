# test/t/120_caldav.pl
#
# The whole way on real servers: a committed claim becomes exactly one event,
# its successor the same event at another time, and its cancellation none.
# Whatever the ledger says of the event is compared with what an independent
# client finds in the collection.
#
# Proves R26 (a retry of a call makes no second event), R39 (a reschedule moves
# the event instead of making another), and that a refused password is tried once
# and never again by itself.

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

# An hour of a day in 2030.
sub hour
{
	my ($hour, $day) = @_;
	return sprintf("[2030-05-%02d %02d:00+00, 2030-05-%02d %02d:30+00)",
		$day // 1, $hour, $day // 1, $hour);
}

# Claim, and return the disposition.
sub claim
{
	my ($intent, $resource, $during, $more) = @_;
	my $function = $resource =~ /^ARRAY/ ? 'booking_claim_all' : 'booking_claim';

	$more //= '';
	return $session->query(
		"SELECT disposition FROM $function('t', 'p', '$intent', $resource, '$during'$more)"
	);
}

sub cancel
{
	my ($intent) = @_;
	return $session->query(
		"SELECT disposition FROM booking_cancel('t', 'p', '$intent')");
}

# Id, place and version of an intent's event, as the ledger knows them.
sub known
{
	my ($intent) = @_;
	my %known;

	@known{qw(uid href etag)} = $session->row(<<"EOQ");
SELECT o.event_id, o.href, o.etag FROM booking.operation o
  JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1
EOQ
	return \%known;
}

foreach my $kind (qw(radicale xandikos))
{
	my $server = Booking::Caldav->new($kind);
	my $x = $kind;

	attach($session, $server, $server->url, $kind, "$x-a", "$x-b");
	$session->query("SELECT booking_resource_put('t', '$x-local', 1)");

	# create
	is( claim(
			"$x-1", "'$x-a'", hour(10),
			q(, terms => '{"event": {"summary": "Görlitz; a, b"}}')),
		'committed',
		"$kind: claim");
	is(wait_state($session, "$x-1", 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$kind: the claim is an event");
	my $known = known("$x-1");
	my $event = $server->list("/user/$x-a/")->{ $known->{uid} };

	is_deeply(
		[ @$event{qw(href etag start sequence)}, scalar keys %{ $server->list("/user/$x-a/") } ],
		[ @$known{qw(href etag)}, '20300501T100000Z', 0, 1 ],
		"$kind: one event, where and as the ledger says");
	is($event->{summary}, 'Görlitz\\; a\\, b', "$kind: its summary");

	# the same again
	claim("$x-1", "'$x-a'", hour(10),
		q(, terms => '{"event": {"summary": "Görlitz; a, b"}}'))
	  for 1 .. 3;
	is($session->query('SELECT count(*) FROM booking.operation'
			  . " WHERE calendar = '$x-a'"),
		1, "$kind: a redial wants nothing new");

	# move
	is(claim("$x-2", "'$x-a'", hour(12), ", supersedes => '$x-1'"),
		'committed', "$kind: reschedule");
	is(wait_state($session, "$x-2", 'created confirmed update confirmed'),
		'created confirmed update confirmed', "$kind: the event has moved");
	my $moved = known("$x-2");
	my $events = $server->list("/user/$x-a/");

	is($moved->{uid}, $known->{uid}, "$kind: it is the same event");
	is_deeply(
		[ map { [ @$_{qw(href etag start sequence)} ] } values %$events ],
		[ [ $known->{href}, $moved->{etag}, '20300501T120000Z', 1 ] ],
		"$kind: one event, same place, later, with a higher SEQUENCE");
	isnt($moved->{etag}, $known->{etag}, "$kind: the new version is known");
	is_row(
		$session,
		"SELECT i.state, i.successor, count(r.*) FROM booking.intent i"
		  . " LEFT JOIN booking.reservation r USING (intent_id) WHERE intent = '$x-1' GROUP BY 1, 2",
		[ 'canceled', "$x-2", 0 ],
		"$kind: the predecessor is canceled and holds nothing");

	# cancel
	is(cancel("$x-2"), 'canceled', "$kind: cancel");
	is(wait_state($session, "$x-2", 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed', "$kind: the event is gone");
	is_deeply($server->list("/user/$x-a/"), {}, "$kind: the collection is empty");

	# several resources: one event, on the first one's calendar
	claim("$x-3", "ARRAY['$x-b', '$x-a']", hour(14), ', units => 2');
	wait_state($session, "$x-3", 'created confirmed create confirmed');
	is_deeply(
		[ map { scalar keys %{ $server->list("/user/$x-$_/") } } qw(b a) ],
		[ 1, 0 ],
		"$kind: two resources and two units are one event, in the first's calendar");

	# no calendar
	is(claim("$x-4", "'$x-local'", hour(14)), 'committed', "$kind: local claim");
	is(Booking::Caldav::state($session, "$x-4"),
		'committed not_required', "$kind: without a calendar it stays local");

	# a successor in another calendar is a new event, and the old one goes
	claim("$x-5", "'$x-a'", hour(16), ", supersedes => '$x-3'");
	wait_state($session, "$x-5", 'created confirmed create confirmed');
	is(wait_state($session, "$x-3", 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed',
		"$kind: the event in the old calendar is deleted");
	is_deeply(
		[ map { scalar keys %{ $server->list("/user/$x-$_/") } } qw(b a) ],
		[ 0, 1 ],
		"$kind: the event has changed calendars");

	# canceled before it was sent
	$session->query("ALTER SYSTEM SET booking.worker = off");
	$session->query('SELECT pg_reload_conf()');
	wait_until('the worker pauses',
		sub { $session->query('SELECT state FROM booking_worker_status()') eq 'paused' });
	claim("$x-6", "'$x-a'", hour(18));
	is(cancel("$x-6"), 'canceled', "$kind: cancel before the event is sent");
	is(Booking::Caldav::state($session, "$x-6"),
		'canceled not_attempted create dropped',
		"$kind: nothing is wanted any more");
	$session->query("ALTER SYSTEM RESET booking.worker");
	$session->query('SELECT pg_reload_conf()');
	claim("$x-7", "'$x-a'", hour(20));
	wait_state($session, "$x-7", 'created confirmed create confirmed');
	is_row(
		$session,
		"SELECT count(*) FROM booking.attempt a JOIN booking.operation o USING (operation_id)"
		  . " JOIN booking.intent i USING (intent_id) WHERE intent = '$x-6'",
		[0],
		"$kind: and it was never sent");
	is(scalar keys %{ $server->list("/user/$x-a/") },
		2, "$kind: only what is booked is there");

	# what works, in words
	$session->query("CALL booking_account_check('t', '$kind')");
	is( $session->query(<<"EOQ"),
SELECT count(*) FILTER (WHERE (f ->> 'ok')::bool) > 0, count(*) FILTER (WHERE NOT (f ->> 'ok')::bool)
  FROM booking.account_check, jsonb_array_elements(findings) f WHERE account = '$kind'
EOQ
		"t\x1f0",
		"$kind: booking_account_check finds nothing wrong");
	is_clean($session, $kind);
}

# A password that is refused is not tried again, or the provider locks the
# account; a new one goes on with what is left.
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
attach($session, $server, $proxy->url, 'guarded', 'g');
$session->query(
	"SELECT booking_credential_put('t', 'guarded', '{\"type\": \"basic\", \"username\": \"user\", \"password\": \"wrong\"}')"
);
claim('g1', "'g'", hour(9));
is(wait_state($session, 'g1', 'approved not_attempted create waiting calendar_unread'),
	'approved not_attempted create waiting calendar_unread',
	'refused password: nothing was done');
claim('g2', "'g'", hour(11));
$session->query("CALL booking_account_check('t', 'radicale')");
is_row($session,
	"SELECT parked FROM booking.account WHERE account = 'guarded'",
	['t'], 'refused password: the account is parked');
is(scalar($proxy->log), 1, 'refused password: one request was sent');
$session->query("CALL booking_account_check('t', 'guarded')");
like(
	$session->query(
		"SELECT findings FROM booking.account_check WHERE account = 'guarded'"),
	qr/"ok": false, "text": "[^"]*(password|credential|sign)/i,
	'booking_account_check says that the password is refused');
$session->query(
	"SELECT booking_credential_put('t', 'guarded', '{\"type\": \"basic\", \"username\": \"user\", \"password\": \"correct horse\"}')"
);
settle($node, $session);
is_row($session,
	"SELECT count(*) FROM booking.intent WHERE intent IN ('g1', 'g2') AND state = 'created'",
	[2],
	'a new password goes on with all that waited');
is(scalar keys %{ $server->list('/user/g/') }, 2, 'and each is one event');

# What is wrong with a calendar is said as well.
$session->query("SELECT booking_resource_put('t', 'nowhere', 1)");
$session->query(
	"SELECT booking_calendar_put('t', 'nowhere', 'guarded', '/user/nowhere/', 'nowhere')"
);
$session->query("CALL booking_account_check('t', 'guarded')");
like(
	$session->query(
		"SELECT findings FROM booking.account_check ORDER BY check_id DESC LIMIT 1"),
	qr/"ok": false, "text": "[^"]*(calendar|collection|not found)/i,
	'booking_account_check says that a calendar is missing');

# one that was asked for first, and is seen later than the next one
my $asking = session($node);
$asking->query('BEGIN');
my $early = $asking->query(
	"INSERT INTO booking.account_check (tenant, account, asked_at) VALUES ('t', 'guarded', now()) RETURNING check_id");
$session->query("CALL booking_account_check('t', 'guarded')");
cmp_ok($session->query('SELECT max(check_id) FROM booking.account_check'), '>', $early, 'a later check is answered');
$asking->query('COMMIT');
$session->query("SELECT booking_sync('t', 'nowhere')");
wait_until('the earlier check is answered',
	sub { $session->query("SELECT done_at IS NOT NULL FROM booking.account_check WHERE check_id = $early") eq 't' });
claim('n1', "'nowhere'", hour(9));
like(wait_state($session, 'n1', 'failed rejected create rejected calendar_gone'),
	qr/^failed rejected create rejected calendar_gone$/,
	'a claim for a calendar that is not there fails and says so');
is_clean($session, 'at the end');
done_testing();

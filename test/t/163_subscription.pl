# test/t/163_subscription.pl
#
# Who subscribes to a tenant's changes is sent each of them: as a CloudEvent,
# signed as Standard Webhooks says, with every secret that there is, and with an
# id that names the change for this subscriber however often it is sent.  Filters
# choose, subscribers do not know of each other, a replay sends again what was
# sent, byte for byte, and 410 ends it.  Nobody but the tenant's own roles looks
# after subscriptions, and no secret is in the log, in a view or in a dump that
# does not ask for it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use Booking::Subscriber;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $receiver = Booking::Subscriber->new;
my ($node, $session) = worker_node('main', conf => "booking.poll_interval = '1h'\n");
my $first = secret('the first one');
my $second = secret('another one');

$session->query("SELECT booking_permit_all('t', p) FROM unnest(ARRAY['ann', 'bob']) p");
$session->query("SELECT booking_resource_put('t', r) FROM unnest(ARRAY['room', 'desk']) r");

sub put
{
	my ($name, $filter, $secret) = @_;
	return sprintf("SELECT booking_subscription_put('t', '%s', '%s', '%s', %s)",
		$name, $receiver->url($name), $secret // $first, $filter // 'NULL');
}

sub book
{
	my ($principal, $intent, $resource, $hour) = @_;
	return $session->query(
		sprintf("SELECT disposition FROM booking_claim('t', '%s', '%s', '%s', tstzrange('2030-01-02 %02d:00+00', '2030-01-02 %02d:00+00'))",
			$principal, $intent, $resource, $hour, $hour + 1));
}

# What a subscriber was told: of each intent the states, in the order of arrival.
sub told
{
	my %states;

	push @{ $states{ $_->{body}{subject} } }, $_->{body}{data}{state} foreach @_;
	return join(' ', map { join('=', $_, @{ $states{$_} }) } sort keys %states);
}

# ----------------------------------------------------------------------------
# One change
# ----------------------------------------------------------------------------

$receiver->secrets('crm', $first, $second);
$session->query(put('crm'));
is(book('ann', 'one', 'room', 8), 'committed', 'a claim');
my ($request) = $receiver->wait_for('crm', 1);
my $body = $request->{body};

is($request->{type}, 'application/cloudevents+json; charset=utf-8', 'a CloudEvent in structured form');
ok($request->{fresh}, 'its timestamp is of now');
is_deeply($request->{verified}, [ [0], [] ], 'signed with its secret');
is($request->{id}, $body->{id}, 'one id');
unlike($request->{id}, qr/\./, 'without a dot, which would make two texts one');
is_deeply([ @$body{qw(specversion type subject datacontenttype)} ],
	[ '1.0', 'booking.recorded', 'one', 'application/json' ], 'what CloudEvents asks for');
like($body->{source}, qr/^urn:booking:[0-9a-f]+$/, 'and a source');
like($body->{time}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/, 'and a time');
is_deeply(
	[ @{ $body->{data} }{qw(position tenant principal intent kind disposition state units start end)}, @{ $body->{data}{resources} } ],
	[ 1, 't', 'ann', 'one', 'recorded', 'committed', 'committed', 1, '2030-01-02T08:00:00.000000Z', '2030-01-02T09:00:00.000000Z', 'room' ],
	'the change');
wait_until('it is recorded', sub { $session->query("SELECT delivered FROM booking_subscriptions('t')") == 1 });

# ----------------------------------------------------------------------------
# Several subscribers, each with its filter
# ----------------------------------------------------------------------------

$session->query(put('rooms', q('{"resources": ["room"]}')));
$session->query(put('bobs', q('{"principals": ["bob"]}')));
$session->query(put('changes', q('{"types": ["booking.changed"]}')));
$session->query(put('this', q('{"intents": ["four"], "resources": ["desk", "room"]}')));
$session->query(put('never', q('{"intents": ["four"], "resources": ["hall"]}')));
book('bob', 'two', 'desk', 9);
book('ann', 'three', 'room', 9);
book('bob', 'four', 'room', 10);
$session->query("SELECT booking_cancel('t', 'bob', 'four')");
is(told($receiver->wait_for('crm', 5)), 'four=committed=canceled one=committed three=committed two=committed', 'all to the first')
  or diag($session->query('SELECT * FROM booking.outbox'));
is(told($receiver->wait_for('rooms', 3)), 'four=committed=canceled three=committed', 'by resource');
is(told($receiver->wait_for('bobs', 3)), 'four=committed=canceled two=committed', 'by principal');
is(told($receiver->wait_for('changes', 1)), 'four=canceled', 'by type');
is(told($receiver->wait_for('this', 2)), 'four=committed=canceled', 'by intent and resource');
wait_until('all is recorded', sub { $session->query("SELECT count(*) FROM booking.outbox WHERE state = 'waiting'") == 0 });
is(scalar $receiver->requests('never'), 0, 'nothing is sent that fits in part');
my %ids = map { $_->{id} => 1 } map { $receiver->requests($_) } qw(crm rooms bobs changes this);
is(scalar keys %ids, 14, 'each change has an id of its own for each subscriber');
wait_until('the feed is acknowledged', sub { $session->query('SELECT count(*) FROM booking.change') == 0 });
pass('what was copied leaves the feed');

# ----------------------------------------------------------------------------
# Rotation
# ----------------------------------------------------------------------------

is($session->query("SELECT booking_subscription_secret_put('t', 'crm', '$second')"), 2, 'a second secret');
$session->query("SELECT booking_subscription_put('t', 'crm', NULL, '$second')");
is($session->query("SELECT secret_numbers FROM booking_subscriptions('t') WHERE name = 'crm'"), '{1,2}', 'the same again is none');
book('ann', 'five', 'desk', 11);
($request) = ($receiver->wait_for('crm', 6))[5];
is($request->{signatures}, 2, 'two signatures');
is_deeply($request->{verified}, [ [1], [0] ], 'one of each, the newest first');
is($session->query("SELECT booking_subscription_secret_retire('t', 'crm', 1)"), 1, 'the first is retired');
book('ann', 'six', 'desk', 12);
($request) = ($receiver->wait_for('crm', 7))[6];
is_deeply($request->{verified}, [ [], [0] ], 'one signature, of the second');
fails_with($session, "SELECT booking_subscription_secret_retire('t', 'crm', 2)", '55000', 'the last one stays');
fails_with($session, "SELECT booking_subscription_secret_retire('t', 'crm', 1)", '42704', 'and the retired one is gone');
$session->query("SELECT booking_subscription_secret_put('t', 'crm', '" . secret("more $_") . "')") foreach 1, 2;
fails_with($session, "SELECT booking_subscription_secret_put('t', 'crm', '" . secret('too many') . "')", '54000', 'there are not many');
$session->query("SELECT booking_subscription_secret_retire('t', 'crm', $_)") foreach 3, 4;

# ----------------------------------------------------------------------------
# Replay
# ----------------------------------------------------------------------------

wait_until('all is recorded', sub { $session->query("SELECT count(*) FROM booking.outbox WHERE state = 'waiting'") == 0 });
my @before = grep { $_->{body}{data}{position} >= 3 } $receiver->requests('crm');
is($session->query("SELECT booking_subscription_replay('t', 'crm', 3)"), 5, 'a replay from a position');
my @after = $receiver->wait_for('crm', 12);
is_deeply([ sort map { $_->{id} } @after[ 7 .. 11 ] ], [ sort map { $_->{id} } @before ], 'under the same ids');
is_deeply([ sort map { $_->{raw} } @after[ 7 .. 11 ] ], [ sort map { $_->{raw} } @before ], 'byte for byte');
is_deeply([ map { $_->{body}{data}{revision} } grep { $_->{body}{subject} eq 'four' } @after[ 7 .. 11 ] ],
	[ map { $_->{body}{data}{revision} } grep { $_->{body}{subject} eq 'four' } @before ], 'in the order of the intent');
is(scalar $receiver->requests('rooms'), 3, 'and to nobody else');

# ----------------------------------------------------------------------------
# An end
# ----------------------------------------------------------------------------

$receiver->behave('rooms', '410');
book('ann', 'seven', 'room', 13);
wait_until('410 disables', sub { $session->query("SELECT state FROM booking_subscriptions('t') WHERE name = 'rooms'") eq 'disabled' });
is_row($session, "SELECT problem, failures, dead FROM booking_subscriptions('t') WHERE name = 'rooms'", [ 'gone', 1, 1 ], 'with the reason');
is_row($session, "SELECT name, calls[1] FROM booking.subscription_trouble WHERE tenant = 't'",
	[ 'rooms', "SELECT booking_subscription_put('t', 'rooms')" ], 'whoever looks for trouble sees it, and what to do');
fails_with($session, "SELECT booking_subscription_replay('t', 'rooms', 0)", '55000', 'nothing is replayed to it');
$receiver->behave('rooms', '200');
book('ann', 'eight', 'room', 14);
$receiver->wait_for('crm', 14);
$session->query("SELECT booking_subscription_put('t', 'rooms')");
book('ann', 'nine', 'room', 15);
is(told(($receiver->wait_for('rooms', 5))[ 3 .. 4 ]), 'nine=committed seven=committed', 'put again it goes on with what comes');
is($session->query("SELECT booking_subscription_replay('t', 'rooms', 8)"), 2, 'what was given up may be replayed');

$session->query("SELECT booking_subscription_disable('t', 'bobs')");
$session->query("SELECT booking_subscription_remove('t', n) FROM unnest(ARRAY['changes', 'this', 'never', 'crm', 'rooms']) n");
book('bob', 'ten', 'desk', 16);
is($session->query('SELECT count(*) FROM booking.change'), 0, 'without any that is enabled no change is written');
is($session->query("SELECT string_agg(DISTINCT s.name, ' ') FROM booking.outbox o JOIN booking.subscription s USING (subscription_id)"), 'bobs', 'deliveries go with their subscription');
is($session->query('SELECT count(DISTINCT subscription_id) FROM booking.subscription_secret'), 1, 'secrets too');

# ----------------------------------------------------------------------------
# What is refused, and to whom
# ----------------------------------------------------------------------------

# the server logs statements that fail, with what they say
my $refused = secret('of statements that fail');
fails_with($session, "SELECT booking_subscription_put('t', 'new', 'https://example.org/')", '22004', 'no secret');
fails_with($session, "SELECT booking_subscription_put('t', 'new', NULL, '$refused')", '22004', 'no URL');
fails_with($session, "SELECT booking_subscription_put('t', 'new', 'https://example.org/', 'whsec_short')", '22023', 'no secret of its kind');
fails_with($session, "SELECT booking_subscription_put('t', 'new', '$_', '$refused')", '22023', "no URL: $_")
  foreach 'ftp://example.org/', 'https://me@example.org/', 'https://example.org/?a=b', '/hook';
fails_with($session, "SELECT booking_subscription_put('t', 'new', 'https://example.org/', '$refused', '$_')", '22023', "no filter: $_")
  foreach '[]', '{"type": ["booking.moved"]}', '{"types": ["moved"]}', '{"types": []}', '{"intents": "one"}', '{"intents": [1]}';
fails_with($session, "SELECT booking_subscription_$_", '42704', "unknown: $_")
  foreach "remove('t', 'x')", "disable('t', 'x')", "replay('t', 'x', 0)", "secret_put('t', 'x', '$refused')";
$session->query('CREATE ROLE app; CREATE ROLE other');
$session->query("SELECT booking_bind_role('app', 't'), booking_bind_role('other', 'u')");
$session->query("GRANT EXECUTE ON FUNCTION booking_subscriptions(text), booking_subscription_remove(text, text), booking_subscription_replay(text, text, bigint) TO app, other");
$session->query('SET ROLE other');
fails_with($session, "SELECT * FROM booking_subscriptions('t')", '42501', 'a role of another tenant');
fails_with($session, "SELECT booking_subscription_remove('t', 'bobs')", '42501', 'removes none either');
$session->query('SET ROLE app');
is($session->query("SELECT name FROM booking_subscriptions('t')"), 'bobs', 'a role of the tenant sees them');
fails_with($session, "SELECT * FROM booking.$_", '42501', "and not booking.$_")
  foreach 'subscription', 'subscription_secret', 'outbox', 'subscription_trouble';
fails_with($session, "SELECT booking_subscription_put('t', 'x')", '42501', 'a function needs a grant');
$session->query('RESET ROLE');
is($session->query("SELECT string_agg(DISTINCT action, ' ' ORDER BY action) FROM booking.audit WHERE action LIKE 'subscription%'"),
	'subscription_disable subscription_put subscription_remove subscription_replay subscription_secret_put subscription_secret_retire', 'all of it is audited');
is_clean($session, 'at the end');

my $log = slurp_file($node->logfile);
my $dump = $node->safe_psql('postgres', "SELECT string_agg(x::text, '') FROM booking.subscription x") . slurp_dump();
foreach my $secret ($first, $second)
{
	is(index($log, $secret), -1, 'no secret is in the log');
	is(index($dump, $secret) + index($dump, unpack('H*', $secret)), -2, 'or in a dump');
}

sub slurp_dump
{
	my $file = $node->basedir . '/dump.sql';

	$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('postgres') ], 'a dump');
	return slurp_file($file);
}

done_testing();

# test/t/164_subscription_faults.pl
#
# What a subscriber does, and what becomes of the worker, loses no change, sends
# none before an earlier one of the same intent is settled, and keeps nobody else
# waiting.  An answer that is lost and a worker that is killed cost a repetition
# under the same id.  A subscriber that fails is left alone for longer each time,
# for what its Retry-After says, and after enough failures but for one request at
# a time; its alarms come at the first, the fifth and the twentieth.  What fails
# too often is dead, with the reason, and the next change of that intent goes on.
# Requests go where the rules for providers let them, and follow no redirect.

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
use Time::HiRes 'time';

my $receiver = Booking::Subscriber->new;
my ($node, $session) = worker_node('main', conf => "booking.poll_interval = '1h'\nbooking.max_attempts = 7\n");
my $secret = secret('secret');
my $day = 0;

sub put
{
	my ($name, $filter) = @_;
	$receiver->secrets($name, $secret);
	return $session->query(
		sprintf("SELECT booking_subscription_put('t', '%s', '%s', '%s', %s)",
			$name, $receiver->url($name), $secret, $filter // 'NULL'));
}

# Book an intent, on a day of its own.
sub book
{
	my ($intent) = @_;

	$day++;
	return $session->query(
		sprintf("SELECT disposition FROM booking_claim('t', 'ann', '%s', 'room', tstzrange('2030-%02d-%02d 09:00+00', '2030-%02d-%02d 10:00+00'))",
			$intent, (1 + int($day / 28), 1 + $day % 28) x 2));
}

sub cancel
{
	my ($intent) = @_;
	return $session->query("SELECT disposition FROM booking_cancel('t', 'ann', '$intent')");
}

sub told
{
	return join(' ', map { "$_->{body}{subject}=$_->{body}{data}{state}" } @_);
}

# A column of booking_subscriptions.
sub of
{
	my ($name, $column) = @_;
	return $session->query("SELECT $column FROM booking_subscriptions('t') WHERE name = '$name'");
}

sub settled
{
	my ($name) = @_;
	wait_until("nothing waits for $name", sub { of($name, 'waiting') == 0 });
	return;
}

$session->query("SELECT booking_permit_all('t', 'ann')");
$session->query("SELECT booking_resource_put('t', 'room')");

# ----------------------------------------------------------------------------
# Order, and answers that are lost
# ----------------------------------------------------------------------------

put('crm');
put('watch', q('{"types": ["booking.alarm"]}'));
$receiver->behave('crm', 'drop');
book('one');
my ($first) = $receiver->wait_for('crm', 1);
wait_until('the loss is recorded', sub { of('crm', 'failures') == 1 });
is(of('crm', 'problem'), 'no_answer', 'an answer is lost');
is(of('crm', "failed_at IS NOT NULL AND blocked_until IS NULL AND NOT circuit_open"), 't', 'once is not often');
is_row($session, "SELECT tries, reason, next_at - clock_timestamp() < '6s' FROM booking.outbox WHERE state = 'waiting' AND tries > 0",
	[ 1, 'no_answer', 't' ], 'it is sent again after seconds');
cancel('one');
$receiver->behave('crm', '200');
book('two');
is(told(($receiver->wait_for('crm', 2))[1]), 'two=committed', 'another intent goes on');
wait_until('that is recorded', sub { of('crm', 'delivered') == 1 });
is(scalar(my @so_far = $receiver->requests('crm')), 2, 'the cancel waits for what comes before it');
leap($session, 6);
my @requests = $receiver->wait_for('crm', 4);
is(told(@requests[ 2, 3 ]), 'one=committed one=canceled', 'then both, in order');
is($requests[2]{id}, $first->{id}, 'what was lost has the same id again');
is($requests[2]{raw}, $first->{raw}, 'and the same bytes');
is_deeply($requests[2]{verified}, [ [0] ], 'signed anew');
my ($alarm) = $receiver->wait_for('watch', 1);
is_deeply([ $alarm->{body}{type}, @{ $alarm->{body}{data} }{qw(principal revision)}, $alarm->{body}{data}{detail}{reason} ],
	[ 'booking.alarm', 'crm', 1, 'no_answer' ], 'others are told of the first failure');
settled('crm');
is(of('crm', 'failures'), 0, 'one that is accepted ends the row');

# ----------------------------------------------------------------------------
# A worker and a server that are killed between the request and the record
# ----------------------------------------------------------------------------

sub next_request
{
	my ($code) = @_;
	my $before = () = $receiver->requests('crm');

	$code->();
	return ($receiver->wait_for('crm', $before + 1))[$before];
}

$receiver->behave('crm', 'hang');
my $sent = next_request(sub { book('killed') });
my $pid = worker_pid($session);
my $again = next_request(
	sub {
		$receiver->behave('crm', 'hang');
		$session->query("SELECT pg_terminate_backend($pid)");
	});
is($again->{id}, $sent->{id}, 'a worker that was told to end: the same id again');
my $third = next_request(
	sub {
		$node->stop('immediate');
		$receiver->behave('crm', '200');
		$node->start;
		$session = session($node);
		$session->query('SET client_min_messages = error');
	});
is($third->{id}, $sent->{id}, 'a server that was killed: the same id again');
settled('crm');
is(of('crm', 'dead'), 0, 'nothing is skipped');
is(() = $receiver->requests('crm'), 7, 'and nothing is sent once too often');

# ----------------------------------------------------------------------------
# Retry-After
# ----------------------------------------------------------------------------

$receiver->behave('crm', '429 after=600');
book('limited');
wait_until('it is limited', sub { of('crm', 'problem') eq 'rate_limited' });
is(of('crm', "blocked_until - clock_timestamp() > '9 minutes' AND NOT circuit_open"), 't', 'it is left alone as long as it says');
$receiver->behave('crm', '200');
my $before = () = $receiver->requests('crm');
book('not yet');
leap($session, 60);
wait_until('the worker has looked', sub { $session->query("SELECT count(*) FROM booking.outbox WHERE state = 'waiting'") == 2 });
is(() = $receiver->requests('crm'), $before, 'whatever is new');
leap($session, 600);
settled('crm');

# ----------------------------------------------------------------------------
# The circuit
# ----------------------------------------------------------------------------

my $up = () = $receiver->requests('crm');
$receiver->behave('crm', '503');
book("down $_") foreach 1 .. 9;
wait_until('the first fails', sub { of('crm', 'failures') >= 1 });
for (my $n = 0; $n < 60 && of('crm', 'circuit_open') eq 'f'; $n++)
{
	my $failures = of('crm', 'failures');

	wait_until('one more fails', sub { of('crm', 'failures') > $failures });
}
is(of('crm', 'circuit_open'), 't', 'the circuit opens');
wait_until('what was out is recorded', sub { of('crm', 'failures') == (() = $receiver->requests('crm')) - $up });
my $failures = of('crm', 'failures');
cmp_ok($failures, '>=', 5, 'after five in a row');
cmp_ok($failures, '<=', 5 + 3, 'and those that were out');
is(of('crm', "blocked_until > failed_at + '14s'"), 't', 'then it is left alone');
$before = () = $receiver->requests('crm');
book('more');
wait_until('it is queued', sub { of('crm', 'waiting') == 10 });
is(() = $receiver->requests('crm'), $before, 'whatever comes');
$session->query("SELECT pg_terminate_backend(" . worker_pid($session) . ")");
wait_until('there is another worker', sub { worker_pid($session) =~ /\A\d+\z/ });
is(of('crm', 'circuit_open'), 't', 'another worker knows');
leap($session, 700);
wait_until('one is tried', sub { of('crm', 'failures') == $failures + 1 });
is(() = $receiver->requests('crm'), $before + 1, 'one alone');
is(of('crm', "blocked_until > failed_at + '29s'"), 't', 'and it is left alone for longer');
$receiver->behave('crm', '200');
leap($session, 4000);
settled('crm');
is(of('crm', "failures || ' ' || circuit_open"), '0 false', 'one that is accepted closes it');
is($session->query("SELECT count(DISTINCT o.intent_id) FROM booking.outbox o WHERE o.state = 'delivered' AND o.body::jsonb ->> 'subject' LIKE 'down%'"), 9, 'and all are delivered');

# ----------------------------------------------------------------------------
# Dead letters
# ----------------------------------------------------------------------------

put('picky', q('{"intents": ["bad", "good"]}'));
$receiver->behave('picky', '400');
book('bad');
for (my $n = 1; $n <= 7; $n++)
{
	wait_until("try $n", sub { of('picky', 'failed') == $n });
	$receiver->behave('picky', '200') if $n == 7;
	cancel('bad') if $n == 6;
	leap($session, 7300) if $n < 7;
}
wait_until('it is given up', sub { of('picky', 'dead') == 1 });
is_row($session, "SELECT o.state, o.tries, o.status, o.reason FROM booking.outbox o JOIN booking.subscription s USING (subscription_id) WHERE s.name = 'picky' ORDER BY o.position LIMIT 1",
	[ 'dead', 7, 400, 'refused' ], 'with the reason');
leap($session, 7300);
settled('picky');
is(told(($receiver->requests('picky'))[7]), 'bad=canceled', 'and the next change of the intent goes on');
is_row($session, "SELECT dead, calls[2] FROM booking.subscription_trouble WHERE name = 'picky'",
	[ 1, $session->query("SELECT format('SELECT booking_subscription_replay(''t'', ''picky'', %s)', min(position)) FROM booking.outbox WHERE state = 'dead'") ],
	'whoever looks for trouble sees what to call');
is_deeply([ sort { $a <=> $b } map { $_->{body}{data}{revision} } grep { $_->{body}{data}{principal} eq 'picky' } $receiver->wait_for('watch', 6) ],
	[ 1, 5 ], 'alarms at the first and the fifth');

# ----------------------------------------------------------------------------
# Where requests go
# ----------------------------------------------------------------------------

put('moved');
$receiver->behave('moved', '307 location=' . $receiver->url('elsewhere'));
put('large');
$receiver->behave('large', 'big');
$session->query("SELECT booking_subscription_put('t', 'plain', 'http://localhost:$receiver->{port}/plain', '$secret')");
$session->query("SELECT booking_subscription_put('t', 'inside', 'https://10.0.0.1/', '$secret')");
book('where');
wait_until('all have failed', sub { $session->query("SELECT count(*) FROM booking_subscriptions('t') WHERE name IN ('moved', 'plain', 'inside') AND failures > 0") == 3 });
is(of('moved', 'problem'), 'redirected', 'a redirect is a failure');
is(() = $receiver->requests('elsewhere'), 0, 'and is not followed');
is(of('plain', 'problem'), 'not_allowed', 'http goes to hosts of booking.insecure_hosts only');
is(of('inside', 'problem'), 'not_allowed', 'and nothing to networks of others');
wait_until('a large answer is one', sub { of('large', 'delivered') == 1 });
$session->query("SELECT booking_subscription_remove('t', n) FROM unnest(ARRAY['moved', 'large', 'plain', 'inside', 'picky', 'watch']) n");

# ----------------------------------------------------------------------------
# One that hangs keeps nobody waiting
# ----------------------------------------------------------------------------

my $calendar = Booking::Stub->new;
my @slow = map { "slow$_" } 1 .. 20;

foreach my $name (@slow)
{
	$receiver->behave($name, 'hang');
	put($name);
}
book("hangs $_") foreach 1 .. 6;
wait_until('as many as may be hang', sub {
	my $out = 0;
	$out += () = $receiver->requests($_) foreach @slow;
	return $out >= 60;
});
$calendar->client($session, 'quick', 'store');
my $begin = time();
claim($session, 'quick', 'write');
is_settled($session, 'write', 'create confirmed', 'a write to a provider is done');
cmp_ok(time() - $begin, '<', 10, 'without waiting for subscribers');
is((grep { (() = $receiver->requests($_)) > 4 } @slow), 0, 'of which a few at a time are out to each');

is_clean($session, 'at the end');
is(index(slurp_file($node->logfile), $secret), -1, 'no secret is in the log');
$receiver->stop;
$calendar->stop;

done_testing();

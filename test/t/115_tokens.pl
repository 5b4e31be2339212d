# test/t/115_tokens.pl
#
# Access tokens where several need one, and where one is of no use.
#
# Sixteen sessions whose token has ended meet one sign-in, whatever they wait for.
# A credential that may read and not write is found out: that its readings are
# accepted, which come before every write, does not vouch for the writes.
#
# Proves R101 (one refresh for all).

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

foreach my $kind (kinds())
{
	my ($node, $session) = provider_node($kind, conf => "max_connections = 40\n");
	my $place = mocked($session, $kind);
	my $mock = $place->mock;
	my $calls = sub { scalar @{ $mock->look->{token_calls} } };

	$place->credential($place->signing_in);
	$session->query("CALL booking_account_check('t', 'm')");
	is($calls->(), 1, "$kind: the first one that needs a token signs in");

	# sixteen sessions, a third each books, checks and reads
	my @sessions = map { session($node) } 1 .. 16;
	my @what = (
		"SELECT FROM booking_claim('t', 'p', 'many-%d', 'room', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)')",
		"CALL booking_account_check('t', 'm')",
		"CALL booking_sync_wait('t', 'room')");

	$_->query('SET client_min_messages = error') foreach @sessions;
	$mock->set(expire_access => JSON::PP::true);
	$session->query("UPDATE booking.token SET renew_at = '-infinity'");
	$sessions[$_]->send($what[ $_ % 3 ] =~ s/%d/$_/r) foreach 0 .. 15;
	is_deeply([ map { my $error = $_->receive->{error}; $error ? $error->{text} : () } @sessions ],
		[], "$kind: sixteen sessions meet a token that has ended");
	settle($node, $session);
	is($calls->(), 2, "$kind: one sign-in for all");
	is( $session->query(
			"SELECT count(*) FROM booking.intent WHERE state = 'created'"),
		6, "$kind: and their bookings are events");
	$_->quit foreach @sessions;

	# a token that is refused before its end, by readings and writes alike
	$mock->set(expire_access => JSON::PP::true);
	$session->query(
		"SELECT FROM booking_claim('t', 'p', 'early', 'room', '[2030-05-02 10:00+00, 2030-05-02 11:00+00)')"
	);
	settle($node, $session);
	is(wait_state($session, 'early', 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$kind: one that ended early is got anew");
	is($calls->(), 3, "$kind: once");

	# a credential that may only read: each try is preceded by a reading
	$mock->fault($place->create, $place->refusal(401), 1000);
	$session->query(
		"SELECT FROM booking_claim('t', 'p', 'only', 'room', '[2030-05-03 10:00+00, 2030-05-03 11:00+00)')"
	);
	wait_until(
		'the write is refused',
		sub {
			$session->query("SELECT write_renewed FROM booking.token") eq 't';
		});
	$session->query("CALL booking_sync_wait('t', 'room')");
	is( $session->query("SELECT write_renewed, renewed FROM booking.token"),
		"t\x1ff", "$kind: a reading does not vouch for writes");
	wait_until('the account is parked',
		sub { $session->query('SELECT parked FROM booking.account') eq 't' });
	is( $session->query('SELECT parked, problem FROM booking.account'),
		"t\x1fauth_refused", "$kind: the second refusal parks the account");
	is($calls->(), 4, "$kind: after one more sign-in");
	like(Booking::Caldav::state($session, 'only'),
		qr/^approved not_attempted create waiting/, "$kind: and nothing is lost");
	$mock->set(faults => []);
	$place->credential($place->signing_in);
	settle($node, $session);
	is(wait_state($session, 'only', 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$kind: a new credential lets it go on");
	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();

# test/t/103_mock_tokens.pl
#
# Many workers whose access tokens have ended at the same moment: sixteen databases
# with a worker each, and in each some bookings that need a token.  A consent is
# the database's own, and Google's answer voids the refresh token that was used, so
# whoever asked twice would lose it.  Each worker asks once.
#
# Whoever is told that its refresh token is void looks whether another one has been
# stored meanwhile, before a person is asked to consent again.
#
# Proves R101 (one refresh for all; what another one has stored is used).

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

my $databases = 16;
my $bookings = 4;
my @names = map { "d$_" } 1 .. $databases;

my ($node, $session) = provider_node('main',
	conf => "max_connections = 60\nmax_worker_processes = 40\nfsync = off\n");
my $google = Booking::Google->new(@names);
my $url = $google->url;
my %in;

# Sign-ins so far, by the refresh token that was used.
sub signed_in
{
	my %calls;

	$calls{ $_->{refresh_token} }++ foreach @{ $google->look->{token_calls} };
	return \%calls;
}

sub claims
{
	my ($round) = @_;
	return "SELECT count(booking_claim('t', 'p', '$round-' || n, 'room',"
	  . " tstzrange(d, d + interval '1 hour'))) FROM generate_series(1, $bookings) n,"
	  . " LATERAL (SELECT timestamptz '2030-05-0$round 00:00+00' + n * interval '1 hour') x (d)";
}

# Wait until all bookings of a database are events.
sub booked
{
	my ($database, $count) = @_;
	my $sql = "SELECT count(*) FROM booking.intent WHERE state = 'created'";

	eval { wait_until("those of $database are events", sub { $in{$database}->query($sql) == $count }) };
	return $in{$database}->query($sql);
}

$google->set(rotate => JSON::PP::true, refresh => [ map { "consent-$_" } @names ], pause => 0);
$session->query("CREATE DATABASE $_ TEMPLATE postgres") foreach @names;
foreach my $name (@names)
{
	$in{$name} = session($node, dbname => $name);
	$in{$name}->query($_) foreach (
		'SET client_min_messages = error',
		"SELECT booking_account_put('t', 'g', 'google', '$url')",
		"SELECT booking_credential_put('t', 'g', '"
		  . encode_json(
			{
				type => 'refresh_token',
				client_id => 'client',
				client_secret => 'SECRET-CLIENT',
				refresh_token => "consent-$name",
				token_url => "${url}token"
			})
		  . "')",
		"SELECT booking_permit_all('t', 'p')",
		"SELECT booking_resource_put('t', 'room', 1000)",
		"SELECT booking_calendar_put('t', 'room', 'g', '$name', 'room')");
	$in{$name}->query(claims(1));
}
is_deeply([ map { booked($_, $bookings) } @names ],
	[ ($bookings) x @names ], 'sixteen databases book');
is( $session->query(
		"SELECT count(DISTINCT datname) FROM pg_stat_activity WHERE backend_type = 'booking worker'"
		  . " AND datname <> 'postgres'"),
	$databases, 'by a worker each');
is_deeply(signed_in(), { map { ("consent-$_" => 1) } @names }, 'each has signed in once');

# all tokens end at one moment, and all need one
$google->set(expire_access => JSON::PP::true, token_delay => 0.2);
$in{$_}->send(claims(2)) foreach @names;
is_deeply([ map { $_->receive->{error} } @in{@names} ], [ (undef) x @names ], 'all of them book again');
is_deeply([ map { booked($_, 2 * $bookings) } @names ],
	[ (2 * $bookings) x @names ], 'though their tokens have ended');
is(scalar keys %{ signed_in() }, 2 * $databases, 'each has signed in once more');
is_deeply([ grep { $_ != 1 } values %{ signed_in() } ], [], 'and none twice with one refresh token');
is_deeply([ map { $in{$_}->query('SELECT count(*) FROM booking.account WHERE parked') } @names ],
	[ (0) x @names ], 'no consent is lost');

# while it signs in the worker has the lock of the account, and only then
my $first = $in{ $names[0] };
my $locked = sub {
	return $first->query(<<"EOQ");
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19270
   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
EOQ
};
$google->set(token_delay => 0.5, expire_access => JSON::PP::true);
$first->query(claims(3));
wait_until('the worker has the lock', sub { $locked->() });
is(booked($names[0], 3 * $bookings), 3 * $bookings, 'the worker has the lock while it signs in');
is($locked->(), 0, 'and then not any more');

# another one is faster: its answer voids what the worker has just sent, so that the
# worker is told that there is no grant; it uses what the other one has stored
my $calls = @{ $google->look->{token_calls} };
$google->set(
	refresh => ['of-another'],
	access => { static => undef, 'token-of-another' => undef });
$first->query("UPDATE booking.token SET renew_at = '-infinity'");
$first->query(claims(4));
wait_until('the worker signs in', sub { $locked->() });
$first->query(<<'EOQ');
UPDATE booking.token SET serial = serial + 1, renew_at = 'infinity', sealed = false,
 secret = convert_to('{"access_token": "token-of-another", "refresh_token": "of-another"}', 'UTF8')
EOQ
is(booked($names[0], 4 * $bookings), 4 * $bookings, 'the token that another one has stored is used');
is(scalar @{ $google->look->{token_calls} }, $calls + 1, 'after one call that was of no use');
is($first->query('SELECT parked FROM booking.account'), 'f', 'and no consent is lost');

is_deeply($google->complaints, [], 'the mock has no complaint');
is_clean($in{$_}, $_) foreach @names[ 0, -1 ];
$_->quit foreach values %in;
$session->quit;
$node->stop;

done_testing();

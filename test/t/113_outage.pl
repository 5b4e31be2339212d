# test/t/113_outage.pl
#
# A server that is away for long is not asked without a pause by all who wait for
# it together, whether they want to write or to read: the account is left alone
# for a while, longer each time, and shows that.  Others are served meanwhile.
# However long it takes, nothing of it ends with an operator, and when the server
# is back everything is done, each thing once.
#
# One calendar of which the server is always out of order is no outage.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav ();
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $bookings = size(200, 2000);
my $rooms = 24;
my $stub = Booking::Stub->new;
my ($node, $session) = worker_node('main', conf => "booking.poll_interval = '1s'\nbooking.max_attempts = 8\n");

# What an account waits for; '' when it does not.
sub blocked
{
	my ($account) = @_;
	return $session->query(<<"EOQ");
SELECT problem FROM booking.account
 WHERE account = '$account'
   AND blocked_until > clock_timestamp() + current_setting('booking.clock_offset')::interval
EOQ
}

# Requests of a client in so many seconds from now.
sub requests_within
{
	my ($client, $seconds) = @_;
	my $before = $stub->requests($client);
	my $begin = time();

	wait_until('some time has passed', sub { time() - $begin > $seconds });
	return $stub->requests($client) - $before;
}

# Have a client that fails tried again and again, with hours between.
sub try_again
{
	my ($client, $times) = @_;

	foreach (1 .. $times)
	{
		my $before = $stub->requests($client);

		# what is asked meanwhile may be among those before
		wait_until(
			'it is asked again',
			sub {
				return 1 if $stub->requests($client) > $before;
				Booking::Caldav::later($node, $session);
				return 0;
			});
	}
	return;
}

#
# Writing: one calendar, hundreds of bookings
#
$stub->client($session, 'away', 'busy');
$stub->client($session, 'well', 'store');
$session->query("SELECT booking_resource_put('t', 'away', $bookings)");
$session->query(<<"EOQ");
SELECT count(booking_claim('t', 'p', 'away' || i, 'away', '[2030-01-07 10:00+00,2030-01-07 11:00+00)'))
  FROM generate_series(1, $bookings) i
EOQ
wait_until('the outage is noticed', sub { blocked('away') ne '' });
is(blocked('away'), 'the server does not answer', 'the account shows that');
cmp_ok(my $count = requests_within('away', 15), '<', 150, 'it is asked now and then');
note("requests: $count");
my $begin = time();
claim($session, 'well', 'meanwhile');
is_settled($session, 'meanwhile', 'create confirmed', 'another account is served');
cmp_ok(time() - $begin, '<', 5, 'without a delay');

# Half a day, of which the worker sees the moments at which it asks.
try_again('away', 10);
is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'parked'"),
	'0', 'after a long time no operator is needed');

$stub->behave('away', 'store');
Booking::Caldav::settle($node, $session);
is($session->query(
		"SELECT state, count(*) FROM booking.operation WHERE account = 'away' GROUP BY 1"),
	"confirmed\x1f$bookings", 'when it is back everything is done');
my $writes = $stub->requests('away', 'PUT');
$session->query("SELECT booking_cancel('t', 'p', 'away1')");
is_settled($session, 'away1', 'create confirmed, cancel confirmed', 'and what comes later too');
is($stub->requests('away', 'PUT'), $writes, 'and nothing was sent again');

#
# Reading: many calendars, each of which is looked at before something is written
#
$stub->client($session, 'rooms', 'busy');
$session->query("SELECT booking_account_put('t', 'rooms', 'caldav', settings => '{}')");
$session->query(<<"EOQ");
SELECT booking_resource_put('t', 'room' || i),
	booking_calendar_put('t', 'room' || i, 'rooms', '/rooms/' || i || '/', 'room' || i),
	booking_claim('t', 'p', 'room' || i, 'room' || i, '[2030-01-07 10:00+00,2030-01-07 11:00+00)')
  FROM generate_series(1, $rooms) i
EOQ
wait_until('the outage is noticed', sub { blocked('rooms') ne '' });
cmp_ok($count = requests_within('rooms', 15), '<', 60, 'calendars are tried now and then');
note("requests: $count");
$stub->behave('rooms', 'store');
Booking::Caldav::settle($node, $session);
is($session->query("SELECT state, count(*) FROM booking.operation WHERE account = 'rooms' GROUP BY 1"),
	"confirmed\x1f$rooms", 'when it is back all are done');
is($stub->requests('rooms', 'PUT'), $rooms, 'each once');

#
# One that fails alone
#
$stub->client($session, 'poison', 'busy');
claim($session, 'poison', 'poison');
try_again('poison', 6);
is(blocked('poison'), '', 'one operation is no outage, however often it fails');
wait_until(
	'its tries are used up',
	sub {
		return 1 if operations($session, 'poison') eq 'create parked';
		Booking::Caldav::later($node, $session);
		return 0;
	});
pass('and an operator gets it in the end');

#
# Few that wait for long: nobody else is served either, so it is not for them that
# there is no answer, however many tries that takes
#
$stub->client($session, 'few', 'busy');
claim($session, 'few', "few$_") foreach 1, 2;
try_again('few', 40);
is($session->query("SELECT count(*) FROM booking.operation WHERE account = 'few' AND state = 'parked'"),
	0, 'a long outage leaves none of a few to an operator');
cmp_ok($session->query("SELECT min(n) FROM (SELECT count(*) AS n FROM booking.attempt JOIN booking.operation USING (operation_id)"
		  . " WHERE account = 'few' AND mark <> 'begun' GROUP BY operation_id) x"),
	'>', 8, 'after more tries than booking.max_attempts');
$stub->behave('few', 'store');
Booking::Caldav::settle($node, $session);
is(operations($session, "few$_"), 'create confirmed', 'when it is back all is done') foreach 1, 2;

# One alone that finds no server at all: certainly nothing came of that.
my $closed = PostgreSQL::Test::Cluster::get_free_port();
my $open = "http://127.0.0.1:$stub->{port}/";

sub point
{
	my ($url) = @_;

	$session->query("SELECT booking_account_put('t', 'alone', 'caldav', '$url')");
	$session->query(
		"SELECT booking_credential_put('t', 'alone', '{\"type\": \"basic\", \"username\": \"u\", \"password\": \"p\"}')");
	return;
}

$stub->client($session, 'alone', 'store');
point("http://127.0.0.1:$closed/");
claim($session, 'alone', 'alone');
wait_until(
	'it was tried often',
	sub {
		my $tries = $session->query(
			"SELECT count(*) FROM booking.attempt JOIN booking.operation USING (operation_id)"
			  . " WHERE account = 'alone' AND mark = 'not_executed'");

		return 1 if $tries > 12;
		Booking::Caldav::later($node, $session);
		return 0;
	});
is(operations($session, 'alone'), 'create waiting', 'without a server it waits');
is($session->query("SELECT tries, uncertain FROM booking.operation WHERE account = 'alone'"),
	"4\x1ff", 'half of its tries are left for when there is one');
point($open);
is_settled($session, 'alone', 'create confirmed', 'then it is done');
is($stub->requests('alone', 'PUT'), 1, 'once');

$session->quit;
$node->stop;
$stub->stop;

done_testing();

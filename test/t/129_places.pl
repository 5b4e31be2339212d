# test/t/129_places.pl
#
# Never more requests are out than booking.max_in_flight allows.  While answers
# come, some operations more are leased, so that the next request goes out at
# once; while none come, none are, since what is leased cannot be canceled
# without having been sent.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $most = 4;
my $stub = Booking::Stub->new;
my ($node, $session) = worker_node('main', conf => "booking.max_in_flight = $most\n");

sub count
{
	my ($state) = @_;
	return $session->query("SELECT count(*) FROM booking.operation WHERE state = '$state'");
}

$stub->client($session, 'quick', 'store');
claim($session, 'quick', "quick$_") foreach 1 .. 100;
wait_until('all events are made', sub { count('confirmed') == 100 });
is($stub->requests('quick', 'PUT'), 100, 'each event was made by one request');
cmp_ok(slurp_file("$stub->{folder}/most"), '<=', $most, "at most $most at one time");

$stub->client($session, 'slow', 'hang');
claim($session, 'slow', "slow$_") foreach 1 .. 12;
wait_until('all places are taken', sub { $stub->requests('slow', 'PUT') == $most });
is(slurp_file("$stub->{folder}/most"), "$most\n", 'and no more');
is(count('sending') . ' ' . count('waiting'), "$most 8",
	'nothing is leased beyond them while no answer comes');
foreach (1 .. 12)
{
	$session->query("SELECT booking_cancel('t', 'p', 'slow$_')");
}
is(count('dropped'), 8, 'what was not leased is canceled without having been sent');

$node->stop('fast');
done_testing();

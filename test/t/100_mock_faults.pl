# test/t/100_mock_faults.pl
#
# Exactly once, whatever breaks on the way to Google and to Microsoft: what 121
# does with real servers of CalDAV is done here with the mocks of both, each fault
# with the create, the update and the cancel of a booking.  Afterwards the mock is
# asked what it has: each booking has one event, in the version the ledger knows,
# one that was canceled none, and no person was needed.
#
# Proves R26, R27 and R31 (an uncertain write is looked up, never repeated under
# another id), R28 (5xx prove nothing), R99 (credentials follow no redirect) and
# R102 (Retry-After is honoured) for both.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Faults;
use Booking::Google;
use Booking::Graph;
use Test::More;

my %mocks = (google => 'Booking::Google', graph => 'Booking::Graph');

fault_node('main', 1);
foreach my $kind (sort keys %mocks)
{
	my $mock = $mocks{$kind}->new;
	my @cases = fault_cases();

	# what breaks before the server has it is the same to all of them
	@cases = grep { !/^(unavailable|bad_gateway|gateway_timeout|reset|close|stall)$/ } @cases
	  if $kind eq 'graph' && !$ENV{BOOKING_TEST_LONG};
	fault_server($kind, $mock);
	break_writes(@cases);
	redirect_writes();
	cancel_on_the_way();

	# without a connection no provider is asked anything
	be_away() if $ENV{BOOKING_TEST_LONG} || $kind eq 'google';
	is_deeply($mock->complaints, [], "$kind: the mock has no complaint");
}

done_testing();

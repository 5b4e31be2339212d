# test/t/121_faults.pl
#
# Exactly once, whatever breaks on the way: a proxy in front of a real server
# loses, cuts, delays or falsifies the answer to the create, the update and the
# cancel of a booking, before or after the server did it.  In the end each
# booking must have one event, at its time and in the version the ledger knows;
# one that was canceled none; and no person may have been needed.
#
# Proves R31 (an uncertain write is looked up, never repeated under another
# id), R28 (5xx prove nothing), R102 (Retry-After is honoured), R67 (DROP DATABASE
# while a name is resolved, and after that was given up) and R99 (credentials
# follow no redirect).  Slow and dead name servers are test/net/resolver.c: it
# blocks where the C library would, within libcurl's own thread.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Faults;
use Test::More;

fault_node('main', 3);

foreach my $kind (qw(radicale xandikos))
{
	my $server = Booking::Caldav->new($kind);
	my @cases = fault_cases();

	# Xandikos makes a commit of Git of each write.
	@cases = qw(absence gateway_timeout interim lookups reset_after)
	  if $kind eq 'xandikos' && !$ENV{BOOKING_TEST_LONG};
	fault_server($kind, $server);
	break_writes(@cases);
	redirect_writes();
	cancel_on_the_way();
	be_away();
}

done_testing();

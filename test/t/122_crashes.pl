# test/t/122_crashes.pl
#
# Exactly once, whoever dies: the worker is killed, terminated or shut down with
# its server while requests are out, while the server has done them and the
# answer is on its way, while an earlier loss is being looked up, and at any
# moment between.  Requests of the dead may arrive long after the living have
# sent them again.  After every round each booking has one event, or none if it
# was canceled, and no person was needed.
#
# Proves R26 (what a dead worker was sending is unknown, not lost and not done
# twice), R31, R38 (work resumes by itself) and R72 (the worker comes back).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Crashes;
use Test::More;

my $bookings = size(20, 200);
my $rounds = size(2, 10);

seed(122);
crash_node('main');
crash_server('radicale', Booking::Caldav->new('radicale'), $bookings, $rounds);
crash_round($_) foreach 1 .. $rounds;
figure('bookings whose worker died', $bookings * $rounds);
crash_figures();
done_testing();

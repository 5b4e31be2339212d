# test/t/126_steps.pl
#
# Every way to die at every step of a request: when the claim is committed and
# nothing begun, while the name of the server is resolved, when the request is
# sent, when the answer is on its way, and when it was read but not recorded.
# Whoever dies, kill -9, termination or immediate shutdown, each booking has its
# one event in the end and no person was needed.
#
# DROP EXTENSION is the one way that forgets.  It waits for no provider; after it
# nothing is sent any more; what the server has then, at most one event a
# booking, stays there as an orphan.  The extension that is created anew has
# another key, so the same identities get other events, which do not meet the
# orphans.
#
# Proves R26 and R31 step by step, and R79 (DROP EXTENSION during a request).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Steps;
use Test::More;

my @kinds = qw(create update cancel);
my @steps = step_names();
my @deaths = death_names();
my $round = 0;

step_node('main');
step_server(Booking::Caldav->new('radicale'), size(3, 40));

# In make test each way at some steps, and DROP EXTENSION at each.
foreach my $s (0 .. $#steps)
{
	my @ways =
	  $ENV{BOOKING_TEST_LONG} ? (@deaths, 'DROP EXTENSION') : ($deaths[ $s % 3 ], 'DROP EXTENSION');

	die_at($steps[$s], $_, $kinds[ $round++ % 3 ]) foreach @ways;
}
steps_end();

done_testing();

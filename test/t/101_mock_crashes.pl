# test/t/101_mock_crashes.pl
#
# Exactly once, whoever dies, at Google and at Microsoft: the rounds of 122 and the
# steps of 126 with the mocks of both.  Whatever the worker was doing when it was
# killed, terminated, shut down with its server or dropped with its extension, each
# booking has its one event in the end, one that was canceled none, and no person
# was needed.
#
# Proves R26 (what a dead worker was sending is unknown, not lost and not done
# twice), R31, R38 and R79 for both.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Crashes;
use Booking::Google;
use Booking::Graph;
use Booking::Steps;
use Test::More;

my %mocks = (google => 'Booking::Google', graph => 'Booking::Graph');
my $bookings = size(4, 200);
my $rounds = size(1, 10);

seed(101);
crash_node('rounds');
foreach my $kind (sort keys %mocks)
{
	my $mock = $mocks{$kind}->new;

	crash_server($kind, $mock, $bookings, $rounds);
	crash_round($_) foreach 1 .. $rounds;
	figure("bookings whose worker died, $kind", $bookings * $rounds);
	is_deeply($mock->complaints, [], "$kind: the mock has no complaint");
}
crash_figures();

# In make test each step with one of the providers, some way and some kind of
# operation, and DROP EXTENSION with the step that is most of a race.
my @kinds = qw(create update cancel);
my @steps = step_names();
my @deaths = death_names();
my @providers = sort keys %mocks;

step_node('steps');
foreach my $p (0 .. $#providers)
{
	my $kind = $providers[$p];
	my $mock = $mocks{$kind}->new;

	step_server($mock, size(2, 40));
	foreach my $s (0 .. $#steps)
	{
		if ($ENV{BOOKING_TEST_LONG})
		{
			foreach my $way (@deaths, 'DROP EXTENSION')
			{
				die_at($steps[$s], $way, $_) foreach @kinds;
			}
		}
		elsif ($s % @providers == $p)
		{
			die_at($steps[$s], $deaths[ $s % @deaths ], $kinds[ ($s + $p) % @kinds ]);
		}
	}
	die_at('answer on its way', 'DROP EXTENSION', 'create') unless $ENV{BOOKING_TEST_LONG};
	is_deeply($mock->complaints, [], "$kind: the mock has no complaint");
}
steps_end();

done_testing();

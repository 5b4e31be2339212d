# test/t/lib/Booking/Scheduler.pm
#
# The mock of Acuity, Cal.com and Calendly, test/provider/mock_schedulers.py, for
# the tests of the worker: started, told what there is, and looked at.

package Booking::Scheduler;

use strict;
use warnings FATAL => 'all';

use Booking::Google;

our @ISA = ('Booking::Google');

sub program
{
	return 'mock_schedulers.py';
}

# Start a mock in which there is nothing.
sub new
{
	my ($class) = @_;
	return Booking::Google::new($class);
}

# Where one of the senders answers.
sub base
{
	my ($self, $sender) = @_;
	return $self->url . $sender;
}

# How many requests there were whose path begins so.
sub asked
{
	my ($self, $path) = @_;
	return scalar grep { index($_->{path}, $path) == 0 } @{ $self->look->{requests} };
}

1;

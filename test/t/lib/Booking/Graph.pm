# test/t/lib/Booking/Graph.pm
#
# The mock of Microsoft Graph, test/provider/mock_graph.py, for the tests of the
# worker.  Its control is that of the mock of Google; calendars are named
# user/calendar.

package Booking::Graph;

use strict;
use warnings FATAL => 'all';

use JSON::PP;

use parent 'Booking::Google';

sub program
{
	return 'mock_graph.py';
}

# Events that a calendar shows, by id; what was deleted is elsewhere.
sub events
{
	my ($self, $calendar) = @_;
	return $self->look->{calendars}{$calendar};
}

# Move an event to another calendar of the user.
sub move_event
{
	my ($self, $calendar, $id, $to) = @_;
	return $self->_control('edit', { calendar => $calendar, id => $id, move => $to });
}

1;

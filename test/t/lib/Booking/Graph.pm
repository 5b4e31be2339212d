# test/t/lib/Booking/Graph.pm
#
# The mock of Microsoft Graph, test/provider/mock_graph.py, for the tests of the
# worker.  Its control is that of the mock of Google; calendars are named
# user/calendar.  Those that tests name by one word have a mailbox of their own.

package Booking::Graph;

use strict;
use warnings FATAL => 'all';

use JSON::PP;

use parent 'Booking::Google';

sub program
{
	return 'mock_graph.py';
}

sub provider
{
	return 'graph';
}

sub at_once
{
	return 4;
}

sub base
{
	my ($self, $url) = @_;
	return "${url}v1.0";
}

sub path
{
	my ($self, $name) = @_;
	return "/v1.0/users/$name/";
}

sub remote
{
	my ($self, $name) = @_;
	return "$name/room";
}

sub known
{
	my ($self, $event) = @_;
	my ($sequence) =
	  map { $_->{value} } grep { $_->{id} =~ / bookingSequence$/ }
	  @{ $event->{singleValueExtendedProperties} // [] };

	return ($event->{transactionId} // $event->{id}, $event->{'@odata.etag'}, $sequence);
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

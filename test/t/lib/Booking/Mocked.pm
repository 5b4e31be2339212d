# test/t/lib/Booking/Mocked.pm
#
# The mocks of Google Calendar and of Microsoft Graph as one thing, for tests that
# tell the same story of both: an account "m" of the tenant "t" with a calendar
# "room" that bookings are written to, and what a person does to an event there.

package Booking::Mocked;

use strict;
use warnings FATAL => 'all';

use Booking;
use Booking::Google;
use Booking::Graph;
use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(
  mocked
  kinds
);

my %kinds = (
	google => {
		class => 'Booking::Google',
		room => 'room@x',
		base => '',
		create => 'POST /calendars/room@x/events',
		status => sub { [ $_[0], 'authError' ] },
	},
	graph => {
		class => 'Booking::Graph',
		room => 'desk@x/room',
		base => 'v1.0',
		create => 'POST /v1.0/users/desk@x/calendars/room/events',
		status => sub { [ $_[0], 'InvalidAuthenticationToken' ] },
	});

sub kinds
{
	return sort keys %kinds;
}

# Start a mock of a kind, and attach its calendar to a node's extension.
sub mocked
{
	my ($session, $kind, %opt) = @_;
	my $self = bless { %{ $kinds{$kind} }, kind => $kind, session => $session }, __PACKAGE__;

	$self->{mock} = $self->{class}->new($self->{room});
	$session->query("SELECT booking_account_put('t', 'm', '$kind', '"
		  . $self->{mock}->url
		  . "$self->{base}', '"
		  . encode_json($opt{settings} // {})
		  . "')");
	$self->credential($opt{credential} // { type => 'bearer', token => 'static' });
	$session->query("SELECT booking_permit_all('t', 'p')");
	$session->query("SELECT booking_resource_put('t', 'room', 1000)");
	$session->query("SELECT booking_calendar_put('t', 'room', 'm', '$self->{room}', 'room')");
	return $self;
}

sub mock
{
	my ($self) = @_;
	return $self->{mock};
}

sub credential
{
	my ($self, $credential) = @_;

	$self->{session}->query(
		"SELECT booking_credential_put('t', 'm', '" . encode_json($credential) . "')");
	return;
}

# A credential that signs in at the mock.
sub signing_in
{
	my ($self) = @_;
	return {
		type => 'client_credentials',
		client_id => 'client',
		client_secret => 'SECRET-CLIENT',
		scope => 'calendars',
		token_url => $self->{mock}->url
		  . ($self->{kind} eq 'google' ? 'token' : 'tenant/oauth2/v2.0/token')
	};
}

# What matches the request that makes an event.
sub create
{
	my ($self) = @_;
	return $self->{create};
}

# A status with a reason of the provider's.
sub refusal
{
	my ($self, $status) = @_;
	return $self->{status}->($status);
}

# Use another session from now on.
sub reconnect
{
	my ($self, $session) = @_;

	$self->{session} = $session;
	return;
}

# Ids of the event of an intent, our own and the provider's.
sub ids
{
	my ($self, $intent) = @_;
	return $self->{session}->row(<<"EOQ");
SELECT o.event_id, coalesce(o.href, o.event_id) FROM booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1
EOQ
}

# Events that the calendar shows, by our id; of others by theirs.
sub events
{
	my ($self) = @_;
	my $events = $self->{mock}->events($self->{room});

	return {
		map { ($events->{$_}{transactionId} // $_) => $events->{$_} } keys %$events
	};
}

# Start of the event of an intent, "none" if there is none.
sub start_of
{
	my ($self, $intent) = @_;
	my $event = $self->events->{ ($self->ids($intent))[0] };

	return $event ? substr($event->{start}{dateTime}, 0, 16) : 'none';
}

# Times of an event, as they are written here.
sub times
{
	my ($self, $from, $until) = @_;

	return map { $_->[0] => $self->{kind} eq 'google' ? { dateTime => "$_->[1]:00Z" } :
		  { dateTime => "$_->[1]:00.0000000", timeZone => 'UTC' } }
	  ([ 'start', $from ], [ 'end', $until ]);
}

# A person moves the event of an intent, or changes something else of it.
sub edit
{
	my ($self, $intent, %set) = @_;

	$self->{mock}->edit($self->{room}, ($self->ids($intent))[1], %set);
	return;
}

# A person deletes the event of an intent.
sub remove
{
	my ($self, $intent) = @_;

	$self->{mock}->delete_event($self->{room}, ($self->ids($intent))[1]);
	return;
}

1;

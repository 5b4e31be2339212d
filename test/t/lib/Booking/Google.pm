# test/t/lib/Booking/Google.pm
#
# The mock of Google Calendar, test/provider/mock_google.py, for the tests of the
# worker: started, told what to do, and looked at.

package Booking::Google;

use strict;
use warnings FATAL => 'all';

use Booking;
use Carp;
use FindBin;
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Scalar::Util 'weaken';

my @servers;

# The mock itself.
sub program
{
	return 'mock_google.py';
}

# Start a mock with some calendars.
sub new
{
	my ($class, @calendars) = @_;
	my $self = bless {
		port => PostgreSQL::Test::Cluster::get_free_port(),
		folder => PostgreSQL::Test::Utils::tempdir(),
		http => HTTP::Tiny->new(timeout => 30),
	}, $class;

	$self->{server} = IPC::Run::start(
		[
			'python3', "$FindBin::RealBin/../provider/" . $class->program,
			$self->{port}
		],
		'<', \undef, '>', "$self->{folder}/log", '2>', "$self->{folder}/errors");
	push @servers, $self;
	weaken($servers[-1]);
	wait_until('the mock answers',
		sub { $self->{http}->get($self->url . '_control/log')->{status} == 200 });
	$self->set(calendars => \@calendars);
	return $self;
}

# What the end of the program destroys, it destroys in any order.
END
{
	local $?;

	$_->stop foreach grep { defined } @servers;
}

sub stop
{
	my ($self) = @_;

	$self->{server}->kill_kill(grace => 5) if $self->{server};
	delete $self->{server};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!, $@);

	$self->stop;
	return;
}

sub url
{
	my ($self) = @_;
	return "http://127.0.0.1:$self->{port}/";
}

# What it is as a provider, as Booking::Caldav says it of servers.
sub provider
{
	return 'google';
}

sub at_once
{
	return 1;
}

sub base
{
	my ($self, $url) = @_;
	return $url;
}

sub path
{
	my ($self, $name) = @_;
	return "/calendars/$name/";
}

sub remote
{
	my ($self, $name) = @_;
	return $name;
}

sub credential
{
	return { type => 'bearer', token => 'static' };
}

sub make_calendar
{
	my ($self, $name) = @_;

	$self->set(calendars => [ $self->remote($name) ]);
	return $self->path($name);
}

# What a calendar holds, by our id, or else by that of the event; events that
# share one end the test, since that is what everything here is against.
sub list
{
	my ($self, $path) = @_;
	my ($name) = $path =~ m{([^/]+)/\z};
	my %list;

	foreach my $event (values %{ $self->events($self->remote($name)) })
	{
		my ($id, $etag, $sequence) = $self->known($event);

		croak "two events with the id $id" if $list{$id};
		$list{$id} = {
			etag => $etag,
			sequence => $sequence,
			start => substr($event->{start}{dateTime}, 0, 19) =~ s/[-:]//gr . 'Z'
		};
	}
	return \%list;
}

# Our id, the ETag and our revision of an event.
sub known
{
	my ($self, $event) = @_;
	my $ours = $event->{extendedProperties}{private} // {};

	return ($ours->{bookingId} // $event->{id}, $event->{etag}, $ours->{bookingSequence});
}

# What the mock has to complain of, less requests that meet: of one that was sent
# by a worker that is dead the next one knows nothing.
sub complaints
{
	my ($self) = @_;
	return [ grep { !/at a time$/ } @{ $self->look->{complaints} } ];
}

# One request to the control; returns what the mock shows of its world.
sub _control
{
	my ($self, $what, $value) = @_;
	my $answer = $self->{http}->post(
		$self->url . "_control/$what",
		{
			headers => { 'Content-Type' => 'application/json' },
			content => encode_json($value),
		});

	croak "control $what: $answer->{status} $answer->{content}"
	  unless $answer->{success};
	return decode_json($answer->{content});
}

# Change the world.
sub set
{
	my ($self, %state) = @_;
	return $self->_control('state', \%state);
}

# Let the next request that matches fail, or several, or some after others.
sub fault
{
	my ($self, $match, $action, $times, $after) = @_;
	return $self->_control('fault',
		{ match => $match, action => $action, times => $times // 1, after => $after // 0 });
}

# Change an event as a person does.
sub edit
{
	my ($self, $calendar, $id, %set) = @_;
	return $self->_control('edit',
		{ calendar => $calendar, id => $id, set => \%set });
}

sub delete_event
{
	my ($self, $calendar, $id) = @_;
	return $self->_control('edit',
		{ calendar => $calendar, id => $id, delete => JSON::PP::true });
}

# Make many events, or let only every so manyth remain.
sub fill
{
	my ($self, $calendar, $count, $keep) = @_;

	$self->_control('fill',
		{ calendar => $calendar, count => $count, keep => $keep });
	return;
}

# Forget events without a trace.
sub vanish
{
	my ($self, $calendar, @ids) = @_;

	$self->_control('vanish', { calendar => $calendar, ids => \@ids });
	return;
}

# How many requests there were, and were held, and complaints.
sub brief
{
	my ($self) = @_;
	return $self->_control('brief', undef);
}

# Everything that the mock shows.
sub look
{
	my ($self) = @_;
	return $self->_control('log', undef);
}

# Events of a calendar that are not deleted, by id.
sub events
{
	my ($self, $calendar) = @_;
	my $events = $self->look->{calendars}{$calendar};

	return {
		map { $_ => $events->{$_} }
		grep { $events->{$_}{status} ne 'cancelled' } keys %$events
	};
}

# Requests of a method so far.
sub count
{
	my ($self, $method) = @_;
	return scalar grep { $_->{method} eq $method } @{ $self->look->{requests} };
}

1;

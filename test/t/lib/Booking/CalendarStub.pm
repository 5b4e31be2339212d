# test/t/lib/Booking/CalendarStub.pm
#
# The calendar servers in C that the benchmarks use, for tests that send more than
# a server in Python would take (test/bench/calendar_stub.c) or read more than a
# real one holds (test/bench/listing_stub.c).  A server ends with the object, whose
# end of a pipe it waits for.

package Booking::CalendarStub;

use strict;
use warnings FATAL => 'all';

use File::Basename;
use IO::Socket::INET;
use IPC::Run ();
use PostgreSQL::Test::Utils;

use Booking;

# Compile and start one, with its arguments.
sub new
{
	my ($class, $program, @arguments) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	$program //= 'calendar_stub';
	my $source = dirname(__FILE__) . "/../../../bench/$program.c";
	my $compiler = $ENV{CC} // 'gcc';
	my $self = bless {}, $class;

	system($compiler, '-O2', '-pthread', '-o', "$folder/$program", $source) == 0
	  or die "$source does not compile";
	$self->{server} = IPC::Run::start([ "$folder/$program", @arguments ],
		'<pipe', \*{ $self->{input} = _handle() },
		'>pipe', \*{ $self->{output} = _handle() });
	my $line = readline($self->{output}) // die 'the server did not start';
	($self->{port}) = $line =~ /^(\d+)$/;
	return $self;
}

sub _handle
{
	return IO::Handle->new;
}

sub port
{
	my ($self) = @_;
	return $self->{port};
}

# Ask for something below /-/ and return the answer's body.
sub ask
{
	my ($self, $what) = @_;
	my $socket = IO::Socket::INET->new(
		PeerAddr => '127.0.0.1',
		PeerPort => $self->{port},
		Proto => 'tcp') or die "connect: $!";
	my $answer;

	print $socket "GET /-/$what HTTP/1.1\r\nConnection: close\r\n\r\n";
	$answer = join('', <$socket>);
	$answer =~ s/^.*?\r\n\r\n//s;
	return $answer;
}

# Requests so far, events there, PUTs that met their own event, refusals.
sub figures
{
	my ($self) = @_;
	my ($requests, $stored, $twice, $refused) = split(' ', $self->ask('figures'));

	return (
		requests => $requests,
		stored => $stored,
		twice => $twice,
		refused => $refused);
}

# 64 calendars of 8 accounts, each the calendar of one resource, "cal0" and on.
# They are not read: the server lists nothing, and what a listing does not name
# would be taken for deleted.
sub attach
{
	my ($self, $session) = @_;

	$session->query(<<"EOQ");
DO \$\$
BEGIN
	PERFORM booking_permit_all('t', 'p');
	FOR i IN 0 .. 7 LOOP
		PERFORM booking_account_put('t', 'a' || i, 'caldav', 'http://127.0.0.1:$self->{port}/',
			'{"busy_blocks": "none"}');
		PERFORM booking_credential_put('t', 'a' || i,
			'{"type": "basic", "username": "u", "password": "p"}');
	END LOOP;
	FOR i IN 0 .. 63 LOOP
		PERFORM booking_resource_put('t', 'cal' || i);
		PERFORM booking_calendar_put('t', 'cal' || i, 'a' || i % 8, '/cal' || i || '/', 'cal' || i);
	END LOOP;
	UPDATE booking.cursor SET next_at = 'infinity';
END
\$\$
EOQ
	return;
}

sub stop
{
	my ($self) = @_;
	my $server = delete $self->{server} or return;

	close($self->{input});
	eval { $server->finish };
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!, $@);

	$self->stop;
	return;
}

1;

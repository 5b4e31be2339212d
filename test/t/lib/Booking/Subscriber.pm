# test/t/lib/Booking/Subscriber.pm
#
# What the tests of subscriptions share: a receiver that does as it is told and
# verifies what it gets (see webhook_receiver.py), and the questions asked of it.

package Booking::Subscriber;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use IPC::Run ();
use JSON::PP;
use MIME::Base64 'encode_base64';
use PostgreSQL::Test::Utils;
use Time::HiRes 'time';

use Booking;

our @EXPORT = qw(
  secret
  leap
);

my %leapt;

# A secret of Standard Webhooks, the same for the same text.
sub secret
{
	my ($text) = @_;
	return 'whsec_' . encode_base64(substr($text . '.' x 32, 0, 32), '');
}

# Let the clock that decides what is due go some seconds forward.
sub leap
{
	my ($session, $seconds) = @_;

	$leapt{$session} += $seconds;
	$session->query("ALTER SYSTEM SET booking.clock_offset = $leapt{$session}");
	$session->query('SELECT pg_reload_conf()');
	return;
}

# Start the receiver.
sub new
{
	my ($class) = @_;
	my $self = bless { folder => PostgreSQL::Test::Utils::tempdir() }, $class;

	$self->{server} = IPC::Run::start(
		[ 'python3', dirname(__FILE__) . '/../../webhook_receiver.py', $self->{folder} ],
		'<', \undef, '>', \$self->{stdout},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{server}->pump until $self->{stdout} =~ /(\d+)\n/;
	($self->{port}) = $self->{stdout} =~ /(\d+)\n/;
	return $self;
}

sub stop
{
	my ($self) = @_;
	my $server = delete $self->{server} or return;

	# Its threads wait for ever, so there is nothing to ask it for.
	$server->signal('KILL');
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

sub url
{
	my ($self, $name) = @_;
	return "http://127.0.0.1:$self->{port}/$name/hook";
}

# How a subscriber is answered from now on; replaced in one step.
sub behave
{
	my ($self, $name, $behaviour) = @_;
	my $file = "$self->{folder}/$name";

	PostgreSQL::Test::Utils::append_to_file("$file.new", "$behaviour\n");
	rename("$file.new", $file) or die "rename: $!";
	return;
}

# Which secrets a subscriber tries signatures with.
sub secrets
{
	my ($self, $name, @secrets) = @_;
	return $self->behave("$name.secrets", join("\n", @secrets));
}

# Requests of a subscriber so far, in order.
sub requests
{
	my ($self, $name) = @_;

	my @lines = -e "$self->{folder}/requests" ? split(/\n/, slurp_file("$self->{folder}/requests")) : ();
	my @requests = grep { $_->{name} eq $name } map { decode_json($_) } grep { /\}\z/ } @lines;
	return @requests;
}

# Wait until a subscriber has had so many requests, and return them.
sub wait_for
{
	my ($self, $name, $count) = @_;

	wait_until("$name has $count requests", sub { $self->requests($name) >= $count });
	return $self->requests($name);
}

1;

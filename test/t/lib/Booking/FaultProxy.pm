# test/t/lib/Booking/FaultProxy.pm
#
# The proxy of fault_proxy.py, told what to break.

package Booking::FaultProxy;

use strict;
use warnings FATAL => 'all';

use Carp;
use Cwd 'abs_path';
use File::Basename;
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Utils;

my $program = abs_path(dirname(__FILE__) . '/../../fault_proxy.py');

# Start a proxy in front of a Booking::Caldav, or of a mock, whose links name the
# host that they were asked at.
sub new
{
	my ($class, $server) = @_;
	my $self = bless {
		stdin => '',
		stdout => '',
		http => HTTP::Tiny->new(timeout => 30),
	}, $class;

	$self->{process} = IPC::Run::start(
		[
			'python3', $program, $server->{port},
			$server->provider eq 'caldav' ? () : 'keep-host'
		],
		'<pipe', \*{ $self->{handle} = Symbol::gensym() },
		'>', \$self->{stdout},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{process}->pump until $self->{stdout} =~ /\n/;
	$self->{ports} = { $self->{stdout} =~ /(\w+)=(\d+)/g };
	return $self;
}

sub stop
{
	my ($self) = @_;

	$self->{process}->kill_kill(grace => 5) if $self->{process};
	delete $self->{process};
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
	my ($self, $scheme, $host) = @_;
	return ($scheme // 'http') . '://' . ($host // '127.0.0.1') . ":$self->{ports}{proxy}/";
}

# Break the next requests: break($method, $path, $fault, $count).
sub break
{
	my ($self, $method, $path, $fault, $count) = @_;

	$self->_control(
		'POST', 'rules',
		encode_json(
			[ { method => $method, path => $path, fault => $fault, count => $count // 1 } ]
		));
	return;
}

# Break nothing any more, and let go of what is held.
sub clear
{
	my ($self) = @_;
	$self->_control('POST', 'clear', '');
	return;
}

# Break nothing any more, but hold what is held.
sub forget
{
	my ($self) = @_;
	$self->_control('POST', 'forget', '');
	return;
}

# Let go of the requests of a kind that are held; the rules stay.
sub release
{
	my ($self, $kind) = @_;
	$self->_control('POST', 'release', JSON::PP->new->allow_nonref->encode($kind));
	return;
}

# Requests that arrived, oldest first; those for which the code is true.
sub log
{
	my ($self, $code) = @_;
	my $log = decode_json($self->_control('GET', 'log'));

	return grep { !$code || $code->($_) } @$log;
}

sub _control
{
	my ($self, $method, $what, $body) = @_;
	my $answer = $self->{http}->request(
		$method,
		"http://127.0.0.1:$self->{ports}{control}/$what",
		defined $body ? { content => $body } : {});

	croak "$what: $answer->{status} $answer->{content}"
	  unless $answer->{success};
	return $answer->{content};
}

1;

# test/t/lib/Booking/Daemon.pm
#
# What the tests of bookingd share: the program under test, started and ended;
# its inbox; requests as bytes; and the sender that keeps its own time.

package Booking::Daemon;

use strict;
use warnings FATAL => 'all';

use Carp;
use Cwd 'abs_path';
use Digest::SHA 'hmac_sha256';
use File::Basename;
use IO::Select;
use IO::Socket::INET;
use MIME::Base64;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

use Booking;

my $top = abs_path(dirname(__FILE__) . '/../../../..');
my $serial = 0;

# Those that a test which dies leaves behind are ended with it.
my %running;

END
{
	my $status = $?;
	kill 'KILL', keys %running;
	$? = $status;
}

# What deliveries are signed with where the extension receives them.
my $secret = 'bookingd under test, 24+';

# The program as it was installed.
sub program
{
	my $pg_config = $ENV{PG_CONFIG} // 'pg_config';

	chomp(my $bindir = `$pg_config --bindir`);
	return ($ENV{BOOKING_DESTDIR} // '') . "$bindir/bookingd";
}

# Build the program from the sources with the sanitizers of clang.
sub sanitized_program
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
	my %at = map {
		chomp(my $dir = `$pg_config --$_`);
		($_ => $dir)
	} qw(includedir includedir-server pkglibdir libdir);

	system_or_bail(
		qw(clang -std=gnu99 -g -O1 -fno-omit-frame-pointer -Wall -Werror),
		qw(-Wno-unknown-warning-option -Wno-ignored-attributes -D_GNU_SOURCE),
		'-fsanitize=address,undefined', '-fno-sanitize-recover=all',
		'-DBOOKING_VERSION="sanitized"',
		"-I$top", map({ ('-isystem', $_) } $at{'includedir-server'},
			"$at{includedir}/internal", $at{includedir}),
		glob("$top/bookingd/*.c"), '-o', "$folder/bookingd",
		"-L$at{pkglibdir}", "-L$at{libdir}",
		qw(-lpgcommon -lpgport -lpq -lmicrohttpd));
	return "$folder/bookingd";
}

# Create the stand-in of test/bookingd, which keeps what it is given.
sub install_standin
{
	my ($session) = @_;

	$session->query(slurp_file("$top/test/bookingd/standin.sql"));
	return ('--schema=standin');
}

# Prepare a receiver of signed deliveries to the source "hook": the extension's
# where it has one, else the stand-in.  Returns the options that bookingd needs
# for it and the table that has a row for each delivery, with its body.
sub install_receiver
{
	my ($session) = @_;
	my $key = encode_base64($secret, '');

	$session->query("CREATE EXTENSION booking CASCADE");
	return { options => [ install_standin($session) ], inbox => 'standin.inbox' }
	  if $session->query(
		"SELECT to_regprocedure('booking_webhook_receive(text,jsonb,bytea,text)') IS NULL") eq 't';
	$session->query("SELECT booking_webhook_source_put('acme', 'hook', 'standard')");
	$session->query("SELECT booking_webhook_secret_put('hook', 'whsec_$key')");
	return { options => [], inbox => 'booking.inbox' };
}

# A delivery to "hook", signed as Standard Webhooks are, as the bytes of a
# request.  The extension's receiver keeps types that it does not know.
sub signed_delivery
{
	my ($id, %opt) = @_;
	my $time = int time();
	my $body = sprintf '{"type":"test.delivery","id":"%s","padding":"%s"}', $id,
	  'x' x ($opt{padding} // 400);
	my $signature = encode_base64(hmac_sha256("$id.$time.$body", $secret), '');

	return "POST /webhooks/hook HTTP/1.1\r\nHost: localhost\r\n"
	  . "Content-Type: application/json\r\nwebhook-id: $id\r\n"
	  . "webhook-timestamp: $time\r\nwebhook-signature: v1,$signature\r\n"
	  . 'Content-Length: ' . length($body) . "\r\n\r\n$body";
}

# Start bookingd for a database of a node.  "program" is another build of it,
# "port" one that it must have, "args" its other options.
sub start
{
	my ($class, $node, %opt) = @_;
	my $log = PostgreSQL::Test::Utils::tempdir_short() . '/bookingd' . $serial++ . '.log';
	my $self = bless { log => $log, node => $node }, $class;
	my $connection = $opt{dbname} // $node->connstr('postgres');

	$self->{pid} = fork() // croak "could not fork: $!";
	if ($self->{pid} == 0)
	{
		open STDIN, '<', '/dev/null' or POSIX::_exit(126);
		open STDOUT, '>', "$log.out" or POSIX::_exit(126);
		open STDERR, '>', $log or POSIX::_exit(126);
		exec($opt{program} // program(),
			"--dbname=$connection",
			'--listen=127.0.0.1:' . ($opt{port} // 0),
			'--metrics-listen=127.0.0.1:0',
			@{ $opt{args} // [] })
		  or POSIX::_exit(127);
	}
	$running{ $self->{pid} } = 1;
	wait_until(
		'bookingd listens',
		sub {
			my $text = $self->log;

			croak "bookingd did not start: $text" if $text =~ / ERROR: .*listen/;
			($self->{port}) = $text =~ /listening for webhooks .* port (\d+)/;
			($self->{admin}) = $text =~ /listening for metrics .* port (\d+)/;
			return $self->{port}
			  && ($self->{admin} || grep { $_ eq '--metrics-listen=off' } @{ $opt{args} // [] });
		});
	$self->wait_ready if $self->{admin} && ($opt{wait} // 1);
	return $self;
}

# Wait until it says that it can store deliveries.
sub wait_ready
{
	my ($self) = @_;

	wait_until('bookingd is ready', sub { return $self->admin('/readyz')->{status} == 200; });
	return;
}

# What it has logged.
sub log
{
	my ($self) = @_;

	return -e $self->{log} ? slurp_file($self->{log}) : '';
}

# Send it a signal and return its exit status: negative for a signal.
sub stop
{
	my ($self, $signal) = @_;

	kill $signal // 'TERM', $self->{pid};
	return $self->wait_end;
}

# Wait for its end.
sub wait_end
{
	my ($self) = @_;

	my $status;

	wait_until(
		'bookingd ends',
		sub {
			return 0 if waitpid($self->{pid}, POSIX::WNOHANG) != $self->{pid};
			$status = $?;
			return 1;
		});
	delete $running{ $self->{pid} };
	return $status & 127 ? -($status & 127) : $status >> 8;
}

# Memory that it had at most, and open descriptors.
sub peak_kb
{
	my ($self) = @_;

	return slurp_file("/proc/$self->{pid}/status") =~ /^VmHWM:\s+(\d+) kB/m ? $1 : undef;
}

sub descriptors
{
	my ($self) = @_;

	my @open = glob "/proc/$self->{pid}/fd/*";
	return scalar @open;
}

# A connection to it.
sub connect
{
	my ($self, $port) = @_;

	return IO::Socket::INET->new(
		PeerAddr => '127.0.0.1',
		PeerPort => $port // $self->{port},
		Proto => 'tcp') // croak "could not connect: $!";
}

# Send bytes; false when the other side has closed.
sub send_bytes
{
	my ($socket, $bytes) = @_;
	my $at = 0;

	local $SIG{PIPE} = 'IGNORE';
	while ($at < length $bytes)
	{
		my $sent = syswrite $socket, $bytes, length($bytes) - $at, $at;
		return 0 unless defined $sent;
		$at += $sent;
	}
	return 1;
}

# Read one answer: status, headers, body.  Status 0 if the connection ended, and
# undef if nothing came in time.
sub read_answer
{
	my ($socket, $seconds) = @_;
	my $deadline = time() + ($seconds // $PostgreSQL::Test::Utils::timeout_default);
	my $bytes = '';

	while (1)
	{
		if ($bytes =~ /\A(.*?)\r\n\r\n(.*)\z/s)
		{
			my ($head, $body) = ($1, $2);
			my ($length) = $head =~ /^Content-Length: (\d+)/mi;
			my ($status) = $head =~ m{\AHTTP/1\.[01] (\d+)};

			return { status => $status, head => $head, body => $body }
			  if length($body) >= ($length // 0);
		}
		my $left = $deadline - time();

		return { status => undef } if $left <= 0;
		next unless IO::Select->new($socket)->can_read($left);
		return { status => 0, head => $bytes, body => '' }
		  unless sysread $socket, $bytes, 65536, length $bytes;
	}
}

# One request as bytes on a connection of its own, and the answer.
sub exchange
{
	my ($self, $bytes, %opt) = @_;
	my $socket = $self->connect($opt{port});

	send_bytes($socket, $bytes);
	return read_answer($socket, $opt{seconds});
}

# POST a body, with headers as lines.
sub post
{
	my ($self, $path, $body, @headers) = @_;

	return $self->exchange(request('POST', $path, $body, @headers));
}

# The bytes of a request.
sub request
{
	my ($method, $path, $body, @headers) = @_;

	return join "\r\n", "$method $path HTTP/1.1", 'Host: localhost', @headers,
	  'Content-Length: ' . length($body), '', $body;
}

# GET from the listener for metrics.
sub admin
{
	my ($self, $path) = @_;

	return $self->exchange("GET $path HTTP/1.1\r\nHost: localhost\r\n\r\n",
		port => $self->{admin});
}

# A value of its metrics, by name with labels; 0 where there is none.
sub metric
{
	my ($self, $name) = @_;

	return $self->admin('/metrics')->{body} =~ /^\Q$name\E (\S+)$/m ? $1 : 0;
}

# Build the sender, once.
my $sender;

sub sender
{
	return $sender if $sender;
	$sender = PostgreSQL::Test::Utils::tempdir() . '/sender';
	system_or_bail(qw(cc -std=gnu99 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -o),
		$sender, "$top/test/bookingd/sender.c");
	return $sender;
}

# Write requests to a file as the sender reads them.
sub write_requests
{
	my (@requests) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/requests';

	open my $out, '>:raw', $file or croak "could not write $file: $!";
	printf $out "%d\n%s", length($_), $_ for @requests;
	close $out or croak "could not write $file: $!";
	return $file;
}

1;
